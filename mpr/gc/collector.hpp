/*
    collector.hpp - The collector: its thread, the phases of a collection, and how threads ask and wait for one.

    cycle.hpp has the phases of a collection and who moves it from one to the next.

    What a collection does is its scope. A *minor* one traces young blocks only and frees what of them is dead. When
    the heap has grown enough, or somebody asks for all that is dead, a minor collection's pause ends with the start of a
    major one: all old blocks become unmarked, the roots are reached, and from then on old blocks are marked in idle,
    while threads run (`Major`). Plain blocks, whose managers may run only while threads are stopped, are traced in
    *slices*, pauses of bounded length that do nothing else, with rests between. Minor collections go on meanwhile. When
    nothing is left to mark, one more pause, the *last*, does what a minor one does and also traces whatever old blocks
    that leads to; then everything unmarked is dead.
    A *full* collection does all of it in one pause: for heaps so small that this pause is short, and when memory is.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/budget.hpp"
#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/gc/fields.hpp"
#include "mpr/gc/giving_back.hpp"
#include "mpr/gc/late.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/gc/mutator_list.hpp"
#include "mpr/gc/roots.hpp"
#include "mpr/gc/sweeping.hpp"
#include "mpr/gc/tracing.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

/**
    Who waits watches whether one call of a manager runs on: in looks, not by the clock, for the whole process may have
    stood still. Time in which the collector's thread is between calls, or has not got a processor for the first, is none.
 */
class CallWatch {
public:
    static constexpr std::uint64_t none = 0;
    /** @param waited Since the last look, to its end. @return For how many looks in a row the same call has run. */
    std::uint64_t seen(std::uint64_t call, bool waited) {
        looks_ = call == call_ && call != none ? looks_ + waited : 0;
        call_ = call;
        return looks_;
    }

private:
    std::uint64_t call_ = none;
    std::uint64_t looks_ = 0;
};

class Collector {
public:
    Collector(heap::Heap& heap, Roots& roots)
        : heap_(heap), roots_(roots), fields_(heap), budget_(heap, cycle_, stats_), givingBack_(heap, cycle_, budget_),
          late_(heap, cycle_, budget_, mutators_, stats_),
          tracing_(heap, roots, cycle_, budget_, mutators_, own_, stats_), sweeping_(heap, cycle_, stats_) {}

    /** Start the thread. @return false when memory or the thread cannot be had. */
    bool open(const heap::Options& options, std::size_t fixedHeap);
    /** Stop the thread, after the collection that runs. */
    void close();
    /** Call every block's manager with MPR_MANAGE_FREE: the runtime ends. The thread has stopped. */
    void freeEverything() MPR_UNANALYSED; // nobody is left to be on duty

    // ---- Threads ----
    /**
        Announce a thread: it counts as attached, yielded, from now on, so that the runtime does not end before it comes,
        and it cannot fail to. @param service It belongs to a room of the runtime, which will end it.
        @param thread Its MprThread, retained, or nullptr. @return nullptr when memory is short.
     */
    Mutator* prepare(const char* name, bool service, void* thread);
    /** It does not come. */
    void abandon(Mutator* mutator);
    /** It has come: the calling thread is running. */
    void attach(Mutator* mutator);
    /** The calling thread's own. */
    void detach(Mutator* mutator);
    void yield(Mutator& m, int flags, const void* site);
    void resume(Mutator& m);
    bool setExempt(Mutator& m, bool exempt);
    /** The calling thread, which is attached and does not run, is counted among those who do until endVisit. */
    void visit();
    void endVisit();
    /** Whether a yield would wait. */
    bool wanted() const { return cycle_.rendezvous().wanted(); }
    /** How many are attached. @param all Count those that the runtime made, too: the rooms' and mprCreateThread's. */
    int threads(bool all = true);
    bool isAttached(os::ThreadId thread);
    /** Wait, yielded, until no other thread is attached. @return false when the deadline has passed. */
    bool awaitAlone(Mutator& self, std::uint64_t deadline);
    /** Name the attached threads other than self in the log. */
    void nameOthers(const Mutator& self, const char* what);

