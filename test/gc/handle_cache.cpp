// SPDX-License-Identifier: MIT
/*
    test/gc/handle_cache.cpp - A thread's own free places of handles, by type.
 */
#include "mpr/gc/handle_cache.hpp"

#include "test/catch.hpp"

using mpr::gc::HandleCache;
using mpr::gc::Slot;

TEST_CASE("free places come back last in, first out, and each type has its own", "[gc][handle]") {
    HandleCache cache;
    Slot strong[3] = {}, weak = {};
    CHECK(cache.take(MPR_HANDLE_STRONG) == nullptr);
    for (Slot &slot : strong) {
        cache.put(MPR_HANDLE_STRONG, &slot);
    }
    cache.put(MPR_HANDLE_WEAK_SHORT, &weak);
    CHECK(cache.count(MPR_HANDLE_STRONG) == 3);
    CHECK(cache.count(MPR_HANDLE_WEAK_SHORT) == 1);
    CHECK(cache.count(MPR_HANDLE_WEAK_LONG) == 0);
    CHECK(cache.take(MPR_HANDLE_WEAK_LONG) == nullptr);
    CHECK(cache.take(MPR_HANDLE_STRONG) == &strong[2]);
    CHECK(cache.take(MPR_HANDLE_STRONG) == &strong[1]);
    CHECK(cache.take(MPR_HANDLE_WEAK_SHORT) == &weak);
    CHECK(cache.take(MPR_HANDLE_STRONG) == &strong[0]);
    CHECK(cache.take(MPR_HANDLE_STRONG) == nullptr);
    CHECK(cache.count(MPR_HANDLE_STRONG) == 0);
}

TEST_CASE("the link of a free place is in no word that the collector writes", "[gc][handle]") {
    HandleCache cache;
    Slot slots[2] = {};
    cache.put(MPR_HANDLE_STRONG, &slots[0]);
    cache.put(MPR_HANDLE_STRONG, &slots[1]);
    // As the collector clears the handle of a place that a thread has just destroyed.
    slots[1].block = nullptr;
    slots[1].extra = nullptr;
    slots[1].self = 0;
    CHECK(cache.take(MPR_HANDLE_STRONG) == &slots[1]);
    CHECK(cache.take(MPR_HANDLE_STRONG) == &slots[0]);
}
