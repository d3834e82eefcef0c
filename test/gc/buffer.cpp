// SPDX-License-Identifier: MIT
/*
    test/gc/buffer.cpp - A runtime over a static buffer: nothing outside is touched, and little inside is lost.
 */
#include "test/support/mutator.hpp"
#include "test/support/hoard.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <sys/mman.h>

#include <vector>

using namespace test;

namespace {

/* A buffer at any alignment between canaries. */
class Arena {
public:
    Arena(size_t bufferSize, size_t offset)
        : all(margin + offset + bufferSize + margin, canary), at(offset), size(bufferSize) {
        auto start = reinterpret_cast<uintptr_t>(all.data());
        at += margin - start % 64;
        fill(buffer(), size, 0x33);
    }

    unsigned char *buffer() { return all.data() + at; }

    bool owns(const void *ptr, size_t bytes) {
        auto start = static_cast<const unsigned char *>(ptr);
        return start >= buffer() && start + bytes <= buffer() + size;
    }

    bool canariesLive() const {
        for (size_t i = 0; i < all.size(); i++) {
            if ((i < at || i >= at + size) && all[i] != canary) {
                return false;
            }
        }
        return true;
    }

private:
    static constexpr size_t margin = 8192;
    static constexpr unsigned char canary = 0xc5;
    std::vector<unsigned char> all;
    size_t at;
    const size_t size;
};

} // namespace

TEST_CASE("the canary check fires", "[gc][buffer]") {
    Arena arena(16 << 10, 3);
    CHECK(arena.canariesLive());
    unsigned char *before = arena.buffer() - 1, *after = arena.buffer() + (16 << 10);
    *before ^= 1;
    CHECK_FALSE(arena.canariesLive());
    *before ^= 1;
    *after ^= 1;
    CHECK_FALSE(arena.canariesLive());
}

TEST_CASE("each dead block's manager is called once, however small the buffer", "[gc][buffer]") {
    size_t size = GENERATE(16 << 10, 20000, 32 << 10, 100000, 1 << 20);
    Arena arena(size, 0);
    Runtime runtime(arena.buffer(), size);
    for (int round = 0; round < 3; round++) {
        calls.reset();
        long made = 0;
        for (; made < 200 && makeNode(); made++) {
            mprAlloc(static_cast<size_t>(made % 50));
        }
        collect();
        CHECK(made > 50);
        CHECK(calls.frees == made);
        CHECK(stats().managersFreed >= static_cast<uint64>(made));
    }
}

TEST_CASE("a runtime works inside a buffer of any size and alignment and touches nothing outside", "[gc][buffer]") {
    size_t size = GENERATE(16 << 10, 32 << 10, 64 << 10, 1 << 20, 100000);
    size_t offset = GENERATE(0, 1, 3, 7, 8, 13, 16, 63);
    INFO("size " << size << " offset " << offset);
    Arena arena(size, offset);
    {
        Runtime runtime(arena.buffer(), size);
        CHECK(stats().heap <= size);
        CHECK(arena.owns(runtime.mpr, 1));
        Hoard hoard;
        for (size_t blockSize : {24u, 100u, 1000u}) {
            size_t added = hoard.grow(blockSize);
            CHECK(added > 0);
            CHECK(mprAllocManaged(blockSize, Hoard::manage, 0) == nullptr);
            CHECK(hoard.intact());
            CHECK(arena.canariesLive());
            CHECK(mprVerifyHeap() == 0);
            collect();
            CHECK(hoard.intact());
            hoard.drop();
            collect();
            void *block = mprAlloc(blockSize);
            CHECK(block);
            CHECK(arena.owns(block, mprGetBlockSize(block)));
            collect();
            size_t again = hoard.grow(blockSize);
            CHECK(again * 10 >= added * 9);
            hoard.drop();
            collect();
        }
        CHECK(stats().heapPeak <= size);
    }
    CHECK(arena.canariesLive());
}

TEST_CASE("blocks of a buffer lie inside it and do not overlap", "[gc][buffer]") {
    const size_t size = 64 << 10;
    Arena arena(size, 5);
    Runtime runtime(arena.buffer(), size);
    Random random(1);
    std::vector<std::pair<unsigned char *, size_t>> blocks;
    for (;;) {
        size_t bytes = random.below(400);
        auto block = static_cast<unsigned char *>(mprAlloc(bytes));
        if (!block) {
            break;
        }
        REQUIRE(arena.owns(block, bytes));
        REQUIRE(reinterpret_cast<uintptr_t>(block) % (2 * sizeof(void *)) == 0);
        fill(block, bytes, blocks.size());
        blocks.emplace_back(block, bytes);
    }
    CHECK(blocks.size() > 100);
    size_t intact = 0;
    for (size_t i = 0; i < blocks.size(); i++) {
        intact += filled(blocks[i].first, blocks[i].second, i);
    }
    CHECK(intact == blocks.size());
}

TEST_CASE("32 KiB hold nearly three quarters of the small objects they could", "[gc][buffer]") {
    const size_t size = 32 << 10;
    alignas(16) static unsigned char buffer[size];
    // A thread's record lies in the buffer, too: with 32 bits it takes more than 1 KiB.
    constexpr size_t least = size / 32 * (sizeof(void *) == 8 ? 73 : 72) / 100;
    SECTION("leaves of 24 bytes") {
        Runtime runtime(buffer, size, MPR_DISABLE_GC);
        size_t count = 0;
        while (mprAlloc(24)) {
            count++;
        }
        CHECK(count > least);
    }
    SECTION("managed objects of 24 bytes") {
        Runtime runtime(buffer, size, MPR_DISABLE_GC);
        size_t count = 0;
        while (mprAllocManaged(24, manageTable, MPR_ALLOC_ZERO)) {
            count++;
        }
        CHECK(count > least);
    }
}

