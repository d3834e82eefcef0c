/* SPDX-License-Identifier: MIT */
/*
    test/gc/stacks.cpp - Option check=stacks: a local variable that is no root is named over a yield, with its function.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <thread>

using namespace test;

namespace {

constexpr cchar *suspicion = "local variable without a root";

/* A place that the compiler keeps for it. */
using Local = Node *volatile;

/* Set what blocks of before have left in free parts of the stack to nothing. */
[[gnu::noinline]] void clean() {
    volatile char bytes[4096];
    for (volatile char &byte : bytes) {
        byte = 0;
    }
}
} // namespace

extern "C" {
[[gnu::noinline]] void stackYields() {
    clean();
    collect();
}
[[gnu::noinline]] void stackKeeps(bool roots) {
    Local node = makeNode();
    if (roots) {
        mprAddRoot(node);
    }
    stackYields();
    if (roots) {
        mprRemoveRoot(node);
    }
    node = nullptr;
}
/* With a pointer to a function below the block's, which is no address to return to. */
[[gnu::noinline]] void stackKeepsBoth() {
    [[maybe_unused]] volatile struct {
        MprManager manager;
        Node *node;
    } both{};
    both.manager = manageNode;
    both.node = makeNode();
    stackYields();
    both.manager = nullptr;
    both.node = nullptr;
}
}

TEST_CASE("check=stacks names a local variable that is kept over a yield", "[gc][stacks]") {
    const Runtime runtime("check=stacks,everyyield=0");
    stackKeeps(false);
    INFO(Log::text());
    CHECK(Log::count(suspicion) >= 1);
    CHECK(Log::count("a frame of stackKeeps") == 1);
    CHECK(Log::has("manageNode"));
    CHECK(Log::has("thread main"));
    stackKeeps(false); /* The same again */
    CHECK(Log::count("a frame of stackKeeps") == 1);
}

TEST_CASE("check=stacks takes no pointer to a function for one into it", "[gc][stacks]") {
    const Runtime runtime("check=stacks,everyyield=0");
    stackKeepsBoth();
    INFO(Log::text());
    CHECK(Log::count("a frame of stackKeepsBoth") == 1);
    CHECK(Log::count("a frame of test::manageNode") == 0);
}

TEST_CASE("check=stacks is silent about what is a root, and without it nobody looks", "[gc][stacks]") {
    SECTION("a root") {
        const Runtime runtime("check=stacks,everyyield=0");
        stackKeeps(true);
        CHECK(Log::count("a frame of stackKeeps") == 0);
    }
    SECTION("another check") {
        const Runtime runtime("check=fields+globals,everyyield=0");
        stackKeeps(false);
        CHECK(Log::count(suspicion) == 0);
    }
}

TEST_CASE("check=stacks looks at all threads that have yielded", "[gc][stacks]") {
    const Runtime runtime("check=stacks,everyyield=0");
    static std::atomic<int> stage;
    stage = 0;
    std::thread other([] {
        mprAttachThread("other");
        [[maybe_unused]] Local node = makeNode();
        mprYield(MPR_YIELD_STICKY);
        stage = 1;
        while (stage != 2) {
            std::this_thread::yield();
        }
        mprResetYield();
        node = nullptr;
        mprDetachThread();
    });
    while (stage != 1) {
        std::this_thread::yield();
    }
    collect();
    INFO(Log::text());
    CHECK(Log::count("The stack of thread other") >= 1);
    CHECK(Log::has("manageNode"));
    stage = 2;
    mprYield(MPR_YIELD_STICKY);
    other.join();
    mprResetYield();
}
