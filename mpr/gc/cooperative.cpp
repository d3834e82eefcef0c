// SPDX-License-Identifier: MIT
/*
    cooperative.cpp - A collection from beginning to end, on the thread that yields.
 */
#include "mpr/gc/cooperative.hpp"

#include <cstring>
#include <new>

#include "mpr/gc/manager.hpp"

namespace mpr::gc {

using heap::Region;
namespace swar = heap::swar;

constinit MPR_PER_THREAD Mutator* current = nullptr;
constinit MPR_PER_THREAD Mutator* attached = nullptr;

bool CooperativeCollector::open(const heap::Options& options, std::size_t fixedHeap) {
    pacer_.open(options, 0, fixedHeap);
    everyYield_ = mprYieldWanted = options.everyYield;
    const bool opened = marks_.open(heap_, options.marks, fixedHeap);
    repace();
    return opened;
}

// ---- The thread -------------------------------------------------------------------------------------------------

Mutator* CooperativeCollector::prepare(const char* name, bool, void*, heap::Shortage& shortage) {
    void* memory = heap_.allocateShared(heap::granulesFor(sizeof(Mutator)), heap::head::held, true, shortage);
    if (memory) {
        thread_ = new (memory) Mutator;
        std::strncpy(thread_->name, name ? name : "", sizeof(thread_->name) - 1);
    }
    return static_cast<Mutator*>(memory);
}

void CooperativeCollector::attach(Mutator* m) {
    heap_.attach(m->local);
    resume(*m);
}

void CooperativeCollector::detach(Mutator* m) {
    heap_.freeShared(heap_.find(m), m);
    thread_ = nullptr;
}

void CooperativeCollector::yield(Mutator& m, int flags, const void* site) {
    m.site.store(site);
    if (m.isCollector || m.state.load() != Mutator::State::running) {
        return;
    }
    collectHere(m);
    if (flags & MPR_YIELD_STICKY) {
        m.state.store(Mutator::State::yielded);
    }
}

bool CooperativeCollector::setExempt(Mutator& m, bool exempt) {
    const bool was = m.state.load() == Mutator::State::exempt;
    if (exempt != was) {
        m.state.store(exempt ? Mutator::State::exempt : Mutator::State::running);
    }
    return was;
}

// ---- Collections ------------------------------------------------------------------------------------------------

void CooperativeCollector::budgetSpent() {
    if (enabled_) {
        request(Wish::budget);
    }
}

bool CooperativeCollector::enable(bool on) {
    const bool was = enabled_;
    enabled_ = on;
    if (on && !was) {
        repace();
    }
    return was;
}

int CooperativeCollector::collect(Mutator& m, Wish wish, bool complete, const void*) {
    request(wish);
    const std::size_t freed = collectHere(m);
    return complete ? static_cast<int>(freed) : 0;
}

/**
    Run the collection that is wanted, if any; not while a manager is called, by a collection or by mprFree, whose caller
    may use blocks that nothing keeps. @return Blocks freed.
 */
std::size_t CooperativeCollector::collectHere(Mutator& m) {
    if (!wanted() || m.isCollector || m.beingFreed.any() || stopped_) {
        return 0;
    }
    const std::uint64_t begin = os::now();
    m.isCollector = true;
    const std::size_t freed = cycle();
    m.isCollector = false;
    stats_.pause.record(os::now() - begin);
    return freed;
}

std::size_t CooperativeCollector::cycle() {
    mprYieldWanted = everyYield_; // what managers ask for from here on is the next one
    heap_.beginMarking();
    mark();
    heap_.beginSweep(heap::Sweep::all);
    if (roots_.incomplete()) {
        heap_.retainDead();
    }
    callFree(false);
    Region* region = heap_.firstRegion();
    heap::Heap::Swept swept;
    heap_.sweepSlice(region, region->firstGranule, swept);
    heap_.endSweep();
    roots_.provide(heap_);
    ++stats_.collections;
    repace();
    return swept.blocks;
}

void CooperativeCollector::mark() {
    marks_.lend(marker_, 0, 1);
    marker_.begin(Marking::all);
    roots_.forEach([this](const void* block) { marker_.markRoot(block); });
    marker_.drain();
    if (const HandleHooks* handles = roots_.handles()) {
        handles->close(marker_, HandleScan::all);
    }
    marker_.end();
}

/** Call the managers of dead blocks, or of all. */
void CooperativeCollector::callFree(bool everything) {
    Region* region = heap_.firstRegion();
    const auto doomed = [everything, dead = heap::Heap::DeadHeads(heap_)](std::size_t, swar::Word word) {
        const swar::Word wanting = swar::wantFree(word);
        return everything ? wanting : wanting & dead(word) & ~swar::held(word);
    };
    region->forEach(0, doomed, [&](std::size_t g) {
        void* block = region->address(g);
        if (const heap::Byte h = region->headAt(block); !Region::isBlock(h) || !heap::head::wantsFree(h)) {
            return; // a manager that was called before has resized it
        }
        if (const MprManager manager = managerOf(block, region->blockSize(g))) {
            manager(block, MPR_MANAGE_FREE);
            ++stats_.managersFreed;
        }
    });
}

void CooperativeCollector::repace() {
    const heap::Totals totals = heap_.totals();
    const Pacer::Usage used{(totals.granulesInUse() << heap::granuleShift) - heap_.allocatedSince(),
                            totals.overheadBytes, heap_.limits()};
    stats_.marked = used.live;
    trigger_ = pacer_.trigger(used, false);
    heap_.setTrigger(trigger_);
}

void CooperativeCollector::freeEverything() {
    // Nothing is marked, so everything is dead, held or not.
    heap_.beginMarking();
    heap_.endLives();
    heap_.beginSweep(heap::Sweep::all);
    if (const HandleHooks* handles = roots_.handles()) {
        handles->clear(HandleScan::end);
    }
    callFree(true);
    if (const HandleHooks* handles = roots_.handles()) { // which a manager may have made
        handles->end();
    }
}

void CooperativeCollector::Stats::report(MprMemStats& s) const {
    s.bytesMarked = marked;
    s.collections = s.collectionsMajor = collections;
    s.managersFreed = managersFreed;
    s.pause = pause.summary();
}

} // namespace mpr::gc
