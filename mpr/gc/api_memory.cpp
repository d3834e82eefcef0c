// SPDX-License-Identifier: MIT
/*
    api_memory.cpp - The C API of mpr/memory.h: checks its arguments and calls the heap.
 */
#include <algorithm>
#include <cstring>
#include <utility>

#include "mpr/collect.h"
#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/heap/context.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"

using namespace mpr::gc;
using mpr::heap::Byte;
using mpr::heap::GranuleMap;
using mpr::heap::granulesFor;
using mpr::heap::granuleShift;
using mpr::heap::Heap;
using mpr::heap::Kind;
using mpr::heap::Region;
using mpr::heap::Shortage;
namespace head = mpr::heap::head;
namespace os = mpr::os;

namespace mpr::gc {

namespace {

/** Do what an allocation has made necessary: tell of the redline, request a collection. */
[[gnu::noinline]] void attend(Mutator& m, std::size_t size) {
    Runtime& rt = runtime();
    const Heap::Attention attention = rt.heap.takeAttention();
    if (attention.budgetSpent) {
        rt.collector.budgetSpent();
    }
    if (attention.redline) {
        rt.depletion.raise(m, MPR_MEM_WARNING, size);
    }
    if constexpr (os::hasThreads) {
        rt.heap.tell();
    }
}

[[gnu::cold, gnu::noinline]] void* allocateShort(Mutator& m, std::size_t n, Byte flags, std::size_t size,
                                                 Shortage shortage) {
    Runtime& rt = runtime();
    void* block = nullptr;
    if (shortage != Shortage::tooBig) {
        if (rt.collector.awaitSweep(m)) {
            block = rt.heap.allocateSlow(m.local, n, flags, shortage);
        }
        if (!block) {
            rt.collector.emergency(m);
            block = rt.heap.allocateSlow(m.local, n, flags, shortage);
        }
        if (!block && rt.collector.makeRoom(m, n << granuleShift)) {
            block = rt.heap.allocateSlow(m.local, n, flags, shortage);
        }
    }
    if (!block && rt.depletion.raise(m, causeOf(shortage), size)) {
        rt.heap.decommitRetired();
        block = rt.heap.allocateSlow(m.local, n, flags, shortage);
    }
    if (!block) {
        rt.depletion.countError();
    }
    return block;
}
} // namespace

void* allocateSlow(Mutator& m, std::size_t n, Byte flags, std::size_t size) {
    Runtime& rt = runtime();
    Shortage shortage = Shortage::none;
    void* block = rt.heap.allocateInContext(m.local, n, flags, shortage);
    if (!block) [[unlikely]] {
        block = allocateShort(m, n, flags, size, shortage);
    }
    if (rt.heap.poisons()) [[unlikely]] {
        rt.heap.unearth(block, n);
    }
    if (rt.heap.needsAttention()) [[unlikely]] {
        attend(m, size);
    }
    return block;
}

void* allocateTooBig(std::size_t size) {
    Runtime& rt = runtime();
    rt.depletion.raise(*current, MPR_MEM_TOO_BIG, size);
    rt.depletion.countError();
    return nullptr;
}

} // namespace mpr::gc

namespace {

/** @param size Bytes, manager included. */
MPR_INLINE void* allocateInline(std::size_t size, Byte flags, const char* function) {
    Mutator* m = current;
    if (!m) [[unlikely]] {
        refuse(function);
        return nullptr;
    }
    if (size > Heap::greatestRequest) [[unlikely]] {
        return allocateTooBig(size);
    }
    const std::size_t n = granulesFor(size + (size == 0));
    if (void* block = runtime().heap.allocateFast(m->local, n, flags)) [[likely]] {
        return block;
    }
    return allocateSlow(*m, n, flags, size);
}

/** allocateInline as a call, for all but the busiest caller. */
[[gnu::noinline]] void* allocate(std::size_t size, Byte flags, const char* function) {
    return allocateInline(size, flags, function);
}

constexpr bool hasManager(Byte h) {
    return !head::isLeaf(h);
}

std::size_t usable(Region* region, std::size_t g, Byte h) {
    return (region->blockSize(g) << granuleShift) - (hasManager(h) || head::isGone(h) ? sizeof(MprManager) : 0);
}

/**
    The region of what the caller says is a block. If it is none, this names it and returns nullptr. There is a runtime.
 */
Region* checked(const char* function, const void* ptr) {
    Region* region = runtime().heap.find(ptr);
    if (region && region->isBlock(ptr)) [[likely]] {
        return region;
    }
    misuse(function, ptr,
           region ? "not the start of a block in use: freed before, or a pointer into a block"
                  : "not managed memory: no region of the heap has this address");
    return nullptr;
}
} // namespace

