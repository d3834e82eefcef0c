// SPDX-License-Identifier: MIT
/*
    pinned.cpp - The C API of mpr/pinned.h, and the heaps behind it: one for memory of the system, one for each range.

    Each is a second instance of the heap's structures (heap/pinned.cpp). Where there are pages its regions are entered
    into the table of the collector's heap, so that the marker finds a pinned block as it finds any, and need not know
    that it is one. A pinned block is born old, and marked: to a minor collection it is as any old block; the flip of
    the old colour, which begins a major one, makes it unmarked. What is dead is swept here, under this heap's lock.

    A range is memory of the program's. The heap of a range works in a *shadow*: as much memory of the system, of
    which the header, the map and the links of free stretches use some pages, and blocks none. A block's address is
    that in the shadow less a constant. Nothing in the heap's table leads to it, so the marker comes to Annex::find where it
    would else name the address. Without pages the shadow is the range itself: header and map come first in it.
 */
#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/pages.hpp"
#include "mpr/pinned.h"

using namespace mpr::gc;
using mpr::heap::Byte;
using mpr::heap::granulesFor;
using mpr::heap::granuleShift;
using mpr::heap::granuleSize;
using mpr::heap::Heap;
using mpr::heap::Place;
using mpr::heap::Region;
using mpr::heap::Shortage;
namespace head = mpr::heap::head;
namespace os = mpr::os;

namespace {

/**
    Blocks that were freed by hand and rest for the next of their size, so that a buffer that comes and goes takes no search
    and no joining with neighbours. In the map they are 7D, as what is in quick lists, and count as in use until they
    are taken out for good: before a sweep, a count, or when memory is short.
 */
class Resting {
public:
    /** @return false: there are enough, or the block is large. */
    bool put(Place at) {
        const os::Locked locked(lock_);
        if (count_ == most || at.region->blockSize(at.granule) > greatest) {
            return false;
        }
        places_[count_++] = at;
        return true;
    }
    /** A block of n granules at an alignment; its head is set. @return nullptr: there is none. */
    Byte* take(std::size_t n, std::size_t alignment, Byte h) {
        const os::Locked locked(lock_);
        for (unsigned i = count_; i > 0 && count_ - i < asked; --i) {
            const Place at = places_[i - 1];
            Byte* block = at.address();
            if (at.region->blockSize(at.granule) == n &&
                (reinterpret_cast<std::uintptr_t>(block) & (alignment - 1)) == 0) {
                places_[i - 1] = places_[--count_];
                ++reused_;
                at.region->map().set(at.granule, h);
                return block;
            }
        }
        return nullptr;
    }
    /** Give all back to their heap. @return How often a block was taken. */
    std::uint64_t flush(Heap& heap) {
        Place places[most];
        unsigned count = 0;
        std::uint64_t reused = 0;
        {
            const os::Locked locked(lock_);
            count = std::exchange(count_, 0);
            std::copy_n(places_, count, places);
            reused = reused_;
        }
        for (unsigned i = 0; i < count; ++i) {
            heap.freePinned(places[i]);
        }
        return reused;
    }

private:
    static constexpr unsigned most = 16;
    static constexpr std::size_t greatest = (std::size_t{64} << 10) >> granuleShift;
    static constexpr unsigned asked = 4; // from the one that came last

    os::Lock lock_;
    Place places_[most] = {};
    unsigned count_ = 0;
    std::uint64_t reused_ = 0;
};

/** Without threads, where memory is scarce. */
struct NoResting {
    static bool put(Place) { return false; }
    static Byte* take(std::size_t, std::size_t, Byte) { return nullptr; }
    static std::uint64_t flush(Heap&) { return 0; }
};

struct Pool {
    Heap heap;
    [[no_unique_address]] std::conditional_t<os::hasThreads, Resting, NoResting> resting;
    // What follows is set before the pool can be found, except the last four.
    std::uintptr_t base = 0, size = 0; // of a range; 0: memory from the system
    std::uintptr_t toShadow = 0;       // what an address in the range differs by from that in the shadow
    Region* region = nullptr;          // the one of a range
    void* shadow = nullptr;            // to be released
    std::size_t shadowSize = 0;
    char name[16] = {};
    os::Shared<Pool*> next{nullptr};
    // Used on duty:
    bool sweeps = false;
    Region* sweeping = nullptr;
    std::size_t at = 0;
    os::Counter collected{0}; // a statistic

