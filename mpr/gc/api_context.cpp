// SPDX-License-Identifier: MIT
/*
    api_context.cpp - The C API of mpr/context.h.
 */
#include "mpr/context.h"

#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"

using namespace mpr::gc;
using mpr::heap::Kind;
namespace head = mpr::heap::head;

static_assert(MPR_ALLOC_BARRIER >> 2 == static_cast<int>(Kind::barrier));
static_assert((MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE) >> 2 == static_cast<int>(Kind::barrierNoFree));

MprContext* mprGetContext(void) {
    if (!admitRunning("mprGetContext")) {
        return nullptr;
    }
    if (current->isCollector) {
        misuse("mprGetContext", nullptr, "called by a manager on the collector's thread, which makes few blocks");
        return nullptr;
    }
    return const_cast<MprContext*>(&runtime().heap.lend(current->local));
}

int mprSetBlockKind(MprBlockKind* kind, MprManager manager, int flags) {
    constexpr int promises = MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE;
    if (!mayFill("mprSetBlockKind", kind)) {
        return MPR_ERR_BAD_ARGS;
    }
    *kind = {};
    if (!admitRunning("mprSetBlockKind")) {
        return MPR_ERR_BAD_STATE;
    }
    if ((flags & ~promises) != 0) {
        misuse("mprSetBlockKind", kind, "flags other than MPR_ALLOC_BARRIER and MPR_ALLOC_NO_FREE");
        return MPR_ERR_BAD_ARGS;
    }
    constexpr std::size_t most = std::size_t{MPR_CONTEXT_GRANULES} << MPR_GRANULE_SHIFT;
    kind->manager = manager;
    kind->flags = flags;
    if (!manager) {
        kind->head = head::inUse | static_cast<unsigned char>(Kind::leaf);
        kind->most = most;
        return 0;
    }
    const std::uintptr_t code = codeOf(manager);
    if (code == Managers::noCode) {
        return MPR_ERR_TOO_MANY;
    }
    kind->extra = sizeof(MprManager);
    kind->seal = code;
    kind->head = head::inUse | static_cast<unsigned char>(Kind::barrierNoFree);
    kind->most = flags == promises ? most - sizeof(MprManager) : 0;
    return 0;
}

void* mprAllocInContextSlow(size_t size, const MprBlockKind* kind) {
    return kind->manager ? mprAllocManaged(size, kind->manager, kind->flags) : mprAlloc(size);
}

int mprGetAllocStats(MprAllocStats* threads, int count) {
    if (count > 0 && !mayFill("mprGetAllocStats", threads)) {
        return 0;
    }
    return inAnyState("mprGetAllocStats", [=] { return runtime().collector.allocationStats(threads, count); });
}
