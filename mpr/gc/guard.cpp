// SPDX-License-Identifier: MIT
/*
    guard.cpp - Messages about threads that may not call, and how often they come.
 */
#include "mpr/gc/guard.hpp"

#include "mpr/gc/marker.hpp"
#include "mpr/gc/origins.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/shutdown.h"

namespace mpr::gc {

namespace {

/**
    A wrong call may stand in a loop, and a call that is refused is often tried again. So a token bucket bounds the lines
    about both (the generic cell rate algorithm, ITU-T I.371: one word holds the time when the bucket is full again). A second one is for the first line of a kind
    within a second: however often one kind has come, another is named. For any thread, signal handlers included; a race
    costs a line more or less.
 */
class Bucket {
public:
    /** @param now In ticks, of which a line takes one in the long run. The count may wrap. */
    bool take(std::size_t now) {
        std::size_t full = full_.load(std::memory_order_relaxed);
        std::size_t ahead = 0;
        do {
            ahead = full - now <= burst ? full - now : 0; // else that time has passed
            if (ahead == burst) {
                return false;
            }
        } while (!full_.compare_exchange_weak(full, now + ahead + 1, std::memory_order_relaxed));
        return true;
    }
    void reset() { full_.store(0, std::memory_order_relaxed); }

private:
    static constexpr std::size_t burst = 32; // lines at once

