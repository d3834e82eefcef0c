// SPDX-License-Identifier: MIT
/*
    test/base/retain.cpp - Blocks kept through a wait, and no longer.
 */
#include "mpr/base/retain.hpp"

#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <atomic>
#include <memory>
#include <thread>

using mpr::base::Hold;
using mpr::base::Rooted;
using namespace test;

TEST_CASE("a hold keeps a block, but not what that references", "[base][retain]") {
    Runtime runtime;
    Node *const child = makeNode(), *const block = makeNode(child);
    {
        Hold hold(block);
        collect();
        CHECK(mprIsValid(block));
        CHECK_FALSE(mprIsValid(child));
        block->next = nullptr;
    }
    collect();
    CHECK_FALSE(mprIsValid(block));
}

TEST_CASE("a hold leaves what is no block to its owner", "[base][retain]") {
    Runtime runtime;
    int local = 0;
    const auto block = static_cast<char *>(mprAlloc(64));
    {
        Hold none(nullptr), stack(&local), inside(block + 8);
        collect();
    }
    CHECK_FALSE(mprIsValid(block));
    CHECK(Log::size() == 0);
}

TEST_CASE("holds of one block nest", "[base][retain]") {
    Runtime runtime;
    void *const block = mprAlloc(64);
    auto outer = std::make_unique<Hold>(block);
    { Hold inner(block); }
    collect();
    CHECK(mprIsValid(block));
    outer.reset();
    collect();
    CHECK_FALSE(mprIsValid(block));
}

namespace {
std::atomic<int> ends;
void *twin;
void keepTwin(void *, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        ends++;
        const Hold hold(twin);
        const Rooted root(twin);
    }
}
} // namespace

TEST_CASE("in a manager's FREE call what is dead stays dead, and needs no hold", "[base][retain]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    ends = 0;
    twin = mprAllocManaged(40, keepTwin, 0);
    mprAllocManaged(40, keepTwin, 0);
    for (int i = 0; i < 2; i++) {
        collect();
        CHECK(ends == 2);
        CHECK_FALSE(mprIsValid(twin));
    }
    CHECK(Log::size() == 0);
}

TEST_CASE("a thread that is not attached holds nothing", "[base][retain]") {
    Runtime runtime;
    void *const block = mprAlloc(64);
    mprHold(block);
    std::thread([&] { Hold hold(block); }).join();
    CHECK(Log::size() == 0);
    mprRelease(block);
    collect();
    CHECK_FALSE(mprIsValid(block));
}

TEST_CASE("what is rooted lives with all that it references", "[base][retain]") {
    Runtime runtime;
    Node *const child = makeNode(), *const block = makeNode(child);
    {
        Rooted rooted(block), none(nullptr);
        collect();
        CHECK(mprIsValid(block));
        CHECK(mprIsValid(child));
    }
    collect();
    CHECK_FALSE(mprIsValid(block));
    CHECK_FALSE(mprIsValid(child));
}
