// SPDX-License-Identifier: MIT
/*
    test/gc/mark.cpp - mprMark and the MARK call of managers: wrong references, stopped threads, wide and deep heaps.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace test;

TEST_CASE("mprMark of NULL is fine", "[gc][mark][port]") {
    Runtime runtime;
    calls.reset();
    Root root(makeNode(nullptr, nullptr));
    collect();
    CHECK(calls.marks >= 1);
    CHECK(runtime.log.size() == 0);
    CHECK(stats().misuses == 0);
}

TEST_CASE("mprMark of malloc memory is named in the log and ignored", "[gc][mark][port]") {
    Runtime runtime;
    auto foreign = static_cast<char *>(malloc(100));
    fill(foreign, 100, 3);
    Root root(makeNode(nullptr, foreign));
    collect();
    CHECK(runtime.log.names(foreign) >= 1);
    CHECK(stats().misuses >= 1);
    CHECK(filled(foreign, 100, 3));
    CHECK(mprIsValid(root.as<Node>()));
    root.as<Node>()->data = nullptr;
    free(foreign);
}

TEST_CASE("mprMark of a stack pointer is named in the log and ignored", "[gc][mark][port]") {
    Runtime runtime;
    char local[64];
    fill(local, sizeof(local), 4);
    Root root(makeNode(nullptr, local + 16));
    collect();
    CHECK(runtime.log.names(local + 16) >= 1);
    CHECK(filled(local, sizeof(local), 4));
}

TEST_CASE("mprMark of an interior pointer is named in the log and ignored", "[gc][mark][port]") {
    Runtime runtime;
    size_t offset = GENERATE(1, 8, 16, 32, 48);
    auto leaf = static_cast<char *>(mprAlloc(64));
    fill(leaf, 64, 5);
    Root root(makeNode(nullptr, leaf + offset));
    collect();
    CHECK(runtime.log.names(leaf + offset) >= 1);
    CHECK_FALSE(mprIsValid(leaf));
}

TEST_CASE("mprMark of a block that was freed is named in the log and ignored", "[gc][mark][port]") {
    Runtime runtime;
    void *leaf = mprAlloc(64);
    Root root(makeNode(nullptr, leaf));
    mprFree(leaf);
    collect();
    CHECK(runtime.log.names(leaf) >= 1);
    CHECK_FALSE(mprIsValid(leaf));
}

TEST_CASE("mprMark of addresses that no process owns is named in the log and ignored", "[gc][mark][port]") {
    Runtime runtime;
    auto value = GENERATE(uintptr_t(16), uintptr_t(4096), ~uintptr_t(0), ~uintptr_t(15), ~uintptr_t(0) << 20,
                          uintptr_t(1) << (sizeof(uintptr_t) * 8 - 1));
    auto wild = reinterpret_cast<void *>(value);
    Root root(makeNode(nullptr, wild));
    collect();
    CHECK(runtime.log.names(wild) >= 1);
}

TEST_CASE("mprMark outside a manager does nothing", "[gc][mark][port]") {
    Runtime runtime;
    void *leaf = mprAlloc(64);
    mprMark(leaf);
    mprMark(nullptr);
    collect();
    CHECK_FALSE(mprIsValid(leaf));
}

namespace {

/* A manager that watches another thread's counter while it marks and while it frees. */
std::atomic<uint64_t> progress;
std::atomic<long> changesInMark, changesInFree, marksSeen, freesSeen;

uint64_t changeWithin(int ms) {
    uint64_t before = progress.load();
    pause(ms);
    return progress.load() - before;
}

void manageWatcher(void *, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        changesInMark += static_cast<long>(changeWithin(5));
        marksSeen++;
    }
    if (flags & MPR_MANAGE_FREE) {
        changesInFree += static_cast<long>(changeWithin(50));
        freesSeen++;
    }
}

} // namespace

TEST_CASE("all threads are stopped while managers mark, and run while managers free", "[gc][mark][port]") {
    Runtime runtime("everyyield=0");
    progress = 0;
    changesInMark = changesInFree = marksSeen = freesSeen = 0;
    auto work = [](Mutator &self) {
        while (self.go()) {
            progress.fetch_add(1);
            mprYield(0);
        }
    };
    Mutator first("first", work);
    Mutator second("second", work);
    Root root(mprAllocManaged(8, manageWatcher, 0));
    for (size_t i = 0; i < 2 + heavy(20); i++) {
        mprAllocManaged(8, manageWatcher, 0);
        collect();
    }
    CHECK(marksSeen >= 2);
    CHECK(freesSeen >= 2);
    CHECK(changesInMark == 0);
    CHECK(changesInFree > 0);
    first.end();
    second.end();
}

