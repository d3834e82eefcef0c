// SPDX-License-Identifier: MIT
/*
    test/heap/batch.cpp - A batch's range, without a heap. What becomes of blocks is in test/gc/batch.cpp.
 */
#include "mpr/heap/batch.hpp"

#include "test/catch.hpp"

#include <memory>

using namespace mpr::heap;

TEST_CASE("a batch's range holds all that it was extended over, until it is kept", "[heap][batch]") {
    MprBatchRange range{};
    Byte memory[100];
    const auto batch = std::make_unique<Batch>(range, nullptr, false);
    batch->begin();
    CHECK_FALSE(batch->isKept());
    CHECK_FALSE(batch->mayHold(memory));
    batch->extend(memory + 40, memory + 60);
    CHECK(batch->mayHold(memory + 40));
    CHECK(batch->mayHold(memory + 59));
    CHECK_FALSE(batch->mayHold(memory + 39));
    CHECK_FALSE(batch->mayHold(memory + 60));
    batch->extend(memory + 10, memory + 20);
    batch->extend(memory + 50, memory + 55);
    CHECK(range.begin == reinterpret_cast<uintptr_t>(memory + 10));
    CHECK(range.size == 50);
    batch->extend(memory + 90, memory + 90); // nothing
    CHECK_FALSE(batch->mayHold(memory + 89));
    batch->keep(Kept::plain);
    CHECK_FALSE(batch->mayHold(memory + 50));
    batch->extend(memory, memory + 100);
    CHECK(range.size == 0);
    batch->keep(Kept::full);
    CHECK(batch->kept() == Kept::plain); // the first reason
    batch->begin();
    CHECK_FALSE(batch->isKept());
}

TEST_CASE("the range ends with its batch", "[heap][batch]") {
    MprBatchRange range{};
    Byte memory[10];
    {
        const auto batch = std::make_unique<Batch>(range, nullptr, true);
        batch->begin();
        batch->extend(memory, memory + 10);
        CHECK(range.size == 10);
    }
    CHECK(range.size == 0);
}
