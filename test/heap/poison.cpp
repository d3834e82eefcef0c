// SPDX-License-Identifier: MIT
/*
    test/heap/poison.cpp - Option poison=1: free memory is filled, what was written there is named, and builds with the address
    sanitizer report who looks.
 */
#include "test/support/pattern.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using namespace test;

namespace {

/* Whether a free block is filled. Where the address sanitizer forbids to look this is for other builds to say. */
bool isPoisoned(const void *block, size_t size) {
    if (!addressSanitizer) {
        for (size_t i = 0; i < size; i++) {
            if (static_cast<const unsigned char *>(block)[i] != 0xDB) {
                return false;
            }
        }
    }
    return true;
}

#ifdef TEST_ADDRESS_SANITIZER
__attribute__((no_sanitize_address))
#endif
void write(void *block, size_t word, uintptr_t value) {
    static_cast<volatile uintptr_t *>(block)[word] = value;
}

constexpr cchar *poisoned = "poison=1,region=1m";
} // namespace

TEST_CASE("with poison=1 a block that is freed by hand is filled", "[heap][poison]") {
    Runtime runtime(poisoned, MPR_DISABLE_GC);
    for (size_t size : {16, 64, 1000, 5000, 100000}) {
        auto block = static_cast<char *>(mprAlloc(size));
        mprAlloc(64);
        memset(block, 1, size);
        mprFree(block);
        INFO(size);
        // Of a hole the first granule holds links.
        CHECK(isPoisoned(block + 16, size - 16));
    }
    auto permanent = static_cast<char *>(palloc(64));
    memset(permanent, 1, 64);
    pfree(permanent);
    CHECK(isPoisoned(permanent, 64));
}

TEST_CASE("with poison=1 a block that a collection frees is filled", "[heap][poison]") {
    Runtime runtime(poisoned);
    for (size_t size : {48, 1000, 5000}) {
        for (bool survivor : {false, true}) {
            auto block = static_cast<char *>(mprAlloc(size));
            void *other = survivor ? mprAlloc(64) : nullptr;
            memset(block, 1, size);
            mprHold(other);
            collect();
            INFO(size << " " << survivor);
            CHECK_FALSE(mprIsValid(block));
            CHECK(isPoisoned(block + 16, size - 16));
            mprRelease(other);
        }
    }
}

TEST_CASE("with poison=1 a write after free is named, whichever word it changes", "[heap][poison]") {
    for (size_t size : {16, 64, 1000, 5000, 600000}) {
        const size_t words = size / sizeof(uintptr_t);
        for (size_t word = 0; word < words; word += 1 + words / 8) {
            Runtime runtime(poisoned, MPR_DISABLE_GC);
            void *block = mprAlloc(size);
            mprAlloc(16);
            mprFree(block);
            write(block, word, 0);
            for (int i = 0; i < 20000 && !Log::has("write after free"); i++) {
                mprFree(mprAlloc(size));
                mprAlloc(size / 8 * 7);
            }
            INFO(size << " word " << word);
            CHECK(Log::has("write after free"));
            mprVerifyHeap();
        }
    }
}

TEST_CASE("with poison=1 nothing is named where nothing was written", "[heap][poison]") {
    Runtime runtime(poisoned);
    Random random(7);
    std::vector<void *> blocks(500);
    for (size_t i = 0; i < heavy(100000); i++) {
        void *&block = blocks[random.below(blocks.size())];
        if (block) {
            mprRelease(block);
            if (random.below(2) == 0) {
                mprFree(block);
            }
        }
        const size_t kind = random.below(1000);
        const size_t size = random.below(kind == 0 ? 3000000 : kind < 20 ? 200000 : 3000);
        block = mprAlloc(size);
        memset(block, 0x11, size);
        mprHold(block);
        if (random.below(100) == 0) {
            void *grown = mprRealloc(block, random.below(4000));
            block = grown ? grown : block;
        }
        mprYield(0);
        if (i % 5000 == 0) {
            collect();
        }
    }
    INFO(Log::text());
    CHECK(stats().misuses == 0);
    for (void *block : blocks) {
        mprRelease(block);
    }
}

