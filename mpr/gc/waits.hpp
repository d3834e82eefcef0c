// SPDX-License-Identifier: MIT
/*
    waits.hpp - Threads that wait for the collector. No thread waits for ever for a manager that does not return. A
    waiting thread looks again and again whether the same call still runs, and names it. Where the manager may be
    waiting for that very thread, the thread waits no longer.
 */
#pragma once

#include <algorithm>
#include <cstdint>

#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/gc/tracing.hpp"

namespace mpr::gc {

/**
    Tells whether one call of a manager runs on. It counts looks rather than time, because the whole process may have
    stood still. Time between calls, or before the collector's thread gets a processor for the first, does not count.
 */
class CallWatch {
public:
    static constexpr std::uint64_t none = 0;
    /**
        @param waited The wait since the last look was not cut short. @return For how many looks the same call has run.
     */
    std::uint64_t seen(std::uint64_t call, bool waited) {
        looks_ = call == call_ && call != none ? looks_ + waited : 0;
        call_ = call;
        return looks_;
    }

private:
    std::uint64_t call_ = none;
    std::uint64_t looks_ = 0;
};

class Waits {
public:
    /**
        Nanoseconds. When memory is short, nobody waits longer for one FREE call: its manager may be waiting for what
        the caller holds.
     */
    static constexpr std::uint64_t longestFreeing = 10'000'000;

    Waits(Cycle& cycle, const Tracing& tracing, const CollectorStats& stats)
        : cycle_(cycle), tracing_(tracing), stats_(stats) {}

    /** @param deadline Nanoseconds after which whoever keeps others waiting is named. */
    void open(std::uint64_t deadline) { deadline_ = deadline; }
    std::uint64_t deadline() const { return deadline_; }

    /**
        Sleep until done() holds. @param callLimit The limit for one call of a manager.
        @return false when the limit has passed, or a manager is stuck; that is logged if callLimit is the deadline.
     */
    template <typename Done>
    bool awaitProgress(Done done, std::uint64_t limit, std::uint64_t callLimit);
    /** Sleep until the sweep has ended. @return false when the limit has passed, or a manager is stuck. */
    bool awaitSweep(std::uint64_t limit, std::uint64_t callLimit);

    /** Nanoseconds between two looks of a thread that waits for marking, whether a manager returns. */
    std::uint64_t markingNap() const { return std::max<std::uint64_t>(deadline_ / 4, 1'000'000); }
    /**
        After each look: if the same MPR_MANAGE_MARK call has run for long, name it, and double the time until the next.
     */
    void watchMarking(CallWatch& watch, std::uint64_t& warnAfter);

private:
    /** Nanoseconds between two looks of a thread that waits while managers free, whether one is stuck. */
    static constexpr std::uint64_t look = 20'000'000;

    void nameMarking(std::uint64_t waited);
    void nameFreeing() const;

    Cycle& cycle_;
    const Tracing& tracing_;
    const CollectorStats& stats_;
    std::uint64_t deadline_ = 0;  // set before the collector's thread begins
    os::Counter markingNamed_{0}; // when a manager that does not return from MPR_MANAGE_MARK was named
};

template <typename Done>
bool Waits::awaitProgress(Done done, std::uint64_t limit, std::uint64_t callLimit) {
    const std::uint64_t begin = os::now();
    const std::uint64_t nap = std::min(look, callLimit);
    std::uint64_t left = limit;
    std::uint64_t markingWarnAfter = deadline_;
    CallWatch marking;
    for (CallWatch watch;;) {
        const std::uint32_t seen = cycle_.progress();
        if (done()) {
            return true;
        }
        if (left == 0 || cycle_.ends()) {
            return false;
        }
        if (cycle_.phase() == Phase::sweeping && cycle_.assists().with(Assists::sweeping)) {
            cycle_.endAssists(); // threads may take their time
        }
        // All that may be waited for comes with a change of phase, which wakes.
        const bool freeing = cycle_.phase() == Phase::freeing;
        const bool waited = !cycle_.awaitProgress(seen, std::min(freeing ? nap : markingNap(), left));
        if (limit != os::forever) {
            left = limit - std::min(limit, os::now() - begin);
        }
        if (waited && !freeing) {
            watchMarking(marking, markingWarnAfter);
        }
        const std::uint64_t calls = stats_.freeCalls.load(std::memory_order_relaxed);
        if (watch.seen(calls % 2 == 1 ? calls : CallWatch::none, waited) * nap < callLimit) {
            continue;
        }
        if (callLimit == deadline_) {
            nameFreeing();
        }
        return false;
    }
}

} // namespace mpr::gc
