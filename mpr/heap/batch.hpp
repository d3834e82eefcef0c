// SPDX-License-Identifier: MIT
/*
    batch.hpp - A thread's batch: what it has made since its last yield, so that it can take back at the next one what
    nobody else has come to know.

    A thread that yields has no references on its stack. A block that it made since its last yield, and published nowhere, is
    dead at that moment, and only this thread ever knew it. So the thread takes it back itself: it clears the map around
    what was published, and fills the same memory again, which is still in its cache. There is no rendezvous, no marking,
    and no lock. Blocks that were published stay where they are, and everything around them is filled again, so
    survivors pack densely whatever their sizes. (T. Domani, G. Goldshtein, E. K. Kolodner, E. Lewis, E. Petrank, D.
    Sheinwald, "Thread-Local Heaps for Java", ISMM 2002; S. Marlow, S. Peyton Jones, "Multicore Garbage Collection with
    Local Heaps", ISMM 2011.)

    Data. By lane, a batch knows
      - the *pieces* of spans in which the thread has bumped since its last yield; the context is the last of them;
      - *rooms*: free memory of its spans that it may bump through next. What a yield takes back becomes rooms, those
        that were used first on top, so that the warmest memory is filled first and survivors gather there;
      - the *frontier*: where the heap goes on when no room is left. The context stands there whenever the heap opens
        another one, since the heap finds the next gap of a span by the end of the context (span.cpp).
    And for all lanes
      - what was *published*, in the order of publication, with its size as it was then;
      - the *range*: no private block lies outside of it. The write barrier compares the values it stores with it.

    A block is *private* when it lies in a piece, in front of the thread's bump, and its head does not say
    head::referenced. Publication sets that bit, by the thread that made the block, before anybody else can know of the
    block. gc/batch.hpp says what publishes.

    Invariants
      - The free memory of rooms, and of the frontier, is zero in the map up to `cleared`, lies in spans that are
        being filled by this thread, and is in no piece. No two of these overlap.
      - A private block is known to its thread only. So all of a piece but its published blocks belongs to its
        thread, the map's bytes included. A published block is anybody's from then on, and so is its memory: it may be
        freed by hand, and be another block, before this thread yields. Therefore its thread never looks at the map to
        learn what was published. It leaves the granules alone that it has noted. A block that others have made there
        is not private: where something was freed by hand, what was noted is asked, too (isReused). So whoever frees a
        published block, or cuts it up, says in the span that it is pierced, also if the block comes into a quick list.
      - A private block that is freed by hand stays where it is, as a block that is gone (head::isGone). Were it
        made a hole, other threads could make blocks in the midst of a piece. For the same reason a private block
        is not resized into a hole, and gives no hole when it shrinks.
      - A batch that is *kept* has no private blocks: all that was made stays for the collector, until the next yield
        begins another one. All contexts of a thread are closed before marking begins, and that ends its batch
        (closeContexts), so none outlives a collection.
      - Accounts: a span's `blocks` and `taken` are what they would be had the blocks that were taken back never been
        made. Rooms count as allocated, as all that is free in a span that is being filled.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mpr/barrier.h"
#include "mpr/heap/lane.hpp"
#include "mpr/heap/region.hpp"
#include "mpr/os/target.hpp"

namespace mpr::heap {

struct AllocationContext;

/** Why a batch was kept. */
enum class Kept : Byte { no, yield, plain, outside, full, hole };
inline constexpr unsigned keptReasons = 6;

class Batch {
public:
    /** Memory of a span where the thread has bumped since its last yield: [begin, bump) of [begin, end). */
    struct Piece {
        Byte* begin;
        Byte* bump;
        Byte* end;
        Byte* cleared;
        Region* region;
        Span* span;
        std::uint32_t blocks; // made there
    };
    /** Free memory of a span, whose map is zero up to `cleared`. */
    struct Room {
        Byte* begin;
        Byte* end;
        Byte* cleared;
        Region* region;
        Span* span;
    };
    struct Published {
        Byte* begin;
        Byte* end;
        std::uint32_t piece; // by lane and number
    };
    /** Where blocks of a piece lie, noted or not yet: [begin, bump). */
    struct Stretch {
        Byte* begin;
        Byte* bump;
        Region* region;
        Span* span;
    };

