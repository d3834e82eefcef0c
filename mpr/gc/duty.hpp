// SPDX-License-Identifier: MIT
/*
    duty.hpp - Who collects: the collector's thread, or in its place the thread that stops last.

    A thread that stops has to wait for the pause anyway, and its processor is free. So the last thread to stop does the
    pause itself. With as many threads as processors this saves two thread switches, each of tens of microseconds, and
    the time for which a thread would have to wait until the collector's leaves its processor.

    Concurrent marking and sweeping is done by the collector's thread, as long as there is a processor for it. Where
    there is none, it would take one from running threads, for milliseconds, as the system sees fit. Then threads
    *assist*: a thread that yields does an incremental step, a fraction of the pause budget; one thread at a time. There
    are several steps of marking per young budget. Steps of sweeping follow one another, since no collection can begin
    before the sweep ends. Finalizers and giving memory back are always left to the collector's thread.

    Whoever holds Cycle's `duty_` is the collector. The collector's thread holds it except while it sleeps, and it may
    sleep through collections. So a request by a running thread does not wake it: that thread or another will stop, and
    the last thread to stop wakes the collector if it cannot take over. The collector's thread *watches* for threads
    that do not stop: while collections continue, it looks once per `deadline` whether one is overdue. When it sleeps
    without a time-out, a request wakes it.
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
    /** End the thread, after the current collection. */
    void close();

    /**
        The calling thread has stopped for a moment. If a collection is wanted and nobody is on duty, it closes the
        gate; if it is the last to stop, it does the pause. If threads assist, it does a step.
        @return Whether it now has to wait only for the gate.
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
    bool threadsWait() const;
    void sweepHere() MPR_REQUIRES(onDuty);
    bool isLeft() const MPR_REQUIRES(onDuty);
    /** Whether concurrent marking is left to the collector's thread. */
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
    os::ThreadId thread_ = 0;                             // for the thread that opens and closes only
    std::uint32_t pausesSeen_ MPR_GUARDED_BY(onDuty) = 0; // when the collector's thread last rested
    std::uint64_t warnAfter_ MPR_GUARDED_BY(onDuty) = 0;  // late threads are named after a wait this long
};

} // namespace mpr::gc