    bool isRange() const { return size != 0; }
    bool contains(const void* address) const { return reinterpret_cast<std::uintptr_t>(address) - base < size; }
    const void* inShadow(const void* address) const {
        return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(address) + toShadow);
    }
    void* inRange(const void* address) const {
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) - toShadow);
    }
};

/** Allocated bytes after which a major collection is requested: at least these, and at least as many as live. */
constexpr std::size_t leastTrigger = std::size_t{8} << 20;

/** Bytes of large blocks freed by hand that may stay committed for the next ones. */
constexpr std::size_t mostRetired = std::size_t{4} << 20;

/** Give the others back. */
void giveRetired(Heap& heap) {
    if (os::hasPages && heap.retiredBytes() > mostRetired) {
        heap.decommitRetired();
    }
}

// Pools are added under the lock and stay until the runtime ends. Release and acquire: a thread that finds one sees it complete.
constinit os::Lock adding;
constinit os::Shared<Pool*> ownPool{nullptr}; // of memory from the system
constinit os::Shared<Pool*> ranges{nullptr};  // the first that was added; others follow it

template <typename F>
void forEach(F&& f) {
    if (Pool* pool = os::hasPages ? ownPool.load(std::memory_order_acquire) : nullptr) {
        f(*pool);
    }
    for (Pool* pool = ranges.load(std::memory_order_acquire); pool; pool = pool->next.load(std::memory_order_acquire)) {
        f(*pool);
    }
}

Pool* rangeOf(const void* address) {
    Pool* pool = ranges.load(std::memory_order_acquire);
    while (pool && !pool->contains(address)) {
        pool = pool->next.load(std::memory_order_acquire);
    }
    return pool;
}

// ---- Calls of the collector: heap/annex.hpp ----------------------------------------------------------------------

/** The region of an address, which is moved to the shadow if it lies in a range; nullptr: no pinned block is there. */
Region* regionOf(const void*& address) {
    if constexpr (os::hasPages) {
        if (Region* region = runtime().heap.table().candidate(address)) {
            if (region->home.heap()) {
                return region;
            }
        }
    }
    const Pool* pool = rangeOf(address);
    if (!pool) {
        return nullptr;
    }
    address = pool->inShadow(address);
    return pool->region;
}

Place find(const void* address) {
    Region* region = regionOf(address);
    return region && region->isBlock(address) ? Place::of(region, address) : Place{};
}

bool contains(const void* address) {
    return regionOf(address) != nullptr;
}

/** For ranges: the collector's heap finds other pinned blocks by itself. */
void* around(const void* address) {
    Pool* pool = rangeOf(address);
    void* block = pool ? pool->heap.blockAround(pool->inShadow(address)) : nullptr;
    return block ? pool->inRange(block) : nullptr;
}

Pool& poolOf(Place at) {
    if constexpr (os::hasPages) {
        return *reinterpret_cast<Pool*>(at.region->home.heap()); // which it begins with
    }
    return *rangeOf(at.address());
}

/** Claim a block that is to be freed by hand. @return 0, MPR_ERR_BAD_ARGS (named), or 1: it belongs to the sweep. */
int claim(const char* function, Place at, const void* block) {
    Runtime& rt = runtime();
    const Byte h = at.head();
    const HandleHooks* handles = !os::hasThreads || (h & head::referenced) ? rt.roots.handles() : nullptr;
    const char* why = (h & head::held)                                   ? "the block is held; release it first"
                      : (h & head::referenced) && rt.roots.isRoot(block) ? "the block is a root; remove it first"
                                                                         : nullptr;
    if (why) {
        misuse(function, block, why);
        return MPR_ERR_BAD_ARGS;
    }
    if (rt.collector.isDoomed(h)) {
        return 1;
    }
    if (handles && !handles->release(block)) {
        return MPR_ERR_BAD_ARGS;
    }
    if (!at.region->map().claim(at.granule)) {
        misuse(function, block, "another thread has just freed the block");
        return MPR_ERR_BAD_ARGS;
    }
    return 0;
}

