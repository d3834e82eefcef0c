// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ops_roots.cpp - Operations on roots, root references and holds.
 */
#include "test/stress/oracle/program.hpp"

namespace oracle {

namespace {

constexpr size_t mostRoots = 30000, mostHolds = 6000;

/* A young block that only its hold keeps. */
Record *makeHeld(Worker &worker) {
    constexpr Kind kinds[] = {Kind::leaf, Kind::leaf, Kind::plain, Kind::barrier};
    const Kind kind = kinds[worker.random.below(4)];
    return worker.graph->make({kind, worker.random.below(64), 0, true}, worker.random);
}

/* Blocks that were held while young, directly after a minor collection whose sweep still runs. */
std::vector<Record *> heldThroughMinor(Worker &worker) {
    std::vector<Record *> made;
    for (size_t left = 100 + worker.random.below(4000); left > 0; left--) {
        if (Record *record = makeHeld(worker)) {
            made.push_back(record);
        }
    }
    mprGC(MPR_GC_MINOR);
    for (size_t left = worker.random.below(3000); left > 0; left--) {
        mprNop(nullptr);
    }
    return made;
}

/* The last holds are theirs. */
void releaseLast(Worker &worker, size_t count) {
    for (; count > 0; count--) {
        worker.graph->release(worker.graph->holds.size() - 1);
    }
}

} // namespace

void opAddRoot(Worker &worker) {
    Record *record = worker.graph->pick(worker.random);
    if (record && worker.graph->roots.size() < mostRoots) {
        worker.graph->addRoot(*record);
    }
}

void opRemoveRoot(Worker &worker) {
    auto &roots = worker.graph->roots;
    if (!roots.empty()) {
        const size_t at = worker.random.below(roots.size());
        if (!roots[at]->stands) {
            worker.graph->removeRoot(at);
        }
    }
}

/* Roots by the thousand, each with a list behind it. */
void opCrowd(Worker &worker) {
    Random &random = worker.random;
    Graph &graph = *worker.graph;
    if (!worker.roomy() || graph.roots.size() > mostRoots) {
        opUncrowd(worker);
        return;
    }
    const Kind kind = random.chance(70) ? Kind::barrier : Kind::plain;
    const size_t behind = random.chance(30) ? random.below(30) : random.below(4);
    for (size_t left = random.below(4000); left > 0; left--) {
        Record *record = nullptr;
        for (size_t depth = 0; depth <= behind; depth++) {
            Record *made = graph.make({kind, random.below(60), 1, false}, random);
            if (!made) {
                break;
            }
            graph.set(*made, 0, record, random, true);
            record = made;
        }
        if (!record) {
            return;
        }
        graph.addRoot(*record);
    }
}

void opUncrowd(Worker &worker) {
    auto &roots = worker.graph->roots;
    for (size_t left = worker.random.below(roots.size() + 1); left > 0; left--) {
        opRemoveRoot(worker);
    }
}

void opReference(Worker &worker) {
    if (worker.graph->references.size() < 5000) {
        worker.graph->addReference(worker.random.chance(90) ? worker.graph->pick(worker.random) : nullptr);
    }
}

void opChangeReference(Worker &worker) {
    auto &references = worker.graph->references;
    if (!references.empty()) {
        Reference &reference = *references[worker.random.below(references.size())];
        if (!reference.record || !reference.record->stands) {
            worker.graph->setReference(reference,
                                       worker.random.chance(80) ? worker.graph->pick(worker.random) : nullptr);
        }
    }
}

void opUnreference(Worker &worker) {
    auto &references = worker.graph->references;
    if (!references.empty()) {
        const size_t at = worker.random.below(references.size());
        if (!references[at]->record || !references[at]->record->stands) {
            worker.graph->removeReference(at);
        }
    }
}

void opHold(Worker &worker) {
    Record *record = worker.graph->pick(worker.random);
    // What only a hold keeps may refer to nothing: the collector may look at old references, and names those that dangle.
    if (record && record->refs.empty() && worker.graph->holds.size() < mostHolds) {
        worker.graph->hold(*record);
    }
}

void opRelease(Worker &worker) {
    if (!worker.graph->holds.empty()) {
        worker.graph->release(worker.random.below(worker.graph->holds.size()));
    }
}

/* What perhaps only its hold keeps comes back into a slot. */
void opRelink(Worker &worker) {
    auto &holds = worker.graph->holds;
    if (!holds.empty()) {
        const size_t at = worker.random.below(holds.size());
        Record *record = holds[at];
        if (record->refs.empty()) {
            worker.graph->put(record, worker.random);
            worker.graph->release(at);
        }
    }
}

void opBatch(Worker &worker) {
    const std::vector<Record *> made = heldThroughMinor(worker);
    Graph &graph = *worker.graph;
    Record *table =
        graph.make({worker.random.chance(50) ? Kind::plain : Kind::barrier, 0, made.size(), false}, worker.random);
    if (table) {
        for (size_t i = 0; i < made.size(); i++) {
            graph.set(*table, i, made[i], worker.random);
        }
        graph.put(table, worker.random);
    }
    releaseLast(worker, made.size()); // published in the table
    if (table) {
        mprYield(MPR_YIELD_COMPLETE);
        lookAt(*table, true);
        for (Record *record : made) {
            lookAt(*record, false);
        }
    }
}

/* Blocks of a batch are freed by hand or resized instead of being published. */
void opBatchFree(Worker &worker) {
    const std::vector<Record *> made = heldThroughMinor(worker);
    Graph &graph = *worker.graph;
    for (size_t i = made.size(); i > 0; i--) {
        Record *record = made[i - 1];
        const size_t what = worker.random.below(3);
        if (what == 0) {
            const size_t slot = worker.random.below(graph.slots());
            graph.set(*graph.table, slot, record, worker.random);
            if (record->in == 1) {
                graph.resizeBlock(*record, slot, record->size + worker.random.below(40), worker.random);
            }
        }
        releaseLast(worker, 1);
        if (what == 1 && record->in == 0) {
            graph.freeByHand(*record);
        }
    }
}

} // namespace oracle
