/* SPDX-License-Identifier: MIT */
/*
    mpr/embed.h - Hooks of a program that embeds the runtime: an interpreter, a virtual machine.

    Such a program knows things that managers and roots cannot say: roots on stacks of its own, tables that are weak in its
    own way, finalizers that bring objects back, memory that is changed behind the barrier. It sets one table of
    callbacks. In each pause, on the thread that does it, they are called in this order, those that are not NULL:

      stop     all attached threads have stopped. The program stops its own, those that are not attached and touch
               managed memory nevertheless. From its return until resume none of them does. There is no pause without this.
      roots    it marks its roots (mprMark). Sometimes twice in a pause, and again for option check=1.
      marked   everything that can be reached is marked. It may ask (mprIsMarked) and mark more: blocks that are to be
               finalized, values of its own weak tables. What it marks is traced, and it is called again, until a call
               marks nothing new. Values of dependent handles (mpr/handle.h) follow.
      clear    it is decided what is dead; nothing was called or swept yet. It drops what it references weakly, and mprIsMarked
               denies. Weak handles have been cleared.
      resume   its threads may go on.

    A pause that is a slice of a major collection (MprMemStats.marksSliced) has stop and resume only.

    In callbacks the rules of MPR_MANAGE_MARK hold: all threads are stopped, and the callback calls nothing but mprMark,
    mprMarkRef, mprMarkRefs, mprIsMarked, mprBlockOf, mprBlocksIn, mprGetHandle, and in stop mprNoteChanged and
    mprNameBlocks. It must not wait for what an attached thread holds. Their time is part of the pause.

    A program whose blocks say themselves what they reference has one manager for all of them, its one mark callback, and
    with pieces need not store it: mprNameBlocks does.

    Without threads, on a board, every collection is a full one, in a yield, and stop is the place to hold interrupts off.
    There are neither pieces nor mprNoteChanged there, since there is no barrier.
 */
#ifndef MPR_EMBED_H
#define MPR_EMBED_H

#include "mpr/barrier.h"
#include "mpr/collect.h"
#include "mpr/context.h"
#include "mpr/suspend.h"
#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/** The callbacks. Each may be NULL. */
typedef struct MprEmbedder {
    void *data; /* The program's: the first argument of each */
    void (*stop)(void *data);
    /** @param generation MPR_GENERATION_YOUNG: roots that were not written since the last pause, and lead to blocks
        that were there then, may be left out. MPR_GENERATION_ALL: they may not. It may be called twice in a pause, and
        not in every one: forget what was written in resume, if it was called. */
    void (*roots)(void *data, int generation);
    /** @param round 0, 1, ...: how often it was called in this pause. */
    void (*marked)(void *data, int generation, int round);
    /** @param generation MPR_GENERATION_YOUNG: only blocks made since the last pause have died. */
    void (*clear)(void *data, int generation);
    void (*resume)(void *data);
} MprEmbedder;

/**
    Set the callbacks, a copy of which is used from the next pause on; NULL: none any more. mprDestroy ends them.
    @return 0; MPR_ERR_ALREADY_EXISTS, named, when there are some: end those first. Attached threads that run. Does not
    yield.
 */
MPR_EXPORT int mprSetEmbedder(const MprEmbedder *embedder);

/**
    For the callbacks marked and clear: whether a block will outlive this collection, as far as that is known: it is
    marked, or held, or old in a collection of the young. A few loads.
    @return false for NULL and what is no block. Elsewhere true, named.
 */
MPR_EXPORT bool mprIsMarked(const void *block);

/**
    The block that an address lies in, its manager's word included, for references into blocks and for words that may
    be references.
    @return Its start; NULL when there is none. Any address, any thread, any state, callbacks and managers included. Takes the
    heap's lock; constant time in a block up to 1 KiB, beyond that a step for each 8 granules between its start and the
    address. What another thread frees or allocates meanwhile is found or not.
 */
MPR_EXPORT void *mprBlockOf(const void *address);

/**
    Call visit(data, block, size) for each block that begins in [begin, end), in order of addresses. Size in bytes, as
    mprGetBlockSize. If it returns false that ends the walk. Blocks that a collection has found dead are left out; pinned ones may
    be (mprBlockOf finds them). What other threads allocate or free meanwhile is visited or not; unless they are stopped, what
    is visited may be gone when visit is called.
    @return How many were visited. Threads as mprBlockOf; no lock is held when visit is called. A step for each 8
    granules of the range, and for each 64 KiB that are not the heap's.
 */
