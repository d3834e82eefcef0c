// SPDX-License-Identifier: MIT
/*
    nursery.hpp - Nurseries: pieces of a region that one thread fills with young blocks, and gets back after a collection.

    A nursery is an aligned piece as large as an allocation context. Its thread bumps through it without the heap's lock, and
    its free memory stands in no queue. After a collection it comes back in one of two ways:
      - No survivor: the map is not even swept. The nursery is *stale*; its thread clears the map a few lines at a time as it
        bumps through once more. A young block that dies so costs the collector nothing. Lanes (lane.hpp) make that the rule.
      - Some survivors: the collector clears the dead from the map, also without the lock. The nursery is *sparse*; if enough
        of it is free, it is listed, and its thread, or later any thread, fills the gaps between the survivors in the order
        of their addresses; those that are less than half free only before the heap grows, but for those of the lasting lane.
        Full collections look at all sparse ones again.
    Map and memory stay in the cache of the thread that uses them. (That a thread should fill free lines of partly used
    blocks in order is from S. M. Blackburn, K. S. McKinley, "Immix: A Mark-Region Garbage Collector", PLDI 2008.)

        hole --take--> filling --pause--> judged --no survivor--> stale  --take--> filling, or hole
                                          judged --some---------> sparse --take--> filling
                       sparse, with something young in it, or at a full collection --> judged
                       judged, something freed by hand; sparse, memory is short --retire--> holes

    Invariants
      - A piece is in at most one of `filling`, `judged`, `stale`, `sparse`, `retiring` (check). No block reaches into it; only one
        that was made in a hole there may reach out. Its first granule is a fence, 7D in the map, over which no holes join:
        so a walk from there on always knows where it is.
      - What is zero in the map of a nursery, and in no block or hole, is free; it is accounted as allocated but in a sparse
        one. Only a free by hand makes holes there; nobody makes a context of these.
      - In a stale one, and in one that was filled again behind what its thread has cleared, the map holds heads of the dead.
        Whoever walks a map or is given an address asks first (isUncleared). No boundary mark of a hole is among them.
      - In a list of the sparse may also stand what is no longer: whoever takes from it looks. `listed` says that it stands
        in one.
      - The sets and lists belong to whoever has the heap's lock, or has stopped all threads.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "mpr/heap/granule.hpp"
#include "mpr/heap/lane.hpp"
#include "mpr/os/check.hpp"

namespace mpr::heap {

struct Local;

/**
    A set of up to 64 pieces of a region that any thread may add to. Two halves: 32-bit boards have no 64-bit atomics.
    Relaxed: what a thread adds is counted on from the next rendezvous, or from when the heap's lock changes hands.
 */
class PieceSet {
public:
    bool has(std::size_t i) const { return (halves_[i >> 5].load(std::memory_order_relaxed) >> (i & 31) & 1) != 0; }
    [[gnu::always_inline]] void add(std::size_t i) {
        auto& half = halves_[i >> 5];
        const std::uint32_t bit = std::uint32_t{1} << (i & 31);
        if ((half.load(std::memory_order_relaxed) & bit) == 0) {
            half.fetch_or(bit, std::memory_order_relaxed);
        }
    }
    void remove(std::size_t i) {
        auto& half = halves_[i >> 5];
        const std::uint32_t bit = std::uint32_t{1} << (i & 31);
        if ((half.load(std::memory_order_relaxed) & bit) != 0) {
            half.fetch_and(~bit, std::memory_order_relaxed);
        }
    }
    std::uint64_t get() const {
        return halves_[0].load(std::memory_order_relaxed) | std::uint64_t{halves_[1].load(std::memory_order_relaxed)}
                                                                << 32;
    }
    std::uint64_t take() {
        return halves_[0].exchange(0, std::memory_order_relaxed) |
               std::uint64_t{halves_[1].exchange(0, std::memory_order_relaxed)} << 32;
    }

private:
    std::atomic<std::uint32_t> halves_[2] = {};
};

/** What is known of one nursery. */
struct Nursery {
    Nursery* nextStale; // in the lists of those to be taken
    Nursery* nextSparse;
    Local* owner;         // who has filled it; nullptr when it has left
    std::uint32_t blocks; // made since it was taken
    std::uint32_t taken;  // granules of these
    std::uint32_t room;   // free granules when it was taken, without the fence
    bool listed;          // among the sparse
    Lane lane;            // of the contexts that take it
};

/** Granules that are free between two blocks of a nursery. */
struct Gap {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
};

/** The nurseries of a region. Over a buffer there are none; without pages of a system the compiler leaves this out. */
class Nurseries {
public:
    static constexpr unsigned most = os::hasPages ? 64 : 1;
    /** Granules of the map that are cleared at a time, at least. */
    static constexpr std::size_t step = 512;

    static constexpr unsigned none = 31; // all of the region is piece 0, and no size fits

    Nurseries() { cleared_[0] = allOfIt; }
    /** @param shift Log2 of granules. A region that is never told has none. The region is empty. */
    void open(unsigned shift) {
        shift_ = shift;
        std::fill_n(cleared_, most, allOfIt);
    }

    /** Whether [g, g + n) is a piece that can be a nursery. */
    bool fits(std::size_t g, std::size_t n) const { return n == std::size_t{1} << shift_ && (g & (n - 1)) == 0; }

