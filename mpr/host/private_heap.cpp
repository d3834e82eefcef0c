// SPDX-License-Identifier: MIT
/*
    private_heap.cpp - What programs do with private heaps of mpr/host.h.

    In a tracked heap each block begins with a granule or two that say where it was made.
 */
#include <algorithm>
#include <cstring>
#include <limits>

#include "mpr/gc/guard.hpp"
#include "mpr/host/private_heap.hpp"
#include "mpr/os/log.hpp"

namespace os = mpr::os;
using mpr::heap::Byte;
using mpr::heap::GranuleMap;
using mpr::heap::granulesFor;
using mpr::heap::granuleShift;
using mpr::heap::granuleSize;
using mpr::heap::Heap;
using mpr::heap::Region;
using mpr::heap::Shortage;

namespace {
/** Where a block was made. */
struct Site {
    const char* file; // or code, the caller's, if the line is inCode
    int line;
};
constexpr int inCode = std::numeric_limits<int>::min();
Site siteOf(const void* caller) {
    return {static_cast<const char*>(caller), inCode};
}
constexpr std::size_t siteSize = mpr::heap::roundUp(sizeof(Site), 2 * sizeof(void*));
constexpr Byte leaf = static_cast<Byte>(mpr::heap::Kind::leaf);
constexpr int mostNamed = 50;

/** Name a wrong call. */
[[gnu::cold, gnu::noinline]] void name(const char* function, const MprPrivateHeap* heap, const void* ptr,
                                       const char* what) {
    os::Message text;
    if (MprPrivateHeap::isAlive(heap)) {
        text << "heap \"" << std::string_view(heap->name) << "\": ";
    }
    mpr::gc::misuse(function, ptr, (text << what).text());
}

/** Why the calling thread may not use a heap now, or nullptr. @param claims Whether it is the heap's if nobody is yet. */
[[gnu::cold, gnu::noinline]] const char* whyNot(MprPrivateHeap* heap, bool claims) {
    if (!MprPrivateHeap::isAlive(heap)) {
        return "no heap, or one that was destroyed";
    }
    const std::uint32_t self = os::threadNumber();
    std::uint32_t owner = heap->owner.load(std::memory_order_relaxed);
    const bool mayClaim = claims && !heap->shared && owner == 0;
    if (mayClaim && heap->owner.compare_exchange_strong(owner, self, std::memory_order_relaxed)) {
        owner = self;
    }
    if (owner != 0 && owner != self) {
        return "it is for one thread, and another uses it";
    }
    if (!heap->shared && heap->prefix == 0) {
        heap->swift.store(owner, std::memory_order_relaxed);
    }
    return nullptr;
}

bool isUsable(MprPrivateHeap* heap) {
    return MprPrivateHeap::isAlive(heap) &&
           (heap->shared || heap->owner.load(std::memory_order_relaxed) == os::threadNumber());
}

/** @return Whether the call may go on; otherwise it is named. */
bool admit(const char* function, MprPrivateHeap* heap, bool claims = false) {
    if (os::inInterrupt()) {
        return mpr::gc::refuse(function);
    }
    if (isUsable(heap)) [[likely]] {
        return true;
    }
    const char* why = whyNot(heap, claims);
    if (why) {
        name(function, heap, heap, why);
    }
    return !why;
}

/** Do work with the lock if the heap is shared. */
template <typename Work>
auto within(MprPrivateHeap& heap, Work&& work) MPR_UNANALYSED {
    if (!heap.shared) [[likely]] {
        return work();
    }
    const os::Locked locked(heap.lock);
    return work();
}

/** As much is free, in pieces or in the wrong place: give it back, and take other memory. */
void* allocateInFreed(MprPrivateHeap& h, std::size_t n) {
    const std::size_t bytes = n << granuleShift;
    const std::size_t free = h.heap.freeBytes();
    if (bytes < h.heap.chunkBytes() || free < bytes) {
        return nullptr;
    }
    // More than is asked for: the chunks at both ends of a hole stay.
    h.heap.purge((free - bytes) / 2);
    Shortage shortage = Shortage::none;
    return h.heap.allocateSlow(h.local, n, leaf, shortage);
}

[[gnu::noinline]] void* allocateSlow(MprPrivateHeap& h, std::size_t n, int level) {
    Shortage shortage = Shortage::none;
    const os::AsCritical critical(static_cast<os::Critical>(level));
    h.local.setPrivileged(level == MPR_CRITICAL_PROCESS);
    void* block = h.heap.allocateInContext(h.local, n, leaf, shortage);
    if (os::hasPages && !block) {
        // What rests in lists and retired regions may serve; and what is counted aside would be missed by all that reckons.
        h.heap.settle(h.local);
        h.heap.endQuarantine(true);
        h.heap.decommitRetired();
        block = h.heap.allocateSlow(h.local, n, leaf, shortage);
    }
    if (os::hasPages && !block) {
        block = allocateInFreed(h, n);
    }
    h.local.setPrivileged(false);
    if (h.heap.poisons()) [[unlikely]] {
        h.heap.unearth(block, n);
    }
    if (h.heap.needsAttention()) {
        static_cast<void>(h.heap.takeAttention());
        static_cast<void>(h.heap.takeNews());
        h.heap.tell();
    }
    return block;
}

MPR_INLINE void* allocate(MprPrivateHeap& h, std::size_t size, int level, Site site) {
    if (size > Heap::greatestRequest - siteSize) [[unlikely]] {
        ++h.refused;
        return nullptr;
    }
    const std::size_t n = granulesFor(size + h.prefix + (size == 0));
    void* block = h.heap.allocateFast(h.local, n, leaf);
    if (!block) [[unlikely]] {
        block = allocateSlow(h, n, level);
        if (!block) {
            ++h.refused;
            return nullptr;
        }
    }
    if (h.prefix != 0) [[unlikely]] {
        std::memcpy(block, &site, sizeof(site));
        return static_cast<std::byte*>(block) + h.prefix;
    }
    return block;
}

/** The region of a block in use, or nullptr. The memory of its quick lists is no program's block. */
Region* regionOf(const MprPrivateHeap& h, const void* block) {
    Region* region = h.heap.find(block);
    return region && region->isBlock(block) && block != h.local.quickMemory ? region : nullptr;
}

void* blockOf(const MprPrivateHeap& h, const void* ptr) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(ptr) - h.prefix);
}

