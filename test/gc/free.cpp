// SPDX-License-Identifier: MIT
/*
    test/gc/free.cpp - Explicit memory management: mprFree and what it refuses, mprRealloc, permanent memory, and the
    questions that may be asked about any pointer.
 */
#include "test/support/few_addresses.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

using namespace test;

namespace {

/* mprFree must refuse: returns the error, names the pointer, counts one misuse, and the heap stays whole. */
void checkRefused(void *ptr) {
    auto before = stats();
    Log::clear();
    INFO("pointer " << ptr);
    CHECK(mprFree(ptr) == MPR_ERR_BAD_ARGS);
    INFO(Log::text());
    CHECK(Log::names(ptr) == 1);
    auto after = stats();
    CHECK(after.misuses == before.misuses + 1);
    CHECK(after.blocksFreed == before.blocksFreed);
    CHECK(mprVerifyHeap() == 0);
}

} // namespace

TEST_CASE("mprFree gives a block back", "[gc][free]") {
    Runtime runtime;
    size_t size = GENERATE(0, 1, 16, 100, 1000, 10000, 100000, 1000000, 10000000);
    void *block = mprAlloc(size);
    REQUIRE(mprIsValid(block));
    CHECK(mprFree(block) == 0);
    CHECK_FALSE(mprIsValid(block));
    CHECK(mprGetBlockSize(block) == 0);
    CHECK(stats().misuses == 0);
}

namespace {
struct Parent {
    void *child;
    size_t number;
};
constexpr size_t childSize = 48;
std::vector<unsigned char *> fromManagers; // roots
size_t childrenLost;

/* In FREE the child is dead, too, and whole. */
void resizeChild(void *block, int flags) {
    auto parent = static_cast<Parent *>(block);
    if (flags & MPR_MANAGE_MARK) {
        mprMark(parent->child);
    }
    if (flags & MPR_MANAGE_FREE) {
        const void *grown = mprRealloc(parent->child, 400);
        childrenLost += !grown || !filled(grown, childSize, parent->number);
        auto made = static_cast<unsigned char *>(mprAlloc(childSize));
        fill(made, childSize, fromManagers.size());
        mprAddRoot(made);
        fromManagers.push_back(made);
    }
}
} // namespace

TEST_CASE("what a manager makes after it has resized a dead block is not lost", "[gc][free]") {
    Runtime runtime("everyyield=0,everyalloc=0,batches=0");
    fromManagers.clear();
    childrenLost = 0;
    constexpr size_t count = 5000;
    for (size_t i = 0; i < count; i++) {
        auto parent = static_cast<Parent *>(mprAllocManaged(sizeof(Parent), resizeChild, 0));
        parent->number = i;
        parent->child = nullptr;
        parent->child = mprAlloc(childSize);
        fill(parent->child, childSize, i);
    }
    const auto countLost = [] {
        size_t lost = 0;
        for (size_t i = 0; i < fromManagers.size(); i++) {
            lost += !mprIsValid(fromManagers[i]) || !filled(fromManagers[i], childSize, i);
        }
        return lost;
    };
    for (int round = 0; round < 3; round++) {
        collect();
        for (int i = 0; i < 20000; i++) { // in what the collection has found
            memset(mprAlloc(childSize), 0xEE, childSize);
        }
        CHECK(countLost() == 0);
    }
    CHECK(fromManagers.size() == count);
    CHECK(childrenLost == 0);
    CHECK(mprVerifyHeap() == 0);
}

namespace {
/* Its block is being freed by hand, so it keeps its place until that is done. */
void resizeItself(void *block, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        childrenLost += mprRealloc(block, 4000) != nullptr;
        for (size_t i = 0; i < 50; i++) { // in its place, if that were free
            auto made = static_cast<unsigned char *>(mprAllocManaged(childSize, nullptr, MPR_ALLOC_MANAGER));
            fill(made, childSize, i);
            mprAddRoot(made);
            fromManagers.push_back(made);
        }
    }
}
} // namespace

TEST_CASE("a manager cannot resize the block that is being freed by hand", "[gc][free]") {
    Runtime runtime("everyyield=0,everyalloc=0,batches=0");
    fromManagers.clear();
    childrenLost = 0;
    void *const block = mprAllocManaged(childSize, resizeItself, 0);
    CHECK(mprFree(block) == 0);
    CHECK_FALSE(mprIsValid(block));
    CHECK(childrenLost == 0);
    CHECK(stats().misuses == 1);
    CHECK(Log::names(block) == 1);
    for (size_t i = 0; i < fromManagers.size(); i++) {
        CHECK(mprIsValid(fromManagers[i]));
        CHECK(filled(fromManagers[i], childSize, i));
    }
    collect();
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("mprFree of NULL is fine", "[gc][free]") {
    Runtime runtime;
    CHECK(mprFree(nullptr) == 0);
    CHECK(stats().misuses == 0);
    CHECK(runtime.log.size() == 0);
}

TEST_CASE("mprFree runs the manager once, on the calling thread, before the block goes", "[gc][free]") {
    Runtime runtime;
    static std::atomic<int> frees, intact, here;
    static std::thread::id caller;
    frees = intact = here = 0;
    caller = std::this_thread::get_id();
    auto block = static_cast<char *>(mprAllocManaged(
        100,
        [](void *ptr, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                frees++;
                intact += filled(ptr, 100, 9);
                here += std::this_thread::get_id() == caller;
            }
        },
        0));
    fill(block, 100, 9);
    CHECK(mprFree(block) == 0);
    CHECK(frees == 1);
    CHECK(intact == 1);
    CHECK(here == 1);
    collect();
    CHECK(frees == 1);
}

