// SPDX-License-Identifier: MIT
/*
    api_collect.cpp - The C API of mpr/collect.h and mpr/limits.h, and the part of mpr/thread.h that needs no thread
    made.
 */
#include <cstdarg>

#include "mpr/collect.h"
#include "mpr/gc/batch.hpp"
#include "mpr/gc/marker.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/gc/shortage.hpp"
#include "mpr/limits.h"
#include "mpr/os/log.hpp"
#include "mpr/os/pages.hpp"
#include "mpr/thread.h"

using namespace mpr::gc;
using mpr::heap::Region;
using mpr::heap::Shortage;
namespace os = mpr::os;

namespace {

/** Whether an address is that of a block whose manager is called, or will be, since the block is dead. */
bool isDying(const void* ptr) {
    Region* region = os::hasThreads ? runtime().heap.find(ptr) : nullptr;
    return region && Region::isBlock(region->headAt(ptr)) && runtime().collector.isLost(region->headAt(ptr));
}

/** The region of a block in use; otherwise names the wrong call and gives nullptr. There is a runtime. */
MPR_INLINE Region* regionOf(const char* function, const void* ptr) {
    if constexpr (os::hasThreads) {
        Region* region = runtime().heap.table().candidate(ptr);
        const mpr::heap::Byte h = region ? region->headAt(ptr) : mpr::heap::Byte{0};
        if (Region::isBlock(h) && !runtime().collector.isLost(h)) [[likely]] {
            return region;
        }
        const mpr::heap::Annex* others = runtime().heap.annex();
        const mpr::heap::Place at = others ? others->find(ptr) : mpr::heap::Place{};
        if (at.region && !runtime().collector.isLost(at.head())) {
            return at.region;
        }
    } else {
        Region* region = runtime().heap.regionOfBlock(ptr);
        if (region && !runtime().collector.isLost(region->map().get(region->granuleOf(ptr)))) {
            return region;
        }
    }
    misuse(function, ptr,
           isDying(ptr) ? "it was found dead, and what is done to it now has no effect"
                        : "not the start of a block in use");
    return nullptr;
}

/** Whether the only hold of a block is that of mprFree, by which the calling thread is in the block's manager. */
bool keepsItself(const void* ptr) {
    return attached->beingFreed.has(ptr) && !runtime().roots.isHeldFurther(ptr);
}

/**
    There was no memory for another root or hold. If neither heap nor system has any, nobody will know what it keeps
    alive.
 */
MPR_APART void rememberShort(const char* function, const void* ptr, Attempt& attempt) {
    Runtime& rt = runtime();
    if (!relieve(*attached, attempt) && !(os::hasPages && rt.roots.provideBeyond(rt.heap) && attempt.again())) {
        rt.roots.giveUp();
        tellFailure(function, ptr, "no memory to remember another; nothing is collected from here on");
    }
}

/** There is no memory for another root. */
MPR_APART void addRootShort(Region* region, const void* ptr, Shortage shortage) {
    Trying attempt(
        sizeof(ptr), [=](Shortage& now) { return runtime().roots.add(runtime().heap, region, ptr, now); }, shortage);
    rememberShort("mprAddRoot", ptr, attempt);
}

/** There is no memory to count another hold. */
MPR_APART void holdShort(Region* region, void* ptr, Shortage shortage) {
    Trying attempt(
        sizeof(ptr), [=](Shortage& now) { return runtime().roots.hold(runtime().heap, region, ptr, now); }, shortage);
    rememberShort("mprHold", ptr, attempt);
}

/** Name the end of what was never begun, unless its beginning could not be remembered. */
void notBegun(const char* function, const void* ptr, const char* what) {
    if (!runtime().roots.incomplete()) {
        misuse(function, ptr, what);
    }
}
} // namespace

// ---- Roots and holds --------------------------------------------------------------------------------------------

void mprAddRoot(cvoid* ptr) {
    Region* region = admitRunning("mprAddRoot") ? regionOf("mprAddRoot", ptr) : nullptr;
    auto shortage = Shortage::none;
    publish(ptr);
    if (region && !runtime().roots.add(runtime().heap, region, ptr, shortage)) [[unlikely]] {
        addRootShort(region, ptr, shortage);
    }
}

void mprRemoveRoot(cvoid* ptr) {
    if (admitRunning("mprRemoveRoot") && !runtime().roots.remove(runtime().heap, ptr)) {
        notBegun("mprRemoveRoot", ptr, "not a root");
    }
}

void mprHold(cvoid* ptr) {
    if (!ptr) {
        return;
    }
    const Visit visit("mprHold");
    Region* region = visit ? regionOf("mprHold", ptr) : nullptr;
    publish(ptr);
    auto shortage = Shortage::none;
    if (region && !runtime().roots.hold(runtime().heap, region, const_cast<void*>(ptr), shortage)) [[unlikely]] {
        holdShort(region, const_cast<void*>(ptr), shortage);
    }
}

