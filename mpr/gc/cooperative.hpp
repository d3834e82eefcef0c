// SPDX-License-Identifier: MIT
/*
    cooperative.hpp - The collector for targets with a single thread: a whole collection runs inside a yield.

    Every collection is full, and stops the program while it lasts. There are no phases, no generations, no log and no
    rendezvous. One flag, mprYieldWanted, says whether a collection is wanted. During a collection the thread acts as
    the collector (Mutator::isCollector), so that calls from MPR_MANAGE_FREE follow the same rules as elsewhere. A
    request never collects by itself; the next yield does, mprGC included. So nothing is reclaimed between two yields
    here either.

    The calls are those of collector.hpp, which says what each does.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/mark_memory.hpp"
#include "mpr/gc/marker.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/gc/pacer.hpp"
#include "mpr/gc/roots.hpp"
#include "mpr/gc/times.hpp"
#include "mpr/gc/wish.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class CooperativeCollector {
public:
    struct Stats {
        Times pause;
        os::Total collections = 0;
        os::Total managersFreed = 0;
        std::size_t marked = 0; // bytes

        void report(MprMemStats& s) const;
        static os::Total minorCollections() { return 0; }
        os::Total majorCollections() const { return collections; }
        static os::Total inducedCollections() { return 0; } // not counted
    };

    CooperativeCollector(heap::Heap& heap, Roots& roots) : heap_(heap), roots_(roots), marker_(heap) {}

    bool open(const heap::Options& options, std::size_t fixedHeap);
    void close() { stopped_ = true; }
    void freeEverything();

    // ---- The thread ----
    Mutator* prepare(const char* name, bool service, void* thread, heap::Shortage& shortage);
    void abandon(Mutator*) {} // its only thread always comes
    void attach(Mutator* mutator);
    void detach(Mutator* mutator);
    void yield(Mutator& m, int flags, const void* site);
    void resume(Mutator& m) { m.state.store(Mutator::State::running); }
    bool setExempt(Mutator& m, bool exempt);
    void visit() {}
    void endVisit() {}
    bool wanted() const { return mprNeedYield(); }
    int threads(bool = true) const { return thread_ ? 1 : 0; }
    bool awaitAlone(Mutator&, std::uint64_t) { return true; }
    void nameOthers(const Mutator&, const char*) {}

    // ---- Collections ----
    void request(Wish) { mprYieldWanted = true; }
    int collect(Mutator& m, Wish wish, bool complete, const void* site);
    void budgetSpent();
    void majorIsDue() { budgetSpent(); }
    static bool awaitSweep(Mutator&) { return false; }
    static void makeWay(Mutator&) {}
    static void noteRefused(Mutator&, std::size_t) {}
    static bool awaitSweepOutside() { return false; }
    static bool collectOutside() { return false; }
    void emergency(Mutator&) {
        if (enabled_) {
            mprYieldWanted = true;
        }
    }
    static bool makeRoom(Mutator&, std::size_t) { return false; }
    void freedLarge() {}
    template <typename Work>
    bool stopOthers(Work&& work) {
        work();
        return true;
    }
    bool isDoomed(heap::Byte h) const { return heap_.dead(h); }
    /** Whether it is dead and not held either. Only managers in FREE know such a block. What it references goes, too. */
    bool isLost(heap::Byte h) const { return (h & heap::head::held) == 0 && heap_.dead(h); }
    void rememberField(Mutator&, const void*) {}
    void rememberBlock(Mutator&, heap::Region*, std::size_t) {}
    void loseWrites() {}
    bool enable(bool on);
    void repace();
    Pacer& pacer() { return pacer_; }
    std::size_t trigger() const { return trigger_; }
    bool enabled() const { return enabled_; }
    bool isBudgetSpent() { return heap_.spentSince() >= trigger_; }
    bool halfSpent() { return heap_.allocatedSince() >= trigger_ / 2; }
    const Stats& stats() const { return stats_; }
    static void countInduced() {}
    static bool checks() { return false; }
    const Marker& marker() const { return marker_; }

private:
    std::size_t collectHere(Mutator& m);
    std::size_t cycle();
    void mark();
    void callFree(bool everything);

    heap::Heap& heap_;
    Roots& roots_;
    Marker marker_;
    Pacer pacer_;
    Stats stats_;
    MarkMemory marks_;
    std::size_t trigger_ = 0;
    Mutator* thread_ = nullptr;
    bool everyYield_ = false;
    bool enabled_ = true;
    bool stopped_ = false; // the runtime ends
};

} // namespace mpr::gc
