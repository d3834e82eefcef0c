// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ops_doors.cpp - Blocks that become known elsewhere by other ways than fields, roots, holds and
    handles.
 */
#include "test/stress/oracle/program.hpp"

#include "test/stress/oracle/fault.hpp"

namespace oracle {

/* In a table of the runtime's. */
void opKeep(Worker &worker) {
    Random &random = worker.random;
    Graph &graph = *worker.graph;
    Record *record = nullptr;
    if (random.chance(50)) {
        record = graph.make({random.chance(50) ? Kind::barrier : Kind::leaf, random.below(100), 0, false}, random);
    } else if (random.chance(80)) {
        record = graph.pick(random);
    }
    graph.keep(record);
}

/* An event's data, which nothing else refers to. */
void opEvent(Worker &worker) {
    Program &program = worker.program;
    if (!program.plan.events || program.posted - program.done > 1000) {
        return;
    }
    const auto handle = [](void *block, MprEvent *) {
        lookAtLabelled(block, "an event has as its data");
        countEvent();
    };
    void *const data = makeLabelled(worker.random);
    const auto period = static_cast<MprTicks>(worker.random.below(3));
    ++program.posted;
    if (!data || !mprCreateEvent(nullptr, "labelled", period, MPR_PROC(+handle), data, 0)) {
        --program.posted;
    }
}

} // namespace oracle
