// SPDX-License-Identifier: MIT
/*
    test/gc/handle_index.cpp - The index of handles by block finds what a walk over all handles finds, whatever was stored since.
 */
#include "mpr/gc/handle_index.hpp"

#include "mpr/gc/handle_store.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <set>
#include <vector>

using mpr::gc::HandleSegment;
using mpr::gc::handleStore;
using mpr::gc::Slot;
using test::Random;
using test::Runtime;

namespace {

struct Handles {
    static constexpr size_t count = 12000; /* more groups than may be unindexed */

    Handles() {
        for (void *&block : blocks) {
            block = mprAlloc(16);
            mprHold(block);
        }
        for (size_t i = 0; i < count; i++) {
            handles.push_back(create());
        }
    }
    ~Handles() {
        for (void *block : blocks) {
            mprRelease(block);
        }
    }
    void *any() { return blocks[random.below(std::size(blocks))]; }
    MprHandle create() {
        return random.chance(20) ? mprCreateHandleFor(MPR_HANDLE_DEPENDENT, any(), any(), 0)
                                 : mprCreateHandle(MPR_HANDLE_WEAK_SHORT, any());
    }
    void change() {
        MprHandle &handle = handles[random.below(handles.size())];
        if (random.chance(30)) {
            mprDestroyHandle(handle);
            handle = create();
        } else {
            mprSetHandle(handle, random.chance(10) ? nullptr : any());
        }
    }
    /* By the index. */
    static std::set<Slot *> indexed(const void *block) {
        std::set<Slot *> found;
        handleStore.forEachOf(block, [&](HandleSegment &, Slot *slot) {
            if (mpr::gc::self::isLive(slot->self)) { // a destroyed dependent handle keeps its value
                found.insert(slot);
            }
        });
        return found;
    }
    std::set<Slot *> walked(const void *block) {
        std::set<Slot *> found;
        for (MprHandle handle : handles) {
            if (mprGetHandle(handle) == block || mprGetHandleValue(handle) == block) {
                found.insert(MPR_HANDLE_SLOT(handle));
            }
        }
        return found;
    }

    Random random{7};
    void *blocks[50];
    std::vector<MprHandle> handles;
};

} // namespace

TEST_CASE("the index finds all handles of a block, in few changes and in many", "[gc][handle]") {
    Runtime runtime;
    Handles all;
    const int changes = GENERATE(0, 1, 100, 20000);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < changes; i++) {
            all.change();
        }
        for (size_t i = 0; i < 5; i++) {
            const void *block = all.any();
            REQUIRE(all.indexed(block) == all.walked(block));
        }
    }
}

TEST_CASE("what is not referred to any more is not found, and memory that was given back is not looked at",
          "[gc][handle]") {
    Runtime runtime;
    Handles all;
    CHECK_FALSE(all.indexed(all.blocks[0]).empty());
    for (MprHandle handle : all.handles) {
        mprDestroyHandle(handle);
    }
    all.handles.clear();
    for (void *block : all.blocks) {
        CHECK(all.indexed(block).empty());
    }
    CHECK(all.indexed(nullptr).size() == 0);
}