TEST_CASE("a small block that was freed by hand rests before it is used again", "[heap][poison]") {
    Runtime runtime(poisoned, MPR_DISABLE_GC);
    void *block = mprAlloc(64);
    mprFree(block);
    for (int i = 0; i < 200; i++) {
        void *other = mprAlloc(64);
        CHECK(other != block);
        mprFree(other);
    }
}

TEST_CASE("a small block that a collection has found dead rests before it is used again", "[heap][poison]") {
    Runtime runtime(poisoned);
    const size_t size = GENERATE(16, 32, 125 * sizeof(void *)); // 64 granules are small
    std::vector<void *> dead;
    for (int i = 0; i < 200; i++) {
        void *block = mprAlloc(size);
        CHECK(std::find(dead.begin(), dead.end(), block) == dead.end());
        dead.push_back(block);
        if (i % 50 == 49) {
            mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        }
    }
    CHECK(stats().misuses == 0);
}

TEST_CASE("what rests is given up when memory is short", "[heap][poison]") {
    Runtime runtime(poisoned);
    mprSetMemLimits(0, 2 * 1024 * 1024, 0);
    for (int i = 0; i < 200; i++) {
        CHECK(mprAlloc(1000));
        if (i % 50 == 49) {
            mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        }
    }
    size_t large = 0;
    for (int i = 0; i < 15; i++) {
        void *block = mprAlloc(100'000);
        large += block != nullptr;
        mprHold(block);
    }
    CHECK(large == 15);
}

namespace {
struct Owner {
    char *text;

    static void manage(void *owner, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMark(static_cast<Owner *>(owner)->text);
        }
    }
};
} // namespace

TEST_CASE("a free of what nothing has rooted over a yield is named, and frees no other block", "[heap][poison]") {
    Runtime runtime(poisoned);
    const bool stale = GENERATE(true, false), swept = GENERATE(true, false);
    auto owner = static_cast<Owner *>(mprAllocManaged(sizeof(Owner), Owner::manage, MPR_ALLOC_ZERO));
    mprAddRoot(owner);
    constexpr int rounds = 100;
    for (int i = 0; i < rounds; i++) {
        auto buffer = static_cast<char *>(mprAlloc(32));
        mprGC(MPR_GC_MINOR | (swept ? MPR_GC_COMPLETE : 0));
        owner->text = static_cast<char *>(mprAlloc(32));
        CHECK(owner->text != buffer);
        if (stale) {
            CHECK(mprFree(buffer) < 0);
        }
        CHECK(mprIsValid(owner->text));
        mprYield(0);
    }
    CHECK(stats().misuses == (stale ? rounds : 0));
    mprRemoveRoot(owner);
}

TEST_CASE("the address sanitizer reports uses of memory that is free in the heap", "[heap][poison]") {
    const char *uses[] = {"child: reads a swept block", "child: reads a freed block",
                          "child: reads freed palloc memory", "child: writes behind the last block"};
    for (const char *use : uses) {
        Ended child = runChild(use);
        INFO(use << "\n" << child.output);
        CHECK(child.wrote("before"));
        CHECK(child.wrote("AddressSanitizer: use-after-poison") == addressSanitizer);
        CHECK(child.wrote("after it") == !addressSanitizer);
    }
}

namespace {

/* A child: what it uses is seen or not. */
void use(volatile char *address) {
    mark("before");
    *address = *address;
    mark("after it");
    _exit(0);
}

void beginChild() {
    if (!getenv("MPR_TEST_CHILD")) {
        exit(0);
    }
    mprConfigure("poison=1");
    mprCreate(0, nullptr, 0);
}
} // namespace

TEST_CASE("child: reads a swept block", "[.child]") {
    beginChild();
    auto block = static_cast<char *>(mprAlloc(100));
    collect();
    use(block + 50);
}

TEST_CASE("child: reads a freed block", "[.child]") {
    beginChild();
    auto block = static_cast<char *>(mprAlloc(100));
    mprFree(block);
    use(block);
}

TEST_CASE("child: reads freed palloc memory", "[.child]") {
    beginChild();
    auto block = static_cast<char *>(palloc(100));
    pfree(block);
    use(block);
}

TEST_CASE("child: writes behind the last block", "[.child]") {
    beginChild();
    mprAlloc(100);
    auto block = static_cast<char *>(mprAlloc(100));
    use(block + mprGetBlockSize(block));
}