void* mprAlloc(size_t size) {
    return allocateInline(size, static_cast<Byte>(Kind::leaf), "mprAlloc");
}

void* mprAllocFast(size_t usize) {
    return mprAlloc(usize);
}

void* mprAllocZeroed(size_t size) {
    void* block = allocate(size, static_cast<Byte>(Kind::leaf), "mprAllocZeroed");
    return block ? std::memset(block, 0, size) : nullptr;
}

namespace {
/** The kind of a block with a manager. Flags have the bits of the head; without any promise the block is plain. */
constexpr Byte kindOf(int flags) {
    const int promised = flags >> 2 & head::kindMask;
    return static_cast<Byte>(promised != 0 ? promised : static_cast<int>(Kind::plain));
}
static_assert(kindOf(MPR_ALLOC_BARRIER) == static_cast<Byte>(Kind::barrier));
static_assert(kindOf(MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE) == static_cast<Byte>(Kind::barrierNoFree));
static_assert(kindOf(MPR_ALLOC_NO_FREE) == static_cast<Byte>(Kind::plain));

/**
    The part of mprAllocManaged that is not inline: large, held or zeroed blocks, and whenever the heap has to be asked.
 */
[[gnu::noinline]] void* allocateManaged(size_t size, MprManager manager, int flags) {
    Byte bits = static_cast<Byte>((flags & MPR_ALLOC_HOLD) ? head::held : 0);
    const bool room = manager || (flags & MPR_ALLOC_MANAGER);
    const std::uintptr_t number = numberOf(manager);
    if (os::hasThreads && manager && number == Managers::none) {
        return nullptr;
    }
    std::size_t whole = size;
    if (room) {
        bits |= kindOf(flags);
        whole = size + sizeof(MprManager) < size ? size : size + sizeof(MprManager);
    }
    void* block = allocate(whole, bits, "mprAllocMem");
    if (block) {
        if (flags & MPR_ALLOC_HOLD) {
            runtime().heap.noteHeld(block);
        }
        if (flags & MPR_ALLOC_ZERO) {
            std::memset(block, 0, whole);
        }
        if (room) {
            setManager(block, granulesFor(whole), number);
        }
    }
    return block;
}

} // namespace

void* mprAllocManaged(size_t size, MprManager manager, int flags) {
    constexpr std::size_t most = (mpr::heap::greatestSmall << granuleShift) - sizeof(MprManager);
    Mutator* m = os::hasThreads ? current : nullptr;
    if (m && manager && size <= most && (flags & (MPR_ALLOC_HOLD | MPR_ALLOC_ZERO)) == 0) {
        const std::size_t n = granulesFor(size + sizeof(MprManager));
        const std::uintptr_t number = numberOf(manager);
        void* block = number != Managers::none ? runtime().heap.allocateSmall(m->local, n, kindOf(flags)) : nullptr;
        if (block) [[likely]] {
            setManager(block, n, number);
            return block;
        }
    }
    return allocateManaged(size, manager, flags);
}

void* mprAllocMem(size_t size, int flags) {
    return allocateManaged(size, nullptr, flags);
}

