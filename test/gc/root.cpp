// SPDX-License-Identifier: MIT
/*
    test/gc/root.cpp - What a collection keeps and what it takes: roots, root references, marked children.
 */
#include "test/support/log.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <cstring>
#include <vector>

using namespace test;

TEST_CASE("an unmarked block is collected and its manager freed", "[gc][root][port][board]") {
    Runtime runtime;
    calls.reset();
    Node *node = makeNode();
    REQUIRE(mprIsValid(node));
    collect();
    CHECK(calls.frees == 1);
    CHECK_FALSE(mprIsValid(node));
}

TEST_CASE("an unmarked leaf is collected", "[gc][root][port][board]") {
    Runtime runtime;
    void *leaf = mprAlloc(100);
    REQUIRE(mprIsValid(leaf));
    collect();
    CHECK_FALSE(mprIsValid(leaf));
}

TEST_CASE("an unmarked cycle is collected", "[gc][root][port][board]") {
    Runtime runtime;
    calls.reset();
    Node *a = makeNode();
    Node *b = makeNode(a);
    a->next = b;
    a->data = a;
    collect();
    CHECK(calls.frees == 2);
}

TEST_CASE("a block that survived collections is collected once it is dropped", "[gc][root][port][board]") {
    Runtime runtime;
    calls.reset();
    Root root(makeNode(makeNode()));
    for (int i = 0; i < 5; i++) {
        collect();
    }
    CHECK(calls.frees == 0);
    root.as<Node>()->next = nullptr;
    collect();
    CHECK(calls.frees == 1);
    root.set(nullptr);
    collect();
    CHECK(calls.frees == 2);
}

TEST_CASE("a root is kept and its manager marks its children", "[gc][root][port][board]") {
    Runtime runtime;
    calls.reset();
    auto leaf = static_cast<char *>(mprAlloc(10));
    memcpy(leaf, "contents", 9);
    Node *child = makeNode(nullptr, leaf);
    Node *root = makeNode(child);
    mprAddRoot(root);
    for (int i = 0; i < 3; i++) {
        collect();
        CHECK(mprIsValid(root));
        CHECK(mprIsValid(child));
        CHECK(mprIsValid(leaf));
        CHECK(strcmp(leaf, "contents") == 0);
    }
    CHECK(calls.marks >= 2);
    CHECK(calls.frees == 0);
    mprRemoveRoot(root);
    collect();
    CHECK(calls.frees == 2);
    CHECK_FALSE(mprIsValid(leaf));
}

TEST_CASE("a leaf may be a root", "[gc][root][port][board]") {
    Runtime runtime;
    void *leaf = mprAlloc(64);
    fill(leaf, 64, 1);
    mprAddRoot(leaf);
    collect();
    CHECK(mprIsValid(leaf));
    CHECK(filled(leaf, 64, 1));
    mprRemoveRoot(leaf);
    collect();
    CHECK_FALSE(mprIsValid(leaf));
}

TEST_CASE("roots nest", "[gc][root][port][board]") {
    Runtime runtime;
    Node *node = makeNode();
    mprAddRoot(node);
    mprAddRoot(node);
    mprAddRoot(node);
    mprRemoveRoot(node);
    collect();
    CHECK(mprIsValid(node));
    mprRemoveRoot(node);
    collect();
    CHECK(mprIsValid(node));
    mprRemoveRoot(node);
    collect();
    CHECK_FALSE(mprIsValid(node));
}

TEST_CASE("a thousand roots may be added and removed in any order", "[gc][root][port][board]") {
    Runtime runtime;
    constexpr size_t count = 1000;
    std::vector<Node *> nodes;
    for (size_t i = 0; i < count; i++) {
        nodes.push_back(makeNode(nullptr, nullptr, i));
        mprAddRoot(nodes.back());
    }
    for (size_t i = 0; i < count; i += 2) {
        mprRemoveRoot(nodes[i]);
    }
    collect();
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool odd = i % 2;
        REQUIRE(static_cast<bool>(mprIsValid(nodes[i])) == odd);
        if (odd) {
            kept += nodes[i]->value == i;
        }
    }
    CHECK(kept == count / 2);
    for (size_t i = count - 1; i < count; i -= 2) {
        mprRemoveRoot(nodes[i]);
    }
    collect();
    CHECK_FALSE(mprIsValid(nodes[1]));
}

