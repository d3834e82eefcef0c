// SPDX-License-Identifier: MIT
/*
    batch.cpp - Batches: publication, with what is referenced; and yields.
 */
#include "mpr/gc/batch.hpp"

#include <new>
#include <utility>

#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/stats.h"

#ifdef MPR_HAS_BATCHES
__thread MprBatchRange mprBatchRange;
#endif

namespace mpr::gc {

using heap::Batch;
using heap::Byte;
using heap::Kept;
using heap::Region;
namespace head = heap::head;

namespace {
/** Threads with batches, and what follows: while there are any, each store asks for the range. */
class Asking {
public:
    void add(Publisher& publisher, const Batch& batch) {
        os::Locked locked(lock_);
        publisher.batch = &batch;
        publisher.next = first_;
        first_ = &publisher;
        __atomic_store_n(&mprBarrierMask, static_cast<unsigned char>(0), __ATOMIC_RELAXED);
    }
    void remove(Publisher& publisher) {
        os::Locked locked(lock_);
        count(*publisher.batch, ended_);
        Publisher** at = &first_;
        while (*at != &publisher) {
            at = &(*at)->next;
        }
        *at = publisher.next;
        if (!first_) {
            __atomic_store_n(&mprBarrierMask, static_cast<unsigned char>(MPR_BARRIER_DONE), __ATOMIC_RELAXED);
        }
    }
    void read(MprBatchStats& stats) {
        os::Locked locked(lock_);
        stats = ended_;
        for (const Publisher* publisher = first_; publisher; publisher = publisher->next) {
            count(*publisher->batch, stats);
        }
    }

private:
    static void count(const Batch& batch, MprBatchStats& stats) {
        const auto of = [](const os::Counter& counter) { return counter.load(std::memory_order_relaxed); };
        const Batch::Counts& counts = batch.counts;
        stats.takenBack += of(counts.takenBack);
        stats.blocks += of(counts.blocks);
        stats.bytes += of(counts.bytes);
        stats.published += of(counts.published);
        stats.keptYield += of(counts.kept[static_cast<unsigned>(Kept::yield)]);
        stats.keptPlain += of(counts.kept[static_cast<unsigned>(Kept::plain)]);
        stats.keptOutside += of(counts.kept[static_cast<unsigned>(Kept::outside)]);
        stats.keptFull += of(counts.kept[static_cast<unsigned>(Kept::full)]);
        stats.keptHole += of(counts.kept[static_cast<unsigned>(Kept::hole)]);
    }

