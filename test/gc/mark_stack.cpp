// SPDX-License-Identifier: MIT
/*
    test/gc/mark_stack.cpp - Blocks and rows on a stack of fixed size.
 */
#include "mpr/gc/mark_stack.hpp"

#include "test/catch.hpp"

#include <vector>

using namespace mpr::gc;
using mpr::heap::granuleSize;

namespace {

struct Stack {
    explicit Stack(size_t entries) : memory(entries) { stack.open(memory.data(), entries * sizeof(MarkEntry)); }
    static const void *block(uintptr_t i) { return reinterpret_cast<const void *>(i * granuleSize); }

    std::vector<MarkEntry> memory;
    MarkStack stack;
};

const void *fields[8];
const Row row{fields, 8, Stack::block(77), 1000, 5};

bool same(const Row &a, const Row &b) {
    return a.fields == b.fields && a.count == b.count && a.owner == b.owner && a.position == b.position &&
           a.pause == b.pause;
}

} // namespace

TEST_CASE("an entry is a block and its size, or says that the size has to be looked up", "[gc][marks][port][board]") {
    const MarkEntry small(Stack::block(9), 3), large(Stack::block(9), 0);
    CHECK(small.block() == Stack::block(9));
    CHECK(small.granules() == 3);
    CHECK(large.block() == Stack::block(9));
    CHECK(large.granules() == 0);
    CHECK_FALSE(small.isRow());
    CHECK(MarkEntry::row().isRow());
    CHECK(MarkEntry::word(small.bits()).bits() == small.bits());
    CHECK_FALSE(MarkEntry());
}

TEST_CASE("what was pushed last is popped first, and a full stack takes no more", "[gc][marks][port][board]") {
    Stack s(3);
    CHECK(s.stack.empty());
    for (uintptr_t i = 1; i <= 3; i++) {
        CHECK(s.stack.room() == 4 - i);
        CHECK(s.stack.push(MarkEntry(Stack::block(i), i)));
    }
    CHECK_FALSE(s.stack.push(MarkEntry(Stack::block(4), 4)));
    CHECK(s.stack.size() == 3);
    for (uintptr_t i = 3; i > 0; i--) {
        CHECK(s.stack.pop().granules() == i);
    }
    CHECK(s.stack.empty());
}

TEST_CASE("a row takes six entries, or does not go on the stack", "[gc][marks][port][board]") {
    Stack s(11);
    REQUIRE(s.stack.push(MarkEntry(Stack::block(1), 1)));
    REQUIRE(s.stack.pushRow(row));
    CHECK(s.stack.isRowOnTop());
    CHECK(s.stack.room() == 4);
    CHECK_FALSE(s.stack.pushRow(row));
    CHECK(s.stack.room() == 4);
    REQUIRE(s.stack.push(MarkEntry(Stack::block(2), 2)));
    CHECK_FALSE(s.stack.isRowOnTop());
    s.stack.pop();
    CHECK(same(s.stack.popRow(), row));
    CHECK(s.stack.pop().granules() == 1);
}

TEST_CASE("the rest of a row knows where it begins", "[gc][marks][port][board]") {
    const Row rest = row.from(3);
    CHECK(rest.fields == fields + 3);
    CHECK(rest.count == 5);
    CHECK(rest.position == 1003);
    CHECK(rest.owner == row.owner);
    CHECK(rest.pause == row.pause);
}

TEST_CASE("the top moves to another stack, a row as a whole", "[gc][marks][port][board]") {
    Stack from(20), to(7), full(5);
    REQUIRE(from.stack.pushRow(row));
    REQUIRE(from.stack.push(MarkEntry(Stack::block(3), 1)));
    REQUIRE(from.stack.moveTo(to.stack));
    CHECK(from.stack.isRowOnTop());
    CHECK_FALSE(from.stack.moveTo(full.stack));
    CHECK(from.stack.size() == 6);
    REQUIRE(from.stack.moveTo(to.stack));
    CHECK(from.stack.empty());
    CHECK(same(to.stack.popRow(), row));
    CHECK(to.stack.pop().block() == Stack::block(3));
}

TEST_CASE("a stack that was cleared is empty", "[gc][marks][port][board]") {
    Stack s(10);
    s.stack.pushRow(row);
    s.stack.clear();
    CHECK(s.stack.empty());
    CHECK(s.stack.room() == 10);
}