namespace {

int freedMeanwhile(void* ptr) {
    if constexpr (os::hasThreads) {
        misuse("mprFree", ptr, "another thread has just freed the block");
    }
    return MPR_ERR_BAD_ARGS;
}

/** Call the manager of a block that the calling thread holds. */
void callToFree(Mutator& m, void* ptr, MprManager manager) {
    const bool was = std::exchange(m.calledBack, true);
    manager(ptr, MPR_MANAGE_FREE);
    m.calledBack = was;
    if (!current) [[unlikely]] {
        misuse("mprFree", ptr, "its manager has returned yielded or exempt");
        runtime().collector.resume(m);
    }
}

/**
    Call the manager of a block that is freed by hand. The manager may yield, for example in a lock, so nobody else may
    free the block meanwhile. @return false when another thread is freeing it already.
 */
bool freeByManager(Mutator& m, Region* region, void* ptr, MprManager manager) {
    if constexpr (!os::hasThreads) {
        const bool was = std::exchange(m.isCollector, true); // so that a yield does not collect
        manager(ptr, MPR_MANAGE_FREE);
        m.isCollector = was;
        return true;
    }
    Heap& heap = runtime().heap;
    const Byte before = heap.changeHead(region, ptr, head::held, 0);
    if ((before & (head::inUse | head::held)) != head::inUse) {
        return false;
    }
    callToFree(m, ptr, manager);
    heap.changeHead(region, ptr, 0, head::held);
    return true;
}

bool isRoot(const void* ptr, Byte h) {
    return os::hasThreads && (h & head::referenced) && runtime().roots.isRoot(ptr);
}

/** Why a block with this head may not be freed by hand, or nullptr. */
const char* keeperOf(const void* ptr, Byte h) {
    return isRoot(ptr, h)     ? "the block is a root; remove it first"
           : (h & head::held) ? "the block is held; release it first"
                              : nullptr;
}

/** Free a block whose manager, if any, has been called, and which is not being traced. */
int freeCalled(Mutator& m, Region* region, void* ptr) {
    // Asked first, since a large region may be gone when free returns.
    const bool large = region->isLarge();
    if (!runtime().heap.free(m.local, region, ptr)) [[unlikely]] {
        return freedMeanwhile(ptr);
    }
    if (large) {
        runtime().collector.freedLarge();
    }
    return 0;
}

/** The slow part of mprFree: calls managers, names misuse, handles large regions. */
[[gnu::noinline]] int freeUnusual(void* ptr) {
    if (!ptr) {
        return 0;
    }
    Region* region = admitRunning("mprFree") ? checked("mprFree", ptr) : nullptr;
    if (!region) {
        return MPR_ERR_BAD_ARGS;
    }
    Mutator* m = current;
    Heap& heap = runtime().heap;
    const std::size_t g = region->granuleOf(ptr);
    const Byte h = region->map().get(g);
    if (!Region::isBlock(h)) [[unlikely]] {
        return freedMeanwhile(ptr);
    }
    if (const char* keeper = keeperOf(ptr, h)) [[unlikely]] {
        misuse("mprFree", ptr, keeper);
        return MPR_ERR_BAD_ARGS;
    }
    if (runtime().collector.isDoomed(h)) [[unlikely]] {
        // Found dead by the collection that is running: it belongs to the sweep, and its manager has been or will be
        // called.
        return 0;
    }
    if (hasManager(h)) {
        if (const MprManager manager = managerOf(ptr, region->blockSize(g));
            manager && (h & head::kindMask) != static_cast<Byte>(Kind::barrierNoFree)) {
            if (!freeByManager(*m, region, ptr, manager)) {
                return freedMeanwhile(ptr);
            }
        }
        if (heap.freeTraced({region, g})) {
            return 0;
        }
    }
    return freeCalled(*m, region, ptr);
}

/**
    The part of mprFree for a block of an ordinary region that could be freed at once if it had no manager. It does what
    freeUnusual does in fewer steps: if nothing has happened to the block when its manager returns, freeing ends its
    hold.
 */
[[gnu::noinline]] int freeManaged(void* ptr, Region* region) {
    if constexpr (!os::hasThreads) {
        return freeUnusual(ptr);
    }
    Mutator& m = *current;
    Heap& heap = runtime().heap;
    Byte* map = region->map().at(region->granuleOf(ptr));
    const Byte h = GranuleMap::load(map);
    const std::size_t n = GranuleMap::sizeBehind(map);
    const MprManager manager = managerOf(ptr, n);
    const Byte held = static_cast<Byte>(h | head::held);
    region->nurseries.keep(region->granuleOf(ptr));
    if (!manager || heap.freeable(h) == Heap::Freeable::no || !GranuleMap::change(map, h, held)) [[unlikely]] {
        return freeUnusual(ptr);
    }
    callToFree(m, ptr, manager);
    if (heap.freeable(h) != Heap::Freeable::no && GranuleMap::claim(map, held)) [[likely]] {
        return heap.freeClaimed(m.local, region, ptr, map, n);
    }
    heap.changeHead(region, ptr, 0, head::held);
    return heap.freeTraced({region, region->granuleOf(ptr)}) ? 0 : freeCalled(m, region, ptr);
}

} // namespace