    os::Lock lock_;
    Publisher* first_ = nullptr;
    MprBatchStats ended_{}; // of threads without a batch any more, in any runtime
};
constinit Asking asking;

bool open(Mutator& m, bool always) {
#ifdef MPR_HAS_BATCHES
    heap::Heap& heap = runtime().heap;
    heap::Shortage shortage = heap::Shortage::none;
    void* memory = heap.allocateShared(heap::granulesFor(sizeof(Publisher)), head::held, true, shortage);
    if (!memory) {
        return false;
    }
    if (!heap.openBatch(m.local, mprBatchRange, always)) {
        heap.freeShared(heap.find(memory), memory);
        return false;
    }
    m.publisher = new (memory) Publisher(heap);
    asking.add(*m.publisher, *m.local.batch);
    return true;
#else
    static_cast<void>(m);
    static_cast<void>(always);
    return false;
#endif
}
} // namespace

void closeBatch(Mutator& m) {
    if (m.local.batch) {
        heap::Heap& heap = runtime().heap;
        Publisher* publisher = std::exchange(m.publisher, nullptr);
        asking.remove(*publisher);
        heap.closeBatch(m.local);
        publisher->~Publisher();
        heap.freeShared(heap.find(publisher), publisher);
    }
}

bool setBatches(Mutator& m, bool on) {
    if (m.isCollector) {
        return false; // its yields do nothing
    }
    const bool was = batchesAlways(m);
    if (on != was || (!on && m.local.batch)) {
        closeBatch(m);
        if (on) {
            open(m, true);
        }
    }
    return was;
}

void readBatchStats(MprBatchStats& stats) {
    asking.read(stats);
}

// ---- Publication ---------------------------------------------------------------------------------------------------

/** Call the manager of a block, which publishes what it marks. */
void Publisher::trace(void* block) {
    Region* region = runtime().heap.find(block);
    if (const MprManager manager = managerOf(block, region->blockSize(region->granuleOf(block)))) {
        Mutator* const before = std::exchange(current, nullptr); // so that whatever the manager calls is refused
        Marker* const marker = Marker::exchangeActive(&marker_);
        manager(block, MPR_MANAGE_MARK);
        Marker::exchangeActive(marker);
        current = before;
    }
}

/** Trace what has been published, except for the first ones. */
void Publisher::traceFrom(Mutator& m, unsigned first, bool all) {
    Batch& b = *m.local.batch;
    for (unsigned i = first; i < b.published && !b.isKept(); ++i) {
        Byte* block = b.publications[i].begin;
        Region* region = runtime().heap.find(block);
        const Byte h = region->map().get(region->granuleOf(block));
        if (!(h & head::inUse) || head::isLeaf(h)) {
            continue;
        }
        if (head::isPlain(h) && !all) {
            b.keep(Kept::plain);
            return;
        }
        trace(block);
    }
}

void Publisher::publish(Mutator& m, const void* block, bool all) {
    const unsigned first = m.local.batch->published;
    if (runtime().heap.publish(m.local, block)) {
        traceFrom(m, first, all);
    }
}

void Publisher::lookAgain(Mutator& m, const void* block) {
    Batch& b = *m.local.batch;
    Region* region = runtime().heap.find(block);
    const Byte h = region->headAt(block);
    if (b.isKept() || head::isPlain(h) || runtime().heap.isPrivate(m.local, block)) {
        return; // a plain one that was published has kept the batch
    }
    const unsigned first = b.published;
    trace(const_cast<void*>(block));
    traceFrom(m, first, false);
}

void publishSlow(const void* block) {
    Mutator* m = attached;
    if (m && m->local.batch && !Marker::active()) {
        m->publisher->publish(*m, block);
    }
}

void publishInto(const void* field, const void* block) {
    if (attached && !runtime().heap.isInPrivate(attached->local, field)) { // not in a child of fork
        publishSlow(block);
    }
}

void keepBatchFor(const void* owner) {
    const Mutator* m = attached;
    if (m && m->local.batch && !runtime().heap.isInPrivate(m->local, owner)) {
        m->local.batch->keep(Kept::plain);
    }
}

/** A manager that runs for a publication has named a reference. */
bool Marker::publishReference(Watch&, Byte, const void* block) {
    runtime().heap.publish(attached->local, block);
    return true;
}

// ---- Yields --------------------------------------------------------------------------------------------------------

void endBatch(Mutator& m, bool discards) {
    heap::Heap& heap = runtime().heap;
    if (!m.local.batch) {
        open(m, false);
        return;
    }
    Batch& b = *m.local.batch;
    discards = discards && !mprIsBuilding(); // what is under construction is a root without having been published
    if (discards && !b.isKept()) {
        heap.forEachToFree(m.local, [&](const void* block) { m.publisher->publish(m, block, true); });
    }
    if (!discards || b.isKept()) {
        b.counts.kept[static_cast<unsigned>(b.isKept() ? b.kept() : Kept::yield)].fetch_add(1,
                                                                                            std::memory_order_relaxed);
        return heap.beginBatch(m.local);
    }
    runtime().collector.checks() ? heap.discard(m.local) : heap.takeBack(m.local);
}

void beginBatch(Mutator& m) {
    // After a sticky yield the contexts are the collector's.
    if (current == &m && m.local.batch && m.local.batch->isKept()) {
        runtime().heap.beginBatch(m.local);
    }
}

} // namespace mpr::gc

void mprPublishSlow(const void* ptr) {
    mpr::gc::publishSlow(ptr);
}
