// SPDX-License-Identifier: MIT
/*
    test/gc/remembered.cpp - What entries of the remembered set lead to: blocks traced again once, fields of large blocks one by one.
 */
#include "mpr/gc/remembered.hpp"

#include "test/support/stepped_collection.hpp"

using mpr::gc::Remembered;
using mpr::gc::RememberedSet;
using mpr::heap::Kind;
using test::Refs;
using test::SteppedCollection;

namespace {

constexpr auto barrier = static_cast<mpr::heap::Byte>(Kind::barrier);

/* An old block of references that is too large to be remembered as a whole. */
struct Large {
    explicit Large(SteppedCollection &c) : fields(static_cast<void **>(c.stepped.make(granules, barrier))) {
        memset(fields, 0, granules << mpr::heap::granuleShift);
        mpr::gc::setManager(fields, granules, mpr::gc::codeOf([](void *, int) {}));
        c.addRoot(fields);
        c.collect();
    }
    static constexpr size_t granules = 2 * mpr::heap::greatestSmall;
    void **fields;
};

void remember(SteppedCollection &c, uintptr_t entry) {
    c.collection.tracing().remember(c.writer, entry);
}

} // namespace

TEST_CASE("a remembered block is traced again in one pause, and not in the next", "[gc][remembered]") {
    SteppedCollection c;
    Refs *const old = c.make(Kind::barrier, true);
    c.collect();
    old->refs[0] = c.make();
    c.stepped.heap().changeHead(c.stepped.regionOf(old), old, mpr::heap::head::remembered, 0);
    remember(c, RememberedSet::ofBlock(old));
    CHECK(c.collect() == 0);
    CHECK((c.stepped.head(old) & mpr::heap::head::remembered) == 0);
    old->refs[1] = c.make(); // as if the barrier had not seen it
    remember(c, RememberedSet::ofBlock(old));
    CHECK(c.collect() == 1);
    old->refs[1] = nullptr;
}

TEST_CASE("of a large block only the fields that were stored into are looked at", "[gc][remembered]") {
    SteppedCollection c;
    Large large(c);
    Refs *const kept = c.make(), *const lost = c.make();
    large.fields[100] = kept;
    large.fields[200] = lost;
    remember(c, RememberedSet::ofField(&large.fields[100]));
    CHECK(c.collect() == 1);
    CHECK(c.lives(kept));
    CHECK_FALSE(c.lives(lost));
}

TEST_CASE("a run leads to all of its fields and to no further one", "[gc][remembered]") {
    SteppedCollection c;
    Large large(c);
    for (size_t i = 0; i < 10; i++) {
        large.fields[50 + i] = c.make();
        remember(c, RememberedSet::ofField(&large.fields[50 + i]));
    }
    large.fields[60] = c.make();
    CHECK(c.collect() == 1);
    for (size_t i = 0; i < 10; i++) {
        CHECK(c.lives(large.fields[50 + i]));
    }
    CHECK_FALSE(c.lives(large.fields[60]));
}

TEST_CASE("entries of blocks that were freed by hand lead to nothing", "[gc][remembered]") {
    SteppedCollection c;
    Large large(c);
    Refs *const old = c.make(Kind::barrier, true), *const young = c.make();
    c.collect();
    remember(c, RememberedSet::ofField(&large.fields[3]));
    remember(c, RememberedSet::ofField(&old->refs[0]));
    large.fields[3] = old->refs[0] = young;
    c.removeRoot(large.fields);
    c.removeRoot(old);
    c.stepped.freeApart(large.fields);
    c.stepped.freeApart(old);
    Refs *const dies = c.make();
    large.fields = nullptr;
    CHECK(c.collect(mpr::gc::Wish::urgent) >= 1);
    CHECK_FALSE(c.lives(dies));
}

TEST_CASE("a field in a plain block or a leaf leads to nothing", "[gc][remembered]") {
    SteppedCollection c;
    void *const leaf = c.stepped.make(4);
    c.addRoot(leaf);
    c.collect();
    *static_cast<void **>(leaf) = c.make();
    remember(c, RememberedSet::ofField(leaf));
    CHECK(c.collect() == 1);
}