int freeBlock(void* block) {
    const Place at = find(block);
    if (!at.region) {
        return 1;
    }
    const int result = claim("mprFree", at, block);
    if (result == 0) {
        Pool& pool = poolOf(at);
        Heap& heap = pool.heap;
        const bool large = at.region->isLarge();
        if (!heap.poisons() && pool.resting.put(at)) {
            return 0;
        }
        heap.freePinned(at);
        if (large) {
            giveRetired(heap);
        }
    }
    return result < 0 ? result : 0;
}

std::size_t leastTriggerOf(const Pool& pool) {
    return pool.isRange() ? pool.size / 2 : leastTrigger;
}

/** Without threads. A block references nothing, so that is all. */
[[maybe_unused]] bool mark(const void* address) {
    const Place at = find(address);
    if (at.region) {
        at.region->map().set(at.granule, runtime().heap.colours().survivor(at.head()));
    }
    return at.region != nullptr;
}

/** Without threads, in one go. */
[[maybe_unused]] void sweep() {
    forEach([](Pool& pool) {
        Heap::Swept swept;
        pool.heap.beginPinnedSweep(runtime().heap.colours(), runtime().roots.incomplete());
        pool.heap.sweepSlice(pool.region, pool.region->firstGranule, swept);
        pool.heap.endPinnedSweep(leastTriggerOf(pool));
        pool.collected.fetch_add(swept.blocks, std::memory_order_relaxed);
    });
}

void beginSweep(bool retain) {
    forEach([=](Pool& pool) {
        pool.resting.flush(pool.heap);
        pool.heap.beginPinnedSweep(runtime().heap.colours(), retain);
        pool.heap.sealGone();
        pool.sweeps = true;
        pool.sweeping = pool.heap.firstRegion();
        pool.at = 0;
    });
}

/** @return false when the pool is swept. */
bool sweepSome(Pool& pool, Heap::Swept& swept) {
    Region* region = pool.sweeping;
    if (!region) {
        return false;
    }
    if (region->isLarge()) {
        pool.heap.sweepLarge(region, swept);
    } else {
        const std::size_t from = pool.at > 0 ? pool.at : region->firstGranule;
        pool.at = pool.heap.sweepSlice(region, from, swept);
    }
    if (region->isLarge() || pool.at >= region->endGranule) {
        pool.sweeping = pool.heap.nextRegion(region);
        pool.at = 0;
    }
    return true;
}

bool sweepSome(std::size_t& blocks) {
    bool some = false;
    forEach([&](Pool& pool) {
        if (!some && pool.sweeps) {
            Heap::Swept swept;
            some = sweepSome(pool, swept);
            blocks += swept.blocks;
            pool.collected.fetch_add(swept.blocks, std::memory_order_relaxed);
        }
    });
    return some;
}

void endSweep(std::size_t keep) {
    forEach([=](Pool& pool) {
        if (!pool.sweeps) {
            return; // it was added meanwhile
        }
        pool.sweeps = false;
        pool.heap.endPinnedSweep(leastTriggerOf(pool));
        pool.heap.releaseGone();
        if (!pool.isRange()) {
            pool.heap.purge(keep);
        }
    });
}

int verify() {
    int defects = 0;
    forEach([&](Pool& pool) {
        pool.resting.flush(pool.heap);
        defects += pool.heap.verify();
    });
    return defects;
}

void tell() {
    forEach([](Pool& pool) { pool.heap.tell(); });
}

