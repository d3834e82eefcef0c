// SPDX-License-Identifier: MIT
/*
    test/gc/remembered_set.cpp - The remembered set: what was stored into stands in it once, and chunks are used again.
 */
#include "mpr/gc/remembered_set.hpp"

#include "mpr/gc/runtime.hpp"
#include "test/catch.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <vector>

using mpr::gc::RememberedChunk;
using mpr::gc::RememberedSet;

namespace {

struct Log {
    Log() : log(mpr::gc::runtime().heap) {}
    ~Log() {
        log.leave(mine);
        log.recycle();
    }
    bool add(const void *field) { return log.add(mine, RememberedSet::ofField(field)); }
    /* What all full chunks name: fields one by one. */
    std::vector<const void *> written() {
        std::vector<const void *> all;
        for (const RememberedChunk *chunk = log.full(); chunk; chunk = chunk->next) {
            for (uint32_t i = 0; i < chunk->count; i++) {
                const uintptr_t entry = chunk->entries[i];
                for (size_t more = RememberedSet::isRun(entry) ? RememberedSet::moreOf(entry) : 0; more > 0; more--) {
                    all.push_back(static_cast<const void *const *>(all.back()) + 1);
                }
                if (!RememberedSet::isRun(entry)) {
                    all.push_back(RememberedSet::addressOf(entry));
                }
            }
        }
        return all;
    }

    test::Runtime runtime;
    RememberedSet log;
    RememberedChunk *mine = nullptr;
};

void *fields[4 * RememberedChunk::capacity];

} // namespace

TEST_CASE("stores into one field behind the other make a run", "[gc][remembered][port]") {
    Log log;
    for (int i = 0; i < 5; i++) {
        log.add(&fields[i]);
    }
    log.add(&fields[9]);
    log.add(&fields[8]);
    CHECK(log.mine->count == 4);
    CHECK(log.mine->stores == 7);
    log.log.leave(log.mine);
    CHECK(log.mine == nullptr);
    CHECK(log.written() == std::vector<const void *>{&fields[0], &fields[1], &fields[2], &fields[3], &fields[4],
                                                     &fields[9], &fields[8]});
}

TEST_CASE("a block does not belong to a run of fields", "[gc][remembered][port]") {
    Log log;
    log.add(&fields[0]);
    log.log.add(log.mine, RememberedSet::ofBlock(&fields[1]));
    log.add(&fields[2]);
    CHECK(log.mine->count == 3);
    CHECK_FALSE(RememberedSet::isField(log.mine->entries[1]));
    CHECK_FALSE(RememberedSet::isRun(log.mine->entries[1]));
    CHECK(RememberedSet::addressOf(log.mine->entries[1]) == &fields[1]);
}

TEST_CASE("a chunk takes so many stores, however few entries they make", "[gc][remembered][port]") {
    Log log;
    for (size_t i = 0; i < RememberedChunk::capacity; i++) {
        log.add(&fields[i]);
    }
    const RememberedChunk *const first = log.mine;
    CHECK(first->full());
    CHECK(first->count == 2);
    CHECK(log.log.full() == nullptr);
    log.add(&fields[RememberedChunk::capacity]);
    CHECK(log.mine != first);
    CHECK(log.log.full() == first);
    CHECK(log.written().size() == RememberedChunk::capacity);
}

TEST_CASE("when enough has been remembered a pause is called for, and its chunks are used again",
          "[gc][remembered][port]") {
    Log log;
    size_t stores = 0;
    const auto fill = [&] {
        while (!log.add(&fields[stores++ % 7 * 2])) {
            REQUIRE(stores < 100 * RememberedChunk::capacity);
        }
    };
    fill();
    const size_t chunks = stores / RememberedChunk::capacity;
    CHECK(chunks > 1);
    CHECK(log.written().size() == chunks * RememberedChunk::capacity);
    log.log.recycle();
    CHECK(log.log.full() == nullptr);
    log.log.leave(log.mine);
    log.log.recycle();
    stores = 0;
    fill();
    CHECK(stores / RememberedChunk::capacity == chunks);
}

TEST_CASE("where reading the set takes long, less of it calls for a pause", "[gc][remembered][port]") {
    Log log;
    const auto fill = [&] { // @return Chunks that called for a pause
        size_t stores = 0;
        while (!log.add(&fields[stores++ % 7 * 2])) {
            REQUIRE(stores < 100 * RememberedChunk::capacity);
        }
        return stores / RememberedChunk::capacity;
    };
    const auto paced = [&](uint64_t took, uint64_t longest) {
        size_t chunks = 0;
        for (int pause = 0; pause < 10; pause++) {
            chunks = fill();
            log.log.pace(took * chunks, longest);
            log.log.recycle();
            log.log.leave(log.mine); // what has begun counts for the next pause
            log.log.recycle();
        }
        return chunks;
    };
    const size_t most = fill();
    log.log.recycle();
    CHECK(paced(100, 100 * most) == most);
    CHECK(paced(200, 100 * most) == most / 2);
    CHECK(paced(1'000'000, 1) == std::max(most / 4, size_t{1})); // a pause costs something besides
    CHECK(paced(1, 1'000'000) == most);
    log.log.pace(1'000'000, 1); // nothing has been stored into: this says nothing
    CHECK(fill() == most);
}

TEST_CASE("that something was lost is told once", "[gc][remembered][port]") {
    Log log;
    CHECK_FALSE(log.log.takeLost());
    log.log.lose();
    CHECK(log.log.takeLost());
    CHECK_FALSE(log.log.takeLost());
}
