// SPDX-License-Identifier: MIT
/*
    memory_load.cpp - How much memory there is for the program, and what is done about it: mpr/host.h.

    Three things come in here. A heap asks before it grows, with its lock held: it gets an answer, and no more is done. A
    collection has swept, or a thread has allocated, or somebody asks: the redline is moved to where it has to be. And on a
    thread that may be told of short memory, handlers and pruners are told of a state that has changed since. Whoever finds
    a change, and may not tell, sets `due_` and has the heap want attention.
 */
#include "mpr/host/memory_load.hpp"

#include <algorithm>
#include <atomic>

#include "mpr/collect.h"
#include "mpr/gc/guard.hpp"
#include "mpr/gc/load_hooks.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/host.h"
#include "mpr/host/load_state.hpp"
#include "mpr/os/lock.hpp"
#include "mpr/os/pages.hpp"
#include "mpr/shutdown.h"
#include "mpr/task/thread.hpp"
#include "mpr/task/waiting.hpp"

namespace mpr::host {

namespace {

constexpr std::uint64_t fresh = 10'000'000; // nanoseconds for which a reading holds

/** What the public header calls a source. */
constexpr int numberOf(Source source) {
    switch (source) {
    case Source::host: return MPR_LOAD_HOST;
    case Source::group2: return MPR_LOAD_CGROUP2;
    case Source::group1: return MPR_LOAD_CGROUP1;
    case Source::machine: return MPR_LOAD_MACHINE;
    default: return MPR_LOAD_NONE;
    }
}

LoadReading readHost(const MprHost& host) {
    MprMemoryLoad load{};
    load.limit = load.available = load.ample = noLimit;
    load.pressure = -1;
    LoadReading reading;
    if (host.getLoad(host.data, &load) == 0) {
        reading = {Source::host, load.limit, load.available, load.ample, load.pressure};
    }
    return reading;
}

class MemoryLoad {
public:
    // ---- Any thread, whatever it holds ----
    /** @return Whether a heap may grow by so much. */
    bool mayGrow(std::size_t bytes);
    /** Look anew, unless somebody has just done so. @return false when nobody knows. */
    bool refresh();
    MprMemoryLoad load();
    void note(int state);
    void setRoot(const char* root) {
        const os::Locked locked(lock_);
        root_ = root;
        readAt_ = 0;
    }
    void askHost(bool on) {
        const os::Locked locked(lock_);
        asksHost_ = on;
        reading_ = {};
        readAt_ = 0;
        install();
    }
    void watch(bool on) {
        const os::Locked locked(lock_);
        watches_ = on;
        readAt_ = 0;
        reading_ = {};
        install();
    }
    bool isAsked() {
        const os::Locked locked(lock_);
        return asksHost_ || watches_;
    }

    // ---- No lock is held ----
    /** Look, and have the redline follow. @return As refresh(). */
    bool look();
    /** Tell what is due, if the calling thread may. */
    void attend(gc::Mutator& m);
    int addHandler(MprMemoryLoadHandler handler, void* data);
    void removeHandler(MprMemoryLoadHandler handler, void* data);
    /** The runtime has ended. */
    void end();

private:
    struct Handler {
        MprMemoryLoadHandler proc;
        void* data;
    };
    static constexpr int most = 16;

    static void enlist();
    bool refreshLocked() MPR_REQUIRES(lock_);
    MprMemoryLoad loadLocked() MPR_REQUIRES(lock_);
    void change(int state) MPR_REQUIRES(lock_);
    void install() MPR_REQUIRES(lock_);
    void tell();

