// SPDX-License-Identifier: MIT
/*
    take_back.cpp - Batches in the heap: opened, allocated in, published from, taken back.
 */
#include "mpr/heap/batch.hpp"

#include <algorithm>
#include <new>

#include "mpr/heap/context.hpp"

namespace mpr::heap {

namespace {
/** Granules that a room has at least, by lane: smaller ones wait for the next collection. */
constexpr std::size_t leastRoom[] = {16, 16, 128};
/** Rooms that an allocation looks at before it goes to the frontier. */
constexpr unsigned looks = 8;

std::size_t granulesIn(const Byte* begin, const Byte* end) {
    MPR_ASSERT(begin <= end);
    return static_cast<std::size_t>(end - begin) >> granuleShift;
}
} // namespace

bool Heap::openBatch(Local& local, MprBatchRange& range, bool always) {
    if constexpr (os::hasThreads) {
        Shortage shortage = Shortage::none;
        void* memory = allocateShared(granulesFor(sizeof(Batch)), head::held, true, shortage);
        if (!memory) {
            return false;
        }
        // Blocks from quick lists would be born without anybody noticing.
        flushQuickLists(local);
        local.quick.open(nullptr);
        local.batch = new (memory) Batch(range, local.contexts, always);
        local.atYield |= Local::hasBatch;
        // A span can be a piece, a hole cannot. (A block of up to c.least granules fits into any hole that is worth it.)
        for (AllocationContext& c : local.contexts) {
            c.worth = FreeQueues::warmWordsFrom(std::max(contextGranules_, c.least));
        }
        beginBatch(local);
        return true;
    }
    return false;
}

void Heap::closeBatch(Local& local) {
    if constexpr (os::hasThreads) {
        keepBatch(local, Kept::yield);
        beginBatch(local); // the account of the context is settled
        Batch* batch = std::exchange(local.batch, nullptr);
        local.atYield &= static_cast<Byte>(~Local::hasBatch);
        for (unsigned lane = 0; lane < lanes; ++lane) {
            AllocationContext& c = local.contexts[lane];
            if (!batch->parts[lane].atFrontier) {
                // The heap must not continue from a room: see the head of batch.hpp. The rest of it waits for a collection.
                batch->enterFrontier(c);
                holdUp(local, c);
            }
            c.worth = FreeQueues::warmWordsFrom(c.least);
        }
        batch->~Batch();
        local.quick.open(local.quickMemory);
        freeShared(table_.find(batch), batch);
    }
}

void Heap::keepBatch(Local& local, Kept why) {
    if (os::hasThreads && local.batch) {
        local.batch->keep(why);
    }
}

/** The context of a thread with a batch has no room. @return nullptr when no room has either: it is at the frontier then. */
void* Heap::allocateInRoom(Local& local, AllocationContext& c, std::size_t n, Byte h) {
    if constexpr (os::hasThreads) {
        if (!c.span) {
            return nullptr; // closed, or a hole, which the heap has to be given back: it opens another context
        }
        Batch& b = *local.batch;
        Batch::Part& part = b.parts[static_cast<unsigned>(c.lane)];
        const std::size_t bytes = n << granuleShift;
        const unsigned least = part.rooms > looks ? part.rooms - looks : 0;
        for (unsigned i = part.rooms; i-- > least;) {
            const Batch::Room room = part.room[i];
            if (static_cast<std::size_t>(room.end - room.begin) >= bytes) {
                std::copy(part.room + i + 1, part.room + part.rooms, part.room + i);
                --part.rooms;
                b.leave(c);
                b.enter(c, room);
                return resumeContext(local, c, n, h);
            }
        }
        if (!part.atFrontier) {
            b.leave(c);
            b.enterFrontier(c);
            if (n <= c.rest()) {
                return resumeContext(local, c, n, h);
            }
            holdUp(local, c); // it may stay where it is: a large block needs no context
        }
    }
    return nullptr;
}

// ---- Publication ---------------------------------------------------------------------------------------------------

bool Heap::isPrivate(const Local& local, const void* block) const {
    if constexpr (os::hasThreads) {
        const Batch* b = local.batch;
        const std::uint32_t piece = b && b->mayHold(block) ? b->pieceOf(block) : Batch::none;
        if (piece == Batch::none || b->isReused(b->stretch(piece), block)) {
            return false;
        }
        Region* region = table_.find(block);
        return (region->headAt(block) & (head::inUse | head::referenced)) == head::inUse;
    }
    return false;
}

/** Whether an address lies in a private block. */
bool Heap::isInPrivate(const Local& local, const void* field) const {
    if constexpr (os::hasThreads) {
        const Batch* b = local.batch;
        const std::uint32_t number = b && b->mayHold(field) ? b->pieceOf(field) : Batch::none;
        const Batch::Stretch piece = number != Batch::none ? b->stretch(number) : Batch::Stretch{};
        if (!piece.region || b->isReused(piece, field)) {
            return false;
        }
        const GranuleMap map = piece.region->map();
        const std::size_t first = piece.region->granuleOf(piece.begin);
        const std::size_t g = map.headBefore(piece.region->granuleOf(field), first);
        return g >= first && (map.get(g) & (head::inUse | head::referenced)) == head::inUse;
    }
    return false;
}

bool Heap::publish(Local& local, const void* block) {
    if constexpr (os::hasThreads) {
        Batch& b = *local.batch;
        if (!b.mayHold(block)) {
            return false;
        }
        const std::uint32_t piece = b.pieceOf(block);
        if (piece == Batch::none || b.isReused(b.stretch(piece), block)) {
            return false;
        }
        Region* region = table_.find(block);
        const Byte h = region->headAt(block);
        if (!Region::isBlock(h) || (h & head::referenced)) {
            return false;
        }
        if (b.published == Batch::mostPublished) {
            b.keep(Kept::full);
            return false;
        }
        const std::size_t g = region->granuleOf(block);
        Byte* begin = region->address(g);
        b.publications[b.published++] = {begin, begin + (region->map().blockSize(g) << granuleShift), piece};
        // Atomic: if the block was freed by hand elsewhere it may be another thread's, whose head others change.
        region->map().update(g, [](Byte now) { return static_cast<Byte>(now | head::referenced); });
        return true;
    }
    return false;
}

/** Give back a claimed block of a thread with a batch. A private one stays where it is, as gone: see the head of batch.hpp. */
int Heap::freeBesideBatch(const Local& local, Place at, std::size_t n) {
    if (!local.batch->isUnpublished(at.address())) {
        return freeOrdinary(at.region, at.granule, n);
    }
    fillFree(at, n);
    at.region->map().set(at.granule, static_cast<Byte>(head::inUse | (local.newborn & ~head::remembered)));
    return 0;
}

// ---- At a yield ----------------------------------------------------------------------------------------------------

/** Keep all blocks of the batch, and begin another. */
void Heap::beginBatch(Local& local) {
    if constexpr (os::hasThreads) {
        Batch& b = *local.batch;
        b.begin();
        for (AllocationContext& c : local.contexts) {
            Batch::Part& part = b.parts[static_cast<unsigned>(c.lane)];
            part.pieces = 0;
            if (!c.region) {
                continue;
            }
            if (!c.span) {
                if (c.bump != c.begin) {
                    c.counts.made(c.made());
                    c.begin = c.bump; // it ends where a span can begin
                    b.keep(Kept::hole);
                    continue;
                }
                // Nothing is made there any more, and it would keep each batch.
                const Telling telling(*this);
                os::Locked locked(lock_);
                if (c.rest() > 0) {
                    close({c.bump, c.end, c.region});
                }
                c.close();
                continue;
            }
            c.countTaken();
            c.span->blocks = static_cast<std::uint32_t>(c.blocks.get() - c.blocksBefore);
            c.begin = c.bump;
            part.openedAt = c.blocks.get();
            b.extend(c.begin, c.end);
        }
    }
}

/** Free memory of a piece becomes a room again. */
void Heap::makeRoom(Batch::Part& part, const Batch::Piece& piece, Byte* from, Byte* to, std::size_t least) {
    Byte* used = std::min(to, piece.bump);
    if (from < used) {
        const std::size_t g = piece.region->granuleOf(from);
        const std::size_t n = granulesIn(from, used);
        piece.region->map().clear(g, g + n);
        fillFree({piece.region, g}, n);
        MPR_ASSERT(piece.span->taken >= n);
        piece.span->taken -= static_cast<std::uint32_t>(n);
    }
    if (to == part.frontier.begin && piece.span == part.frontier.span) {
        part.frontier.begin = from;
    } else if (granulesIn(from, to) >= least && part.rooms < Batch::mostRooms) {
        part.room[part.rooms++] = {from, to, std::min(to, piece.cleared), piece.region, piece.span};
    }
}

/** Take back a lane's pieces. @param last The last publication of this lane and those before it. @return The number of publications left. */
unsigned Heap::takeBack(Local& local, AllocationContext& c, unsigned last) {
    Batch& b = *local.batch;
    const auto lane = static_cast<unsigned>(c.lane);
    Batch::Part& part = b.parts[lane];
    std::size_t blocks = 0;
    for (unsigned i = part.pieces; i-- > 0;) {
        const Batch::Piece& piece = part.piece[i];
        const std::size_t before = piece.span->taken;
        std::uint32_t made = piece.blocks;
        Byte* end = piece.end;
        for (; last > 0 && b.publications[last - 1].piece == Batch::number(lane, i); --last) {
            const Batch::Published& p = b.publications[last - 1];
            MPR_ASSERT(p.begin >= piece.begin && p.begin < piece.bump);
            makeRoom(part, piece, p.end, end, leastRoom[lane]);
            --made;
            end = p.begin;
        }
        makeRoom(part, piece, piece.begin, end, leastRoom[lane]);
        MPR_ASSERT(piece.span->blocks >= made);
        piece.span->blocks -= made;
        blocks += made;
        b.counts.bytes.fetch_add((before - piece.span->taken) << granuleShift, std::memory_order_relaxed);
    }
    part.pieces = 0;
    local.freedBlocks.add(blocks);
    b.counts.blocks.fetch_add(blocks, std::memory_order_relaxed);
    if (part.rooms > 0) {
        b.enter(c, part.room[--part.rooms]);
    } else {
        b.enterFrontier(c);
    }
    holdUp(local, c);
    return last;
}

void Heap::takeBack(Local& local) {
    if constexpr (os::hasThreads) {
        Batch& b = *local.batch;
        MPR_ASSERT(!b.isKept());
        for (AllocationContext& c : local.contexts) {
            const Batch::Part& part = b.parts[static_cast<unsigned>(c.lane)];
            if (part.pieces == Batch::mostPieces) {
                b.keep(Kept::full);
                b.counts.kept[static_cast<unsigned>(Kept::full)].fetch_add(1, std::memory_order_relaxed);
                return beginBatch(local);
            }
        }
        b.sortPublications();
        b.counts.takenBack.fetch_add(1, std::memory_order_relaxed);
        b.counts.published.fetch_add(b.published, std::memory_order_relaxed);
        unsigned last = b.published;
        for (unsigned lane = lanes; lane-- > 0;) {
            AllocationContext& c = local.contexts[lane];
            Batch::Part& part = b.parts[lane];
            if (c.region && (c.bump != c.begin || part.pieces > 0)) {
                b.leave(c);
                last = takeBack(local, c, last);
            }
        }
        MPR_ASSERT(last == 0);
        b.begin();
        for (AllocationContext& c : local.contexts) {
            b.extend(c.begin, c.end);
        }
    }
}

/** All blocks of a part of a piece, where nothing was published, are gone. */
static void discardBlocks(const Local& local, Region* region, const Byte* from, const Byte* to) {
    if (from == to) {
        return;
    }
    const GranuleMap map = region->map();
    const std::size_t end = region->granuleOf(to);
    for (std::size_t g = region->granuleOf(from); g < end;) {
        const Byte h = map.get(g);
        const std::size_t n = h >= mark::hole ? region->extentAt(g) : map.zerosEnd(g, end) - g;
        if (h & head::inUse) {
            MPR_ASSERT(!(h & head::referenced));
            map.set(g, static_cast<Byte>(head::discarded | (local.newborn & ~(head::remembered))));
        }
        g += n;
    }
}

/**
    Private blocks of a piece are gone. The walk steps over published blocks by what was noted of them. The map says
    nothing about those: one that was freed by hand may be another thread's block now.
    @param last The last publication of this piece and those before it. @return What is left of them.
 */
static unsigned discardPiece(const Local& local, std::uint32_t number, unsigned last) {
    const Batch& b = *local.batch;
    const Batch::Stretch piece = b.stretch(number);
    const Byte* end = piece.bump;
    for (; last > 0 && b.publications[last - 1].piece == number; --last) {
        const Batch::Published& p = b.publications[last - 1];
        MPR_ASSERT(p.begin >= piece.begin && p.end <= end);
        discardBlocks(local, piece.region, p.end, end);
        end = p.begin;
    }
    discardBlocks(local, piece.region, piece.begin, end);
    return last;
}

void Heap::discard(Local& local) {
    if constexpr (os::hasThreads) {
        Batch& b = *local.batch;
        MPR_ASSERT(!b.isKept());
        b.sortPublications();
        unsigned last = b.published;
        for (unsigned lane = lanes; lane-- > 0;) {
            const unsigned open = local.contexts[lane].region ? 1 : 0;
            for (unsigned i = b.parts[lane].pieces + open; i-- > 0;) {
                last = discardPiece(local, Batch::number(lane, i), last);
            }
        }
        MPR_ASSERT(last == 0);
        b.counts.takenBack.fetch_add(1, std::memory_order_relaxed);
        beginBatch(local);
    }
}

} // namespace mpr::heap
