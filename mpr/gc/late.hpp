// SPDX-License-Identifier: MIT
/*
    late.hpp - Threads that do not come to a rendezvous: they are named, and the others run on without them.

    A collection needs all threads to stop. One that computes for a second without a yield would keep all that have stopped
    waiting for as long. So whoever has waited for the grace period (grace.hpp) gives up: it notes who still runs as late,
    opens the gate again, and all run on. The collection stays requested.

    When one that was late yields, ends or goes away to wait, all stop as before, if it was the only one. Otherwise it
    waits for the other late ones by itself, again for a grace period, while the rest runs on: late threads *gather*. The last
    of them stops the rest. One that gathers in vain is late again. Until it is time for the next wait, late threads that
    yield pass by, too.

    Memory grows meanwhile, so threads may run on up to the redline only; without one up to three quarters of the hard limit;
    without that up to a quarter of the machine's memory. From there on they wait: the course is *spent* until the next pause.

        stop --grace has passed--> runsOn --all that were late have stopped--> stop
                                   runsOn --memory is used up--> spent --pause--> stop

    test/model/late.pml is this in Promela; its functions have the names of those here.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/budget.hpp"
#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/gc/grace.hpp"
#include "mpr/gc/mutator_list.hpp"
#include "mpr/gc/named_threads.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Late {
public:
    Late(heap::Heap& heap, Cycle& cycle, Budget& budget, MutatorList& mutators, CollectorStats& stats)
        : heap_(heap), cycle_(cycle), budget_(budget), mutators_(mutators), stats_(stats) {}

    MutatorList& mutators() { return mutators_; }

    /** Whether threads run on though a collection is requested. */
    bool isRunningOn() const { return course_.load(std::memory_order_acquire) == Course::runsOn; }
    /** They are to stop. */
    void endRunningOn() { endRunningOn(Course::stop); }
    /** Limits have been set: they run on no further than these allow. */
    void repace() {
        if (isRunningOn()) {
            boundRunningOn(roomToRunOn());
        }
    }
    /** A budget is spent while they run on. */
    void stopRunningOn();

    // ---- A thread that yields, or has stopped ----
    /** A thread yields. @return Whether it runs on with others, and need not stop. */
    bool passesBy(Mutator& m);
    /**
        The calling thread, which was late, has stopped. Wait for others that are late, while the rest runs on.
        @return Whether it need wait for the gate only. Else they did not come: it is late again, and is to go on.
     */
    bool gather(Mutator& m);
    /** A thread that was late has stopped, or goes. @return Whether nobody is late any more: then all stop. */
    bool cameLast(const MutatorList::Locked& list, Mutator& m);
    /** The calling thread has stopped for long, or goes. */
    void left(Mutator& m) {
        if (m.late.load(std::memory_order_relaxed)) {
            cameLast(MutatorList::Locked(mutators_), m);
        }
    }
    /** As long as this, in nanoseconds, who has stopped waits. */
    std::uint64_t grace() const { return grace_.wait(); }
    /** The calling thread, which has stopped, has waited that long. */
    void runOn();

    // ---- On duty ----
    /** Who keeps a collection, or the calling thread, waiting: to be named. */
    NamedThreads note() MPR_REQUIRES(onDuty);
    static void name(const NamedThreads& late, std::uint64_t waited);
    /** Where none of those who run is late, nobody would ever end it. */
    void endRunningOnWithoutLate() MPR_REQUIRES(onDuty);
    /** All have stopped, for a pause. @param took From the request, in nanoseconds. */
    void forget(std::uint64_t took) MPR_REQUIRES(onDuty);

private:
    /** What threads do while a requested collection waits for others. */
    enum class Course : std::uint8_t { stop, runsOn, spent };

    void giveUpOnLate() MPR_REQUIRES(onDuty);
    bool markLate();
    static bool isAnyLate(const MutatorList::Locked& list);
    void endRunningOn(Course next);
    std::size_t roomToRunOn() const;
    void boundRunningOn(std::size_t room);

    heap::Heap& heap_;
    Cycle& cycle_;
    Budget& budget_;
    MutatorList& mutators_;
    CollectorStats& stats_;

    // Releases what was noted for it, Mutator::late and runsUntil_; a look acquires. It becomes runsOn on duty only, before
    // the gate opens; any thread may end that, by compare-and-swap.
    std::atomic<Course> course_{Course::stop};
    std::atomic<std::size_t> runsUntil_{0}; // bytes allocated since a pause, from which on they wait; 0: nobody runs on
    Grace grace_;
    std::uint32_t rendezvousNumber_ MPR_GUARDED_BY(onDuty) = 1; // in Mutator::lateFor 0 means none
};

} // namespace mpr::gc
