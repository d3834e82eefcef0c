// SPDX-License-Identifier: MIT
/*
    fields.cpp - Option check=fields: a field that nobody marks is named, a program without mistakes is not.
 */
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include "mpr.hpp"
#include "mpr/gc/unmarked.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace test;

namespace {

constexpr cchar *suspicion = "unmarked field";

std::string at(size_t offset) {
    return "has at offset " + std::to_string(offset) + " the address";
}

/* Whether the only suspicion is this: in owner, at offset, of what is about to die. */
void checkNamed(const void *owner, size_t offset, const void *dying) {
    INFO(Log::text());
    CHECK(Log::count(suspicion) == 1);
    CHECK(Log::count(at(offset)) == 1);
    CHECK(Log::names(owner) == 1);
    CHECK(Log::names(dying) == 1);
}

struct Pair {
    void *marked;
    void *forgotten;
};

/* Forgets one of two. */
void managePair(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(static_cast<Pair *>(ptr)->marked);
    }
}

void managePairByRef(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<Pair *>(ptr)->marked);
    }
}

Pair *makePair(int flags) {
    return static_cast<Pair *>(mprAllocManaged(sizeof(Pair), flags & MPR_ALLOC_BARRIER ? managePairByRef : managePair,
                                               MPR_ALLOC_ZERO | flags));
}

void store(Pair *pair, void **field, void *value, int flags) {
    if (flags & MPR_ALLOC_BARRIER) {
        mprSetRef(pair, field, value);
    } else {
        *field = value;
    }
}

constexpr int kinds[] = {0, MPR_ALLOC_BARRIER, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE};

} // namespace

TEST_CASE("check=fields names a field that a manager forgets, in plain and in barrier blocks", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    const int flags = kinds[GENERATE(0, 1, 2)];
    const bool old = GENERATE(false, true);
    const int collection = GENERATE(MPR_GC_MINOR, MPR_GC_FORCE) | MPR_GC_COMPLETE;
    Root root(makePair(flags));
    auto pair = root.as<Pair>();
    if (old) {
        collect();
    }
    store(pair, &pair->marked, mprAlloc(32), flags);
    void *forgotten = mprAllocZeroed(40);
    store(pair, &pair->forgotten, forgotten, flags);
    mprGC(collection);
    CHECK(mprIsValid(pair->marked));
    CHECK_FALSE(mprIsValid(forgotten));
    checkNamed(pair, offsetof(Pair, forgotten), forgotten);
}

TEST_CASE("check=fields does not take the end of a vector's buffer for the block behind it", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    struct Vector {
        char *begin, *end, *capacity;
        static void manage(void *ptr, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                mprMark(static_cast<Vector *>(ptr)->begin);
            }
        }
    };
    constexpr size_t size = 64;
    Root root(mprAllocManaged(sizeof(Vector), Vector::manage, MPR_ALLOC_ZERO));
    auto vector = root.as<Vector>();
    // A buffer that fills its block, and behind it a block that dies.
    char *buffer = nullptr, *behind = nullptr;
    for (int i = 0; i < 1000 && (!buffer || behind != buffer + size); i++) {
        buffer = static_cast<char *>(mprAlloc(size));
        behind = static_cast<char *>(mprAlloc(size));
    }
    REQUIRE(behind == buffer + size);
    SECTION("it is one, of which so much is used") {
        const int used = GENERATE(0, 40, 64);
        *vector = {buffer, buffer + used, behind};
        collect();
        INFO(Log::text());
        CHECK(mprIsValid(buffer));
        CHECK(Log::count(suspicion) == 0);
    }
    SECTION("it is none: there is no buffer") {
        *vector = {nullptr, nullptr, behind};
        collect();
        checkNamed(vector, offsetof(Vector, capacity), behind);
    }
    SECTION("it is none: something else stands between") {
        *vector = {buffer, nullptr, behind};
        collect();
        checkNamed(vector, offsetof(Vector, capacity), behind);
    }
    CHECK_FALSE(mprIsValid(behind));
}

TEST_CASE("check=fields does not take the end of a buffer for the block behind it, whatever was read of it",
          "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    struct Buffer { // as MprBuf: of what it holds the start may have been taken out
        char *data, *start, *end, *endbuf;
        static void manage(void *ptr, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                mprMark(static_cast<Buffer *>(ptr)->data);
            }
        }
    };
    constexpr size_t size = 64;
    Root root(mprAllocManaged(sizeof(Buffer), Buffer::manage, MPR_ALLOC_ZERO));
    auto buffer = root.as<Buffer>();
    char *data = nullptr, *behind = nullptr;
    for (int i = 0; i < 1000 && (!data || behind != data + size); i++) {
        data = static_cast<char *>(mprAlloc(size));
        behind = static_cast<char *>(mprAlloc(size));
    }
    REQUIRE(behind == data + size);
    SECTION("it is one") {
        const int taken = GENERATE(0, 4, 10);
        *buffer = {data, data + taken, data + 10, behind};
        collect();
        INFO(Log::text());
        CHECK(Log::count(suspicion) == 0);
    }
    SECTION("it is none: only one pointer in front of it points into the buffer") {
        *buffer = {data, nullptr, data + 10, behind};
        collect();
        checkNamed(buffer, offsetof(Buffer, endbuf), behind);
    }
    SECTION("it is none: two do, and neither to its start") {
        *buffer = {data, nullptr, nullptr, nullptr};
        Root other(makeTable(4));
        auto table = other.as<Table>();
        table->count = 0;
        table->items[0] = data + 4;
        table->items[1] = data + 10;
        table->items[2] = behind;
        collect();
        checkNamed(table, offsetof(Table, items) + 2 * sizeof(void *), behind);
    }
    CHECK_FALSE(mprIsValid(behind));
}

