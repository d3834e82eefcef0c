// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/graph.hpp - The reference: blocks, what they refer to, and what keeps them alive.

    Each operation changes the heap and the records at once. At rest, when no other thread runs, the reference is traced:
    what it reaches must be there, unchanged; what it has not reached since before the last two complete collections must
    have had its manager called exactly once.

    A graph belongs to one thread at a time. Blocks of different graphs do not refer to each other.
 */
#pragma once

#include "test/stress/oracle/blocks.hpp"
#include "test/stress/oracle/handles.hpp"

#include <list>
#include <vector>

#include "mpr.h"

namespace oracle {

/* A root reference outside the heap. */
struct Reference {
    MprRootRef ref{};
    Record *record = nullptr;
};

class Graph {
public:
    /* @param slots Blocks that it keeps by a table of its own. */
    Graph(size_t slots, Random &random);
    ~Graph();
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;

    /* Whether there was memory for its table; without it there is nothing to do. */
    explicit operator bool() const { return table != nullptr; }

    /* ---- Blocks. What is made is to be stored, rooted or held before the thread yields; else it is garbage. ---- */

    /* @return NULL when there is no memory. */
    Record *make(const Shape &shape, Random &random);
    /* One that is alive; NULL when there is none at hand. It is looked at. */
    Record *pick(Random &random);
    /* One that only a slot refers to; NULL when there is none at hand. */
    Record *pickLonely(Random &random, size_t &slot);
    void set(Record &owner, size_t at, Record *target, Random &random, bool fresh = false);
    /* As mprSetRefs: count references of a block with a barrier to another place in it. */
    void shift(Record &owner, size_t to, size_t from, size_t count);
    bool resize(Record &record, size_t count);
    void put(Record *record, Random &random); /* In any slot */
    /* mprFree of a block that nothing refers to. */
    void freeByHand(Record &record);
    /* mprRealloc of a block that only a slot refers to. */
    void resizeBlock(Record &record, size_t slot, size_t size, Random &random);

    /* ---- Roots and holds ---- */
    void addRoot(Record &record);
    void removeRoot(size_t at);
    void hold(Record &record);
    void release(size_t at);
    Reference &addReference(Record *record);
    void setReference(Reference &reference, Record *record);
    void removeReference(size_t at);
    /* By mprSetKey, in place of what it has kept so before. */
    void keep(Record *record);

    /* ---- At rest ---- */
    /* Trace and look at what is alive. */
    void check();
    /* After complete collections: whether each manager of what is dead was called. Then what is dead is forgotten. */
    bool settled(bool report);
    /* The runtime has ended: each manager has been called once. */
    void checkEnd();

    size_t slots() const { return table->refs.size(); }
    size_t blocks() const { return records.size(); }

    std::vector<Record *> roots, holds; /* One entry a mprAddRoot, a mprHold */
    std::vector<Reference *> references;
    Handles handles;
    Record *table = nullptr;

private:
    void trace();
    void reach(Record *record);
    void reachAll();
    void forget();
    void unlink(Record &record);

    Records records;
    Record *kept = nullptr;
    std::vector<Record *> stack;
    uint32_t visit = 0;
};

} // namespace oracle
