// SPDX-License-Identifier: MIT
/*
    test/cpp/sizes.cpp - What things take, as the guide says ("What things take"): a number there is the bound here.

    Rooms: task
 */
#include "test/cpp/setting.hpp"

#include <cstdlib>
#include <string>
#include <vector>

using test::Setting;

namespace {

struct Small {
    void trace(mpr::Marker&) {}
};

/* Bytes of the heap that are in use for each of so many things, when all are there. */
class Weight {
public:
    Weight() { keep_.reserve(3 * many); }

    template <class Make>
    double of(Make&& make) {
        const double before = inUse();
        for (int i = 0; i < many; i++) {
            make(i);
        }
        return (inUse() - before) / many;
    }
    /* Of blocks that live on. */
    template <class Make>
    double ofHeld(Make&& make) {
        return of([&](int) {
            void* const block = make();
            mprHold(block);
            keep_.push_back(block);
        });
    }
    void* block(int i) const { return keep_[static_cast<std::size_t>(i)]; }

    static constexpr int many = 65536;

private:
    static double inUse() {
        MprMemStats stats;
        mprGC(MPR_GC_MAJOR | MPR_GC_COMPLETE);
        mprReadMemStats(&stats);
        return static_cast<double>(stats.heap - stats.bytesFree);
    }
    std::vector<void*> keep_;
};

void nothing(void*, MprEvent*) {}
void manage(void*, int) {}

} // namespace

TEST_CASE("cpp sizes: references and roots take words") {
    constexpr std::size_t word = sizeof(void*);
    CHECK(sizeof(mpr::Member<Small>) == word);
    CHECK(sizeof(mpr::Held<Small>) == word);
    CHECK(sizeof(mpr::Root<Small>) == 3 * word);
}

TEST_CASE("cpp sizes: things take what the guide says") {
    if (sizeof(void*) != 8 || std::getenv("MPR_TEST_OPTIONS")) {
        return; // the guide speaks of 64 bits, and options keep memory from being used again
    }
    Setting setting;
    {
        Weight weight;
        CHECK(weight.ofHeld([] { return mprAlloc(16); }) < 24);
        CHECK(weight.ofHeld([] { return mprAllocManaged(24, manage, 0); }) < 40);
        CHECK(weight.ofHeld([] { return mprCreateLock(); }) < 24);
        CHECK(weight.of([&](int i) { mprAddRoot(weight.block(i)); }) < 48);
        CHECK(weight.of([&](int) { mprCreateEvent(nullptr, "now", 0, nothing, nullptr, 0); }) < 112);
        CHECK(weight.of([&](int) { mprCreateEvent(nullptr, "later", 1 << 30, nothing, nullptr, 0); }) < 128);
        const mpr::Root<MprList> list(mprCreateList(0, 0));
        CHECK(weight.of([&](int i) { mprAddItem(list.get(), weight.block(i)); }) < 24);
        const mpr::Root<MprHash> hash(mprCreateHash(0, 0));
        CHECK(weight.of([&](int i) { mprAddKey(hash.get(), (std::to_string(i) + "name").c_str(), weight.block(i)); }) <
              128);
        const mpr::Root<mpr::TextMap<Small>> map = mpr::make<mpr::TextMap<Small>>();
        const mpr::Root<Small> value = mpr::make<Small>();
        CHECK(weight.of([&](int i) { REQUIRE(map->set(std::to_string(i) + "name", value)); }) < 80);
    }
}
