// SPDX-License-Identifier: MIT
/*
    unserviced.cpp - Naming events that nobody runs: a program that has forgotten to service events, or waits where it
    should, hangs without this, and without a word.

    Nothing watches. A thread that has waited for long in a way in which it runs no events looks, once a wait.
 */
#include "mpr/task/events.hpp"

#include "mpr/gc/guard.hpp"
#include "mpr/os/log.hpp"

namespace mpr::task {

/** Why no thread is about to run what is due of a dispatcher; nullptr: one is, or a worker will. */
const char* Events::whyUnserviced(const Dispatcher& d, os::ThreadId self) const {
    os::assertHeld(lock_);
    if (d.disabled || d.destroyed) {
        return nullptr;
    }
    const os::ThreadId servicer = servicer_.load(std::memory_order_relaxed);
    if (d.runner == self || (d.onEventsThread && servicer == self)) {
        return "the thread that services events waits for something else";
    }
    if (d.runner != 0) {
        return nullptr; // it may take its time
    }
    if (d.owner != 0) {
        return d.owner == self
                   ? "the thread that has claimed its dispatcher waits for something else"
                   : "the thread that has claimed its dispatcher (mprStartDispatcher) does not wait for events";
    }
    return d.onEventsThread && servicer == 0 ? "no thread services events; see mprServiceEvents" : nullptr;
}

/** Whether events of a dispatcher have waited, as far as is known, for `patience`, and it has run none. */
bool Events::isStuck(Dispatcher& d, std::uint64_t now) const {
    os::assertHeld(lock_);
    if (!d.head || d.stuckSince == 0 || d.stuckMark != d.mark) {
        d.stuckMark = d.mark;
        d.stuckSince = d.head ? now : 0;
        return false;
    }
    return now - d.stuckSince >= patience;
}

void Events::sayUnserviced() {
    const gc::Stay stay;
    if (!stay || !opened_.load(std::memory_order_acquire)) {
        return;
    }
    const std::uint64_t now = os::now();
    const os::ThreadId self = os::currentThread();
    os::Message message;
    const char* why = nullptr;
    {
        os::Locked locked(lock_);
        for (Dispatcher* d = hub_->active; d && !why; d = d->nextActive) {
            if (isStuck(*d, now) && (why = whyUnserviced(*d, self))) {
                message << "dispatcher \"" << d->name << "\" has run no event for " << patience / 1'000'000'000
                        << " s, though \"" << d->head->name << "\" is due: " << why;
            }
        }
        // The time of the wheel is when somebody last looked at the timers.
        const std::uint64_t late = now > patience ? (now - patience) / 1'000'000 : 0;
        if (!why && wheel_.now() <= late && wheel_.next() <= late && (why = whyUnserviced(own(*hub_->main), self))) {
            message << "no timer has been looked at for " << patience / 1'000'000'000 << " s: " << why;
        }
    }
    if (why) {
        gc::writeRepeated(os::Level::warning, message);
    }
}

} // namespace mpr::task