    os::Lock lock_; // taken with a heap's held, never the other way
    LoadReading reading_ MPR_GUARDED_BY(lock_);
    std::uint64_t readAt_ MPR_GUARDED_BY(lock_) = 0;
    std::uint64_t grown_ MPR_GUARDED_BY(lock_) = 0; // bytes that were granted since
    int state_ MPR_GUARDED_BY(lock_) = MPR_MEMORY_NEUTRAL;
    bool noted_ MPR_GUARDED_BY(lock_) = false; // the program has said the state, and it stays until that is told
    bool asksHost_ MPR_GUARDED_BY(lock_) = false;
    bool watches_ MPR_GUARDED_BY(lock_) = false;
    bool isUsed_ MPR_GUARDED_BY(lock_) = false; // there is a handler, or somebody has told, in this runtime
    const char* root_ MPR_GUARDED_BY(lock_) = "";
    Handler handlers_[most] MPR_GUARDED_BY(lock_) = {};
    std::atomic<bool> due_{false}; // set after what is due, under the lock
};
constinit MemoryLoad memoryLoad;

// ---- Looking ----------------------------------------------------------------------------------------------------

void MemoryLoad::change(int state) {
    state_ = state;
    due_.store(true, std::memory_order_release);
    if (gc::running()) {
        gc::runtime().heap.wantAttention();
    }
}

bool MemoryLoad::refreshLocked() {
    os::assertHeld(lock_);
    const std::uint64_t now = os::now();
    const std::uint64_t holds = *root_ == '\0' ? fresh : 0; // a test changes its files, and looks
    if ((asksHost_ || watches_) && (readAt_ == 0 || now - readAt_ >= holds)) {
        const MprHost* host = asksHost_ ? os::pageHost.load(std::memory_order_relaxed) : nullptr;
        reading_ = host ? readHost(*host) : LoadFiles(root_).read();
        readAt_ = now;
        grown_ = 0;
        if (const int state = stateOf(reading_, state_);
            reading_.source != Source::none && state != state_ && !noted_) {
            change(state);
        }
    }
    return reading_.source != Source::none;
}

bool MemoryLoad::refresh() {
    const os::Locked locked(lock_);
    return refreshLocked();
}

bool MemoryLoad::mayGrow(std::size_t bytes) {
    const os::Locked locked(lock_);
    if (!refreshLocked()) {
        return true;
    }
    if (!mayGrowBy(reading_, bytes + grown_) && os::criticalNow < os::Critical::process) {
        if (reading_.source == Source::host) {
            os::countRefusal();
        }
        return false;
    }
    grown_ += bytes;
    return true;
}

bool MemoryLoad::look() {
    const bool known = refresh();
    heap::Heap& heap = gc::runtime().heap;
    const std::uint64_t counted = heap.limits().counted();
    std::uint64_t redline = noLimit;
    {
        const os::Locked locked(lock_);
        redline = known ? redlineOf(reading_, counted) : noLimit;
    }
    heap.moveRedline(static_cast<std::size_t>(std::min<std::uint64_t>(redline, heap::Limits::none)));
    return known;
}

MprMemoryLoad MemoryLoad::loadLocked() {
    os::assertHeld(lock_);
    return {state_,         numberOf(reading_.source), percentOf(reading_), reading_.pressure,
            reading_.limit, reading_.available,        reading_.ample};
}

MprMemoryLoad MemoryLoad::load() {
    const os::Locked locked(lock_);
    return loadLocked();
}

// ---- Telling ----------------------------------------------------------------------------------------------------

void MemoryLoad::note(int state) {
    const os::Locked locked(lock_);
    isUsed_ = noted_ = true;
    install();
    change(state);
}

/** By a thread that may be in the notifier. */
void MemoryLoad::tell() {
    Handler handlers[most];
    MprMemoryLoad now{};
    {
        const os::Locked locked(lock_);
        std::copy(handlers_, handlers_ + most, handlers);
        now = loadLocked();
        noted_ = false;
    }
    for (const Handler& handler : handlers) {
        if (handler.proc) {
            handler.proc(&now, handler.data);
        }
    }
}

void MemoryLoad::attend(gc::Mutator& m) {
    enlist();
    look();
    if (!due_.exchange(false, std::memory_order_acquire)) {
        return;
    }
    gc::Runtime& rt = gc::runtime();
    const bool low = load().state == MPR_MEMORY_LOW;
    if (!rt.depletion.tellLoad(
            m, [](void* self) { static_cast<MemoryLoad*>(self)->tell(); }, this, low)) {
        due_.store(true, std::memory_order_release); // whoever is in there has not been told of this
        rt.heap.wantAttention();
        return;
    }
    if (low) {
        rt.collector.memoryIsLow();
    }
}

int MemoryLoad::addHandler(MprMemoryLoadHandler handler, void* data) {
    const os::Locked locked(lock_);
    Handler* place = std::find_if(handlers_, handlers_ + most, [](const Handler& each) { return !each.proc; });
    if (place == handlers_ + most) {
        return MPR_ERR_MEMORY;
    }
    *place = {handler, data};
    isUsed_ = true;
    install();
    return 0;
}

void MemoryLoad::removeHandler(MprMemoryLoadHandler handler, void* data) {
    const os::Locked locked(lock_);
    Handler* place = std::find_if(handlers_, handlers_ + most,
                                  [=](const Handler& each) { return each.proc == handler && each.data == data; });
    if (place != handlers_ + most) {
        *place = {};
    }
}

// ---- The runtime's side -------------------------------------------------------------------------------------------

constexpr gc::LoadHooks hooks{[] { memoryLoad.look(); }, [](gc::Mutator& m) { memoryLoad.attend(m); }};

/** Heaps ask once somebody knows; the collector and allocation, too, once somebody may have told. */
void MemoryLoad::install() {
    os::assertHeld(lock_);
    const bool asked = asksHost_ || watches_;
    const auto ask = +[](std::size_t bytes) { return memoryLoad.mayGrow(bytes); };
    os::growthAsked.store(asked ? ask : nullptr, std::memory_order_release);
    gc::loadHooks.store(asked || isUsed_ ? &hooks : nullptr, std::memory_order_release);
}

void MemoryLoad::end() {
    const os::Locked locked(lock_);
    watches_ = false;
    std::fill_n(handlers_, most, Handler{});
    state_ = MPR_MEMORY_NEUTRAL;
    due_.store(false, std::memory_order_relaxed);
    reading_ = {};
    readAt_ = 0;
    isUsed_ = noted_ = false;
    install();
}

// ---- The thread that looks from time to time ----------------------------------------------------------------------

class Watcher {
public:
    /** @return false when there is no thread. */
    bool start(std::uint64_t period);
    void ring() {
        bell_.fetch_add(1, std::memory_order_release);
        os::wakeAll(bell_);
    }
    void setPeriod(std::uint64_t period) {
        period_.store(period);
        ring();
    }
    bool stop(std::uint64_t deadline);

private:
    enum : std::uint32_t { none, runs, ended };

