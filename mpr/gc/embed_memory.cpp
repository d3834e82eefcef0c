// SPDX-License-Identifier: MIT
/*
    embed_memory.cpp - Memory of a program that embeds the runtime: what it changes behind the barrier, and pieces in which
    it allocates by itself. With threads only: without them there is neither a barrier nor a context.
 */
#include "mpr/embed.h"

#include <algorithm>
#include <iterator>

#include "mpr/gc/batch.hpp"
#include "mpr/gc/embed_hooks.hpp"
#include "mpr/gc/handle_freeing.hpp"
#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::Heap;
using heap::Region;
namespace head = heap::head;

namespace {

/** Note that the references of a block that overlaps [begin, end) may have changed. */
void noteBlock(Mutator& m, Byte* block, const Byte* begin, const Byte* end) {
    Heap& heap = runtime().heap;
    Region* region = heap.find(block);
    const std::size_t g = region->granuleOf(block);
    const Byte h = region->map().get(g);
    if (!head::isBarrier(h) || (h & head::remembered)) {
        return; // every pause looks at it anyway, or it is young, or noted
    }
    const std::size_t n = region->blockSize(g);
    if (RememberedSet::isByField(n)) {
        Byte* to = block + (n << heap::granuleShift) - sizeof(MprManager);
        for (Byte* field = block; field < to; field += sizeof(void*)) {
            if (field + sizeof(void*) > begin && field < end) {
                runtime().collector.rememberField(m, field);
            }
        }
        return;
    }
    runtime().collector.rememberBlock(m, region, g);
}

/** Publish what a block that overlaps [begin, end) refers to there, if only the calling thread knows that. */
void publishFields(Byte* block, std::size_t n, const Byte* begin, const Byte* end) {
    Byte* to = block + (n << heap::granuleShift);
    for (Byte* field = block; field + sizeof(void*) <= to; field += sizeof(void*)) {
        if (field + sizeof(void*) > begin && field < end) {
            const void* value = __atomic_load_n(reinterpret_cast<void**>(field), __ATOMIC_RELAXED);
            if (mayBePrivate(value)) { // it may point into a block
                publishInto(field, runtime().heap.blockAround(value));
            }
        }
    }
}

/** Granules of a block that is to be named, its manager's word included. */
std::size_t granulesOf(const MprNamed& named) {
    return heap::granulesFor(std::max(named.size + named.kind->extra, std::size_t{1}));
}

/** What is wrong with blocks that are to be named in the first `used` granules of a piece; nullptr: nothing is. */
const char* whatIsWrong(const Byte* piece, std::size_t used, const MprNamed* blocks, std::size_t count) {
    std::size_t at = 0;
    for (const MprNamed* named = blocks; named < blocks + count; ++named) {
        const std::size_t offset =
            reinterpret_cast<std::uintptr_t>(named->block) - reinterpret_cast<std::uintptr_t>(piece);
        if (!named->kind || named->kind->head == 0) {
            return "a block's kind was not set";
        }
        if (offset % heap::granuleSize != 0) {
            return "a block begins between granules";
        }
        if (offset >> heap::granuleShift < at) {
            return "blocks overlap, or are not in order of addresses";
        }
        at = offset >> heap::granuleShift;
        if (at >= used || named->size > MPR_PIECE_SIZE || granulesOf(*named) > used - at) {
            return "a block does not lie in the part that is used";
        }
        at += granulesOf(*named);
    }
    return nullptr;
}

/** Whether a root or a handle leads to a leaf with this head. */
bool isReferenced(const Byte* leaf, Byte h) {
    Roots& roots = runtime().roots;
    return (h & head::referenced) && (roots.isRoot(leaf) || (roots.handles() && refersToBlock(leaf)));
}

/** The managers of blocks that have just been named. Until then they are young blocks, which nobody traces while threads run. */
void setManagers(const MprNamed* blocks, std::size_t count) {
    for (const MprNamed* named = blocks; named < blocks + count; ++named) {
        if (named->kind->manager) {
            setManager(named->block, granulesOf(*named), named->kind->seal);
        }
    }
}

/**
    Name blocks that nothing is wrong with in the first `used` of a piece's n granules. @return false when another thread has
    done so meanwhile.
 */
bool nameBlocks(Byte* piece, std::size_t n, std::size_t used, const MprNamed* blocks, std::size_t count) {
    Heap& heap = runtime().heap;
    const heap::Place first = heap::Place::of(heap.find(piece), piece);
    std::size_t at = 0; // granules that are cut off
    for (std::size_t i = 0; i <= count;) {
        Heap::Cut cuts[64];
        const MprNamed* const next = blocks + i;
        unsigned filled = 0;
        std::size_t to = at;
        for (; filled < std::size(cuts) && i < count; ++i, ++filled) {
            const MprBlockKind& kind = *blocks[i].kind;
            const std::size_t size = granulesOf(blocks[i]);
            const std::size_t begin =
                static_cast<std::size_t>(static_cast<Byte*>(blocks[i].block) - piece) >> heap::granuleShift;
            cuts[filled] = {begin - to, {size, kind.manager ? kindOf(kind.flags) : Byte{0}}};
            to = begin + size;
        }
        const std::size_t named = filled;
        if (filled < std::size(cuts)) {
            cuts[filled++] = {used - to, {0, 0}};
            to = used;
            ++i;
        }
        if (to > at && !heap.cutFront(first + at, n - at, cuts, filled)) {
            return false;
        }
        setManagers(next, named);
        at = to;
    }
    return true;
}

} // namespace
} // namespace mpr::gc

