// SPDX-License-Identifier: MIT
/*
    duty.hpp - Who collects: the collector's thread, or for it the thread that stops last.

    A thread that stops has to wait for the pause anyway, and its processor is free: when it is the last to stop it does
    the pause itself. With as many threads as processors that saves two switches of threads, each of tens of microseconds,
    and the time for which a thread that goes on would have to wait until the collector's leaves its processor.

    What is done beside the threads, marking and sweeping, the collector's thread does, as long as there is a processor for
    it. Where there is none it would take one from threads that run, for milliseconds, as the system sees fit. Then threads
    *assist*: one at a time, when it yields, does an incremental step, a fraction of the pause budget; of marking several in
    a young budget, of sweeping one after the other, since no collection can begin before its end. Managers that free and
    giving memory back are always left to the collector's thread.

    Who holds Cycle's `duty_` is the collector: its thread holds it except while it sleeps. So that it may sleep through
    collections, too, a request by a thread that runs does not wake it: that thread will stop, or another after it, and
    whoever is last and cannot have the duty rings. For threads that do not stop it *watches*: while collections go on it
    looks each `deadline` whether one is overdue. A request that finds it asleep for good wakes it.
 */
#pragma once

#include <cstdint>

#include "mpr/gc/budget.hpp"
#include "mpr/gc/collection.hpp"
#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/gc/late.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/gc/waits.hpp"

namespace mpr::gc {

class Duty {
public:
    /** @param own The collector's own thread. */
    Duty(Cycle& cycle, Budget& budget, Late& late, Collection& collection, Waits& waits, Mutator& own,
         CollectorStats& stats)
        : cycle_(cycle), budget_(budget), late_(late), collection_(collection), waits_(waits), own_(own),
          stats_(stats) {}

    /** Start the thread. @return false when it cannot be had. */
    bool open(std::size_t stack);
    /** End it, after the collection that runs. */
    void close();

    /**
        The calling thread has stopped for a moment. When a collection is wanted and nobody is on duty it does it, if it is
        the last to stop, and closes the gate for it, if not; when threads assist it does a step.
        @return Whether nothing more has to be waited for than the gate.
     */
    bool serve();

private:
    class StandIn;

    void run();
    void idle(std::uint32_t heard) MPR_REQUIRES(onDuty);
    bool sleep(std::uint32_t heard, std::uint64_t timeout) MPR_REQUIRES(onDuty);
    void takeDuty() MPR_ACQUIRES(onDuty);
    void awaitThreads(std::uint32_t heard) MPR_REQUIRES(onDuty);
    bool haveAllStopped() MPR_REQUIRES(onDuty);
    void collect() MPR_REQUIRES(onDuty);
    bool advanceMajor(std::uint32_t heard) MPR_REQUIRES(onDuty);
    bool betweenSlices(std::uint32_t heard) MPR_REQUIRES(onDuty);
    bool collectHere() MPR_REQUIRES(onDuty);
    bool assist() MPR_REQUIRES(onDuty);
    void sweepHere() MPR_REQUIRES(onDuty);
    bool isLeft() const MPR_REQUIRES(onDuty);
    /** Whether marking beside the threads is left to the collector's. */
    bool marksAlone() const MPR_REQUIRES(onDuty) {
        return cycle_.major().isTracing() && !cycle_.major().isTraced() && !cycle_.assists().with(Assists::marking);
    }

    Cycle& cycle_;
    Budget& budget_;
    Late& late_;
    Collection& collection_;
    Waits& waits_;
    Mutator& own_;
    CollectorStats& stats_;
    os::ThreadId thread_ = 0;
    std::uint32_t pausesSeen_ MPR_GUARDED_BY(onDuty) = 0; // when the collector's thread last rested
    std::uint64_t warnAfter_ MPR_GUARDED_BY(onDuty) = 0;  // a collection that waits longer names those who are late
};

} // namespace mpr::gc
