// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/worker.cpp - A thread's way through its operations, and its permanent memory.
 */
#include "test/stress/oracle/program.hpp"

#include "test/stress/oracle/fault.hpp"

#include <algorithm>

namespace oracle {

const Op ops[] = {
    {"leaf", opLeaf, 200, false},
    {"plain", opPlain, 100, false},
    {"barrier", opBarrier, 200, false},
    {"nofree", opNoFree, 50, false},
    {"table", opTable, 20, false},
    {"vector", opVector, 20, false},
    {"pmr", opPmr, 10, false},
    {"row", opRow, 40, false},
    {"elements", opElements, 20, false},
    {"map", opMap, 20, false},
    {"mprlist", opLists, 10, false},
    {"mprhash", opHash, 10, false},
    {"pinned", opPinned, 20, false},
    {"large", opLarge, 1, false},
    {"garbage", opGarbage, 40, false},
    {"managed", opManaged, 20, false},
    {"memdup", opMemdup, 10, false},
    {"permanent", opPermanent, 40, false},
    {"free", opFree, 80, false},
    {"realloc", opRealloc, 30, false},
    {"grow", opGrow, 1, true},
    {"setmanager", opSetManager, 10, false},
    {"poke", opPoke, 5, false},
    {"link", opLink, 200, false},
    {"unlink", opUnlink, 40, false},
    {"drop", opDrop, 100, false},
    {"clear", opClear, 1, false},
    {"list", opList, 3, false},
    {"shift", opShift, 20, false},
    {"wide", opWide, 1, false},
    {"resize", opResize, 30, false},
    {"swap", opSwap, 20, false},
    {"rowfree", opRowFree, 20, false},
    {"addroot", opAddRoot, 20, false},
    {"removeroot", opRemoveRoot, 20, false},
    {"crowd", opCrowd, 1, false},
    {"uncrowd", opUncrowd, 1, false},
    {"reference", opReference, 15, false},
    {"changereference", opChangeReference, 15, false},
    {"unreference", opUnreference, 15, false},
    {"hold", opHold, 30, false},
    {"release", opRelease, 30, false},
    {"relink", opRelink, 10, false},
    {"keep", opKeep, 5, false},
    {"event", opEvent, 5, false},
    {"handle", opHandle, 60, false},
    {"handles", opHandles, 1, false},
    {"chain", opChain, 3, false},
    {"unhandle", opUnhandle, 40, false},
    {"sethandle", opSetHandle, 40, false},
    {"exchangehandle", opExchangeHandle, 20, false},
    {"changehandle", opChangeHandle, 30, false},
    {"duplicate", opDuplicate, 10, false},
    {"follow", opFollow, 60, false},
    {"contest", opContest, 30, false},
    {"batch", opBatch, 1, true},
    {"batchfree", opBatchFree, 1, true},
    {"yield", opYield, 50, true},
    {"complete", opComplete, 2, true},
    {"sticky", opSticky, 3, true},
    {"minor", opMinor, 3, true},
    {"major", opMajor, 1, true},
    {"ask", opAsk, 2, false},
    {"collect", opCollect, 1, true},
    {"toggle", opToggle, 1, false},
    {"limits", opLimits, 1, false},
    {"spawn", opSpawn, 1, true},
    {"lock", opLock, 10, false},
    {"mutex", opMutex, 5, true},
    {"cond", opCond, 2, true},
    {"sleep", opSleep, 0, true},
    {"verify", opVerify, 0, true},
    {"exchange", opExchange, 20, true},
    {"fork", opFork, 0, true},
    {"signal", opSignal, 0, false},
    {"stale", opStale, 0, false},
    {"trespass", opTrespass, 0, true},
    {"pointwrongly", opPointWrongly, 0, true},
};
const size_t opCount = std::size(ops);

Worker::Worker(Program &whole, Graph &mine, uint64_t seed, Role what)
    : program(whole), random(seed), graph(&mine), role(what), discards(whole.plan.batches && random.chance(70)),
      own(mine) {}

size_t Worker::draw() {
    const auto &sums = program.cumulated;
    const int drawn = static_cast<int>(random.below(static_cast<size_t>(sums.back())));
    return static_cast<size_t>(std::upper_bound(sums.begin(), sums.end(), drawn) - sums.begin());
}

void Worker::yield() {
    mprYield(discards && random.chance(90) ? MPR_YIELD_DISCARD : MPR_YIELD_DEFAULT);
}

bool Worker::step() {
    const size_t index = draw();
    const Op &op = ops[index];
    program.counts[index].fetch_add(1, std::memory_order_relaxed);
    program.total.fetch_add(1, std::memory_order_relaxed);
    const bool sharing = program.shared && !op.yields &&
                         random.chance(static_cast<unsigned>(program.plan.sharedPercent)) &&
                         program.sharedLock.try_lock();
    if (sharing) {
        graph = program.shared;
    }
    op.run(*this);
    if (sharing) {
        graph = &own;
        program.sharedLock.unlock();
    }
    if (random.chance(static_cast<unsigned>(program.plan.yieldPercent))) {
        yield();
    }
    if (role == Role::worker && program.wantsRest()) {
        mprYield(MPR_YIELD_STICKY);
        program.parkIfWanted();
        mprResetYield();
    }
    return !program.over() && !program.late();
}

/* ---- Permanent memory ---- */

void Permanents::look(const Item &item) const {
    if (!test::filled(item.ptr, item.size, item.seed)) {
        fault("permanent memory of %zu bytes at %p is overwritten", item.size, static_cast<void *>(item.ptr));
    }
    if (psize(item.ptr) < item.size) {
        fault("permanent memory of %zu bytes has a size of %zu", item.size, psize(item.ptr));
    }
}

void Permanents::step(Random &random) {
    Item &item = items[random.below(std::size(items))];
    if (!item.ptr) {
        const size_t size = random.chance(95) ? random.below(200) : random.below(20000);
        auto ptr = static_cast<unsigned char *>(palloc(size));
        item = {ptr, ptr ? size : 0, random.next()};
    } else if (random.chance(30)) {
        look(item);
        const size_t size = random.below(400);
        if (auto ptr = static_cast<unsigned char *>(prealloc(item.ptr, size))) {
            if (!test::filled(ptr, std::min(size, item.size), item.seed)) {
                fault("prealloc from %zu to %zu bytes lost the contents", item.size, size);
            }
            item = {ptr, size, item.seed};
        }
    } else {
        look(item);
        pfree(item.ptr);
        item = {};
        return;
    }
    test::fill(item.ptr, item.size, item.seed);
}

void Permanents::clear() {
    for (Item &item : items) {
        if (item.ptr) {
            look(item);
            pfree(item.ptr);
            item = {};
        }
    }
}

} // namespace oracle