TEST_CASE("a double free is refused", "[gc][free]") {
    Runtime runtime;
    size_t size = GENERATE(0, 16, 24, 300, 5000, 100000, 3000000, 20000000);
    calls.reset();
    void *leaf = mprAlloc(size);
    mprFree(leaf);
    checkRefused(leaf);
    Node *node = makeNode();
    mprFree(node);
    checkRefused(node);
    CHECK(calls.frees == 1);
}

TEST_CASE("a double free after many other frees is refused", "[gc][free]") {
    Runtime runtime;
    std::vector<void *> blocks;
    for (int i = 0; i < 500; i++) {
        blocks.push_back(mprAlloc(48));
    }
    for (void *block : blocks) {
        REQUIRE(mprFree(block) == 0);
    }
    for (size_t i = 0; i < blocks.size(); i += 50) {
        checkRefused(blocks[i]);
    }
}

TEST_CASE("a free of a collected block is refused", "[gc][free]") {
    Runtime runtime;
    void *leaf = mprAlloc(64);
    collect();
    checkRefused(leaf);
}

TEST_CASE("an interior pointer is refused", "[gc][free]") {
    Runtime runtime;
    size_t offset = GENERATE(1, 4, 8, 16, 32, 64, 992);
    auto block = static_cast<char *>(mprAlloc(1000));
    fill(block, 1000, 1);
    checkRefused(block + offset);
    CHECK(mprIsValid(block));
    CHECK(filled(block, 1000, 1));
    CHECK(mprFree(block) == 0);
}

TEST_CASE("interior pointers of a block of many regions are refused", "[gc][free]") {
    Runtime runtime("region=256k");
    size_t size = 4 << 20;
    auto block = static_cast<char *>(mprAlloc(size));
    fill(block, size, 1);
    for (size_t offset = 128 << 10; offset < size; offset += 128 << 10) {
        auto aligned = reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(block + offset) & ~uintptr_t(0x1ffff));
        for (char *ptr : {aligned, aligned + 16, aligned + 64, aligned + 4096}) {
            REQUIRE_FALSE(mprIsValid(ptr));
            REQUIRE(mprGetBlockSize(ptr) == 0);
            REQUIRE(mprFree(ptr) == MPR_ERR_BAD_ARGS);
        }
    }
    CHECK(mprIsValid(block));
    CHECK(filled(block, size, 1));
}

TEST_CASE("a block's contents cannot forge a region", "[gc][free]") {
    Runtime runtime("region=256k");
    const size_t region = 256 << 10, size = 4 << 20;
    void *small = mprAlloc(64);
    auto header = reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(small) & ~uintptr_t(region - 1));
    size_t inside = static_cast<size_t>(static_cast<char *>(small) - header);
    auto block = static_cast<char *>(mprAlloc(size));
    memset(block, 0, size);
    auto forged = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(block) + region) & ~uintptr_t(region - 1));
    for (; forged + region <= block + size; forged += region) {
        memcpy(forged, header, inside);
        CHECK_FALSE(mprIsValid(forged + inside));
        CHECK(mprGetBlockSize(forged + inside) == 0);
        CHECK(mprFree(forged + inside) == MPR_ERR_BAD_ARGS);
    }
    CHECK(mprIsValid(small));
    CHECK(mprIsValid(block));
}

TEST_CASE("foreign pointers are refused", "[gc][free]") {
    Runtime runtime;
    int local = 0;
    static int global = 0;
    std::unique_ptr<char, decltype(&free)> foreign(static_cast<char *>(malloc(1000)), free);
    auto pages = static_cast<char *>(mprVirtAlloc(8 << 20, MPR_MAP_READ | MPR_MAP_WRITE));
    checkRefused(&local);
    checkRefused(&global);
    checkRefused(foreign.get());
    checkRefused(pages);
    checkRefused(pages + (4 << 20));
    checkRefused(reinterpret_cast<void *>(&checkRefused));
    mprVirtFree(pages, 8 << 20);
    checkRefused(pages);
}

