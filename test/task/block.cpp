// SPDX-License-Identifier: MIT
/*
    test/task/block.cpp - Blocks of one size made inline are as those of the API.
 */
#include "mpr/task/block.hpp"

#include "test/support/hoard.hpp"
#include "test/support/runtime.hpp"

using namespace test;

namespace {

struct Cell {
    void *next;
    uintptr_t value;
};
int marks;
void manageCell(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        marks++;
        mprMark(static_cast<Cell *>(ptr)->next);
    }
}

Cell *makeCell(Cell *next, uintptr_t value) {
    auto cell = mpr::task::allocateBlock<Cell, manageCell>();
    if (cell) {
        *cell = {next, value};
    }
    return cell;
}

} // namespace

TEST_CASE("blocks made inline have their manager, and live as long as they are referenced", "[task][block]") {
    Runtime runtime;
    marks = 0;
    Cell *list = nullptr;
    for (uintptr_t i = 0; i < 100000; i++) { // many contexts
        list = makeCell(list, i);
        REQUIRE(list);
    }
    mprAddRoot(list);
    makeCell(nullptr, 0);
    collect();
    CHECK(marks >= 100000);
    uintptr_t expected = 100000;
    for (const Cell *cell = list; cell; cell = static_cast<const Cell *>(cell->next)) {
        REQUIRE(mprIsValid(cell));
        REQUIRE(cell->value == --expected);
    }
    CHECK(expected == 0);
    mprRemoveRoot(list);
}

TEST_CASE("a block made inline is a barrier block: a store into an old one is remembered", "[task][block]") {
    Runtime runtime;
    Cell *old = makeCell(nullptr, 1);
    mprAddRoot(old);
    collect();
    Cell *young = makeCell(nullptr, 2);
    mprSetRef(old, &old->next, young);
    mprGC(MPR_GC_COMPLETE);
    CHECK(mprIsValid(young));
    CHECK(young->value == 2);
    mprRemoveRoot(old);
}

TEST_CASE("at the limit nothing is made", "[task][block]") {
    Runtime runtime;
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(-1, 2 << 20, -1);
    Cell *list = nullptr;
    size_t made = 0;
    for (Cell *next; made < 1000000 && (next = makeCell(list, made)); made++) {
        list = next;
    }
    CHECK(made > 1000);
    CHECK(made < 1000000);
    mprSetMemLimits(-1, 0, -1);
}