struct Visitor {
    void (*visit)(void* context, Byte* block, std::size_t n, Byte h);
    void* context;
    const Pool* pool;
};

void forEachBlock(void (*visit)(void* context, Byte* block, std::size_t n, Byte h), void* context) {
    forEach([=](Pool& pool) {
        Visitor visitor{visit, context, &pool};
        pool.heap.forEachBlock(
            [](void* of, Byte* block, std::size_t n, Byte h) {
                const auto& v = *static_cast<Visitor*>(of);
                v.visit(v.context, static_cast<Byte*>(v.pool->inRange(block)), n, h);
            },
            &visitor);
    });
}

std::size_t blocks() {
    std::size_t count = 0;
    forEach([&](Pool& pool) {
        const mpr::heap::Totals totals = pool.heap.totals();
        count += static_cast<std::size_t>(totals.blocksAllocated - totals.blocksFreed);
    });
    return count;
}

std::uint64_t reserved() {
    std::uint64_t bytes = 0;
    forEach([&](Pool& pool) { bytes += pool.isRange() ? 0 : pool.heap.usage().reserved; });
    return bytes;
}

std::size_t recordSize() {
    return mpr::heap::roundUp(sizeof(Pool), os::pageSize());
}

void release(Pool* pool) {
    pool->heap.close();
    void* shadow = pool->shadow;
    const std::size_t size = pool->shadowSize;
    pool->~Pool();
    if (shadow) {
        os::release(shadow, size);
    }
    os::release(pool, recordSize());
}

void close() {
    runtime().heap.setAnnex(nullptr);
    Pool* next = ranges.exchange(nullptr, std::memory_order_relaxed);
    if (Pool* pool = ownPool.exchange(nullptr, std::memory_order_relaxed)) {
        release(pool);
    }
    while (Pool* pool = next) {
        next = pool->next.load(std::memory_order_relaxed);
        release(pool);
    }
}

/** Without threads few are asked for. */
constexpr mpr::heap::Annex annexOfPools = [] {
    mpr::heap::Annex all{};
    all.find = find;
    all.free = freeBlock;
    all.around = around;
    if constexpr (os::hasThreads) {
        all.contains = contains;
        all.beginSweep = beginSweep;
        all.sweepSome = sweepSome;
        all.endSweep = endSweep;
        all.verify = verify;
        all.tell = tell;
        all.forEachBlock = forEachBlock;
        all.blocks = blocks;
        all.reserved = reserved;
        all.close = close;
    } else {
        all.mark = mark;
        all.sweep = sweep;
    }
    return all;
}();

// ---- Making pools -------------------------------------------------------------------------------------------------

Pool* makePool() {
    if constexpr (os::hasPages) {
        void* memory = os::map(recordSize(), MPR_MAP_READ | MPR_MAP_WRITE);
        return memory ? new (memory) Pool : nullptr;
    }
    // The pool ends when the runtime and its buffer do.
    Shortage shortage = Shortage::none;
    void* memory = runtime().heap.allocateShared(granulesFor(sizeof(Pool)), head::held, true, shortage);
    return memory ? new (memory) Pool : nullptr;
}

/** Pinned blocks are known to the collector from here on. A pool that was found before had no block. */
void announce() {
    if (!runtime().heap.annex()) {
        if constexpr (!os::hasPages) {
            ranges.store(nullptr, std::memory_order_relaxed); // what was there has gone with its runtime
        }
        runtime().heap.setAnnex(&annexOfPools);
    }
}

/** The pool of memory from the system. @return nullptr: there is none, for want of memory. */
Pool* openOwn(Shortage& shortage) {
    const os::Locked locked(adding);
    if (Pool* pool = ownPool.load(std::memory_order_relaxed)) {
        return pool;
    }
    Pool* pool = makePool();
    if (!pool) {
        shortage = Shortage::system;
        return nullptr;
    }
    Heap& main = runtime().heap;
    mpr::heap::Options options;
    options.regionShift = static_cast<unsigned>(std::bit_width(main.chunkBytes() * Region::chunks) - 1);
    options.poison = main.poisons();
    pool->heap.bePinned(&main);
    if (!pool->heap.open(options, nullptr, 0)) {
        shortage = Shortage::limit;
        release(pool);
        return nullptr;
    }
    pool->heap.setTrigger(leastTrigger);
    announce();
    ownPool.store(pool, std::memory_order_release);
    return pool;
}

