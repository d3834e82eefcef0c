// SPDX-License-Identifier: MIT
/*
    runtime.cpp - Create, configure and destroy the runtime.
 */
#include "mpr/gc/runtime.hpp"

#include <new>

#include "mpr/barrier.h"
#include "mpr/collect.h"
#include "mpr/gc/batch.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/gc/manager.hpp"
#include "mpr/gc/shortage.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/pages.hpp"
#include "mpr/shutdown.h"
#include "mpr/thread.h"

namespace mpr::gc {

constinit StartupLimits startupLimits; // before there is a runtime
alignas(Runtime) std::byte runtimeMemory[sizeof(Runtime)];
constinit os::Shared<bool> ending{false};

namespace {

enum class Stage : int { none, forked, starting, running };
constinit os::Shared<Stage> stage{Stage::none};

/**
    Threads attach, and unattached ones use permanent memory, while others end the runtime or make the next one. The end
    of the runtime waits for threads that have come in. A thread that attaches is inside until it is in the collector's
    list, for which the runtime waits in turn. Nobody comes in once the door is closed. The door outlives the runtime.
 */
class Door {
public:
    /** Come in. @return Whether the runtime stays until leave(). */
    bool enter() {
        inside_.fetch_add(1);
        if (open_.load()) {
            return true;
        }
        leave();
        return false;
    }
    void leave() { inside_.fetch_add(-1); }
    void open() { open_.store(true); }
    void close() {
        open_.store(false);
        os::Word never{0};
        while (inside_.load() != 0) {
            os::wait(never, 0, poll);
        }
    }

private:
    static constexpr std::uint64_t poll = 50'000; // nanoseconds
    // Either side writes one and then reads the other, so both are sequentially consistent.
    os::Shared<int> inside_{0};
    os::Shared<bool> open_{false};
};
constinit Door door;

heap::Options configured;

void applyStartupLimits(heap::Options& options) {
    if constexpr (os::hasThreads) {
        options.regionShift = startupLimits.regionShift != 0 ? startupLimits.regionShift : options.regionShift;
        options.young = startupLimits.young != 0 ? startupLimits.young : options.young;
    }
}

/** The root of all managed memory. What the runtime's rooms add is marked here, too. */
void manageMpr(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        runtime().services.mark();
        if constexpr (os::hasThreads) {
            auto* mpr = static_cast<Mpr*>(ptr);
            for (char** field = &mpr->emptyString; field != static_cast<void*>(&mpr->heap); ++field) {
                markLoose(field);
            }
        }
    }
}

/** The strings that programs take from the root. @return false when memory is short. */
bool fill(Mpr& mpr) {
    if constexpr (os::hasThreads) {
        mpr.heap = reinterpret_cast<MprHeap*>(&runtime().heap);
        mpr.emptyString = static_cast<char*>(mprMemdup("", 1));
        mpr.oneString = static_cast<char*>(mprMemdup("1", 2));
        return mpr.emptyString && mpr.oneString;
    }
    return true;
}

void threadEnds(void*);

/** Detach the calling thread, in whatever state it is. */
void detach() {
    os::onThreadExit(threadEnds, nullptr);
    runtime().collector.detach(attached);
    attached = current = nullptr;
}

/** The thread ends, wherever it is: detach it if it has not done so. One that collects would be waited for by all, for ever. */
void threadEnds(void*) {
    if constexpr (os::hasThreads) {
        if (running() && (Marker::active() || (attached && attached->isCollector))) {
            failAtEnd();
        }
    }
    if (attached && running()) {
        if (isNotified(*attached)) {
            runtime().depletion.abandon(*attached);
        }
        if constexpr (os::hasThreads) {
            runtime().services.leave();
        }
        detach();
    }
}

/**
    Called in a child of fork. Its one thread has a copy of the parent's heap, locks that nobody will release, and no
    collector. The child may be about to execute another program, so this only notes that it is a child.
 */
void forked() {
    if (stage.load(std::memory_order_relaxed) != Stage::none) {
        stage.store(Stage::forked, std::memory_order_relaxed);
    }
    attached = current = nullptr;
}

void watchForks() {
    if constexpr (os::hasThreads) {
        static constinit os::Shared<bool> watched{false};
        if (!watched.exchange(true)) {
            os::onFork(forked);
        }
    }
}

/** Wait until no other thread is attached, and let none attach any more. @return false when the deadline has passed. */
bool stayAlone(Mutator& self, std::uint64_t deadline) {
    auto& collector = runtime().collector;
    while (collector.awaitAlone(self, deadline)) {
        door.close();
        if (collector.awaitAlone(self, 0)) {
            return true;
        }
        door.open();
    }
    return false;
}

/** Stop the rooms' threads, and wait until no other is left. @return false when some are: named. */
bool stopOthers(Mutator& self) {
    Runtime& rt = runtime();
    const std::uint64_t deadline =
        os::now() + static_cast<std::uint64_t>(rt.life.exitTimeout.load(std::memory_order_relaxed)) * 1'000'000;
    if (rt.services.stop(deadline) && stayAlone(self, deadline)) {
        return true;
    }
    self.calledBack = false; // but `ending` stays: the services do not go on
    rt.collector.nameOthers(self, "mprDestroy refused");
    return false;
}

} // namespace