    static void main(void* self, MprThread*) { static_cast<Watcher*>(self)->run(); }
    void run();
    bool mayEnd();

    os::Word bell_{0};
    os::Word state_{none};
    std::atomic<std::uint64_t> period_{0}; // nanoseconds; 0: the thread is to end
};
constinit Watcher watcher;

bool Watcher::start(std::uint64_t period) {
    setPeriod(period);
    std::uint32_t before = state_.load();
    if (before == runs || !state_.compare_exchange_strong(before, runs)) {
        return true;
    }
    // With a stack as of other threads: handlers and pruners of the program run there.
    if (task::startServiceThread(mprCreateThread("mpr-load", reinterpret_cast<void*>(main), this, 0)) != 0) {
        state_.store(none, std::memory_order_release);
        return false;
    }
    return true;
}

void Watcher::run() {
    for (;;) {
        const std::uint32_t heard = bell_.load(std::memory_order_acquire);
        const std::uint64_t period = period_.load(std::memory_order_acquire);
        if (period == 0 && mayEnd()) {
            return;
        }
        {
            const task::Waiting waiting(nullptr);
            os::wait(bell_, heard, period);
        }
        memoryLoad.attend(*gc::current);
    }
}

/**
    Who starts sets the period and then looks at the state; this sets the state and then looks at the period, all
    sequentially consistent: one of them sees the other. @return false: the thread goes on.
 */
bool Watcher::mayEnd() {
    state_.store(ended);
    std::uint32_t seen = ended;
    if (period_.load() != 0 && state_.compare_exchange_strong(seen, runs)) {
        return false;
    }
    os::wakeAll(state_);
    return true;
}

bool Watcher::stop(std::uint64_t deadline) {
    setPeriod(0);
    const task::Waiting waiting(nullptr);
    while (state_.load(std::memory_order_acquire) == runs) {
        const std::uint64_t left = task::leftUntil(deadline);
        if (left == 0) {
            return false;
        }
        os::wait(state_, runs, left);
    }
    return true;
}

gc::Service service{[] {}, [](std::uint64_t deadline) { return watcher.stop(deadline); }, [] { memoryLoad.end(); }};

/** Have what belongs to one runtime end with it. By a thread that runs. */
void MemoryLoad::enlist() {
    if (!mprIsStopped()) {
        gc::runtime().services.add(service);
    }
}

/** Whether the calling thread may be told of short memory. */
bool mayTell() {
    gc::Mutator* m = gc::current;
    return m && !m->isCollector && !gc::mustNotYield(*m) && !m->callsNobody;
}
} // namespace

void setLoadRoot(const char* root) {
    memoryLoad.setRoot(root);
}

void askHostOfLoad(bool on) {
    memoryLoad.askHost(on);
}

} // namespace mpr::host