int mprFree(void* ptr) {
    Mutator* m = current;
    Heap& heap = runtime().heap;
    Region* region = m ? heap.table().candidate(ptr) : nullptr;
    if (!region) [[unlikely]] {
        return freeUnusual(ptr);
    }
    const std::size_t g = region->indexOf(ptr);
    if (g >= region->endGranule || region->isLarge()) [[unlikely]] {
        return freeUnusual(ptr);
    }
    Byte* map = region->map().at(g);
    const Byte h = GranuleMap::load(map);
    const std::size_t n = GranuleMap::sizeBehind(map);
    const Heap::Freeable freeable = heap.freeable(h);
    if (freeable == Heap::Freeable::no || region->nurseries.isUncleared(g)) [[unlikely]] {
        return freeUnusual(ptr);
    }
    if (freeable == Heap::Freeable::withoutManager && isManaged(ptr, n)) [[unlikely]] {
        return freeManaged(ptr, region);
    }
    if (!GranuleMap::claim(map, h)) [[unlikely]] {
        return freeUnusual(ptr);
    }
    return heap.freeClaimed(m->local, region, ptr, map, n);
}

void* mprRealloc(void* ptr, size_t size) {
    if (!ptr) {
        return mprAlloc(size);
    }
    Region* region = admitRunning("mprRealloc") ? checked("mprRealloc", ptr) : nullptr;
    if (!region) {
        return nullptr;
    }
    Mutator* m = current;
    const std::size_t g = region->granuleOf(ptr);
    const Byte h = region->map().get(g);
    const bool managed = hasManager(h);
    if (size > Heap::greatestRequest) {
        return allocateTooBig(size);
    }
    const std::size_t n = region->blockSize(g);
    const std::size_t whole = size + (managed ? sizeof(MprManager) : 0);
    const std::size_t wanted = granulesFor(whole + (whole == 0));
    const MprManager manager = managed ? managerOf(ptr, n) : nullptr;
    if (runtime().heap.resize(m->local, region, ptr, wanted)) {
        if (managed) {
            setManager(ptr, region->blockSize(g), numberOf(manager));
        }
        if (runtime().heap.needsAttention()) {
            attend(*m, size);
        }
        return ptr;
    }
    void* block = allocate(whole, static_cast<Byte>(h & head::kindMask), "mprRealloc");
    if (block) {
        std::memcpy(block, ptr, std::min(size, usable(region, g, h)));
        if (managed) {
            setManager(block, granulesFor(whole), numberOf(manager));
        }
        while (os::hasThreads && (h & head::referenced) && runtime().roots.remove(runtime().heap, ptr)) {
            mprAddRoot(block);
        }
        while (runtime().roots.release(runtime().heap, region, ptr)) {
            mprHold(block);
        }
        if (!managed || !runtime().heap.freeTraced({region, g})) {
            runtime().heap.free(m->local, region, ptr);
        }
    }
    return block;
}

void* mprReallocMem(void* ptr, size_t size) {
    return mprRealloc(ptr, size);
}

void* mprMemdup(cvoid* ptr, size_t size) {
    void* block = ptr ? mprAlloc(size) : nullptr;
    return block ? std::memcpy(block, ptr, size) : nullptr;
}

void* mprMemdupMem(cvoid* ptr, size_t size) {
    return mprMemdup(ptr, size);
}

void* mprSetManager(void* ptr, MprManager manager) {
    Region* region = admitRunning("mprSetManager") ? checked("mprSetManager", ptr) : nullptr;
    if (!region) {
        return nullptr;
    }
    const std::size_t g = region->granuleOf(ptr);
    if (!hasManager(region->map().get(g))) {
        misuse("mprSetManager", ptr, "allocated without room for a manager; see MPR_ALLOC_MANAGER");
        return nullptr;
    }
    const std::uintptr_t number = numberOf(manager);
    if (os::hasThreads && manager && number == Managers::none) {
        return nullptr;
    }
    setManager(ptr, region->blockSize(g), number); // the collector may be about to look
    return ptr;
}

size_t mprGetBlockSize(cvoid* ptr) {
    if (!ptr || !running()) {
        return 0;
    }
    return runtime().heap.withBlock(ptr, [ptr](Region* region, Byte h) {
        // A manager may mark a block that another thread has just freed: the block keeps its memory until then.
        const bool known = Region::isBlock(h) || (head::isGone(h) && Marker::active());
        return known ? usable(region, region->granuleOf(ptr), h) : 0;
    });
}

int mprIsValid(cvoid* ptr) {
    return running() && runtime().heap.withBlock(ptr, [](Region*, Byte h) { return Region::isBlock(h); });
}

int mprMemcmp(cvoid* b1, size_t b1Len, cvoid* b2, size_t b2Len) {
    const int order = std::memcmp(b1, b2, std::min(b1Len, b2Len));
    return order != 0 ? order : (b1Len > b2Len) - (b1Len < b2Len);
}

