// SPDX-License-Identifier: MIT
/*
    collection.cpp - A collection from its pause to its end.
 */
#include "mpr/gc/collection.hpp"

#include <algorithm>

#include "mpr/gc/suspension.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

bool Collection::open(const heap::Options& options, std::size_t fixedHeap, unsigned processors, bool trial) {
    pauseBudget_ = options.pauseBudget;
    trial_ = trial;
    checks_ = options.looks();
    if ((options.check & heap::Options::fields) != 0) {
        fields_.open(options.mask);
    }
    if ((options.check & heap::Options::globals) != 0) {
        globals_.open(options.mask);
    }
    if ((options.check & heap::Options::stacks) != 0) {
        stacks_.open(options.mask);
    }
    os::endAtMistake((options.check & heap::Options::abort) != 0);
    return tracing_.open(options, fixedHeap, processors, trial);
}

void Collection::close() {
    tracing_.close();
    fields_.close();
    globals_.close();
    stacks_.close();
    if (checks_ && stats_.minors.load(std::memory_order_relaxed) + stats_.majors.load(std::memory_order_relaxed) == 0) {
        os::Message message;
        os::log(os::Level::warning,
                message << "check: nothing was checked, because no collection has run; mprGC(MPR_GC_FORCE) runs one, "
                           "and with MPR_GC_EVERY_YIELD=1 each yield does");
    }
}

void Collection::pause() {
    cycle_.assertOnDuty();
    MPR_ASSERT(cycle_.phase() == Phase::requested && cycle_.rendezvous().stopped());
    const os::Locked pausing(cycle_.pausing());
    cycle_.beginMarking();
    suspensions.worldStops(true);
    if (const EmbedHooks* embedder = roots_.embedder()) {
        embedder->stop();
    }
    const unsigned waiting = cycle_.rendezvous().waiting();
    const std::uint64_t stopped = os::now();
    const std::uint64_t took = cycle_.waited(stopped);
    stats_.rendezvous.record(took);
    late_.forget(took);
    const Wish wish = cycle_.takeWish();
    cycle_.setScope(decide(wish));
    if (cycle_.scope() == Scope::slice) {
        tracing_.slice(stopped + std::max(pauseBudget_ * 3 / 4, cycle_.major().owed()));
        reopen(Phase::idle, stopped);
        // The slice came before what was wished for, so that is wished for again; everything is for the next major collection to
        // free. The last pause is asked for as well when nothing is left to mark: nobody else might do so.
        const bool ends =
            cycle_.major().isTraced() && (cycle_.enabled() || cycle_.major().isForced() || cycle_.major().mustBegin());
        if (wish > Wish::slice || ends) {
            cycle_.request(wish < Wish::full ? wish : Wish::budget);
        }
        return;
    }
    givingBack_.noteFree();
    budget_.pacer().noteScattered(heap_.takeScattered());
    const std::uint64_t ran = spent();
    allocated_ = heap_.allocatedSince();
    const Pacer::Cost cost{allocated_, ran - std::min(ran, ran_), 0, 0, 1};
    heap_.beginMarking();
    const bool traced = cycle_.major().isTracing();
    tracing_.mark(cycle_.scope(), cost);
    cycle_.assists().choose(cycle_.major(), waiting, !traced);
    const Pacer::Usage used = budget_.usage();
    heap_.beginSweep(cycle_.isMinor() ? heap::Sweep::young : heap::Sweep::all);
    budget_.setSlack(used);
    if (roots_.incomplete()) [[unlikely]] {
        heap_.retainDead();
    }
    if (const heap::Annex* annex = heap_.annex(); annex && !cycle_.isMinor()) {
        annex->beginSweep(roots_.incomplete());
    }
    if (const HandleHooks* handles = roots_.handles()) {
        handles->clear(cycle_.isMinor() ? HandleScan::young : HandleScan::all);
    }
    if (const EmbedHooks* embedder = roots_.embedder()) {
        embedder->clear(cycle_.isMinor() ? HandleScan::young : HandleScan::all);
    }
    if (checks_ || (trial_ && tracing_.hasDoubts())) {
        tracing_.check();
    }
    fields_.check();
    globals_.check();
    stacks_.check();
    cycle_.countMarked();
    reopen(Phase::freeing, stopped);
    ran_ = spent();
}

