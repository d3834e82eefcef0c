// SPDX-License-Identifier: MIT
/*
    test/gc/tracing.cpp - What threads leave behind for a pause, and what others see of marking.
 */
#include "mpr/gc/tracing.hpp"

#include "test/support/stepped_collection.hpp"

using mpr::gc::RememberedSet;
using mpr::heap::Kind;
using test::Refs;
using test::SteppedCollection;

TEST_CASE("what a thread has remembered is read by the pause after its end", "[gc][tracing]") {
    SteppedCollection c;
    Refs *const old = c.make(Kind::barrier, true);
    c.collect();
    Refs *const young = c.make();
    c.store(old, 0, young);
    c.collection.tracing().leave(c.writer);
    CHECK(c.writer.remembered == nullptr);
    CHECK(c.collect() == 0);
    CHECK(c.lives(young));
}

TEST_CASE("a long remembered set calls for a pause, which empties it", "[gc][tracing]") {
    SteppedCollection c;
    Refs *const old = c.make(Kind::barrier, true);
    c.collect();
    size_t stores = 0;
    const auto storeUntilLong = [&] {
        // Not one field behind the other, which would be a run.
        for (size_t i = 0; !c.collection.tracing().remember(c.writer, RememberedSet::ofField(&old->refs[i % 2 * 2]));
             i++) {
            stores++;
        }
    };
    storeUntilLong();
    const size_t first = stores;
    CHECK(first > mpr::gc::RememberedChunk::capacity);
    c.collect();
    storeUntilLong();
    CHECK(stores - first > mpr::gc::RememberedChunk::capacity); // how many follows the time that the first have taken
}

TEST_CASE("while a manager marks it can be told which, and afterwards that none does", "[gc][tracing]") {
    SteppedCollection c;
    static SteppedCollection *stepped;
    static uint64_t during;
    stepped = &c;
    during = 0;
    constexpr size_t n = mpr::heap::granulesFor(sizeof(Refs) + sizeof(MprManager));
    Refs *const root = c.make(Kind::barrier, true);
    mpr::gc::setManager(root, n, mpr::gc::codeOf([](void *, int flags) {
                            if (flags & MPR_MANAGE_MARK) {
                                during = stepped->collection.tracing().traced();
                            }
                        }));
    const uint64_t before = c.collection.tracing().traced();
    c.collect();
    CHECK(during != before);
    CHECK(c.collection.tracing().traced() == before);
}
