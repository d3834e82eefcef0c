// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/record.hpp - What the oracle knows of one block, in memory that the runtime does not know.

    A record's memory is never given back while a runtime exists: a manager that is called once too often still finds the
    record of its block, and the serial number there tells that the block is long gone.
 */
#pragma once

#include "test/support/pattern.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace oracle {

using test::Random;

/* How a block is made and where its references stand. */
enum class Kind : uint8_t {
    leaf,      /* No manager, no references: contents only */
    plain,     /* Ordinary manager, references behind the head, plain stores */
    barrier,   /* MPR_ALLOC_BARRIER */
    noFree,    /* MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE */
    table,     /* Ordinary manager, references in a table from malloc */
    vector,    /* A C++ object with a std::vector of members */
    pmrVector, /* As vector, its memory allocated by palloc */
    row,       /* mpr::makeArray of members */
    elements,  /* mpr::makeArray of objects with destructors */
    map,       /* mpr::HashMap */
    list,      /* MprList */
    hash,      /* MprHash */
    pinned,    /* A leaf of mpr/pinned.h */
    count
};
const char *nameOf(Kind kind);

constexpr bool callsFree(Kind kind) {
    return kind != Kind::leaf && kind != Kind::noFree && kind != Kind::row && kind < Kind::map;
}
/* They refer by arrays of their own, which they may outgrow. */
constexpr bool refersElsewhere(Kind kind) {
    return kind == Kind::map || kind == Kind::list || kind == Kind::hash;
}
/* Blocks that begin with a Head, references of a fixed number and a pattern behind them. */
constexpr bool inOneBlock(Kind kind) {
    return kind == Kind::plain || kind == Kind::barrier || kind == Kind::noFree;
}
constexpr bool withHead(Kind kind) {
    return inOneBlock(kind) || kind == Kind::table || kind == Kind::vector || kind == Kind::pmrVector;
}
constexpr bool withPattern(Kind kind) {
    return kind == Kind::leaf || kind == Kind::pinned || inOneBlock(kind);
}
/* Blocks that mprRealloc takes, as far as the oracle knows how they look then. */
constexpr bool reallocable(Kind kind) {
    return withPattern(kind) && kind != Kind::pinned;
}
/* Rows that are resized after the block was made. */
constexpr bool resizable(Kind kind) {
    return kind == Kind::table || kind == Kind::vector || kind == Kind::pmrVector;
}

struct Handle;

struct Record {
    void *ptr = nullptr;
    size_t size = 0;     /* Asked for */
    uint64_t serial = 0; /* Another one for each block */
    Kind kind = Kind::leaf;
    std::vector<Record *> refs;    /* What its references are */
    size_t in = 0;                 /* References to it from blocks that are not known to be gone, and root references */
    std::vector<Handle *> handles; /* That refer to it, or have it as their value: handles.hpp */
    uint32_t visit = 0;            /* The last trace that reached it */
    bool used = false;
    bool mapped = false;            /* Has been in a map or list: an array that it has outgrown may refer to it still */
    bool dangling = false;          /* Only held for a while: its references may be gone */
    bool stands = false;            /* Of the oracle itself: never dropped */
    std::atomic<bool> eager{false}; /* Its manager locks and allocates in MPR_MANAGE_FREE */
    std::atomic<bool> wasHeld{false};
    std::atomic<int> freed{0};  /* Calls with MPR_MANAGE_FREE */
    std::atomic<int> rooted{0}; /* mprAddRoot */
    std::atomic<int> held{0};   /* mprHold */
};

/* The records of one graph. Not for several threads at a time. */
class Records {
public:
    Record *take();
    void give(Record *record); /* For another block */

    /* Each record in use. */
    template <class F>
    void forEach(F &&f) {
        for (Record &record : all) {
            if (record.used) {
                f(record);
            }
        }
    }
    size_t size() const { return all.size() - unused.size(); }

private:
    std::deque<Record> all;
    std::vector<Record *> unused;
};

/* Begins each block that has a manager of the oracle. */
struct Head {
    Record *record;
    uintptr_t check;
    uint32_t count;  /* References behind the head */
    uint32_t serial; /* Of the block: its record may be another block's already while a marker still reads this one */

    void **fields() { return reinterpret_cast<void **>(this + 1); }
};

void setHead(void *ptr, Record &record, size_t count);
/* @return Whether the head is this record's. */
bool headIntact(const void *ptr, const Record &record);
/* @return Whether it is the head of a block that was or is. */
bool headSane(const void *ptr);
/* @return The record that a head names; NULL when the head makes no sense, or the block is gone. */
Record *recordOf(const void *ptr);

/* Fill a block's contents behind head and references with what its serial number says; look whether it is still there. */
void fillPattern(const Record &record);
bool patternIntact(const Record &record, size_t size);

} // namespace oracle
