// SPDX-License-Identifier: MIT
/*
    local.hpp - What one thread allocates from without asking anybody: its allocation context and its quick lists.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mpr/context.h"
#include "mpr/heap/earmark.hpp"
#include "mpr/heap/lane.hpp"
#include "mpr/heap/map.hpp"
#include "mpr/heap/place.hpp"
#include "mpr/heap/queues.hpp"
#include "mpr/heap/region.hpp"
#include "mpr/heap/spare.hpp"

namespace mpr::heap {

/**
    A count since the last rendezvous. Only its thread writes it. It is added to the heap's totals while that thread is
    stopped, which orders the two. A read at any other time gives the value of some moment.
 */
struct Counter {
    os::Shared<std::size_t> value{0};
    void add(std::size_t by) { value.store(value.load(std::memory_order_relaxed) + by, std::memory_order_relaxed); }
    std::size_t take() { return value.exchange(0, std::memory_order_relaxed); }
    std::size_t get() const { return value.load(std::memory_order_relaxed); }
};

/**
    A thread's allocations, in a context or outside of its contexts, since it was attached. Only the thread writes these,
    or the collector while it is stopped. Others read values of some moment. They change on slow paths only.
 */
struct AllocationCounts {
    os::Counter granules{0}; // of blocks, those in the part that is open left out
    os::Counter contexts{0}; // opened
    os::Counter slowPaths{0};

    static void add(os::Counter& count, os::Total by) {
        count.store(count.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }
    void made(std::size_t n) { add(granules, n); }
    void unmade(std::size_t n) { add(granules, os::Total{0} - n); }
    void opened() { add(contexts, 1); }
    void slow() { add(slowPaths, 1); }
};
/** A board counts in its totals only. */
struct NoAllocationCounts {
    static void made(std::size_t) {}
    static void unmade(std::size_t) {}
    static void opened() {}
    static void slow() {}
};
using Counts = std::conditional_t<os::hasThreads, AllocationCounts, NoAllocationCounts>;

/**
    The hole or span in which one thread bump-allocates: [bump, end) is taken from the queues. The map is zero up to
    `cleared`. In a span that was stale the rest is cleared on the way, always a word further, so that no size is
    read from what is left there. A context is closed (all null) between a rendezvous and the next allocation.

    When a new context replaces another, what was left of the old one must become a hole again. A later allocation does
    that, so no single call pays for both: while such remainders wait, `limit`, normally equal to `cleared`, is held at
    bump. The next allocation then finds no room, takes the slow path, gives back one remainder, and continues in the
    same context. In trials the limit is always held.

    The first fields are those of MprBump (mpr/context.h): a thread that has asked for it allocates there without a call.
 */
struct AllocationContext {
    Byte* begin = nullptr;
    Byte* bump = nullptr;
    Byte* limit = nullptr;
    Byte* map = nullptr; // of the granule at bump
    Counter blocks;      // allocated
    Byte* cleared = nullptr;
    Byte* end = nullptr;
    Region* region = nullptr;
    Span* span = nullptr;         // which the context is, or in which it is a gap
    std::size_t blocksBefore = 0; // of those, allocated before the context was opened
    [[no_unique_address]] Counts counts;
    [[no_unique_address]] FoundGaps gaps; // of the span, behind the end
    StaleSpans stale;                     // spans that this thread may take; under the heap's lock
    SparseSpans sparse;
    // Set when the thread is attached:
    Lane lane = Lane::passing;
    FreeQueues* queues = nullptr; // of the heap, for blocks of its sort
    FreeQueues::Words worth = 0;  // the warm queues whose holes are worth a context
    std::size_t least = 0;        // granules that such a hole has

    inline void open(Extent memory, std::size_t n, std::size_t clear);
    inline void countTaken();
    inline void leaveSpan();
    /** Its pointers are in order. An open context lies in a region. */
    void check() const {
        MPR_ASSERT((begin != nullptr) == (region != nullptr));
        MPR_ASSERT(begin <= bump && bump <= limit && limit <= cleared && cleared <= end);
        MPR_ASSERT(!region || map == region->map().at(region->granuleOf(bump)));
        MPR_ASSERT(!span || begin == end || region->spans.isWalked(region->granuleOf(begin)));
        MPR_ASSERT(span || gaps.isEmpty());
    }
    void close() { begin = bump = limit = map = cleared = end = nullptr, region = nullptr, span = nullptr; }
    /** Granules of blocks made since it was opened. */
    std::size_t made() const { return static_cast<std::size_t>(bump - begin) >> granuleShift; }
    std::size_t room() const { return static_cast<std::size_t>(limit - bump) >> granuleShift; }
    /** Granules up to the end of the context, whatever the limit is. */
    std::size_t rest() const { return static_cast<std::size_t>(end - bump) >> granuleShift; }
};

/** The rest of a context: [begin, end). */
struct Remainder {
    Byte* begin;
    Byte* end;
    Region* region;
};

/**
    Blocks that this thread freed and may take again, by exact size. They are bounded in number and bytes, because
    listed blocks cannot coalesce: a longer list buys little speed for much fragmentation. The first map byte of a
    listed block is mark::opaque, and its size follows.

    The lists lie outside the blocks, so a write after free cannot redirect anybody. The first word of a listed block
    holds a secret, which shows the most common of such writes.
 */
class QuickLists {
public:
    static constexpr std::size_t greatest = os::quickSizes; // granules
    /**
        Granules in all lists of a thread: what it may keep from coalescing. `work_mpr_free million` is as fast with 4
        KiB.
     */
    static constexpr std::size_t budget = (sizeof(void*) == 8 ? 32 : 2) * 1024 >> granuleShift;

