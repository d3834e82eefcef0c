// SPDX-License-Identifier: MIT
/*
    nursery.hpp - Nurseries: pieces of a region that one thread fills with young blocks, and gets back after a
    collection.

    A nursery is an aligned piece as large as an allocation context. Its thread bumps through it without the heap's
    lock, and its free memory stands in no queue. After a collection it comes back in one of two ways:
      - No survivor: the map is not even swept. The nursery is *stale*. Its thread clears the map a few lines at a time
        as it bumps through once more, so a young block that dies costs the collector nothing. Lanes (lane.hpp) make
        this the rule.
      - Some survivors: the collector clears the dead from the map, also without the lock. The nursery is *sparse*. If
        enough of it is free it is listed, and its thread, or later any thread, fills the gaps between survivors in
        address order. Except in the lasting lane, one that is less than half free is used only before the heap would
        grow. Full collections judge all sparse nurseries again.
    Map and memory stay in the cache of the thread that uses them. (Filling the free lines of partly used blocks in
    order is from S. M. Blackburn, K. S. McKinley, "Immix: A Mark-Region Garbage Collector", PLDI 2008.)

        hole --take--> filling --pause--> judged --no survivor--> stale  --take--> filling, or hole
                                          judged --some---------> sparse --take--> filling
                       sparse, with something young in it, or at a full collection --> judged
                       judged, something freed by hand; sparse, memory is short --retire--> holes

    Invariants
      - A piece is in at most one of `filling`, `judged`, `stale`, `sparse`, `retiring` (check). No block reaches into
        it; only a block that was made in a hole there may reach out of it. The first granule is a fence, 7D in the map,
        over which no holes join, so a walk that starts there always knows where it is.
      - Zeros in the map of a nursery that belong to no block or hole are free memory. It is accounted as allocated,
        except in a sparse nursery. Only a free by hand makes holes there, and no context is made from them.
      - The map holds heads of dead blocks in a stale nursery, and in one that is being filled again beyond what its
        thread has cleared. Whoever walks a map or is given an address asks isUncleared first. No marks of holes are
        among them.
      - A list of sparse nurseries may hold some that are no longer sparse: whoever takes one checks it. `listed` says
        that a nursery stands in a list.
      - The sets and lists belong to whoever holds the heap's lock, or has stopped all threads.
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
    A set of up to 64 pieces of a region that any thread may add to. It has two halves: 32-bit boards lack 64-bit
    atomics. Operations are relaxed: the next rendezvous, or the heap's lock, orders what a thread adds before anybody
    relies on it.
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
    Nursery* nextStale; // in the list of stale ones to be taken
    Nursery* nextSparse;
    Local* owner;         // the thread that has filled it; nullptr when that has been detached
    std::uint32_t blocks; // made since it was taken
    std::uint32_t taken;  // granules in those blocks
    std::uint32_t room;   // free granules when it was taken, without the fence
    bool listed;          // stands in a list of sparse ones
    Lane lane;            // of the context that fills it
};

/** Granules that are free between two blocks of a nursery. */
struct Gap {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
};

/** The nurseries of a region. Over a buffer there are none; without pages of a system the compiler leaves this out. */
class Nurseries {
public:
    static constexpr unsigned most = os::hasPages ? 64 : 1; // a bit of a PieceSet for each
    /**
        Granules of the map that are cleared at a time, at least; and how far the walk for a gap looks at a time. One
        allocation pays for a step, so it is short: 512 bytes, eight lines of the cache. `work_mpr mixed` takes 0.095 s
        with 2048, 0.109 s with 512, 0.119 s with 128 (least of 13).
     */
    static constexpr std::size_t step = 512;

    static constexpr unsigned none = 31; // all of the region is piece 0, and no size fits

    Nurseries() { cleared_[0] = allOfIt; }
    /**
        The region is empty. @param shift Log2 of the granules in a piece. A region that is never opened has no
        nurseries.
     */
    void open(unsigned shift) {
        shift_ = shift;
        std::fill_n(cleared_, most, allOfIt);
    }