void mprRelease(cvoid* ptr) {
    if (!ptr) {
        return;
    }
    const Visit visit("mprRelease");
    Region* region = visit ? regionOf("mprRelease", ptr) : nullptr;
    if (region && (keepsItself(ptr) || !runtime().roots.release(runtime().heap, region, const_cast<void*>(ptr)))) {
        notBegun("mprRelease", ptr, "the block is not held");
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

/** Whether the calling thread may link and unlink root references. Otherwise names the call. */
static bool admitLinking(const char* function) {
    if constexpr (!os::hasThreads) {
        return admitRunning(function);
    }
    const bool mayNot = !current && (!attached || isToldOfPause(*attached) || Marker::active());
    return !mayNot || refuse(function);
}

void mprLinkRootRef(MprRootRef* ref) {
    if (os::hasThreads && !ref) {
        misuse("mprLinkRootRef", ref, "no reference");
        return;
    }
    const bool later = os::hasThreads && !ref->ptr && !running();
    if (later || !admitLinking("mprLinkRootRef")) {
        ref->next = ref->prev = nullptr;
        return;
    }
    publish(ref->ptr);
    if (!runtime().roots.link(ref)) {
        misuse("mprLinkRootRef", ref, "linked already");
    }
}

void mprUnlinkRootRef(MprRootRef* ref) {
    // Relaxed: neighbours in the list change it, but only this thread makes it null or not null.
    if ((os::hasThreads && !ref) || !__atomic_load_n(&ref->next, __ATOMIC_RELAXED)) {
        return; // it was refused
    }
    // Who may not unlink it is named, but it must not stay in the list: its memory may go. An interrupt cannot.
    if (!admitLinking("mprUnlinkRootRef") && (!running() || os::inInterrupt())) {
        return;
    }
    runtime().roots.unlink(ref);
}

// ---- Yielding and collecting ------------------------------------------------------------------------------------

/** The slow part of mprYield: there is something to wait for, or the thread does not run or must not yield. */
MPR_APART static void yieldSlow(Mutator* m, int flags, const void* site) {
    if (!m || mustNotYield(*m)) [[unlikely]] {
        if (!admitYielding("mprYield")) {
            return;
        }
        m = attached;
    }
    runtime().collector.yield(*m, flags, site);
}

/** mprYield for a thread that has a batch or asks for one. */
[[gnu::noinline]] static void yieldWithBatch(Mutator& m, int flags, const void* site) {
    if (!os::isLogging() && !m.isCollector) {
        const bool always = m.local.batch && m.local.batch->always && flags == MPR_YIELD_DEFAULT;
        endBatch(m, always || (flags & MPR_YIELD_DISCARD));
    }
    flags &= ~MPR_YIELD_DISCARD;
    if (flags != MPR_YIELD_DEFAULT || runtime().collector.wanted()) {
        yieldSlow(&m, flags, site);
        beginBatch(m);
    }
    m.site.store(site, std::memory_order_relaxed);
}

void mprYield(int flags) {
    Mutator* m = caller();
    const void* site = __builtin_return_address(0);
    if (m && (flags | atYield(*m)) == MPR_YIELD_DEFAULT && !runtime().collector.wanted()) [[likely]] {
        m->site.store(site, std::memory_order_relaxed);
        return;
    }
    if (os::hasThreads && m && !isNotified(*m) && (m->local.batch || (flags & MPR_YIELD_DISCARD))) {
        return yieldWithBatch(*m, flags, site);
    }
    yieldSlow(m, flags & ~MPR_YIELD_DISCARD, site);
}

bool mprSetBatches(bool on) {
    if constexpr (os::hasThreads) {
        return admitRunning("mprSetBatches") && setBatches(*current, on);
    }
    return false;
}

// On a cache line of its own, which changes only with collections.
alignas(os::cacheLine) bool mprYieldWanted = false;

void mprResetYield(void) {
    if (admitYielding("mprResetYield") && attached->state.load(std::memory_order_relaxed) == Mutator::State::yielded) {
        runtime().collector.resume(*attached);
    }
}

int mprGC(int flags) {
    const bool waits = (flags & MPR_GC_NO_BLOCK) == 0;
    if (waits ? !admitYielding("mprGC") : !admitAnywhere("mprGC")) {
        return 0;
    }
    auto& collector = runtime().collector;
    const Wish wish = (flags & (MPR_GC_MINOR | MPR_GC_MAJOR)) == MPR_GC_MINOR ? Wish::minor : Wish::full;
    constexpr int asked = MPR_GC_FORCE | MPR_GC_MINOR | MPR_GC_MAJOR;
    if ((flags & asked) == 0 && !collector.halfSpent()) {
        return 0;
    }
    collector.countInduced();
    if (!waits) {
        collector.request((flags & asked) ? wish : Wish::budget);
        return 0;
    }
    return collector.collect(*attached, wish, (flags & MPR_GC_COMPLETE) != 0, __builtin_return_address(0));
}

bool mprEnableGC(bool on) {
    return inAnyState("mprEnableGC", [=] { return runtime().collector.enable(on); });
}

// ---- Threads ----------------------------------------------------------------------------------------------------

bool mprSetThreadYield(MprThread* tp, bool on) {
    if (!admitYielding("mprSetThreadYield")) {
        return false;
    }
    if (attached->isCollector || (tp && tp != attached->thread)) {
        misuse("mprSetThreadYield", tp, "not the calling thread");
        return false;
    }
    return !runtime().collector.setExempt(*attached, !on);
}

cchar* mprGetCurrentThreadName(void) {
    return attached ? attached->name : "";
}

MprOsThread mprGetCurrentOsThread(void) {
    return os::currentThread();
}

// ---- Limits -----------------------------------------------------------------------------------------------------

namespace {

/** Whether limits make sense, together and beside what there is. If not they are refused, and named. */
bool admitLimits(size_t warn, size_t maximum) {
    using mpr::heap::Limits;
    if constexpr (!os::hasThreads) {
        const bool crossed = warn == Limits::none || warn <= maximum;
        if (crossed && runtime().heap.limits().committed() <= maximum) {
            return true;
        }
        misuse("mprSetMemLimits", nullptr, "the limit is below the redline, or what is in use");
        return false;
    }
    const std::uint64_t committed = runtime().heap.limits().committed();
    const std::uint64_t inUse = runtime().heap.totals().granulesInUse() << mpr::heap::granuleShift;
    os::Message message;
    message << "mprSetMemLimits: ";
    if (warn != Limits::none && warn > maximum) {
        message << "the redline, " << std::uint64_t{warn} << ", is above the limit, " << std::uint64_t{maximum}
                << ", and would never be crossed; the limits stay as they were. 3/4 of the limit is a fine redline";
    } else if (inUse > maximum) {
        message << "blocks take " << inUse << " bytes, more than the limit, " << std::uint64_t{maximum}
                << "; the limits stay as they were. To lower them, drop blocks and collect first (mprGC)";
    } else {
        if (committed > maximum) {
            message << committed << " bytes are committed, more than the limit, " << std::uint64_t{maximum}
                    << "; none will be until enough has been given back";
            os::log(os::Level::warning, message);
        }
        return true;
    }
    runtime().misuses.fetch_add(1, std::memory_order_relaxed);
    writeMisuse("mprSetMemLimits", message);
    return false;
}

void setMemLimits(ssize warnHeap, ssize maximum, ssize cache) {
    using mpr::heap::Limits;
    Runtime& rt = runtime();
    const size_t warn = warnHeap > 0 ? static_cast<size_t>(warnHeap) : Limits::none;
    const size_t most = maximum > 0 ? static_cast<size_t>(maximum) : Limits::none;
    if (!admitLimits(warn, most)) {
        return;
    }
    rt.heap.setLimits(warn, most);
    if (cache >= 0) {
        rt.collector.pacer().setCache(static_cast<size_t>(cache));
    }
    rt.collector.repace();
}
} // namespace

void mprSetMemLimits(ssize warnHeap, ssize maximum, ssize cache) {
    inAnyState("mprSetMemLimits", [=] { setMemLimits(warnHeap, maximum, cache); });
}

int mprGetMemState(void) {
    if (!admitAnywhere("mprGetMemState")) {
        return MPR_MEM_WELL;
    }
    switch (runtime().heap.memoryState()) {
    case mpr::heap::Limits::State::warned: return MPR_MEM_WARNING;
    case mpr::heap::Limits::State::full: return MPR_MEM_LIMIT;
    default: return MPR_MEM_WELL;
    }
}

void mprSetMemNotifier(MprMemNotifier cback) {
    if (admitAnywhere("mprSetMemNotifier")) {
        runtime().depletion.setNotifier(cback);
    }
}

static void nameNoPolicy(int policy) {
    if constexpr (!os::hasThreads) {
        return misuse("mprSetMemPolicy", nullptr, "not a policy");
    }
    os::Message message;
    message << "mprSetMemPolicy: " << policy
            << " is not a policy; there are MPR_ALLOC_POLICY_NOTHING, PRUNE, RESTART, EXIT and ABORT, 0 to 4";
    writeMisuse("mprSetMemPolicy", message);
}

void mprSetMemPolicy(int policy) {
    if (!admitAnywhere("mprSetMemPolicy")) {
        return;
    }
    if (policy < MPR_ALLOC_POLICY_NOTHING || policy > MPR_ALLOC_POLICY_ABORT) {
        return nameNoPolicy(policy);
    }
    runtime().depletion.setPolicy(policy);
}

int mprAddPruner(MprPruner pruner, void* data) {
    if (!admitAnywhere("mprAddPruner")) {
        return MPR_ERR_BAD_STATE;
    }
    return runtime().depletion.addPruner(pruner, data) ? 0 : MPR_ERR_MEMORY;
}

void mprRemovePruner(MprPruner pruner, void* data) {
    if (admitAnywhere("mprRemovePruner")) {
        runtime().depletion.removePruner(pruner, data);
    }
}

bool mprHasMemError(void) {
    return admitAnywhere("mprHasMemError") && runtime().depletion.error();
}

void mprSetMemError(void) {
    if (admitAnywhere("mprSetMemError")) {
        runtime().depletion.setError(true);
    }
}

void mprResetMemError(void) {
    if (admitAnywhere("mprResetMemError")) {
        runtime().depletion.setError(false);
    }
}
