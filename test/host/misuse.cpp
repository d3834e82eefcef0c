// SPDX-License-Identifier: MIT
/*
    test/host/misuse.cpp - Calls by threads in the wrong state are named, and do nothing.
 */
#include "test/support/wrong_state.hpp"

using namespace test;

namespace {

const Call table[] = {
    {"mprStartSuspensionMonitor", locking, [] { mprStartSuspensionMonitor(nullptr); }, true},
    {"mprStopSuspensionMonitor", locking, [] { mprStopSuspensionMonitor(); }},
    {"mprWriteSuspensionHistograms", locking, [] { mprWriteSuspensionHistograms("none"); }},
    {"mprAddMemoryPressure", anywhere, [] { mprAddMemoryPressure(0); }},
    {"mprRemoveMemoryPressure", anywhere, [] { mprRemoveMemoryPressure(0); }},
    {"mprAcquiredAddressRange", anywhere,
     [] {
         mprAcquiredAddressRange(&table, 1);
         mprReleasedAddressRange(&table);
     }},
    {"mprNeedsAddressRange", yielding, [] { mprNeedsAddressRange(0); }},
    {"mprWatchMemoryLoad", making, [] { mprWatchMemoryLoad(-1); }},
    {"mprGetMemoryLoad", anywhere,
     [] {
         MprMemoryLoad load;
         mprGetMemoryLoad(&load);
     }},
    {"mprNoteMemoryLoad", anywhere | closing, [] { mprNoteMemoryLoad(MPR_MEMORY_NEUTRAL); }},
    {"mprAddMemoryLoadHandler", anywhere | closing,
     [] { mprAddMemoryLoadHandler([](const MprMemoryLoad *, void *) {}, nullptr); }},
    {"mprRemoveMemoryLoadHandler", anywhere, [] { mprRemoveMemoryLoadHandler(nullptr, nullptr); }},
    {"mprGCCollect", yielding, [] { mprGCCollect(0); }},
    {"mprReadGCStats", anywhere,
     [] {
         MprGCStats stats;
         mprReadGCStats(MPR_GC_STATS_COUNTS, &stats);
     }},
};
} // namespace

TEST_CASE("a call of the host's by a thread in the wrong state is named and does nothing", "[host][misuse]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}

TEST_CASE("a handler of suspensions cannot end the monitor", "[host][misuse]") {
    Runtime runtime;
    REQUIRE(mprStartSuspensionMonitor(nullptr) == 0);
    static int result;
    callIn(inSuspension, [] { result = mprStopSuspensionMonitor(); });
    CHECK(result == MPR_ERR_BAD_STATE);
    CHECK(isNamed("mprRemoveSuspensionHandler"));
    CHECK(mprStopSuspensionMonitor() == 0);
}

TEST_CASE("what the host is told must have somewhere to go", "[host][misuse]") {
    Runtime runtime;
    tryNothingToFill(runtime, {
                                  {"mprReadGCStats", [] { mprReadGCStats(MPR_GC_STATS_COUNTS, nullptr); }},
                                  {"mprReadHeapStats", [] { mprReadHeapStats(nullptr, nullptr); }},
                                  {"mprReadHostStats", [] { mprReadHostStats(nullptr); }},
                                  {"mprGetMemoryLoad", [] { mprGetMemoryLoad(nullptr); }},
                              });
}
