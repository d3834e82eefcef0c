// SPDX-License-Identifier: MIT
/*
    events.hpp - The events of a runtime: which are due, which thread runs them, which threads wait.

    One lock guards dispatchers, queues and the wheel. Everything under it takes constant time, except advancing the
    wheel, which takes constant time per event. Nobody yields or allocates under it.

    A dispatcher with something to do is active: it stands in a list that retains it. When an event is queued, the
    dispatcher is handed to whoever is to run it (see hand()); it stands there at most once.
 */
#pragma once

#include "mpr/collect.h"
#include "mpr/gc/mutator.hpp"
#include "mpr/os/lock.hpp"
#include "mpr/task/event.hpp"
#include "mpr/task/loop.hpp"
#include "mpr/task/mailbox.hpp"
#include "mpr/task/postponement.hpp"
#include "mpr/task/wheel.hpp"

namespace mpr::task {

/** The dispatchers that a thread waits for, each with its mark before. */
struct Awaited {
    MprDispatcher* dispatchers[2]; // the second may be nullptr
    std::int64_t since[2];

    template <class Condition>
    bool any(Condition condition) const {
        return condition(own(*dispatchers[0]), since[0]) ||
               (dispatchers[1] && condition(own(*dispatchers[1]), since[1]));
    }
};

class Events {
public:
    /** Make it ready, once a runtime. @return false when memory is short, or the thread is foreign (named in the log). */
    bool open(const char* function) { return tryOpen(function) == 0; }
    /** open() with a code. @return 0; MPR_ERR_CANT_CREATE without descriptors; MPR_ERR_MEMORY, MPR_ERR_BAD_STATE. */
    int tryOpen(const char* function) { return isOpen() ? 0 : openFirst(function); }
    /** Whether it is, and the calling thread runs. */
    bool isOpen() const { return gc::current && opened_.load(std::memory_order_acquire); }
    MprDispatcher* mainDispatcher() const { return hub_->main; }

    // ---- Dispatchers ----
    Dispatcher* makeDispatcher(const char* name, int flags);
    void destroy(MprDispatcher& dispatcher);
    /** Any thread. The next moment it may be, if another destroys it. */
    static bool isDestroyed(const MprDispatcher& dispatcher) {
        return __atomic_load_n(&static_cast<const Dispatcher&>(dispatcher).destroyed, __ATOMIC_RELAXED);
    }
    /** Whether it is, and no event of it runs any more. */
    bool isAbandoned(const MprDispatcher& dispatcher);
    int claim(MprDispatcher& dispatcher);
    int unclaim(MprDispatcher& dispatcher);
    void disable(MprDispatcher& dispatcher, bool on);
    bool hasEvents(MprDispatcher& dispatcher);
    int count(MprDispatcher& dispatcher);
    /** Whether the calling thread runs an event of a dispatcher. */
    bool runsHere(const MprDispatcher& dispatcher);
    /** Whether none has anything due, and no other thread runs an event. */
    bool areIdle();
    std::int64_t mark(MprDispatcher& dispatcher);

    // ---- Events ----
    Event* makeEvent(MprDispatcher& dispatcher, const char* name, MprTicks period, MprEventProc proc, void* data,
                     int flags);
    /** Make an event that is due now, without flags. @param dispatcher nullptr means the main one. */
    Event* makeDue(MprDispatcher* dispatcher, const char* name, MprEventProc proc, void* data);
    /** @param continuous -1: as it was. */
    bool schedule(Event& event, MprTicks period, int continuous);
    void remove(Event& event);
    int post(MprDispatcher* dispatcher, MprEventProc proc, void* data);
    void setRepeats(Event& event, bool on);
    /** Queue an event now. @param mask Of an I/O event. */
    void queue(Event& event, int mask);
    /**
        Queue an event from a callback of libuv, which must not allocate or wait: it is queued when libuv has returned.
     */
    void fire(Fired& fired);
    /** Take it out and never queue it again. */
    void cancel(Event& event);

