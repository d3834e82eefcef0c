// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ops_collect.cpp - Operations that yield, collect, change limits, and come and go as threads.
 */
#include "test/stress/oracle/program.hpp"

#include "test/stress/oracle/signals.hpp"

#include <thread>

namespace oracle {

namespace {

/* Work of a thread that comes for a short while and leaves its graph to others. */
void visit(Program &program, uint64_t seed) {
    const ProgramThread thread;
    Random random(seed);
    if (Graph *graph = program.adopt(random)) {
        Worker visitor(program, *graph, seed, Role::visitor);
        for (size_t left = random.below(300); left > 0 && visitor.step(); left--) {}
        visitor.permanents.clear();
        program.orphan(graph);
    }
}

struct Visit {
    Program *program;
    uint64_t seed;
    std::atomic<bool> done{false};
};

void visitOfRuntime(void *data, MprThread *) {
    auto mine = static_cast<Visit *>(data);
    visit(*mine->program, mine->seed);
    mine->done = true;
}

void spawnForeign(Worker &worker) {
    const size_t end = worker.random.below(5);
    mprYield(MPR_YIELD_STICKY);
    {
        Quiet quiet;
        std::thread([&, seed = worker.random.next()] {
            if (mprAttachThread("visitor") != 0) {
                return;
            }
            visit(worker.program, seed);
            switch (end) { // and then it dies: attached, unless it detaches
            case 0: mprYield(MPR_YIELD_STICKY); break;
            case 1: mprSetThreadYield(nullptr, false); break;
            case 2: break;
            default: mprDetachThread(); break;
            }
        }).join();
    }
    mprResetYield();
}

void spawnOfRuntime(Worker &worker) {
    Visit mine{&worker.program, worker.random.next()};
    Quiet quiet;
    MprThread *thread = mprCreateThread("visitor", visitOfRuntime, &mine, 0);
    if (!thread || mprStartThread(thread) != 0) {
        return;
    }
    mprYield(MPR_YIELD_STICKY);
    while (!mine.done) {
        nap(50);
    }
    mprResetYield();
}

} // namespace

void opYield(Worker &worker) {
    worker.yield();
}
void opComplete(Worker &) {
    mprYield(MPR_YIELD_COMPLETE);
}
void opMinor(Worker &worker) {
    mprGC(worker.random.chance(70) ? MPR_GC_MINOR : MPR_GC_MINOR | MPR_GC_COMPLETE);
}
void opMajor(Worker &worker) {
    mprGC(worker.random.chance(50) ? MPR_GC_MAJOR : MPR_GC_FORCE);
}
void opAsk(Worker &worker) {
    mprGC((worker.random.chance(60) ? MPR_GC_FORCE : worker.random.chance(50) ? MPR_GC_MINOR : 0) | MPR_GC_NO_BLOCK);
}
void opCollect(Worker &) {
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}

/* Yielded for a while; permanent memory may be used meanwhile. */
void opSticky(Worker &worker) {
    mprYield(MPR_YIELD_STICKY);
    for (size_t left = worker.random.below(20); left > 0; left--) {
        worker.permanents.step(worker.random);
        destroyAbandoned();
    }
    if (worker.random.chance(30)) {
        nap(static_cast<unsigned>(worker.random.below(500)));
    }
    mprResetYield();
}

void opToggle(Worker &worker) {
    mprEnableGC(worker.random.chance(70));
}

void opLimits(Worker &worker) {
    const long limit = worker.program.plan.limit;
    if (limit) {
        mprSetMemLimits(worker.random.chance(50) ? limit / 2 : 0, limit, worker.random.chance(50) ? 0 : 1 << 20);
    }
}

void opSpawn(Worker &worker) {
    if (worker.role != Role::visitor) {
        worker.random.chance(70) ? spawnForeign(worker) : spawnOfRuntime(worker);
    }
}

void opLock(Worker &) {
    lockAsManagersDo();
}

} // namespace oracle