Mutator* prepareThread(const char* name, bool service, void* thread) {
    Mutator* mutator = nullptr;
    Trying attempt(sizeof(Mutator), [&](heap::Shortage& shortage) {
        mutator = runtime().collector.prepare(name, service, thread, shortage);
        return mutator != nullptr;
    });
    if (!attempt.again()) {
        current ? relieve(*current, attempt) : relieveOutside(attempt);
    }
    return mutator;
}

namespace {

/** @return 0 or MPR_ERR_. @param mutator What Collector::prepare returned. */
int attachCurrent(Mutator* mutator) {
    if (!mutator) {
        return MPR_ERR_MEMORY;
    }
    if (!detachAtEnd(mutator)) {
        runtime().collector.abandon(mutator);
        return MPR_ERR_CANT_INITIALIZE;
    }
    attachPrepared(mutator);
    return 0;
}

/** An option whose value stands in a variable of the environment. */
bool applyTo(heap::Options& options, std::string_view name, const char* value) {
    os::Message spec;
    return options.parse((spec << name << std::string_view(value)).text());
}

bool start(Runtime& rt, int argc, char** argv, int flags, void* buffer, std::size_t size) {
    heap::Options options = configured;
    if (os::hasEnvironment && !options.parse(os::environment("MPR_OPTIONS"))) {
        return false;
    }
    if (options.everyYield == heap::Options::asEnvironment) {
        const char* every = os::hasEnvironment ? os::environment("MPR_GC_EVERY_YIELD") : nullptr;
        options.everyYield = every && *every != '0' ? heap::Options::on : heap::Options::off;
        const char* each = os::hasEnvironment ? os::environment("MPR_GC_EVERY_ALLOC") : nullptr;
        if (each && !applyTo(options, "everyalloc=", each)) {
            return false;
        }
    }
    if (const char* percent = os::hasEnvironment ? os::environment("MPR_GC_CPU_PERCENT") : nullptr) {
        if (!applyTo(options, "cpu=", percent)) {
            return false;
        }
    }
    applyStartupLimits(options);
    if (!rt.heap.open(options, buffer, size)) {
        if constexpr (os::hasThreads) { // a board has its buffer
            rt.heap.close();
            os::Message message;
            os::log(os::Level::error, message << "mprCreate: the " << (os::isHosted() ? "host" : "system")
                                              << " gives no memory for the heap");
        }
        return false;
    }
    if constexpr (os::hasThreads) {
        managers.open();
    }
    mprBarrier = {rt.heap.heads().inside, rt.heap.heads().bias};
    if (!(os::hasThreads || openManagerSet()) || !rt.collector.open(options, buffer ? size : 0)) {
        rt.heap.close();
        return false;
    }
    rt.collector.enable((flags & MPR_DISABLE_GC) == 0);
    rt.depletion.setArguments(argv);
    rt.argv = argv;
    rt.flags = flags;
    if constexpr (os::hasThreads) {
        rt.batches = options.batches;
    }
    rt.owner = os::currentThread();
    if constexpr (os::hasThreads) {
        rt.roots.provide(rt.heap);
    }
    heap::Shortage shortage = heap::Shortage::none;
    if (attachCurrent(rt.collector.prepare("main", false, nullptr, shortage)) == 0) {
        rt.mpr = mprAllocObj(Mpr, manageMpr);
        if (rt.mpr && fill(*rt.mpr) && rt.roots.add(rt.heap, rt.heap.find(rt.mpr), rt.mpr, shortage)) {
            rt.mpr->argc = argc;
            rt.mpr->argv = argv;
            return true;
        }
        os::onThreadExit(threadEnds, nullptr);
        rt.collector.detach(attached);
        attached = current = nullptr;
    }
    rt.collector.close();
    rt.heap.close();
    return false;
}

Mpr* create(int argc, char** argv, int flags, void* buffer, std::size_t size) {
    Stage none = Stage::none;
    if (!stage.compare_exchange_strong(none, Stage::starting)) {
        os::Message message;
        os::log(os::Level::error,
                message << "mprCreate: "
                        << (os::hasThreads && isForked() ? "not in a child of fork" : "a runtime exists already"));
        return nullptr;
    }
    watchForks();
    forgetMisuses();
    if constexpr (os::hasThreads) {
        census.forget();
        census.name(manageMpr, "Mpr");
    }
    auto* rt = new (runtimeMemory) Runtime;
    mprYieldWanted = false;
    bool started = false;
    {
        const os::AsCritical critical(os::Critical::process);
        started = start(*rt, argc, argv, flags, buffer, size);
    }
    if (!started) {
        rt->~Runtime();
        if constexpr (os::hasPages) {
            os::endPages();
        }
        stage.store(Stage::none);
        os::Message message;
        os::log(os::Level::error, message << "mprCreate: the runtime could not be made");
        return nullptr;
    }
    stage.store(Stage::running);
    if constexpr (os::hasThreads) {
        ending.store(false);
        door.open();
    }
    return rt->mpr;
}
} // namespace