    static constexpr unsigned mostPieces = 128;
    static constexpr unsigned mostRooms = 128;
    static constexpr unsigned mostPublished = 512;

    struct Part {
        unsigned pieces = 0;
        unsigned rooms = 0;
        bool atFrontier = true;   // the context is the frontier
        std::size_t openedAt = 0; // blocks that the context counted when it was opened here
        Room frontier{};
        Piece piece[mostPieces];
        Room room[mostRooms];
    };

    /** Counted by its thread; others read them, of some moment. */
    struct Counts {
        os::Counter takenBack{0}; // yields
        os::Counter blocks{0};    // taken back
        os::Counter bytes{0};     // taken back
        os::Counter published{0}; // blocks
        os::Counter kept[keptReasons] = {};
    };

    /** @param contexts The thread's, one for each lane. */
    Batch(MprBatchRange& range, AllocationContext* contexts, bool everyYield)
        : always(everyYield), range_(range), contexts_(contexts) {}
    ~Batch() { setRange(0, 0); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    bool isKept() const { return kept_ != Kept::no; }
    Kept kept() const { return kept_; }
    /** Nothing made since the last yield is private any more. */
    void keep(Kept why) {
        if (kept_ == Kept::no) {
            kept_ = why;
            setRange(0, 0);
        }
    }
    void begin() {
        kept_ = Kept::no;
        published = 0;
        setRange(0, 0);
    }
    /** Private blocks may lie in [from, to) from here on. */
    void extend(const Byte* from, const Byte* to) {
        if (isKept() || from == to) {
            return;
        }
        const auto begin = reinterpret_cast<std::uintptr_t>(from);
        const auto end = reinterpret_cast<std::uintptr_t>(to);
        const std::uintptr_t least = range_.size == 0 || begin < range_.begin ? begin : range_.begin;
        const std::uintptr_t greatest =
            range_.size == 0 || end > range_.begin + range_.size ? end : range_.begin + range_.size;
        setRange(least, greatest - least);
    }
    bool mayHold(const void* block) const {
        return reinterpret_cast<std::uintptr_t>(block) - range_.begin < range_.size;
    }

    // ---- Where a context stands ----
    Part& partOf(const AllocationContext& c);
    /** The context leaves its piece, for a room or at a yield: the account of its span is settled. */
    void leave(AllocationContext& c);
    /** The context goes on in free memory of a span. */
    void enter(AllocationContext& c, const Room& room);
    void enterFrontier(AllocationContext& c);
    /** The heap is about to open another context in place of this one, which is open. */
    void noteLeft(const AllocationContext& c);
    /** The heap has opened it, with a block in it. */
    void noteOpened(const AllocationContext& c);
    /** All contexts are closed: what was left free in spans is the heap's. */
    void forget();

    // ---- What is private ----
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    static std::uint32_t number(unsigned lane, unsigned piece) { return lane << 16 | piece; }
    /** The piece in which an address lies, by number; the context's comes after those that were noted. `none`: in none. */
    std::uint32_t pieceOf(const void* address) const;
    Stretch stretch(std::uint32_t piece) const;
    /** Whether an address in a piece lies in what was published of it. Looked for only where something was freed by hand. */
    bool isReused(const Stretch& piece, const void* address) const;
    /** Whether a block, whose head is claimed, is this thread's alone. */
    bool isUnpublished(const void* block) const { return mayHold(block) && pieceOf(block) != none && !isNoted(block); }
    /** Whether an address lies in what was published. */
    bool isNoted(const void* address) const {
        return std::any_of(publications, publications + published,
                           [address](const Published& p) { return address >= p.begin && address < p.end; });
    }

    /** By piece, and there by address. */
    void sortPublications() {
        std::sort(publications, publications + published, [](const auto& one, const auto& other) {
            return one.piece != other.piece ? one.piece < other.piece : one.begin < other.begin;
        });
    }

    const bool always; // every yield takes back, not only those that are asked to
    unsigned published = 0;
    Published publications[mostPublished];
    Part parts[lanes];
    Counts counts;

private:
    void note(const AllocationContext& c, Byte* end);
    void setRange(std::uintptr_t least, std::uintptr_t size) {
        range_.begin = least;
        range_.size = size;
    }

    MprBatchRange& range_; // the thread's, which its barrier reads
    AllocationContext* const contexts_;
    Kept kept_ = Kept::yield;
};

} // namespace mpr::heap
