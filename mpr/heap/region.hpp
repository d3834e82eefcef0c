/*
    region.hpp - A region: memory from the system or a caller's buffer, with its granule map in front.

        base                       firstGranule                                   endGranule
        | Region | granule map ... | blocks and holes .............................| (one map byte more: 7D)

    Map index 0 is the region's own first granule: the map's first entries describe the header and the map itself and
    stay 00. A region from the system is aligned to the region size. A large region holds one block that no ordinary
    region can hold; its map has the few bytes that this block needs.

    Memory is accounted by chunk, a 64th of an ordinary region (32-bit: a 32nd): `committed` has a bit for each chunk that may be backed.
    Chunks inside a hole are committed when a block or a context first reaches them and given back by a purge.

    Invariant: a chunk that holds any part of a block, of a context or the links of a hole is committed.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/heap/map.hpp"

namespace mpr::heap {

enum class Origin : Byte {
    system, // reserved for ordinary blocks
    large,  // reserved for one block
    buffer, // the caller's memory
};

/**
    What an ordinary region is used for. Small blocks that live long would pierce the memory of larger ones: apart, either
    sort leaves holes that its own kind can use again. An empty region may change its sort; a buffer serves both.
 */
enum class Sort : Byte { small, big };
inline constexpr unsigned sorts = os::hasPages ? 2 : 1;
/** Granules of the largest small block: 1 KiB on 64-bit. */
inline constexpr std::size_t greatestSmall = 64;
constexpr Sort sortOf(std::size_t granules) {
    return sorts == 1 || granules <= greatestSmall ? Sort::small : Sort::big;
}

/** A bit for each chunk of a region: one word, so that looking at several is a few instructions on any processor. */
using ChunkSet = std::size_t;

struct Region {
    static constexpr unsigned chunks = 8 * sizeof(ChunkSet);

    Region* next = nullptr;
    Region* previous = nullptr;
    std::size_t span = 0; // bytes from this
    std::uint32_t firstGranule = 0;
    std::uint32_t endGranule = 0;
    ChunkSet committed = 0;
    std::size_t largeGranules = 0; // size of the block of a large region
    unsigned chunkShift = 0;       // log2 of granules in a chunk
    Origin origin = Origin::system;
    Sort sort = Sort::small;
    /** Chunks where a block that wants MPR_MANAGE_FREE was made since the last rendezvous, or survived it: a bit each. */
    std::atomic<ChunkSet> wantsFree{0};
    /** The same as it was at the rendezvous: where the collector has to look for such blocks among the dead. */
    ChunkSet scanForFree = 0;
    /** The marker's: granules between which it left blocks reached but not traced, for want of mark stack. */
    std::uint32_t greyFrom = ~0u;
    std::uint32_t greyTo = 0;

    static constexpr std::size_t mapOffset();

    /** Where the map begins is fixed, so an address leads to its map byte by arithmetic alone. */
    GranuleMap map() { return GranuleMap(reinterpret_cast<Byte*>(this) + mapOffset()); }

    std::size_t granuleOf(const void* address) const {
        return static_cast<std::size_t>(static_cast<const Byte*>(address) - reinterpret_cast<const Byte*>(this)) >>
               granuleShift;
    }
    Byte* address(std::size_t g) { return reinterpret_cast<Byte*>(this) + (g << granuleShift); }

    bool contains(const void* address) const {
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(this) < span;
    }

    bool isLarge() const { return os::hasPages && origin == Origin::large; }

    std::size_t blockSize(std::size_t g) { return isLarge() ? largeGranules : map().blockSize(g); }

    /** Whether the address is the start of a block in use. Any address inside the region. */
    bool isBlock(const void* address) {
        const std::size_t g = granuleOf(address);
        return reinterpret_cast<std::uintptr_t>(address) % granuleSize == 0 && g >= firstGranule && g < endGranule &&
               (!isLarge() || g == firstGranule) && (map().get(g) & head::inUse) != 0;
    }

    std::size_t chunkBytes() const { return granuleSize << chunkShift; }

    /** Bytes of a set of chunks; the region may end inside its last one. */
    std::size_t bytesOf(ChunkSet set) const {
        const std::size_t whole = static_cast<std::size_t>(std::popcount(set)) * chunkBytes();
        const std::size_t last = (span - 1) / chunkBytes();
        return (set >> last & 1) == 0 ? whole : whole - ((last + 1) * chunkBytes() - span);
    }

    /** Note that a block at granule g wants MPR_MANAGE_FREE. Any thread. */
    void noteWantsFree(std::size_t g) {
        const ChunkSet bit = ChunkSet{1} << (g >> chunkShift);
        if ((wantsFree.load(std::memory_order_relaxed) & bit) == 0) {
            wantsFree.fetch_or(bit, std::memory_order_relaxed);
        }
    }

    /** The chunks that granules [from, to) touch. */
    ChunkSet chunksTouched(std::size_t from, std::size_t to) const {
        const std::size_t first = from >> chunkShift;
        const std::size_t last = (to - 1) >> chunkShift;
        return (~ChunkSet{0} >> (chunks - 1 - (last - first))) << first;
    }
    /** The chunks that lie wholly between granules from and to; 0 when there is none. */
    ChunkSet chunksInside(std::size_t from, std::size_t to) const {
        const std::size_t first = (from + (std::size_t{1} << chunkShift) - 1) >> chunkShift;
        const std::size_t end = to >> chunkShift;
        return first < end ? (~ChunkSet{0} >> (chunks - (end - first))) << first : 0;
    }
};

constexpr std::size_t Region::mapOffset() {
    return roundUp(sizeof(Region), 64);
}

} // namespace mpr::heap
