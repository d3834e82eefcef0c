// SPDX-License-Identifier: MIT
/*
    tracing.cpp - What a pause marks: roots, remembered blocks, plain blocks; and the major collection's work between
    pauses.
 */
#include "mpr/gc/tracing.hpp"

#include <algorithm>
#include <utility>

#include "mpr/gc/check.hpp"
#include "mpr/gc/remembered.hpp"

namespace mpr::gc {

using heap::Region;

namespace {
/** Nanoseconds: marking that took longer is shared the next time. A few times what it takes to wake a thread. */
constexpr std::uint64_t longPause = 100'000;
/**
    Nanoseconds: how long helpers mark beside running threads, and after what time they are called again. `gc_mpr
    hash_million` is the same with a tenth and ten times of the first.
 */
constexpr std::uint64_t longestParallel = 5'000'000;
constexpr std::uint64_t betweenParallel = 1'000'000;
} // namespace

bool Tracing::open(const heap::Options& options, std::size_t fixedHeap, unsigned processors, bool trial) {
    processors_ = processors;
    trial_ = trial;
    if (!marks_.open(heap_, options.marks, fixedHeap)) {
        return false;
    }
    if (fixedHeap == 0) {
        oldLines_.open();
    }
    helpers_.open(fixedHeap == 0 ? options.markers : 1, options.stack);
    return true;
}

void Tracing::leave(Mutator& m) {
    remembered_.leave(m.remembered);
    if (const HandleHooks* handles = roots_.handles()) {
        handles->leave(m);
    }
}

void Tracing::close() {
    helpers_.close();
    marks_.close();
    oldLines_.close();
    markedBlocks_.close();
}

// ---- In a pause ----------------------------------------------------------------------------------------------------

void Tracing::mark(Scope scope, Pacer::Cost cost) {
    cycle_.assertStopped();
    const std::uint64_t begin = os::now();
    if (scope == Scope::full) {
        cycle_.major().count();
        heap_.unmarkOld();
    }
    if (!cycle_.major().isTracing()) {
        marks_.choose(heap_.limits());
        helpers_.lend(marks_, marker_);
    }
    beginDoubts();
    const bool lost = remembered_.takeLost() && scope != Scope::full;
    // Old blocks that young ones reference are left for when threads run.
    const bool defers = cycle_.major().isTracing() && scope == Scope::minor && !lost && oldLines_ &&
                        marker_.mayDefer() && budget_.generations().mostlyBarrier();
    const HandleScan scan = scope == Scope::minor ? HandleScan::young : HandleScan::all;
    marker_.begin(scope == Scope::minor ? Marking::young : Marking::all, nullptr, defers);
    markRoots(scan);
    markWritten(scope, lost);
    markAll(scope, lost, defers, cost);
    marker_.drain();
    lookAgain(scope);
    if (const HandleHooks* handles = roots_.handles()) {
        handles->close(marker_, scan);
    }
    if (const EmbedHooks* embedder = roots_.embedder()) {
        doubts_.setRoots(scope == Scope::full); // elsewhere it may be told that a dead block is alive
        embedder->close(marker_, scan, roots_.handles());
        doubts_.setRoots(true);
    }
    marker_.end();
    settleDoubts(scope);
    const std::uint64_t took = os::now() - begin;
    isLong_[static_cast<unsigned>(scope)] = took > longPause;
    if (scope == Scope::minor) {
        budget_.pacer().observe(cost);
        cycle_.major().passBy();
    }
    if (scope != Scope::minor) {
        cycle_.major().end();
        heap_.setTracing(false);
    }
    if (!cycle_.major().isTracing()) {
        budget_.generations().marked(scope != Scope::minor, scope == Scope::full, marker_.takeReached(), took);
    }
    if (scope == Scope::minor && !cycle_.major().isTracing() &&
        (cycle_.major().mustBegin() || budget_.generations().hasGrown())) {
        startMajor();
    }
}

void Tracing::check() {
    cycle_.assertStopped();
    const heap::Totals totals = heap_.totals();
    const heap::Annex* annex = heap_.annex();
    Check check(heap_,
                static_cast<std::size_t>(totals.blocksAllocated - totals.blocksFreed) + (annex ? annex->blocks() : 0));
    marker_.beginCheck(check);
    markRoots(HandleScan::check);
    check.trace();
    const auto seen = [&](const Doubt& doubt) {
        return check.saw(doubt.owner.block()) ? Doubts::Verdict::right : Doubts::Verdict::open;
    };
    settleDoubts(seen);
    if (const HandleHooks* handles = roots_.handles()) {
        handles->see(marker_); // values, whose keys may be dead in a collection of the young
    }
    stats_.defects.fetch_add(check.trace(), std::memory_order_relaxed);
    marker_.end();
}

/** Whether an owner is the block that it was: what is not old was made since, in its place. */
bool Tracing::isSame(MarkEntry owner) const {
    Region* region = heap_.find(owner.block());
    const heap::Byte h = region ? region->headAt(owner.block()) : heap::Byte{0};
    return Region::isBlock(h) && (h & heap::head::old) && !heap::head::isLeaf(h);
}

/** Forget owners that are gone. */
void Tracing::beginDoubts() {
    doubts_.begin(cycle_.major().begun(), [this](MarkEntry owner) { return isSame(owner); });
}

/** See doubts.hpp. A full collection looks at everything by itself. */
void Tracing::lookAgain(Scope scope) {
    if (scope == Scope::minor) {
        return;
    }
    doubts_.takeOwners([&](MarkEntry owner) {
        if (scope == Scope::last && isSame(owner)) {
            Region* region = heap_.find(owner.block());
            const std::size_t g = region->granuleOf(owner.block());
            if (heap_.colours().marked(region->map().get(g))) {
                marker_.traceAgain(owner.block(), region->blockSize(g));
            }
        }
    });
}

/** What this pause has marked tells of owners that were unmarked before: of all in a full one, else of older doubts. */
void Tracing::settleDoubts(Scope scope) {
    marker_.countMisuses(scope == Scope::full ? doubts_.missed() : 0);
    settleDoubts([&, major = cycle_.major().begun()](const Doubt& doubt) {
        if (!doubt.owner) {
            return Doubts::Verdict::right;
        }
        if (scope == Scope::minor || (scope == Scope::last && doubt.major == major)) {
            return Doubts::Verdict::open;
        }
        Region* region = heap_.find(doubt.owner.block());
        const bool reached = heap_.colours().marked(region->headAt(doubt.owner.block()));
        return reached ? Doubts::Verdict::right : Doubts::Verdict::wrong;
    });
}

template <typename VerdictOn>
void Tracing::settleDoubts(VerdictOn&& verdictOn) {
    constexpr unsigned mostLines = 8; // threads are stopped, so there must be an end to it
    unsigned lines = 0;
    const auto say = [&](const Doubt& doubt) {
        marker_.countMisuses(1);
        if (++lines <= mostLines) {
            marker_.say(doubt.pointer, doubt.owner);
        }
    };
    doubts_.settle(verdictOn, say);
}

void Tracing::markRoots(HandleScan scan) {
    cycle_.assertStopped();
    roots_.forEach([this](const void* block) { marker_.markRoot(block); });
    if (const HandleHooks* handles = roots_.handles()) {
        handles->mark(marker_, scan);
    }
    if (const EmbedHooks* embedder = roots_.embedder()) {
        embedder->mark(marker_, scan);
    }
    const MutatorList::Locked list(mutators_);
    for (const Mutator& m : list) {
        marker_.markRoot(m.thread);
    }
}

/**
    Trace remembered old blocks again. They may reference young blocks or, in the last pause of a major collection, blocks
    that it has not reached. Full chunks are left to all markers if they share the set.
 */
void Tracing::markWritten(Scope scope, bool lost) {
    cycle_.assertStopped();
    Remembered remembered(heap_, marker_, scope == Scope::last);
    const auto read = [&](RememberedChunk* chunk) {
        if (!chunk) {
            return;
        }
        if (scope != Scope::full) {
            remembered.mark(*chunk);
        }
        chunk->clear();
    };
    {
        const MutatorList::Locked list(mutators_);
        for (const Mutator& m : list) {
            read(m.remembered);
        }
    }
    read(own_.remembered);
    for (RememberedChunk* chunk = sharesRemembered(scope, lost) ? nullptr : remembered_.full(); chunk;
         chunk = chunk->next) {
        read(chunk);
    }
}

/**
    Trace old plain blocks once more, or all old blocks with references when part of the set was lost; and everything
    that has been reached.
 */
void Tracing::markAll(Scope scope, bool lost, bool defers, Pacer::Cost& cost) {
    cycle_.assertStopped();
    const std::uint64_t begin = os::now();
    const std::uint64_t ran = spent();
    MarkJob job;
    job.first = heap_.firstRegion();
    job.retraces = scope != Scope::full;
    job.which = {.markedOnly = scope == Scope::last, .barrier = lost};
    if (scope == Scope::last) {
        marker_.forgetPlain();
        // The filter costs a look at each line of the map, as much as it saves for one plain block.
        const bool pays = budget_.generations().plain() > heap_.totals().overheadBytes / os::cacheLine;
        if (oldLines_ && pays && markedBlocks_.open() && markedBlocks_.fillMarked(heap_)) {
            job.filter = job.retracingFilter = &markedBlocks_;
        }
    } else if (scope == Scope::minor) {
        job.marking = job.retracing = Marking::young;
        const BlockFilter* old = nullptr;
        if (oldLines_ && !lost && oldLines_.fillOld(heap_)) {
            old = &oldLines_;
        }
        job.filter = cycle_.major().isTracing() && !defers ? nullptr : old;
        job.defers = defers;
        if (!lost) {
            // Old blocks are not reached from old plain ones, which may be dead.
            job.retracing = Marking::again;
            job.retracingFilter = old;
        }
        job.written = sharesRemembered(scope, lost) ? remembered_.full() : nullptr;
    }
    const bool isLong =
        isLong_[static_cast<unsigned>(scope)] || (scope == Scope::last && isLong_[static_cast<unsigned>(Scope::minor)]);
    // This marker works alone when it clears bits of heads that others would store back.
    cost.markers = helpers_.mark(job, marker_, !lost && (isLong || trial_) ? Helpers::most : 0);
    stats_.shared.fetch_add(cost.markers > 1, std::memory_order_relaxed);
    cost.always = job.retraced - job.read;
    cost.young = spent() - job.retraced;
    if (scope == Scope::minor) {
        budget_.generations().retraced(job.retracedAt - begin);
        if (job.written) {
            remembered_.pace((job.read - ran + cost.young) / cost.markers, budget_.pacer().longest());
        }
    }
    remembered_.recycle();
}

// ---- A major collection beside the threads ------------------------------------------------------------------------

/** Start a major collection. A minor one has just marked, so everything that can be reached is old and marked. */
void Tracing::startMajor() {
    cycle_.assertStopped();
    MPR_ASSERT(!cycle_.major().isTracing());
    cycle_.major().count();
    heap_.unmarkOld();
    // The sweep of the young is still to come.
    marker_.beginRoots();
    markRoots();
    cycle_.major().start(!marker_.endRoots());
    heap_.setTracing(true);
}

/**
    How many processors are free for helpers. One is spared for a thread that wakes up, which the system might otherwise
    let wait for milliseconds; it is not spared when somebody waits for the collection.
 */
unsigned Tracing::freeProcessors() const {
    const unsigned busy = cycle_.rendezvous().running() + (cycle_.major().isForced() ? 1 : 2);
    return trial_ ? Helpers::most : processors_ - std::min(processors_, busy);
}

/** Mark with helpers, if processors are free, as long as no pause is wanted. */
void Tracing::markInParallel(std::uint64_t until) {
    cycle_.assertOnDuty();
    const auto over = [](const void* self) {
        const auto* c = static_cast<const Tracing*>(self);
        return c->cycle_.phase() == Phase::requested || c->freeProcessors() == 0;
    };
    const std::uint64_t now = os::now();
    if (over(this) || (now < parallelAt_ && !trial_)) {
        return;
    }
    MarkJob job;
    job.marking = Marking::concurrent;
    job.until = {std::min(until, now + longestParallel), over, this};
    stats_.beside.fetch_add(helpers_.mark(job, marker_, freeProcessors()) > 1, std::memory_order_relaxed);
    parallelAt_ = os::now() + betweenParallel;
}

/** Mark the old that are barrier blocks, until a pause is wanted. @return Whether some are left. */
bool Tracing::markOld(std::uint64_t until) {
    cycle_.assertOnDuty();
    MPR_ASSERT(cycle_.major().isTracing());
    marker_.begin(Marking::concurrent);
    bool left = true;
    do {
        left = marker_.advance();
        if (left) {
            markInParallel(until);
        }
    } while (left && cycle_.phase() != Phase::requested && !cycle_.ends() &&
             (until == os::forever || os::now() < until));
    marker_.end();
    cycle_.major().advanced(left, marker_.plainWaits());
    return left;
}

bool Tracing::advance(std::uint64_t until) {
    const std::uint64_t begin = os::now();
    const bool left = markOld(until);
    cycle_.major().worked(os::now() - begin);
    return !left;
}

void Tracing::slice(std::uint64_t until) {
    cycle_.assertStopped();
    stats_.slices.fetch_add(1, std::memory_order_relaxed);
    const bool starved = cycle_.major().isStarved();
    bool rootsLeft = cycle_.major().takeRootsLeft();
    cycle_.major().sliced();
    do {
        if (rootsLeft || marker_.plainWaits()) {
            markPlain(std::exchange(rootsLeft, false), until);
        }
        if (starved && os::now() < until) {
            markOld(until); // beside the threads it gets no processor, or not enough
        }
    } while (starved && marker_.plainWaits() && os::now() < until);
}

/** Mark the old that are plain blocks, and the roots if those were left. */
void Tracing::markPlain(bool roots, std::uint64_t until) {
    cycle_.assertStopped();
    const std::uint64_t begin = os::now();
    MarkJob job;
    job.marking = Marking::slice;
    job.pause = cycle_.pauses().load(std::memory_order_relaxed);
    job.until.time = until;
    marker_.begin(Marking::slice);
    if (roots) {
        markRoots();
    }
    stats_.shared.fetch_add(helpers_.mark(job, marker_, Helpers::most) > 1, std::memory_order_relaxed);
    marker_.end();
    budget_.generations().sliced(os::now() - begin);
}

} // namespace mpr::gc
