// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ops_misuse.cpp - Operations that do what is forbidden, and children of fork.
 */
#include "test/stress/oracle/program.hpp"

#include "test/stress/oracle/fault.hpp"
#include "test/stress/oracle/ledger.hpp"
#include "test/stress/oracle/signals.hpp"
#include "test/stress/oracle/trespass.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace oracle {

namespace {

/* What wrong calls are made with, from one graph. */
struct Aims {
    Record *leaf = nullptr, *node = nullptr;
    Targets targets;
};

bool isFreeLeaf(const Record &record) {
    return record.kind == Kind::leaf && record.held == 0 && record.rooted == 0;
}

bool isNode(const Record &record) {
    return (record.kind == Kind::barrier || record.kind == Kind::noFree) && !record.refs.empty();
}

/* A block of the graph's table, or a new one there. */
template <class F>
Record *find(Graph &graph, const Shape &shape, Random &random, F &&likes) {
    for (int tries = 0; tries < 8; tries++) {
        Record *record = graph.table->refs[random.below(graph.slots())];
        if (record && likes(*record)) {
            return record;
        }
    }
    Record *made = graph.make(shape, random);
    graph.put(made, random);
    return made;
}

bool aim(Aims &aims, Graph &graph, void *permanent, Random &random) {
    aims.node = find(graph, {Kind::barrier, random.below(100), 2, false}, random, isNode);
    aims.leaf = find(graph, {Kind::leaf, 1 + random.below(300), 0, false}, random, isFreeLeaf);
    if (!aims.leaf || !aims.node || !permanent || graph.table->refs.size() < 2) {
        return false;
    }
    // The second may have taken the first one's slot. What else refers to that may be garbage.
    const auto &slots = graph.table->refs;
    if (aims.node->rooted == 0 && std::find(slots.begin(), slots.end(), aims.node) == slots.end()) {
        return false;
    }
    Targets &t = aims.targets;
    t = {aims.leaf->ptr, aims.leaf->size, aims.node->ptr, static_cast<Head *>(aims.node->ptr)->fields(), permanent};
    return true;
}

void look(const Aims &aims) {
    lookAt(*aims.leaf, true);
    lookAt(*aims.node, true);
}

/* While the caller has yielded, a thread that the runtime does not know. */
void trespassUnattached(const Targets &targets, uint64_t seed, size_t count) {
    mprYield(MPR_YIELD_STICKY);
    {
        Quiet quiet;
        std::thread([&] { trespass(foreign, targets, seed, count); }).join();
    }
    mprResetYield();
}

void trespassInChild(const Targets &targets, uint64_t seed, size_t count) {
    forkAndWait([=] {
        continueLedger();
        trespass(forked, targets, seed, count);
        const std::string wrong = disagreement();
        if (!wrong.empty()) {
            fault("in a child of fork: %s", wrong.c_str());
        }
    });
}

} // namespace

void forkAndWait(const std::function<void()> &inChild) {
    mprYield(MPR_YIELD_STICKY);
    const pid_t pid = fork();
    if (pid == 0) {
        Quiet quiet;
        beChildOfFork();
        alarm(60); // who waits for a lock that nobody gives back is ended
        inChild();
        _exit(0);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    mprResetYield();
    if (pid > 0 && status != 0) {
        fault("a child of fork ends with status %#x", static_cast<unsigned>(status));
    }
}

void opTrespass(Worker &worker) {
    Random &random = worker.random;
    Aims aims;
    if (!aim(aims, *worker.graph, worker.program.lasting.memory, random)) {
        return;
    }
    const uint64_t seed = random.next();
    const size_t count = 1 + random.below(6);
    switch (random.below(worker.program.plan.forks ? 6 : 5)) {
    case 0: trespassUnattached(aims.targets, seed, count); break;
    case 1:
        mprYield(MPR_YIELD_STICKY);
        trespass(yielded, aims.targets, seed, count);
        mprResetYield();
        break;
    case 2:
        mprSetThreadYield(nullptr, false);
        trespass(exempt, aims.targets, seed, count);
        mprSetThreadYield(nullptr, true);
        break;
    case 3:
        worker.program.tooBig++;
        sendIntoNotifier(aims.targets, seed);
        break;
    case 4: // alive whenever somebody marks
        if (worker.program.pinned.leaf && sendIntoMark(worker.program.pinned, seed)) {
            worker.graph->make({Kind::plain, 20, 0, false}, random);
            mprGC(random.chance(50) ? MPR_GC_FORCE : MPR_GC_MINOR);
        }
        break;
    default: trespassInChild(aims.targets, seed, count); break;
    }
    look(aims);
}

void opPointWrongly(Worker &worker) {
    Random &random = worker.random;
    Aims aims;
    if (!aim(aims, *worker.graph, worker.program.lasting.memory, random)) {
        return;
    }
    pointWrongly(aims.targets, random.next(), 1 + random.below(10));
    void *const leaf = worker.program.alone() ? mprAlloc(1 + random.below(400)) : nullptr;
    if (leaf) {
        whileNoManagerAllocates([&] { useDead(leaf, random.next()); });
    }
    look(aims);
}

void opFork(Worker &worker) {
    const size_t what = worker.random.below(3);
    forkAndWait([=] {
        if (what == 0) {
            execl("/bin/true", "true", static_cast<char *>(nullptr));
        }
    });
}

void opSignal(Worker &worker) {
    for (size_t left = 1 + worker.random.below(3); left > 0; left--) {
        sendSignal(worker.random);
    }
}

} // namespace oracle
