// SPDX-License-Identifier: MIT
/*
    test/heap/region_table.cpp - From an address to its region, or to nothing.
 */
#include "mpr/heap/region_table.hpp"

#include "test/catch.hpp"
#include "test/support/process.hpp"

#include <memory>
#include <new>
#include <set>

using namespace mpr::heap;
namespace os = mpr::os;

namespace {

constexpr size_t size = 1 << 18; /* of an ordinary region */

/* A table, and memory aligned as regions are. */
struct Table {
    Table() : memory(static_cast<char *>(os::reserve(8 * size, size))) {
        REQUIRE(memory);
        table->open(18);
    }
    ~Table() {
        table->close();
        os::release(memory, 8 * size);
    }
    Region *make(size_t at, size_t length = size, Origin origin = Origin::system) {
        auto region = new (memory + at * size) Region;
        region->length = length;
        region->origin = origin;
        return region;
    }

    std::unique_ptr<RegionTable> table = std::make_unique<RegionTable>();
    char *memory;
};

} // namespace

TEST_CASE("every address of a region leads to it, and none beside it", "[heap][regions]") {
    Table t;
    Region *const region = t.make(2);
    CHECK(t.table->find(t.memory + 2 * size) == nullptr);
    REQUIRE(t.table->add(region));
    for (size_t at = 0; at < size; at += 4096) {
        REQUIRE(t.table->find(t.memory + 2 * size + at) == region);
    }
    CHECK(t.table->find(t.memory + 3 * size - 1) == region);
    CHECK(t.table->find(t.memory + 3 * size) == nullptr);
    CHECK(t.table->find(t.memory + 2 * size - 1) == nullptr);
    t.table->remove(region);
    CHECK(t.table->find(t.memory + 2 * size) == nullptr);
    CHECK(t.table->find(t.memory + 3 * size - 1) == nullptr);
}

TEST_CASE("neighbours do not disturb one another", "[heap][regions]") {
    Table t;
    Region *const first = t.make(0), *const second = t.make(1);
    REQUIRE(t.table->add(first));
    REQUIRE(t.table->add(second));
    CHECK(t.table->find(t.memory + size - 1) == first);
    CHECK(t.table->find(t.memory + size) == second);
    t.table->remove(first);
    CHECK(t.table->find(t.memory + size - 1) == nullptr);
    CHECK(t.table->find(t.memory + size) == second);
}

TEST_CASE("an address outside of all that was ever reserved leads nowhere", "[heap][regions]") {
    Table t;
    REQUIRE(t.table->add(t.make(0)));
    for (const uintptr_t address : {uintptr_t(0), uintptr_t(8), uintptr_t(1) << 20, ~uintptr_t(0), ~uintptr_t(0) / 2}) {
        CHECK(t.table->find(reinterpret_cast<const void *>(address)) == nullptr);
        CHECK(t.table->findField(reinterpret_cast<const void *>(address)) == nullptr);
    }
}

TEST_CASE("a large region is found by its start, and by any address for a field", "[heap][regions]") {
    Table t;
    const size_t length = 2 * size + size / 2 + 4096;
    Region *const region = t.make(1, length, Origin::large);
    REQUIRE(t.table->add(region));
    CHECK(t.table->find(t.memory + size + 64) == region);
    for (size_t at = 0; at < length; at += 4096) {
        REQUIRE(t.table->findField(t.memory + size + at) == region);
    }
    CHECK(t.table->findField(t.memory + size + length - 1) == region);
    CHECK(t.table->findField(t.memory + size + length) == nullptr);
    CHECK(t.table->findField(t.memory) == nullptr);
    t.table->remove(region);
    CHECK(t.table->findField(t.memory + size) == nullptr);
    CHECK(t.table->findField(t.memory + 3 * size) == nullptr);
}

TEST_CASE("a walk meets each region once, however many slots it has", "[heap][regions]") {
    Table t;
    std::set<Region *> all = {t.make(0), t.make(2, 3 * size, Origin::large), t.make(6)};
    for (Region *region : all) {
        REQUIRE(t.table->add(region));
    }
    std::multiset<Region *> met;
    t.table->forEach([&](Region *region) { met.insert(region); });
    CHECK(met.size() == 3);
    CHECK(std::set<Region *>(met.begin(), met.end()) == all);
}

TEST_CASE("a table may be written only where regions are", "[heap][regions]") {
    Table t;
    size_t before = test::writableBytes();
    before = test::writableBytes(); // to read the first time may take memory
    Region *const first = t.make(0);
    REQUIRE(t.table->add(first));
    CHECK(test::writableBytes() - before == 2 * os::pageSize()); // its slots, and which pages of the table are backed
    REQUIRE(t.table->add(t.make(1)));
    t.table->remove(first);
    CHECK(test::writableBytes() - before <= 3 * os::pageSize()); // the second may be beyond a page of slots
}

TEST_CASE("the one region of a buffer is found without a table", "[heap][regions]") {
    Table t;
    Region *const region = t.make(0, size - 4096, Origin::buffer);
    t.table->setOnly(region);
    CHECK(t.table->find(t.memory + 100) == region);
    CHECK(t.table->find(t.memory + size - 4096) == nullptr);
    CHECK(t.table->find(t.memory + 7 * size) == nullptr);
    t.table->close();
    CHECK(t.table->find(t.memory + 100) == nullptr);
}