    // ---- Collections ----
    /** Ask for a collection; never waits. */
    void request(Wish wish) { cycle_.request(wish); }
    /** Ask and wait. @return blocks freed when complete. */
    int collect(Mutator& m, Wish wish, bool complete, const void* site);
    /** Allocation has used up the budget, or what is left of memory is scattered. */
    void budgetSpent();
    /**
        An allocation fails: wait for the end of a sweep that is under way, unless a manager takes long; the caller does not
        yield. @return false when there is none.
     */
    bool awaitSweep(Mutator& m);
    /** An allocation fails after a sweep, too: make what is free already usable, and have the rest collected. */
    void emergency(Mutator& m);
    /** An allocation fails though so many bytes are free, in pieces: give those back. @return false when it is not so, or nobody may now. */
    bool makeRoom(Mutator& m, std::size_t bytes);
    /**
        Do something while every other attached thread is stopped and no collection works; the caller, which runs, does not
        yield. @return false when the others did not stop within some deadlines: it was not done.
     */
    template <typename Work>
    bool stopOthers(Work&& work) {
        const bool stopped = awaitOthers();
        if (stopped) {
            work();
            letOthersGo();
        }
        return stopped;
    }
    /** A large block was freed by hand: have its memory purged when enough has gathered. */
    void freedLarge() { givingBack_.freedLarge(); }
    /** Whether a block with this head was found dead by the collection that runs. */
    bool isDoomed(heap::Byte h) const { return heap_.dead(h); }
    /** The write barrier found that a store into a block has to be logged: see WriteLog. */
    void logWrite(Mutator& m, std::uintptr_t entry);
    /** A store could not be logged: the next collection looks at everything. */
    void loseWrites() { tracing_.loseWrites(); }

    bool enable(bool on);
    /** Limits or cache have changed. */
    void repace();
    Pacer& pacer() { return budget_.pacer(); }
    std::size_t trigger() const { return budget_.trigger(); }
    /** The caller has nothing to do for some milliseconds: collect when that is worth it. */
    void idle();
    bool halfSpent() const { return budget_.halfSpent(); }
    const CollectorStats& stats() const { return stats_; }

