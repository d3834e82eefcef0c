// SPDX-License-Identifier: MIT
/*
    test/cpp/hash_map.cpp - mpr::HashMap.
 */
#include "test/cpp/setting.hpp"
#include "test/support/sanitizer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <random>

using test::Counted;
using test::heavy;
using test::Setting;

namespace {

using Map = mpr::HashMap<uint64_t, Counted>;

/* A key that counts how often it is compared: by that, the steps of a search. */
struct Id {
    uint64_t value;
    bool operator==(const Id& other) const {
        compared++;
        return value == other.value;
    }
    static inline long compared = 0;
};

/* As std::hash of an integer in many libraries. */
struct Same {
    size_t operator()(const Id& id) const { return static_cast<size_t>(id.value); }
};

TEST_CASE("cpp hash map: random operations agree with std::map, across collections") {
    Setting setting;
    {
        mpr::Root<Map> map = mpr::make<Map>();
        std::map<uint64_t, int> model;
        std::mt19937 random(1);
        size_t wrong = 0;
        const size_t steps = heavy(200000);
        for (size_t i = 0; i < steps; i++) {
            const uint64_t key = random() % 3000 * (i % 2 ? 1 : 4096);
            switch (random() % 4) {
            case 0: wrong += map->remove(key) != (model.erase(key) == 1); break;
            case 1: {
                Counted* const found = map->find(key);
                const auto known = model.find(key);
                wrong += (found != nullptr) != (known != model.end()) || (found && found->value != known->second);
                break;
            }
            default: wrong += !map->set(key, mpr::make<Counted>(static_cast<int>(i))); model[key] = static_cast<int>(i);
            }
            wrong += map->size() != model.size();
            mpr::yield();
        }
        map->forEach(
            [&](uint64_t key, Counted* value) { wrong += model.count(key) != 1 || model[key] != value->value; });
        CHECK(wrong == 0);
        CHECK(map->size() > 100);
        mpr::collect();
        CHECK(Counted::alive() == static_cast<int>(map->size()));
        CHECK(Counted::wrong == 0);
    }
    mpr::collect();
    CHECK(Counted::alive() == 0);
}

TEST_CASE("cpp hash map: keys that are chosen to collide do not") {
    Setting setting;
    {
        // By the inverse of a well-known multiplier: their rows were one.
        constexpr uint64_t known = 0x9E3779B97F4A7C15u, inverse = 0xF1DE83E19937733Du;
        static_assert(known * inverse == 1);
        mpr::Root<mpr::HashMap<Id, Counted, Same>> map = mpr::make<mpr::HashMap<Id, Counted, Same>>();
        mpr::Root<Counted> value = mpr::make<Counted>(1);
        Id::compared = 0;
        constexpr int keys = 4000;
        uint64_t row = 0;
        for (int i = 0; i < keys; i++) {
            do {
                row += inverse;
            } while (row >> 61);
            REQUIRE(map->set({row * 8}, value));
        }
        CHECK(map->size() == keys);
        CHECK(Id::compared < 100L * keys); // thousands for each, if the multiplier is known
        CHECK(mprGetHashSecret() == mprGetHashSecret());
        CHECK(mprGetHashSecret() != 0);
    }
}

/* Collected later, outgrown arrays would mark what the program has freed by hand meanwhile. */
TEST_CASE("cpp hash map: what it outgrows is freed at once") {
    Setting setting;
    mprEnableGC(false);
    {
        mpr::Root<Map> map = mpr::make<Map>();
        mpr::Root<Counted> value = mpr::make<Counted>(1);
        MprMemStats before, after;
        mprReadMemStats(&before);
        for (uint64_t key = 0; key < 10'000; key++) {
            REQUIRE(map->set(key, value.get()));
        }
        mprReadMemStats(&after);
        CHECK(after.blocksAllocated - before.blocksAllocated > 10);
        const auto freed = after.blocksFreed - before.blocksFreed;
        CHECK(after.blocksAllocated - before.blocksAllocated - freed == 2);
        for (uint64_t key = 0; key < 10'000; key++) {
            REQUIRE(map->find(key) == value.get());
        }
    }
    mprEnableGC(true);
}

TEST_CASE("cpp hash map: empty, with one entry, and with room made") {
    Setting setting;
    mpr::Root<Map> map = mpr::make<Map>();
    CHECK(map->size() == 0);
    CHECK(map->find(1) == nullptr);
    CHECK_FALSE(map->remove(1));
    map->forEach([](uint64_t, Counted*) { FAIL("no entries"); });
    CHECK(map->reserve(0));
    CHECK(map->find(1) == nullptr);
    Counted* const one = mpr::make<Counted>(1);
    REQUIRE(map->set(1, one));
    CHECK(map->find(1) == one);
    CHECK(map->reserve(1000));
    CHECK(map->find(1) == one);
    Counted* const other = mpr::make<Counted>(2);
    REQUIRE(map->set(1, other));
    CHECK(map->find(1) == other);
    CHECK(map->size() == 1);
    CHECK(map->remove(1));
    CHECK_FALSE(map->remove(1));
    CHECK(map->size() == 0);
}

TEST_CASE("cpp hash map: room for more than any heap has is refused, and the map stays as it was") {
    Setting setting;
    {
        mpr::Root<Map> map = mpr::make<Map>();
        for (const size_t entries : {SIZE_MAX, SIZE_MAX / 3 * 2, SIZE_MAX / 2, SIZE_MAX / 4, SIZE_MAX / 16}) {
            INFO(entries);
            CHECK_FALSE(map->reserve(entries)); // and no capacity of 1, beyond which set() would write
        }
        mpr::Root<Counted> value = mpr::make<Counted>(1);
        CHECK(map->set(5, value.get()));
        CHECK_FALSE(map->reserve(SIZE_MAX));
        CHECK(map->find(5) == value.get());
    }
}

TEST_CASE("cpp hash map: a search is short, whatever the stride of the keys") {
    Setting setting;
    const uint64_t stride = GENERATE(1u, 2u, 7u, 8u, 64u, 100u, 4096u, 1u << 20, 0x9E3779B9u);
    CAPTURE(stride);
    mpr::Root<mpr::HashMap<Id, Counted, Same>> map = mpr::make<mpr::HashMap<Id, Counted, Same>>();
    const uint64_t count = 12000; // of 16,384 slots: nearly as full as it may be
    Counted* const value = mpr::make<Counted>(1);
    for (uint64_t i = 0; i < count; i++) {
        REQUIRE(map->set(Id{i * stride}, value));
    }
    Id::compared = 0;
    size_t wrong = 0;
    for (uint64_t i = 0; i < count; i++) {
        wrong += map->find(Id{i * stride}) != value;
    }
    CHECK(wrong == 0);
    CHECK(Id::compared < 10 * static_cast<long>(count));
    Id::compared = 0;
    for (uint64_t i = count; i < 2 * count; i++) {
        wrong += map->find(Id{i * stride}) != nullptr;
    }
    CHECK(wrong == 0);
    CHECK(Id::compared < 20 * static_cast<long>(count));
}

} // namespace
