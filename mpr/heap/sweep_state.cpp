// SPDX-License-Identifier: MIT
/*
    sweep_state.cpp - See sweep_state.hpp.
 */
#include "mpr/heap/sweep_state.hpp"

namespace mpr::heap {

/** Not: what is not in use, held, found dead, or may be about to be traced. */
Freeable SweepState::computeFreeable(Byte h) const {
    const bool traced = !head::isLeaf(h) && mayBeTraced(h);
    const bool asked = os::hasThreads && careful_ && !head::isLeaf(h);
    const bool manages = head::wantsFree(h);
    return !Region::isBlock(h) || (h & (head::held | head::referenced)) || dead(h) || traced || asked ? Freeable::no
           : manages ? Freeable::withoutManager
                     : Freeable::yes;
}

void SweepState::refresh() {
    assertHeld();
    for (unsigned i = head::inUse; i < sizeof(freeable_); ++i) {
        const auto h = static_cast<Byte>(i);
        std::atomic_ref<Freeable>(freeable_[h]).store(computeFreeable(h), std::memory_order_relaxed);
    }
}

} // namespace mpr::heap