    /** Whether [g, g + n) is a piece that can be a nursery. */
    bool fits(std::size_t g, std::size_t n) const { return n == std::size_t{1} << shift_ && (g & (n - 1)) == 0; }

    /** Note that something at g outlives the next collection. Any thread. */
    [[gnu::always_inline]] void keep(std::size_t g) {
        if constexpr (os::hasPages) {
            kept.add(g >> shift_);
        }
    }
    /** Note that something at g was freed by hand, so that there is a hole. */
    [[gnu::always_inline]] void pierce(std::size_t g) {
        if constexpr (os::hasPages) {
            pierced.add(g >> shift_);
        }
    }
    /** Whether the map at g is left over and has no meaning. Any thread. */
    [[gnu::always_inline]] bool isUncleared(std::size_t g) const {
        return os::hasPages && g >= __atomic_load_n(cleared_ + (g >> shift_), __ATOMIC_ACQUIRE);
    }
    // Relaxed: the lock is held, or a pause has taken the nursery from its thread. Otherwise only that thread changes
    // it.
    bool isStale(std::size_t i) const { return __atomic_load_n(cleared_ + i, __ATOMIC_RELAXED) == 0; }
    /**
        The map of piece i has a meaning up to granule g. By default all of it has; 0 makes the piece stale.
        Releases: whoever learns from isUncleared that a byte has a meaning, and then reads it, finds no old one.
     */
    void setCleared(std::size_t i, std::uint32_t g = allOfIt) { __atomic_store_n(cleared_ + i, g, __ATOMIC_RELEASE); }
    std::size_t cleared(std::size_t i) const {
        return std::min<std::size_t>(__atomic_load_n(cleared_ + i, __ATOMIC_RELAXED), begin(i + 1));
    }
    /** Whether zeros are free memory in the piece that g lies in. */
    bool isWalked(std::size_t g) const {
        return os::hasPages && ((filling | judged | sparse | retiring) >> (g >> shift_ & 63) & 1) != 0;
    }
    /** Whether a sweep passes over the piece that g lies in. */
    bool isPassedOver(std::size_t g) const {
        const std::size_t i = g >> shift_;
        return os::hasPages && (isStale(i) || ((filling | sparse) >> (i & 63) & 1) != 0);
    }
    std::size_t beginOf(std::size_t g) const { return g >> shift_ << shift_; }
    /** How far a sweep that begins at g may go before it has to ask isPassedOver again. */
    std::size_t endOf(std::size_t g) const { return os::hasPages ? ((g >> shift_) + 1) << shift_ : ~std::size_t{0}; }

    std::size_t indexOf(const Nursery* nursery) const { return static_cast<std::size_t>(nursery - pieces); }
    std::size_t indexOf(std::size_t g) const { return g >> shift_; }
    bool isPierced(const Nursery* nursery) const { return pierced.has(indexOf(nursery)); }
    std::size_t begin(std::size_t i) const { return i << shift_; }
    std::size_t beginOf(const Nursery* nursery) const { return begin(indexOf(nursery)); }

    /** Move nursery i from one of the sets below to another. */
    static void move(std::size_t i, std::uint64_t& from, std::uint64_t& to) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        MPR_ASSERT((from & bit) != 0 && (to & bit) == 0);
        from &= ~bit;
        to |= bit;
    }

    /** A hole or a stale nursery is about to be filled. @param clear Granules from g on whose map is clear. */
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
    /** A sparse nursery, in which something lives, is about to be filled in its gaps. */
    void takeSparse(Nursery& nursery) {
        const std::size_t i = indexOf(&nursery);
        kept.add(i);
        pierced.remove(i);
        move(i, sparse, filling);
        nursery.blocks = nursery.taken = 0;
    }

    /** Each piece is in at most one set, and holds no more new blocks than it had room for. */
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
    // Side by side, because each free looks here. A region that is never opened has only the first.
    std::uint32_t cleared_[most];
};

} // namespace mpr::heap
