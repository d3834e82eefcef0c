// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ops_handles.cpp - Operations on handles.
 */
#include "test/stress/oracle/program.hpp"

#include "test/stress/oracle/fault.hpp"
#include "test/stress/oracle/ledger.hpp"

namespace oracle {

namespace {

constexpr size_t mostHandles = 20000;

/* A block for a handle: one that is there, or one that nothing else refers to yet. */
Record *target(Worker &worker) {
    Random &random = worker.random;
    Graph &graph = *worker.graph;
    const size_t what = random.below(100);
    if (what < 40 || !worker.roomy()) {
        return graph.pick(random);
    }
    if (what < 50) {
        return nullptr;
    }
    constexpr Kind kinds[] = {Kind::leaf, Kind::plain, Kind::barrier, Kind::noFree, Kind::table, Kind::pinned};
    const Kind kind = kinds[random.below(6)];
    const bool refers = kind != Kind::leaf && kind != Kind::pinned;
    Record *made = graph.make({kind, random.below(120), refers ? random.below(4) : 0, false}, random);
    for (size_t at = 0; made && at < made->refs.size(); at++) {
        if (random.chance(50)) {
            graph.set(*made, at, graph.pick(random), random, true);
        }
    }
    return made;
}

Handle *any(Worker &worker) {
    auto &all = worker.graph->handles.all;
    return all.empty() ? nullptr : all[worker.random.below(all.size())];
}

Handle draw(Worker &worker) {
    Random &random = worker.random;
    Handle what;
    what.type = static_cast<int>(random.below(MPR_HANDLE_TYPES + 3));
    what.type = what.type < MPR_HANDLE_TYPES ? what.type
                : random.chance(50)          ? MPR_HANDLE_DEPENDENT
                                             : MPR_HANDLE_WEAK_LONG;
    if (what.type == MPR_HANDLE_VARIABLE) {
        what.extra = static_cast<intptr_t>(random.below(3));
    } else if (what.type == MPR_HANDLE_REFCOUNTED) {
        what.extra = static_cast<intptr_t>(random.below(3)) - 1;
    }
    what.block = target(worker);
    if (what.isDependent() && what.block) {
        what.value = target(worker);
    }
    return what;
}

} // namespace

void opHandle(Worker &worker) {
    if (worker.graph->handles.all.size() > mostHandles) {
        opUnhandle(worker);
        return;
    }
    worker.graph->handles.create(draw(worker), static_cast<int>(worker.random.below(3)));
}

/* So many that segments come and go. */
void opHandles(Worker &worker) {
    Graph &graph = *worker.graph;
    if (graph.handles.all.size() > mostHandles || worker.random.chance(40)) {
        for (size_t left = worker.random.below(graph.handles.all.size() + 1); left > 0; left--) {
            opUnhandle(worker);
        }
        return;
    }
    const Handle what = draw(worker);
    for (size_t left = worker.random.below(4000); left > 0; left--) {
        Handle each = what;
        if (worker.random.chance(30)) { // what is weakly referred to may be many, too
            each = draw(worker);
        }
        if (!graph.handles.create(each, 0)) {
            return;
        }
    }
}

/* Ephemerons, each of whose keys is the value of another, in any order. */
void opChain(Worker &worker) {
    Random &random = worker.random;
    Graph &graph = *worker.graph;
    if (!worker.roomy() || graph.handles.all.size() > mostHandles) {
        return;
    }
    Record *key = random.chance(50) ? graph.pick(random) : target(worker);
    const bool back = random.chance(50);
    for (size_t left = random.below(random.chance(10) ? 1000 : 30); key && left > 0; left--) {
        Record *next = graph.make({random.chance(50) ? Kind::leaf : Kind::barrier, random.below(60), 0, false}, random);
        Handle what;
        what.type = MPR_HANDLE_DEPENDENT;
        what.block = back ? next : key;
        what.value = back ? key : next;
        if (!next || !graph.handles.create(what, 0)) {
            break;
        }
        key = next;
    }
    if (random.chance(50)) {
        graph.put(key, random);
    }
}

void opUnhandle(Worker &worker) {
    if (Handle *handle = any(worker)) {
        worker.graph->handles.destroy(*handle, worker.random.chance(20));
    }
    if (worker.random.chance(20)) {
        destroyAbandoned();
    }
}

void opSetHandle(Worker &worker) {
    Handle *handle = any(worker);
    if (handle && handle->isDependent() && worker.random.chance(50)) {
        worker.graph->handles.setValue(*handle, target(worker));
    } else if (handle) {
        worker.graph->handles.set(*handle, target(worker));
    }
}

void opExchangeHandle(Worker &worker) {
    Random &random = worker.random;
    if (Handle *handle = any(worker)) {
        Record *const expected = random.chance(60) ? handle->block : random.chance(50) ? target(worker) : nullptr;
        worker.graph->handles.exchange(*handle, target(worker), expected);
    }
}

void opChangeHandle(Worker &worker) {
    Random &random = worker.random;
    Handle *handle = any(worker);
    if (handle && handle->type == MPR_HANDLE_VARIABLE) {
        worker.graph->handles.change(*handle, static_cast<intptr_t>(random.below(3)));
    } else if (handle && handle->type == MPR_HANDLE_REFCOUNTED) {
        worker.graph->handles.change(*handle, handle->extra + (random.chance(50) ? 1 : -1));
    } else if (handle) { // questions that change nothing
        const bool own = handle->isDependent() || handle->type == MPR_HANDLE_SIZED;
        if (mprGetHandleType(handle->number) != handle->type ||
            (!own && mprGetHandleExtra(handle->number) != reinterpret_cast<void *>(handle->extra))) {
            fault("a handle of type %d has another type or further word", handle->type);
        }
    }
}

void opDuplicate(Worker &worker) {
    Handle *handle = any(worker);
    if (handle && worker.graph->handles.all.size() < mostHandles) {
        worker.graph->handles.duplicate(*handle);
    }
}

/* What a handle gives is alive: it may be kept, though nothing else may have referred to it. */
void opFollow(Worker &worker) {
    const Handle *handle = any(worker);
    if (!handle) {
        return;
    }
    Handles &handles = worker.graph->handles;
    const bool byValue = handle->isDependent() && worker.random.chance(50);
    Record *found = byValue ? handles.followValue(*handle) : handles.follow(*handle);
    if (found && !found->stands && (found->refs.empty() || !found->dangling) && worker.random.chance(50)) {
        worker.graph->put(found, worker.random);
    }
}

void opContest(Worker &worker) {
    worker.program.contest.step(worker.random);
}

/* A handle that was destroyed is found out, whoever has its place. */
void opStale(Worker &worker) {
    const MprHandle handle = mprCreateHandle(worker.random.chance(50) ? MPR_HANDLE_STRONG : MPR_HANDLE_WEAK_SHORT,
                                             worker.program.pinned.leaf);
    if (handle == 0) {
        return;
    }
    if (worker.random.chance(50)) {
        mprCreateHandle(MPR_HANDLE_WEAK_SHORT, nullptr); // one that stays until the runtime ends
    }
    mprDestroyHandle(handle);
    bool refused = false;
    switch (worker.random.below(3)) {
    case 0:
        enterMisuse("mprGetHandle");
        refused = mprGetHandle(handle) == nullptr;
        break;
    case 1:
        enterMisuse("mprSetHandle");
        refused = mprSetHandle(handle, worker.program.pinned.leaf) == MPR_ERR_BAD_HANDLE;
        break;
    default:
        enterMisuse("mprDestroyHandle");
        refused = mprDestroyHandle(handle) == MPR_ERR_BAD_HANDLE;
        break;
    }
    if (!refused) {
        fault("a handle that was destroyed is good for something");
    }
}

} // namespace oracle
