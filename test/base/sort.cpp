// SPDX-License-Identifier: MIT
/*
    test/base/sort.cpp - mprSort: order, stability, every width, contradictory comparisons, no memory.
 */
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace test;

namespace {

struct Item {
    int key;
    int place; /* Where it was */
};

long comparisons;

int byKey(cvoid *p1, cvoid *p2, void *) {
    comparisons++;
    int a = static_cast<const Item *>(p1)->key, b = static_cast<const Item *>(p2)->key;
    return (a > b) - (a < b);
}

int byFirstInt(cvoid *p1, cvoid *p2, void *) {
    int a, b;
    memcpy(&a, p1, sizeof(a));
    memcpy(&b, p2, sizeof(b));
    return (a > b) - (a < b);
}

/* Sorted, and equal keys in their old order. */
bool stable(const std::vector<Item> &items) {
    for (size_t i = 1; i < items.size(); i++) {
        if (items[i - 1].key > items[i].key ||
            (items[i - 1].key == items[i].key && items[i - 1].place >= items[i].place)) {
            return false;
        }
    }
    return true;
}

std::vector<Item> randomItems(size_t count, int keys, uint64_t seed) {
    Random random(seed);
    std::vector<Item> items(count);
    for (size_t i = 0; i < count; i++) {
        items[i] = {static_cast<int>(random.below(static_cast<size_t>(keys))), static_cast<int>(i)};
    }
    return items;
}

int contradict(cvoid *, cvoid *, void *ctx) {
    return static_cast<Random *>(ctx)->chance(50) ? 1 : -1;
}

int always(cvoid *, cvoid *, void *ctx) {
    return *static_cast<int *>(ctx);
}

} // namespace

TEST_CASE("arrays of all small lengths are sorted, stably", "[base][sort]") {
    Runtime runtime;
    for (size_t count = 0; count < 200; count++) {
        for (int keys : {1, 2, 10, 1000}) {
            auto items = randomItems(count, keys, count * 7 + static_cast<size_t>(keys));
            CHECK(mprSort(items.data(), static_cast<ssize>(count), sizeof(Item), byKey, nullptr) == items.data());
            INFO(count << " items, " << keys << " keys");
            REQUIRE(stable(items));
        }
    }
}

TEST_CASE("a million elements take no more than n log n comparisons", "[base][sort]") {
    Runtime runtime;
    auto items = randomItems(1000000, 1000, 1);
    comparisons = 0;
    mprSort(items.data(), 1000000, sizeof(Item), byKey, nullptr);
    CHECK(stable(items));
    CHECK(static_cast<double>(comparisons) < 1e6 * std::log2(1e6) * 1.1);
    comparisons = 0;
    mprSort(items.data(), 1000000, sizeof(Item), byKey, nullptr);
    CHECK(comparisons < 3000000); /* Sorted already: linear */
}

TEST_CASE("without memory the result is the same", "[base][sort]") {
    Runtime runtime;
    auto items = randomItems(50000, 500, 2);
    mprSetMemLimits(0, static_cast<ssize>(stats().heap), -1); /* No allocation succeeds */
    REQUIRE(!mprAlloc(200000));
    mprSort(items.data(), 50000, sizeof(Item), byKey, nullptr);
    CHECK(stable(items));
    auto wide = randomItems(1000, 20, 3);
    struct Wide {
        Item item;
        char more[100];
    };
    std::vector<Wide> wides(1000);
    for (size_t i = 0; i < 1000; i++) {
        wides[i].item = wide[i];
        fill(wides[i].more, 100, i);
    }
    mprSort(wides.data(), 1000, sizeof(Wide), byKey, nullptr);
    for (size_t i = 0; i < 1000; i++) {
        wide[i] = wides[i].item;
        REQUIRE(filled(wides[i].more, 100, static_cast<uint64_t>(wides[i].item.place)));
    }
    CHECK(stable(wide));
}

TEST_CASE("elements of any width are moved whole", "[base][sort]") {
    Runtime runtime;
    for (size_t width : {4, 5, 8, 12, 16, 33, 64, 65, 200}) {
        Random random(width);
        std::vector<unsigned char> data(width * 300);
        for (size_t i = 0; i < 300; i++) {
            int key = static_cast<int>(random.below(1000));
            fill(&data[i * width], width, static_cast<uint64_t>(key));
            memcpy(&data[i * width], &key, sizeof(key));
        }
        mprSort(data.data(), 300, static_cast<ssize>(width), byFirstInt, nullptr);
        int before = -1;
        for (size_t i = 0; i < 300; i++) {
            int key;
            memcpy(&key, &data[i * width], sizeof(key));
            INFO("width " << width << ", element " << i);
            REQUIRE(before <= key);
            REQUIRE(filled(&data[i * width], width, static_cast<uint64_t>(key), sizeof(key)));
            before = key;
        }
    }
}

TEST_CASE("comparisons that contradict themselves end, and lose no element", "[base][sort]") {
    Runtime runtime;
    for (int memory = 0; memory < 2; memory++) {
        Random random(4);
        std::vector<uintptr_t> values(3000);
        for (size_t i = 0; i < values.size(); i++) {
            values[i] = i;
        }
        mprSort(values.data(), 3000, sizeof(uintptr_t), contradict, &random);
        for (int answer : {1, -1, 0}) {
            mprSort(values.data(), 3000, sizeof(uintptr_t), always, &answer);
        }
        std::sort(values.begin(), values.end());
        for (size_t i = 0; i < values.size(); i++) {
            REQUIRE(values[i] == i);
        }
        mprSetMemLimits(0, static_cast<ssize>(stats().heap), -1);
    }
}

TEST_CASE("without a comparison elements are strings; NULLs come first", "[base][sort]") {
    Runtime runtime;
    cchar *words[] = {"pear", "apple", nullptr, "fig", "", "apples"};
    mprSort(words, 6, sizeof(words[0]), nullptr, nullptr);
    CHECK(!words[0]);
    CHECK(std::string(words[1]).empty());
    CHECK(words[2] == std::string("apple"));
    CHECK(words[3] == std::string("apples"));
    CHECK(words[4] == std::string("fig"));
    CHECK(words[5] == std::string("pear"));
}

TEST_CASE("nothing to sort is left alone", "[base][sort]") {
    Runtime runtime;
    CHECK(!mprSort(nullptr, 10, 4, byFirstInt, nullptr));
    int one = 1;
    CHECK(mprSort(&one, PTRDIFF_MAX, PTRDIFF_MAX, byFirstInt, nullptr) == &one);
    CHECK(mprSort(&one, PTRDIFF_MAX / 4 + 1, 4, byFirstInt, nullptr) == &one);
    int values[] = {2, 1};
    CHECK(mprSort(values, 0, 4, byFirstInt, nullptr) == values);
    CHECK(mprSort(values, -5, 4, byFirstInt, nullptr) == values);
    CHECK(mprSort(values, 2, 0, byFirstInt, nullptr) == values);
    CHECK(values[0] == 2);
}
