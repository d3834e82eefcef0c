// SPDX-License-Identifier: MIT
/*
    test/gc/check.cpp - The marking verifier, step by step: what it names, and that it is silent about all else.
 */
#include "mpr/gc/check.hpp"

#include "test/support/stepped_collection.hpp"

#include <string>

using mpr::gc::Wish;
using mpr::heap::Kind;
using test::Log;
using test::Refs;
using test::SteppedCollection;

namespace {

struct Checked : SteppedCollection {
    Checked() : SteppedCollection(1 << 20, mpr::heap::Options::marking) {}
    uint64_t defects() const { return stats.defects.load(); }
};

} // namespace

TEST_CASE("a store behind the barrier's back is named, with its owner and offset", "[gc][check]") {
    Checked c;
    Refs *const old = c.make(Kind::barrier, true);
    c.collect();
    Refs *const young = c.make();
    old->refs[2] = young;
    c.collect();
    CHECK(c.defects() == 1);
    CHECK(Log::names(young) == 1);
    CHECK(Log::has("is not marked"));
    CHECK(Log::has("at offset " + std::to_string(2 * sizeof(void *))));
    CHECK(Log::has("which promised the barrier"));
    old->refs[2] = nullptr;
}

TEST_CASE("stores that were remembered, plain blocks and roots give nothing to name", "[gc][check]") {
    Checked c;
    Refs *const old = c.make(Kind::barrier, true), *const plain = c.make(Kind::plain, true);
    c.collect();
    c.store(old, 0, c.make());
    plain->refs[0] = c.make();
    c.addRoot(c.make());
    c.make();
    CHECK(c.collect() == 1);
    CHECK(c.collect(Wish::urgent) == 0);
    CHECK(c.defects() == 0);
    CHECK(Log::size() == 0);
}

TEST_CASE("what a lost block references is found, too", "[gc][check]") {
    Checked c;
    Refs *const old = c.make(Kind::barrier, true);
    c.collect();
    Refs *const young = c.make(), *const further = c.make();
    old->refs[0] = young;
    young->refs[1] = further;
    c.collect();
    CHECK(c.defects() == 2);
    CHECK(Log::names(young) == 2); // as what is lost, and as what references the other
    CHECK(Log::names(further) == 1);
    old->refs[0] = nullptr;
}

TEST_CASE("of many lost blocks all are counted, and some are named", "[gc][check]") {
    Checked c;
    Refs *olds[10];
    for (Refs *&old : olds) {
        old = c.make(Kind::barrier, true);
    }
    c.collect();
    for (Refs *old : olds) {
        for (Refs *&field : old->refs) {
            field = c.make();
        }
    }
    c.collect();
    CHECK(c.defects() == std::size(olds) * Refs::most);
    CHECK(Log::count("check: block") == 8);
    for (Refs *old : olds) {
        *old = {};
    }
}

TEST_CASE("what is no block is not reported twice", "[gc][check]") {
    Checked c;
    Refs *const block = c.make(Kind::barrier, true);
    static int elsewhere;
    block->refs[0] = reinterpret_cast<Refs *>(&elsewhere);
    c.collect();
    CHECK(c.defects() == 0);
    CHECK(Log::names(&elsewhere) == 1); // by the marker
}
