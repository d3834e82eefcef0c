/*
    pause.cpp - What a pause marks: roots, what was written, plain blocks; and the major collection's work between pauses.
 */
#include <algorithm>
#include <bit>

#include "mpr/gc/check.hpp"
#include "mpr/gc/collector.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::GranuleMap;
using heap::Region;
namespace head = heap::head;
namespace swar = heap::swar;

Scope Collector::decide(Wish wish) const {
    if (tracing_) {
        return traced_ || wish == Wish::full || generations_.overdue() ? Scope::last : Scope::minor;
    }
    if (wish == Wish::minor) {
        return Scope::minor;
    }
    if (wish == Wish::full || !generations_.worthwhile() || (generations_.majorDue() && !generations_.concurrently())) {
        return Scope::full;
    }
    return Scope::minor;
}

void Collector::mark(Scope scope) {
    const std::uint64_t begin = os::now();
    if (scope == Scope::full) {
        heap_.unmarkOld();
    }
    if (!tracing_) {
        marks_.lend(marker_, heap_.limits());
    }
    marker_.begin(scope == Scope::minor ? Marking::young : Marking::all);
    markRoots();
    markWritten(scope);
    marker_.drain();
    marker_.end();
    const std::uint64_t took = os::now() - begin;
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
    if (scope == Scope::minor && !tracing_ && generations_.majorDue() && generations_.concurrently()) {
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

/** Old blocks that may reference young ones, or, in the last pause of a major collection, blocks that it has not reached. */
void Collector::markWritten(Scope scope) {
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
    lastOwner_ = {};
    const bool lost = log_.takeLost();
    if (scope != Scope::full) {
        markOld(scope == Scope::last, lost);
    }
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
    const GranuleMap map = region->map();
    if (lastOwner_.region != region || g < lastOwner_.from || g >= lastOwner_.to) {
        const std::size_t from =
            region->isLarge() ? std::size_t{region->firstGranule} : map.headBefore(g, region->firstGranule);
        if ((map.get(from) & head::inUse) == 0 || g >= from + region->blockSize(from)) {
            return 0;
        }
        lastOwner_ = {region, from, from + region->blockSize(from)};
    }
    return map.get(lastOwner_.from);
}

/** Trace old plain blocks, or, when part of the log was lost, all old blocks that reference anything. */
void Collector::markOld(bool markedOnly, bool all) {
    for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
        std::uint64_t chunks =
            all ? ~std::uint64_t{0} >> (Region::chunks - region->chunkCount()) : region->wantsFree.get();
        for (; chunks != 0; chunks &= chunks - 1) {
            markOldIn(region, static_cast<unsigned>(std::countr_zero(chunks)), markedOnly, all);
        }
    }
}

void Collector::markOldIn(Region* region, unsigned chunk, bool markedOnly, bool all) {
    const heap::Colours colours = heap_.colours();
    region->forWords(chunk, [&](std::size_t at, swar::Word word) {
        swar::Word found = swar::old(word) & (all ? ~swar::leaf(word) : swar::plain(word));
        found &= markedOnly ? ~swar::unmarked(word, colours) : ~swar::Word{0};
        for (; found != 0; found &= found - 1) {
            marker_.retrace(region, at + swar::first(found));
        }
    });
    marker_.drain();
}

// ---- A major collection beside the threads ------------------------------------------------------------------------

/** A minor collection has just marked: everything that can be reached is old and marked. */
void Collector::startMajor() {
    heap_.unmarkOld();
    marker_.begin(Marking::concurrent);
    markRoots();
    marker_.end();
    tracing_ = true;
    heap_.setTracing(true);
}

/** Mark until a pause is wanted or nothing is left. */
void Collector::advanceMajor() {
    marker_.begin(Marking::concurrent);
    bool left = true;
    while (left && phase() == Phase::idle && !stop_.load(std::memory_order_relaxed)) {
        left = marker_.advance();
    }
    marker_.end();
    if (!left) {
        traced_ = true;
        if (enabled_.load(std::memory_order_relaxed)) {
            request(Wish::budget);
        }
    }
}

// ---- The barrier ---------------------------------------------------------------------------------------------------

void Collector::logWrite(Mutator& m, std::uintptr_t entry) {
    // While a collection sweeps, threads would have to wait for its end; the log can.
    if (log_.add(m.log, entry) && phase() == Phase::idle) {
        budgetSpent();
    }
}

} // namespace mpr::gc
