// SPDX-License-Identifier: MIT
/*
    test/gc/shared_work.cpp - What one marker gives and another takes: every entry arrives once, rows stay whole, and no
    more is given than somebody waits for.
 */
#include "test/catch.hpp"
#include "test/support/pattern.hpp"

#include "mpr/gc/shared_work.hpp"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

using mpr::gc::MarkEntry;
using mpr::gc::MarkStack;
using mpr::gc::Row;
using mpr::gc::SharedWork;
using test::Random;

namespace {

constexpr size_t room = 600; /* entries, of which each stack has some below its own that belong to another */
constexpr uintptr_t foreign = 12;

Row rowOf(uintptr_t at) {
    return {reinterpret_cast<const void *const *>(at), at / 8, reinterpret_cast<const void *>(at + 16), at + 1, at + 2};
}

bool isRowOf(uintptr_t at, const Row &row) {
    const Row made = rowOf(at);
    return row.fields == made.fields && row.count == made.count && row.owner == made.owner &&
           row.position == made.position && row.pause == made.pause;
}

struct Stack {
    Stack() {
        std::fill(memory.begin(), memory.end(), MarkEntry::word(foreign));
        own.open(&memory[room / 2], room / 2 * sizeof(MarkEntry));
    }
    /* What is on it, from the top: blocks, and rows by their first field. Empties it. */
    std::vector<uintptr_t> contents() {
        std::vector<uintptr_t> found;
        while (!own.empty() && own.size() <= room) {
            if (own.isRowOnTop()) {
                const Row row = own.popRow();
                found.push_back(reinterpret_cast<uintptr_t>(row.fields));
                CHECK(isRowOf(found.back(), row));
            } else {
                found.push_back(own.pop().bits());
            }
        }
        CHECK(own.empty());
        return found;
    }
    std::vector<MarkEntry> memory = std::vector<MarkEntry>(room);
    MarkStack own;
};

} // namespace

TEST_CASE("markers give one another blocks and rows, and none is lost, doubled or cut", "[gc][mark]") {
    Random random(1);
    auto work = std::make_unique<SharedWork>();
    for (unsigned percentRows : {0u, 20u, 80u, 100u}) {
        for (int i = 0; i < 300; i++) {
            Stack giver, taker;
            std::vector<uintptr_t> put;
            const size_t most = 17 + random.below(200);
            for (uintptr_t at = 8000; giver.own.size() < most; at += 8) {
                if (random.chance(percentRows)) {
                    giver.own.pushRow(rowOf(at));
                } else {
                    giver.own.push(MarkEntry(reinterpret_cast<void *>(at), 0));
                }
                put.push_back(at);
            }
            const size_t before = giver.own.size();
            work->begin(3);
            work->give(giver.own);
            REQUIRE(giver.own.size() >= before / 2 - 5);
            REQUIRE_FALSE(giver.own.empty());
            REQUIRE(giver.own.size() < before);
            REQUIRE(work->take(taker.own));
            work->close();
            for (MarkStack &left = work->end(); !left.empty() && left.moveTo(taker.own);) {}
            std::vector<uintptr_t> kept = giver.contents(), given = taker.contents();
            given.insert(given.end(), kept.begin(), kept.end());
            std::sort(given.begin(), given.end());
            REQUIRE(given == put);
        }
    }
}

TEST_CASE("a row is given whole, and what has no room is refused", "[gc][mark]") {
    auto work = std::make_unique<SharedWork>();
    work->begin(1);
    std::vector<uintptr_t> put;
    for (uintptr_t at = 8000; work->giveRow(rowOf(at)); at += 8) {
        put.push_back(at);
        REQUIRE(put.size() < 10000);
    }
    CHECK(put.size() > 100);
    work->close();
    std::vector<uintptr_t> given;
    for (MarkStack &left = work->end(); !left.empty();) {
        Stack taker;
        while (!left.empty() && left.moveTo(taker.own)) {}
        const std::vector<uintptr_t> some = taker.contents();
        given.insert(given.end(), some.begin(), some.end());
    }
    std::sort(given.begin(), given.end());
    CHECK(given == put);
}

TEST_CASE("who has run dry is given something once, not again until it comes", "[gc][mark]") {
    auto work = std::make_unique<SharedWork>();
    constexpr int rounds = 200;
    int again = 0;
    for (int i = 0; i < rounds; i++) {
        Stack giver, taker;
        for (uintptr_t at = 8000; giver.own.size() < 200; at += 8) {
            giver.own.push(MarkEntry(reinterpret_cast<void *>(at), 0));
        }
        work->begin(1);
        std::thread dry([&] {
            if (work->join()) {
                CHECK(work->take(taker.own));
                work->quit();
                work->leave();
            }
        });
        while (!work->wanted()) {
            std::this_thread::yield();
        }
        work->give(giver.own);
        again += work->wanted(); // it may have taken just now, and still count as dry
        dry.join();
        work->close();
        work->end().clear();
    }
    CHECK(again < rounds / 2);
}