TEST_CASE("a root reference roots what it points to at the time", "[gc][root][port][board]") {
    Runtime runtime;
    calls.reset();
    Node *first = makeNode(makeNode());
    Node *second = makeNode();
    MprRootRef ref{};
    mprLinkRootRef(&ref);
    ref.ptr = first;
    mprHold(second);
    collect();
    CHECK(mprIsValid(first));
    CHECK(mprIsValid(first->next));
    ref.ptr = second;
    mprRelease(second);
    collect();
    CHECK_FALSE(mprIsValid(first));
    CHECK(mprIsValid(second));
    CHECK(calls.frees == 2);
    mprUnlinkRootRef(&ref);
    collect();
    CHECK_FALSE(mprIsValid(second));
}

TEST_CASE("a root reference that is linked twice in a row is named, and that is all", "[gc][root]") {
    Log log;
    Runtime runtime;
    MprRootRef ref{};
    mprLinkRootRef(&ref);
    mprLinkRootRef(&ref);
    CHECK(log.count("linked already") == 1);
    Node *kept = makeNode(makeNode()), *lost = makeNode();
    ref.ptr = kept;
    collect();
    CHECK((mprIsValid(kept) && mprIsValid(kept->next) && !mprIsValid(lost)));
    mprUnlinkRootRef(&ref);
    collect();
    CHECK_FALSE(mprIsValid(kept));
}

TEST_CASE("a root reference that is linked twice is named", "[gc][root][port][board]") {
    Log log;
    Runtime runtime;
    MprRootRef first{}, second{};
    mprLinkRootRef(&first);
    Node *kept = makeNode(makeNode());
    first.ptr = kept;
    mprLinkRootRef(&second);
    collect();
    CHECK(mprIsValid(kept));
    mprLinkRootRef(&first); // hides those before it: which, nobody knows
    Node *lost = makeNode(makeNode());
    collect();
    CHECK(log.count("linked twice") == 1);
    CHECK((mprIsValid(kept) && mprIsValid(lost) && mprIsValid(lost->next)));
    collect();
    CHECK(log.count("linked twice") == 1);
    CHECK(mprIsValid(lost));
    runtime.end();
    Runtime next; // knows nothing of it
    lost = makeNode();
    collect();
    CHECK_FALSE(mprIsValid(lost));
}

TEST_CASE("root references that are linked twice lose nothing, whichever they are", "[gc][root][port][board]") {
    const Log log;
    for (int twice = 0; twice < 4 * 4; twice++) {
        Runtime runtime;
        MprRootRef refs[4] = {};
        for (MprRootRef &ref : refs) {
            mprLinkRootRef(&ref);
        }
        mprLinkRootRef(&refs[twice / 4]);
        mprLinkRootRef(&refs[twice % 4]);
        for (MprRootRef &ref : refs) {
            ref.ptr = makeNode(makeNode());
        }
        collect();
        for (MprRootRef &ref : refs) {
            CHECK((mprIsValid(ref.ptr) && mprIsValid(static_cast<Node *>(ref.ptr)->next)));
        }
        CHECK(mprGetMemStats()->misuses > 0);
    }
}

TEST_CASE("root references that are linked twice, overwritten or gone end no program", "[gc][root]") {
    const Log log;
    for (int what = 0; what < 8; what++) {
        Runtime runtime;
        MprRootRef a{}, b{}, c{};
        mprLinkRootRef(&a);
        mprLinkRootRef(&b);
        mprLinkRootRef(&c);
        Node *kept = makeNode();
        c.ptr = kept;
        switch (what / 2) {
        case 0:
            mprLinkRootRef(&a);
            mprUnlinkRootRef(&a);
            mprUnlinkRootRef(&b);
            break;
        case 1:
            memset(&b, 0, sizeof(b));
            mprUnlinkRootRef(&a);
            break;
        case 2: memset(&b, 0x33, sizeof(b)); break;
        default:
            memset(&b, 0x33, sizeof(b));
            mprUnlinkRootRef(&a);
            break;
        }
        if (what % 2 != 0) {
            collect();
            CHECK(mprIsValid(kept));
            CHECK(mprGetMemStats()->misuses > 0);
        }
        INFO(what);
        runtime.end();
    }
    mprLinkRootRef(nullptr);
    CHECK(Log::has("no reference"));
    mprUnlinkRootRef(nullptr);
}

