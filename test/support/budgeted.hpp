// SPDX-License-Identifier: MIT
/*
    test/support/budgeted.hpp - Collections by hand on a heap whose young budget is 1 MB, however long they take.
 */
#pragma once

#include "test/support/stepped_collection.hpp"

namespace test {

struct Budgeted : SteppedCollection {
    static constexpr size_t KB = 1024, MB = 1024 * KB;

    Budgeted() : SteppedCollection(MB, 0, Pace::fixed) {}
    mpr::heap::Heap &heap() { return stepped.heap(); }
    /* Leaves of some kilobytes, until the heap asks for attention or so many bytes have been allocated. */
    size_t allocate(size_t most, bool rooted = false) {
        size_t bytes = 0;
        while (bytes < most && !heap().needsAttention()) {
            void *const block = stepped.make(4 * KB / mpr::heap::granuleSize);
            if (rooted) {
                addRoot(block);
            }
            bytes += 4 * KB;
        }
        return bytes;
    }
    /* A major collection is under way, for which threads mark. */
    void beginAssisting() {
        cycle.major().count();
        cycle.major().start(false);
        cycle.assists().open(1, false);
        cycle.assists().choose(cycle.major(), 1, true);
        REQUIRE(cycle.assists().with(mpr::gc::Assists::marking));
    }
};

} // namespace test