/** Where memory of a pool without a name comes from. @return nullptr: nowhere. */
Pool* openUnnamed(Shortage& shortage) {
    if (os::hasPages && !runtime().heap.fixed()) {
        Pool* pool = ownPool.load(std::memory_order_acquire);
        return pool ? pool : openOwn(shortage);
    }
    return runtime().heap.annex() ? ranges.load(std::memory_order_acquire) : nullptr;
}

Pool* named(const char* name) {
    Pool* pool = runtime().heap.annex() ? ranges.load(std::memory_order_acquire) : nullptr;
    while (pool && std::strcmp(pool->name, name) != 0) {
        pool = pool->next.load(std::memory_order_acquire);
    }
    return pool;
}

/** Open the heap of a range whose base and size are set. @return false when there is no memory. */
bool openRange(Pool& pool, void* memory) {
    mpr::heap::Options options;
    options.poison = false; // the program's memory is not filled
    pool.heap.bePinned(nullptr);
    if constexpr (!os::hasPages) {
        if (!pool.heap.open(options, memory, pool.size)) {
            return false;
        }
        pool.region = pool.heap.firstRegion();
        return true;
    }
    // Enough for header, map and sets of lines; then blocks, as far from a page's start as in the range.
    const std::size_t page = os::pageSize();
    const std::size_t map = (pool.size >> granuleShift) + (pool.size >> (granuleShift + 4));
    const std::size_t front = mpr::heap::roundUp(Region::mapOffset() + map + map / 4, page) + page;
    pool.shadowSize = mpr::heap::roundUp(front + page + pool.size, page);
    pool.shadow = os::reserve(pool.shadowSize, page);
    if (!pool.shadow) {
        return false;
    }
    const std::uintptr_t blocks = reinterpret_cast<std::uintptr_t>(pool.shadow) + front + pool.base % page;
    if (!pool.heap.open(options, pool.shadow, blocks + pool.size - reinterpret_cast<std::uintptr_t>(pool.shadow))) {
        return false;
    }
    pool.heap.skipTo(reinterpret_cast<const void*>(blocks));
    pool.toShadow = blocks - pool.base;
    pool.region = pool.heap.firstRegion();
    return true;
}

constexpr std::size_t leastRange = 1024;
constexpr std::size_t greatestRange = os::hasPages ? ((mpr::heap::greatestGranules + 1) << granuleShift) / 4 * 3
                                                   : mpr::heap::greatestGranules << granuleShift;

/** Whether some of a range is memory that the runtime has already. */
bool isTaken(const Pool& pool) {
    const auto address = [](std::uintptr_t at) { return reinterpret_cast<const void*>(at); };
    bool taken = false;
    for (Pool* other = ranges.load(std::memory_order_relaxed); other;
         other = other->next.load(std::memory_order_relaxed)) {
        taken = taken || other->base - pool.base < pool.size || pool.base - other->base < other->size;
    }
    const Heap& heap = runtime().heap;
    return taken || heap.findField(address(pool.base)) || heap.findField(address(pool.base + pool.size - 1));
}