TEST_CASE("a thread that allocates and yields does not run while managers mark", "[gc][mark][port]") {
    Runtime runtime("young=64k");
    progress = 0;
    changesInMark = changesInFree = marksSeen = freesSeen = 0;
    Root root(mprAllocManaged(8, manageWatcher, 0));
    Mutator worker("worker", [](Mutator &self) {
        while (self.go()) {
            mprAlloc(64);
            progress.fetch_add(1);
            mprYield(0);
        }
    });
    CHECK(until([] { return marksSeen >= 5; }));
    worker.end();
    CHECK(changesInMark == 0);
}

TEST_CASE("an array of a million items overflows a small mark stack and loses nothing", "[gc][mark][port]") {
    Runtime runtime("marks=4k");
    const size_t count = heavy(1000000);
    Root root(makeTable(count));
    auto table = root.as<Table>();
    for (size_t i = 0; i < count; i++) {
        auto leaf = static_cast<uintptr_t *>(mprAlloc(sizeof(uintptr_t)));
        *leaf = ~i;
        table->items[i] = makeNode(makeNode(nullptr, nullptr, i), leaf, i);
    }
    for (int round = 0; round < 2; round++) {
        calls.reset();
        collect();
        size_t intact = 0;
        for (size_t i = 0; i < count; i++) {
            auto node = static_cast<Node *>(table->items[i]);
            intact += mprIsValid(node) && node->value == i && mprIsValid(node->next) && node->next->value == i &&
                      mprIsValid(node->data) && *static_cast<uintptr_t *>(node->data) == ~i;
        }
        CHECK(intact == count);
        CHECK(calls.frees == 0);
    }
    CHECK(stats().markOverflows > 0);
    root.set(nullptr);
    collect();
    CHECK(calls.frees == static_cast<long>(2 * count));
}

namespace {

Node *makeTree(int depth, uintptr_t &value) {
    if (depth == 0) {
        return nullptr;
    }
    Node *left = makeTree(depth - 1, value);
    Node *right = makeTree(depth - 1, value);
    return makeNode(left, right, value++);
}

uintptr_t sumTree(Node *node) {
    if (!node || !mprIsValid(node)) {
        return 0;
    }
    return node->value + 1 + sumTree(node->next) + sumTree(static_cast<Node *>(node->data));
}

} // namespace

TEST_CASE("a tree is kept whole with every size of mark stack", "[gc][mark][port]") {
    auto options = GENERATE("marks=4k", "marks=16k", "marks=64k", "marks=1m");
    Runtime runtime(options);
    uintptr_t count = 0;
    Root root(makeTree(sanitized ? 12 : 16, count));
    for (int i = 0; i < 3; i++) {
        collect();
        CHECK(sumTree(root.as<Node>()) == count * (count + 1) / 2);
    }
}

TEST_CASE("a deep list is kept on a small collector stack", "[gc][mark][port]") {
    Runtime runtime("stack=64k,marks=4k");
    const size_t count = heavy(500000);
    Root root;
    for (size_t i = 0; i < count; i++) {
        root.set(makeNode(root.as<Node>(), nullptr, i));
    }
    collect();
    size_t kept = 0;
    for (Node *node = root.as<Node>(); node && mprIsValid(node) && node->value == count - 1 - kept; node = node->next) {
        kept++;
    }
    CHECK(kept == count);
    calls.reset();
    root.set(nullptr);
    collect();
    CHECK(calls.frees == static_cast<long>(count));
}

TEST_CASE("lists of arrays, wide and deep at once, survive an overflowing mark stack", "[gc][mark][port]") {
    Runtime runtime("marks=4k");
    const size_t lists = 2000, length = heavy(200);
    Root root(makeTable(lists));
    for (size_t i = 0; i < lists; i++) {
        Node *head = nullptr;
        for (size_t j = 0; j < length; j++) {
            head = makeNode(head, nullptr, i * length + j);
        }
        root.as<Table>()->items[i] = head;
    }
    collect();
    size_t intact = 0;
    for (size_t i = 0; i < lists; i++) {
        size_t j = length;
        for (auto node = static_cast<Node *>(root.as<Table>()->items[i]); node; node = node->next) {
            intact += mprIsValid(node) && node->value == i * length + --j;
        }
    }
    CHECK(intact == lists * length);
}
