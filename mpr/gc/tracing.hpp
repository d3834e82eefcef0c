// SPDX-License-Identifier: MIT
/*
    tracing.hpp - What is marked, and when: in a pause, in slices, and concurrently.

    A pause of scope *minor* reaches the young from the roots, from the remembered set (remembered_set.hpp), and from all old
    plain blocks, which are traced again each time. A pause of scope *last* or *full* reaches everything that a major
    collection has not reached so far. Old barrier blocks are traced while threads run, with helpers where processors
    are free. Old plain blocks wait for slices. collector.hpp says how these follow one another.
 */
#pragma once

#include <cstdint>

#include "mpr/gc/block_filter.hpp"
#include "mpr/gc/budget.hpp"
#include "mpr/gc/collector_stats.hpp"
#include "mpr/gc/cycle.hpp"
#include "mpr/gc/doubts.hpp"
#include "mpr/gc/helpers.hpp"
#include "mpr/gc/mark_memory.hpp"
#include "mpr/gc/marker.hpp"
#include "mpr/gc/mutator_list.hpp"
#include "mpr/gc/roots.hpp"
#include "mpr/gc/remembered_set.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Tracing {
public:
    /** @param own The collector's own thread. */
    Tracing(heap::Heap& heap, Roots& roots, Cycle& cycle, Budget& budget, MutatorList& mutators, Mutator& own,
            CollectorStats& stats)
        : heap_(heap), roots_(roots), cycle_(cycle), budget_(budget), mutators_(mutators), own_(own), stats_(stats),
          marker_(heap, &doubts_), helpers_(heap, doubts_), remembered_(heap) {}

    /** @param trial Every scope is tried in turn, with all helpers. @return false when memory is short. */
    bool open(const heap::Options& options, std::size_t fixedHeap, unsigned processors, bool trial);
    void close();
    /** @param home The collector's thread. */
    void settle(os::ThreadId home) { helpers_.settle(home); }

    // ---- In a pause ----
    /** Mark in a pause that is no slice. @param cost What is known of the cost so far. */
    void mark(Scope scope, Pacer::Cost cost) MPR_REQUIRES(onDuty);
    /**
        Mark roots that had no room to wait, then trace waiting old plain blocks until a time; and the others, if the major
        collection is starved.
     */
    void slice(std::uint64_t until) MPR_REQUIRES(onDuty);
    /** See check.hpp. Doubts that the trace confirms are said. */
    void check() MPR_REQUIRES(onDuty);
    /** Whether references to no block wait for what shows that the program is to blame (doubts.hpp). */
    bool hasDoubts() const { return doubts_.any(); }

    // ---- Between pauses ----
    /**
        Mark until a pause is wanted, or nothing is left that may be marked while threads run. @return Whether nothing
        is left.
     */
    bool advance(std::uint64_t until = os::forever) MPR_REQUIRES(onDuty);
    /** Marking has ended: give back memory that only long marking takes. */
    void trim() { marks_.trim(); }

    // ---- Threads ----
    /** See RememberedSet. @return true when so much has been remembered that a pause should come. */
    bool remember(Mutator& m, std::uintptr_t entry) { return remembered_.add(m.remembered, entry); }
    void loseWrites() { remembered_.lose(); }
    /** A thread ends. */
    void leave(Mutator& m);
    /** Changes with each manager's MPR_MANAGE_MARK call. */
    std::uint64_t traced() const { return helpers_.traced() + marker_.traced(); }
    const Marker& marker() const { return marker_; }
    /** @param f Is called with each marker. */
    template <typename F>
    void forEachMarker(F&& f) const {
        f(marker_);
        helpers_.forEach(f);
    }

private:
    /** @param scan Of handles. */
    void markRoots(HandleScan scan = HandleScan::all) MPR_REQUIRES(onDuty);
    /**
        Whether all markers read the log together. Reading changes heads of old blocks. So they do not when others may
        be changing those as well, to mark them.
     */
    bool sharesRemembered(Scope scope, bool lost) const MPR_REQUIRES(onDuty) {
        return scope == Scope::minor && !cycle_.major().isTracing() && !lost;
    }
    void markWritten(Scope scope, bool lost) MPR_REQUIRES(onDuty);
    void markAll(Scope scope, bool lost, bool defers, Pacer::Cost& cost) MPR_REQUIRES(onDuty);
    bool isSame(MarkEntry owner) const;
    void lookAgain(Scope scope);
    void beginDoubts() MPR_REQUIRES(onDuty);
    void settleDoubts(Scope scope) MPR_REQUIRES(onDuty);
    template <typename VerdictOn>
    void settleDoubts(VerdictOn&& verdictOn);
    void startMajor() MPR_REQUIRES(onDuty);
    unsigned freeProcessors() const;
    void markPlain(bool roots, std::uint64_t until) MPR_REQUIRES(onDuty);
    bool markOld(std::uint64_t until) MPR_REQUIRES(onDuty);
    void markInParallel(std::uint64_t until) MPR_REQUIRES(onDuty);

    heap::Heap& heap_;
    Roots& roots_;
    Cycle& cycle_;
    Budget& budget_;
    MutatorList& mutators_;
    Mutator& own_;
    CollectorStats& stats_;
    Doubts doubts_;
    Marker marker_;
    Helpers helpers_;
    RememberedSet remembered_;
    MarkMemory marks_;
    BlockFilter oldLines_{BlockFilter::Kind::old};
    BlockFilter markedBlocks_{BlockFilter::Kind::marked}; // opened when it is first needed
    unsigned processors_ = 1;                             // these two are set before the collector's thread begins
    bool trial_ = false;
    std::uint64_t parallelAt_ MPR_GUARDED_BY(onDuty) = 0; // when helpers may be called again
    bool isLong_[4] MPR_GUARDED_BY(onDuty) = {};          // by scope: whether marking took long the last time
};

} // namespace mpr::gc