TEST_CASE("check=fields takes nothing for a field that was never written", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    constexpr int count = 1000;
    constexpr size_t size = 11 * sizeof(void *); // and perhaps a word behind it that the allocation has rounded up to
    const auto make = [] {
        return static_cast<void **>(mprAllocManaged(
            size, [](void *, int) {}, 0));
    };
    Root root(makeTable(count));
    auto table = root.as<Table>();
    void *dying = mprAlloc(32);
    for (int i = 0; i < count; i++) { // the memory is full of addresses
        void **block = make();
        REQUIRE(block);
        std::fill_n(block, mprGetBlockSize(block) / sizeof(void *), dying);
        table->items[i] = block;
    }
    for (int i = 0; i < count; i++) {
        mprFree(table->items[i]);
    }
    for (int i = 0; i < count; i++) {
        table->items[i] = make();
    }
    collect();
    INFO(Log::text());
    CHECK(Log::count(suspicion) == 0);
    CHECK_FALSE(mprIsValid(dying));
}

TEST_CASE("check=fields names a forgotten field of old blocks whose target dies old", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    const int flags = kinds[GENERATE(0, 1)];
    Root root(makePair(flags));
    Root other(mprAllocZeroed(40));
    auto pair = root.as<Pair>();
    store(pair, &pair->forgotten, other.as<void>(), flags);
    collect();
    collect();
    CHECK(Log::count(suspicion) == 0); // the target lives by itself
    void *const forgotten = other.as<void>();
    other.set(nullptr);
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    CHECK(mprIsValid(forgotten)); // no minor collection frees the old
    CHECK(Log::count(suspicion) == 0);
    collect();
    CHECK_FALSE(mprIsValid(forgotten));
    checkNamed(pair, offsetof(Pair, forgotten), forgotten);
}

TEST_CASE("check=fields names what dies by its manager or its text, and a field of a large block", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    Root root(makeTable(1000000));
    auto table = root.as<Table>();
    table->count = 0; // as if the manager stopped too early
    table->items[999999] = sclone("forgotten words");
    collect();
    CHECK(Log::count(suspicion) == 1);
    CHECK(Log::has("text \"forgotten words\""));
    CHECK(Log::has(at(offsetof(Table, items) + 999999 * sizeof(void *))));
    Log::clear();
    table->items[5] = mprAllocObj(Pair, managePair);
    collect();
    INFO(Log::text());
    CHECK(Log::count(suspicion) == 1);
    CHECK(Log::count("manager ") >= 1);
    CHECK_FALSE(Log::has("no manager"));
}

TEST_CASE("check=fields names each field of a manager once, and a table's not without end", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    Root root(makePair(0));
    for (int i = 0; i < 5; i++) {
        root.as<Pair>()->forgotten = mprAlloc(40);
        collect();
    }
    CHECK(Log::count(suspicion) == 1);
    Log::clear();
    Root many(makeTable(1000));
    auto table = many.as<Table>();
    table->count = 0;
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 1000; k++) {
            table->items[k] = mprAlloc(16);
        }
        collect();
    }
    CHECK(Log::count(suspicion) >= 2);
    CHECK(Log::count(suspicion) <= 16);
}

TEST_CASE("check=fields names what dies with a block that is only held", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    const int flags = kinds[GENERATE(0, 1, 2)];
    auto pair = makePair(flags | MPR_ALLOC_HOLD);
    void *lost = mprAllocZeroed(32);
    store(pair, &pair->marked, lost, flags);
    collect();
    CHECK_FALSE(mprIsValid(lost));
    checkNamed(pair, offsetof(Pair, marked), lost);
    CHECK(Log::count("it is only held") == 1);
    mprRelease(pair);
}

TEST_CASE("check=fields is silent about what is not about to die, and about what dies with its owner", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    Root root(makePair(0));
    auto pair = root.as<Pair>();
    pair->marked = makePair(0);
    pair->forgotten = pair->marked; // somebody else marks it
    collect();
    auto held = mprAllocMem(32, MPR_ALLOC_HOLD);
    pair->forgotten = held;
    collect();
    mprRelease(held);
    pair->forgotten = reinterpret_cast<char *>(mprAlloc(64)) + 16; // no start of a block
    collect();
    pair->forgotten = nullptr;
    auto owner = makePair(0);
    owner->forgotten = mprAlloc(48);
    collect();
    INFO(Log::text());
    CHECK(Log::count(suspicion) == 0);
}