TEST_CASE("an exhausted buffer notifies, and yields make room", "[gc][buffer]") {
    static unsigned char buffer[64 << 10];
    Runtime runtime(buffer, sizeof(buffer));
    static std::atomic<int> notified;
    notified = 0;
    mprSetMemNotifier([](int, int, size_t, size_t) { notified++; });
    while (mprAlloc(100)) {}
    CHECK(notified >= 1);
    CHECK(mprHasMemError());
    CHECK(until([] { return mprAlloc(100) != nullptr; }));
    mprSetMemNotifier(nullptr);
}

TEST_CASE("a program with little live data runs on in a small buffer", "[gc][buffer]") {
    static unsigned char buffer[32 << 10];
    Runtime runtime(buffer, sizeof(buffer));
    Hoard hoard;
    hoard.grow(64, 8 << 10);
    size_t refused = 0;
    for (size_t i = 0; i < heavy(200000); i++) {
        if (!mprAlloc(i % 200)) {
            refused++;
            mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        }
        mprYield(0);
    }
    CHECK(refused < heavy(200000) / 50);
    CHECK(hoard.intact());
}

TEST_CASE("managers, frees and reallocs work in a buffer", "[gc][buffer]") {
    static unsigned char buffer[64 << 10];
    Runtime runtime(buffer, sizeof(buffer));
    calls.reset();
    for (int i = 0; i < 100; i++) {
        makeNode();
    }
    void *block = makeNode();
    for (size_t size = 32; size <= 8 << 10; size *= 2) {
        block = mprRealloc(block, size);
        REQUIRE(block);
    }
    CHECK(mprRealloc(block, 64 << 10) == nullptr);
    CHECK(mprIsValid(block));
    CHECK(mprFree(block) == 0);
    CHECK(calls.frees == 1);
    collect();
    CHECK(calls.frees == 101);
    CHECK(mprFree(buffer + 17) == MPR_ERR_BAD_ARGS);
    CHECK(mprFree(block) == MPR_ERR_BAD_ARGS);
}

TEST_CASE("a long list in a buffer is marked with the little memory there is", "[gc][buffer]") {
    static unsigned char buffer[1 << 20];
    Runtime runtime(buffer, sizeof(buffer));
    Hoard deep;
    deep.grow(24);
    CHECK(deep.count > 15000);
    collect();
    CHECK(deep.intact());
}

TEST_CASE("threads share a buffer", "[gc][buffer]") {
    static unsigned char buffer[1 << 20];
    Runtime runtime(buffer, sizeof(buffer));
    std::atomic<long> wrong{0};
    auto work = [&](Mutator &self) {
        while (self.go()) {
            Hoard hoard;
            hoard.grow(200, 100 << 10);
            mprYield(0);
            wrong += !hoard.intact();
        }
    };
    Mutator a("a", work), b("b", work);
    for (int i = 0; i < 50; i++) {
        collect();
        sleepYielded(2);
    }
    a.end();
    b.end();
    CHECK(wrong == 0);
}

TEST_CASE("no page is asked of the system", "[gc][buffer]") {
    static unsigned char buffer[1 << 20];
    Runtime runtime(buffer, sizeof(buffer));
    Hoard hoard;
    int maps = countLines("/proc/self/maps");
    hoard.grow(500);
    collect();
    hoard.drop();
    collect();
    CHECK(countLines("/proc/self/maps") == maps);
}

TEST_CASE("bad buffers are refused with a message", "[gc][buffer]") {
    Log log;
    static unsigned char buffer[64 << 10];
    for (size_t size : {size_t(0), size_t(1), size_t(1024), size_t((16 << 10) - 1)}) {
        log.clear();
        fill(buffer, sizeof(buffer), 1);
        CHECK(mprCreateInBuffer(buffer, size, 0) == nullptr);
        CHECK(log.size() == 1);
        CHECK(filled(buffer, sizeof(buffer), 1));
    }
    log.clear();
    CHECK(mprCreateInBuffer(nullptr, 1 << 20, 0) == nullptr);
    CHECK(log.size() == 1);
}

TEST_CASE("at most 256 MiB of a buffer are used", "[gc][buffer]") {
    const size_t size = size_t(300) << 20;
    void *pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    {
        Runtime runtime(pages, size);
        CHECK(stats().heap <= size_t(256) << 20);
        void *large = mprAlloc(100 << 20);
        CHECK(large);
        CHECK(mprGetBlockSize(large) >= 100 << 20);
        CHECK(mprAlloc(100));
        CHECK(mprAlloc(size_t(260) << 20) == nullptr);
    }
    munmap(pages, size);
}

TEST_CASE("a buffer may be used again after mprDestroy", "[gc][buffer]") {
    static unsigned char buffer[32 << 10];
    for (int life = 0; life < 50; life++) {
        Runtime runtime(buffer, sizeof(buffer));
        Hoard hoard;
        REQUIRE(hoard.grow(50) > 100);
    }
    memset(buffer, 0, sizeof(buffer));
}
