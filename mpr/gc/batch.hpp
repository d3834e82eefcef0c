// SPDX-License-Identifier: MIT
/*
    batch.hpp - Batches: what publishes a block, and what happens at a yield.

    heap/batch.hpp says what a batch is. Here are the two things that need managers.

    *Publication.* A block becomes known to others in one of few ways, and each of them publishes it first:
      - the barrier's store of a private block into a block that is not private, or into no block (api_barrier.cpp);
      - a root, a hold, a linked root reference (api_collect.cpp), a leaf that is born held (api_memory.cpp);
      - the start of a thread (task/thread.cpp), and mprPublish, for what the runtime cannot see.
    With the block all is published that it references, by its own manager, to any depth. This is before the store:
    after it another thread might move a reference from the block to elsewhere, where this thread does not look. A
    block that gets another manager (mprSetManager) is looked at once more.
    The manager of a plain block may not run while threads do. So when one is published, the whole batch is kept.
    That is also how user code with plain blocks is known: what it makes is plain.

    *A yield* that discards takes back what is private, but first publishes blocks whose manager wants MPR_MANAGE_FREE:
    these are the collector's, with all that they reference. All is kept instead
      - when a plain block was published, or a word that only a manager can read was stored (mprSetWord);
      - when a block with references was born outside the batch (heap::Heap::isPrivate), or held: plain stores may fill it;
      - when there was no room to note what was published, or the context was a hole;
      - when a C++ object is under construction (mprBatchRange.building): it is rooted, and nothing publishes it;
      - at all yields that stop the thread. Safepoint::stop, which all of them go through, keeps the batch, and so does
        whatever closes contexts: no collection finds a batch.
    With option check what would be taken back is marked as discarded (heap::head::isDiscarded), and check.cpp names
    whoever reaches it.
 */
#pragma once

#include "mpr/barrier.h"
#include "mpr/gc/marker.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/stats.h"

namespace mpr::gc {

/** Publishes blocks of its thread, which has a batch. */
class Publisher {
public:
    explicit Publisher(heap::Heap& heap) : marker_(heap) { marker_.openPublishing(); }

    /** Publish a block and what it references. @param all At a yield: plain blocks are no reason to keep. */
    void publish(Mutator& m, const void* block, bool all = false);
    /** A published block has another manager. */
    void lookAgain(Mutator& m, const void* block);

    // Of all that are open; under a lock.
    const heap::Batch* batch = nullptr;
    Publisher* next = nullptr;

private:
    void trace(void* block);
    void traceFrom(Mutator& m, unsigned first, bool all);

    Marker marker_;
};

/** Whether a block may be private. */
inline bool mayBePrivate(const void* block) {
    return os::hasThreads && mprMayBePrivate(block);
}

/** Publish what may be a private block. */
void publishSlow(const void* block);
inline void publish(const void* block) {
    if (os::hasThreads && mayBePrivate(block)) [[unlikely]] {
        publishSlow(block);
    }
}

/** Publish what may be a private block before it is stored, unless the field, or block, that it is stored in is private, too. */
void publishInto(const void* field, const void* block);

/** Something that may stand for a private block is stored in an owner: unless that is private, too, all is kept. */
void keepBatchFor(const void* owner);

/** The calling thread yields, and has a batch or asks for one. */
void endBatch(Mutator& m, bool discards);
/** After a yield at which the thread stopped. */
void beginBatch(Mutator& m);
/** @return The setting before. */
bool setBatches(Mutator& m, bool on);
inline bool batchesAlways(const Mutator& m) {
    return m.local.batch && m.local.batch->always;
}
/** The thread leaves the heap. */
void closeBatch(Mutator& m);
/** See mpr/stats.h. */
void readBatchStats(MprBatchStats& stats);

} // namespace mpr::gc
