// SPDX-License-Identifier: MIT
/*
    test/support/stepped_heap.hpp - A heap for one test case, with one thread's allocation context and no collector: the test
    marks by hand, and says when a sweep begins and how far it goes. No runtime exists meanwhile.
 */
#pragma once

#include "test/catch.hpp"

#include "mpr/heap/heap.hpp"
#include "test/support/log.hpp"

#include <bit>
#include <memory>

namespace test {

class SteppedHeap {
public:
    using Byte = mpr::heap::Byte;

    explicit SteppedHeap(unsigned regionShift = 18) {
        options.regionShift = regionShift;
        options.poison = false;
        REQUIRE(heap().open(options, nullptr, 0));
        heap().attach(local);
    }
    ~SteppedHeap() {
        heap().detach(local);
        const int defects = heap().verify();
        INFO(Log::text());
        CHECK(defects == 0);
        heap().close();
    }
    SteppedHeap(const SteppedHeap &) = delete;
    SteppedHeap &operator=(const SteppedHeap &) = delete;

    mpr::heap::Heap &heap() { return *own; }
    mpr::heap::Region *regionOf(const void *block) { return heap().find(block); }
    size_t granuleOf(const void *block) { return regionOf(block)->granuleOf(block); }
    Byte head(const void *block) { return regionOf(block)->headAt(block); }
    bool isBlock(const void *address) {
        mpr::heap::Region *region = regionOf(address);
        return region && region->isBlock(address);
    }

    /* A block of n granules, from the context if it has room. */
    void *make(size_t n, Byte flags = 0) {
        void *block = heap().allocateFast(local, n, flags);
        return block ? block : makeSlowly(n, flags);
    }
    /* A block of n granules that comes neither from the quick list nor from the rest of the context. */
    void *makeSlowly(size_t n, Byte flags = 0) {
        mpr::heap::Shortage shortage = mpr::heap::Shortage::none;
        void *block = heap().allocateSlow(local, n, flags, shortage);
        REQUIRE(block);
        return block;
    }
    /* A block straight from a hole. */
    void *makeApart(size_t n, Byte flags = 0) {
        mpr::heap::Shortage shortage = mpr::heap::Shortage::none;
        void *block = heap().allocateShared(n, flags, false, shortage);
        REQUIRE(block);
        return block;
    }
    bool free(void *block) { return heap().free(local, regionOf(block), block); }
    /* Past the quick lists. */
    void freeApart(void *block) { heap().freeShared(regionOf(block), block); }

    /* Every block becomes unmarked, or every young one. */
    void unmark(bool everything) {
        heap().beginMarking();
        if (everything) {
            heap().unmarkOld();
        }
    }
    /* As a marker does it that has reached a block; and without the sets that say where something lives. */
    void mark(const void *block) {
        mpr::heap::Region *region = regionOf(block);
        region->map().set(granuleOf(block), heap().colours().survivor(head(block)));
        region->spans.keep(granuleOf(block));
    }
    /* All of a sweep, stage by stage. @return blocks freed. */
    size_t sweep(mpr::heap::Sweep what) {
        heap().beginSweep(what);
        mpr::heap::Heap::Swept swept;
        forRegions([&](mpr::heap::Region *region) { heap().releaseDeadSpans(region, swept); });
        forRegions([&](mpr::heap::Region *region) {
            while (heap().releaseKeptSpans(region, swept, 1)) {}
        });
        while (heap().reclaimSpan(false)) {}
        forRegions([&](mpr::heap::Region *region) { sweepLines(region, what, swept); });
        heap().endSweep();
        return swept.blocks;
    }

    Log log;
    mpr::heap::Options options;
    mpr::heap::Local local;

private:
    template <typename F>
    void forRegions(F f) {
        for (mpr::heap::Region *region = heap().firstRegion(); region; region = heap().nextRegion(region)) {
            f(region);
        }
    }
    void sweepLines(mpr::heap::Region *region, mpr::heap::Sweep what, mpr::heap::Heap::Swept &swept) {
        if (region->isLarge()) {
            heap().sweepLarge(region, swept);
            return;
        }
        for (size_t i = 0; i < region->lineWords(); i++) {
            if (what == mpr::heap::Sweep::young) {
                heap().sweepYoungLines(region, i, swept);
            }
            region->sweepYoung.clear(i);
        }
        for (size_t at = region->firstGranule; what == mpr::heap::Sweep::all && at < region->endGranule;) {
            at = heap().sweepSlice(region, at, swept);
        }
    }

    /* Not in the case's frame: it has a table of some hundred kilobytes. */
    std::unique_ptr<mpr::heap::Heap> own = std::make_unique<mpr::heap::Heap>();
};

/* With regions of 64 chunks, each of them a page. */
class PagewiseHeap : public SteppedHeap {
public:
    PagewiseHeap() : SteppedHeap(static_cast<unsigned>(std::bit_width(mpr::os::pageSize())) + 5) {}
};

} // namespace test
