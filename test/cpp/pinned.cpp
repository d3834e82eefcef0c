// SPDX-License-Identifier: MIT
/*
    test/cpp/pinned.cpp - Arrays in pinned memory.
 */
#include "mpr.hpp"
#include "test/support/log.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <span>
#include <utility>

using test::collect;
using test::Log;
using test::Runtime;

namespace {

struct alignas(64) Line {
    int number = 7;
    char rest[60];
};

bool isAligned(const void *ptr, size_t alignment) {
    return reinterpret_cast<uintptr_t>(ptr) % alignment == 0;
}
} // namespace

TEST_CASE("a pinned array is aligned, initialised and reached by its first element", "[cpp][pinned]") {
    static unsigned char memory[100'000];
    Runtime runtime;
    REQUIRE(mprAddPinnedRange("range", memory, sizeof(memory)) == 0);
    cchar *const range = GENERATE(static_cast<cchar *>(nullptr), "range");
    {
        auto zeros = mpr::makePinnedArray<double>(1000, 4096, range);
        REQUIRE(zeros.size() == 1000);
        CHECK(isAligned(zeros.data(), 4096));
        CHECK(std::all_of(zeros.begin(), zeros.end(), [](double d) { return d == 0; }));
        auto lines = mpr::makePinnedArray<Line>(10, 0, range);
        REQUIRE(lines.size() == 10);
        CHECK(isAligned(lines.data(), 64));
        CHECK(std::all_of(lines.begin(), lines.end(), [](const Line &line) { return line.number == 7; }));
        mpr::Root<double> root(zeros.data());
        collect();
        CHECK(mprIsPinned(zeros.data()));
        CHECK_FALSE(mprIsPinned(lines.data()));
        CHECK(mprGetBlockSize(zeros.data()) >= 8000);
    }
    CHECK(mpr::makePinnedArray<int>(0).empty());
    CHECK(mpr::makePinnedArray<int>(SIZE_MAX / 2, 0, range).empty());
}

TEST_CASE("a pinned array that is owned is there until its owner ends", "[cpp][pinned]") {
    alignas(16) static unsigned char memory[10'000];
    Log log;
    Runtime runtime;
    REQUIRE(mprAddPinnedRange("range", memory, sizeof(memory)) == 0);
    cchar *const range = GENERATE(static_cast<cchar *>(nullptr), "range");
    const int *gone = nullptr;
    {
        mpr::PinnedArray<int> numbers(1000, 256, range);
        REQUIRE(numbers.size() == 1000);
        CHECK(isAligned(numbers.data(), 256));
        CHECK(std::all_of(numbers.begin(), numbers.end(), [](int i) { return i == 0; }));
        numbers[999] = 5;
        collect();
        CHECK(mprIsPinned(numbers.data()));
        mpr::pinned_array<int> moved(std::move(numbers));
        CHECK(numbers.empty());
        CHECK(moved[999] == 5);
        numbers = std::move(moved);
        const std::span<int> all(numbers);
        CHECK((all.size() == 1000 && all[999] == 5));
        gone = numbers.data();
        numbers = mpr::PinnedArray<int>(10, 0, range); // and the first is freed
        CHECK_FALSE(mprIsPinned(gone));
        gone = numbers.data();
        CHECK(mprIsPinned(gone));
    }
    CHECK_FALSE(mprIsPinned(gone));
    const mpr::PinnedArray<int> none, refused(SIZE_MAX / 2, 0, range);
    CHECK((none.empty() && refused.empty() && refused.begin() == refused.end()));
    CHECK(log.count("mprFree") == 0);
    CHECK((mpr::PinnedArray<char>(5, 1, range).size() == 5 && mpr::PinnedArray<char>(5, 3, range).empty()));
    CHECK(log.count("mprAllocPinned") == 1);
}
