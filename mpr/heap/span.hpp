// SPDX-License-Identifier: MIT
/*
    span.hpp - Spans: pieces of a region that one thread fills with young blocks, and gets back after a
    collection.

    A span is an aligned piece as large as an allocation context. Its thread bumps through it without the heap's
    lock, and its free memory stands in no queue. After a collection it comes back in one of two ways:
      - No survivor: the map is not even swept. The span is *stale*. Its thread clears the map a few lines at a time
        as it bumps through once more, so a young block that dies costs the collector nothing. Lanes (lane.hpp) make
        this the rule.
      - Some survivors: the collector clears the dead from the map, also without the lock. The span is *sparse*. If
        enough of it is free it is listed, and its thread, or later any thread, fills the gaps between survivors in
        address order. Except in the lasting lane, one that is less than half free is used only before the heap would
        grow. Full collections judge all sparse spans again.
    Map and memory stay in the cache of the thread that uses them. (Filling the free lines of partly used blocks in
    order is from S. M. Blackburn, K. S. McKinley, "Immix: A Mark-Region Garbage Collector", PLDI 2008.)

        hole --take--> filling --pause--> judged --no survivor--> stale  --take--> filling, or hole
                                          judged --some---------> sparse --take--> filling
                       sparse, with something young in it, or at a full collection --> judged
                       judged, something pierced it; sparse, memory is short --retire--> holes

    Invariants
      - A piece is in at most one of `filling`, `judged`, `stale`, `sparse`, `retiring` (check). No block reaches into
        it; only a block that was made in a hole there, or has grown into one, may reach out of it: the span is pierced
        then. The first granule is a fence, 7D in the map, over which no holes join, so a walk that starts there always
        knows where it is.
      - Zeros in the map of a span that belong to no block or hole are free memory. It is accounted as allocated,
        except in a sparse span. Only a free by hand makes holes there, and no context is made from them.
      - The map holds heads of dead blocks in a stale span, and in one that is being filled again beyond what its
        thread has cleared. Whoever walks a map or is given an address asks isUncleared first. No marks of holes are
        among them.
      - A list of sparse spans may hold some that are no longer sparse: whoever takes one checks it. `listed` says
        that a span stands in a list.
      - The sets and lists belong to whoever holds the heap's lock, or has stopped all threads.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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
            change(half, bit, [&] { half.fetch_or(bit, std::memory_order_relaxed); });
        }
    }
    void remove(std::size_t i) {
        auto& half = halves_[i >> 5];
        const std::uint32_t bit = std::uint32_t{1} << (i & 31);
        if ((half.load(std::memory_order_relaxed) & bit) != 0) {
            change(half, bit, [&] { half.fetch_and(~bit, std::memory_order_relaxed); });
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
    /** Flip a bit; atomically(), where there are threads: a Cortex-M0 has no such instruction. */
    template <typename F>
    [[gnu::always_inline]] static void change(std::atomic<std::uint32_t>& half, std::uint32_t bit, F&& atomically) {
        if constexpr (os::hasThreads) {
            atomically();
        } else {
            half.store(half.load(std::memory_order_relaxed) ^ bit, std::memory_order_relaxed);
        }
    }

    std::atomic<std::uint32_t> halves_[2] = {};
};

/** The state of one span. */
struct Span {
    Span* nextStale; // in the list of stale ones to be taken
    Span* nextSparse;
    Local* owner;         // the thread that has filled it; nullptr when that has been detached
    std::uint32_t blocks; // made since it was taken
    std::uint32_t taken;  // granules in those blocks
    std::uint32_t room;   // free granules when it was taken, without the fence
    bool listed;          // stands in a list of sparse ones
    Lane lane;            // of the context that fills it
};

/** Granules that are free between two blocks of a span. */
struct Gap {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
};

/**
    Gaps of a span that its thread has found under the heap's lock, to be opened without it. A gap that is too small for one
    block waits for a smaller one, as long as there is room here. Nothing else may be made in them until the thread stops:
    they are zeros in a span that is being filled, which belong to its thread, and holes do not grow over them.
 */
class Gaps {
public:
    static constexpr unsigned most = 8;

    bool isEmpty() const { return count_ == 0; }
    bool isFull() const { return count_ == most; }
    void clear() { count_ = walked_ = 0; }
    void add(Gap gap) {
        if (!isFull()) {
            gaps_[count_++] = {static_cast<std::uint32_t>(gap.begin), static_cast<std::uint32_t>(gap.end)};
        }
    }
    /** Forget those that have waited longest, to make room for others. */
    void dropHalf() {
        if (count_ > most / 2) {
            std::copy(gaps_ + count_ - most / 2, gaps_ + count_, gaps_);
            count_ = most / 2;
        }
    }
    /** The first one of n granules or more; an empty one: there is none. */
    Gap take(std::size_t n) {
        for (unsigned i = 0; i < count_; ++i) {
            if (const Short gap = gaps_[i]; gap.end - gap.begin >= n) {
                std::copy(gaps_ + i + 1, gaps_ + count_, gaps_ + i);
                --count_;
                return {gap.begin, gap.end};
            }
        }
        return {0, 0};
    }
    /** The granule where the walk for more of them goes on; 0: there are no more. */
    std::size_t walked() const { return walked_; }
    void setWalked(std::size_t g) { walked_ = static_cast<std::uint32_t>(g); }

private:
    struct Short {
        std::uint32_t begin, end;
    };
    Short gaps_[most];
    std::uint32_t count_ = 0, walked_ = 0;
};
/** Where there are no spans. */
struct NoGaps {
    static bool isEmpty() { return true; }
    static bool isFull() { return true; }
    static void clear() {}
    static void add(Gap) {}
    static void dropHalf() {}
    static Gap take(std::size_t) { return {0, 0}; }
    static std::size_t walked() { return 0; }
    static void setWalked(std::size_t) {}
};
using FoundGaps = std::conditional_t<os::hasPages, Gaps, NoGaps>;

