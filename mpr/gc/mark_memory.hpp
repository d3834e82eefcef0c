// SPDX-License-Identifier: MIT
/*
    mark_memory.hpp - Where the mark stacks lie.

    There is always a block of the heap, so that marking never lacks memory. There is also a larger area from the system:
    a stack that does not overflow shortens long marking considerably. Only the used part of it is ever backed, or counts
    where a system counts what may be written; its memory is given back after each major collection. Under a hard limit a small
    share of it is used, as the heap grows, which counts against the limits in whole as long as they allow it. A host would
    have to commit again what was given back, so with one there is only the block.
 */
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "mpr/gc/marker.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/os/os.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::gc {

class MarkMemory {
public:
    /** @param asked Bytes to use, or 0 for the usual size. @param fixedHeap Bytes of a heap over a buffer, else 0. */
    bool open(heap::Heap& heap, std::size_t asked, std::size_t fixedHeap) {
        heap_ = &heap;
        blockBytes_ = asked > 0 ? asked : usual;
        // A small heap cannot spare much, and a short stack costs only time.
        blockBytes_ = fixedHeap > 0 ? std::min(blockBytes_, fixedHeap / 32) : blockBytes_;
        heap::Shortage shortage = heap::Shortage::none;
        block_ = heap.allocateShared(heap::granulesFor(blockBytes_), heap::head::held, true, shortage);
        if (asked == 0 && fixedHeap == 0 && areaBytes > 0 && !os::isHosted()) {
            area_ = {os::reserveSparse(areaBytes), areaBytes};
        }
        return block_ != nullptr;
    }
    void close() {
        if (area_.pages) {
            giveBack();
            os::releaseSparse(area_.pages, areaBytes);
        }
    }

    static constexpr unsigned mostMarkers = 4; // tried on two processors only

    /** Decide where the stacks lie. All of them are empty. */
    void choose(const heap::Limits& limits) {
        const bool limited = limits.maximum() != heap::Limits::none;
        const std::size_t wanted = !area_.pages ? 0 : limited ? share(limits) : areaBytes;
        if (wanted == lent_ || (wanted < counted_ && wanted > counted_ / 4)) {
            return;
        }
        giveBack();
        if (!limited) {
            lent_ = wanted;
        } else if (wanted > 0 && heap_->lend(wanted, false)) {
            lent_ = counted_ = wanted;
        }
    }
    /** Give a marker its stacks. If there are several markers, the first gets half of the memory. */
    void lend(Marker& marker, unsigned index, unsigned markers) {
        if (!usesArea() || !place(marker, index, markers, area_.pages, lent_, &area_)) {
            place(marker, index, markers, block_, blockBytes_, nullptr);
        }
    }

    /** The stacks are empty: give their memory back to the system. */
    void trim() {
        if (usesArea()) {
            os::decommit(area_.pages, lent_);
        }
    }

private:
    static constexpr std::size_t usual = 64 * 1024; // 8192 entries
    static constexpr std::size_t areaBytes = !os::hasPages ? 0 : std::size_t{sizeof(void*) == 8 ? 32 : 2} << 20;

    /**
        Bytes of the area that a heap under a hard limit uses; 0: its block will do, or memory is short. 5,000 roots of lists,
        10 MB in all, took 1.84 s CPU without a limit, 2.8 to 4.6 with 64 KiB, 2.1 with 256 and 1.5 with 512; under limits of 24
        to 48 MB a sixth more with half of this share.
     */
    std::size_t share(const heap::Limits& limits) const {
        const std::size_t part = std::min(limits.committed() / 16, limits.maximum() / 64);
        const std::size_t bytes = std::min(std::bit_floor(part), areaBytes);
        const std::size_t others = limits.counted() - std::min(limits.counted(), counted_);
        // A collection crosses no redline, and the last sixteenth is for the program.
        const std::size_t most = std::min(limits.warn(), limits.ceiling() - limits.ceiling() / 16);
        return bytes > usual && others <= most && bytes <= most - others ? bytes : 0;
    }

    bool usesArea() const { return areaBytes > 0 && lent_ > 0; }

    /** @return false when the system has no memory for that part of the area. */
    static bool place(Marker& marker, unsigned index, unsigned markers, void* pages, std::size_t bytes,
                      const MarkArea* area) {
        auto* memory = static_cast<heap::Byte*>(pages);
        if (markers > 1) {
            const std::size_t half = bytes / 2 & ~(sizeof(MarkEntry) - 1);
            const std::size_t part = half / (markers - 1) & ~(sizeof(MarkEntry) - 1);
            memory += index > 0 ? half + (index - 1) * part : 0;
            bytes = index > 0 ? part : half;
        }
        return marker.open(memory, bytes, area);
    }

    void giveBack() {
        trim();
        if (counted_ > 0) {
            heap_->endLoan(counted_);
        }
        lent_ = counted_ = 0;
    }

    // Used on duty, and by open and close.
    heap::Heap* heap_ = nullptr;
    void* block_ = nullptr;
    MarkArea area_;
    std::size_t blockBytes_ = 0;
    std::size_t lent_ = 0;    // bytes of the area; 0: the block is used
    std::size_t counted_ = 0; // of those, against the heap's limits: all or none
};

} // namespace mpr::gc
