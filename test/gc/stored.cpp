// SPDX-License-Identifier: MIT
/*
    stored.cpp - With option check, what is no block is named when it is stored by the barrier; a mark of what is no
    block says where that stands.
 */
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include "mpr/barrier.h"
#include "mpr/embed.h"

#include <cstddef>
#include <string>

using namespace test;

namespace {

constexpr cchar *complaint = "the value is not a block";
int elsewhere;

/* A small block is remembered as a whole, of a large one each field. */
size_t fieldsOf(bool large) {
    return large ? 1000 : 8;
}

std::string offset(size_t i) {
    return "at offset " + std::to_string(i * sizeof(void *));
}

void *tagged(void *block) {
    return reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(block) | uintptr_t{0xfff} << (8 * sizeof(void *) - 12));
}

} // namespace

TEST_CASE("with option check a store of what is no block is named, with the field", "[gc][stored]") {
    Runtime runtime("check=1,everyyield=0");
    const Root root(makeRow(fieldsOf(GENERATE(false, true))));
    void **row = root.as<void *>();
    collect(); // so that stores are remembered
    void *const wrong = GENERATE(true, false) ? static_cast<void *>(&elsewhere) : tagged(makeNode());
    const uint64 before = stats().misuses;
    SECTION("mprSetRef") {
        mprSetRef(row, row + 3, wrong);
        CHECK(Log::count("mprSetRef(") == 1);
    }
    SECTION("mprSetRefAt") {
        mprSetRefAt(row + 3, wrong);
        CHECK(Log::count("mprSetRefAt(") == 1);
    }
    INFO(Log::text());
    CHECK(Log::count(complaint) == 1);
    CHECK(Log::names(wrong) == 1);
    CHECK(Log::has(offset(3) + " of block"));
    CHECK(Log::has("manageRow"));
    CHECK(stats().misuses == before + 1);
    mprSetRef(row, row + 3, nullptr);
}

TEST_CASE("with option check stores of blocks, of NULL and of addresses in blocks are not named", "[gc][stored]") {
    Runtime runtime("check=1,everyyield=0");
    const Root root(makeRow(fieldsOf(GENERATE(false, true))));
    void **row = root.as<void *>();
    collect();
    mprSetRef(row, row, makeNode());
    mprSetRef(row, row + 1, nullptr);
    mprSetRefAt(row + 2, makeNode());
    mprSetRefInside(row, row + 3, static_cast<char *>(mprAlloc(64)) + 16, 16);
    mprSetRef(row, row + 3, nullptr);
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    INFO(Log::text());
    CHECK(Log::size() == 0);
}

TEST_CASE("a mark of what is no block says where that stands, and what it points into", "[gc][stored]") {
    Runtime runtime("everyyield=0");
    const Root root(makeTable(4)), other(makeNode());
    auto table = root.as<Table>();
    SECTION("inside of a block") {
        table->items[2] = &other.as<Node>()->value;
        collect();
        INFO(Log::text());
        CHECK(Log::has("it points into block"));
        CHECK(Log::has("manageNode"));
    }
    SECTION("elsewhere") {
        table->items[2] = &elsewhere;
        collect();
        CHECK_FALSE(Log::has("it points into block"));
    }
    INFO(Log::text());
    CHECK(Log::count("is not the start of a block; ignored; by the manager of block") == 1);
    CHECK(Log::has("manageTable"));
    CHECK(Log::has(offset(1 + 2))); // behind the count
    table->items[2] = nullptr;
}