[[gnu::noinline]] bool freeUnusual(MprPrivateHeap& h, void* block) {
    Region* region = regionOf(h, block);
    return region && h.heap.free(h.local, region, block);
}

/** No other call has the heap meanwhile, and no collector looks, so the head need not be claimed by an atomic step, which
    takes as long as all the rest. @return false when it is no block in use. */
MPR_INLINE bool freeBlock(MprPrivateHeap& h, void* block) {
    Region* region = h.heap.table().candidate(block);
    const std::size_t g = region ? region->indexOf(block) : 0;
    if (!region || g >= region->endGranule || region->isLarge()) [[unlikely]] {
        return freeUnusual(h, block);
    }
    Byte* map = region->map().at(g);
    const Byte head = GranuleMap::load(map);
    const std::size_t n = GranuleMap::sizeBehind(map);
    if (h.heap.freeable(head) == Heap::Freeable::no || region->spans.isUncleared(g)) [[unlikely]] {
        return freeUnusual(h, block);
    }
    if constexpr (os::hasThreads) {
        GranuleMap::store(map, mpr::heap::mark::opaque);
    }
    h.heap.freeClaimed(h.local, region, block, map, n);
    return true;
}

/** @param region Of the block, which is in use. */
void* reallocate(MprPrivateHeap& h, Region* region, void* ptr, std::size_t size, int level) {
    void* block = blockOf(h, ptr);
    const std::size_t n = region->blockSize(region->granuleOf(block));
    if (size <= Heap::greatestRequest - siteSize) {
        const std::size_t m = granulesFor(size + h.prefix + (size == 0));
        if (h.heap.resize(h.local, region, block, m)) {
            return ptr;
        }
    }
    Site site{};
    if (h.prefix != 0) {
        std::memcpy(&site, block, sizeof(site));
    }
    void* fresh = allocate(h, size, level, site);
    if (fresh) {
        std::memcpy(fresh, ptr, std::min(size, (n << granuleShift) - h.prefix));
        freeBlock(h, block);
    }
    return fresh;
}

bool isSwift(const MprPrivateHeap* heap) {
    // Without threads a call may come from an interrupt, which the longer way asks.
    return os::hasThreads && heap && heap->swift.load(std::memory_order_relaxed) == os::threadNumber();
}

[[gnu::cold, gnu::noinline]] int notFreed(const MprPrivateHeap* heap, const void* ptr) {
    name("mprHeapFree", heap, ptr, "not the start of a block of it in use");
    return MPR_ERR_BAD_ARGS;
}

/** Of a heap that is shared or tracked, or for the first time. */
[[gnu::noinline]] int freeAnyhow(MprPrivateHeap* heap, void* ptr) {
    if (!ptr) {
        return 0;
    }
    if (!admit("mprHeapFree", heap)) {
        return MPR_ERR_BAD_ARGS;
    }
    return within(*heap, [&] { return freeBlock(*heap, blockOf(*heap, ptr)); }) ? 0 : notFreed(heap, ptr);
}