TEST_CASE("check=fields names a reference in a block without a manager, unless that is held", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    const bool held = GENERATE(false, true);
    Root root(makePair(0));
    auto data = static_cast<void **>(mprAllocMem(64, MPR_ALLOC_ZERO | (held ? MPR_ALLOC_HOLD : 0)));
    root.as<Pair>()->marked = data;
    data[5] = makePair(0);
    collect();
    CHECK_FALSE(mprIsValid(data[5]));
    if (held) { // as the memory of containers, where old addresses stay
        CHECK(Log::count(suspicion) == 0);
        mprRelease(data);
    } else {
        checkNamed(data, 5 * sizeof(void *), data[5]);
        CHECK(Log::has("it has no manager"));
        CHECK(Log::has("managePair"));
    }
}

TEST_CASE("check=fields sees addresses behind tags with option mask", "[gc][fields]") {
    if (sizeof(void *) < 8) {
        return; // no bits to spare
    }
    const bool masked = GENERATE(true, false);
    Runtime runtime(masked ? "check=fields,everyyield=0,mask=0x0000ffffFFFFffff" : "check=fields,everyyield=0");
    Root root(makePair(0));
    auto pair = root.as<Pair>();
    void *forgotten = mprAllocZeroed(40);
    constexpr uintptr_t tag = static_cast<uintptr_t>(0xfffc'0000'0000'0000);
    pair->forgotten = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(forgotten) | tag);
    SECTION("a forgotten one") {
        collect();
        if (masked) {
            checkNamed(pair, offsetof(Pair, forgotten), forgotten);
        } else {
            CHECK(Log::count(suspicion) == 0);
        }
    }
    SECTION("one that somebody marks") {
        pair->marked = forgotten;
        collect();
        CHECK(Log::count(suspicion) == 0);
    }
    SECTION("a plain word is seen, too") {
        pair->forgotten = forgotten;
        collect();
        checkNamed(pair, offsetof(Pair, forgotten), forgotten);
    }
}

TEST_CASE("check=fields calls blocks by the names of their managers", "[gc][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    mprSetManagerName(managePair, "MyPair");
    Root root(makePair(0));
    root.as<Pair>()->forgotten = makePair(0);
    collect();
    INFO(Log::text());
    CHECK(Log::count(" bytes, MyPair)") == 1);
    CHECK_FALSE(Log::has("managePair"));
    mprSetManagerName(managePair, nullptr);
}

TEST_CASE("as many fields as a program's rooms declare are passed over, and no others", "[gc][fields]") {
    struct Row {
        void *words[40];
        static void manage(void *, int) {}
    };
    static std::vector<std::unique_ptr<mpr::gc::UnmarkedField>> declared; /* for good */
    for (size_t i = 0; declared.size() < 39; i++) {
        declared.push_back(std::make_unique<mpr::gc::UnmarkedField>(Row::manage, i * sizeof(void *)));
    }
    Runtime runtime("check=fields,everyyield=0");
    const Root root(mprAllocManaged(sizeof(Row), Row::manage, MPR_ALLOC_ZERO));
    for (void *&word : root.as<Row>()->words) {
        word = makeNode();
    }
    collect();
    INFO(Log::text());
    CHECK(Log::count(suspicion) == 1);
    CHECK(Log::has("at offset " + std::to_string(39 * sizeof(void *)) + " "));
}

TEST_CASE("other modes do not look for unmarked fields", "[gc][fields]") {
    Runtime runtime(GENERATE("check=0", "check=1"));
    Root root(makePair(0));
    root.as<Pair>()->forgotten = mprAlloc(40);
    collect();
    CHECK(Log::count(suspicion) == 0);
}

TEST_CASE("check takes 0, 1, fields, globals, stacks, where and abort, and several of them", "[gc][fields]") {
    const Log log;
    CHECK(mprConfigure("check=stacks+where") == 0);
    CHECK(mprConfigure("check=globals") == 0);
    CHECK(mprConfigure("check=abort") == 0);
    CHECK(mprConfigure("check=fields+globals+abort+1") == 0);
    CHECK(mprConfigure("check=fields") == 0);
    CHECK(mprConfigure("check=0") == 0);
    CHECK(mprConfigure("check=1") == 0);
    CHECK(mprConfigure(GENERATE("check=2", "check=field", "check=", "check=fieldsx", "check=fields+", "check=+fields",
                                "check=fields+2", "check=fields globals", "check=fields+field")) == MPR_ERR_BAD_ARGS);
    CHECK(Log::has("option \"check="));
    mprConfigure(nullptr);
}

TEST_CASE("mask takes a number that begins with 0x", "[gc][fields]") {
    const Log log;
    CHECK(mprConfigure("mask=0xffffFFF0") == 0);
    CHECK(mprConfigure("mask=0x7") == 0);
    CHECK(mprConfigure(GENERATE("mask=7", "mask=", "mask=0x", "mask=0x1ffffffffffffffff", "mask=0xfg", "mask=0Xff")) ==
          MPR_ERR_BAD_ARGS);
    CHECK(Log::has("must be a number such as 0xffffffffffff"));
    mprConfigure(nullptr);
}
