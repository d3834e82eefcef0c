// SPDX-License-Identifier: MIT
/*
    collector_stats.hpp - What collections cost and did.
 */
#pragma once

#include "mpr/gc/times.hpp"

namespace mpr::gc {

struct CollectorStats {
    Times pause, stall, rendezvous, mark, sweep;
    // Statistics: nothing is ordered by them.
    os::Counter minors{0}, majors{0}, slices{0}, shared{0}, beside{0}, idle{0};
    os::Counter stoodIn{0}, assists{0}; // pauses and portions done by threads
    os::Counter freeCalls{0};           // MPR_MANAGE_FREE calls begun and ended: odd while one runs
    os::Counter induced{0};             // by calls of mprGC
    os::Counter late{0};
    os::Counter defects{0}; // found by checks
    os::Counter marked{0};  // bytes reached by the last collection

    void report(MprMemStats& s) const;
    os::Total minorCollections() const { return minors.load(std::memory_order_relaxed); }
    os::Total majorCollections() const { return majors.load(std::memory_order_relaxed); }
    os::Total inducedCollections() const { return induced.load(std::memory_order_relaxed); }
};

} // namespace mpr::gc
