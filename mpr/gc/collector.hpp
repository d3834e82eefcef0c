// SPDX-License-Identifier: MIT
/*
    collector.hpp - The collector as the rest of the runtime knows it; and its parts.

    The scope of a collection says what it does. A *minor* one traces young blocks only, and frees the dead among them.
    When the heap has grown enough, or somebody asks for all garbage to be freed, the pause of a minor collection ends
    with the start of a major one: all old blocks become unmarked, the roots are reached, and from then on old blocks
    are marked in idle, while threads run (major.hpp). The managers of plain blocks may run only while threads are
    stopped. So plain blocks are traced in *slices*, pauses of bounded length that do nothing else, with rests between.
    Minor collections continue meanwhile. When nothing is left to mark, one more pause, the *last*, does what a minor
    one does, and also traces all old blocks that it reaches. Then everything unmarked is dead. A *full* collection does
    all of this in one pause. It is for heaps so small that this pause is short, and for when memory is short.

    These are the parts, in the order in which a collection goes through them from mprYield on. A part knows only parts
    below it, and none knows the collector. test/model/layers.cpp holds the files to this list.
        safepoint       a thread yields: it stops, and goes on
        duty            who collects: the thread that stops last, or the collector's
        waits           what threads wait for meanwhile, and how long at most
        collection      the pause; then what was found dead is freed
        late            threads that did not come: they are named, and the others run on
        tracing         what is marked in the pause, in slices, and beside the threads
        sweeping        managers free, and the heap is swept
        giving_back     free memory goes back to the system
        budget          when the next collection is due
        mutator_list    all threads
        cycle           the phase, and all else that the parts share
    Two more stand above safepoint: with `mutators` threads come and go, with `others` a thread stops all without a
    collection.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/budget.hpp"
#include "mpr/gc/collection.hpp"
#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/gc/duty.hpp"
#include "mpr/gc/late.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/gc/mutator_list.hpp"
#include "mpr/gc/mutators.hpp"
#include "mpr/gc/others.hpp"
#include "mpr/gc/roots.hpp"
#include "mpr/gc/safepoint.hpp"
#include "mpr/gc/waits.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Collector {
public:
    Collector(heap::Heap& heap, Roots& roots)
        : heap_(heap), budget_(heap, cycle_, stats_), late_(heap, cycle_, budget_, all_, stats_),
          collection_(heap, roots, cycle_, budget_, late_, own_, stats_), waits_(cycle_, collection_.tracing(), stats_),
          duty_(cycle_, budget_, late_, collection_, waits_, own_, stats_),
          safepoint_(heap, cycle_, budget_, late_, duty_, waits_, stats_),
          mutators_(heap, cycle_, all_, late_, collection_.tracing(), safepoint_), others_(cycle_, late_) {}

    /** Start the thread. @return false when memory or the thread cannot be had. */
    bool open(const heap::Options& options, std::size_t fixedHeap);
    /** Stop the thread, after the current collection. */
    void close();
    /** Call every block's manager with MPR_MANAGE_FREE: the runtime ends. The thread has stopped. */
    void freeEverything() MPR_UNANALYSED; // nobody is left to be on duty

    // ---- Threads: see Mutators and Safepoint ----
    Mutator* prepare(const char* name, bool service, void* thread, heap::Shortage& shortage) {
        return mutators_.prepare(name, service, thread, shortage);
    }
    void abandon(Mutator* mutator) { mutators_.abandon(mutator); }
    void attach(Mutator* mutator) { mutators_.attach(mutator); }
    void detach(Mutator* mutator) { mutators_.detach(mutator); }
    int threads(bool all = true) { return mutators_.count(all); }
    int lostTimes(MprThreadLostTime* threads, int room) { return mutators_.lostTimes(threads, room); }
    int allocationStats(MprAllocStats* threads, int room) { return mutators_.allocationStats(threads, room); }
    bool isAttached(std::uint32_t number) { return mutators_.isAttached(number); }
    bool awaitAlone(Mutator& self, std::uint64_t deadline) { return mutators_.awaitAlone(self, deadline); }
    void nameOthers(const Mutator& self, const char* what) { mutators_.nameOthers(self, what); }
    void yield(Mutator& m, int flags, const void* site) { safepoint_.yield(m, flags, site); }
    void resume(Mutator& m) { safepoint_.resume(m); }
    bool setExempt(Mutator& m, bool exempt) { return safepoint_.setExempt(m, exempt); }
    /** The calling thread is attached and does not run: it is counted as running until endVisit. */
    void visit() { safepoint_.enter(); }
    void endVisit() { safepoint_.leave(); }
    /** Whether a yield would wait. */
    bool wanted() const { return cycle_.rendezvous().wanted(); }

    // ---- Collections ----
    /** Ask for a collection; never waits. */
    void request(Wish wish) { cycle_.request(wish); }
    /** Ask and wait. @return blocks freed when complete. */
    int collect(Mutator& m, Wish wish, bool complete, const void* site);
    /** Allocation has used up the budget, or what is left of memory is scattered. */
    void budgetSpent() { safepoint_.budgetSpent(); }
    /** Ask for a major collection, unless collections that nobody has asked for are off. */
    void majorIsDue() {
        if (cycle_.enabled()) {
            cycle_.request(Wish::full);
        }
    }
    /**
        An allocation fails: wait for the end of a sweep that is under way, unless a manager takes long. The caller does
        not yield. @return false when no sweep is under way.
     */
    bool awaitSweep(Mutator& m);
    /** An allocation needs more than its context has, and some wait that were refused: heap/earmark.hpp. */
    void makeWay(Mutator& m);
    /** An allocation of n granules was refused. */
    void noteRefused(Mutator& m, std::size_t n);
    /**
        The same as awaitSweep, and one for a collection, of a thread that does not run. Neither waits long: the caller may
        have a lock for which a thread waits that would have to stop first. @return false when nothing has changed.
     */
    bool awaitSweepOutside();
    bool collectOutside();
    /**
        An allocation fails after a sweep, too: make usable what is already free, and request a collection of the rest.
     */
    void emergency(Mutator& m);
    /**
        An allocation fails though so many bytes are free, in pieces: give those back. @return false if not possible
        now.
     */
    bool makeRoom(Mutator& m, std::size_t bytes);
    /**
        Do work while every other attached thread is stopped and no collection works. The caller runs, and does not
        yield. @param within Nanoseconds; 0: some deadlines.
        @return false when the others did not stop in that time: the work was not done.
     */
    template <typename Work>
    bool stopOthers(Work&& work, std::uint64_t within = 0) {
        return others_.stop(static_cast<Work&&>(work), within);
    }
    /** Whether option check is set. */
    bool checks() const { return collection_.checks(); }
    /** A large block was freed by hand: have such memory purged when enough has gathered. */
    void freedLarge() { collection_.givingBack().freedLarge(); }
    /** Collect everything, and give back what is free. Any thread; returns at once. */
    void memoryIsLow() { collection_.givingBack().memoryIsLow(); }
    /** Whether the current collection has found a block with this head dead. */
    bool isDoomed(heap::Byte h) const { return heap_.dead(h); }
    /** Whether it is dead and not held either. Only managers in FREE know such a block. What it references goes, too. */
    bool isLost(heap::Byte h) const { return (h & heap::head::held) == 0 && heap_.dead(h); }
    /** The write barrier found that a store has to be remembered (see RememberedSet): the field, */
    void rememberField(Mutator& m, const void* field) { remember(m, RememberedSet::ofField(field)); }
    /** or the block at granule g, to be looked at as a whole, unless it is remembered already. */
    void rememberBlock(Mutator& m, heap::Region* region, std::size_t g);
    /** A store could not be remembered: the next collection looks at everything. */
    void loseWrites() { collection_.tracing().loseWrites(); }

    bool enable(bool on);
    /** Limits or cache have changed. */
    void repace() {
        budget_.repace();
        late_.repace();
    }
    Pacer& pacer() { return budget_.pacer(); }
    std::size_t trigger() const { return budget_.trigger(); }
    /** The caller has nothing to do for some milliseconds: collect when that is worth it. */
    void idle();
    bool halfSpent() const { return budget_.halfSpent(); }
    bool isBudgetSpent() const { return budget_.isSpent(); }
    bool enabled() const { return cycle_.enabled(); }
    /** Option everyyield. */
    bool collectsAtYields() const { return safepoint_.collectsAtYields(); }
    const CollectorStats& stats() const { return stats_; }
    /** Count a call of mprGC that collects or asks for it. */
    void countInduced() { stats_.induced.fetch_add(1, std::memory_order_relaxed); }

    // ---- Assertions ----
    void assertOnDuty(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const MPR_ASSERTS(onDuty) {
        cycle_.assertOnDuty(file, line);
    }
    void assertStopped(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const MPR_ASSERTS(onDuty) {
        cycle_.assertStopped(file, line);
    }

    const Marker& marker() const { return collection_.tracing().marker(); }

private:
    void remember(Mutator& m, std::uintptr_t entry);

    heap::Heap& heap_;
    Cycle cycle_;
    CollectorStats stats_;
    Mutator own_; // of the collector's thread
    MutatorList all_;
    Budget budget_;
    Late late_;
    Collection collection_;
    Waits waits_;
    Duty duty_;
    Safepoint safepoint_;
    Mutators mutators_;
    Others others_;
};

} // namespace mpr::gc
