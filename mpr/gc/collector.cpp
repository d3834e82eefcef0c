/*
    collector.cpp - The collector's thread and its phases.
 */
#include "mpr/gc/collector.hpp"

#include <algorithm>
#include <bit>

#include "mpr/gc/manager.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::Region;
namespace swar = heap::swar;

namespace {
/** Free memory is given back when it has not been needed for so long. */
constexpr std::uint64_t decayTime = 1'000'000'000;
} // namespace

bool Collector::open(const heap::Options& options, std::size_t fixedHeap) {
    pacer_.open(options, os::privateCache(), fixedHeap);
    if (fixedHeap > 0) {
        pacer_.setCache(0);
    }
    generations_.open(fixedHeap == 0, pacer_.young(), options.growth, options.pauseBudget);
    pauseBudget_ = options.pauseBudget;
    deadline_ = options.deadline;
    checks_ = options.check;
    everyYield_ = options.everyYield == heap::Options::on;
    trial_ = everyYield_ || options.everyAlloc > 0;
    heap_.setStepping(options.everyAlloc);
    rendezvous_.setAlways(everyYield_);
    generations_.setTrial(trial_);
    if (!marks_.open(heap_, options.marks, fixedHeap)) {
        return false;
    }
    if (fixedHeap == 0) {
        young_.open();
    }
    helpers_.open(fixedHeap == 0 ? options.markers : 1, options.stack);
    own_.isCollector = true;
    heap_.attach(own_.local);
    repace();
    return os::startThread(
        thread_, "mpr-collector", [](void* self) { static_cast<Collector*>(self)->run(); }, this, options.stack, true);
}

void Collector::close() {
    stop_.store(true, std::memory_order_release);
    ring();
    os::joinThread(thread_);
    helpers_.close();
    marks_.close();
    young_.close();
    rendezvous_.setAlways(false); // without a runtime nobody need yield
}

void Collector::ring() {
    bell_.fetch_add(1, std::memory_order_release);
    os::wakeOne(bell_);
}

void Collector::run() {
    current = &own_;
    for (;;) {
        // Before the look at stop_ and all others, so that a wait that comes after them returns.
        const std::uint32_t heard = bell_.load(std::memory_order_acquire);
        if (stop_.load(std::memory_order_acquire)) {
            break;
        }
        if (phase() == Phase::requested) {
            if (isStarved()) {
                markBeside();
            }
            cycle();
            continue;
        }
        if (tracing_ && !traced_ && advanceMajor(heard)) {
            continue;
        }
        if (purge_.exchange(false, std::memory_order_acq_rel)) {
            heap_.purge(heap_.freeBytes());
        }
        const bool decays = heap_.freeBytes() > pacer_.cache() + pacer_.cache() / 4;
        if (!os::wait(bell_, heard, decays ? decayTime : os::forever) && phase() == Phase::idle) {
            heap_.purge(pacer_.cache());
        }
    }
    current = nullptr;
}

/** Phases are published so that a thread that saw the old one and then slept on progress_ wakes up. */
void Collector::moveTo(Phase phase) {
    phase_.store(static_cast<std::uint32_t>(phase), std::memory_order_seq_cst);
    progress_.fetch_add(1, std::memory_order_release);
    os::wakeAll(progress_);
}

void Collector::request(Wish wish) {
    for (Wish before = wish_.load(std::memory_order_seq_cst);
         before < wish && !wish_.compare_exchange_weak(before, wish, std::memory_order_seq_cst);) {}
    while (!stop_.load(std::memory_order_acquire)) {
        if (phase() == Phase::idle) {
            requestedAt_.store(os::now(), std::memory_order_relaxed);
        }
        auto seen = static_cast<std::uint32_t>(Phase::idle);
        if (phase_.compare_exchange_strong(seen, static_cast<std::uint32_t>(Phase::requested),
                                           std::memory_order_seq_cst)) {
            // From here threads stop at their next yield, even before the collector has been scheduled.
            rendezvous_.setWanted(true);
            ring();
            return;
        }
        if (static_cast<Phase>(seen) == Phase::requested) {
            rendezvous_.setWanted(true); // whoever has just requested it may not have come to this
            return;
        }
        // Remembered; but if the collection ended just now, nobody would look at it.
        pending_.store(true, std::memory_order_seq_cst);
        rendezvous_.setWanted(true);
        if (phase_.load(std::memory_order_seq_cst) != static_cast<std::uint32_t>(Phase::idle)) {
            return;
        }
    }
}

void Collector::budgetSpent() {
    if (enabled_.load(std::memory_order_relaxed)) {
        request(Wish::budget);
    }
}

void Collector::idle() {
    if (enabled_.load(std::memory_order_relaxed) && phase() == Phase::idle && halfSpent()) {
        stats_.idle.fetch_add(1, std::memory_order_relaxed);
        request(Wish::budget);
    }
}

void Collector::freedLarge() {
    if (heap_.retiredBytes() > pacer_.cache()) {
        purge_.store(true, std::memory_order_release);
        ring();
    }
}