using namespace mpr::host;
namespace gc = mpr::gc;

int mprWatchMemoryLoad(MprTicks period) {
    if (!gc::admitMaking("mprWatchMemoryLoad")) {
        return MPR_ERR_BAD_STATE;
    }
    gc::runtime().services.add(service);
    memoryLoad.watch(period >= 0);
    if (period > 0) {
        constexpr std::uint64_t nanoseconds = 1'000'000;
        const auto most = static_cast<MprTicks>(mpr::os::forever / 4 / nanoseconds);
        if (!watcher.start(static_cast<std::uint64_t>(std::min(period, most)) * nanoseconds)) {
            return MPR_ERR_CANT_CREATE;
        }
    } else {
        watcher.setPeriod(0);
    }
    memoryLoad.attend(*gc::current);
    return 0;
}

int mprGetMemoryLoad(MprMemoryLoad* load) {
    if (!gc::mayFill("mprGetMemoryLoad", load)) {
        return MPR_ERR_BAD_ARGS;
    }
    const gc::Stay stay("mprGetMemoryLoad");
    if (!stay) {
        *load = {MPR_MEMORY_NEUTRAL, MPR_LOAD_NONE, 0, -1, MPR_LOAD_UNKNOWN, MPR_LOAD_UNKNOWN, MPR_LOAD_UNKNOWN};
        return MPR_ERR_BAD_STATE;
    }
    const bool known = memoryLoad.look();
    if (mayTell()) {
        memoryLoad.attend(*gc::current);
    }
    *load = memoryLoad.load();
    return known ? 0 : MPR_ERR_NOT_READY;
}

int mprNoteMemoryLoad(int state) {
    if (state < MPR_MEMORY_LOW || state > MPR_MEMORY_HIGH) {
        gc::misuse("mprNoteMemoryLoad", nullptr, "a state that there is not");
        return MPR_ERR_BAD_ARGS;
    }
    const gc::Stay stay("mprNoteMemoryLoad");
    if (!stay || !gc::mayMake("mprNoteMemoryLoad")) {
        return MPR_ERR_BAD_STATE;
    }
    gc::runtime().services.add(service);
    memoryLoad.note(state);
    if (mayTell()) {
        memoryLoad.attend(*gc::current);
        return 0;
    }
    if (state == MPR_MEMORY_LOW) {
        gc::runtime().collector.memoryIsLow(); // which needs nobody to be told
    }
    watcher.ring();
    return 0;
}

int mprAddMemoryLoadHandler(MprMemoryLoadHandler handler, void* data) {
    const gc::Stay stay("mprAddMemoryLoadHandler");
    if (!stay || !gc::mayMake("mprAddMemoryLoadHandler", data)) {
        return MPR_ERR_BAD_STATE;
    }
    gc::runtime().services.add(service);
    return memoryLoad.addHandler(handler, data);
}

void mprRemoveMemoryLoadHandler(MprMemoryLoadHandler handler, void* data) {
    const gc::Stay stay("mprRemoveMemoryLoadHandler");
    if (stay) {
        memoryLoad.removeHandler(handler, data);
    }
}
