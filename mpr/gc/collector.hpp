/*
    collector.hpp - The collector: its thread, the phases of a collection, and how threads ask and wait for one.

    Phases, in order; one writer at a time moves on:
        idle       -> requested   whoever asks (compare-and-swap); from then on threads stop at their next yield, even
                                  before the collector's thread has been scheduled
        requested  -> marking     collector: it closes the gate and waits until all threads have stopped
        marking    -> freeing     collector; the gate opens
        freeing    -> sweeping    collector, when all MPR_MANAGE_FREE calls have returned
        sweeping   -> idle        collector
    A request outside idle is remembered and becomes the next collection. Threads are stopped only in requested and
    marking: in particular no thread must wait for a manager that frees, whatever lock that manager may be waiting for.
    Where one does wait (MPR_GC_COMPLETE, and shortly when allocation outruns the sweep) the wait is bounded.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/marker.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/gc/pacer.hpp"
#include "mpr/gc/rendezvous.hpp"
#include "mpr/gc/roots.hpp"
#include "mpr/gc/times.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

enum class Phase : std::uint32_t { idle, requested, marking, freeing, sweeping };

/** What collections cost and did. */
struct CollectorStats {
    Times pause, stall, rendezvous, mark, sweep;
    os::Counter collections{0};
    os::Counter managersFreed{0};
    os::Counter late{0};
    os::Counter marked{0}; // bytes reached by the last collection
};

class Collector {
public:
    Collector(heap::Heap& heap, Roots& roots) : heap_(heap), roots_(roots), marker_(heap) {}

    /** Start the thread. @return false when memory or the thread cannot be had. */
    bool open(const heap::Options& options, std::size_t fixedHeap);
    /** Stop the thread, after the collection that runs. */
    void close();
    /** Call every block's manager with MPR_MANAGE_FREE: the runtime ends. The thread has stopped. */
    void freeEverything();

    // ---- Threads ----
    /** Make the calling thread a mutator, running. @return nullptr when memory is short. */
    Mutator* attach(const char* name);
    /** The calling thread's own. */
    void detach(Mutator* mutator);
    void yield(Mutator& m, int flags, const void* site);
    void resume(Mutator& m);
    bool setExempt(Mutator& m, bool exempt);
    /** Whether a yield would wait. */
    bool wanted() const { return rendezvous_.wanted(); }
    int threads();
    /** Name the attached threads other than m in the log. */
    void nameOthers(const Mutator& m, const char* what);

    // ---- Collections ----
    /** Ask for a collection; never waits. @param forced Give free memory back afterwards. */
    void request(bool forced);
    /** Ask and wait. @return blocks freed when complete. */
    int collect(Mutator& m, bool complete, const void* site);
    /** Allocation has used up the budget. */
    void budgetSpent();
    /** An allocation fails: make memory that is dead already usable, within a bounded time; the caller does not yield. */
    void emergency(Mutator& m);
    /** A large block was freed by hand: have its memory purged when enough has gathered. */
    void freedLarge();
    /** Whether a block with this head was found dead by the collection that runs. */
    bool isDoomed(heap::Byte h) const { return !heap_.colours().live(h); }

    bool enable(bool on);
    /** Limits or cache have changed. */
    void repace();
    Pacer& pacer() { return pacer_; }
    std::size_t trigger() const { return trigger_.load(std::memory_order_relaxed); }
    bool halfSpent() { return heap_.allocatedSince() >= trigger() / 2; }
    const CollectorStats& stats() const { return stats_; }
    const Marker& marker() const { return marker_; }

private:
    void run();
    void cycle();
    void awaitThreads();
    void nameLate(std::uint64_t waited);
    void markAll();
    void callFree(bool everything);
    void callFreeIn(heap::Region* region, unsigned chunk, bool everything);
    std::size_t sweepAll();
    void settle(bool forced);
    void moveTo(Phase phase);
    Phase phase() const { return static_cast<Phase>(phase_.load(std::memory_order_acquire)); }
    void ring();
    void waitOut(Mutator& m);
    bool stuckFreeing(std::uint64_t& calls, std::uint64_t& since) const;
    template <typename Done>
    bool awaitProgress(Done done, std::uint64_t limit);
    void stall();
    void clearWanted();
    // cooperative.cpp
    std::size_t collectHere(Mutator& m);
    void yieldHere(Mutator& m, int flags);

    heap::Heap& heap_;
    Roots& roots_;
    Marker marker_;
    Rendezvous rendezvous_;
    Pacer pacer_;
    CollectorStats stats_;
    void* markStack_ = nullptr;
    std::uint64_t deadline_ = 0;

    os::Word phase_{0};
    os::Word progress_{0}; // changes with every phase; waiters sleep on it
    os::Word bell_{0};     // the collector's thread sleeps on it
    std::atomic<bool> pending_{false};
    std::atomic<bool> forced_{false};
    std::atomic<bool> purge_{false};
    std::atomic<bool> stop_{false};
    std::atomic<bool> enabled_{true};
    os::Counter requestedAt_{0};
    std::atomic<std::uint32_t> marked_{0}; // collections that have marked
    std::atomic<std::uint32_t> swept_{0};  // and have swept, too
    os::Counter freeCalls_{0};
    std::atomic<std::size_t> freedBlocks_{0}; // by the last sweep
    std::atomic<std::size_t> trigger_{0};
    std::uint32_t rendezvousNumber_ = 0;
    std::size_t unneeded_ = ~std::size_t{0}; // least free memory at the rendezvous since purgedAt_
    std::uint64_t purgedAt_ = 0;

    os::Lock threadsLock_;
    Mutator* mutators_ = nullptr;
    Mutator own_; // of the collector's thread
    os::ThreadId thread_ = 0;
};

} // namespace mpr::gc