bool isLevel(int level) {
    return static_cast<unsigned>(level) <= MPR_CRITICAL_PROCESS;
}

/** @return Whether a call that allocates may go on; otherwise it is named. */
bool admitAllocating(const char* function, MprPrivateHeap* heap, int level) {
    if (!admit(function, heap, true)) [[unlikely]] {
        return false;
    }
    if (!isLevel(level)) [[unlikely]] {
        name(function, heap, heap, "a level that there is not");
        return false;
    }
    return true;
}

/** Of a heap that is shared or tracked, or for the first time, or when the short way finds no memory. */
[[gnu::noinline]] void* allocateAnyhow(MprPrivateHeap* heap, std::size_t size, int level, Site site) {
    if (!admitAllocating("mprHeapAlloc", heap, level)) [[unlikely]] {
        return nullptr;
    }
    return within(*heap, [&] { return allocate(*heap, size, level, site); });
}

/** Name the blocks that are left, if that was asked for. The heap must not be walked while a message is logged. */
struct Left {
    Site sites[mostNamed];
    std::size_t sizes[mostNamed];
    std::size_t count, bytes;
};

void findLeft(MprPrivateHeap& h, Left& left) {
    const auto note = [](void* context, Byte* block, std::size_t n, Byte) {
        auto& found = *static_cast<Left*>(context);
        const std::size_t size = n << granuleShift;
        if (found.count < mostNamed) {
            std::memcpy(&found.sites[found.count], block, sizeof(Site));
            found.sizes[found.count] = size - siteSize;
        }
        ++found.count;
        found.bytes += size - siteSize;
    };
    left.count = left.bytes = 0;
    h.heap.forEachBlock(note, &left);
}

void nameLeft(const MprPrivateHeap& h, const Left& left) {
    for (std::size_t i = 0; i < std::min<std::size_t>(left.count, mostNamed); ++i) {
        os::Message message;
        message << "heap \"" << std::string_view(h.name) << "\" is destroyed with a block of "
                << std::uint64_t{left.sizes[i]} << " bytes in use, made ";
        if (left.sites[i].line == inCode) {
            message << "at " << static_cast<const void*>(left.sites[i].file);
        } else if (left.sites[i].file) {
            message << "at " << left.sites[i].file << ":" << left.sites[i].line;
        } else {
            message << "at an unknown place";
        }
        os::log(os::Level::warning, message);
    }
    if (left.count > mostNamed) {
        os::Message message;
        os::log(os::Level::warning,
                message << "heap \"" << std::string_view(h.name) << "\": " << std::uint64_t{left.count - mostNamed}
                        << " more blocks are in use, " << std::uint64_t{left.bytes} << " bytes in all");
    }
}
} // namespace

MprPrivateHeap::MprPrivateHeap(const char* given, int flags)
    : shared((flags & MPR_HEAP_ONE_THREAD) == 0), prefix((flags & MPR_HEAP_TRACKED) != 0 ? siteSize : 0) {
    std::strncpy(name, given ? given : "", sizeof(name) - 1);
}

bool MprPrivateHeap::open(void* buffer, std::size_t size) {
    if (!heap.open(mpr::heap::Options(), buffer, size)) {
        heap.close();
        return false;
    }
    heap.setSpans(false); // no collection comes for them
    heap.attach(local);
    sign.store(signatureOf(this), std::memory_order_release);
    return true;
}

bool mpr::host::admitMaking(const char* function, int flags) {
    if (os::inInterrupt()) {
        return mpr::gc::refuse(function);
    }
    const bool isKnown = (flags & ~(MPR_HEAP_ONE_THREAD | MPR_HEAP_TRACKED)) == 0;
    if (!isKnown) {
        name(function, nullptr, nullptr, "flags that there are not");
    }
    return isKnown;
}