TEST_CASE("the runtime object is kept", "[gc][root][port][board]") {
    Runtime runtime;
    CHECK(mprIsValid(runtime.mpr));
    collect();
    CHECK(mprIsValid(runtime.mpr));
}

TEST_CASE("a block stored into an old block is kept", "[gc][root][port][board]") {
    Runtime runtime("young=64k");
    Root root(makeNode());
    collect();
    collect();
    for (uintptr_t i = 0; i < 2000; i++) {
        root.as<Node>()->next = makeNode(nullptr, mprAlloc(100), i);
        for (int garbage = 0; garbage < 20; garbage++) {
            mprAlloc(200);
        }
        mprYield(0);
        REQUIRE(mprIsValid(root.as<Node>()->next));
        REQUIRE(mprIsValid(root.as<Node>()->next->data));
        REQUIRE(root.as<Node>()->next->value == i);
    }
    CHECK(stats().collections > 2);
}

TEST_CASE("roots for which the limit leaves no memory are kept, and the collector goes on", "[gc][root][port]") {
    constexpr size_t size = 40;
    static int told;
    told = 0;
    std::vector<void *> blocks;
    Runtime runtime("region=256k,young=1m");
    mprSetMemLimits(0, 4 << 20, 0);
    calls.reset();
    mprSetMemNotifier([](int cause, int, size_t, size_t) { told += cause == MPR_MEM_LIMIT || cause == MPR_MEM_FAIL; });
    for (int i = 0; i < 100; i++) {
        REQUIRE(makeNode());
    }
    while (void *block = mprAlloc(size)) {
        fill(block, size, blocks.size());
        blocks.push_back(block);
    }
    const int toldBefore = told;
    for (void *block : blocks) {
        mprAddRoot(block);
        mprAddRoot(block);
    }
    CHECK(told > toldBefore);
    for (int flags : {MPR_GC_MINOR, MPR_GC_MAJOR, MPR_GC_MINOR, MPR_GC_MAJOR}) {
        mprGC(flags | MPR_GC_COMPLETE);
    }
    size_t lost = 0;
    for (size_t i = 0; i < blocks.size(); i++) {
        lost += !mprIsValid(blocks[i]) || !filled(blocks[i], size, i);
    }
    CHECK(lost == 0);
    CHECK(calls.frees == 100);
    for (void *block : blocks) {
        mprRemoveRoot(block);
        mprRemoveRoot(block);
    }
    CHECK(stats().misuses == 0);
    CHECK_FALSE(Log::has("mprAddRoot"));
    mprSetMemNotifier(nullptr);
    collect();
    for (size_t i = 0; i < blocks.size() / 2; i++) {
        REQUIRE(mprAlloc(size));
    }
}

TEST_CASE("when a root cannot be remembered, beside a buffer, nothing is collected any more",
          "[gc][root][port][board]") {
    constexpr size_t size = 40;
    static int told;
    told = 0;
    std::vector<unsigned char> buffer(1 << 20);
    std::vector<void *> blocks;
    Runtime runtime(buffer.data(), buffer.size());
    calls.reset();
    mprSetMemNotifier([](int cause, int, size_t, size_t) { told += cause == MPR_MEM_LIMIT || cause == MPR_MEM_FAIL; });
    for (int i = 0; i < 100; i++) {
        REQUIRE(makeNode());
    }
    while (void *block = mprAlloc(size)) {
        fill(block, size, blocks.size());
        blocks.push_back(block);
    }
    CHECK_FALSE(Log::has("mprAddRoot"));
    const int toldBefore = told;
    size_t rooted = 0;
    // The table grows by the reserve; then it is full.
    while (!Log::has("mprAddRoot") && rooted < blocks.size()) {
        mprAddRoot(blocks[rooted++]);
    }
    CHECK(Log::has("no memory to remember another"));
    CHECK(stats().misuses == 0);
    CHECK(told > toldBefore);
    for (int flags : {MPR_GC_MINOR, MPR_GC_MAJOR, MPR_GC_MINOR, MPR_GC_MAJOR}) {
        mprGC(flags | MPR_GC_COMPLETE);
    }
    size_t lost = 0;
    for (size_t i = 0; i < blocks.size(); i++) {
        lost += !mprIsValid(blocks[i]) || !filled(blocks[i], size, i);
    }
    CHECK(lost == 0);
    CHECK(calls.frees == 0);
    // What is freed by hand is there again.
    while (mprAlloc(size)) {}
    CHECK(mprFree(blocks.back()) == 0);
    CHECK(mprAlloc(size));
    mprSetMemNotifier(nullptr);
}

