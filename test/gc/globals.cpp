// SPDX-License-Identifier: MIT
/*
    globals.cpp - Option check=globals: a global that is no root is named, with what dies; a correct program is not.
 */
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <cstddef>
#include <string>

using namespace test;

namespace {

constexpr cchar *suspicion = "global without a root";

/* Data is initialised, so that it stands in .data; the others in .bss. */
Node *first = reinterpret_cast<Node *>(8);
Node *second;
[[gnu::used]] struct { // whole, though one member would do
    int count;
    Node *last;
} statistics;
constexpr size_t shelves = 100;
Node *shelf[shelves];

void forgetAll() {
    first = second = statistics.last = nullptr;
    for (Node *&node : shelf) {
        node = nullptr;
    }
}

struct Globals {
    Runtime runtime{"check=globals,everyyield=0"};
    ~Globals() { forgetAll(); }
};

/* Whether the only suspicion is this one. */
void checkNamed(cchar *variable, const void *dying) {
    INFO(Log::text());
    CHECK(Log::count(suspicion) == 1);
    CHECK(Log::has(variable));
    CHECK(Log::names(dying) == 1);
}

} // namespace

TEST_CASE("check=globals names a global that is no root, by its name and what dies", "[gc][globals][port]") {
    const Globals globals;
    SECTION("in initialised data") {
        first = makeNode();
        collect();
        checkNamed("? first (", first);
        CHECK(Log::has("manageNode"));
    }
    SECTION("in other data, in a structure") {
        statistics.last = makeNode();
        collect();
        checkNamed("? statistics+0x", statistics.last);
    }
    SECTION("local, with a text") {
        static char *text;
        text = static_cast<char *>(mprMemdup("kept in vain", sizeof("kept in vain")));
        collect();
        checkNamed("text", text);
        CHECK(Log::has("text \"kept in vain\""));
        text = nullptr;
    }
    SECTION("by a minor collection, too") {
        second = makeNode();
        mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        checkNamed("? second (", second);
    }
}

TEST_CASE("check=globals names a block by the name of its manager", "[gc][globals]") {
    const Globals globals;
    struct Named {
        static void manage(void *, int) {}
    };
    mprSetManagerName(Named::manage, "MyThing");
    static void *thing;
    thing = mprAllocManaged(100, Named::manage, 0);
    collect();
    checkNamed(" bytes, MyThing)", thing);
    thing = nullptr;
}

TEST_CASE("check=globals is silent about roots, held blocks, what lives, and addresses inside of blocks",
          "[gc][globals]") {
    const Globals globals;
    first = makeNode(makeNode());
    mprAddRoot(first);
    second = first->next;
    statistics.last = static_cast<Node *>(mprAllocMem(32, MPR_ALLOC_HOLD));
    static MprRootRef linked;
    linked.ptr = makeNode();
    mprLinkRootRef(&linked);
    shelf[0] = reinterpret_cast<Node *>(static_cast<char *>(mprAlloc(64)) + 16);
    collect();
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    INFO(Log::text());
    CHECK(Log::count(suspicion) == 0);
    mprUnlinkRootRef(&linked);
    mprRelease(statistics.last);
    mprRemoveRoot(first);
    linked.ptr = nullptr;
}

TEST_CASE("check=globals names each word once, of an array the first, and a few per collection", "[gc][globals]") {
    const Globals globals;
    first = makeNode();
    collect();
    first = makeNode();
    collect();
    CHECK(Log::count(suspicion) == 1);
    Log::clear();
    for (Node *&node : shelf) {
        node = makeNode();
    }
    collect();
    {
        INFO(Log::text());
        CHECK(Log::count(suspicion) == 3);
        CHECK(Log::count("? shelf") == 3);
        CHECK(Log::count("and 97 words behind it") == 1);
    }
    Log::clear();
    for (Node *&node : shelf) {
        node = makeNode();
    }
    collect();
    CHECK(Log::count(suspicion) == 0);
}

TEST_CASE("of scattered globals a few are named in each collection", "[gc][globals]") {
    const Globals globals;
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < shelves; i += 2) {
            shelf[i] = makeNode();
        }
        Log::clear();
        collect();
        CHECK(Log::count(suspicion) <= 8);
        CHECK((round > 0 || Log::count(suspicion) == 8));
    }
    CHECK(Log::count(suspicion) == 0); // all are known
}

TEST_CASE("check=globals takes no heap in a static buffer for globals", "[gc][globals]") {
    alignas(16) static char buffer[1 << 20];
    const Log log;
    const Watchdog watchdog(60);
    REQUIRE(mprConfigure("check=globals,everyyield=0") == 0);
    REQUIRE(mprCreateInBuffer(buffer, sizeof(buffer), 0));
    for (int i = 0; i < 1000; i++) {
        makeNode(makeNode());
        if (i % 100 == 99) {
            collect();
        }
    }
    CHECK(Log::count(suspicion) == 0);
    second = makeNode();
    collect();
    checkNamed("? second (", second);
    CHECK(mprDestroy());
    mprConfigure(nullptr);
    forgetAll();
}

TEST_CASE("check=globals goes together with check=fields, and other modes do not look at globals", "[gc][globals]") {
    const bool looks = GENERATE(true, false);
    Runtime runtime(looks ? "check=fields+globals,everyyield=0" : "check=fields,everyyield=0");
    second = makeNode();
    Root table(makeTable(4));
    table.as<Table>()->items[3] = makeNode();
    table.as<Table>()->count = 3;
    collect();
    CHECK(Log::count(suspicion) == (looks ? 1 : 0));
    CHECK(Log::count("unmarked field") == 1);
    forgetAll();
}

TEST_CASE("a check without a collection says that it has looked at nothing", "[gc][globals][fields][check]") {
    const cchar *options = GENERATE("check=1", "check=fields", "check=globals+abort");
    Runtime runtime(options);
    SECTION("there was none") {
        mprConfigure(options);
        runtime.mpr = nullptr; // no verification, which would collect
        CHECK(mprDestroy());
        CHECK(Log::count("nothing was checked, because no collection has run") == 1);
    }
    SECTION("there was one") {
        collect();
        runtime.end();
        CHECK_FALSE(Log::has("nothing was checked"));
    }
}

TEST_CASE("without a check nothing is said about collections", "[gc][globals][fields][check]") {
    Runtime runtime(GENERATE("check=0", "check=abort"));
    runtime.mpr = nullptr;
    CHECK(mprDestroy());
    CHECK(Log::size() == 0);
    mprConfigure(nullptr);
}