TEST_CASE("addresses that no process owns are refused", "[gc][free]") {
    Runtime runtime;
    const uintptr_t top = uintptr_t(1) << (sizeof(uintptr_t) * 8 - 1);
    for (uintptr_t value :
         {uintptr_t(1), uintptr_t(8), uintptr_t(16), uintptr_t(4095), uintptr_t(4096), top, top + 16, ~uintptr_t(0),
          ~uintptr_t(15), ~uintptr_t(4095), ~uintptr_t(0) << 22, top - 16, top >> 8, top >> 16}) {
        auto ptr = reinterpret_cast<void *>(value);
        checkRefused(ptr);
        CHECK_FALSE(mprIsValid(ptr));
        CHECK(mprGetBlockSize(ptr) == 0);
    }
}

TEST_CASE("a held block is refused", "[gc][free]") {
    Runtime runtime;
    calls.reset();
    Node *node = makeNode(nullptr, nullptr, 5);
    mprHold(node);
    mprHold(node);
    checkRefused(node);
    mprRelease(node);
    checkRefused(node);
    CHECK(calls.frees == 0);
    CHECK(node->value == 5);
    mprRelease(node);
    CHECK(mprFree(node) == 0);
    CHECK(calls.frees == 1);
}

TEST_CASE("a block of a region that went back to the system is refused", "[gc][free]") {
    Runtime runtime("region=256k");
    mprSetMemLimits(0, 0, 0);
    void *large = mprAlloc(8 << 20);
    void *small[2000];
    for (auto &block : small) {
        block = mprAlloc(1000);
    }
    mprFree(large);
    collect();
    collect();
    checkRefused(large);
    checkRefused(small[0]);
    checkRefused(small[1999]);
}

TEST_CASE("a double free of a large block is refused while its region goes back to the system", "[gc][free]") {
    Runtime runtime("region=256k");
    mprSetMemLimits(0, 0, 0);
    Random random(9);
    long accepted = 0, valid = 0;
    for (Stretch stretch(1000); stretch.lasts([] { return stats().purged > 0; });) {
        void *block = mprAlloc(140000 + random.below(200000));
        REQUIRE(mprFree(block) == 0);
        for (size_t spins = random.below(3000); spins > 0; spins--) {
            mprNop(block);
        }
        accepted += mprFree(block) == 0;
        valid += mprIsValid(block) || mprGetBlockSize(block) != 0;
        mprYield(0);
    }
    CHECK(accepted == 0);
    CHECK(valid == 0);
    CHECK(stats().purged > 0);
}