TEST_CASE("what a root refers to lives, though there was no memory to remember the root", "[gc][root][port]") {
    Runtime runtime("region=256k,young=1m");
    mprSetMemLimits(0, 4 << 20, 0);
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    calls.reset();
    std::vector<Node *> nodes;
    Node *child = nullptr, *node = nullptr;
    while ((child = makeNode(nullptr, nullptr, nodes.size())) && (node = makeNode(child, nullptr, nodes.size()))) {
        nodes.push_back(node);
    }
    for (Node *each : nodes) {
        mprAddRoot(each);
    }
    for (int flags : {MPR_GC_MINOR, MPR_GC_MAJOR, MPR_GC_MINOR, MPR_GC_MAJOR}) {
        mprGC(flags | MPR_GC_COMPLETE);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < nodes.size(); i++) {
        wrong += !mprIsValid(nodes[i]->next) || nodes[i]->next->value != i;
        mprRemoveRoot(nodes[i]);
    }
    CHECK(wrong == 0);
    const int before = calls.frees;
    collect();
    CHECK(calls.frees >= before + static_cast<int>(2 * nodes.size()));
    CHECK(stats().misuses == 0);
    mprSetMemNotifier(nullptr);
}

TEST_CASE("the table of roots shrinks when they are removed, so that pauses need not walk it", "[gc][root][port]") {
    Runtime runtime;
    constexpr size_t many = 100'000;
    std::vector<Node *> nodes;
    const uint64 before = stats().bytesLive;
    for (size_t i = 0; i < many; i++) {
        nodes.push_back(makeNode(nullptr, nullptr, i));
        mprAddRoot(nodes.back());
    }
    collect();
    CHECK(stats().bytesLive > before + many * sizeof(Node));
    size_t wrong = 0;
    for (size_t i = 0; i < many; i++) {
        const size_t at = i % 2 ? i : many - 2 - i; // from both ends
        wrong += nodes[at]->value != at;
        mprRemoveRoot(nodes[at]);
        if (i % 10000 == 0) {
            collect();
        }
    }
    CHECK(wrong == 0);
    collect();
    CHECK(stats().misuses == 0);
    CHECK(stats().bytesLive < before + 64 * 1024);
}

TEST_CASE("a block that is resized in place is a block all the while", "[gc][root][port]") {
    Runtime runtime("everyyield=0");
    std::atomic<void *> block{nullptr};
    std::atomic<long> rooted{0};
    Mutator other("other", [&](Mutator &self) {
        untilUnyielded([&] { return block != nullptr; });
        for (; self.go(); rooted++) {
            mprAddRoot(block);
            mprRemoveRoot(block);
        }
    });
    mprRemoveRoot((mprAddRoot(runtime.mpr), runtime.mpr)); // the table is there
    Root root(mprAlloc(20000));
    mprRealloc(root.as<void>(), 15000); // the hole behind it it takes and gives back from here on
    block = root.as<void>();
    const long turns = static_cast<long>(heavy(3'000'000));
    bool stays = true;
    for (long i = 0; (i < turns || rooted < turns / 3) && stays; i++) {
        stays = mprRealloc(block, i % 2 == 0 ? 20000 : 15000) == block;
    }
    other.end();
    CHECK(stays);
    CHECK(stats().misuses == 0);
}