bool detachAtEnd(const Mutator* mutator) {
    if constexpr (!os::hasThreads) {
        return true; // it does not end
    }
    if (os::onThreadExit(threadEnds, const_cast<Mutator*>(mutator))) {
        return true;
    }
    os::Message message;
    message << "thread \"" << std::string_view(mutator->name)
            << "\" cannot be attached: the system has no key or no memory left to tell when a thread ends "
               "(pthread_key_create)";
    writeRepeated(os::Level::error, message); // a worker is tried for again and again
    return false;
}

void mayNotEnd(const void* thread) {
    os::onThreadExit(threadEnds, const_cast<void*>(thread));
}

void attachPrepared(Mutator* mutator) {
    attached = mutator;
    runtime().collector.attach(mutator);
    current = mutator;
    if constexpr (os::hasThreads) {
        if (runtime().batches) [[unlikely]] {
            setBatches(*mutator, true); // as far as there is memory for it
        }
    }
}

bool Stay::enter() {
    return door.enter();
}

void Stay::leave() {
    door.leave();
}

bool running() {
    return stage.load(std::memory_order_acquire) > Stage::forked;
}

bool isForked() {
    return stage.load(std::memory_order_relaxed) == Stage::forked;
}

} // namespace mpr::gc

using namespace mpr::gc;
namespace os = mpr::os;

Mpr* mprCreate(int argc, char** argv, int flags) {
    if constexpr (!os::hasPages) {
        os::Message message;
        os::log(os::Level::error, message << "mprCreate: this system has no pages; see mprCreateInBuffer");
        return nullptr;
    }
    return create(argc, argv, flags, nullptr, 0);
}

Mpr* mprCreateInBuffer(void* buffer, size_t size, int flags) {
    constexpr size_t least = 16 * 1024;
    if (!buffer || size < least) {
        os::Message message;
        os::log(os::Level::error,
                message << "mprCreateInBuffer: a buffer of " << size << " bytes is too small; at least " << least);
        return nullptr;
    }
    return create(0, nullptr, 0 | flags, buffer, size);
}

int mprDetachThread(void) {
    if (!admitLeaving("mprDetachThread")) {
        return MPR_ERR_BAD_STATE;
    }
    if (os::hasThreads && attached->isCollector) {
        refuse("mprDetachThread");
        return MPR_ERR_BAD_STATE;
    }
    if constexpr (os::hasThreads) {
        runtime().services.detach();
    }
    detach();
    return 0;
}

