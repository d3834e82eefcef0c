// SPDX-License-Identifier: MIT
/*
    service.hpp - What a room above the collector adds to the runtime: blocks to mark, threads to end, resources to
    close.

    A room adds its service when it is first used, and the runtime forgets it when it ends. A service is a static
    object, so that adding it cannot fail.
 */
#pragma once

#include <atomic>

#include "mpr/os/lock.hpp"

namespace mpr::gc {

struct Service {
    /** Mark what the room retains. All threads are stopped. */
    void (*mark)();
    /** Make the room's threads end, and wait for them, yielded, until the deadline, which may be over. Called twice. @return
        Whether they did. */
    bool (*stop)(std::uint64_t deadline);
    /** Give everything back. No other thread is attached, the collector has ended, the heap still works. */
    void (*close)();
    /** The calling thread ends, without having been detached: others take over what it did. nullptr: nothing to do. */
    void (*leave)() = nullptr;
    /** The calling thread is about to be detached: what it alone might use is anybody's again. nullptr: nothing to do. */
    void (*detach)() = nullptr;
    /** The runtime ends, and no other thread is attached, but all of it works: tell the program's procedures of the end
        of what the room has, for the last time. nullptr: nothing to do. */
    void (*end)() = nullptr;
    Service* next = nullptr;
    os::Shared<bool> added{false}; // only Services::add reads it without order
};

class Services {
public:
    /**
        Add a service once per runtime, however often this is called. A thread that finds it added may not find it in
        the list yet. That does no harm: no pause looks there before the running thread that adds it has finished.
     */
    void add(Service& service) {
        if (service.added.load(std::memory_order_relaxed) || service.added.exchange(true)) {
            return;
        }
        os::Locked locked(lock_);
        service.next = first_;
        first_ = &service;
    }
    void mark() const {
        for (const Service* service = first(); service; service = service->next) {
            service->mark();
        }
    }
    /**
        Stop services, the last added first, since it may use those before it. All hear of it before one is waited for, whose
        threads may wait for another. @return Whether all have stopped.
     */
    bool stop(std::uint64_t deadline) const {
        constexpr std::uint64_t over = 0;
        return stopEach(over) || stopEach(deadline);
    }
    void leave() { callEach(&Service::leave); }
    void detach() { callEach(&Service::detach); }
    void end() { callEach(&Service::end); }
    void close() {
        for (Service* service = first(); service; service = service->next) {
            service->close();
            service->added.store(false);
        }
        first_ = nullptr;
    }

private:
    /** Rooms above need threads. */
    Service* first() const { return os::hasThreads ? first_ : nullptr; }
    bool stopEach(std::uint64_t deadline) const {
        bool stopped = true;
        for (const Service* service = first(); service; service = service->next) {
            stopped = service->stop(deadline) && stopped;
        }
        return stopped;
    }
    void callEach(void (*Service::*call)()) {
        const Service* service = nullptr;
        {
            os::Locked locked(lock_);
            service = first_;
        }
        for (; service; service = service->next) {
            if (service->*call) {
                (service->*call)();
            }
        }
    }

    os::Lock lock_;
    Service* first_ = nullptr; // written under the lock by running threads; the rendezvous orders a pause after them
};

} // namespace mpr::gc