Scope Collection::decide(Wish wish) const {
    cycle_.assertStopped();
    if (cycle_.major().isTracing()) {
        return cycle_.major().isTraced() || cycle_.major().isUrgent() || budget_.generations().overdue() ? Scope::last
               : wish == Wish::slice || cycle_.major().isStarved()                                       ? Scope::slice
                                                                                                         : Scope::minor;
    }
    // A long remembered set says nothing about how much memory is left, so that this is short is no reason yet.
    const bool due = wish == Wish::stores ? budget_.generations().hasGrown() : budget_.generations().majorDue();
    const bool major = cycle_.major().mustBegin() || (wish != Wish::minor && due);
    if (major && (cycle_.major().isUrgent() || !budget_.generations().concurrently())) {
        return Scope::full;
    }
    return wish == Wish::minor || budget_.generations().worthwhile() ? Scope::minor : Scope::full;
}

/** Let threads continue: marking has ended, or is interrupted. */
void Collection::reopen(Phase phase, std::uint64_t stopped) {
    cycle_.assertStopped();
    if (const EmbedHooks* embedder = roots_.embedder()) {
        embedder->resume();
    }
    suspensions.worldGoesOn(cycle_.isMinor() ? MPR_GENERATION_YOUNG : MPR_GENERATION_ALL);
    const std::uint64_t opened = cycle_.reopen(phase);
    stats_.mark.record(opened - stopped);
    if constexpr (!os::cooperative) {
        if (cycle_.scope() == Scope::slice) {
            cycle_.major().worked(opened - stopped);
        } else if (cycle_.major().isTracing()) {
            cycle_.major().heldUp(opened - stopped);
        }
    }
    restUntil_ = trial_ ? 0 : opened + 2 * std::min(opened - stopped, pauseBudget_);
}

bool Collection::reclaim(std::uint64_t until) {
    cycle_.assertOnDuty();
    MPR_ASSERT(cycle_.phase() == Phase::freeing || cycle_.phase() == Phase::sweeping);
    const std::uint64_t begin = os::now();
    if (cycle_.phase() == Phase::freeing) {
        reclaimed_ = 0;
        freed_ = heap_.totals().granulesFreed;
        freeing_ = sweeping_.finalize(false);
        if (const HandleHooks* handles = roots_.handles()) {
            handles->finalized();
        }
        sweeping_.begin();
        cycle_.beginSweeping();
    }
    const bool done = sweeping_.advance(until);
    reclaimed_ += os::now() - begin;
    if (done) {
        endReclaim();
    }
    return done;
}

/** The heap is swept: set the next budget and give memory back. */
void Collection::endReclaim() {
    cycle_.assertOnDuty();
    MPR_ASSERT(cycle_.phase() == Phase::sweeping);
    cycle_.countFreed(sweeping_.end());
    if (!cycle_.isMinor()) {
        tracing_.trim();
        if (const heap::Annex* annex = heap_.annex()) {
            annex->endSweep(cycle_.major().isForced() ? 0 : budget_.pacer().cache());
        }
    }
    roots_.provide(heap_);
    heap_.serveWaiting();
    // A major collection frees the garbage of many budgets. What threads have freed by hand meanwhile is counted, too, and
    // does no harm.
    const auto freed = static_cast<std::size_t>((heap_.totals().granulesFreed - freed_) << heap::granuleShift);
    budget_.pacer().observeFreeing(cycle_.isMinor() ? allocated_ : std::max(allocated_, freed), freeing_);
    budget_.renew(!cycle_.isMinor());
    givingBack_.swept(!cycle_.isMinor() && cycle_.major().isForced());
    stats_.sweep.record(reclaimed_);
    (cycle_.isMinor() ? stats_.minors : stats_.majors).fetch_add(1, std::memory_order_relaxed);
    cycle_.countSwept();
    cycle_.endSweeping();
}

void Collection::freeEverything() {
    // Nothing is marked, so everything is dead, held or not: mprFree leaves to the end what a manager gives back.
    heap_.unmarkAll();
    heap_.beginSweep(heap::Sweep::all);
    const HandleHooks* handles = roots_.handles();
    if (handles) {
        handles->clear(HandleScan::end);
    }
    sweeping_.finalize(true);
    if (const EmbedHooks* embedder = roots_.embedder()) {
        embedder->end();
    }
    if (handles || (handles = roots_.handles())) { // which a manager may have made
        handles->end();
    }
}

} // namespace mpr::gc