int mprAttachThread(cchar* name) {
    if (!admitAnywhere("mprAttachThread") || attached) {
        return MPR_ERR_BAD_STATE;
    }
    if constexpr (!os::hasThreads) {
        return attachCurrent(prepareThread(name, false, nullptr));
    }
    if (!door.enter()) {
        os::Message message;
        message << "mprAttachThread: the runtime has not begun yet, or is ending";
        writeRepeated(os::Level::error, message);
        return MPR_ERR_BAD_STATE;
    }
    Mutator* mutator = prepareThread(name, false, nullptr);
    door.leave();
    return attachCurrent(mutator);
}

bool mprDestroy(void) {
    if (!admitLeaving("mprDestroy")) {
        return false;
    }
    if (os::hasThreads && (attached->isCollector || os::currentThread() != runtime().owner)) {
        os::Message message;
        os::log(os::Level::error, message << "mprDestroy: no runtime was created by this thread");
        return false;
    }
    Runtime& rt = runtime();
    Mutator& self = *attached;
    if (os::hasThreads && rt.collector.threads(false) > 1) {
        rt.collector.nameOthers(self, "mprDestroy refused");
        return false;
    }
    if constexpr (os::hasThreads) {
        rt.collector.resume(self);
    }
    self.calledBack = true; // in terminators, and in the managers of what is left
    if constexpr (os::hasThreads) {
        ending.store(true);
    }
    rt.depletion.runTerminators(rt.life.strategy.load(), rt.life.status.load());
    if constexpr (os::hasThreads) {
        rt.collector.resume(self); // which a terminator may have left yielded
    }
    rt.life.state.store(MPR_STOPPING);
    if (os::hasThreads && !stopOthers(self)) {
        return false;
    }
    rt.life.state.store(MPR_STOPPED); // from here on no thread starts, and no event runs
    if constexpr (os::hasThreads) {
        rt.services.end();
        rt.collector.resume(self); // which a procedure may have left yielded
    }
    if constexpr (os::hasThreads) {
        closeBatch(self);
        self.beingFreed.enter(nullptr);
    }
    // A collection that is under way must not wait for this thread while this thread waits for its end.
    rt.collector.yield(self, MPR_YIELD_STICKY, nullptr);
    rt.collector.close();
    rt.collector.resume(self);
    rt.services.close();
    rt.collector.freeEverything();
    if constexpr (os::hasThreads) {
        rt.heap.endQuarantine(true); // names each freed block that rests and was written to
    }
    os::onThreadExit(threadEnds, nullptr);
    attached = current = nullptr;
    rt.roots.unlinkAll();
    if constexpr (os::hasPages) {
        rt.roots.close();
    }
    if (const mpr::heap::Annex* annex = rt.heap.annex(); os::hasThreads && annex) {
        annex->close();
    }
    rt.heap.close();
    char** const restart = os::hasEnvironment && (rt.life.strategy.load() & MPR_EXIT_RESTART) ? rt.argv : nullptr;
    rt.~Runtime();
    if constexpr (os::hasPages) {
        os::endPages();
    }
    stage.store(Stage::none);
    forgetMisuses();
    if (restart) {
        os::restart(restart);
        os::Message message;
        os::log(os::Level::error, message << "mprDestroy: the program could not be executed anew");
    }
    return true;
}

int mprConfigure(cchar* spec) {
    mpr::heap::Options options;
    if (!options.parse(spec)) {
        return MPR_ERR_BAD_ARGS;
    }
    configured = options;
    return 0;
}

MprLogHandler mprSetLogHandler(MprLogHandler handler) {
    return os::setLogHandler(handler);
}

void mprAddTerminator(MprTerminator terminator) {
    if (admitAnywhere("mprAddTerminator") && !runtime().depletion.addTerminator(terminator)) {
        tellFailure("mprAddTerminator", reinterpret_cast<const void*>(terminator),
                    "too many terminators exist already");
    }
}

void mprNop(void* ptr) {
    __asm__ volatile("" : : "r"(ptr) : "memory");
}