    // ---- Servicing ----
    int service(MprTicks delay, int flags, const void* site);
    /** Wait until an event of an awaited dispatcher has run; run its events if they are the calling thread's to run. */
    int waitFor(const Awaited& awaited, MprTicks timeout, const void* site);
    /** The calling thread ends, perhaps inside of an event's procedure: others run and service from here on. */
    void leaveThread();
    /** The calling thread is about to be detached: what it has claimed is nobody's. */
    void detachThread();
    /** What the calling thread has claimed is nobody's. It runs no event. @return Whether there was something. */
    bool giveUpClaims();
    /** How long events may wait before sayUnserviced() says so, nanoseconds. Tests have less of it. */
    static constinit inline std::uint64_t patience = 5'000'000'000;
    /** Say so if events have waited for as long between two calls, and no thread is about to run them. Any thread. */
    void sayUnserviced();
    /** Have all waiting threads look again, because the runtime stops, for example. */
    void wakeAll();
    Loop& loop() { return loop_; }
    /** The loop was changed: the change takes effect soon. */
    void loopChanged();

    void markRoots();
    void stop();
    void close();

private:
    /** The blocks that the room retains. */
    struct Hub {
        Dispatcher* main;    // reference
        Dispatcher* active;  // reference
        Wheel::Heads* heads; // reference
    };
    /** Which thread to wake, once the lock is released, because a dispatcher has something to do. */
    enum class Hand { nobody, eventsThread, worker, waiters };
    /** What a thread that waits for events has found. */
    struct Found {
        Dispatcher* mine = nullptr; // whose events are the thread's to run
        bool isShort = false;       // they are short
        bool ran = false;
        int error = 0;
    };
    /** Threads to wake for several events, collected by the events' thread. */
    struct Hands {
        Dispatcher* forWorkers = nullptr; // by nextReady: none of them is in the list of ready ones
        bool forWaiters = false;
        void add(Dispatcher& dispatcher, Hand whom);
    };

    static void manageHub(void* ptr, int flags);
    static void runAsJob(Job* job);

    int openFirst(const char* function);
    int openOnce();
    int openWith(Hub* hub, Wheel::Heads* heads);

    void settle(Dispatcher& dispatcher) MPR_REQUIRES(lock_);
    void append(Event& event) MPR_REQUIRES(lock_);
    void queueNew(Event& event, Hands& hands) MPR_REQUIRES(lock_);
    void enqueue(Event& event) MPR_REQUIRES(lock_);
    void takeOut(Event& event) MPR_REQUIRES(lock_);
    void drop(Event& event) MPR_REQUIRES(lock_);
    void dropAll(Dispatcher& dispatcher) MPR_REQUIRES(lock_);
    void setTimer(Event& event) MPR_REQUIRES(lock_);
    void leaveTimed(Event& event) MPR_REQUIRES(lock_);
    bool isMine(const Dispatcher& dispatcher, os::ThreadId self) MPR_REQUIRES(lock_);
    bool isStuck(Dispatcher& dispatcher, std::uint64_t now) const MPR_REQUIRES(lock_);
    const char* whyUnserviced(const Dispatcher& dispatcher, os::ThreadId self) const MPR_REQUIRES(lock_);
    bool mustStayAwake(const Awaited* awaited, bool runsReady) MPR_REQUIRES(lock_);
    Hand hand(Dispatcher& dispatcher) MPR_REQUIRES(lock_);
    const char* giveUpDispatchers(Hands& hands);
    Event* begin(Dispatcher& dispatcher, os::ThreadId self) MPR_REQUIRES(lock_);
    bool repeat(Dispatcher& dispatcher, Event& event, const Running* outer) MPR_REQUIRES(lock_);
    Hand leave(Dispatcher& dispatcher, const Running& running) MPR_REQUIRES(lock_);