using namespace mpr::gc;
using mpr::heap::Byte;
using mpr::heap::Heap;
using mpr::heap::Region;
namespace os = mpr::os;

void mprNoteChanged(cvoid* begin, cvoid* end) {
    if (!isStopping() && !admitRunning("mprNoteChanged")) {
        return;
    }
    Mutator& m = *attached;
    Heap& heap = runtime().heap;
    const auto* const first = static_cast<const Byte*>(begin);
    const auto* const to = static_cast<const Byte*>(end);
    const auto note = [&](Byte* block) {
        if (current && m.local.batch) {
            Region* region = heap.find(block);
            publishFields(block, region->blockSize(region->granuleOf(block)), first, to);
        }
        noteBlock(m, block, first, to);
    };
    if (first >= to) {
        return;
    }
    auto* around = static_cast<Byte*>(heap.blockAround(first));
    if (around && around != first && heap.find(around)) { // else it lies in a range of the program's, and is a leaf
        note(around);
    }
    const Heap::Range range = heap.clip({first, to});
    for (const Byte* from = range.from; from < range.to;) {
        Heap::Inside found[64];
        const unsigned count = heap.blocksIn(from, range.to, found, std::size(found));
        for (unsigned i = 0; i < count; ++i) {
            note(found[i].block);
        }
    }
}

void* mprAllocPiece(void) {
    if (!admitRunning("mprAllocPiece")) {
        return nullptr;
    }
    if (current->local.batch) {
        misuse("mprAllocPiece", nullptr, "by a thread with batches, whose blocks would not be known to be in it");
        return nullptr;
    }
    static_assert(MPR_PIECE_SIZE % mpr::heap::granuleSize == 0);
    void* piece = mpr::gc::allocateSlow(*current, mpr::heap::granulesFor(MPR_PIECE_SIZE), 0, MPR_PIECE_SIZE);
    if (piece) {
        runtime().heap.zero(piece, MPR_PIECE_SIZE);
    }
    return piece;
}

int mprNameBlocks(void** piece, size_t used, const MprNamed* blocks, size_t count) {
    if (!mayFill("mprNameBlocks", piece)) {
        return MPR_ERR_BAD_ARGS;
    }
    if (!isStopping() && !admitRunning("mprNameBlocks")) {
        return MPR_ERR_BAD_STATE;
    }
    auto* const begin = static_cast<Byte*>(*piece);
    Region* region = runtime().heap.find(begin);
    if (!region || region->home.heap() || !region->isBlock(begin) ||
        !runtime().heap.mayCut({region, region->granuleOf(begin)})) {
        misuse("mprNameBlocks", begin, "not a piece, nor the rest of one; or it is held, or dead");
        return MPR_ERR_BAD_ARGS;
    }
    if (isReferenced(begin, region->headAt(begin))) {
        misuse("mprNameBlocks", begin, "the piece is a root, or a handle refers to it; remove that first");
        return MPR_ERR_BAD_ARGS;
    }
    const std::size_t size = region->blockSize(region->granuleOf(begin));
    const std::size_t n = used <= MPR_PIECE_SIZE ? mpr::heap::granulesFor(used) : size + 1;
    const char* wrong = n > size                          ? "more is used than the piece has"
                        : current && current->local.batch ? "by a thread with batches"
                        : count > n                       ? "more blocks than there can be in what is used"
                        : blocks || count == 0            ? whatIsWrong(begin, n, blocks, count)
                                                          : "the blocks are NULL";
    if (wrong) {
        misuse("mprNameBlocks", begin, wrong);
        return MPR_ERR_BAD_ARGS;
    }
    if (n == 0) {
        return 0;
    }
    if (!nameBlocks(begin, size, n, blocks, count)) {
        misuse("mprNameBlocks", begin, "another thread names blocks in the piece at the same time");
        return MPR_ERR_BAD_STATE;
    }
    Byte* rest = n < size ? begin + (n << mpr::heap::granuleShift) : nullptr;
    // It may be a field that a marker reads.
    __atomic_store_n(piece, static_cast<void*>(rest), __ATOMIC_RELEASE);
    return 0;
}
