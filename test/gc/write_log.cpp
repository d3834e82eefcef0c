// SPDX-License-Identifier: MIT
/*
    test/gc/write_log.cpp - The write barrier's log: what is logged stands in it once, and chunks are used again.
 */
#include "mpr/gc/write_log.hpp"

#include "mpr/gc/runtime.hpp"
#include "test/catch.hpp"
#include "test/support/runtime.hpp"

#include <vector>

using mpr::gc::LogChunk;
using mpr::gc::WriteLog;

namespace {

struct Log {
    Log() : log(mpr::gc::runtime().heap) {}
    ~Log() {
        log.leave(mine);
        log.recycle();
    }
    bool add(const void *field) { return log.add(mine, WriteLog::ofField(field)); }
    /* What all full chunks name: fields one by one. */
    std::vector<const void *> written() {
        std::vector<const void *> all;
        for (const LogChunk *chunk = log.full(); chunk; chunk = chunk->next) {
            for (uint32_t i = 0; i < chunk->count; i++) {
                const uintptr_t entry = chunk->entries[i];
                for (size_t more = WriteLog::isRun(entry) ? WriteLog::moreOf(entry) : 0; more > 0; more--) {
                    all.push_back(static_cast<const void *const *>(all.back()) + 1);
                }
                if (!WriteLog::isRun(entry)) {
                    all.push_back(WriteLog::addressOf(entry));
                }
            }
        }
        return all;
    }

    test::Runtime runtime;
    WriteLog log;
    LogChunk *mine = nullptr;
};

void *fields[4 * LogChunk::capacity];

} // namespace

TEST_CASE("stores into one field behind the other make a run", "[gc][log]") {
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

TEST_CASE("a block does not belong to a run of fields", "[gc][log]") {
    Log log;
    log.add(&fields[0]);
    log.log.add(log.mine, WriteLog::ofBlock(&fields[1]));
    log.add(&fields[2]);
    CHECK(log.mine->count == 3);
    CHECK_FALSE(WriteLog::isField(log.mine->entries[1]));
    CHECK_FALSE(WriteLog::isRun(log.mine->entries[1]));
    CHECK(WriteLog::addressOf(log.mine->entries[1]) == &fields[1]);
}

TEST_CASE("a chunk takes so many stores, however few entries they make", "[gc][log]") {
    Log log;
    for (size_t i = 0; i < LogChunk::capacity; i++) {
        log.add(&fields[i]);
    }
    const LogChunk *const first = log.mine;
    CHECK(first->full());
    CHECK(first->count == 2);
    CHECK(log.log.full() == nullptr);
    log.add(&fields[LogChunk::capacity]);
    CHECK(log.mine != first);
    CHECK(log.log.full() == first);
    CHECK(log.written().size() == LogChunk::capacity);
}

TEST_CASE("when enough has been logged a pause is called for, and its chunks are used again", "[gc][log]") {
    Log log;
    size_t stores = 0;
    const auto fill = [&] {
        while (!log.add(&fields[stores++ % 7 * 2])) {
            REQUIRE(stores < 100 * LogChunk::capacity);
        }
    };
    fill();
    const size_t chunks = stores / LogChunk::capacity;
    CHECK(chunks > 1);
    CHECK(log.written().size() == chunks * LogChunk::capacity);
    log.log.recycle();
    CHECK(log.log.full() == nullptr);
    log.log.leave(log.mine);
    log.log.recycle();
    stores = 0;
    fill();
    CHECK(stores / LogChunk::capacity == chunks);
}

TEST_CASE("that something was lost is told once", "[gc][log]") {
    Log log;
    CHECK_FALSE(log.log.takeLost());
    log.log.lose();
    CHECK(log.log.takeLost());
    CHECK_FALSE(log.log.takeLost());
}