MPR_EXPORT size_t mprBlocksIn(const void *begin, const void *end, bool (*visit)(void *data, void *block, size_t size),
                              void *data);

/**
    The same for the blocks of one kind, wherever they are: those that have this manager. For objects of C++:
    mpr::forEachOf. A block stays one as long as the calling thread does not yield, and no other frees it by hand; what
    another thread is about to make may be half made.
    @return How many were visited; 0 when manager is NULL. A step for each 8 granules of the heap, and for each 64 KiB
    between its regions.
 */
MPR_EXPORT size_t mprBlocksOf(MprManager manager, bool (*visit)(void *data, void *block, size_t size), void *data);

/**
    Say that references in [begin, end) were stored without the barrier (mpr/barrier.h), since the last pause or before
    this thread's next yield: a card, an object that was copied into. Blocks that promised the barrier and overlap the
    range are looked at in the next pause. The collector may read them while they are stored: whole words, in release
    order. Of words that only the manager can read, blocks above 1 KiB want mprSetWord. The range may have anything else
    in it. Attached threads that run, and the callback stop. Does not yield. A step for each block of the range, and for
    each word of blocks above 1 KiB.
 */
MPR_EXPORT void mprNoteChanged(const void *begin, const void *end);

/** Bytes of a piece. */
#define MPR_PIECE_SIZE 32768

/**
    Zeroed memory in which the program allocates by itself: it says later what stands where (mprNameBlocks). Until then the
    piece is one block that references nothing: what keeps it alive are roots and mprMark, as for any block, and what is in
    it keeps nothing alive. Threads of the program's that are not attached may fill it. What is not named yet is stored into
    plainly: mprSetRef is for blocks.
    @return Its start, which is aligned as every block; NULL as mprAlloc, and for threads with batches (mprSetBatches),
    named. A thread that fills a piece may not set them on, either. Attached threads that run. Does not yield.
 */
MPR_EXPORT void *mprAllocPiece(MPR_NOTHING);

/** A block in a piece. */
typedef struct MprNamed {
    void *block;              /* Where it begins: a multiple of 1 << MPR_GRANULE_SHIFT bytes behind the piece's start */
    size_t size;              /* Bytes that the program uses. Behind them there is room for kind->extra more */
    const MprBlockKind *kind; /* See mprSetBlockKind; here with any flags */
} MprNamed;

/**
    Name blocks in the first `used` bytes of a piece, at the latest in callback stop of the pause that is to mark them: from
    here on they are blocks as any, made just now. Their managers' words are written here. What is between them is free after
    the next collection. The rest stays a piece. A reference to the piece that was stored before is none to a block that
    begins where the piece did: that one is stored anew.
    @param piece The piece, or what is left of one; set to what is left now, NULL: nothing. It may be a field of a block.
    (Another block without a manager is not told from a piece: it is cut up, too.) @param used 0 to MPR_PIECE_SIZE,
    rounded up to a whole granule. @param blocks In order of addresses.
    @return 0. MPR_ERR_BAD_ARGS, named, for what has a manager or is no block, for a piece that is held, is a root (mprAddRoot)
    or has a handle, and for blocks that overlap, or lie elsewhere: nothing has changed. MPR_ERR_BAD_STATE, named, when
    another thread was faster. Attached threads that run and have no batches, for a piece that no other thread uses at that
    time; and the callback stop. Does not yield. Time: some ten nanoseconds for each block.
 */
MPR_EXPORT int mprNameBlocks(void **piece, size_t used, const MprNamed *blocks, size_t count);

/**
    For managers, of references that point into blocks, a constant offset behind their start: mprMarkRef of such a field.
    NULL is fine.
 */
static inline void mprMarkRefInside(const void *field, size_t offset) {
    const char *value = (const char *) __atomic_load_n((void *const *) field, __ATOMIC_ACQUIRE);
    if (value) {
        mprMark(value - offset);
    }
}

/**
    For such fields: mprSetRef. @param value NULL, or `offset` bytes behind the start of a block. That block is published
    (mprSetBatches), though the owner may be private. Threads and order as mprSetRef.
 */
static inline void mprSetRefInside(void *owner, void *field, const void *value, size_t offset) {
    const int done = mprBarrierDone(owner);
    if (value) {
        mprPublish((const char *) value - offset);
    }
    __atomic_store_n((void **) field, (void *) value, __ATOMIC_RELEASE);
    if (__builtin_expect(!done, 0)) {
        mprLogRef(owner, field);
    }
}

MPR_EXTERN_C_END
#endif /* MPR_EMBED_H */
