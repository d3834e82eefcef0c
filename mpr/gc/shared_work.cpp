// SPDX-License-Identifier: MIT
/*
    shared_work.cpp - Giving and taking.
 */
#include "mpr/gc/shared_work.hpp"

#include <algorithm>

namespace mpr::gc {

void SharedWork::give(MarkStack& stack) {
    {
        os::Locked locked(lock_);
        // Entries are counted, not moves: a row is several.
        const std::size_t kept = stack.size() - std::min(stack.size() / 2, helping);
        while (stack.size() > kept && stack.moveTo(store_)) {}
        gifts_.fetch_add(1, std::memory_order_relaxed);
    }
    ring();
}

bool SharedWork::giveRow(const Row& row) {
    {
        os::Locked locked(lock_);
        if (!store_.pushRow(row)) {
            return false;
        }
        gifts_.fetch_add(1, std::memory_order_relaxed);
    }
    ring();
    return true;
}

bool SharedWork::takeNow(MarkStack& stack) {
    os::assertHeld(lock_);
    std::size_t taken = 0;
    while (taken < helping && !store_.empty() && store_.moveTo(stack)) {
        ++taken;
    }
    // A gift may be smaller than a helping, and then several are taken at once.
    const std::uint32_t gifts = gifts_.load(std::memory_order_relaxed);
    gifts_.store(store_.empty() ? 0 : std::max(gifts, 2u) - 1, std::memory_order_relaxed);
    return taken > 0;
}

bool SharedWork::take(MarkStack& stack) {
    constexpr int spins = 200;               // some microseconds; `gc_mpr pause_1m_plain` is the same with 0 and 2000
    constexpr std::uint64_t nap = 1'000'000; // nanoseconds: only if a ring was missed
    {
        os::Locked locked(lock_);
        if (takeNow(stack)) {
            return true;
        }
        MPR_ASSERT(active_ > 0);
        --active_;
    }
    hungry_.fetch_add(1, std::memory_order_relaxed);
    bool taken = false;
    for (int turn = 0;; ++turn) {
        const std::uint32_t heard = bell_.load(std::memory_order_acquire);
        {
            os::Locked locked(lock_);
            taken = takeNow(stack);
            active_ += taken;
            if (taken || active_ == 0 || !open_) {
                break;
            }
        }
        for (int spin = 0; spin < spins && bell_.load(std::memory_order_relaxed) == heard; ++spin) {
            os::relax();
        }
        if (turn > 2) {
            asleep_.fetch_add(1, std::memory_order_seq_cst);
            os::wait(bell_, heard, nap);
            asleep_.fetch_sub(1, std::memory_order_relaxed);
        }
    }
    hungry_.fetch_sub(1, std::memory_order_relaxed);
    if (!taken) {
        ring(); // the others may go, too
    }
    return taken;
}

} // namespace mpr::gc
