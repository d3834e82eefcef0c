// SPDX-License-Identifier: MIT
/*
    late.hpp - Threads that do not come to a rendezvous: they are named, and the others run on without them.

    A collection needs all threads to stop. A thread that computes for a second without a yield would keep all stopped
    threads waiting that long. So a thread that has waited for the grace period (grace.hpp) gives up: it notes those
    that still run as late, opens the gate again, and all run on. The collection stays requested.

    A thread that gets no processor is not late, since it would yield if it could. So after half of the grace period it is
    noted how much of a processor each thread has had, and before anybody gives up, whether one has had more since. While none
    has, and one waits for it, those who have stopped wait on, but no longer than a quarter of a second. Waits beyond fifty
    milliseconds put off the next ones, as waits in vain do.

    When the only late thread yields, ends or starts to wait, all threads stop as before. If there are several, each
    waits for the others by itself, again for a grace period, while the rest runs on: late threads *gather*. The last of
    them stops the rest. A thread that gathers in vain is late again. Until the next wait is due, late threads that
    yield pass by, too.

    Memory grows meanwhile. So threads may run on only up to the redline; without one, up to three quarters of the hard
    limit; without that, up to a quarter of the machine's memory. From there on they wait: the course is *spent* until
    the next pause.

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
    /** Threads that run on have to stop. */
    void endRunningOn() { endRunningOn(Course::stop); }
    /** Limits have been set: threads run on no further than these allow. */
    void repace();
    /** A budget is spent while threads run on. */
    void stopRunningOn();

    // ---- A thread that yields, or has stopped ----
    /** A thread yields. @return Whether it runs on with others, and need not stop. */
    bool passesBy(Mutator& m);
    /**
        The calling thread was late and has stopped. Wait for other late threads, while the rest runs on.
        @return Whether it now has to wait only for the gate. If not, the others did not come: it is late again, and
        goes on.
     */
    bool gather(Mutator& m);
    /** A late thread has stopped, or leaves. @return Whether no thread is late any more, so that all stop. */
    bool cameLast(const MutatorList::Locked& list, Mutator& m);
    /** The calling thread has stopped for long, or leaves. */
    void left(Mutator& m) {
        if (m.late.load(std::memory_order_relaxed)) {
            cameLast(MutatorList::Locked(mutators_), m);
        }
    }
    /** How long a thread that stops waits until it calls runOn, in nanoseconds: half the grace period. Asks for no time. */
    std::uint64_t firstNap() const { return grace_.wait() / 2; }
    /** How long it waits until it calls runOn again: the longer, the longer all have waited. */
    std::uint64_t nap() const;
    /** The calling thread has stopped and waited that long: give up, if others have been looked at once before. */
    void runOn();

    // ---- On duty ----
    /** Note the threads that keep a collection, or the calling thread, waiting. */
    NamedThreads note() MPR_REQUIRES(onDuty);
    static void name(const NamedThreads& late, std::uint64_t waited);
    /** End running on if no running thread is late: nobody else would ever end it. */
    void endRunningOnWithoutLate() MPR_REQUIRES(onDuty);
    /** All have stopped, for a pause. @param took From the request, in nanoseconds. */
    void forget(std::uint64_t took) MPR_REQUIRES(onDuty);

private:
    /** What threads do while a requested collection waits for others. */
    enum class Course : std::uint8_t { stop, runsOn, spent };

    enum class Doing : std::uint8_t {
        unknown,
        blocks,  // in a call, or for a lock of the runtime's that another has
        starves, // it waits for a processor
        computes,
    };

    Doing lookAt(Mutator& m, std::uint64_t now) const MPR_REQUIRES(onDuty);
    Doing lookAtRunning(std::uint64_t now) MPR_REQUIRES(onDuty);
    void lookAnew(std::uint64_t waited) MPR_REQUIRES(onDuty);
    bool hasStarved(const Mutator& m, std::uint64_t now) const MPR_REQUIRES(onDuty);
    bool waitsOn() MPR_REQUIRES(onDuty);
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

    // A store releases Mutator::late and runsUntil_, and a load acquires them. It becomes runsOn only on duty, before
    // the gate opens. Any thread may end that, by compare-and-swap.
    std::atomic<Course> course_{Course::stop};
    std::atomic<std::size_t> runsUntil_{0}; // bytes allocated since a pause at which threads wait; 0: nobody runs on
    Grace grace_;
    std::uint32_t rendezvousNumber_ MPR_GUARDED_BY(onDuty) = 1; // 0 in Mutator::lateFor means none
    std::uint32_t looks_ MPR_GUARDED_BY(onDuty) = 1;            // 0 in LookedAt means never
    std::uint64_t lookedAt_ MPR_GUARDED_BY(onDuty) = 0;         // when running threads were last looked at, or 0
    std::uint64_t starvesFrom_ MPR_GUARDED_BY(onDuty) = 0;      // nobody waits for starved threads before
    Doing doing_ MPR_GUARDED_BY(onDuty) = Doing::unknown;       // what those were found to do
};

} // namespace mpr::gc