ptrdiff_t mprDestroyHeap(MprPrivateHeap* heap) {
    if (!heap) {
        return 0;
    }
    if (os::inInterrupt()) {
        mpr::gc::refuse("mprDestroyHeap");
        return MPR_ERR_BAD_STATE;
    }
    std::uintptr_t signature = MprPrivateHeap::signatureOf(heap);
    if (!MprPrivateHeap::isAlive(heap) || !heap->sign.compare_exchange_strong(signature, 0)) {
        name("mprDestroyHeap", nullptr, heap, "no heap, or one that was destroyed");
        return MPR_ERR_BAD_ARGS;
    }
    heap->swift.store(0, std::memory_order_relaxed);
    heap->heap.detach(heap->local);
    const mpr::heap::Totals totals = heap->heap.totals();
    const auto left = static_cast<ptrdiff_t>(totals.blocksAllocated - totals.blocksFreed);
    if (heap->prefix != 0 && left > 0) {
        Left found;
        findLeft(*heap, found);
        nameLeft(*heap, found);
    }
    heap->heap.close();
    heap->~MprPrivateHeap();
    mpr::host::giveRecord(heap);
    return left;
}

void* mprHeapAlloc(MprPrivateHeap* heap, size_t size, int level) {
    if (isSwift(heap) && size <= Heap::greatestRequest && isLevel(level)) [[likely]] {
        if (void* block = heap->heap.allocateFast(heap->local, granulesFor(size + (size == 0)), leaf)) [[likely]] {
            return block;
        }
    }
    return allocateAnyhow(heap, size, level, siteOf(__builtin_return_address(0)));
}

void* mprHeapAllocAt(MprPrivateHeap* heap, size_t size, int level, const char* file, int line) {
    return allocateAnyhow(heap, size, level, {file, line});
}

void* mprHeapRealloc(MprPrivateHeap* heap, void* ptr, size_t size, int level) {
    if (!ptr) {
        return allocateAnyhow(heap, size, level, siteOf(__builtin_return_address(0)));
    }
    if (!admitAllocating("mprHeapRealloc", heap, level)) [[unlikely]] {
        return nullptr;
    }
    bool isKnown = true;
    void* block = within(*heap, [&]() -> void* {
        Region* region = regionOf(*heap, blockOf(*heap, ptr));
        isKnown = region != nullptr;
        return isKnown ? reallocate(*heap, region, ptr, size, level) : nullptr;
    });
    if (!isKnown) {
        name("mprHeapRealloc", heap, ptr, "not the start of a block of it in use");
    }
    return block;
}

int mprHeapFree(MprPrivateHeap* heap, void* ptr) {
    if (ptr && isSwift(heap)) [[likely]] {
        return freeBlock(*heap, ptr) ? 0 : notFreed(heap, ptr);
    }
    return freeAnyhow(heap, ptr);
}

size_t mprGetHeapBlockSize(MprPrivateHeap* heap, const void* ptr) {
    if (!admit("mprGetHeapBlockSize", heap)) {
        return 0;
    }
    return within(*heap, [&]() -> std::size_t {
        const void* block = blockOf(*heap, ptr);
        Region* region = ptr ? regionOf(*heap, block) : nullptr;
        return region ? (region->blockSize(region->granuleOf(block)) << granuleShift) - heap->prefix : 0;
    });
}

int mprSetHeapLimit(MprPrivateHeap* heap, size_t maximum) {
    if (!admit("mprSetHeapLimit", heap)) {
        return MPR_ERR_BAD_ARGS;
    }
    using mpr::heap::Limits;
    within(*heap, [&] { heap->heap.setLimits(Limits::none, maximum != 0 ? maximum : Limits::none); });
    return 0;
}

int mprTrimHeap(MprPrivateHeap* heap) {
    if (!admit("mprTrimHeap", heap)) {
        return MPR_ERR_BAD_ARGS;
    }
    within(*heap, [&] {
        heap->heap.detach(heap->local); // what its contexts and lists have is free, too
        heap->heap.purge(0);
        heap->heap.attach(heap->local);
    });
    return 0;
}

int mprReadHeapStats(MprPrivateHeap* heap, MprHeapStats* stats) {
    if (!mpr::gc::mayFill("mprReadHeapStats", stats)) {
        return MPR_ERR_BAD_ARGS;
    }
    *stats = {};
    if (!admit("mprReadHeapStats", heap)) {
        return MPR_ERR_BAD_ARGS;
    }
    within(*heap, [&] {
        heap->heap.detach(heap->local); // its open contexts count as in use, and so does its list's memory
        const mpr::heap::Totals totals = heap->heap.totals();
        const mpr::heap::Limits limits = heap->heap.limits();
        heap->heap.attach(heap->local);
        stats->blocks = totals.blocksAllocated - totals.blocksFreed;
        stats->bytes = std::uint64_t{totals.granulesInUse()} << granuleShift;
        stats->refused = heap->refused;
        stats->committed = limits.committed();
        stats->peak = limits.peak();
        stats->maximum = limits.maximum() != mpr::heap::Limits::none ? limits.maximum() : 0;
        stats->regions = totals.regions;
    });
    return 0;
}