bool Collector::enable(bool on) {
    const bool was = enabled_.exchange(on, std::memory_order_acq_rel);
    heap_.setNurseries(on);
    if (on && !was) {
        repace();
        ring(); // a major collection may be half done
    }
    return was;
}

// ---- A collection -----------------------------------------------------------------------------------------------

void Collector::cycle() {
    awaitThreads();
    moveTo(Phase::marking);
    const std::uint64_t stopped = os::now();
    stats_.rendezvous.record(stopped - std::min(stopped, requestedAt_.load(std::memory_order_relaxed)));
    const Wish wish = wish_.exchange(Wish::slice, std::memory_order_seq_cst);
    if (wish >= Wish::full) {
        // What one that is half done has reached may have died since: it will not do.
        forcedMajor_.store(majorsBegun_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        urgent_ = urgent_ || wish == Wish::urgent;
    }
    const Scope scope = decide(wish);
    if (scope == Scope::slice) {
        slice(stopped + pauseBudget_ * 3 / 4);
        reopen(Phase::idle, stopped);
        if (wish == Wish::minor || wish == Wish::budget) {
            request(wish); // it has let the slice pass
        }
    } else {
        unneeded_ = std::min(unneeded_, heap_.freeBytes());
        const Pacer::Cost cost{heap_.allocatedSince(), stopped - std::min(stopped, minorAt_), 0, 0, 1};
        heap_.beginMarking();
        // Meanwhile as much again may be allocated as last time, or half of what a long sweep goes over; past that,
        // threads wait for the sweep.
        heap_.setTrigger(pacer_.slack(trigger(), usage()));
        mark(scope, cost);
        heap_.beginSweep(scope == Scope::minor ? heap::Sweep::young : heap::Sweep::all);
        if (roots_.incomplete()) [[unlikely]] {
            heap_.retainDead();
        }
        marked_.fetch_add(1, std::memory_order_release);
        if (scope != Scope::minor) {
            majorsMarked_.store(majorsBegun_.load(std::memory_order_relaxed), std::memory_order_release);
        }
        reopen(Phase::freeing, stopped);
        minorAt_ = os::now();
        reclaim(scope);
    }
    if (pending_.exchange(false, std::memory_order_seq_cst) || (mustBegin() && !tracing_)) {
        request(urgent_ ? Wish::urgent : Wish::slice);
    }
}

/** Marking has ended, or is to be interrupted: threads may go on. */
void Collector::reopen(Phase phase, std::uint64_t stopped) {
    // A request that comes while this collection frees and sweeps will set it again.
    rendezvous_.setWanted(pending_.load(std::memory_order_seq_cst));
    pauses_.fetch_add(1, std::memory_order_release);
    moveTo(phase);
    const std::uint64_t opened = os::now();
    rendezvous_.open();
    stats_.mark.record(opened - stopped);
    restUntil_ = trial_ ? 0 : opened + 2 * std::min(opened - stopped, pauseBudget_);
}

/** Threads run again: free what was found dead. */
void Collector::reclaim(Scope scope) {
    const std::uint64_t begin = os::now();
    callFree(false);
    moveTo(Phase::sweeping);
    const std::size_t freed = sweep(scope);
    heap_.endSweep();
    freedBlocks_.fetch_add(freed, std::memory_order_relaxed);
    settle(scope, scope != Scope::minor && isForced());
    stats_.sweep.record(os::now() - begin);
    (scope == Scope::minor ? stats_.minors : stats_.majors).fetch_add(1, std::memory_order_relaxed);
    swept_.fetch_add(1, std::memory_order_release);
    if (scope != Scope::minor) {
        urgent_ = urgent_ && mustBegin();
        majorsSwept_.store(majorsBegun_.load(std::memory_order_relaxed), std::memory_order_release);
    }
    moveTo(Phase::idle);
}

void Collector::awaitThreads() {
    rendezvous_.close();
    rendezvous_.setWanted(true);
    ++rendezvousNumber_;
    std::uint64_t patience = deadline_;
    while (!rendezvous_.awaitStopped(patience)) {
        nameLate(os::now() - requestedAt_.load(std::memory_order_relaxed));
        patience *= 2; // the message comes again, ever more rarely
    }
}

void Collector::nameLate(std::uint64_t waited) {
    os::Locked locked(threadsLock_);
    for (Mutator* m = mutators_; m; m = m->next) {
        if (m->state.load(std::memory_order_relaxed) != Mutator::State::running) {
            continue;
        }
        if (m->lateFor.exchange(rendezvousNumber_, std::memory_order_relaxed) != rendezvousNumber_) {
            stats_.late.fetch_add(1, std::memory_order_relaxed);
        }
        os::Message message;
        message << "thread \"" << std::string_view(m->name) << "\" keeps a collection waiting: no yield for "
                << waited / 1'000'000 << " ms; last yield ";
        if (const void* site = m->site.load(std::memory_order_relaxed)) {
            message << "at " << site << " ";
            message.code(site);
        } else {
            message << "never";
        }
        os::log(os::Level::warning, message);
    }
}

void Collector::callFree(bool everything) {
    for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
        for (std::uint64_t chunks = region->scanForFree; chunks != 0; chunks &= chunks - 1) {
            callFreeIn(region, static_cast<unsigned>(std::countr_zero(chunks)), everything);
        }
    }
}

