/*
    api_collect.cpp - The C API of mpr/collect.h and mpr/limits.h, and the part of mpr/thread.h that needs no thread made.
 */
#include <cstdarg>

#include "mpr/collect.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/limits.h"
#include "mpr/os/log.hpp"
#include "mpr/thread.h"

using namespace mpr::gc;
using mpr::heap::Region;
namespace os = mpr::os;

namespace {

/** The region of a block in use; otherwise names the wrong call and gives nullptr. */
Region* regionOf(const char* function, const void* ptr) {
    if (!current) {
        misuseForeign(function);
        return nullptr;
    }
    Region* region = runtime().heap.find(ptr);
    if (!region || !region->isBlock(ptr)) {
        misuse(function, ptr, "not the start of a block in use");
        return nullptr;
    }
    return region;
}

/** There is no memory for another root. The handler of such cases may find some. @return whether it has. */
[[gnu::cold]] bool addRootShort(const void* ptr, mpr::heap::Shortage shortage) {
    Runtime& rt = runtime();
    return rt.depletion.raise(*current, causeOf(shortage), sizeof(ptr)) && rt.roots.add(rt.heap, ptr, shortage);
}
} // namespace

// ---- Roots and holds --------------------------------------------------------------------------------------------

void mprAddRoot(cvoid* ptr) {
    if (!regionOf("mprAddRoot", ptr)) {
        return;
    }
    Runtime& rt = runtime();
    auto shortage = mpr::heap::Shortage::none;
    if (!rt.roots.add(rt.heap, ptr, shortage) && !addRootShort(ptr, shortage)) [[unlikely]] {
        rt.roots.giveUp();
        rt.depletion.countError();
        misuse("mprAddRoot", ptr, "no memory to remember another root; nothing is collected from here on");
    }
}

void mprRemoveRoot(cvoid* ptr) {
    if (!running() || !runtime().roots.remove(runtime().heap, ptr)) {
        misuse("mprRemoveRoot", ptr, "not a root");
    }
}

void mprHold(cvoid* ptr) {
    Region* region = ptr ? regionOf("mprHold", ptr) : nullptr;
    if (region && !runtime().roots.hold(runtime().heap, region, const_cast<void*>(ptr))) {
        misuse("mprHold", ptr, "no memory to count another hold; the block stays held for good");
    }
}

void mprRelease(cvoid* ptr) {
    Region* region = ptr ? regionOf("mprRelease", ptr) : nullptr;
    if (region && !runtime().roots.release(runtime().heap, region, const_cast<void*>(ptr))) {
        misuse("mprRelease", ptr, "the block is not held");
    }
}

void mprHoldBlocks(cvoid* ptr, ...) {
    va_list more;
    va_start(more, ptr);
    for (; ptr; ptr = va_arg(more, cvoid*)) {
        mprHold(ptr);
    }
    va_end(more);
}

void mprReleaseBlocks(cvoid* ptr, ...) {
    va_list more;
    va_start(more, ptr);
    for (; ptr; ptr = va_arg(more, cvoid*)) {
        mprRelease(ptr);
    }
    va_end(more);
}

void mprLinkRootRef(MprRootRef* ref) {
    runtime().roots.link(ref);
}

void mprUnlinkRootRef(MprRootRef* ref) {
    runtime().roots.unlink(ref);
}

// ---- Yielding and collecting ------------------------------------------------------------------------------------

void mprYield(int flags) {
    if (Mutator* m = current) {
        const void* site = __builtin_return_address(0);
        if (flags == MPR_YIELD_DEFAULT && !runtime().collector.wanted()) {
            m->site.store(site, std::memory_order_relaxed);
            return;
        }
        runtime().collector.yield(*m, flags, site);
    }
}

// On a cache line of its own, which changes only with collections.
alignas(os::cacheLine) bool mprYieldWanted = false;

void mprResetYield(void) {
    if (current) {
        runtime().collector.resume(*current);
    }
}

int mprGC(int flags) {
    if (!running()) {
        return 0;
    }
    auto& collector = runtime().collector;
    const Wish wish = (flags & (MPR_GC_MINOR | MPR_GC_MAJOR)) == MPR_GC_MINOR ? Wish::minor : Wish::full;
    constexpr int asked = MPR_GC_FORCE | MPR_GC_MINOR | MPR_GC_MAJOR;
    if ((flags & asked) == 0 && !collector.halfSpent()) {
        return 0;
    }
    if ((flags & MPR_GC_NO_BLOCK) || !current) {
        collector.request((flags & asked) ? wish : Wish::budget);
        return 0;
    }
    return collector.collect(*current, wish, (flags & MPR_GC_COMPLETE) != 0, __builtin_return_address(0));
}

bool mprEnableGC(bool on) {
    return running() && runtime().collector.enable(on);
}

// ---- Threads ----------------------------------------------------------------------------------------------------

bool mprSetThreadYield(MprThread* tp, bool on) {
    if (!current || (tp && tp != current->thread)) {
        misuse("mprSetThreadYield", tp, "not the calling thread");
        return false;
    }
    return !runtime().collector.setExempt(*current, !on);
}

cchar* mprGetCurrentThreadName(void) {
    return current ? current->name : "";
}

MprOsThread mprGetCurrentOsThread(void) {
    return os::currentThread();
}

// ---- Limits -----------------------------------------------------------------------------------------------------

void mprSetMemLimits(ssize warnHeap, ssize maximum, ssize cache) {
    if (!running()) {
        misuseForeign("mprSetMemLimits");
        return;
    }
    using mpr::heap::Limits;
    Runtime& rt = runtime();
    rt.heap.setLimits(warnHeap > 0 ? static_cast<size_t>(warnHeap) : Limits::none,
                      maximum > 0 ? static_cast<size_t>(maximum) : Limits::none);
    if (cache >= 0) {
        rt.collector.pacer().setCache(static_cast<size_t>(cache));
    }
    rt.collector.repace();
}

void mprSetMemNotifier(MprMemNotifier cback) {
    runtime().depletion.setNotifier(cback);
}

void mprSetMemPolicy(int policy) {
    if (policy < MPR_ALLOC_POLICY_NOTHING || policy > MPR_ALLOC_POLICY_ABORT) {
        os::Message message;
        os::log(os::Level::error, message << "mprSetMemPolicy: " << policy << " is not a policy");
        return;
    }
    runtime().depletion.setPolicy(policy);
}

int mprAddPruner(MprPruner pruner, void* data) {
    return runtime().depletion.addPruner(pruner, data) ? 0 : MPR_ERR_MEMORY;
}

void mprRemovePruner(MprPruner pruner, void* data) {
    runtime().depletion.removePruner(pruner, data);
}

bool mprHasMemError(void) {
    return runtime().depletion.error();
}

void mprSetMemError(void) {
    runtime().depletion.setError(true);
}

void mprResetMemError(void) {
    runtime().depletion.setError(false);
}
