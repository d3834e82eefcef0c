// SPDX-License-Identifier: MIT
/*
    mutator.hpp - A thread that may use managed memory, as the collector sees it.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "mpr/gc/lost_time.hpp"
#include "mpr/gc/handle_cache.hpp"
#include "mpr/gc/manager.hpp"
#include "mpr/heap/local.hpp"
#include "mpr/os/check.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

struct RememberedChunk;
class Publisher;

/**
    The blocks whose managers a thread is in with MPR_MANAGE_FREE. One that it frees by hand has a hold, which is mprFree's.
    The collector's thread, and the one that ends the runtime, are in managers of blocks without number: they have entered
    nullptr for good. Addresses only: a manager may end its thread, and nothing on the stack outlives that.
 */
class BeingFreed {
public:
    void enter(const void* block) {
        if (depth_ < most) {
            blocks_[depth_] = block;
        }
        ++depth_;
    }
    void leave() { --depth_; }
    bool any() const { return depth_ > 0; }
    bool has(const void* block) const {
        std::size_t at = 0;
        while (at < depth_ && at < most && blocks_[at] != block) {
            ++at;
        }
        return at < depth_ && at < most;
    }
    /** The block that the thread is to free by hand stays: the collector frees it. See leaveToCollector. */
    void leaveToCollector(const void* block) { left_ = block; }
    /** Whether that has been said of a block, which is asked once. */
    bool takeLeft(const void* block) {
        const bool left = left_ == block;
        left_ = left ? nullptr : left_;
        return left;
    }

private:
    static constexpr std::size_t most =
        os::cooperative ? 4 : 8; // what managers free that are nested deeper is not known
    std::size_t depth_ = 0;      // as wide as a word: compared with 0 in one instruction
    const void* blocks_[most] = {};
    const void* left_ = nullptr; // until the manager has returned, which does nothing more
};

/** Where a stack has been used when its thread last stopped, at the least address of it; and its end. For check=stacks. */
struct StackOfStopped {
    os::Shared<const void*> top{nullptr}, end{nullptr}; // written by the thread; a pause reads them
};

/** How much of a processor a thread had had when it was found to keep others waiting. For who is on duty: late.cpp. */
struct LookedAt {
    os::Shared<std::uint32_t> thread{0}; // as the kernel numbers it; the thread writes that before it runs
    std::uint32_t look = 0;              // the number of the look
    std::uint64_t at = 0;                // the time of it
    std::uint64_t used = 0;              // nanoseconds of a processor that it had had
};

struct Mutator {
    /**
        Written by the thread itself. Others read it and `site`, relaxed, to name late threads. A thread that gives up on
        late ones looks again after writing the rendezvous' word, which orders `state` and `late` with threads that leave.
     */
    enum class State : std::uint32_t {
        running, // counted in the rendezvous
        waiting, // in a yield that ends by itself
        yielded, // stickily, until mprResetYield
        exempt,  // by mprSetThreadYield
    };

    // The thread's own while it runs, and the collector's in a pause: the rendezvous orders these two.
    heap::Local local;
    RememberedChunk* remembered = nullptr; // what the thread's write barrier fills
    os::Shared<State> state{State::yielded};
    /** Where the thread last yielded: a code address. */
    os::Shared<const void*> site{nullptr};
    os::Shared<std::uint32_t> lateFor{0}; // the last rendezvous for which it was named; written on duty
    /**
        Whether others run on without it. Written under the list's lock before Late::course_, or by the thread itself
        after.
     */
    os::Shared<bool> late{false};
    bool visits = false; // it is counted in the rendezvous whatever its state (Visit); the thread's own
    bool isCollector = false;
    bool calledBack = false; // in a procedure of the program, a manager of mprFree or a terminator; the thread's own
    bool ofService = false;  // it belongs to a room of the runtime, and ends when the runtime does
    /** It runs, but waits for its turn to stop the others, so it is not named as late. Written by the thread itself. */
    os::Shared<bool> parked{false};
    /** It has a lock that callbacks of the program may wait for, so it calls none when memory runs short. Its own. */
    bool callsNobody = false;
    bool canDoWithout = false; // what it allocates now: Optional. Its own
    void* thread = nullptr;    // its MprThread, or null when the thread was made elsewhere
    /** Of all that were ever attached. The system gives the number of a thread that has ended to the next. 0: the collector's own. */
    std::uint32_t number = 0;
    char name[32] = {}; // set before the list's lock, with which others come to it, as all that does not change

    [[no_unique_address]] OwnHandles handles; // the thread's own, as the next
    [[no_unique_address]] OwnManagers managers;

    Mutator* next = nullptr; // MutatorList's
    Mutator* previous = nullptr;

    /**
        When it last passed by a requested collection while others run on. Written by itself; read to name late threads.
     */
    struct Never {};
    [[no_unique_address]] std::conditional_t<os::hasThreads, os::Counter, Never> passedAt{};
    struct NoStack {};
    [[no_unique_address]] std::conditional_t<os::hasThreads, StackOfStopped, NoStack> stack{};
    struct NotLookedAt {};
    [[no_unique_address]] std::conditional_t<os::hasThreads, LookedAt, NotLookedAt> lookedAt{};
    Publisher* publisher = nullptr; // of a thread with a batch: batch.hpp
    BeingFreed beingFreed;          // its own
    [[no_unique_address]] std::conditional_t<os::hasThreads, Suspended, NeverSuspended> suspended{};
};

/** The calling thread while it runs: nullptr when it is not attached, has yielded, or traces a block. See guard.hpp. */
extern constinit MPR_PER_THREAD Mutator* current;
/** `current`, for calls from outside: on a board nullptr in an interrupt, too, whatever the thread was doing. */
[[gnu::always_inline]] inline Mutator* caller() {
    return os::inInterrupt() ? nullptr : current;
}
/** The calling thread in any state, nullptr when it is not attached. */
extern constinit MPR_PER_THREAD Mutator* attached;

/**
    The calling thread collects, and nobody could go on without it: if it ends, that is named, and the process ends. nullptr: it
    has done its work. Defined in runtime.cpp.
 */
void mayNotEnd(const void* thread);

/** The calling thread is this one, and counted as running; or it is the collector, to which phases mean more than states. */
inline void assertRunning([[maybe_unused]] const Mutator& m, [[maybe_unused]] const char* file = __builtin_FILE(),
                          [[maybe_unused]] int line = __builtin_LINE()) {
    if constexpr (os::checked) {
        const bool runs = m.isCollector || m.state.load(std::memory_order_relaxed) == Mutator::State::running;
        os::check(&m == current && runs, "the thread runs, and is the calling one", file, line);
    }
}

} // namespace mpr::gc