TEST_CASE("of two threads that free a large block at once one is refused", "[gc][free]") {
    Runtime runtime("region=256k");
    mprSetMemLimits(0, 0, 0);
    std::atomic<void *> shared{nullptr};
    std::atomic<long> accepted{0}, answered{0};
    std::atomic<bool> ends{false};
    Mutator other("other", [&](Mutator &) {
        while (!ends) {
            if (void *block = shared.exchange(nullptr)) {
                accepted += mprFree(block) == 0;
                answered++;
            }
            mprYield(0);
        }
    });
    Random random(10);
    long made = 0, withdrawn = 0;
    for (Stretch stretch(1000); stretch.lasts([&] { return answered > 0 && stats().purged > 0; });) {
        void *block = mprAlloc(140000 + random.below(200000));
        REQUIRE(block);
        made++;
        shared = block;
        if (random.below(64) == 0) {
            std::this_thread::yield(); // the other may have the only processor
        }
        for (size_t spins = random.below(300); spins > 0; spins--) {
            mprNop(block);
        }
        accepted += mprFree(block) == 0;
        // Not before the other thread is done with it: the next block may have the same address.
        withdrawn += shared.exchange(nullptr) != nullptr;
        do {
            mprYield(0);
        } while (answered + withdrawn < made);
    }
    ends = true;
    other.join();
    CHECK(accepted == made);
    CHECK(answered > 0);
    CHECK(stats().purged > 0);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("large blocks that are freed by hand do not pile up, without a yield", "[gc][free]") {
    int flags = GENERATE(0, MPR_DISABLE_GC);
    Runtime runtime("region=256k", flags);
    Random random(2);
    for (int i = 0; i < 2000; i++) {
        void *block = mprAlloc(140000 + random.below(200000));
        REQUIRE(block);
        REQUIRE(mprFree(block) == 0);
    }
    CHECK(stats().heapPeak < 32 << 20);
}

TEST_CASE("large blocks are had again while the collector's thread cannot give addresses back", "[gc][free]") {
    if (sanitized) {
        return; // sanitizers map what they like
    }
    static std::atomic<bool> blocked, ends;
    blocked = ends = false;
    Runtime runtime("region=256k");
    struct AtEnd {
        ~AtEnd() { ends = true; }
    } atEnd; // or the runtime could not end
    mprAllocManaged(
        8,
        [](void *, int flags) {
            while ((flags & MPR_MANAGE_FREE) && !ends) {
                blocked = true;
                std::this_thread::yield();
            }
        },
        0);
    mprGC(MPR_GC_FORCE);
    while (!blocked) {
        std::this_thread::yield();
    }
    {
        FewAddresses few(128 << 20);
        Random random(11);
        for (int i = 0; i < 20000; i++) { // 4.8 GB in all
            void *block = mprAlloc(140000 + random.below(200000));
            REQUIRE(block);
            REQUIRE(mprFree(block) == 0);
        }
        if (!emulator()) {             // one does not keep to such a limit
            CHECK(stats().purged > 0); // by the allocations themselves
        }
    }
    CHECK(stats().heapPeak < 64 << 20);
}

TEST_CASE("blocks of other threads may be freed", "[gc][free]") {
    Runtime runtime;
    std::vector<void *> blocks;
    for (size_t i = 0; i < 10000; i++) {
        blocks.push_back(mprAllocMem(i % 500, MPR_ALLOC_HOLD));
    }
    std::atomic<size_t> freed{0};
    auto before = stats();
    Mutator other("other", [&](Mutator &) {
        for (void *block : blocks) {
            mprRelease(block);
            freed += mprFree(block) == 0;
        }
    });
    other.join();
    CHECK(freed == blocks.size());
    CHECK(stats().blocksFreed >= before.blocksFreed + blocks.size());
    for (void *block : blocks) {
        REQUIRE_FALSE(mprIsValid(block));
    }
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("freed memory is used again", "[gc][free]") {
    Runtime runtime("region=256k", MPR_DISABLE_GC);
    size_t size = GENERATE(16, 100, 3000, 50000, 500000);
    for (int i = 0; i < 3000; i++) {
        void *block = mprAlloc(size);
        REQUIRE(block);
        memset(block, 1, 1);
        mprFree(block);
    }
    CHECK(stats().heapPeak < 8 << 20);
}

TEST_CASE("mprIsValid and mprGetBlockSize may be asked about every byte of a block", "[gc][free]") {
    Runtime runtime;
    auto block = static_cast<char *>(mprAlloc(300));
    REQUIRE(mprGetBlockSize(block) >= 300);
    for (int offset = 1; offset < 300; offset++) {
        REQUIRE_FALSE(mprIsValid(block + offset));
        REQUIRE(mprGetBlockSize(block + offset) == 0);
    }
    CHECK(mprIsValid(block));
}

TEST_CASE("mprIsValid and mprGetBlockSize may be asked from foreign threads during collections", "[gc][free]") {
    Runtime runtime("young=64k,region=256k");
    void *block = mprAllocMem(1000, MPR_ALLOC_HOLD);
    std::atomic<bool> stop{false};
    std::atomic<long> asked{0}, wrong{0};
    std::thread foreign([&] {
        Random random(3);
        while (!stop) {
            wrong += !mprIsValid(block) || mprGetBlockSize(block) < 1000;
            mprIsValid(reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(block) + (random.next() & 0xffffff)));
            asked++;
        }
    });
    while (asked < 20000) {
        for (size_t i = 0; i < 200; i++) {
            mprAlloc(i * 50);
        }
        mprYield(0);
    }
    stop = true;
    foreign.join();
    CHECK(wrong == 0);
    mprRelease(block);
}

TEST_CASE("mprRealloc shrinks and grows in place when there is room", "[gc][realloc]") {
    Runtime runtime;
    auto block = static_cast<char *>(mprAlloc(1000));
    fill(block, 1000, 2);
    void *same = mprRealloc(block, mprGetBlockSize(block));
    CHECK(same == block);
    auto shrunk = static_cast<char *>(mprRealloc(block, 100));
    REQUIRE(shrunk);
    CHECK(filled(shrunk, 100, 2));
    auto grown = static_cast<char *>(mprRealloc(shrunk, mprGetBlockSize(shrunk)));
    CHECK(grown == shrunk);
    CHECK(mprGetBlockSize(grown) >= 100);
}

TEST_CASE("mprRealloc keeps the contents through any sequence of sizes", "[gc][realloc]") {
    Runtime runtime;
    Random random(11);
    size_t size = 10;
    void *block = mprAlloc(size);
    void *neighbour = mprAlloc(10);
    fill(block, size, 1);
    for (uint64_t i = 0; i < heavy(2000); i++) {
        size_t grown = random.chance(5) ? random.below(3 << 20) : random.below(5000);
        block = mprRealloc(block, grown);
        REQUIRE(block);
        REQUIRE(mprGetBlockSize(block) >= grown);
        REQUIRE(reinterpret_cast<uintptr_t>(block) % (2 * sizeof(void *)) == 0);
        REQUIRE(filled(block, size < grown ? size : grown, i + 1));
        size = grown;
        fill(block, size, i + 2);
        if (random.chance(10)) {
            neighbour = mprAlloc(random.below(1000));
        }
    }
    CHECK(mprIsValid(neighbour));
    CHECK(mprFree(block) == 0);
}

/* What a block has grown by in place must be the block's, whoever walks the span that it lies in at that moment. */
TEST_CASE("a block that grows in place while its span is swept keeps what it has grown by", "[gc][realloc]") {
    Runtime runtime;
    constexpr size_t count = 4000;
    const std::unique_ptr<void *[]> kept(new void *[count]);
    Random random(3);
    for (uint64_t round = 0; round < heavy(120); round++) {
        for (size_t i = 0; i < count; i++) {
            kept[i] = mprAlloc(2000);
            mprAddRoot(kept[i]);
            mprAlloc(200);
            mprFree(mprAlloc(2000));
            kept[i] = mprRealloc(kept[i], 700); /* so that there is something to grow into */
        }
        mprRequestGC(MPR_GC_MINOR);
        for (size_t i = 0; i < 4 * count; i++) { /* while the spans are given up */
            void *&block = kept[i % count];
            block = mprRealloc(block, random.below(2) ? 1900 : 600);
        }
        for (size_t i = 0; i < count; i++) {
            mprRemoveRoot(kept[i]);
        }
        REQUIRE(mprVerifyHeap() == 0);
    }
}

TEST_CASE("mprRealloc keeps the manager and does not free it when the block moves", "[gc][realloc]") {
    Runtime runtime;
    calls.reset();
    Node *child = makeNode(nullptr, nullptr, 3);
    void *block = makeNode(child, nullptr, 4);
    void *first = block;
    makeNode();
    for (size_t size = sizeof(Node); size < 3 << 20; size *= 2) {
        block = mprRealloc(block, size);
        REQUIRE(block);
        REQUIRE(calls.frees == 0);
    }
    CHECK(block != first);
    CHECK_FALSE(mprIsValid(first));
    auto node = static_cast<Node *>(block);
    CHECK(node->next == child);
    CHECK(node->value == 4);
    mprAddRoot(node);
    collect();
    CHECK(calls.frees == 1);
    CHECK(calls.marks >= 2);
    CHECK(mprIsValid(child));
    mprRemoveRoot(node);
    collect();
    CHECK(calls.frees == 3);
}

TEST_CASE("mprRealloc in place keeps the manager", "[gc][realloc]") {
    Runtime runtime;
    for (size_t size = 200; size > 0; size -= 8) {
        calls.reset();
        void *block = mprAllocManaged(
            200, [](void *, int flags) { calls.frees += flags == MPR_MANAGE_FREE; }, 0);
        block = mprRealloc(block, size);
        REQUIRE(mprGetBlockSize(block) >= size);
        memset(block, 0xff, mprGetBlockSize(block));
        REQUIRE(calls.frees == 0);
        REQUIRE(mprFree(block) == 0);
        REQUIRE(calls.frees == 1);
    }
}

TEST_CASE("mprRealloc keeps the holds", "[gc][realloc]") {
    Runtime runtime;
    void *block = mprAllocMem(20, MPR_ALLOC_HOLD);
    mprHold(block);
    fill(block, 20, 8);
    mprAlloc(10);
    for (size_t size : {20000u, 2000000u, 100u, 400u}) {
        block = mprRealloc(block, size);
        collect();
        REQUIRE(mprIsValid(block));
        REQUIRE(filled(block, 20, 8));
    }
    mprRelease(block);
    collect();
    CHECK(mprIsValid(block));
    mprRelease(block);
    CHECK(stats().misuses == 0);
    collect();
    CHECK_FALSE(mprIsValid(block));
}

namespace {
void *blockToRoot = nullptr;
}

TEST_CASE("a block that the notifier makes a root while mprRealloc asks for memory is one when it has moved",
          "[gc][realloc][limits]") {
    Runtime runtime("poison=0");
    mprSetMemLimits(6 << 20, 64 << 20, 0);
    blockToRoot = mprAlloc(100);
    mprSetMemNotifier([](int, int, size_t, size_t) {
        if (void *block = std::exchange(blockToRoot, nullptr)) {
            mprAddRoot(block);
        }
    });
    void *old = blockToRoot;
    void *block = mprRealloc(old, 9 << 20);
    REQUIRE(block);
    REQUIRE(block != old);
    REQUIRE_FALSE(blockToRoot); // the notifier was called
    void *again = mprAlloc(100);
    CHECK(mprFree(again) == 0); // no root, even if it is where the old one was
    collect();
    CHECK(mprIsValid(block));
    mprRemoveRoot(block);
    CHECK(stats().misuses == 0);
}

TEST_CASE("a large block that grows by mprRealloc leaves no old copies behind", "[gc][realloc][large]") {
    Runtime runtime;
    void *block = nullptr;
    for (size_t size = 1 << 20; size <= 40 << 20; size += 1 << 20) {
        block = mprRealloc(block, size);
        REQUIRE(block);
    }
    CHECK(stats().heapPeak < 160 << 20);
    CHECK(mprFree(block) == 0);
}

TEST_CASE("mprRealloc of NULL allocates a leaf", "[gc][realloc]") {
    Runtime runtime;
    void *block = mprRealloc(nullptr, 100);
    REQUIRE(block);
    CHECK(mprGetBlockSize(block) >= 100);
    CHECK(mprSetManager(block, manageNode) == nullptr);
    CHECK(mprReallocMem(nullptr, 10));
}

TEST_CASE("mprRealloc that cannot be had leaves the old block untouched", "[gc][realloc]") {
    Runtime runtime;
    void *block = mprAlloc(500);
    fill(block, 500, 6);
    for (size_t size : {size_t(SIZE_MAX), size_t(SIZE_MAX) - 3, size_t(SIZE_MAX) - 15, size_t(PTRDIFF_MAX)}) {
        CHECK(mprRealloc(block, size) == nullptr);
        CHECK(mprIsValid(block));
        CHECK(filled(block, 500, 6));
    }
}

TEST_CASE("mprRealloc of a foreign pointer is refused", "[gc][realloc]") {
    Runtime runtime;
    int local = 0;
    CHECK(mprRealloc(&local, 100) == nullptr);
    CHECK(runtime.log.names(&local) == 1);
    CHECK(stats().misuses == 1);
}

TEST_CASE("zeroed memory is zero although it was used before", "[gc][free]") {
    Runtime runtime("region=256k");
    Random random(5);
    for (int i = 0; i < 3000; i++) {
        size_t size = random.chance(3) ? random.below(600000) : random.below(3000);
        void *block = random.chance(50) ? mprAllocZeroed(size) : mprAllocMem(size, MPR_ALLOC_ZERO | MPR_ALLOC_MANAGER);
        REQUIRE(zeros(block, size));
        memset(block, 0xff, mprGetBlockSize(block));
        mprFree(block);
    }
}

TEST_CASE("blocks are aligned for every type", "[gc][free]") {
    Runtime runtime;
    for (size_t size = 0; size < 5000; size += 7) {
        REQUIRE(reinterpret_cast<uintptr_t>(mprAlloc(size)) % (2 * sizeof(void *)) == 0);
        REQUIRE(reinterpret_cast<uintptr_t>(mprAllocManaged(size, manageTable, MPR_ALLOC_ZERO)) %
                    (2 * sizeof(void *)) ==
                0);
    }
}

TEST_CASE("mprMemdup copies", "[gc][free]") {
    Runtime runtime;
    unsigned char source[333];
    fill(source, sizeof(source), 1);
    void *copy = mprMemdup(source, sizeof(source));
    REQUIRE(copy);
    CHECK(mprGetBlockSize(copy) >= sizeof(source));
    CHECK(filled(copy, sizeof(source), 1));
    CHECK(filled(mprMemdupMem(source, 20), 20, 1));
    CHECK(mprMemdup(nullptr, 10) == nullptr);
    CHECK(mprMemdup(source, SIZE_MAX - 8) == nullptr);
}

TEST_CASE("mprMemcmp compares like memcmp, the shorter first", "[gc][free]") {
    CHECK(mprMemcmp("abc", 3, "abc", 3) == 0);
    CHECK(mprMemcmp("abc", 3, "abd", 3) < 0);
    CHECK(mprMemcmp("b", 1, "abc", 3) > 0);
    CHECK(mprMemcmp("ab", 2, "abc", 3) < 0);
    CHECK(mprMemcmp("abc", 3, "ab", 2) > 0);
    CHECK(mprMemcmp("\xff", 1, "\x01", 1) > 0);
    CHECK(mprMemcmp("", 0, "", 0) == 0);
}

TEST_CASE("mprMemcpy copies what fits, areas may overlap", "[gc][free]") {
    char text[16] = "abcdef";
    CHECK(mprMemcpy(text + 1, 15, text, 6) == 6);
    CHECK(memcmp(text, "aabcdef", 7) == 0);
    CHECK(mprMemcpy(text, 3, "wxyz", 4) == 0);
    CHECK(memcmp(text, "aabcdef", 7) == 0);
    CHECK(mprMemcpy(text, 4, "wxyz", 4) == 4);
    CHECK(mprMemcpy(text, 4, "wxyz", 0) == 0);
}

TEST_CASE("permanent memory is never collected", "[gc][palloc]") {
    Runtime runtime;
    void *block = palloc(100);
    fill(block, 100, 4);
    collect();
    collect();
    CHECK(filled(block, 100, 4));
    CHECK(psize(block) >= 100);
    block = prealloc(block, 5000);
    REQUIRE(block);
    CHECK(psize(block) >= 5000);
    CHECK(filled(block, 100, 4));
    collect();
    CHECK(filled(block, 100, 4));
    pfree(block);
    pfree(nullptr);
    block = prealloc(nullptr, 10);
    CHECK(block);
    pfree(block);
    CHECK(stats().misuses == 0);
}

TEST_CASE("permanent memory is there for foreign threads, during collections", "[gc][palloc]") {
    Runtime runtime("young=64k");
    std::atomic<long> wrong{0};
    std::atomic<bool> stop{false};
    auto work = [&](uint64_t seed) {
        Random random(seed);
        void *blocks[64] = {};
        size_t sizes[64] = {};
        while (!stop) {
            size_t at = random.below(64);
            if (blocks[at]) {
                wrong += !filled(blocks[at], sizes[at], at) || psize(blocks[at]) < sizes[at];
            }
            size_t old = sizes[at];
            sizes[at] = 1 + random.below(3000);
            if (blocks[at] && random.chance(50)) {
                blocks[at] = prealloc(blocks[at], sizes[at]);
                wrong += !blocks[at] || !filled(blocks[at], old < sizes[at] ? old : sizes[at], at);
            } else {
                pfree(blocks[at]);
                blocks[at] = palloc(sizes[at]);
                wrong += !blocks[at];
            }
            fill(blocks[at], sizes[at], at);
        }
        for (void *block : blocks) {
            pfree(block);
        }
    };
    std::thread first(work, 1), second(work, 2);
    for (int i = 0; i < 100; i++) {
        for (int j = 0; j < 1000; j++) {
            mprAlloc(100);
        }
        collect();
    }
    stop = true;
    first.join();
    second.join();
    CHECK(wrong == 0);
    CHECK(stats().misuses == 0);
}

TEST_CASE("allocation on a foreign thread is refused with a message", "[gc][foreign]") {
    Runtime runtime;
    void *results[4] = {&runtime, &runtime, &runtime, &runtime};
    auto before = stats();
    std::thread foreign([&] {
        results[0] = mprAlloc(10);
        results[1] = mprAllocZeroed(10);
        results[2] = mprAllocManaged(10, manageNode, 0);
        results[3] = mprRealloc(nullptr, 10);
    });
    foreign.join();
    for (void *result : results) {
        CHECK(result == nullptr);
    }
    CHECK(runtime.log.size() >= 1);
    CHECK(stats().misuses > before.misuses);
}

TEST_CASE("virtual memory comes in pages, outside the heap", "[gc][free]") {
    Runtime runtime;
    auto before = stats().heap;
    auto pages = static_cast<char *>(mprVirtAlloc(1 << 20, MPR_MAP_READ | MPR_MAP_WRITE));
    REQUIRE(pages);
    CHECK(reinterpret_cast<uintptr_t>(pages) % static_cast<unsigned>(mprGetPageSize()) == 0);
    CHECK(zeros(pages, 1 << 20));
    fill(pages, 1 << 20, 1);
    CHECK(stats().heap == before);
    CHECK_FALSE(mprIsValid(pages));
    mprVirtFree(pages, 1 << 20);
}

TEST_CASE("mprSetName and mprNop leave a block as it is", "[gc][free]") {
    Runtime runtime;
    void *block = mprAllocStruct(Node);
    CHECK(mprSetName(block, "name") == block);
    mprNop(block);
    CHECK(zeros(block, sizeof(Node)));
    CHECK(mprAllocStructNoZero(Node));
    CHECK(mprAllocFast(10));
    CHECK(mprAllocBlock(10, MPR_ALLOC_ZERO));
}

TEST_CASE("holds and roots of what is no block are named in the log", "[gc][free]") {
    Runtime runtime;
    int local = 0;
    auto block = static_cast<char *>(mprAlloc(100));
    uint64 misuses = 0;
    for (void *ptr : {static_cast<void *>(&local), static_cast<void *>(block + 16)}) {
        for (auto wrong : {mprHold, mprRelease, mprAddRoot, mprRemoveRoot}) {
            runtime.log.clear();
            wrong(ptr);
            CHECK(runtime.log.names(ptr) == 1);
            CHECK(stats().misuses == ++misuses);
        }
    }
    runtime.log.clear();
    mprRemoveRoot(block);
    CHECK(runtime.log.names(block) == 1);
    CHECK(stats().misuses == ++misuses);
    CHECK(mprSetManager(&local, manageNode) == nullptr);
    collect();
    CHECK_FALSE(mprIsValid(block));
}

TEST_CASE("of two threads that free one block, one is refused", "[gc][free]") {
    Runtime runtime;
    collect(); // none is left that was asked for
    mprEnableGC(false);
    const size_t count = heavy(20000);
    std::vector<void *> blocks;
    for (size_t i = 0; i < count; i++) {
        blocks.push_back(mprAlloc(40));
    }
    std::atomic<size_t> freed{0};
    std::atomic<int> ready{0};
    auto work = [&](Mutator &) {
        for (ready++; ready < 2;) {}
        for (void *block : blocks) {
            freed += mprFree(block) == 0;
        }
    };
    {
        Mutator first("first", work), second("second", work);
        first.join();
        second.join();
    }
    CHECK(freed == count);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("a manager that mprFree calls may yield, and collections come meanwhile", "[gc][free]") {
    Runtime runtime;
    static std::atomic<int> frees, intact, refused;
    frees = intact = refused = 0;
    const auto manager = [](void *ptr, int flags) {
        if (flags & MPR_MANAGE_FREE) {
            frees++;
            collect();
            for (int i = 0; i < 2000; i++) {
                fill(mprAlloc(100), 100, 1);
            }
            collect();
            intact += filled(ptr, 100, 9);
            refused += mprFree(ptr) == MPR_ERR_BAD_ARGS;
        }
    };
    for (int flags : {0, MPR_ALLOC_BARRIER}) {
        auto block = static_cast<char *>(mprAllocManaged(100, manager, flags));
        fill(block, 100, 9);
        CHECK(mprFree(block) == 0);
        CHECK_FALSE(mprIsValid(block));
    }
    collect();
    CHECK(frees == 2);
    CHECK(intact == 2);
    CHECK(refused == 2);
}

TEST_CASE("a manager may ask for the size of its block although another thread has just freed that", "[gc][free]") {
    Runtime runtime("pausebudget=10");
    static std::atomic<bool> asks, marks, isFreed;
    static std::atomic<size_t> size;
    asks = marks = isFreed = false;
    size = 0;
    auto block = mprAllocManaged(
        1000,
        [](void *ptr, int flags) {
            if ((flags & MPR_MANAGE_MARK) && asks.exchange(false)) {
                marks = true;
                untilUnyielded([] { return isFreed.load(); });
                size = mprGetBlockSize(ptr);
            }
        },
        MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE | MPR_ALLOC_ZERO);
    mprAddRoot(block);
    const size_t before = mprGetBlockSize(block);
    Root others(makeTable(5000)); // enough to be marked while threads run
    for (size_t i = 0; i < 5000; i++) {
        others.as<Table>()->items[i] = makeNode();
    }
    collect();
    Mutator yielding("yielding", [](Mutator &self) {
        for (; self.go(); pause(1)) {
            mprYield(0);
        }
    });
    const uint64 minors = stats().collectionsMinor;
    asks = true;
    mprGC(MPR_GC_MAJOR | MPR_GC_NO_BLOCK);
    REQUIRE(until([&] { return stats().collectionsMinor > minors; }));
    // Another thread marks beside this one, which does not yield from here on.
    CHECK(untilUnyielded([] { return marks.load(); }));
    mprRemoveRoot(block);
    CHECK(mprFree(block) == 0);
    CHECK_FALSE(mprIsValid(block));
    CHECK(mprGetBlockSize(block) == 0);
    isFreed = true;
    CHECK(untilUnyielded([] { return size.load() != 0; }));
    CHECK(size == before);
    yielding.end();
    collect();
}

TEST_CASE("another thread that releases a block while mprFree is in its manager is named, and damages nothing",
          "[gc][free]") {
    Runtime runtime;
    static std::atomic<int> frees, stage;
    frees = stage = 0;
    static std::vector<void *> next; /* may stand where the block was */
    const auto manager = [](void *, int flags) {
        if ((flags & MPR_MANAGE_FREE) && frees++ == 0) {
            stage = 1;
            mprYield(MPR_YIELD_STICKY);
            while (stage != 2) {
                std::this_thread::yield();
            }
            mprResetYield();
            collect();
            collect();
            for (int i = 0; i < 1000; i++) {
                next.push_back(mprAlloc(100));
                fill(next.back(), 100, 5);
            }
        }
    };
    const bool large = GENERATE(false, true);
    void *const block = mprAllocManaged(large ? 8 << 20 : 100, manager, MPR_ALLOC_BARRIER);
    mprHold(block); /* the start of a thread yields */
    Mutator other("other", [block](Mutator &) {
        while (stage != 1) {
            mprYield(0);
            std::this_thread::yield();
        }
        mprRelease(block);
        stage = 2;
    });
    mprRelease(block);
    CHECK(mprFree(block) == MPR_ERR_BAD_ARGS);
    size_t intact = 0;
    for (void *of : next) {
        intact += mprIsValid(of) && filled(of, 100, 5);
    }
    CHECK(intact == next.size());
    CHECK(Log::count("released the block while its manager ran") == 1);
    next.clear();
    other.join();
}
