// SPDX-License-Identifier: MIT
/*
    collector_stats.cpp - The collector's part of mpr/stats.h.
 */
#include "mpr/gc/collector_stats.hpp"

namespace mpr::gc {

void CollectorStats::report(MprMemStats& s) const {
    s.bytesMarked = marked.load(std::memory_order_relaxed);
    s.collectionsMinor = minors.load(std::memory_order_relaxed);
    s.collectionsMajor = majors.load(std::memory_order_relaxed);
    s.collections = s.collectionsMinor + s.collectionsMajor;
    s.collectionsIdle = idle.load(std::memory_order_relaxed);
    s.marksShared = shared.load(std::memory_order_relaxed);
    s.marksBeside = beside.load(std::memory_order_relaxed);
    s.marksSliced = slices.load(std::memory_order_relaxed);
    s.pausesByThreads = stoodIn.load(std::memory_order_relaxed);
    s.assists = assists.load(std::memory_order_relaxed);
    s.checkDefects = defects.load(std::memory_order_relaxed);
    s.managersFreed = freeCalls.load(std::memory_order_relaxed) / 2;
    s.late = late.load(std::memory_order_relaxed);
    s.pause = pause.summary();
    s.stall = stall.summary();
    s.rendezvous = rendezvous.summary();
    s.mark = mark.summary();
    s.sweep = sweep.summary();
}

} // namespace mpr::gc
