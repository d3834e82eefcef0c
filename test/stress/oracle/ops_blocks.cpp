// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ops_blocks.cpp - Operations that make blocks, resize them and free them by hand.
 */
#include "test/stress/oracle/program.hpp"

#include "test/stress/oracle/fault.hpp"

#include <cstring>

namespace oracle {

namespace {

size_t drawSize(Random &random) {
    const size_t kind = random.below(1000);
    return kind < 800 ? random.below(200) : kind < 970 ? random.below(3000) : random.below(65537);
}

size_t drawCount(Random &random) {
    const size_t kind = random.below(100);
    return kind < 80 ? random.below(6) : kind < 98 ? random.below(40) : random.below(400);
}

/* Blocks that refer to what is there, by plain stores before anybody else knows them. */
void makeKind(Worker &worker, Kind kind) {
    Random &random = worker.random;
    Graph &graph = *worker.graph;
    const bool hold = graph.holds.size() < 500 && random.chance(5);
    const size_t count = kind == Kind::leaf || kind == Kind::pinned || hold ? 0 : drawCount(random); // see opHold
    Record *made = graph.make({kind, drawSize(random), count, hold}, random);
    if (!made) {
        opDrop(worker);
        return;
    }
    for (size_t at = 0; at < made->refs.size() && at < 8; at++) {
        if (random.chance(60)) {
            graph.set(*made, at, graph.pick(random), random, true);
        }
    }
    graph.put(made, random);
}

} // namespace

void opLeaf(Worker &worker) {
    makeKind(worker, Kind::leaf);
}
void opPlain(Worker &worker) {
    makeKind(worker, Kind::plain);
}
void opBarrier(Worker &worker) {
    makeKind(worker, Kind::barrier);
}
void opNoFree(Worker &worker) {
    makeKind(worker, Kind::noFree);
}
void opTable(Worker &worker) {
    makeKind(worker, Kind::table);
}
void opVector(Worker &worker) {
    makeKind(worker, Kind::vector);
}
void opPmr(Worker &worker) {
    makeKind(worker, Kind::pmrVector);
}
void opRow(Worker &worker) {
    makeKind(worker, Kind::row);
}
void opElements(Worker &worker) {
    makeKind(worker, Kind::elements);
}
void opMap(Worker &worker) {
    makeKind(worker, Kind::map);
}
void opLists(Worker &worker) {
    makeKind(worker, Kind::list);
}
void opHash(Worker &worker) {
    makeKind(worker, Kind::hash);
}
void opPinned(Worker &worker) {
    makeKind(worker, Kind::pinned);
}

void opLarge(Worker &worker) {
    constexpr Kind kinds[] = {Kind::leaf, Kind::plain, Kind::barrier, Kind::noFree, Kind::leaf};
    Random &random = worker.random;
    const Kind kind = kinds[random.below(5)];
    const size_t size = (random.chance(50) ? 200 << 10 : 2 << 20) + random.below(1 << 20);
    Record *made = worker.graph->make({kind, size, kind == Kind::leaf ? 0 : random.below(1000), false}, random);
    worker.graph->put(made, random);
}

void opGarbage(Worker &worker) {
    for (size_t i = worker.random.below(200); i > 0; i--) {
        const size_t size = worker.random.chance(97) ? worker.random.below(100) : worker.random.below(5000);
        if (void *ptr = mprAlloc(size)) {
            memset(ptr, 0xEE, size);
        }
    }
}

void opManaged(Worker &worker) {
    if (!worker.roomy()) {
        return;
    }
    const bool much = worker.random.chance(10);
    const Kind kind = worker.random.chance(70) ? Kind::plain : Kind::barrier;
    for (size_t i = worker.random.below(much ? 3000 : 200); i > 0; i--) {
        worker.graph->make({kind, worker.random.below(60), 0, false}, worker.random);
    }
}

void opMemdup(Worker &worker) {
    unsigned char bytes[300] = {};
    const size_t size = worker.random.below(sizeof(bytes));
    test::fill(bytes, size, 7);
    void *copy = mprMemdup(bytes, size);
    if (copy && !test::filled(copy, size, 7)) {
        fault("mprMemdup of %zu bytes copies something else", size);
    }
}

void opPermanent(Worker &worker) {
    worker.permanents.step(worker.random);
}

void opFree(Worker &worker) {
    size_t slot;
    Record *record = worker.graph->pickLonely(worker.random, slot);
    if (record && record->held == 0 && !record->stands && !hasStrongHandle(*record)) {
        worker.graph->set(*worker.graph->table, slot, nullptr, worker.random);
        worker.graph->freeByHand(*record);
    }
}

void opRealloc(Worker &worker) {
    size_t slot;
    Random &random = worker.random;
    Record *record = worker.graph->pickLonely(random, slot);
    if (record && reallocable(record->kind)) {
        const bool near = random.chance(50);
        const size_t size = near ? record->size + random.below(64) - std::min<size_t>(record->size, random.below(64))
                                 : drawSize(random);
        worker.graph->resizeBlock(*record, slot, size, random);
    }
}

/* Blocks that grow into what is free behind them, and shrink, while the spans that they lie in are swept. */
void opGrow(Worker &worker) {
    constexpr size_t small = 600, great = 2000;
    Random &random = worker.random;
    Graph &graph = *worker.graph;
    const auto resizeAny = [&](size_t size) {
        size_t slot;
        Record *record = graph.pickLonely(random, slot);
        if (record && reallocable(record->kind)) {
            graph.resizeBlock(*record, slot, size, random);
        }
    };
    const size_t count = graph.slots();
    for (size_t i = 0; i < count; i++) {
        graph.put(graph.make({Kind::leaf, great, 0, false}, random), random);
        mprAlloc(200); // garbage: spans that hold little else are given up
        mprFree(mprAlloc(great));
        resizeAny(small);
    }
    mprGC(random.chance(80) ? MPR_GC_MINOR : MPR_GC_FORCE); // it has marked, and sweeps
    for (size_t left = 4 * count; left > 0; left--) {
        resizeAny(small + random.below(great - small));
    }
}

void opSetManager(Worker &worker) {
    Record *record = worker.graph->pick(worker.random);
    if (record && (inOneBlock(record->kind) || record->kind == Kind::table)) {
        changeManager(*record, worker.random);
    }
}

/* Questions about anything. */
void opPoke(Worker &worker) {
    Record *record = worker.graph->pick(worker.random);
    const uintptr_t start = record ? reinterpret_cast<uintptr_t>(record->ptr) : 0;
    const uintptr_t address =
        worker.random.chance(50) ? static_cast<uintptr_t>(worker.random.next()) : start + worker.random.below(4096);
    mprIsValid(reinterpret_cast<void *>(address));
    mprGetBlockSize(reinterpret_cast<void *>(address));
    mprNeedYield();
    mprHasMemError();
}

} // namespace oracle
