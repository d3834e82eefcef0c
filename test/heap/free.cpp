// SPDX-License-Identifier: MIT
/*
    test/heap/free.cpp - Heads of blocks that are freed by hand, or changed, while a collection looks at them.
 */
#include "test/support/stepped_heap.hpp"

using mpr::heap::Byte;
using mpr::heap::Kind;
using mpr::heap::Place;
using mpr::heap::Sweep;
using test::SteppedHeap;
namespace head = mpr::heap::head;

TEST_CASE("a block that was freed by hand while it may be traced is no root's, no handle's and no batch's any more",
          "[heap][free]") {
    SteppedHeap stepped;
    const bool wasNamed = GENERATE(false, true);
    void *const block = stepped.make(4, static_cast<Byte>(Kind::barrierNoFree));
    if (wasNamed) {
        stepped.heap().changeHead(stepped.regionOf(block), block, head::referenced, 0);
    }
    stepped.unmark(true);
    stepped.mark(block);
    stepped.sweep(Sweep::all);
    stepped.heap().setTracing(true);
    CHECK(stepped.heap().freeTraced(Place::of(stepped.regionOf(block), block)));
    CHECK_FALSE(stepped.isBlock(block));
    CHECK(head::isGone(stepped.head(block)));
    CHECK_FALSE(head::isDiscarded(stepped.head(block))); // check=1 would name the yield of a thread with a batch
    stepped.heap().setTracing(false);
    stepped.unmark(true);
    CHECK(stepped.sweep(Sweep::all) == 1);
}

TEST_CASE("the head of a dead block does not change unless it is held", "[heap][free]") {
    SteppedHeap stepped;
    void *const block = stepped.make(4);
    void *const held = stepped.make(4);
    stepped.heap().changeHead(stepped.regionOf(held), held, head::held, 0);
    stepped.unmark(true);
    stepped.heap().beginSweep(Sweep::all);
    const auto change = [&](void *of, Byte set, Byte clear) {
        return stepped.heap().changeHead(stepped.regionOf(of), of, set, clear);
    };
    const Byte before = stepped.head(block);
    CHECK((change(block, 0, head::held) & head::held) == 0);
    change(block, head::held, 0);
    change(block, head::referenced, 0);
    CHECK(stepped.head(block) == before);
    CHECK((change(held, 0, head::held) & head::held) != 0);
    CHECK_FALSE(stepped.heap().dead(stepped.head(held)));
    stepped.heap().endSweep();
    CHECK(stepped.sweep(Sweep::all) == 1);
}

TEST_CASE("a held block grows in place, also when only the hold keeps it from the sweep", "[heap][free]") {
    SteppedHeap stepped;
    void *const block = stepped.make(4);
    stepped.heap().changeHead(stepped.regionOf(block), block, head::held, 0);
    const auto resize = [&](size_t n) {
        return stepped.heap().resize(stepped.local, stepped.regionOf(block), block, n);
    };
    const auto size = [&] { return stepped.regionOf(block)->blockSize(stepped.granuleOf(block)); };
    CHECK(resize(100)); // in the context
    CHECK(size() == 100);
    stepped.unmark(true); // which closes the context
    stepped.heap().beginSweep(Sweep::all);
    CHECK(stepped.heap().dead(stepped.head(block)));
    CHECK(resize(200));
    CHECK(size() == 200);
    stepped.heap().endSweep();
    stepped.sweep(Sweep::all);
    CHECK((stepped.head(block) & head::held) != 0);
    CHECK(resize(1000)); // in the hole behind it
    CHECK(size() == 1000);
    CHECK(resize(10));
    CHECK(size() == 10);
    stepped.heap().changeHead(stepped.regionOf(block), block, 0, head::held);
}