/** @return 0, or an error. */
int addRange(const char* name, void* memory, std::size_t size) {
    announce();
    if (size < leastRange || size > greatestRange) {
        return MPR_ERR_WONT_FIT;
    }
    if (named(name)) {
        return MPR_ERR_ALREADY_EXISTS;
    }
    Pool* pool = makePool();
    if (!pool) {
        return MPR_ERR_MEMORY;
    }
    const auto given = reinterpret_cast<std::uintptr_t>(memory);
    pool->base = mpr::heap::roundUp(given, 16);
    pool->size = (size - (pool->base - given)) & ~(granuleSize - 1);
    std::strncpy(pool->name, name, sizeof(pool->name) - 1);
    const bool taken = isTaken(*pool);
    if (taken || !openRange(*pool, memory)) {
        if constexpr (os::hasPages) {
            release(pool);
        } else {
            runtime().heap.freeShared(runtime().heap.firstRegion(), pool);
        }
        return taken ? MPR_ERR_ALREADY_EXISTS : MPR_ERR_MEMORY;
    }
    pool->heap.setTrigger(leastTriggerOf(*pool));
    os::Shared<Pool*>* last = &ranges;
    while (Pool* other = last->load(std::memory_order_relaxed)) {
        last = &other->next;
    }
    last->store(pool, std::memory_order_release);
    return 0;
}

// ---- Allocation ---------------------------------------------------------------------------------------------------

/** The request, for each block. */
struct Wanted {
    const char* function;
    std::size_t granules, alignment;
    int flags;
};

/** @return false: there is no such block (named, or told as too big). */
MPR_INLINE bool ask(const char* function, std::size_t size, std::size_t alignment, int flags, Wanted& wanted) {
    if (!admitRunning(function)) {
        return false;
    }
    alignment = alignment == 0 ? 16 : alignment;
    if ((alignment & (alignment - 1)) != 0 || alignment < 16 || (alignment > 4096 && alignment > os::pageSize())) {
        misuse(function, nullptr, "an alignment must be a power of two from 16 to 4096, or to a page");
        return false;
    }
    if ((flags & ~(MPR_ALLOC_ZERO | MPR_ALLOC_HOLD)) != 0) {
        misuse(function, nullptr, "a pinned block has no manager; flags are MPR_ALLOC_ZERO and MPR_ALLOC_HOLD");
        return false;
    }
    if (size > Heap::greatestRequest) {
        allocateTooBig(size);
        return false;
    }
    wanted = {function, granulesFor(size + (size == 0)), alignment, flags};
    return true;
}

MPR_INLINE unsigned allocateFrom(Pool& pool, void** to, unsigned count, const Wanted& wanted, Shortage& shortage) {
    // Old, marked and never in the remembered set. Colours change while this thread is stopped.
    const int bits = head::inUse | head::remembered | ((wanted.flags & MPR_ALLOC_HOLD) ? head::held : 0);
    const Byte h = runtime().heap.colours().survivor(static_cast<Byte>(bits));
    if (os::hasThreads && count == 1) {
        if (Byte* block = pool.resting.take(wanted.granules, wanted.alignment, h)) {
            *to = block;
            return 1;
        }
    }
    return pool.heap.allocateAligned(to, count, wanted.granules, wanted.alignment, h, current->local.privileged(),
                                     shortage);
}

/** Memory is short: wait for what is being freed, ask for a collection, tell the program. */
[[gnu::noinline]] unsigned allocateShort(Pool*& pool, void** to, unsigned count, const Wanted& wanted,
                                         Shortage shortage) {
    Runtime& rt = runtime();
    Mutator& m = *current;
    unsigned made = 0;
    const unsigned refused = os::refusals();
    const auto again = [&] {
        if (pool) {
            pool->resting.flush(pool->heap);
        }
        pool = pool ? pool : openUnnamed(shortage);
        made += pool ? allocateFrom(*pool, to + made, count - made, wanted, shortage) : 0;
        return made == count;
    };
    if (os::hasThreads && ((pool && again()) || (rt.collector.awaitSweep(m) && again()))) {
        return made;
    }
    rt.collector.emergency(m);
    if (os::hasThreads && again()) {
        return made;
    }
    if (!pool || !pool->isRange()) {
        const std::size_t size = wanted.granules << granuleShift;
        if (rt.collector.makeRoom(m, size) && again()) {
            return made;
        }
        if (rt.depletion.raise(m, causeOf(shortage, os::refusals() != refused), size)) {
            rt.heap.decommitRetired();
            if (again()) {
                return made;
            }
            rt.heap.noteRefused(size);
        }
    }
    rt.depletion.countError();
    return made;
}