/** The spans of a region. Over a buffer there are none; without pages of a system the compiler leaves this out. */
class Spans {
public:
    static constexpr unsigned most = os::hasPages ? 64 : 1; // a bit of a PieceSet for each
    /**
        Granules of the map that are cleared at a time, at least; and how far the walk for a gap looks at a time. One
        allocation pays for a step, so it is short: 512 bytes, eight lines of the cache. `work_mpr mixed` takes 0.095 s
        with 2048, 0.109 s with 512, 0.119 s with 128 (least of 13).
     */
    static constexpr std::size_t step = 512;

    static constexpr unsigned none = 31; // all of the region is piece 0, and no size fits

    Spans() { cleared_[0] = allOfIt; }
    /**
        The region is empty. @param shift Log2 of the granules in a piece. A region that is never opened has no
        spans.
     */
    void open(unsigned shift) {
        shift_ = shift;
        std::fill_n(cleared_, most, allOfIt);
    }

    /** Whether [g, g + n) is a piece that can be a span. */
    bool fits(std::size_t g, std::size_t n) const { return n == std::size_t{1} << shift_ && (g & (n - 1)) == 0; }

    /** Note that something at g outlives the next collection. Any thread. */
    [[gnu::always_inline]] void keep(std::size_t g) {
        if constexpr (os::hasPages) {
            kept.add(g >> shift_);
        }
    }
    /**
        Note that something at g was freed by hand, so that there is a hole, or has grown into one: the span is more than
        what its thread bumped through, and less, and only a walk tells.
     */
    [[gnu::always_inline]] void pierce(std::size_t g) {
        if constexpr (os::hasPages) {
            pierced.add(g >> shift_);
        }
    }
    /** Whether the map at g is left over and has no meaning. Any thread. */
    [[gnu::always_inline]] bool isUncleared(std::size_t g) const {
        return os::hasPages && g >= __atomic_load_n(cleared_ + (g >> shift_), __ATOMIC_ACQUIRE);
    }
    // Relaxed: the lock is held, or a pause has taken the span from its thread. Otherwise only that thread changes
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

    std::size_t indexOf(const Span* span) const { return static_cast<std::size_t>(span - pieces); }
    std::size_t indexOf(std::size_t g) const { return g >> shift_; }
    bool isPierced(const Span* span) const { return pierced.has(indexOf(span)); }
    std::size_t begin(std::size_t i) const { return i << shift_; }
    std::size_t beginOf(const Span* span) const { return begin(indexOf(span)); }

    /** Move span i from one of the sets below to another. */
    static void move(std::size_t i, std::uint64_t& from, std::uint64_t& to) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        MPR_ASSERT((from & bit) != 0 && (to & bit) == 0);
        from &= ~bit;
        to |= bit;
    }

    /** A hole or a stale span is about to be filled. @param clear Granules from g on whose map is clear. */
    Span* take(std::size_t g, std::size_t clear, Local* owner, Lane lane) {
        const std::size_t i = g >> shift_;
        MPR_ASSERT(i < most && !isWalked(g));
        setCleared(i, g + clear < begin(i + 1) ? static_cast<std::uint32_t>(g + clear) : allOfIt);
        kept.remove(i);
        pierced.remove(i);
        filling |= std::uint64_t{1} << i;
        Span& span = pieces[i];
        span.owner = owner;
        span.lane = lane;
        span.blocks = span.taken = 0;
        span.room = (std::uint32_t{1} << shift_) - 1;
        return &span;
    }
    /** A sparse span, in which something lives, is about to be filled in its gaps. */
    void takeSparse(Span& span) {
        const std::size_t i = indexOf(&span);
        kept.add(i);
        pierced.remove(i);
        move(i, sparse, filling);
        span.blocks = span.taken = 0;
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
                const Span& span = pieces[std::countr_zero(any)];
                MPR_ASSERT(span.room < std::uint32_t{1} << shift_ && span.taken <= span.room);
            }
        }
    }

    std::uint64_t filling = 0;
    std::uint64_t judged = 0;
    std::uint64_t sparse = 0;
    std::uint64_t retiring = 0;
    PieceSet kept, pierced;
    Span pieces[most];

private:
    static constexpr std::uint32_t allOfIt = ~std::uint32_t{0};

    unsigned shift_ = none;
    // Side by side, because each free looks here. A region that is never opened has only the first.
    std::uint32_t cleared_[most];
};

} // namespace mpr::heap