    os::Shared<std::size_t> full_{0};
};

/** Its numbers decide whether a line is written. They order nothing. */
class Lines {
public:
    /** @return Whether a line of a kind may be written now. @param each Also if it is not the first within a second. */
    bool admit(std::uintptr_t kind, bool each) {
        const auto now = static_cast<std::size_t>(os::now() >> tickShift);
        kind = kind * multiplier ^ now >> (secondShift - tickShift);
        auto& last = last_[kind * multiplier >> (8 * sizeof(kind) - placeBits)];
        const bool isFirst = last.exchange(kind, std::memory_order_relaxed) != kind;
        // Boards, where memory for code is scarce, have one bucket.
        return ((each || isFirst) && all_.take(now)) || (os::hasThreads && isFirst && kinds_.take(now));
    }
    void withhold() { withheld_.fetch_add(1, std::memory_order_relaxed); }
    os::Total takeWithheld() { return withheld_.exchange(0, std::memory_order_relaxed); }
    void reset() {
        all_.reset();
        kinds_.reset();
        withheld_.store(0, std::memory_order_relaxed);
        for (auto& last : last_) {
            last.store(0, std::memory_order_relaxed);
        }
    }

private:
    static constexpr unsigned tickShift = 27; // log2 of nanoseconds: 134 ms
    static constexpr unsigned secondShift = 30;
    static constexpr unsigned placeBits = 4;
    static constexpr auto multiplier = static_cast<std::uintptr_t>(0x9E37'79B9'7F4A'7C15);

    Bucket all_, kinds_;
    os::Counter withheld_{0};
    os::Shared<std::uintptr_t> last_[std::size_t{1} << placeBits] = {};
};

constinit Lines linesOfMisuse;

std::uintptr_t asNumber(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

/** Why an attached thread may not call, or nullptr. */
const char* stateOf(const Mutator& m) {
    if (isToldOfPause(m)) {
        return m.suspended.told == Told::handler ? " is inside a handler of suspensions"
                                                 : " is inside a callback of the embedder";
    }
    switch (os::hasThreads && m.isCollector ? Mutator::State::running : m.state.load(std::memory_order_relaxed)) {
    case Mutator::State::yielded: return " has yielded with MPR_YIELD_STICKY; see mprResetYield";
    case Mutator::State::exempt: return " is exempt from yielding; see mprSetThreadYield";
    case Mutator::State::waiting: return " is waiting for the collector";
    default: break;
    }
    return isNotified(m)     ? " is inside the memory notifier or a pruner"
           : os::isLogging() ? " is inside the log's handler, which may not yield"
                             : " is the collector's";
}

/** Why the calling thread may not call. The address of the text identifies the cause. */
const char* stateHere() {
    if (isForked()) {
        return ": this process is a child of fork, which may call exec and _exit only";
    }
    if (!running()) {
        return ": there is no runtime; see mprCreate";
    }
    if (Marker::active()) {
        return " is inside a manager's MPR_MANAGE_MARK call, which may call mprMark only";
    }
    return attached ? stateOf(*attached) : " is not attached to the runtime; see mprAttachThread";
}

/** Count a misuse, except while a runtime begins or ends: its statistics are being made or given back. */
void count() {
    const Stay stay;
    if (!os::hasThreads || (running() && stay)) {
        runtime().misuses.fetch_add(1, std::memory_order_relaxed);
    }
}

/** Asked before a line is built, so that a refusal in a loop costs little more than a look at the clock. */
bool mayWrite(std::uintptr_t kind, bool each) {
    if (linesOfMisuse.admit(kind, each)) {
        return true;
    }
    linesOfMisuse.withhold();
    return false;
}

void write(os::Message& message, os::Level level = os::Level::error) {
    if (const os::Total withheld = linesOfMisuse.takeWithheld()) {
        message << " (and " << withheld << " such messages left out before this)";
    }
    os::log(level, message);
}

/** The calling thread in what it calls; inside MPR_MANAGE_MARK by which manager, too. */
void describe(os::Message& message, const char* function, const char* state) {
    message << function << ": thread ";
    if (attached && attached->name[0]) {
        message << "\"" << attached->name << "\"";
    } else {
        message << std::uint64_t{os::currentThread()};
    }
    message << state;
    if (Marker* marker = running() ? Marker::active() : nullptr) {
        marker->describeTraced(message);
    }
}

/** @param state What keeps the calling thread. @return false */
bool refuseIn(const char* state, const char* function) {
    os::Message message;
    count();
    // Names and states lie side by side: without the product many pairs of them would be one kind, and hide one another.
    constexpr std::uintptr_t prime = 16777619;
    if (!mayWrite((asNumber(function) ^ os::currentThread()) * prime ^ asNumber(state), false)) {
        return false;
    }
    describe(message, function, state);
    write(message);
    os::afterMistake();
    return false;
}
} // namespace

namespace {
/** What an interrupt has called last, until that is named. */
constinit const char* volatile calledInInterrupt = nullptr;

/** Nothing may be written now: the thread may be writing. @return false */
bool refuseInterrupt(const char* function) {
    count();
    if (calledInInterrupt) {
        linesOfMisuse.withhold();
    }
    calledInInterrupt = function;
    runtime().heap.wantAttention();
    return false;
}

/** stateHere for boards, where texts are short. */
const char* stateOfBoard() {
    return !attached          ? "there is no runtime"
           : Marker::active() ? "inside MPR_MANAGE_MARK"
                              : "inside the notifier, or another callback";
}

bool refuseOnBoard(const char* function) {
    if (os::inInterrupt()) {
        return refuseInterrupt(function);
    }
    misuse(function, nullptr, stateOfBoard());
    return false;
}
} // namespace

bool admitRunningOnBoard(const char* function) {
    return caller() || refuse(function);
}

bool refuse(const char* function) {
    if constexpr (!os::hasThreads) {
        return refuseOnBoard(function);
    }
    return refuseIn(stateHere(), function);
}

void nameInterrupts() {
    if (const char* function = calledInInterrupt) {
        calledInInterrupt = nullptr;
        tellFailure(function, nullptr, "called in an interrupt");
    }
}

void failAtEnd() {
    os::Message message;
    describe(message, "pthread_exit", stateHere());
    os::deliver(os::Level::error, message << "; no collection can go on without it");
    os::abort();
}

bool Stay::refuseAtDoor(const char* function) {
    return refuseIn(": the runtime has not begun yet, or is ending", function);
}

bool admitYielding(const char* function) {
    return (attached && !mustNotYield(*attached) && !Marker::active() && !os::inInterrupt()) || refuse(function);
}

bool admitLeaving(const char* function) {
    if (!admitYielding(function)) {
        return false;
    }
    if (attached->calledBack || (!os::hasThreads && attached->isCollector)) {
        misuse(function, nullptr,
               os::hasThreads
                   ? "called by an event, a worker, a manager or a terminator, whose caller goes on with the runtime"
                   : "called by a manager or a terminator");
        return false;
    }
    return true;
}

bool isBlockFoundDead(const void* pointer, bool wanted) {
    return pointer && attached && running() &&
           runtime().heap.withBlock(pointer, [wanted](heap::Region*, std::size_t, heap::Byte h) {
               return heap::Region::isBlock(h) && runtime().collector.isLost(h) == wanted;
           });
}

bool isDying(const void* block) {
    return block && attached && isFinalizing(*attached) &&
           (attached->beingFreed.has(block) || isBlockFoundDead(block, true));
}

/** The managers of what is left at the runtime's end make nothing. @return Whether there is still something to make it of. */
static bool areRoomsOpen(const char* function) {
    const bool open = runtime().life.state.load(std::memory_order_relaxed) < MPR_STOPPED;
    if (!open) {
        os::Message message;
        writeRepeated(os::Level::info, message << function << ": mprDestroy has closed what this call needs");
    }
    return open;
}

bool admitMakingInManager(const char* function, std::initializer_list<const void*> blocks) {
    if (!areRoomsOpen(function)) {
        return false;
    }
    for (const void* block : blocks) {
        if (isDying(block)) {
            misuse(function, block, "the block is dying: its memory goes when all managers have run");
            return false;
        }
    }
    return true;
}

bool admitServingInManager(const char* function) {
    if (!areRoomsOpen(function)) {
        return false;
    }
    if (attached->isCollector) {
        misuse(function, nullptr, "called by a manager on the collector's thread, which runs no events");
    }
    return !attached->isCollector;
}

bool admitElsewhere(const char* function) {
    return (running() && !Marker::active() && !os::inInterrupt()) || refuse(function);
}

bool admitWithoutRuntime(const char* function) {
    return (!isForked() && !Marker::active()) || refuse(function);
}

void Visit::enter(const char* function) {
    const auto state = attached ? attached->state.load(std::memory_order_relaxed) : Mutator::State::waiting;
    if (attached && attached->visits) {
        admitted_ = true; // inside the log's handler: the thread is counted already
        return;
    }
    if (Marker::active() || (attached && isToldOfPause(*attached)) ||
        (state != Mutator::State::yielded && state != Mutator::State::exempt)) {
        refuse(function);
        return;
    }
    runtime().collector.visit();
    attached->visits = admitted_ = visits_ = true;
}

void Visit::leave() {
    attached->visits = false;
    runtime().collector.endVisit();
}

bool nameIfNull(const char* function, const void* memory) {
    if (!memory) [[unlikely]] {
        misuse(function, memory, "NULL for what it is to fill in");
    }
    return !memory;
}

/** Write a line, unless there were too many just now. */
static void writeLimited(const void* kind, os::Message& message, bool each) {
    if (mayWrite(asNumber(kind), each)) {
        write(message);
    }
}

void misuse(const char* function, const void* pointer, const char* what) {
    count();
    tellFailure(function, pointer, what);
    tellOrigin(pointer);
    os::afterMistake();
}

void tellFailure(const char* function, const void* pointer, const char* what) {
    os::Message message;
    message << function << "(" << pointer << "): " << what;
    writeLimited(function, message, true);
}

void writeMisuse(const void* kind, os::Message& message, bool each) {
    writeLimited(kind, message, each);
    os::afterMistake();
}

/** FNV-1a. */
static std::uintptr_t hashOf(std::string_view text) {
    constexpr std::uintptr_t prime = 16777619;
    std::uintptr_t hash = 0;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * prime;
    }
    return hash;
}

void writeRepeated(os::Level level, os::Message& message, std::string_view kind) {
    if (mayWrite(os::hasThreads ? hashOf(kind.empty() ? message.view() : kind) : asNumber(kind.data()), false)) {
        write(message, level);
    }
}

void forgetMisuses() {
    linesOfMisuse.reset();
}

} // namespace mpr::gc
