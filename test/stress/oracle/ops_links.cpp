// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ops_links.cpp - Operations that store references, and make structures of them.
 */
#include "test/stress/oracle/program.hpp"

#include <algorithm>

namespace oracle {

namespace {

/* A block of a kind that a condition likes; NULL when there is none at hand. */
template <class F>
Record *pickThat(Worker &worker, F &&likes) {
    for (int tries = 0; tries < 8; tries++) {
        Record *record = worker.graph->pick(worker.random);
        if (record && likes(*record)) {
            return record;
        }
    }
    return nullptr;
}

Record *pickResizable(Worker &worker) {
    return pickThat(worker, [](const Record &record) { return resizable(record.kind); });
}

size_t drawPlace(const Record &record, Random &random) {
    return random.below(record.refs.size());
}

} // namespace

void opLink(Worker &worker) {
    Record *owner = pickThat(worker, [](const Record &record) { return !record.refs.empty(); });
    Record *target = worker.graph->pick(worker.random);
    if (owner && target) {
        worker.graph->set(*owner, drawPlace(*owner, worker.random), target, worker.random);
    }
}

void opUnlink(Worker &worker) {
    Record *owner = pickThat(worker, [](const Record &record) { return !record.refs.empty(); });
    if (owner) {
        worker.graph->set(*owner, drawPlace(*owner, worker.random), nullptr, worker.random);
    }
}

void opDrop(Worker &worker) {
    worker.graph->set(*worker.graph->table, worker.random.below(worker.graph->slots()), nullptr, worker.random);
}

void opClear(Worker &worker) {
    for (size_t slot = 0; slot < worker.graph->slots(); slot++) {
        if (worker.random.chance(90)) {
            worker.graph->set(*worker.graph->table, slot, nullptr, worker.random);
        }
    }
}

void opList(Worker &worker) {
    Random &random = worker.random;
    if (!worker.roomy()) {
        opClear(worker);
        return;
    }
    const bool mixed = random.chance(50);
    Kind kind = random.chance(50) ? Kind::plain : Kind::barrier;
    Record *last = nullptr;
    for (size_t left = 1 + random.below(random.chance(10) ? 20000 : 500); left > 0; left--) {
        if (mixed) {
            kind = random.chance(50) ? Kind::plain : Kind::barrier;
        }
        Record *node = worker.graph->make({kind, random.below(80), 1, false}, random);
        if (!node) {
            break;
        }
        worker.graph->set(*node, 0, last, random, true);
        last = node;
    }
    worker.graph->put(last, random);
}

void opShift(Worker &worker) {
    Record *owner = pickThat(worker, [](const Record &record) {
        return (record.kind == Kind::barrier || record.kind == Kind::noFree) && record.refs.size() > 1;
    });
    if (owner) {
        const size_t size = owner->refs.size();
        const size_t from = worker.random.below(size), to = worker.random.below(size);
        worker.graph->shift(*owner, to, from, worker.random.below(size - std::max(from, to)) + 1);
    }
}

/* A block with many references, and what they refer to. */
void opWide(Worker &worker) {
    Random &random = worker.random;
    constexpr Kind kinds[] = {Kind::plain, Kind::barrier, Kind::noFree,    Kind::row,  Kind::elements, Kind::map,
                              Kind::table, Kind::vector,  Kind::pmrVector, Kind::list, Kind::hash};
    if (!worker.roomy()) {
        opClear(worker);
        return;
    }
    const Kind kind = kinds[random.below(std::size(kinds))];
    const size_t most = random.chance(5) && kind != Kind::hash ? 300000 : random.chance(50) ? 3000 : 400;
    const size_t count = 1 + random.below(most);
    Record *made = worker.graph->make({kind, 0, count, false}, random);
    if (!made) {
        return;
    }
    const bool fresh = random.chance(50);
    for (size_t left = std::min<size_t>(count, random.chance(20) ? 20000 : 500); left > 0 && !made->refs.empty();
         left--) {
        Record *target = random.chance(50) ? worker.graph->make({Kind::leaf, random.below(50), 0, false}, random)
                                           : worker.graph->pick(random);
        worker.graph->set(*made, drawPlace(*made, random), target, random, fresh);
    }
    worker.graph->put(made, random);
}

/* A row grows or shrinks, and its old memory is used for something else. */
void opResize(Worker &worker) {
    if (Record *owner = pickResizable(worker)) {
        const size_t size = owner->refs.size();
        const size_t more = worker.random.below(worker.random.chance(20) ? 2000 : 50);
        worker.graph->resize(*owner,
                             worker.random.chance(70) && size < 20000 ? size + more : size - std::min(size, more));
    }
}

void opSwap(Worker &worker) {
    Record *table = worker.graph->table;
    Record *owner = resizable(table->kind) && worker.random.chance(50) ? table : pickResizable(worker);
    if (owner) {
        worker.graph->resize(*owner, owner->refs.size());
    }
}

/* Replace an array: the old one is freed by hand. */
void opRowFree(Worker &worker) {
    Random &random = worker.random;
    size_t slot;
    Record *old = worker.graph->pickLonely(random, slot);
    if (!old || old->held > 0 || hasStrongHandle(*old) || (old->kind != Kind::row && old->kind != Kind::elements)) {
        return;
    }
    worker.graph->set(*worker.graph->table, slot, nullptr, random);
    worker.graph->freeByHand(*old);
    Record *made =
        worker.graph->make({random.chance(80) ? Kind::row : Kind::elements, 0, random.below(40), false}, random);
    if (!made) {
        return;
    }
    worker.graph->set(*worker.graph->table, slot, made, random);
    for (size_t at = 0; at < made->refs.size(); at++) {
        worker.graph->set(*made, at, worker.graph->make({Kind::barrier, 0, 1, false}, random), random);
    }
}

} // namespace oracle
