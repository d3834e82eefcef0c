// SPDX-License-Identifier: MIT
/*
    test/gc/mark_memory.cpp - Where mark stacks lie: in an area of the system's, or in the heap while that is small and
    under a limit.
 */
#include "mpr/gc/mark_memory.hpp"

#include "test/support/process.hpp"
#include "test/support/stepped_heap.hpp"

#include <sys/resource.h>

using mpr::gc::MarkEntry;
using mpr::gc::Marker;
using mpr::gc::Marking;
using mpr::gc::MarkMemory;
using mpr::gc::MarkStack;
using mpr::heap::Limits;
using test::SteppedHeap;
using test::writableBytes;

namespace {

/* The system lets nobody write more than may be written already. */
struct NoWritableMemory {
    NoWritableMemory() {
        getrlimit(RLIMIT_DATA, &before);
        const rlimit little{4096, before.rlim_max}; // 0 would be the greatest
        REQUIRE(setrlimit(RLIMIT_DATA, &little) == 0);
    }
    ~NoWritableMemory() { setrlimit(RLIMIT_DATA, &before); }

    rlimit before;
};

struct Lent {
    explicit Lent(size_t asked = 0, size_t fixedHeap = 0) { REQUIRE(memory.open(stepped.heap(), asked, fixedHeap)); }
    ~Lent() { memory.close(); }
    /* Entries that a marker's stack for what is traced now can take. */
    static size_t room(Marker &marker) { return marker.stackNow().room() + marker.stackNow().size(); }
    size_t lend(size_t maximum, unsigned index = 0, unsigned markers = 1, size_t committed = 0,
                size_t warn = Limits::none) {
        Limits limits;
        limits.set(warn, maximum);
        limits.commit(committed);
        memory.choose(limits);
        memory.lend(marker, index, markers);
        return room(marker);
    }
    size_t lendOf(size_t committed, size_t maximum) { return lend(maximum, 0, 1, committed); }
    size_t committed() { return stepped.heap().limits().committed(); }

    SteppedHeap stepped;
    MarkMemory memory;
    Marker marker{stepped.heap()};
};

} // namespace

TEST_CASE("a small heap under a hard limit has its mark stacks in a block of its own", "[gc][marks][port]") {
    Lent lent;
    const size_t limited = lent.lend(64 << 20), unlimited = lent.lend(Limits::none);
    CHECK(limited <= 64 * 1024 / sizeof(MarkEntry));
    CHECK(limited > 64 * 1024 / sizeof(MarkEntry) / 8);
    CHECK(unlimited > (sizeof(void *) == 8 ? 100 : 10) * limited);
}

TEST_CASE("under a hard limit mark stacks grow with the heap, and count against the limit", "[gc][marks][port]") {
    Lent lent;
    const size_t least = lent.lend(64 << 20), before = lent.committed();
    const size_t large = lent.lendOf(20 << 20, 64 << 20);
    CHECK(large == 16 * least);
    CHECK(lent.committed() == before + 1024 * 1024);
    CHECK(lent.lendOf(8 << 20, 64 << 20) == large);      // it has shrunk, but may grow again
    CHECK(lent.lendOf(12 << 20, 16 << 20) == 4 * least); // the share of a lower limit
    CHECK(lent.committed() == before + 256 * 1024);
    CHECK(lent.lendOf(512 << 10, 64 << 20) == least);
    CHECK(lent.committed() == before);
    lent.lendOf(20 << 20, 64 << 20);
    CHECK(lent.lend(Limits::none) > large);
    CHECK(lent.committed() == before); // what is lent without a limit does not count
}

TEST_CASE("what mark stacks do not use may not be written, and so counts nowhere", "[gc][marks][port]") {
    Lent lent;
    size_t before = writableBytes();
    before = writableBytes(); // to read the first time may take memory
    REQUIRE(lent.lend(Limits::none) >= 2 * 64 * 1024);
    CHECK(writableBytes() - before <= 3 * 2 * mpr::os::pageSize()); // the begins of three stacks
    MarkStack &stack = lent.marker.stackNow();
    size_t entries = 0;
    for (; entries < 64 * 1024; entries++) {
        REQUIRE(stack.push(MarkEntry::word((entries + 1) << 8)));
    }
    const size_t used = writableBytes() - before;
    CHECK(used >= 64 * 1024 * sizeof(MarkEntry));
    CHECK(used <=
          64 * 1024 * sizeof(MarkEntry) + 64 * 1024 + 3 * mpr::os::pageSize()); // a step more, each in whole pages
    for (; entries > 0; entries--) {
        REQUIRE(stack.pop().bits() == entries << 8);
    }
    lent.memory.trim();
    CHECK(lent.lend(Limits::none) >= 2 * 64 * 1024);
    CHECK(stack.push(MarkEntry::word(256)));
    CHECK(writableBytes() - before == used);
    stack.clear();
}