/** Call the managers of dead blocks in a chunk. Reads the map without the lock: what is dead does not change. */
void Collector::callFreeIn(Region* region, unsigned chunk, bool everything) {
    swar::Word survivors = 0;
    const auto doomed = [&](std::size_t, swar::Word word) {
        const swar::Word wanting = swar::wantFree(word);
        const swar::Word dead = everything ? wanting : wanting & heap_.dead(word) & ~swar::held(word);
        survivors |= wanting ^ dead;
        return dead;
    };
    region->forEach(chunk, doomed, [&](std::size_t g) {
        Byte* block = region->address(g);
        if (const MprManager manager = managerOf(block, region->blockSize(g))) {
            manager(block, MPR_MANAGE_FREE);
            stats_.managersFreed.fetch_add(1, std::memory_order_relaxed);
            freeCalls_.fetch_add(1, std::memory_order_relaxed);
        }
    });
    if (survivors != 0) {
        region->noteWantsFree(std::size_t{chunk} << region->chunkShift);
    }
}

std::size_t Collector::sweep(Scope scope) {
    heap::Heap::Swept swept;
    // What costs nothing first: threads wait for it.
    for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
        heap_.releaseDeadNurseries(region, swept);
    }
    for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
        heap_.releaseKeptNurseries(region, swept);
    }
    while (heap_.reclaimNursery(false)) {}
    for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
        if (region->isLarge()) {
            heap_.sweepLarge(region, swept);
            continue;
        }
        for (std::size_t i = 0; i < region->lineWords(); ++i) {
            if (scope == Scope::minor) {
                heap_.sweepYoungLines(region, i, swept);
            }
            region->sweepYoung.clear(i);
        }
        for (std::size_t g = region->firstGranule; scope != Scope::minor && g < region->endGranule;) {
            g = heap_.sweepSlice(region, g, swept);
        }
    }
    return swept.blocks;
}

/**
    Set the next budget and give memory back. What was free when each collection of the last second began was not needed
    in that second; a heap that breathes keeps what it breathes with.
 */
void Collector::settle(Scope scope, bool forced) {
    if (scope != Scope::minor) {
        marks_.trim();
    }
    const Pacer::Usage used = usage();
    generations_.swept(scope != Scope::minor, used.live, pacer_.tight(used));
    repaceFor(used);
    const std::uint64_t time = os::now();
    if (forced) {
        heap_.purge(pacer_.cache());
    } else if (time - purgedAt_ < decayTime) {
        return;
    } else if (const std::size_t free = heap_.freeBytes(); unneeded_ > pacer_.cache() && free > unneeded_) {
        heap_.purge(free - unneeded_ + pacer_.cache());
    } else if (heap_.retiredBytes() > pacer_.cache()) {
        heap_.purge(free);
    }
    purgedAt_ = time;
    unneeded_ = ~std::size_t{0};
}

/** What the heap holds, as far as is known: of blocks those that were there at the last rendezvous. */
Pacer::Usage Collector::usage() {
    const heap::Totals totals = heap_.totals();
    const auto live = static_cast<std::size_t>((totals.granulesAllocated - totals.granulesFreed) << heap::granuleShift);
    const std::size_t since = heap_.allocatedSince();
    return {live > since ? live - since : 0, totals.overheadBytes, heap_.limits()};
}

void Collector::repace() {
    repaceFor(usage());
}

void Collector::repaceFor(const Pacer::Usage& used) {
    stats_.marked.store(used.live, std::memory_order_relaxed);
    const std::size_t trigger = pacer_.trigger(used, generations_.worthwhile());
    trigger_.store(trigger, std::memory_order_relaxed);
    heap_.setTrigger(trigger);
}

void CollectorStats::report(MprMemStats& s) const {
    s.bytesMarked = marked.load(std::memory_order_relaxed);
    s.collectionsMinor = minors.load(std::memory_order_relaxed);
    s.collectionsMajor = majors.load(std::memory_order_relaxed);
    s.collections = s.collectionsMinor + s.collectionsMajor;
    s.collectionsIdle = idle.load(std::memory_order_relaxed);
    s.marksShared = shared.load(std::memory_order_relaxed);
    s.marksSliced = slices.load(std::memory_order_relaxed);
    s.checkDefects = defects.load(std::memory_order_relaxed);
    s.managersFreed = managersFreed.load(std::memory_order_relaxed);
    s.late = late.load(std::memory_order_relaxed);
    s.pause = pause.summary();
    s.stall = stall.summary();
    s.rendezvous = rendezvous.summary();
    s.mark = mark.summary();
    s.sweep = sweep.summary();
}

void Collector::freeEverything() {
    // Nothing is marked, so everything is dead, held or not.
    heap_.detach(own_.local);
    heap_.beginMarking();
    heap_.beginSweep(heap::Sweep::all);
    callFree(true);
}

} // namespace mpr::gc
