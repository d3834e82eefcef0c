/*
    collector.hpp - The collector: its thread, the phases of a collection, and how threads ask and wait for one.

    Phases, in order. One writer at a time moves on: who has the duty, the collector's thread or one that stops (duty.cpp).
        idle       -> requested   whoever asks (compare-and-swap); from then on threads stop at their next yield
        requested  -> marking     on duty, when the gate is closed and all threads have stopped
        marking    -> freeing     on duty; the gate opens
        freeing    -> sweeping    on duty, when all MPR_MANAGE_FREE calls have returned
        sweeping   -> idle        on duty
        marking    -> idle        on duty, after a slice; the gate opens
    A request outside idle is remembered and becomes the next collection. Threads are stopped only in requested and
    marking: in particular no thread must wait for a manager that frees, whatever lock that manager may be waiting for.
    Where one does wait (MPR_GC_COMPLETE, and shortly when allocation outruns the sweep) the wait is bounded.

    What a collection does between is its scope. A *minor* one traces young blocks only and frees what of them is dead. When
    the heap has grown enough, or somebody asks for all that is dead, a minor collection's pause ends with the start of a
    major one: all old blocks become unmarked, the roots are reached, and from then on old blocks are marked in idle,
    while threads run (`tracing_`). Plain blocks, whose managers may run only while threads are stopped, are traced in
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

#include "mpr/gc/fields.hpp"
#include "mpr/gc/generations.hpp"
#include "mpr/gc/grace.hpp"
#include "mpr/gc/helpers.hpp"
#include "mpr/gc/block_filter.hpp"
#include "mpr/gc/mark_memory.hpp"
#include "mpr/gc/marker.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/gc/named_threads.hpp"
#include "mpr/gc/pacer.hpp"
#include "mpr/gc/rendezvous.hpp"
#include "mpr/gc/roots.hpp"
#include "mpr/gc/times.hpp"
#include "mpr/gc/write_log.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

enum class Phase : std::uint32_t { idle, requested, marking, freeing, sweeping };

enum class Scope : std::uint8_t { slice, minor, last, full };

/** What whoever asks for a collection wants; a greater wish includes the lesser. */
enum class Wish : std::uint8_t {
    slice,  // the collector's own: to go on with what it is at
    budget, // what the pacing finds best
    minor,  // at least the young
    full,   // everything that is dead now, and free memory given back
    urgent, // the same in one pause
};

/** What collections cost and did. */
struct CollectorStats {
    Times pause, stall, rendezvous, mark, sweep;
    // Statistics: nothing is ordered by them.
    os::Counter minors{0}, majors{0}, slices{0}, shared{0}, beside{0}, idle{0};
    os::Counter stoodIn{0}, assists{0}; // pauses and portions done by threads
    os::Counter freeCalls{0};           // MPR_MANAGE_FREE calls begun and ended: odd while one runs
    os::Counter late{0};
    os::Counter defects{0}; // found by checks
    os::Counter marked{0};  // bytes reached by the last collection