TEST_CASE("a mark stack is full where the system has no memory for more of it", "[gc][marks]") {
    if (test::emulator()) {
        return; // one does not keep to such a limit
    }
    Lent lent;
    const size_t least = lent.lend(64 << 20);
    {
        const NoWritableMemory none;
        CHECK(lent.lend(Limits::none) == least); // those in the heap do
    }
    lent.lend(Limits::none);
    MarkStack &stack = lent.marker.stackNow();
    size_t entries = 0;
    {
        const NoWritableMemory none;
        while (stack.push(MarkEntry::word(256))) {
            entries++;
        }
        CHECK(entries == 4096 / sizeof(MarkEntry));
        CHECK(stack.room() == 0);
    }
    CHECK_FALSE(stack.push(MarkEntry::word(256))); // until it is opened again
    CHECK(stack.size() == entries);
    stack.clear();
    lent.lend(Limits::none);
    CHECK(stack.room() > entries);
}

TEST_CASE("mark stacks take nothing that would cross the redline", "[gc][marks][port]") {
    Lent lent;
    const size_t least = lent.lend(64 << 20), before = lent.committed(), committed = 20 << 20, share = 1 << 20;
    CHECK(lent.lend(64 << 20, 0, 1, committed, committed + share - 1) == least);
    CHECK(lent.lend(64 << 20, 0, 1, committed, committed + share) == 16 * least);
    CHECK(lent.lend(64 << 20, 0, 1, committed + share, committed + share) == 16 * least); // what is lent counts already
    CHECK(lent.lend(64 << 20, 0, 1, committed + share + 1, committed + share) == least);
    CHECK(lent.committed() == before);
}

TEST_CASE("where memory is short, mark stacks stay in their block", "[gc][marks][port]") {
    Lent lent;
    const size_t least = lent.lend(64 << 20), before = lent.committed();
    lent.stepped.heap().setLimits(Limits::none, before + 64 * 1024);
    CHECK(lent.lendOf(20 << 20, 64 << 20) == least); // the heap refuses
    CHECK(lent.committed() == before);
    lent.stepped.heap().setLimits(Limits::none, Limits::none);
    CHECK(lent.lendOf(53 << 20, 64 << 20) == 16 * least);
    CHECK(lent.lendOf(58 << 20, 64 << 20) == 16 * least); // some of that is what is lent
    CHECK(lent.lendOf(60 << 20, 64 << 20) == least);
    CHECK(lent.lendOf(58 << 20, 64 << 20) == least);
    CHECK(lent.committed() == before);
}

TEST_CASE("a size of mark stacks that was asked for is kept to", "[gc][marks][port]") {
    Lent lent(4096);
    const size_t room = lent.lend(Limits::none);
    CHECK(room <= 4096 / sizeof(MarkEntry));
    CHECK(lent.lend(64 << 20) == room);
}

TEST_CASE("a small heap spares a small part for mark stacks", "[gc][marks][port]") {
    Lent lent(0, 64 * 1024);
    CHECK(lent.lend(Limits::none) <= 64 * 1024 / 32 / sizeof(MarkEntry));
}

TEST_CASE("several markers share the memory, and none writes where another does", "[gc][marks][port]") {
    Lent lent;
    Marker others[] = {Marker(lent.stepped.heap()), Marker(lent.stepped.heap()), Marker(lent.stepped.heap())};
    const size_t alone = lent.lend(64 << 20);
    const size_t first = lent.lend(64 << 20, 0, 4);
    CHECK(first <= alone / 2 + 1);
    size_t all = first;
    for (unsigned i = 0; i < 3; i++) {
        lent.memory.lend(others[i], i + 1, 4);
        all += Lent::room(others[i]);
        CHECK(Lent::room(others[i]) >= first / 4);
    }
    CHECK(all <= alone);
    // Each fills its own, those for what waits, too, and finds that.
    Marker *const markers[] = {&lent.marker, &others[0], &others[1], &others[2]};
    const Marking markings[] = {Marking::all, Marking::slice, Marking::concurrent};
    const auto forStacks = [&](auto f) {
        for (size_t i = 0; i < 12; i++) {
            markers[i / 3]->begin(markings[i % 3]);
            f(markers[i / 3]->stackNow(), i);
            markers[i / 3]->end();
        }
    };
    forStacks([](MarkStack &stack, size_t i) {
        while (stack.push(MarkEntry(nullptr, i + 2))) {}
    });
    forStacks([](MarkStack &stack, size_t i) {
        while (!stack.empty()) {
            REQUIRE(stack.pop().bits() == i + 2);
        }
    });
}
