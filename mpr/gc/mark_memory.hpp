// SPDX-License-Identifier: MIT
/*
    mark_memory.hpp - Where the mark stacks lie.

    There is always a block of the heap, so that marking never lacks memory, and what it uses counts against the limits.
    Where address space is cheap, and as long as no hard limit is set, there is also a larger area from the system: a
    stack that does not overflow shortens long marking considerably. Only the used part of it is ever backed, and is
    given back.
 */
#pragma once

#include <algorithm>
#include <cstddef>

#include "mpr/gc/marker.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

class MarkMemory {
public:
    /** @param asked Bytes to use, or 0 for the usual size. @param fixedHeap Bytes of a heap over a buffer, else 0. */
    bool open(heap::Heap& heap, std::size_t asked, std::size_t fixedHeap) {
        blockBytes_ = asked > 0 ? asked : usual;
        // A small heap cannot spare much, and a short stack costs only time.
        blockBytes_ = fixedHeap > 0 ? std::min(blockBytes_, fixedHeap / 32) : blockBytes_;
        heap::Shortage shortage = heap::Shortage::none;
        block_ = heap.allocateShared(heap::granulesFor(blockBytes_), heap::head::held, true, shortage);
        if (asked == 0 && fixedHeap == 0 && areaBytes > 0) {
            area_ = os::reserve(areaBytes, os::pageSize());
        }
        return block_ != nullptr;
    }
    void close() {
        if (area_) {
            os::release(area_, areaBytes);
        }
    }

    static constexpr unsigned mostMarkers = 4; // tried on two processors only

    /** Decide where the stacks lie. All of them are empty. */
    void choose(const heap::Limits& limits) { lent_ = area_ && limits.maximum() == heap::Limits::none; }
    /** Give a marker its stacks. If there are several markers, the first gets half of the memory. */
    void lend(Marker& marker, unsigned index, unsigned markers) {
        auto* memory = static_cast<heap::Byte*>(lent_ ? area_ : block_);
        std::size_t bytes = lent_ ? areaBytes : blockBytes_;
        if (markers > 1) {
            const std::size_t part = bytes / 2 / (markers - 1) & ~(sizeof(MarkEntry) - 1);
            memory += index > 0 ? bytes / 2 + (index - 1) * part : 0;
            bytes = index > 0 ? part : bytes / 2;
        }
        marker.open(memory, bytes);
    }

    /** The stacks are empty: give their memory back to the system. */
    void trim() {
        if (lent_) {
            os::decommit(area_, areaBytes);
        }
    }

private:
    static constexpr std::size_t usual = 64 * 1024; // 8192 entries, for a heap under a limit
    static constexpr std::size_t areaBytes = sizeof(void*) == 8 ? std::size_t{32} << 20 : 0;

    // For who is on duty, and for open and close.
    void* block_ = nullptr;
    void* area_ = nullptr;
    std::size_t blockBytes_ = 0;
    bool lent_ = false;
};

} // namespace mpr::gc
