// SPDX-License-Identifier: MIT
/*
    pacing.cpp - When threads are called: a budget is spent, a limit has news. The arithmetic is trigger.hpp's and
    limits.hpp's.
 */
#include <algorithm>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

void Heap::setTrigger(std::size_t bytes, std::size_t budget) {
    os::Locked locked(lock_);
    trigger_.set(bytes >> granuleShift, budget >> granuleShift);
    if constexpr (os::hasPages) {
        if (scattered_.any() && state_.sweep() == Sweep::none) {
            trigger_.hasten(); // whoever was to see to it may not have come to that
        }
    }
    took(0);
}

/** There are pages, and the trigger is passed: a budget is spent, or what is in use may be well past the redline. */
void Heap::spend() {
    os::assertHeld(lock_);
    trigger_.spend();
    watchRedline();
    wantAttention();
}

/** Have the trigger where so much may be in use that the redline is well passed. If it is now, that is noted. */
void Heap::watchRedline() {
    os::assertHeld(lock_);
    const std::size_t from = limits_.wellPast();
    const std::size_t free = freeBytesLocked();
    const std::size_t used = limits_.counted() - free;
    if (used >= from) {
        limits_.crosses(free);
    }
    constexpr std::size_t least = 1024; // granules: what is in use may fall as fast as it rises
    const bool watches = from != Limits::none && used < from;
    trigger_.watch(watches ? trigger_.since() + std::max((from - used) >> granuleShift, least) : Trigger::none);
}

Heap::Attention Heap::takeAttention() {
    os::Locked locked(lock_);
    const bool stepped = steps() && ++step_ % stepping_ == 0;
    const Attention result{trigger_.takeSpent() || stepped, limits_.hasNews()};
    attention_.store(steps(), std::memory_order_relaxed);
    return result;
}

Heap::News Heap::takeNews() {
    os::Locked locked(lock_);
    return {limits_.takeNews(), limits_.state()};
}

void Heap::setStepping(unsigned turn) {
    if constexpr (!os::cooperative) {
        stepping_ = turn;
        attention_.store(turn > 0, std::memory_order_relaxed);
    }
}

Limits::State Heap::memoryState() {
    os::Locked locked(lock_);
    limits_.falls(freeForLimits());
    haveTold();
    return limits_.state();
}

void Heap::noteRefused(std::size_t bytes) {
    os::Locked locked(lock_);
    limits_.refuse(bytes, freeBytesLocked());
}

std::size_t Heap::allocatedSince() {
    os::Locked locked(lock_);
    return trigger_.since() << granuleShift;
}

std::size_t Heap::spentSince() {
    os::Locked locked(lock_);
    return trigger_.spent() << granuleShift;
}

std::size_t Heap::committed() {
    os::Locked locked(lock_);
    return limits_.committed() - serving_.lent;
}

std::size_t Heap::supply(std::size_t extent) {
    os::Locked locked(lock_);
    const std::size_t committed = limits_.committed() - serving_.lent;
    return committed <= extent ? freeBytesLocked() + extent - committed : 0;
}

std::size_t Heap::takeScattered() {
    os::Locked locked(lock_);
    return scattered_.take();
}

bool Heap::isScattered() {
    os::Locked locked(lock_);
    return scattered_.any();
}

/** Bytes that count as free where limits are looked at: without pages none, since all that is committed is in use. */
std::size_t Heap::freeForLimits() const {
    os::assertHeld(lock_);
    return os::hasPages ? freeBytesLocked() : 0;
}

void Heap::setLimits(std::size_t warn, std::size_t maximum) {
    os::Locked locked(lock_);
    limits_.set(warn, maximum, freeForLimits());
    fitContexts();
    haveTold();
}

void Heap::moveRedline(std::size_t warn) {
    os::Locked locked(lock_);
    limits_.moveRedline(warn, freeForLimits());
    haveTold();
}

Limits Heap::limits() {
    os::Locked locked(lock_);
    return limits_;
}

void Heap::setOutside(std::size_t bytes, std::size_t added) {
    os::Locked locked(lock_);
    limits_.setOutside(bytes, freeForLimits());
    haveTold();
    trigger_.advance(added >> granuleShift);
    if (trigger_.reason() == Trigger::For::budget) {
        took(0);
    } else if (trigger_.reason() == Trigger::For::redline) {
        watchRedline();
    }
}

bool Heap::lend(std::size_t bytes, bool privileged) {
    os::Locked locked(lock_);
    if (!limits_.allows(bytes, privileged)) {
        return false;
    }
    noteCommitted(bytes);
    serving_.lend(bytes);
    return true;
}

void Heap::endLoan(std::size_t bytes) {
    os::Locked locked(lock_);
    MPR_ASSERT(bytes <= serving_.lent);
    limits_.uncommit(bytes);
    serving_.lend(-bytes);
}

} // namespace mpr::heap
