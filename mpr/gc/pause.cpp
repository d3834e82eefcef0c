/*
    pause.cpp - What a pause marks: roots, what was written, plain blocks; and the major collection's work between pauses.
 */
#include <algorithm>
#include <bit>
#include <iterator>

#include "mpr/gc/check.hpp"
#include "mpr/gc/collector.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::GranuleMap;
using heap::Region;
namespace head = heap::head;
namespace swar = heap::swar;

namespace {
/** Marking that took so long is shared the next time: nanoseconds. */
constexpr std::uint64_t longPause = 100'000;
} // namespace

Scope Collector::decide(Wish wish) const {
    if (tracing_) {
        return traced_ || urgent_ || generations_.overdue() ? Scope::last
               : wish == Wish::slice || isStarved()         ? Scope::slice
                                                            : Scope::minor;
    }
    const bool major = mustBegin() || (wish != Wish::minor && generations_.majorDue());
    if (major && (urgent_ || !generations_.concurrently())) {
        return Scope::full;
    }
    return wish == Wish::minor || generations_.worthwhile() ? Scope::minor : Scope::full;
}

/** @param cost What is known of it before. */
void Collector::mark(Scope scope, Pacer::Cost cost) {
    const std::uint64_t begin = os::now();
    if (scope == Scope::full) {
        majorsBegun_.fetch_add(1, std::memory_order_seq_cst);
        heap_.unmarkOld();
    }
    if (!tracing_) {
        marks_.choose(heap_.limits());
        helpers_.lend(marks_, marker_);
    }
    marker_.begin(scope == Scope::minor ? Marking::young : Marking::all);
    markRoots();
    const bool lost = markWritten(scope);
    markAll(scope, lost, cost);
    marker_.drain();
    marker_.end();
    const std::uint64_t took = os::now() - begin;
    isLong_[static_cast<unsigned>(scope)] = took > longPause;
    if (scope == Scope::minor) {
        pacer_.observe(cost);
        ++passed_;
    }
    if (checks_) {
        check(scope);
    }
    if (scope != Scope::minor) {
        tracing_ = traced_ = false;
        heap_.setTracing(false);
    }
    if (!tracing_) {
        generations_.marked(scope != Scope::minor, scope == Scope::full, marker_.takeReached(), took);
    }
    if (scope == Scope::minor && !tracing_ && (mustBegin() || generations_.majorDue())) {
        startMajor();
    }
}

/** See check.hpp. */
void Collector::check(Scope scope) {
    const heap::Totals totals = heap_.totals();
    Check check(heap_, static_cast<std::size_t>(totals.blocksAllocated - totals.blocksFreed),
                scope == Scope::minor && tracing_);
    marker_.beginCheck(check);
    markRoots();
    stats_.defects.fetch_add(check.trace(), std::memory_order_relaxed);
    marker_.end();
}

void Collector::markRoots() {
    roots_.forEach([this](const void* block) { marker_.markRoot(block); });
    os::Locked locked(threadsLock_);
    for (Mutator* m = mutators_; m; m = m->next) {
        marker_.markRoot(m->thread);
    }
}

/**
    Old blocks that may reference young ones, or, in the last pause of a major collection, blocks that it has not reached.
    @return whether part of the log was lost.
 */
bool Collector::markWritten(Scope scope) {
    const auto see = [&](std::uintptr_t entry) {
        if (scope != Scope::full) {
            markLogged(entry, scope == Scope::last);
        }
    };
    {
        os::Locked locked(threadsLock_);
        for (Mutator* m = mutators_; m; m = m->next) {
            log_.drain(m->log, see);
        }
    }
    log_.drain(own_.log, see);
    log_.drainFull(see);
    for (Span& span : spans_) {
        span = {};
    }
    return log_.takeLost() && scope != Scope::full;
}

/**
    Trace old plain blocks once more, or, when part of the log was lost, all old blocks that reference anything; and all that
    has been reached.
 */
void Collector::markAll(Scope scope, bool lost, Pacer::Cost& cost) {
    const std::uint64_t begin = os::now();
    MarkJob job;
    job.first = heap_.firstRegion();
    job.retraces = scope != Scope::full;
    job.which = {.markedOnly = scope == Scope::last, .barrier = lost};
    if (scope == Scope::last) {
        marker_.forgetPlain();
    } else if (scope == Scope::minor) {
        job.marking = job.retracing = Marking::young;
        if (!lost) {
            // Old blocks are not reached from old plain ones: who knows whether those are alive?
            job.retracing = Marking::again;
            if (young_) {
                young_.fill(heap_);
                job.young = &young_;
            }
        }
    }
    const bool isLong =
        isLong_[static_cast<unsigned>(scope)] || (scope == Scope::last && isLong_[static_cast<unsigned>(Scope::minor)]);
    // Alone when bits of heads are cleared on the way that others would store back.
    cost.markers = helpers_.mark(job, marker_, lost || (!isLong && !trial_));
    stats_.shared.fetch_add(cost.markers > 1, std::memory_order_relaxed);
    cost.always = (job.retraced - begin) * cost.markers;
    cost.young = os::now() - job.retraced;
}