    struct Slot {
        void* block; // nullptr: the end of a list
        Byte* map;
    };

    /**
        The slots of a list: its end, then its blocks. A list is aligned to its size, so a full one is told by its
        address.
     */
    static constexpr std::size_t slots = greatest == 0 ? 1 : sizeof(void*) == 8 ? 16 : 8;
    static constexpr std::size_t listBytes = slots * sizeof(Slot);
    static constexpr std::size_t bytes = (greatest + 1) * listBytes;

    /** @param memory `bytes` of memory; with nullptr nothing can be listed. */
    void open(void* memory) {
        if constexpr (greatest > 0) {
            auto* list = reinterpret_cast<Slot*>(roundUp(reinterpret_cast<std::uintptr_t>(memory), listBytes));
            for (Slot*& top : tops_) {
                if (memory) { // `nowhere` is shared, and other threads read it
                    top = list;
                    *top = {};
                    list += slots;
                } else {
                    top = nowhere + slots - 1;
                }
            }
        }
    }

    MPR_INLINE bool push(void* block, Byte* map, std::size_t n, const std::uintptr_t& secret) {
        if constexpr (greatest == 0) {
            return false;
        }
        if (n > greatest) {
            return false;
        }
        Slot* slot = tops_[n - 1] + 1;
        if (reinterpret_cast<std::uintptr_t>(slot) % listBytes == 0 || granules_ + n > budget) {
            return false;
        }
        *slot = {block, map};
        tops_[n - 1] = slot;
        granules_ += n;
        *static_cast<std::uintptr_t*>(block) = secret;
        return true;
    }

    /** The next block of n granules, n <= greatest; nullptr when there is none. */
    void* front(std::size_t n) const { return greatest > 0 ? tops_[n - 1]->block : nullptr; }
    static bool isIntact(const void* block, std::uintptr_t secret) {
        return *static_cast<const std::uintptr_t*>(block) == secret;
    }
    /** Take the front block. @return Its byte in the map. */
    Byte* pop(std::size_t n) {
        Slot* slot = tops_[n - 1];
        MPR_ASSERT(slot->block && *slot->map == mark::opaque && granules_ >= n);
        tops_[n - 1] = slot - 1;
        granules_ -= n;
        return slot->map;
    }

    /** Listed blocks are opaque in the map, and within the budget. */
    void check() const {
        if constexpr (os::checked && greatest > 0) {
            std::size_t granules = 0;
            for (std::size_t n = 1; n <= greatest; ++n) {
                for (const Slot* slot = tops_[n - 1]; slot->block; --slot) {
                    MPR_ASSERT(*slot->map == mark::opaque);
                    granules += n;
                }
            }
            MPR_ASSERT(granules == granules_ && granules <= budget);
        }
    }

    /** Call f(slot) for each block. */
    template <typename F>
    void forEach(F&& f) const {
        for (std::size_t n = 1; granules_ > 0 && n <= greatest; ++n) {
            for (const Slot* slot = tops_[n - 1]; slot->block; --slot) {
                f(*slot);
            }
        }
    }

private:
    static constexpr std::size_t sizes = greatest > 0 ? greatest : 1;
    /** A list that is both empty and full. */
    alignas(listBytes) static inline constinit Slot nowhere[slots] = {};

    Slot* tops_[sizes] = {};
    std::size_t granules_ = 0;
};

class Batch;

/** What only threads have. */
struct LocalBatch {
    Earmark earmark;
    Batch* batch = nullptr; // batch.hpp; nullptr: the thread has not asked for one
    MprContext lent{};      // what the thread was given by mprGetContext; empty: it has not asked
};
struct NoLocalBatch {
    static inline constinit Earmark earmark;
    static constexpr Batch* batch = nullptr;
};

struct Local : std::conditional_t<os::hasThreads, LocalBatch, NoLocalBatch> {
    AllocationContext contexts[lanes];
    QuickLists quick;
    void* quickMemory = nullptr;
    Remainder remainders[os::hasThreads ? 4 : 1]; // the first remainderCount of them
    unsigned remainderCount = 0;
    Byte newborn = 0; // colour of new blocks; it changes only while all threads are stopped
    /** Reasons for a yield to do more than ask for collections: one byte, so that it asks once. */
    static constexpr Byte isPrivileged = 1, hasBatch = 2;
    std::conditional_t<os::hasThreads, Byte, bool> atYield{}; // without threads: whether it is privileged
    /** Whether it may use the reserve below the hard limit. */
    bool privileged() const { return os::hasThreads ? (atYield & isPrivileged) != 0 : atYield; }
    void setPrivileged(bool on) {
        if constexpr (os::hasThreads) {
            atYield = static_cast<Byte>((atYield & ~isPrivileged) | (on ? isPrivileged : 0));
        } else {
            atYield = on;
        }
    }

    [[no_unique_address]] Counts counts; // of blocks that are not made in a context
    Counter blocks;                      // allocated, but not in a context
    Counter freedBlocks;                 // onto quick lists
    Counter freedGranules;               // onto quick lists
    Counter takenGranules;               // from quick lists

    Local* next = nullptr; // the heap's list, under its lock
    Local* previous = nullptr;
};

} // namespace mpr::heap
