// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ops.hpp - The operations: one call of each does a small piece of work on a worker's graph and leaves
    everything that it will need again rooted, held or referred to.
 */
#pragma once

#include <cstddef>

namespace oracle {

class Worker;

struct Op {
    const char *name;
    void (*run)(Worker &worker);
    int weight;  /* Unless a profile says otherwise */
    bool yields; /* Or waits: not while the worker has the shared graph */
};

extern const Op ops[];
extern const size_t opCount;

/* ops_blocks.cpp */
void opLeaf(Worker &), opPlain(Worker &), opBarrier(Worker &), opNoFree(Worker &), opTable(Worker &),
    opVector(Worker &), opPmr(Worker &), opRow(Worker &), opElements(Worker &), opMap(Worker &), opLists(Worker &),
    opHash(Worker &), opPinned(Worker &), opLarge(Worker &), opGarbage(Worker &), opManaged(Worker &),
    opMemdup(Worker &), opPermanent(Worker &), opFree(Worker &), opRealloc(Worker &), opGrow(Worker &),
    opSetManager(Worker &), opPoke(Worker &);
/* ops_links.cpp */
void opLink(Worker &), opUnlink(Worker &), opDrop(Worker &), opClear(Worker &), opList(Worker &), opShift(Worker &),
    opWide(Worker &), opResize(Worker &), opSwap(Worker &), opRowFree(Worker &);
/* ops_roots.cpp */
void opAddRoot(Worker &), opRemoveRoot(Worker &), opCrowd(Worker &), opUncrowd(Worker &), opReference(Worker &),
    opChangeReference(Worker &), opUnreference(Worker &), opHold(Worker &), opRelease(Worker &), opRelink(Worker &),
    opBatch(Worker &), opBatchFree(Worker &);
/* ops_collect.cpp */
void opYield(Worker &), opComplete(Worker &), opSticky(Worker &), opMinor(Worker &), opMajor(Worker &), opAsk(Worker &),
    opCollect(Worker &), opToggle(Worker &), opLimits(Worker &), opSpawn(Worker &), opLock(Worker &);
/* ops_wait.cpp */
void opMutex(Worker &), opCond(Worker &), opSleep(Worker &), opVerify(Worker &), opExchange(Worker &);
/* ops_handles.cpp */
void opHandle(Worker &), opHandles(Worker &), opChain(Worker &), opUnhandle(Worker &), opSetHandle(Worker &),
    opExchangeHandle(Worker &), opChangeHandle(Worker &), opDuplicate(Worker &), opFollow(Worker &),
    opContest(Worker &), opStale(Worker &);
/* ops_doors.cpp */
void opKeep(Worker &), opEvent(Worker &);
/* ops_misuse.cpp */
void opTrespass(Worker &), opPointWrongly(Worker &), opFork(Worker &), opSignal(Worker &);

} // namespace oracle