    bool queueNew(Event& event);
    void tell(Dispatcher& dispatcher, Hand whom);
    void tell(const Hands& hands);
    std::size_t queueLetters(std::span<const Mailbox::Letter> letters);
    int run(Dispatcher& dispatcher, int most);
    int readyEvents();
    int runReady();
    int runReadyBeside();
    bool runsReady() const;
    void endLoopThread();
    bool mustGiveWay() const;
    void noteWaiting(const Awaited& awaited, os::ThreadId self, bool on) MPR_REQUIRES(lock_);
    Found lookFor(const Awaited& awaited, os::ThreadId self);
    bool beginService(os::ThreadId self);
    bool beginWaiterService(os::ThreadId self);
    void endService(int waiting);
    bool abandonService();
    bool awaitService(os::ThreadId self, std::uint64_t deadline, const void* site);
    void takePosts();
    void expire();
    void look(bool now);
    void sleep(std::uint64_t deadline, const Awaited* awaited, bool runsReady, const void* site);
    /** The yield after an event. @param more Others are queued. @param services The calling thread services events. */
    void yield(bool more, bool services) {
        if (services) {
            if (mprNeedYield() && more && postponement_.allowed()) {
                return;
            }
            postponement_.end();
        }
        mprYield(0);
    }
    void wakeServicer();
    void ring();

    std::atomic<bool> opened_{false};  // releases what opening has made; without order only under the lock
    os::Lock openLock_{os::outermost}; // libuv allocates; the log's handler never waits for it: see openOnce
    Hub* hub_ = nullptr;
    Loop loop_;

    os::Lock lock_;
    Wheel wheel_ MPR_GUARDED_BY(lock_);
    Dispatcher* firstReady_ MPR_GUARDED_BY(lock_) = nullptr;
    Dispatcher* lastReady_ MPR_GUARDED_BY(lock_) = nullptr;
    int readyCount_ MPR_GUARDED_BY(lock_) = 0;
    /** The time of the wheel at which the thread that services events wakes. */
    std::uint64_t sleepUntil_ MPR_GUARDED_BY(lock_) = 0;

    // The thread that services events. Taking it on acquires and giving it up releases what stands here; without order
    // a thread only looks whether it is itself. Sequentially consistent: the thread that gives it up then looks whether
    // anybody waits for events; a thread that waits counts itself, then tries to take it.
    std::atomic<os::ThreadId> servicer_{0};
    int nesting_ = 0;
    // The servicer only waits for an event and gives way to claimants, threads in mprServiceEvents. Sequentially
    // consistent as the two that follow: a claimant counts itself, then wakes; a sleeper says so, then reads the count.
    std::atomic<bool> givesWay_{false};
    std::atomic<int> claimants_{0};
    // With MPR_USER_EVENTS_THREAD: the last thread in mprServiceEvents. A number, orders nothing.
    std::atomic<std::uint32_t> loopThread_{0}; // Mutator::number
    // Sequentially consistent: it says that it sleeps and looks for work; others give work and look whether it sleeps.
    std::atomic<bool> sleeping_{false};
    std::atomic<bool> turnWanted_{false};
    // Belongs to the thread that services; servicer_ orders one such thread after another.
    std::uint64_t lookedAt_ = 0; // when libuv was last asked
    Fired* fired_ = nullptr;     // in their order
    Fired* lastFired_ = nullptr;
    Postponement postponement_;
    bool postsWait_ = false; // those left in the mailbox found no memory
    bool jobsWait_ = false;  // for a worker, which could not be made

    // Other threads that wait for events to run: likewise sequentially consistent, a count and what they wait for.
    os::Word bell_{0};
    std::atomic<int> waiters_{0};

    Mailbox mailbox_;
};

extern constinit Events theEvents;

/** The events of the runtime that exists. */
inline Events& events() {
    return theEvents;
}

} // namespace mpr::task
