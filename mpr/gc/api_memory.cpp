// SPDX-License-Identifier: MIT
/*
    api_memory.cpp - The C API of mpr/memory.h: checks its arguments and calls the heap.
 */
#include <algorithm>
#include <cstring>
#include <utility>

#include "mpr/collect.h"
#include "mpr/gc/batch.hpp"
#include "mpr/gc/keepers.hpp"
#include "mpr/gc/load_hooks.hpp"
#include "mpr/gc/manager.hpp"
#include "mpr/gc/origins.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/gc/shortage.hpp"
#include "mpr/heap/context.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/pages.hpp"

using namespace mpr::gc;
using mpr::heap::Byte;
using mpr::heap::GranuleMap;
using mpr::heap::granulesFor;
using mpr::heap::granuleShift;
using mpr::heap::Heap;
using mpr::heap::Kind;
using mpr::heap::Place;
using mpr::heap::Region;
using mpr::heap::Shortage;
namespace head = mpr::heap::head;
namespace os = mpr::os;

namespace mpr::gc {

[[gnu::noinline]] void attend(Mutator& m, std::size_t size) {
    Runtime& rt = runtime();
    const Heap::Attention attention = rt.heap.takeAttention();
    if (attention.budgetSpent) {
        rt.collector.budgetSpent();
    }
    if (attention.news) {
        rt.depletion.tellNews(m, size);
    }
    if constexpr (os::hasThreads) {
        rt.heap.tell();
        if (const LoadHooks* hooks = loadHooks.load(std::memory_order_acquire)) {
            hooks->attend(m);
        }
    } else {
        nameInterrupts();
    }
}

namespace {

[[gnu::cold, gnu::noinline]] void* allocateShort(Mutator& m, std::size_t n, Byte flags, std::size_t size,
                                                 Shortage shortage) {
    void* block = nullptr;
    if constexpr (os::hasThreads) {
        if (m.local.earmark.block && (block = runtime().heap.allocateEarmarked(m.local, n, flags))) {
            return block;
        }
    }
    Trying attempt(
        size,
        [&](Shortage& now) {
            block = runtime().heap.allocateSlow(m.local, n, flags, now);
            return block != nullptr;
        },
        shortage);
    relieve(m, attempt);
    if constexpr (os::hasThreads) {
        if (!block && attempt.shortage != Shortage::tooBig) {
            runtime().collector.noteRefused(m, n);
        }
    }
    return block;
}
} // namespace

void* allocateSlow(Mutator& m, std::size_t n, Byte flags, std::size_t size) {
    Runtime& rt = runtime();
    if (rt.heap.someWait()) [[unlikely]] {
        rt.collector.makeWay(m);
    }
    Shortage shortage = Shortage::none;
    void* block = rt.heap.allocateInContext(m.local, n, flags, shortage);
    if (!block) [[unlikely]] {
        block = allocateShort(m, n, flags, size, shortage);
    }
    if (rt.heap.poisons()) [[unlikely]] {
        rt.heap.unearth(block, n);
    }
    if constexpr (os::hasThreads) {
        if (origins.isOpen()) [[unlikely]] {
            origins.note(block);
        }
    }
    if (m.local.batch && !head::isLeaf(flags) && !rt.heap.isPrivate(m.local, block)) [[unlikely]] {
        Heap::keepBatch(m.local, mpr::heap::Kept::outside); // plain stores may fill it, and nobody would look
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

namespace mpr::gc {
namespace {

/** @param size Bytes, manager included. */
MPR_INLINE void* allocateInline(std::size_t size, Byte flags, const char* function) {
    Mutator* m = caller();
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

/** For mprRealloc. A large block that grows gets slack, so that it does not move at each step. @param size As above. */
void* allocateToGrow(std::size_t size, Byte kind, bool grows) {
    if constexpr (os::hasPages) {
        Heap& heap = runtime().heap;
        const std::size_t n = granulesFor(size);
        if (const std::size_t slack = grows ? heap.slackFor(n) : 0) {
            const Optional optional;
            if (void* block = allocate((n + slack) << granuleShift, kind, "mprRealloc")) {
                heap.keepSlack(caller()->local, block, n);
                return block;
            }
        }
    }
    return allocate(size, kind, "mprRealloc");
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
    if constexpr (!os::hasThreads) {
        // Code memory is scarce, so there is one text for all. A pinned block's region is another.
        Region* known = runtime().heap.regionOfBlock(ptr);
        if (known == runtime().heap.firstRegion()) {
            return known;
        }
        misuse(function, ptr, "not managed memory, or not the start of a block in use");
        return nullptr;
    }
    Region* region = runtime().heap.find(ptr);
    if (region && !region->home.heap() && region->isBlock(ptr)) [[likely]] {
        return region;
    }
    const mpr::heap::Annex* annex = os::hasThreads ? runtime().heap.annex() : nullptr;
    if (annex && annex->find(ptr).region) {
        misuse(function, ptr, "a pinned block: it keeps its size, and has no manager; mprFree frees it");
        return nullptr;
    }
    misuse(function, ptr,
           region || (annex && annex->contains(ptr))
               ? "not the start of a block in use: freed before, or a pointer into a block"
               : "not managed memory: no region of the heap has this address");
    return nullptr;
}
} // namespace
} // namespace mpr::gc

void* mprAlloc(size_t size) {
    return allocateInline(size, static_cast<Byte>(Kind::leaf), "mprAlloc");
}

void* mprAllocFast(size_t usize) {
    return mprAlloc(usize);
}

void* mprAllocZeroed(size_t size) {
    void* block = allocate(size, static_cast<Byte>(Kind::leaf), "mprAllocZeroed");
    if (block) {
        runtime().heap.zero(block, size);
    }
    return block;
}

namespace mpr::gc {
namespace {
/**
    The part of mprAllocManaged that is not inline: large or held blocks, managers away from their home, and
    whenever the heap has to be asked. It is called last, so that mprAllocManaged needs no frame on its stack.
 */
[[gnu::noinline]] void* allocateManaged(size_t size, MprManager manager, int flags) {
    Byte bits = static_cast<Byte>((flags & MPR_ALLOC_HOLD) ? head::held : 0);
    const bool room = manager || (flags & MPR_ALLOC_MANAGER);
    if (!os::hasThreads && !admitRunning("mprAllocMem")) {
        return nullptr; // its managers are in the heap
    }
    const std::uintptr_t code = codeOf(manager);
    if (manager && code == Managers::noCode) {
        return nullptr;
    }
    if (os::hasThreads && manager && current) {
        current->managers.learn(manager, code);
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
            // Managers look as far as mprGetBlockSize says.
            runtime().heap.zero(block, granulesFor(whole) << granuleShift);
        }
        if (room) {
            setManager(block, granulesFor(whole), code);
        }
        if (os::hasThreads && (flags & MPR_ALLOC_HOLD)) {
            // A manager may not look before the block is filled.
            room ? Heap::keepBatch(current->local, mpr::heap::Kept::outside) : publish(block);
        }
    }
    return block;
}

/** The part of mprAllocManaged that is inline. @param others Flags that it leaves to others. @return nullptr: so it did. */
template <int others>
MPR_INLINE void* allocateSmallManaged(size_t size, MprManager manager, int flags) {
    constexpr std::size_t most = (mpr::heap::greatestSmall << granuleShift) - sizeof(MprManager);
    if constexpr (os::hasThreads) {
        Mutator* m = current;
        const Managers::Word* code = nullptr;
        if (m && size <= most && (flags & others) == 0 && (code = m->managers.codeOf(manager))) {
            const std::size_t n = granulesFor(size + sizeof(MprManager));
            if (void* block = runtime().heap.allocateSmall(m->local, n, kindOf(flags))) [[likely]] {
                setManager(block, n, *code);
                return block;
            }
        }
    }
    return nullptr;
}

/** mprAllocManaged for MPR_ALLOC_ZERO. No manager looks at the block before this returns: its thread does not yield. */
[[gnu::noinline]] void* allocateZeroed(size_t size, MprManager manager, int flags) {
    if (void* block = allocateSmallManaged<MPR_ALLOC_HOLD>(size, manager, flags)) [[likely]] {
        return std::memset(block, 0, (granulesFor(size + sizeof(MprManager)) << granuleShift) - sizeof(MprManager));
    }
    return allocateManaged(size, manager, flags);
}
} // namespace
} // namespace mpr::gc

void* mprAllocManaged(size_t size, MprManager manager, int flags) {
    if (void* block = allocateSmallManaged<MPR_ALLOC_HOLD | MPR_ALLOC_ZERO>(size, manager, flags)) [[likely]] {
        return block;
    }
    if (os::hasThreads && (flags & MPR_ALLOC_ZERO)) {
        return allocateZeroed(size, manager, flags);
    }
    return allocateManaged(size, manager, flags);
}

void* mprAllocMem(size_t size, int flags) {
    return allocateManaged(size, nullptr, flags);
}

namespace mpr::gc {
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
    m.beingFreed.enter(ptr);
    publish(ptr); // it may yield
    manager(ptr, MPR_MANAGE_FREE);
    m.beingFreed.leave();
    m.calledBack = was;
    if (os::hasThreads && !current) [[unlikely]] {
        misuse("mprFree", ptr, "its manager has returned yielded or exempt");
        runtime().collector.resume(m);
    }
}

/**
    Whether mprFree's hold is still there when the manager has returned. If another thread has released it, the block may
    have gone meanwhile, with its region, and another may stand there.
 */
bool isStillHeld(Region* region, void* ptr) {
    if constexpr (!os::hasThreads) {
        return true; // nobody else releases it, and what the manager tries is refused
    }
    if (runtime().heap.table().candidate(ptr) == region) [[likely]] {
        const Byte h = region->map().get(region->granuleOf(ptr));
        if (Region::isBlock(h) && (h & head::held)) [[likely]] {
            return true;
        }
    }
    return false;
}

/** mprFree's hold has gone. @return 0: the manager has left the block to the collector. */
int notHeld(Mutator& m, const void* ptr) {
    if (m.beingFreed.takeLeft(ptr)) {
        return 0;
    }
    misuse("mprFree", ptr, "another thread has released the block while its manager ran; it is left as it is");
    return MPR_ERR_BAD_ARGS;
}

/**
    Call the manager of a block that is freed by hand. The manager may yield, for example in a lock, so nobody else may
    free the block meanwhile. @return 1: the block is to be freed; if not, what mprFree returns: the manager has left it to
    the collector, or another thread is freeing it already, or has released it.
 */
int freeByManager(Mutator& m, Region* region, void* ptr, MprManager manager) {
    Heap& heap = runtime().heap;
    const Byte before = heap.changeHead(region, ptr, head::held, 0);
    if (os::hasThreads && (before & (head::inUse | head::held)) != head::inUse) {
        return freedMeanwhile(ptr);
    }
    callToFree(m, ptr, manager);
    if (!isStillHeld(region, ptr)) {
        return notHeld(m, ptr);
    }
    heap.changeHead(region, ptr, 0, head::held);
    return 1;
}

bool isRoot(const void* ptr, Byte h) {
    return (h & head::referenced) && runtime().roots.isRoot(ptr);
}

/** Why a block with this head may not be freed by hand, or nullptr. */
const char* keeperOf(void* ptr, Byte h, Region* region) {
    if (isRoot(ptr, h)) {
        return "the block is a root; remove it first";
    }
    if (h & head::held) {
        return "the block is held; release it first";
    }
    if constexpr (os::hasThreads) {
        if (runtime().heap.poisons() && hasManager(h)) {
            return Keeper::askAll(managerOf(ptr, region->blockSize(region->granuleOf(ptr))), ptr);
        }
    }
    return nullptr;
}

/** Whom to tell that a block with this head is freed by hand; nullptr: nobody. */
const HandleHooks* handlesOf(Byte h) {
    return !os::hasThreads || (h & head::referenced) ? runtime().roots.handles() : nullptr;
}

/** A block's manager has been called: references to the block, made by the manager or not, end with it. */
void endReferences(Region* region, void* ptr) {
    constexpr const char* kept = "its manager has kept the block, which ends"; // boards have one text for both
    const Byte h = region->map().get(region->granuleOf(ptr));
    while (isRoot(ptr, h) && runtime().roots.remove(runtime().heap, ptr)) {
        misuse("mprFree", ptr, os::hasThreads ? "its manager has made the block a root, which ends" : kept);
    }
    if ((h & head::referenced) && runtime().roots.endHolds(runtime().heap, ptr)) {
        misuse("mprFree", ptr, os::hasThreads ? "its manager has held the block, which ends" : kept);
    }
    if (const HandleHooks* handles = handlesOf(h)) {
        handles->released(ptr);
    }
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

/**
    Found dead by the collection that is running: the block belongs to the sweep, and its manager has been or will be
    called. Managers of what dies with it may say so once more; others have used it too long.
 */
int freeDoomed(const Mutator& m, const void* ptr) {
    if (runtime().heap.poisons() && !m.isCollector && !m.beingFreed.any() && !runtime().heap.ends()) {
        misuse("mprFree", ptr, "a block that a collection has found dead: nothing rooted it when its thread yielded");
        return MPR_ERR_BAD_ARGS;
    }
    return 0;
}

/** The slow part of mprFree: calls managers, names misuse, handles large regions. */
[[gnu::noinline]] int freeUnusual(void* ptr) {
    if (!ptr) {
        return 0;
    }
    if (!admitRunning("mprFree")) {
        return MPR_ERR_BAD_ARGS;
    }
    Heap& heap = runtime().heap;
    if (const mpr::heap::Annex* annex = heap.annex()) [[unlikely]] {
        if (const int freed = annex->free(ptr); freed <= 0) {
            return freed;
        }
    }
    Region* region = checked("mprFree", ptr);
    if (!region) {
        return MPR_ERR_BAD_ARGS;
    }
    Mutator* m = current;
    const std::size_t g = region->granuleOf(ptr);
    const Byte h = region->map().get(g);
    if (!Region::isBlock(h)) [[unlikely]] {
        return freedMeanwhile(ptr);
    }
    if (const char* keeper = keeperOf(ptr, h, region)) [[unlikely]] {
        misuse("mprFree", ptr, keeper);
        return MPR_ERR_BAD_ARGS;
    }
    if (runtime().collector.isDoomed(h)) [[unlikely]] {
        return freeDoomed(*m, ptr);
    }
    const HandleHooks* handles = handlesOf(h);
    if (handles && !handles->release(ptr)) {
        return MPR_ERR_BAD_ARGS;
    }
    if (hasManager(h)) {
        if (const MprManager manager = managerOf(ptr, region->blockSize(g));
            manager && (h & head::kindMask) != static_cast<Byte>(Kind::barrierNoFree)) {
            if (const int freed = freeByManager(*m, region, ptr, manager); freed <= 0) {
                return freed;
            }
        }
        endReferences(region, ptr);
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
    region->spans.keep(region->granuleOf(ptr));
    if (!manager || heap.freeable(h) == Heap::Freeable::no || !GranuleMap::change(map, h, held)) [[unlikely]] {
        return freeUnusual(ptr);
    }
    callToFree(m, ptr, manager);
    if (!isStillHeld(region, ptr)) {
        return notHeld(m, ptr);
    }
    if (heap.freeable(h) != Heap::Freeable::no && GranuleMap::claim(map, held)) [[likely]] {
        return heap.freeClaimed(m.local, region, ptr, map, n);
    }
    heap.changeHead(region, ptr, 0, head::held);
    endReferences(region, ptr);
    return heap.freeTraced({region, region->granuleOf(ptr)}) ? 0 : freeCalled(m, region, ptr);
}

} // namespace
} // namespace mpr::gc

int mprFree(void* ptr) {
    Mutator* m = caller();
    Heap& heap = runtime().heap;
    Region* region = m ? heap.table().candidate(ptr) : nullptr;
    if (!region) [[unlikely]] {
        return freeUnusual(ptr);
    }
    const std::size_t g = region->indexOf(ptr);
    if (g >= region->endGranule || region->isApart()) [[unlikely]] {
        return freeUnusual(ptr);
    }
    Byte* map = region->map().at(g);
    const Byte h = GranuleMap::load(map);
    const std::size_t n = GranuleMap::sizeBehind(map);
    const Heap::Freeable freeable = heap.freeable(h);
    if (freeable == Heap::Freeable::no || region->spans.isUncleared(g)) [[unlikely]] {
        return freeUnusual(ptr);
    }
    if (freeable == Heap::Freeable::withoutManager && isManaged(ptr, n)) [[unlikely]] {
        return os::hasThreads ? freeManaged(ptr, region) : freeUnusual(ptr);
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
    Byte h = region->map().get(g);
    const bool managed = hasManager(h);
    if (size > Heap::greatestRequest) {
        return allocateTooBig(size);
    }
    if ((h & head::held) && m->beingFreed.has(ptr)) [[unlikely]] {
        misuse("mprRealloc", ptr, "called by the block's manager while mprFree frees the block");
        return nullptr;
    }
    const std::size_t n = region->blockSize(g);
    const std::size_t whole = size + (managed ? sizeof(MprManager) : 0);
    const std::size_t wanted = granulesFor(whole + (whole == 0));
    const MprManager manager = managed ? managerOf(ptr, n) : nullptr;
    if (runtime().heap.resize(m->local, region, ptr, wanted)) {
        if (managed) {
            setManager(ptr, region->blockSize(g), codeOf(manager));
        }
        if (runtime().heap.needsAttention()) {
            attend(*m, size);
        }
        return ptr;
    }
    void* block = allocateToGrow(whole, static_cast<Byte>(h & head::kindMask), wanted > n);
    if (block) {
        h = region->map().get(g); // the notifier may have made it a root, or held it
        std::memcpy(block, ptr, std::min(size, usable(region, g, h)));
        if (managed) {
            setManager(block, granulesFor(whole), codeOf(manager));
        }
        if (os::hasThreads && managed && (h & (head::referenced | head::held))) {
            Heap::keepBatch(m->local, mpr::heap::Kept::outside); // no manager may look at it before it is filled
        }
        // A manager may resize what its block refers to, and both are dead. The end of a hold would have it live, but
        // when the runtime ends.
        const auto& collector = runtime().collector;
        const bool doomed = runtime().heap.ends() ? collector.isDoomed(h) : collector.isLost(h);
        if (!doomed && (h & (head::referenced | head::held))) {
            publish(block);
            runtime().roots.move(runtime().heap, {region, g}, Place::of(runtime().heap.find(block), block));
        }
        if (const HandleHooks* handles = handlesOf(h)) {
            handles->move(ptr, block);
        }
        Heap& heap = runtime().heap;
        if (doomed) {
            heap.leaveDead({region, g});
        } else if (!managed || !heap.freeTraced({region, g})) {
            heap.free(m->local, region, ptr);
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
    const std::uintptr_t code = codeOf(manager);
    if (manager && code == Managers::noCode) {
        return nullptr;
    }
    setManager(ptr, region->blockSize(g), code); // the collector may be about to look
    if (os::hasThreads && mayBePrivate(ptr)) {
        current->publisher->lookAgain(*current, ptr);
    }
    return ptr;
}

size_t mprGetBlockSize(cvoid* ptr) {
    if (!ptr || !running()) {
        return 0;
    }
    if constexpr (!os::hasThreads) {
        Region* region = runtime().heap.regionOfBlock(ptr);
        const std::size_t g = region ? region->granuleOf(ptr) : 0;
        return region ? usable(region, g, region->map().get(g)) : 0;
    }
    return runtime().heap.withBlock(ptr, [](Region* region, std::size_t g, Byte h) {
        // A manager may mark a block that another thread has just freed: the block keeps its memory until then.
        const bool known = Region::isBlock(h) || (head::isGone(h) && Marker::active());
        return known ? usable(region, g, h) : 0;
    });
}

int mprIsValid(cvoid* ptr) {
    if constexpr (!os::hasThreads) {
        return running() && runtime().heap.regionOfBlock(ptr);
    }
    return running() && runtime().heap.withBlock(ptr, [](Region*, std::size_t, Byte h) { return Region::isBlock(h); });
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

namespace mpr::gc {
namespace {

/** Allocate on a thread that does not run. */
void* allocateOutside(size_t size) {
    Runtime& rt = runtime();
    void* block = nullptr;
    Trying attempt(size, [&](Shortage& now) {
        block = rt.heap.allocateShared(granulesFor(size + (size == 0)), head::held, false, now);
        return block != nullptr;
    });
    if (size > Heap::greatestRequest) {
        rt.depletion.countError();
        return nullptr;
    }
    if (!attempt.again() && !relieveOutside(attempt)) {
        return nullptr;
    }
    if (rt.heap.needsAttention()) {
        rt.heap.tell();
        if (rt.collector.isBudgetSpent()) {
            rt.collector.budgetSpent();
        }
    }
    return block;
}

void* allocatePermanent(size_t size) {
    return !os::hasThreads || current ? mprAllocMem(size, MPR_ALLOC_HOLD) : allocateOutside(size);
}

/** Whether a block is held more than once. */
bool isHeldFurther(const void* ptr, Byte h) {
    return (h & head::referenced) && runtime().roots.isHeldFurther(ptr);
}

/** Permanent memory is a leaf with one hold, and no root. Another thread may end that hold: ending it will tell. */
bool mayBePermanent(Region* region, void* ptr) {
    const Byte h = region->map().get(region->granuleOf(ptr));
    return (h & head::held) != 0 && !hasManager(h) && !isRoot(ptr, h) && !isHeldFurther(ptr, h);
}

constexpr const char* notPermanent = "not permanent memory, or held besides";

/** Free permanent memory. @return false when the block is none, or another thread was faster. */
bool freePermanent(Region* region, void* ptr) {
    Runtime& rt = runtime();
    if (!mayBePermanent(region, ptr)) {
        return false;
    }
    const HandleHooks* handles = handlesOf(region->map().get(region->granuleOf(ptr)));
    if (handles && !handles->release(ptr)) {
        return false;
    }
    if (os::hasThreads && !current) {
        return rt.heap.freeHeld(region, ptr);
    }
    return (rt.heap.changeHead(region, ptr, 0, head::held) & head::held) != 0 &&
           rt.heap.free(attached->local, region, ptr);
}

/** Free permanent memory. A pointer to anything else is named. */
void freeChecked(void* ptr) {
    Region* region = checked("pfree", ptr);
    if (!region) {
        return;
    }
    // Asked first, since a large region may be gone when the block is free.
    const bool large = region->isLarge();
    if (!freePermanent(region, ptr)) {
        misuse("pfree", ptr, notPermanent);
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
    if (!mayBePermanent(region, ptr)) {
        misuse("prealloc", ptr, notPermanent);
        return false;
    }
    return true;
}

void* resizePermanent(void* ptr, size_t size) {
    if (!admitResizing(ptr)) {
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
} // namespace mpr::gc

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
    if (ptr && size > 0) {
        os::release(ptr, size);
    }
}

int mprGetPageSize(void) {
    return static_cast<int>(os::pageSize());
}

void* mprSetName(void* ptr, cchar*) {
    return ptr;
}