/** See to what an allocation has made necessary, and hand the blocks out. */
void finish(const Pool& pool, void** blocks, unsigned made, const Wanted& wanted) {
    for (unsigned i = 0; i < made && (pool.isRange() || (wanted.flags & MPR_ALLOC_ZERO)); ++i) {
        blocks[i] = pool.inRange(blocks[i]);
        if (wanted.flags & MPR_ALLOC_ZERO) {
            std::memset(blocks[i], 0, wanted.granules << granuleShift);
        }
    }
}

unsigned allocate(Pool* pool, void** blocks, unsigned count, const Wanted& wanted) {
    Runtime& rt = runtime();
    if (!pool && rt.heap.fixed()) [[unlikely]] {
        misuse(wanted.function, nullptr, "there is no range for it; see mprAddPinnedRange");
        return 0;
    }
    Shortage shortage = pool ? Shortage::none : Shortage::limit;
    unsigned made = pool ? allocateFrom(*pool, blocks, count, wanted, shortage) : 0;
    if (made < count) [[unlikely]] {
        made += allocateShort(pool, blocks + made, count - made, wanted, shortage);
    }
    if (!pool) {
        return 0;
    }
    finish(*pool, blocks, made, wanted);
    // While collections are off the call stands.
    if (pool->heap.needsAttention() && rt.collector.enabled() && pool->heap.takeAttention().budgetSpent) [[unlikely]] {
        rt.collector.majorIsDue();
    }
    if (rt.heap.needsAttention()) [[unlikely]] {
        attend(*current, wanted.granules << granuleShift);
    }
    return made;
}

void* allocateOne(Pool* pool, const Wanted& wanted) {
    void* block = nullptr;
    return allocate(pool, &block, 1, wanted) > 0 ? block : nullptr;
}

int allocateBatch(Pool* pool, int count, Wanted wanted, void** blocks) {
    // So that they lie side by side: unless that takes more than an eighth of each.
    const std::size_t unit = wanted.alignment >> granuleShift;
    const std::size_t rounded = mpr::heap::roundUp(wanted.granules, unit);
    wanted.granules = rounded - wanted.granules <= wanted.granules / 8 ? rounded : wanted.granules;
    const unsigned made = allocate(pool, blocks, static_cast<unsigned>(count), wanted);
    std::fill(blocks + made, blocks + count, nullptr);
    return static_cast<int>(made);
}

/** The pool of a name; otherwise names the wrong call. */
Pool* findNamed(const char* function, const char* name) {
    Pool* pool = name ? named(name) : nullptr;
    if (!pool) {
        misuse(function, name, "there is no range of that name; see mprAddPinnedRange");
    }
    return pool;
}

} // namespace

void* mprAllocPinned(size_t size, size_t alignment, int flags) {
    Wanted wanted;
    if (!ask("mprAllocPinned", size, alignment, flags, wanted)) {
        return nullptr;
    }
    Shortage shortage = Shortage::none;
    return allocateOne(openUnnamed(shortage), wanted);
}

void* mprAllocPinnedIn(cchar* name, size_t size, size_t alignment, int flags) {
    Wanted wanted;
    if (!ask("mprAllocPinnedIn", size, alignment, flags, wanted)) {
        return nullptr;
    }
    Pool* pool = findNamed("mprAllocPinnedIn", name);
    return pool ? allocateOne(pool, wanted) : nullptr;
}

int mprAllocPinnedBatch(int count, size_t size, size_t alignment, int flags, void** blocks) {
    Wanted wanted;
    if (count <= 0 || !mayFill("mprAllocPinnedBatch", blocks)) {
        return 0;
    }
    std::fill(blocks, blocks + count, nullptr);
    if (!ask("mprAllocPinnedBatch", size, alignment, flags, wanted)) {
        return 0;
    }
    Shortage shortage = Shortage::none;
    return allocateBatch(openUnnamed(shortage), count, wanted, blocks);
}