/** An entry of the log. @param markedOnly Blocks that nothing has reached so far need not be traced. */
void Collector::markLogged(std::uintptr_t entry, bool markedOnly) {
    const void* address = reinterpret_cast<const void*>(entry & ~std::uintptr_t{1});
    Region* region = heap_.findField(address);
    if (!region) {
        return; // freed by hand, and its region is gone
    }
    const heap::Colours colours = heap_.colours();
    if (entry & 1) {
        const Byte h = ownerOf(region, region->granuleOf(address));
        if ((h & head::old) && head::isBarrier(h) && (!markedOnly || colours.marked(h))) {
            marker_.markRoot(__atomic_load_n(static_cast<void* const*>(address), __ATOMIC_RELAXED), true);
        }
        return;
    }
    if (!region->isBlock(address)) {
        return;
    }
    const std::size_t g = region->granuleOf(address);
    const Byte h = region->map().get(g);
    if ((h & head::old) && head::isBarrier(h) && (h & head::logged)) {
        region->map().set(g, static_cast<Byte>(h & ~head::logged));
        if (!markedOnly || colours.marked(h)) {
            marker_.retrace(region, g);
        }
    }
}

/** The head of the block that granule g belongs to, 0 when it belongs to none. */
Byte Collector::ownerOf(Region* region, std::size_t g) {
    const Span& span = spanOf(region, g);
    return span.isBlock ? region->map().get(span.from) : Byte{0};
}

/** Where nothing begins, as in a large block that was freed after stores into it, no granule is looked at twice. */
const Collector::Span& Collector::spanOf(Region* region, std::size_t g) {
    const GranuleMap map = region->map();
    Span* before = nullptr; // the last that is no block
    for (Span& span : spans_) {
        if (span.region == region && g >= span.from && g < span.to) {
            return span;
        }
        if (span.region == region && !span.isBlock && span.to <= g && (!before || span.to > before->to)) {
            before = &span;
        }
    }
    const std::size_t least = before ? before->to : std::size_t{region->firstGranule};
    const std::size_t head = region->isLarge() ? std::size_t{region->firstGranule}
                                               : map.headBefore(g, least & ~std::size_t{swar::bytes - 1});
    const bool found = head >= least && (map.get(head) & head::inUse) != 0;
    const std::size_t end = found ? head + region->blockSize(head) : 0;
    if (!found && before) {
        before->to = g + 1;
        return *before;
    }
    Span& span = spans_[nextSpan_++ % std::size(spans_)];
    if (g < end) {
        span = {region, head, end, true};
    } else {
        span = {region, found ? end : least, g + 1, false};
    }
    return span;
}

// ---- A major collection beside the threads ------------------------------------------------------------------------

/** A minor collection has just marked: everything that can be reached is old and marked. */
void Collector::startMajor() {
    majorsBegun_.fetch_add(1, std::memory_order_seq_cst);
    heap_.unmarkOld();
    marker_.begin(Marking::concurrent);
    markRoots();
    marker_.end();
    tracing_ = true;
    passed_ = 0;
    heap_.setTracing(true);
}

/** Mark until a pause is wanted or nothing is left that may be marked while threads run. @return whether it is so. */
bool Collector::markBeside() {
    marker_.begin(Marking::concurrent);
    bool left = true;
    do {
        left = marker_.advance();
    } while (left && phase() == Phase::idle && !stop_.load(std::memory_order_relaxed));
    marker_.end();
    traced_ = !left && !marker_.plainWaits();
    if (left || traced_) {
        passed_ = 0;
    }
    return !left;
}

/** Mark beside the threads, then ask for a pause. @return false when there is nothing to do until the bell rings. */
bool Collector::advanceMajor(std::uint32_t heard) {
    if (!markBeside()) {
        return true;
    }
    if (!enabled_.load(std::memory_order_relaxed) && !isForced() && !mustBegin()) {
        return false;
    }
    if (traced_ || rest(heard)) {
        request(traced_ ? Wish::budget : Wish::slice);
    }
    return true;
}

/** Threads have the processor for a while between slices, if any is there to use it. @return false: look again. */
bool Collector::rest(std::uint32_t heard) {
    const std::uint64_t now = os::now();
    if (now >= restUntil_ || !rendezvous_.matters()) {
        return true;
    }
    os::wait(bell_, heard, restUntil_ - now);
    return false;
}

/** Threads are stopped: trace old plain blocks that wait, for a while. */
void Collector::slice(std::uint64_t until) {
    stats_.slices.fetch_add(1, std::memory_order_relaxed);
    passed_ = 0;
    MarkJob job;
    job.marking = Marking::slice;
    job.until = until;
    marker_.begin(Marking::slice);
    stats_.shared.fetch_add(helpers_.mark(job, marker_, false) > 1, std::memory_order_relaxed);
    marker_.end();
}

// ---- The barrier ---------------------------------------------------------------------------------------------------

void Collector::logWrite(Mutator& m, std::uintptr_t entry) {
    // While a collection sweeps, threads would have to wait for its end; the log can.
    if (log_.add(m.log, entry) && phase() == Phase::idle) {
        budgetSpent();
    }
}

} // namespace mpr::gc