size_t mprMemcpy(void* dest, size_t destMax, cvoid* src, size_t nbytes) {
    if (nbytes > destMax) {
        return 0;
    }
    std::memmove(dest, src, nbytes);
    return nbytes;
}

// ---- Permanent memory -------------------------------------------------------------------------------------------

namespace {

/** Allocate on a thread that does not run. */
void* allocateOutside(size_t size) {
    Shortage shortage = Shortage::none;
    Runtime& rt = runtime();
    void* block = size > Heap::greatestRequest
                      ? nullptr
                      : rt.heap.allocateShared(granulesFor(size + (size == 0)), head::held, false, shortage);
    if (!block) {
        rt.depletion.countError();
    } else if (rt.heap.needsAttention()) {
        rt.heap.tell();
        if (rt.heap.allocatedSince() >= rt.collector.trigger()) {
            rt.collector.budgetSpent();
        }
    }
    return block;
}

void* allocatePermanent(size_t size) {
    return !os::hasThreads || current ? mprAllocMem(size, MPR_ALLOC_HOLD) : allocateOutside(size);
}

/** Permanent memory is a held leaf, and no root. The hold is not looked at here: ending it will tell. */
bool mayBePermanent(Region* region, void* ptr) {
    const Byte h = region->map().get(region->granuleOf(ptr));
    return !hasManager(h) && !isRoot(ptr, h);
}

/** Free permanent memory. @return false when the block is none, or another thread was faster. */
bool freePermanent(Region* region, void* ptr) {
    Runtime& rt = runtime();
    if constexpr (os::hasThreads) {
        if (!mayBePermanent(region, ptr)) {
            return false;
        }
    }
    if (os::hasThreads && !current) {
        return rt.heap.freeHeld(region, ptr);
    }
    return (rt.heap.changeHead(region, ptr, 0, head::held) & head::held) != 0 &&
           rt.heap.free(attached->local, region, ptr);
}

/** Free what the caller says is permanent memory. What is not is named. */
void freeChecked(void* ptr) {
    Region* region = checked("pfree", ptr);
    if (!region) {
        return;
    }
    // Asked first, since a large region may be gone when the block is free.
    const bool large = region->isLarge();
    if (!freePermanent(region, ptr)) {
        misuse("pfree", ptr, "not permanent memory");
    } else if (large) {
        runtime().collector.freedLarge();
    }
}

/** Whether a block may be resized by prealloc. Otherwise names the wrong call. */
bool admitResizing(void* ptr) {
    Region* region = checked("prealloc", ptr);
    if (!region) {
        return false;
    }
    if (!mayBePermanent(region, ptr) || (region->map().get(region->granuleOf(ptr)) & head::held) == 0) {
        misuse("prealloc", ptr, "not permanent memory");
        return false;
    }
    return true;
}

void* resizePermanent(void* ptr, size_t size) {
    if (os::hasThreads && !admitResizing(ptr)) {
        return nullptr;
    }
    const size_t old = psize(ptr);
    if (old >= size && old / 2 <= size) {
        return ptr;
    }
    // Without threads, where code memory is scarce, these are calls.
    void* block = os::hasThreads ? allocatePermanent(size) : palloc(size);
    if (block) {
        std::memcpy(block, ptr, std::min(old, size));
        os::hasThreads ? freeChecked(ptr) : pfree(ptr);
    }
    return block;
}
} // namespace

void* palloc(size_t size) {
    return inAnyState("palloc", [=] { return allocatePermanent(size); });
}

void pfree(void* ptr) {
    if (ptr) {
        inAnyState("pfree", [=] { freeChecked(ptr); });
    }
}

void* prealloc(void* ptr, size_t size) {
    if (!ptr) {
        return palloc(size);
    }
    if constexpr (!os::hasThreads) {
        return resizePermanent(ptr, size);
    }
    return inAnyState("prealloc", [=] { return resizePermanent(ptr, size); });
}

size_t psize(void* ptr) {
    return mprGetBlockSize(ptr);
}

// ---- Pages ------------------------------------------------------------------------------------------------------

void* mprVirtAlloc(size_t size, int mode) {
    return os::map(size, mode);
}

void mprVirtFree(void* ptr, size_t size) {
    os::release(ptr, size);
}

int mprGetPageSize(void) {
    return static_cast<int>(os::pageSize());
}

void* mprSetName(void* ptr, cchar*) {
    return ptr;
}
