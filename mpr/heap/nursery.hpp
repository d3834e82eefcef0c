/*
    nursery.hpp - Nurseries: pieces of a region that one thread fills with young blocks and, when all of them have died,
    gets back whole, untouched by anybody else.

    A nursery is an aligned piece as large as an allocation context. A thread whose context is one bumps through it as
    through any other. When a collection finds no survivor there, the map of the piece is not swept: the nursery becomes
    *stale* and goes back to the thread that filled it, which clears the map a few lines at a time as it bumps through
    once more. So a young block that dies costs the collector nothing, and map and memory stay in the cache of the thread
    that uses them. (Whole free blocks of a thread are preferred for the same reason by S. M. Blackburn, K. S. McKinley,
    "Immix: A Mark-Region Garbage Collector", PLDI 2008.)

        hole --take--> filling --pause--> judged --all dead--> stale --take--> filling
                                          judged --a survivor, a hold, a free by hand, or something for
                                                    MPR_MANAGE_FREE to look at--> swept, as memory in no nursery

    Invariants
      - A piece is in at most one of `filling`, `judged` and `stale`. None of its holes is in a queue, except in a kept one.
      - Blocks lie in [begin, used); no block reaches into or out of a nursery. Before it is left, `used` is not known.
      - The map behind a stale nursery's first granule, and behind what its new thread has cleared, holds heads of the
        dead. Whoever walks a map passes over these. No boundary mark of a hole is among them.
      - `filling`, `judged`, the lists of the stale and `units` belong to whoever has the heap's lock, or has stopped all threads.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/heap/granule.hpp"

namespace mpr::heap {

struct Local;

/** A set of up to 64 pieces of a region that any thread may add to. Two halves: 32-bit boards have no 64-bit atomics. */
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

/** What stands at the begin of a stale nursery. */
struct StaleNursery {
    StaleNursery* next;
};

/** The nurseries of a region. Over a buffer there are none; without pages of a system the compiler leaves this out. */
class Nurseries {
public:
    static constexpr unsigned most = os::hasPages ? 64 : 1;
    /** Granules of the map that are cleared at a time, at least. */
    static constexpr std::size_t step = 512;

    struct Unit {
        Local* owner;         // who has filled it; nullptr when it has left
        std::uint32_t blocks; // how many
        std::uint32_t used;   // granule behind the last
    };

    /** @param shift Log2 of granules. A region that is never told has none. */
    void open(unsigned shift) { shift_ = shift; }

    std::size_t indexOf(std::size_t g) const { return g >> shift_; }
    std::size_t begin(std::size_t i) const { return i << shift_; }
    /** Whether [g, g + n) is a piece that can be a nursery. */
    bool fits(std::size_t g, std::size_t n) const { return n == std::size_t{1} << shift_ && (g & (n - 1)) == 0; }

    /** Something at g outlives the next collection, or is to be looked at by its sweep. Any thread. */
    [[gnu::always_inline]] void keep(std::size_t g) {
        if constexpr (os::hasPages) {
            kept.add(g >> shift_);
        }
    }
    /** Whether what stands in the map at g has no meaning. */
    bool isStale(std::size_t g) const { return os::hasPages && stale.has(g >> shift_); }
    /** The same while threads are stopped, what lies behind the last block of a nursery included. */
    bool isUnused(std::size_t g) const {
        const std::size_t i = g >> shift_;
        return os::hasPages && (stale.has(i) || ((judged >> (i & 63) & 1) != 0 && g >= units[i].used));
    }
    /** Whether a sweep passes over the piece that g lies in. */
    bool isPassedOver(std::size_t g) const {
        const std::size_t i = g >> shift_;
        return os::hasPages && (stale.has(i) || (filling >> (i & 63) & 1) != 0);
    }
    /** How far a sweep that begins at g may go on before it has to ask that again. */
    std::size_t endOf(std::size_t g) const { return os::hasPages ? ((g >> shift_) + 1) << shift_ : ~std::size_t{0}; }

    void take(std::size_t g, Local* owner) {
        const std::size_t i = g >> shift_;
        stale.remove(i);
        kept.remove(i);
        filling |= std::uint64_t{1} << i;
        units[i].owner = owner;
    }

    std::uint64_t filling = 0;
    std::uint64_t judged = 0;
    PieceSet kept, stale;
    Unit units[most];

private:
    unsigned shift_ = 31; // all of the region is piece 0, and no size fits
};

} // namespace mpr::heap