    void report(MprMemStats& s) const;
};

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
        : heap_(heap), roots_(roots), marker_(heap), helpers_(heap), log_(heap), fields_(heap) {}

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
    bool wanted() const { return rendezvous_.wanted(); }
    /** How many are attached. @param all Count those that the runtime made, too: the rooms' and mprCreateThread's. */
    int threads(bool all = true);
    bool isAttached(os::ThreadId thread);
    /** Wait, yielded, until no other thread is attached. @return false when the deadline has passed. */
    bool awaitAlone(Mutator& self, std::uint64_t deadline);
    /** Name the attached threads other than self in the log. */
    void nameOthers(const Mutator& self, const char* what);

    // ---- Collections ----
    /** Ask for a collection; never waits. */
    void request(Wish wish);
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
    void freedLarge();
    /** Whether a block with this head was found dead by the collection that runs. */
    bool isDoomed(heap::Byte h) const { return heap_.dead(h); }
    /** The write barrier found that a store into a block has to be logged: see WriteLog. */
    void logWrite(Mutator& m, std::uintptr_t entry);
    /** A store could not be logged: the next collection looks at everything. */
    void loseWrites() { log_.lose(); }

    bool enable(bool on);
    /** Limits or cache have changed. */
    void repace();
    Pacer& pacer() { return pacer_; }
    std::size_t trigger() const { return trigger_.load(std::memory_order_relaxed); }
    /** The caller has nothing to do for some milliseconds: collect when that is worth it. */
    void idle();
    bool halfSpent() { return heap_.allocatedSince() >= trigger() / 2; }
    const CollectorStats& stats() const { return stats_; }

    // ---- Assertions ----
    /** The calling thread is the collector: it alone moves phases on. */
    void assertOnDuty(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const MPR_ASSERTS(duty_) {
        os::assertHeld(duty_, file, line);
    }
    /** And all threads are stopped: the heap and all that threads own are the caller's. */
    void assertStopped(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const MPR_ASSERTS(duty_) {
        assertOnDuty(file, line);
        if constexpr (os::checked) {
            os::check(phase() == Phase::marking && rendezvous_.stopped(), "threads are stopped", file, line);
        }
    }

    const Marker& marker() const { return marker_; }

private:
    class StandIn;
    struct Assist {
        enum : unsigned { marking = 1, sweeping = 2 };
    };
    /** What threads do while a requested collection waits for others: see late.cpp. */
    enum class Course : std::uint8_t { stop, runsOn, spent };
    /** How far the sweep has come. What costs nothing comes first: threads wait for it. */
    struct Sweep {
        enum Stage { dead, kept, leftOver, lines } stage = dead;
        heap::Region* region = nullptr; // at this
        std::size_t at = 0;             // and with `lines` in a large sweep at this granule
        heap::Heap::Swept swept;
        std::uint64_t took = 0; // nanoseconds
    };

    void run();
    void rest(std::uint32_t heard) MPR_REQUIRES(duty_);
    bool sleep(std::uint32_t heard, std::uint64_t timeout) MPR_REQUIRES(duty_);
    void takeDuty() MPR_ACQUIRES(duty_);
    void awaitThreads(std::uint32_t heard) MPR_REQUIRES(duty_);
    bool meet() MPR_REQUIRES(duty_);
    void stepOut(Mutator& m);
    void stepOut();
    bool serve();
    void recall();
    bool collectHere() MPR_REQUIRES(duty_);
    bool assist() MPR_REQUIRES(duty_);
    void sweepHere() MPR_REQUIRES(duty_);
    bool isLeft() const MPR_REQUIRES(duty_);
    /** Whether marking beside the threads is left to the collector's. */
    bool marksAlone() const MPR_REQUIRES(duty_) { return tracing_ && !traced_ && !assists(Assist::marking); }
    bool assists(unsigned what) const { return (assists_.load(std::memory_order_relaxed) & what) != 0; }
    std::uint64_t portion() const { return pauseBudget_ / 4; }
    void chooseAssists(bool begins) MPR_REQUIRES(duty_);
    void setTrigger(std::size_t since);
    void cycle() MPR_REQUIRES(duty_);
    void pause() MPR_REQUIRES(duty_);
    void goOn() MPR_REQUIRES(duty_);
    NamedThreads noteLate() MPR_REQUIRES(duty_);
    static void nameLate(const NamedThreads& late, std::uint64_t waited);
    void runOn();
    void giveUpOnLate() MPR_REQUIRES(duty_);
    void endRunningOnWithoutLate() MPR_REQUIRES(duty_);
    void afterLeaving(bool last);
    bool markLate();
    void forgetLate(std::uint64_t took) MPR_REQUIRES(duty_);
    bool passesBy(Mutator& m);
    bool gather(Mutator& m);
    bool cameLast(Mutator& m) MPR_REQUIRES(threadsLock_);
    bool isAnyLate() const MPR_REQUIRES(threadsLock_);
    void stopRunningOn();
    void endRunningOn(Course next);
    std::size_t roomToRunOn();
    void boundRunningOn(std::size_t room);
    bool isRunningOn() const { return course_.load(std::memory_order_acquire) == Course::runsOn; }
    Scope decide(Wish wish) const MPR_REQUIRES(duty_);
    void mark(Scope scope, Pacer::Cost cost) MPR_REQUIRES(duty_);
    void check() MPR_REQUIRES(duty_);
    void markRoots() MPR_REQUIRES(duty_);
    /**
        Whether all markers read the log. Heads of old blocks are changed on the way, so not when others may be doing
        that, too: to reach them, say.
     */
    bool sharesLog(Scope scope, bool lost) const MPR_REQUIRES(duty_) {
        return scope == Scope::minor && !tracing_ && !lost;
    }
    void markWritten(Scope scope, bool lost) MPR_REQUIRES(duty_);
    void markAll(Scope scope, bool lost, bool defers, Pacer::Cost& cost) MPR_REQUIRES(duty_);
    void slice(std::uint64_t until) MPR_REQUIRES(duty_);
    void startMajor() MPR_REQUIRES(duty_);
    unsigned freeProcessors() const;
    void markTogether(std::uint64_t until) MPR_REQUIRES(duty_);
    bool markBeside(std::uint64_t until = os::forever) MPR_REQUIRES(duty_);
    bool advanceMajor(std::uint32_t heard) MPR_REQUIRES(duty_);
    bool betweenSlices(std::uint32_t heard) MPR_REQUIRES(duty_);
    bool isForced() const {
        return forcedMajor_.load(std::memory_order_relaxed) == majorsBegun_.load(std::memory_order_relaxed);
    }
    /** Whether a major collection that somebody waits for has not begun. */
    bool mustBegin() const {
        return forcedMajor_.load(std::memory_order_relaxed) == majorsBegun_.load(std::memory_order_relaxed) + 1;
    }
    /** Whether minor collections, asked for one upon the other, keep a major one from its work. */
    bool isStarved() const MPR_REQUIRES(duty_) { return tracing_ && !traced_ && passed_ >= mostPassed; }
    void reopen(Phase phase, std::uint64_t stopped) MPR_REQUIRES(duty_);
    void callFree(bool everything) MPR_REQUIRES(duty_);
    void callFreeIn(heap::Region* region, unsigned chunk, bool everything) MPR_REQUIRES(duty_);
    bool reclaim(std::uint64_t until = os::forever) MPR_REQUIRES(duty_);
    void endReclaim() MPR_REQUIRES(duty_);
    bool callsFree() const MPR_REQUIRES(duty_);
    static constexpr unsigned mostLooks = 32; // pieces of regions
    bool sweep(std::uint64_t until) MPR_REQUIRES(duty_);
    bool sweepStep() MPR_REQUIRES(duty_);
    bool sweepRegion(heap::Region* region) MPR_REQUIRES(duty_);
    void settle() MPR_REQUIRES(duty_);
    void giveBack(bool forced) MPR_REQUIRES(duty_);
    Pacer::Usage usage();
    void repaceFor(const Pacer::Usage& used);
    bool awaitOthers() MPR_TRIES(true, duty_);
    void letOthersGo() MPR_RELEASES(duty_);
    void moveTo(Phase phase) MPR_REQUIRES(duty_);
    static bool follows(Phase phase, Phase before);
    Phase phase() const { return static_cast<Phase>(phase_.load(std::memory_order_acquire)); }
    void ring();
    void forget(Mutator* mutator) MPR_REQUIRES(threadsLock_);
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
    std::size_t roomLeft();
    bool awaitDuty(std::uint64_t end) MPR_TRIES(true, duty_);
    bool park(std::uint64_t end) MPR_TRIES(true, duty_);
    void clearWanted();

    /** Free memory is given back when it has not been needed for so long: nanoseconds. */
    static constexpr std::uint64_t decayTime = 1'000'000'000;

    heap::Heap& heap_;
    Roots& roots_;
    Marker marker_;
    Helpers helpers_;
    WriteLog log_;
    Fields fields_;
    Rendezvous rendezvous_;
    Pacer pacer_;
    CollectorStats stats_;
    MarkMemory marks_;
    BlockFilter oldLines_{BlockFilter::Kind::old};
    BlockFilter markedBlocks_{BlockFilter::Kind::marked}; // opened when it is first needed
    std::uint64_t deadline_ = 0;
    bool checks_ = false;     // every pause: see check.hpp
    bool everyYield_ = false; // collect at each yield point
    bool trial_ = false;      // collections by turns in each scope: at each yield point, or each so manieth allocation

    // Sequentially consistent where one thread writes one of two and looks at the other, and a second thread the other
    // way round: phase_ with the wanted flag, pending_, watching_. Elsewhere a new phase releases, and a look acquires.
    os::Word phase_{0};
    os::Word progress_{0}; // changes with every phase, behind it; waiters sleep on it
    os::Word bell_{0};     // the collector's thread sleeps on it; rings behind what it is to see
    std::atomic<bool> pending_{false};
    std::atomic<Wish> wish_{Wish::slice}; // before the phase or pending_
    std::atomic<bool> purge_{false};      // a wish, before the bell
    std::atomic<bool> stop_{false};       // before the bell and progress_
    std::atomic<bool> enabled_{true};     // a wish: a collection that has begun goes on
    os::Counter requestedAt_{0};          // for statistics and messages
    // Each releases what a collection has done so far; who waits for it acquires. Relaxed reads are on duty.
    std::atomic<std::uint32_t> marked_{0}; // collections that have marked
    std::atomic<std::uint32_t> swept_{0};  // and have swept, too
    // The number of the last major collection that has begun, has marked, has swept.
    std::atomic<std::uint32_t> majorsBegun_{0}, majorsMarked_{0}, majorsSwept_{0};
    std::atomic<std::uint32_t> forcedMajor_{0}; // the last that somebody asked for
    std::atomic<std::uint32_t> pauses_{0};
    std::atomic<std::size_t> freedBlocks_{0}; // by all sweeps: before swept_
    std::atomic<std::size_t> trigger_{0};     // a number for pacing
    std::atomic<unsigned> assists_{0};  // what threads do at their yields: Assist. A hint: looked at again on duty
    os::Counter markingNamed_{0};       // when a manager that does not return from MPR_MANAGE_MARK was named
    std::atomic<bool> watching_{false}; // the collector's thread will look whether a collection is overdue

    // Releases what was noted for it, Mutator::late and runsUntil_; a look acquires. It becomes runsOn on duty only, before
    // the gate opens; any thread may end that, by compare-and-swap.
    std::atomic<Course> course_{Course::stop};
    std::atomic<std::size_t> runsUntil_{0}; // bytes allocated since a pause, from which on they wait; 0: nobody runs on
    Grace grace_;
    // Threads that count as running, but wait for their turn in stopOthers. To park releases what they did; who compares
    // this with the rendezvous' word, on duty, acquires.
    std::atomic<unsigned> parked_{0};
    std::atomic<bool> othersStopped_{false}; // one of them is at work, or sees whether it may be: see awaitOthers

    os::Lock duty_{os::outermost}; // see duty.cpp
    /** Held on duty from before the phase is marking until the gate is open again. */
    os::Lock pausing_{os::outermost};
    Scope scope_ MPR_GUARDED_BY(duty_) = Scope::minor;         // of the collection that runs
    std::uint32_t rendezvousNumber_ MPR_GUARDED_BY(duty_) = 1; // in Mutator::lateFor 0 means none
    std::uint32_t pausesSeen_ MPR_GUARDED_BY(duty_) = 0;       // when the collector's thread last rested
    std::uint64_t patience_ MPR_GUARDED_BY(duty_) = 0; // a collection that waits longer names those who are late
    static constexpr unsigned portions = 4;            // in which threads assist, to a budget
    unsigned portions_ MPR_GUARDED_BY(duty_) = 0;      // since the last pause
    Sweep sweep_ MPR_GUARDED_BY(duty_);
    bool standsIn_ MPR_GUARDED_BY(duty_) = false;  // a thread is the collector now
    bool givesBack_ MPR_GUARDED_BY(duty_) = false; // it is time to
    unsigned processors_ = 1;
    unsigned crowd_ MPR_GUARDED_BY(duty_) = 0;     // threads that waited for the last pause to end
    bool tracing_ MPR_GUARDED_BY(duty_) = false;   // a major collection marks old blocks while threads run
    bool traced_ MPR_GUARDED_BY(duty_) = false;    // and has nothing left to mark
    bool rootsLeft_ MPR_GUARDED_BY(duty_) = false; // roots were left unmarked at its start, for want of mark stack
    unsigned passed_ MPR_GUARDED_BY(duty_) = 0;    // minor collections since it last marked anything;
    static constexpr unsigned mostPassed = 4;      // more have to let it go first
    Generations generations_;
    bool urgent_ MPR_GUARDED_BY(duty_) = false;          // and is to have in one pause
    std::uint64_t restUntil_ MPR_GUARDED_BY(duty_) = 0;  // no slice before
    std::uint64_t togetherAt_ MPR_GUARDED_BY(duty_) = 0; // helpers may be called again
    std::uint64_t pauseBudget_ = 0;                      // nanoseconds
    bool isLong_[4] MPR_GUARDED_BY(duty_) = {};          // by scope: whether its marking took long the last time
    std::uint64_t minorAt_ MPR_GUARDED_BY(duty_) = 0;    // when threads went on after the last pause that was no slice
    /** Least free memory at the rendezvous since purgedAt_. */
    std::size_t unneeded_ MPR_GUARDED_BY(duty_) = ~std::size_t{0};
    std::uint64_t purgedAt_ MPR_GUARDED_BY(duty_) = 0;

    os::Lock threadsLock_;
    Mutator* mutators_ MPR_GUARDED_BY(threadsLock_) = nullptr;
    // Of all runtimes: a thread that has detached touches nothing else, since the runtime may be gone.
    static inline constinit os::Word leaving_{0};    // threads that may not have let go of threadsLock_ yet
    static inline constinit os::Word departures_{0}; // changes whenever a thread has detached
    Mutator own_;                                    // of the collector's thread
    os::ThreadId thread_ = 0;
};

} // namespace mpr::gc
