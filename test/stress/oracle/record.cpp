// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/record.cpp - Records, and the contents of blocks that follow from them.
 */
#include "test/stress/oracle/record.hpp"

#include <cstring>

namespace oracle {

namespace {

/* Up to here each byte of a pattern is looked at, behind it the first eight of each stride. */
constexpr size_t dense = 4096, stride = 512;

uintptr_t checkOf(const Record *record, uint32_t serial) {
    return static_cast<uintptr_t>(Random(reinterpret_cast<uintptr_t>(record) ^ uint64_t{serial} << 20).next());
}

/* Call f(from, to) for each stretch of the pattern in [from, size). */
template <class F>
bool stretches(size_t from, size_t size, F &&f) {
    if (!f(from, size < dense ? size : dense)) {
        return false;
    }
    for (size_t at = dense; at + 8 <= size; at += stride) {
        if (at >= from && !f(at, at + 8)) {
            return false;
        }
    }
    return true;
}

size_t patternBegin(const Record &record) {
    return inOneBlock(record.kind) ? sizeof(Head) + record.refs.size() * sizeof(void *) : 0;
}

std::atomic<uint64_t> serials{1};

} // namespace

const char *nameOf(Kind kind) {
    constexpr const char *names[] = {"leaf", "plain",    "barrier", "noFree", "table", "vector", "pmrVector",
                                     "row",  "elements", "map",     "list",   "hash",  "pinned"};
    static_assert(sizeof(names) / sizeof(names[0]) == static_cast<size_t>(Kind::count));
    return names[static_cast<size_t>(kind)];
}

Record *Records::take() {
    Record *record;
    if (unused.empty()) {
        record = &all.emplace_back();
    } else {
        record = unused.back();
        unused.pop_back();
    }
    record->used = true;
    record->serial = serials++;
    return record;
}

void Records::give(Record *record) {
    record->ptr = nullptr;
    record->serial = serials++; // no head of an old block fits
    record->refs.clear();
    record->handles.clear();
    record->in = 0;
    record->visit = 0;
    record->used = record->mapped = record->dangling = record->stands = false;
    record->eager = record->wasHeld = false;
    record->freed = record->rooted = record->held = 0;
    unused.push_back(record);
}

void setHead(void *ptr, Record &record, size_t count) {
    const auto serial = static_cast<uint32_t>(record.serial);
    *static_cast<Head *>(ptr) = {&record, checkOf(&record, serial), static_cast<uint32_t>(count), serial};
}

bool headSane(const void *ptr) {
    auto head = static_cast<const Head *>(ptr);
    return head->check == checkOf(head->record, head->serial);
}

bool headIntact(const void *ptr, const Record &record) {
    auto head = static_cast<const Head *>(ptr);
    return head->record == &record && head->serial == static_cast<uint32_t>(record.serial) && headSane(ptr);
}

Record *recordOf(const void *ptr) {
    Record *record = headSane(ptr) ? static_cast<const Head *>(ptr)->record : nullptr;
    return record && headIntact(ptr, *record) ? record : nullptr;
}

void fillPattern(const Record &record) {
    auto bytes = static_cast<unsigned char *>(record.ptr);
    stretches(patternBegin(record), record.size, [&](size_t from, size_t to) {
        test::fill(bytes, to, record.serial, from);
        return true;
    });
}

bool patternIntact(const Record &record, size_t size) {
    auto bytes = static_cast<const unsigned char *>(record.ptr);
    return stretches(patternBegin(record), size,
                     [&](size_t from, size_t to) { return test::filled(bytes, to, record.serial, from); });
}

} // namespace oracle