    /** Something at g outlives the next collection. Any thread. */
    [[gnu::always_inline]] void keep(std::size_t g) {
        if constexpr (os::hasPages) {
            kept.add(g >> shift_);
        }
    }
    /** Something at g was freed by hand, so that there is a hole. */
    [[gnu::always_inline]] void pierce(std::size_t g) {
        if constexpr (os::hasPages) {
            pierced.add(g >> shift_);
        }
    }
    /** Whether what stands in the map at g has no meaning. Any thread. */
    [[gnu::always_inline]] bool isUncleared(std::size_t g) const {
        return os::hasPages && g >= __atomic_load_n(cleared_ + (g >> shift_), __ATOMIC_ACQUIRE);
    }
    // Relaxed: the lock is held, or a pause has taken the nursery from its thread. Only that moves it on meanwhile.
    bool isStale(std::size_t i) const { return __atomic_load_n(cleared_ + i, __ATOMIC_RELAXED) == 0; }
    /**
        What stands in the map of piece i has a meaning up to granule g: 0 makes it stale, all of it when nothing is
        said. Releases: who learns from isUncleared that a byte has a meaning, and reads it then, finds no old one.
     */
    void setCleared(std::size_t i, std::uint32_t g = allOfIt) { __atomic_store_n(cleared_ + i, g, __ATOMIC_RELEASE); }
    std::size_t cleared(std::size_t i) const {
        return std::min<std::size_t>(__atomic_load_n(cleared_ + i, __ATOMIC_RELAXED), begin(i + 1));
    }
    /** Whether the piece that g lies in is walked by what is zero there. */
    bool isWalked(std::size_t g) const {
        return os::hasPages && ((filling | judged | sparse | retiring) >> (g >> shift_ & 63) & 1) != 0;
    }
    /** Whether a sweep passes over the piece that g lies in. */
    bool isPassedOver(std::size_t g) const {
        const std::size_t i = g >> shift_;
        return os::hasPages && (isStale(i) || ((filling | sparse) >> (i & 63) & 1) != 0);
    }
    std::size_t beginOf(std::size_t g) const { return g >> shift_ << shift_; }
    /** How far a sweep that begins at g may go on before it has to ask that again. */
    std::size_t endOf(std::size_t g) const { return os::hasPages ? ((g >> shift_) + 1) << shift_ : ~std::size_t{0}; }

    std::size_t indexOf(const Nursery* nursery) const { return static_cast<std::size_t>(nursery - pieces); }
    std::size_t indexOf(std::size_t g) const { return g >> shift_; }
    bool isPierced(const Nursery* nursery) const { return pierced.has(indexOf(nursery)); }
    std::size_t begin(std::size_t i) const { return i << shift_; }
    std::size_t beginOf(const Nursery* nursery) const { return begin(indexOf(nursery)); }

    /** Nursery i passes from one of the sets below to another. */
    static void move(std::size_t i, std::uint64_t& from, std::uint64_t& to) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        MPR_ASSERT((from & bit) != 0 && (to & bit) == 0);
        from &= ~bit;
        to |= bit;
    }

    /** A hole or a stale nursery, whose map is clear for so many granules, is about to be filled. */
    Nursery* take(std::size_t g, std::size_t clear, Local* owner, Lane lane) {
        const std::size_t i = g >> shift_;
        MPR_ASSERT(i < most && !isWalked(g));
        setCleared(i, g + clear < begin(i + 1) ? static_cast<std::uint32_t>(g + clear) : allOfIt);
        kept.remove(i);
        pierced.remove(i);
        filling |= std::uint64_t{1} << i;
        Nursery& nursery = pieces[i];
        nursery.owner = owner;
        nursery.lane = lane;
        nursery.blocks = nursery.taken = 0;
        nursery.room = (std::uint32_t{1} << shift_) - 1;
        return &nursery;
    }
    /** The same for a sparse one, which has something to keep. */
    void takeSparse(Nursery& nursery) {
        const std::size_t i = indexOf(&nursery);
        kept.add(i);
        pierced.remove(i);
        move(i, sparse, filling);
        nursery.blocks = nursery.taken = 0;
    }

    /** Each piece is in one set at most, and has made no more than it had room for. */
    void check() const {
        if constexpr (os::checked && os::hasPages) {
            const std::uint64_t sets[] = {filling, judged, sparse, retiring};
            std::uint64_t any = 0;
            for (const std::uint64_t set : sets) {
                MPR_ASSERT((any & set) == 0);
                any |= set;
            }
            for (; any != 0; any &= any - 1) {
                const Nursery& nursery = pieces[std::countr_zero(any)];
                MPR_ASSERT(nursery.room < std::uint32_t{1} << shift_ && nursery.taken <= nursery.room);
            }
        }
    }

    std::uint64_t filling = 0;
    std::uint64_t judged = 0;
    std::uint64_t sparse = 0;
    std::uint64_t retiring = 0;
    PieceSet kept, pierced;
    Nursery pieces[most];

private:
    static constexpr std::uint32_t allOfIt = ~std::uint32_t{0};

    unsigned shift_ = none;
    // Side by side: a free asks for any address. A region that is never opened has the first only.
    std::uint32_t cleared_[most];
};

} // namespace mpr::heap