    // ---- Assertions ----
    void assertOnDuty(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const MPR_ASSERTS(onDuty) {
        cycle_.assertOnDuty(file, line);
    }
    void assertStopped(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const MPR_ASSERTS(onDuty) {
        cycle_.assertStopped(file, line);
    }

    const Marker& marker() const { return tracing_.marker(); }

private:
    class StandIn;

    void run();
    void rest(std::uint32_t heard) MPR_REQUIRES(onDuty);
    bool sleep(std::uint32_t heard, std::uint64_t timeout) MPR_REQUIRES(onDuty);
    void takeDuty() MPR_ACQUIRES(onDuty);
    void awaitThreads(std::uint32_t heard) MPR_REQUIRES(onDuty);
    bool meet() MPR_REQUIRES(onDuty);
    void stepOut(Mutator& m);
    void stepOut();
    bool serve();
    bool collectHere() MPR_REQUIRES(onDuty);
    bool assist() MPR_REQUIRES(onDuty);
    void sweepHere() MPR_REQUIRES(onDuty);
    bool isLeft() const MPR_REQUIRES(onDuty);
    /** Whether marking beside the threads is left to the collector's. */
    bool marksAlone() const MPR_REQUIRES(onDuty) {
        return cycle_.major().isTracing() && !cycle_.major().isTraced() && !cycle_.assists().with(Assists::marking);
    }
    std::uint64_t portion() const { return pauseBudget_ / 4; }
    void cycle() MPR_REQUIRES(onDuty);
    void pause() MPR_REQUIRES(onDuty);
    void afterLeaving(bool last);
    Scope decide(Wish wish) const MPR_REQUIRES(onDuty);
    bool advanceMajor(std::uint32_t heard) MPR_REQUIRES(onDuty);
    bool betweenSlices(std::uint32_t heard) MPR_REQUIRES(onDuty);
    void reopen(Phase phase, std::uint64_t stopped) MPR_REQUIRES(onDuty);
    bool reclaim(std::uint64_t until = os::forever) MPR_REQUIRES(onDuty);
    void endReclaim() MPR_REQUIRES(onDuty);
    void settle() MPR_REQUIRES(onDuty);
    bool awaitOthers() MPR_TRIES(true, onDuty);
    void letOthersGo() MPR_RELEASES(onDuty);
    static void stop(Mutator& m, Mutator::State state);
    bool enter();
    void waitOut(Mutator& m);
    bool sleepAtGate(os::Word& openings, std::uint32_t seen, std::uint64_t nap);
    /** Who waits for marking looks so often whether a manager returns. */
    std::uint64_t watchNap() const { return std::max<std::uint64_t>(deadline_ / 4, 1'000'000); }
    void watchMarking(CallWatch& watch, std::uint64_t& patience);
    void nameMarking(std::uint64_t waited);
    template <typename Done>
    bool awaitProgress(Done done, std::uint64_t limit, std::uint64_t patience);
    void stall();
    bool awaitSweep(std::uint64_t limit, std::uint64_t patience);
    bool awaitDuty(std::uint64_t end) MPR_TRIES(true, onDuty);
    bool park(std::uint64_t end) MPR_TRIES(true, onDuty);

    heap::Heap& heap_;
    Roots& roots_;
    Fields fields_;
    Cycle cycle_;
    CollectorStats stats_;
    Budget budget_;
    GivingBack givingBack_;
    MutatorList mutators_;
    Late late_;
    Mutator own_; // of the collector's thread
    Tracing tracing_;
    Sweeping sweeping_;
    std::uint64_t deadline_ = 0;
    bool checks_ = false;     // every pause: see check.hpp
    bool everyYield_ = false; // collect at each yield point
    bool trial_ = false;      // collections by turns in each scope: at each yield point, or each so manieth allocation

    os::Counter markingNamed_{0}; // when a manager that does not return from MPR_MANAGE_MARK was named

    // Threads that count as running, but wait for their turn in stopOthers. To park releases what they did; who compares
    // this with the rendezvous' word, on duty, acquires.
    std::atomic<unsigned> parked_{0};
    std::atomic<bool> othersStopped_{false}; // one of them is at work, or sees whether it may be: see awaitOthers

    std::uint32_t pausesSeen_ MPR_GUARDED_BY(onDuty) = 0; // when the collector's thread last rested
    std::uint64_t patience_ MPR_GUARDED_BY(onDuty) = 0;   // a collection that waits longer names those who are late
    std::uint64_t sweepTook_ MPR_GUARDED_BY(onDuty) = 0;  // nanoseconds, so far
    unsigned processors_ = 1;
    std::uint64_t restUntil_ MPR_GUARDED_BY(onDuty) = 0; // no slice before
    std::uint64_t pauseBudget_ = 0;                      // nanoseconds
    std::uint64_t minorAt_ MPR_GUARDED_BY(onDuty) = 0;   // when threads went on after the last pause that was no slice
    std::size_t unneeded_ MPR_GUARDED_BY(onDuty) = ~std::size_t{0};
    std::uint64_t purgedAt_ MPR_GUARDED_BY(onDuty) = 0;

    // Of all runtimes: a thread that has detached touches nothing else, since the runtime may be gone.
    static inline constinit os::Word leaving_{0};    // threads that may not have let go of the list yet
    static inline constinit os::Word departures_{0}; // changes whenever a thread has detached
    os::ThreadId thread_ = 0;
};

} // namespace mpr::gc