int mprAllocPinnedBatchIn(cchar* name, int count, size_t size, size_t alignment, int flags, void** blocks) {
    Wanted wanted;
    if (count <= 0 || !mayFill("mprAllocPinnedBatchIn", blocks)) {
        return 0;
    }
    std::fill(blocks, blocks + count, nullptr);
    if (!ask("mprAllocPinnedBatchIn", size, alignment, flags, wanted)) {
        return 0;
    }
    Pool* pool = findNamed("mprAllocPinnedBatchIn", name);
    return pool ? allocateBatch(pool, count, wanted, blocks) : 0;
}

int mprFreePinnedBatch(int count, void* const* blocks) {
    if (!admitRunning("mprFreePinnedBatch") || (count > 0 && !mayFill("mprFreePinnedBatch", blocks))) {
        return MPR_ERR_BAD_ARGS;
    }
    constexpr int most = os::hasThreads ? 64 : 8;
    Place claimed[most];
    int result = 0;
    for (int i = 0; i < count;) {
        unsigned n = 0;
        Heap* heap = nullptr;
        for (; i < count && n < most; ++i) {
            if (!blocks[i]) {
                continue;
            }
            const Place at = runtime().heap.annex() ? find(blocks[i]) : Place{};
            if (!at.region) {
                misuse("mprFreePinnedBatch", blocks[i], "not a pinned block in use");
                result = MPR_ERR_BAD_ARGS;
                continue;
            }
            if (heap && heap != &poolOf(at).heap) {
                break;
            }
            const int refused = claim("mprFreePinnedBatch", at, blocks[i]);
            result = refused < 0 ? refused : result;
            if (refused == 0) {
                heap = &poolOf(at).heap;
                claimed[n++] = at;
            }
        }
        if (heap) {
            heap->freeClaimedRow(claimed, n);
            giveRetired(*heap);
        }
    }
    return result;
}

int mprAddPinnedRange(cchar* name, void* memory, size_t size) {
    if (!admitRunning("mprAddPinnedRange")) {
        return MPR_ERR_BAD_STATE;
    }
    const std::size_t length = name ? std::strlen(name) : 0;
    if (length == 0 || length >= sizeof(Pool::name) || !memory ||
        reinterpret_cast<std::uintptr_t>(memory) > ~std::uintptr_t{0} - size) {
        misuse("mprAddPinnedRange", memory, "no memory, or no name of 1 to 15 characters");
        return MPR_ERR_BAD_ARGS;
    }
    const os::Locked locked(adding);
    return addRange(name, memory, size);
}

bool mprIsPinned(cvoid* ptr) {
    return ptr && running() && runtime().heap.annex() && find(ptr).region != nullptr;
}

int mprReadPinnedStats(cchar* name, MprPinnedStats* stats) {
    if (!mayFill("mprReadPinnedStats", stats)) {
        return MPR_ERR_BAD_ARGS;
    }
    *stats = {};
    Pool* pool = nullptr;
    if (running()) {
        pool = name ? named(name) : runtime().heap.annex() ? ownPool.load(std::memory_order_acquire) : nullptr;
    }
    if (!pool) {
        return name ? MPR_ERR_CANT_FIND : 0;
    }
    const std::uint64_t reused = pool->resting.flush(pool->heap);
    const mpr::heap::Totals totals = pool->heap.totals();
    stats->blocksAllocated = totals.blocksAllocated + reused;
    stats->blocksFreed = totals.blocksFreed + reused;
    stats->blocksCollected = pool->collected.load(std::memory_order_relaxed);
    stats->bytesLive = std::uint64_t{totals.granulesInUse()} << granuleShift;
    stats->committed = pool->isRange() ? 0 : pool->heap.limits().committed();
    stats->size = pool->size;
    stats->regions = totals.regions;
    return 0;
}
