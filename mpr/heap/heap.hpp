// SPDX-License-Identifier: MIT
/*
    heap.hpp - The heap: regions, their holes in free queues, and the allocation that threads do from them.

    Small blocks are bump-allocated from the calling thread's context, or taken from its quick lists, without a lock.
    Everything else happens under one lock that is held for a bounded number of instructions, system calls aside:
    opening a context, larger blocks, frees that coalesce, a slice of the sweep.

    A context takes a span (span.hpp) that its thread has filled before, else a hole; a whole aligned piece of a
    large hole becomes a span. What is free in spans stands in no queue. A thread has a context for each lane
    (lane.hpp).

    Holes stand in a queue by the sort of their region (lane.hpp) and by warmth: `warm` holes are committed throughout;
    `cold` ones have chunks that are not, so using them makes the heap grow. Warm holes are used first, and of those the
    smallest that serve: breaking up large ones early is what fragments a heap for good.

    The heap knows nothing of threads and collections: gc/ tells it the colours, asks for slices of the sweep, and takes
    `takeAttention` after allocations that took the lock.
 */
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "mpr/heap/annex.hpp"
#include "mpr/heap/batch.hpp"
#include "mpr/heap/findings.hpp"
#include "mpr/heap/gone.hpp"
#include "mpr/heap/large.hpp"
#include "mpr/heap/limits.hpp"
#include "mpr/heap/local.hpp"
#include "mpr/heap/map.hpp"
#include "mpr/heap/options.hpp"
#include "mpr/heap/place.hpp"
#include "mpr/heap/poison.hpp"
#include "mpr/heap/queues.hpp"
#include "mpr/heap/region.hpp"
#include "mpr/heap/region_table.hpp"
#include "mpr/heap/spare.hpp"
#include "mpr/heap/sweep_state.hpp"
#include "mpr/heap/trigger.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::heap {

/** Why an allocation failed. */
enum class Shortage { none, limit, system, tooBig };

/** Totals, in blocks and granules unless said otherwise. */
struct Totals {
    os::Total blocksAllocated = 0, granulesAllocated = 0;
    os::Total blocksFreed = 0, granulesFreed = 0;
    os::Total purgedBytes = 0;
    std::size_t granulesInUse() const { return static_cast<std::size_t>(granulesAllocated - granulesFreed); }
    std::size_t regions = 0;
    std::size_t overheadBytes = 0; // headers and maps
};

/** Bytes that were free but of no use when that first happened since the last question: see Heap::noteScattered. */
class Scattered {
public:
    void note(std::size_t bytes) { bytes_ = bytes; }
    bool any() const { return bytes_ != 0; }
    std::size_t take() { return std::exchange(bytes_, 0); }
    /** Whether the last sweep freed all that was dead. */
    bool sweptAll() const { return sweptAll_; }
    void setSweptAll(bool on) { sweptAll_ = on; }

private:
    std::size_t bytes_ = 0;
    bool sweptAll_ = false;
};

/** Without pages there are no contexts that a hole could be too short for. */
struct NoScattered {
    static void note(std::size_t) {}
    static bool any() { return false; }
    static std::size_t take() { return 0; }
    static bool sweptAll() { return false; }
    static void setSweptAll(bool) {}
};

/**
    The system has refused a region. While what is left serves it is asked again only now and then, not for each block: it takes
    as long to refuse as to grant.
 */
class Refusals {
public:
    void note() { quiet_ = often; }
    void forget() { quiet_ = 0; }
    /** Whether to ask. Each question counts. */
    bool mayAsk() { return quiet_ == 0 || --quiet_ == 0; }

private:
    static constexpr unsigned often = 1024;
    unsigned quiet_ = 0;
};

/** The same where there is no system to be asked. */
struct NoRefusals {
    static void note() {}
    static void forget() {}
    static bool mayAsk() { return true; }
};

/** A heap's relation to another: see Heap::bePinned. */
struct Serving {
    bool pinned = false;
    Heap* other = nullptr;
    std::size_t lent = 0; // bytes that count against this heap's limits and are another's; under its lock
    Heap* main() const { return other; }
    void begin(Heap* main) { pinned = true, other = main; }
    void lend(std::size_t bytes) { lent += bytes; }
};
struct NotServing {
    static constexpr bool pinned = false;
    static Heap* main() { return nullptr; }
    static constexpr std::size_t lent = 0;
    static void begin(Heap*) {}
    static void lend(std::size_t) {}
};

class Heap {
public:
    /** Bytes that no request may exceed: sizes up to here cannot overflow what is computed from them. */
    static constexpr std::size_t greatestRequest = ~std::size_t{0} >> (sizeof(void*) == 8 ? 17 : 2);

    Heap(); // in one place: it is long
    /** @param buffer The only memory to use, or nullptr for the system's. @return false when there is none. */
    bool open(const Options& options, void* buffer, std::size_t size);
    /** Give everything back. No manager runs. */
    void close();

    // ---- Threads ----
    void attach(Local& local);
    /** Close the thread's context and flush its quick lists. */
    void detach(Local& local);
    void flushQuickLists(Local& local);
    /** All that the thread has for itself is free, and its counts are in the totals. It stays attached. */
    void settle(Local& local);

    // ---- Allocation: n in granules, at least 1; flags are the head's kind and held bits ----

    /** Quick list or context; nullptr when neither serves. */
    void* allocateFast(Local& local, std::size_t n, Byte flags);
    /** allocateFast for n <= greatestSmall, where there are threads. */
    void* allocateSmall(Local& local, std::size_t n, Byte flags);
    /** Where the calling thread may allocate by itself; there are threads. The same address at each call. */
    const MprContext& lend(Local& local);
    /** A thread is about to stop: its lent context has no room until it allocates by a call again. */
    static void recall(Local& local);
    /** A thread's allocations. Blocks in open contexts are left out, unless it is the calling thread. */
    static MprAllocStats allocationStats(const Local& local, bool calling);
    /** From a new context or straight from a hole. */
    void* allocateSlow(Local& local, std::size_t n, Byte flags, Shortage& shortage);
    /** allocateSlow, inlined: context.hpp. */
    void* allocateInContext(Local& local, std::size_t n, Byte flags, Shortage& shortage);
    /** Straight from a hole or the system. Any thread, attached or not. */
    void* allocateShared(std::size_t n, Byte flags, bool privileged, Shortage& shortage);

    /** Give back a block. @return false when it is not in use: another thread was faster. */
    bool free(Local& local, Region* region, void* block);
    /** Give back a block of an ordinary region that the caller has claimed: its head is 7D. @return 0 */
    int freeClaimed(Local& local, Region* region, void* block, Byte* map, std::size_t n);
    /**
        Give back a held block from a thread that may not be attached. A rendezvous does not wait for such a thread, so
        the hold ends in the same atomic step; otherwise the sweep might come first. @return false when the block is not
        held.
     */
    bool freeHeld(Region* region, void* block);
    /**
        If the block there may be traced now, keep its memory. It becomes a leaf that the collector will find dead, and
        to everybody who asks it is not in use. @return false when it may not be traced: nothing has changed.
     */
    bool freeTraced(Place at);
    /**
        The same for a block that the collection which runs has found dead. Its memory is the sweep's, which may give up
        all of a span at once; so nobody may list it.
     */
    void leaveDead(Place at);
    /** Give back a block from any thread, attached or not. */
    void freeShared(Region* region, void* block) MPR_EXCLUDES(lock_, clearing_);

    /** Zero the first bytes of a block that was just made. Memory that is zero as the system gave it stays unbacked. */
    void zero(void* block, std::size_t bytes) const {
        if (!os::hasPages || bytes < leastPristine || !isPristine(block)) [[likely]] {
            std::memset(block, 0, bytes);
        }
    }

    /** Whether free memory is filled: see poison.hpp. */
    bool poisons() const { return os::hasThreads && poison_; }
    /** Allow the use of a block of n granules that has just been made and not been written to; nullptr is fine. */
    void unearth(void* block, std::size_t n);
    /** Make holes of blocks that rest: all, for memory is short; or those that rested at the last purge already. */
    void endQuarantine(bool all);

    // ---- Threads that were refused memory and wait for a collection: earmark.hpp ----
    /** The calling thread, which was refused memory, is about to wait for a sweep. There may be nothing to wait for. */
    void beginWait(Earmark& mark);
    void endWait(Earmark& mark);
    /** Whether threads wait that have nothing yet. One load. */
    bool someWait() const { return os::hasThreads && waiting_.load(std::memory_order_relaxed) != nullptr; }
    /** A sweep has ended: earmark a block for each thread that waits, as far as there is memory. */
    void serveWaiting();
    /** Allocate in exchange for the block that is earmarked for the thread. @return nullptr: it is too small; it is free now. */
    void* allocateEarmarked(Local& local, std::size_t n, Byte flags);
    /** Free the block that is earmarked for the thread, if there is one. */
    void dropEarmark(Earmark& mark) {
        if (mark.block) [[unlikely]] {
            freeEarmarked(mark);
        }
    }

    // ---- Cutting a block up: cut.cpp ----
    /** A block to be cut off, `before` granules behind the one before; of 0 granules: only these are. Its head is the kind. */
    struct Cut {
        std::size_t before;
        NewBlock block;
    };
    /** Whether a block in use may be cut up: a leaf of an ordinary region that is neither held nor dead. */
    bool mayCut(Place at) const;
    /** Cut blocks off the front of a leaf of n granules, which has room for them. A thread that runs, or threads are stopped.
        @return false when it is no such leaf any more: another thread has cut it up meanwhile. */
    bool cutFront(Place at, std::size_t n, const Cut* cuts, unsigned count) MPR_EXCLUDES(lock_, clearing_);

    /** Make a block m granules in place. @return false when it cannot be: nothing has changed. */
    bool resize(Local& local, Region* region, void* block, std::size_t m);
    /**
        Granules that a block of n granules should be given beside when it moves to grow: a quarter if it is large, else
        none; none past the redline. As slack, which keepSlack makes it, they are committed and free, the block alone can
        grow into them, and they go back to the system when memory is short, and at a purge.
     */
    std::size_t slackFor(std::size_t n);
    /** A block that the caller has just allocated has n granules; what it has beyond is slack. */
    void keepSlack(Local& local, void* block, std::size_t n);

    /**
        Set or clear bits of a head that is in use; atomic with respect to the sweep. What is dead and not held stays
        as it is. Threads that run. @return the head before.
     */
    Byte changeHead(Region* region, const void* block, Byte set, Byte clear);

    // ---- Batches: batch.hpp. By their thread, while it runs. There is one, unless said otherwise ----
    /** Watch what a thread without a batch makes. @return false when memory is short. */
    bool openBatch(Local& local, MprBatchRange& range, bool always);
    void closeBatch(Local& local);
    /** All that was made stays, until the next batch begins. There may be no batch. */
    static void keepBatch(Local& local, Kept why);
    /** Keep all blocks of the batch, and begin another. */
    void beginBatch(Local& local);
    /** Take back the private blocks of the batch, which are dead, and begin another. The batch is not kept. */
    void takeBack(Local& local);
    /** takeBack for option check: private blocks are gone, but not used again before a collection has found them dead. */
    void discard(Local& local);
    /** Note that a block is about to be known elsewhere. @return Whether it was private. */
    bool publish(Local& local, const void* block);
    /** Whether only the thread knows a block. There may be no batch. */
    bool isPrivate(const Local& local, const void* block) const;
    /** Whether only the thread knows the block around an address. */
    bool isInPrivate(const Local& local, const void* field) const;
    /** Call f(block) for each private block whose manager wants MPR_MANAGE_FREE. */
    template <typename F>
    void forEachToFree(const Local& local, F&& f) const;

    // ---- Looking ----
    Region* find(const void* address) const { return table_.find(address); }
    /** The region of an address that may be anywhere in a large block. */
    Region* findField(const void* address) const { return table_.findField(address); }
    const RegionTable& table() const { return table_; }
    /** The region of the block in use that begins at an address, any address, pinned ones included; nullptr: none does. */
    Region* regionOfBlock(const void* address) const;
    /** Prefetch the head of what may be a block, for a change. */
    void fetchHead(const void* block) const {
        Region* region = table_.candidate(block);
        const std::size_t g = region ? region->granuleOf(block) : 0;
        if (region && g < region->endGranule) {
            __builtin_prefetch(region->map().at(g), 1);
        }
    }
    /**
        The result of f(region, granule, head) for the block that begins at an address, in use or freed while it may be
        traced; zero when there is none. Not for hot paths: takes the lock.
     */
    template <typename F>
    auto withBlock(const void* address, F&& f) {
        os::Locked locked(lock_);
        Place at{table_.find(address), 0};
        if (at.region) {
            at.granule = at.region->granuleOf(address);
        } else if (const Annex* others = annex()) {
            at = others->find(address);
            return at.region ? f(at.region, at.granule, at.head()) : decltype(f(at.region, at.granule, Byte{0})){};
        }
        const Byte h = at.region ? at.region->headAt(address) : Byte{0};
        return h != 0 ? f(at.region, at.granule, h) : decltype(f(at.region, at.granule, h)){};
    }

    /** The block in use around an address, which may be any; nullptr when there is none. */
    void* blockAround(const void* address);
    /** A block of n granules with its head. */
    struct Inside {
        Byte* block;
        std::size_t n;
        Byte h;
    };
    /**
        Call f(Inside) with the block around an address, if there is one (else its block is nullptr), under the lock; pinned
        blocks of ranges are not looked for. @return false: another thread has the lock, which is not waited for.
     */
    template <typename F>
    bool tryAround(const void* address, F&& f) {
        if (!lock_.tryLock()) {
            return false;
        }
        f(aroundLocked(address));
        lock_.unlock();
        return true;
    }
    /** The first blocks in use that begin in [from, to); `from` goes on behind them. @return How many, at most `most`. */
    unsigned blocksIn(const Byte*& from, const Byte* to, Inside* found, unsigned most);
    /** Addresses between which all blocks lie. */
    struct Range {
        const Byte* from;
        const Byte* to;
    };
    Range extent();
    /** The part of a range that lies within extent(). */
    Range clip(Range range);

    // ---- Collection ----

    /** All threads are stopped: close their contexts and make every young block unmarked. */
    void beginMarking();
    /** After beginMarking, threads still stopped: make every old block unmarked. */
    void unmarkOld();
    /** Both, at the end: every block is unmarked, whatever a major collection has marked meanwhile. No thread is left. */
    void unmarkAll();
    /** Marking has ended, threads still stopped: from here on unmarked blocks are dead. */
    void beginSweep(Sweep sweep);
    /** After beginSweep, threads still stopped: what has just been found dead lives on after all, untraced. */
    void retainDead();
    void endSweep();
    const Colours& colours() const { return state_.colours(); }
    /** A block at address a has its head at a - i + bias + i / granuleSize, where i = a & inside. */
    struct Heads {
        std::uintptr_t inside, bias;
    };
    Heads heads();
    /** Whether the sweep that runs may free a block with this head, unless it is held. */
    bool dead(Byte h) const { return state_.dead(h); }
    /** Which heads in a word or row of a map are dead, while a sweep runs: a copy of all that decides it. */
    struct DeadHeads : SweepState::DeadHeads {
        explicit DeadHeads(const Heap& heap) : SweepState::DeadHeads(heap.state_) {}
    };
    /**
        Set whether the collector marks old blocks while threads run. It may be about to look at any block with a
        manager that is old or grey, so such a block must then keep its memory and its size.
     */
    void setTracing(bool on);
    bool mayBeTraced(Byte h) const { return state_.mayBeTraced(h); }
    /** For a walk of all regions. New ones are put in front; only a purge removes any. */
    Region* firstRegion();
    Region* nextRegion(Region* region);
    struct Swept {
        std::size_t blocks = 0;
    };
    /** Free what is dead in the next slice of an ordinary region. @return where to go on; endGranule when done. */
    std::size_t sweepSlice(Region* region, std::size_t start, Swept& swept);
    /** Free what is dead in the young lines of word i of region->sweepYoung. */
    void sweepYoungLines(Region* region, std::size_t i, Swept& swept);
    /** First step of the sweep, after the last MPR_MANAGE_FREE: spans in which nothing lives become stale. */
    void releaseDeadSpans(Region* region, Swept& swept);
    /**
        Second step: clear the dead from up to `most` spans in which something lives. @return Whether any is left.
     */
    bool releaseKeptSpans(Region* region, Swept& swept, unsigned most);
    /**
        Make a stale span that nobody needs a hole.
        @param any Also one that its thread was going to use again. @return false when there is none.
     */
    bool reclaimSpan(bool any);
    /** Make holes of what is free in spans: memory is short. */
    void retireSpans();
    /** Whether contexts may be spans: not when no collection will come for them. */
    void setSpans(bool on);
    /** Note that a block was allocated with a hold. */
    void noteHeld(void* block);
    using Freeable = heap::Freeable;
    Freeable freeable(Byte h) const { return state_.freeable(h); }
    /** Free a large region's block if it is dead. */
    void sweepLarge(Region* region, Swept& swept);
    /** Free committed memory. */
    std::size_t freeBytes();
    /** Give memory back until at most `keep` bytes of free memory are committed. On duty. */
    void purge(std::size_t keep);
    /** Bytes of large blocks freed by hand since the last purge: still committed. */
    std::size_t retiredBytes();
    /** Decommit what retiredBytes counts, now. Any thread; its addresses go with the next purge. */
    void decommitRetired();

    // ---- Pinned blocks, which other heaps have, for the collector of this one: pinned.cpp ----
    /** What to ask of those heaps; nullptr: there is none. Any thread. */
    const Annex* annex() const { return annex_.load(std::memory_order_acquire); }
    void setAnnex(const Annex* annex) { annex_.store(annex, std::memory_order_release); }
    /**
        Before open: this heap has pinned blocks.
        @param main The heap whose table its regions are entered into, and whose limits its memory counts against;
        nullptr: no table and no limits, since its memory is the program's.
     */
    void bePinned(Heap* main);
    /** After open over a buffer: no block begins before an address in it. */
    void skipTo(const void* address);
    /**
        Make up to `count` blocks of n granules, each at a multiple of `alignment` bytes, with a given head; in a row if
        there is room for a row. @return how many were made; the shortage is why not all.
     */
    unsigned allocateAligned(void** blocks, unsigned count, std::size_t n, std::size_t alignment, Byte h,
                             bool privileged, Shortage& shortage);
    /** Give back a pinned block that was claimed. */
    void freePinned(Place at);
    /** Give back blocks that were claimed, one after the other. */
    void freeClaimedRow(const Place* blocks, unsigned count);
    /** See Annex. @param colours Those of the collector's heap. */
    void beginPinnedSweep(Colours colours, bool retain);
    void endPinnedSweep(std::size_t leastTrigger);
    void sealGone() { gone_.seal(); }
    void releaseGone() { gone_.releaseSealed(); }

    // ---- Pacing and limits ----
    /** Have threads called when so many bytes are spent: all of the budget, or less than that. */
    void setTrigger(std::size_t bytes, std::size_t budget = 0);
    /** Bytes allocated since the last rendezvous. */
    std::size_t allocatedSince();
    /** Bytes of the budget that are spent: those, and what the program keeps outside of the heap since then. */
    std::size_t spentSince();
    /** Bytes that the heap has committed, lent ones apart. */
    std::size_t committed();
    /** Bytes that can be allocated before the heap takes more than so many; none if it does: what is free did not serve. */
    std::size_t supply(std::size_t extent);
    /**
        Bytes that were free when the heap could not grow and no hole was worth a context, the first time since this was
        asked; 0 when that did not happen. Asking takes it.
     */
    std::size_t takeScattered() MPR_EXCLUDES(lock_);
    bool isScattered() MPR_EXCLUDES(lock_);
    /** Free memory goes back to the system in pieces of so many bytes, in holes that are longer. */
    std::size_t chunkBytes() const {
        return std::max((std::size_t{1} << regionShift_) / Region::chunks, os::pageSize());
    }
    /** Whether an allocation passed the trigger or the redline, so that somebody has to see to it. One load. */
    bool needsAttention() const { return attention_.load(std::memory_order_relaxed); }
    /** Have a thread that allocates see to what is due (attend). Any thread, whatever it holds. */
    void wantAttention() { attention_.store(true, std::memory_order_relaxed); }
    /** See Limits::moveRedline. */
    void moveRedline(std::size_t warn);
    /** What needs attention. Asking clears it. */
    struct Attention {
        bool budgetSpent;
        bool news; // of the limits: see takeNews
    };
    Attention takeAttention();
    struct News {
        bool any;
        Limits::State state; // now
    };
    /** What the limits have to tell, for who tells it before anybody else asks. */
    News takeNews();
    /**
        For trials: every allocation takes the slow path, and every Nth (`turn`) spends the budget. No thread is
        attached.
     */
    void setStepping(unsigned turn);
    bool steps() const { return !os::cooperative && stepping_ > 0; }
    /** Whether memory is well, by what is in use now. Any thread. */
    Limits::State memoryState();
    /** An allocation of so many bytes was refused. The calling thread is told. */
    void noteRefused(std::size_t bytes);
    void setLimits(std::size_t warn, std::size_t maximum);
    Limits limits();
    bool fixed() const { return !os::hasPages || buffer_; }
    /** Whether the runtime ends and every block with it. */
    bool ends() const { return ends_; }
    /** The runtime ends: from here on no block comes to life again, not by the end of its hold either. */
    void endLives() { ends_ = true; }

    /** How often free memory was found overwritten, or the map damaged; each is named in the log. */
    std::uint64_t damages() const { return damages_.load(std::memory_order_relaxed); }
    /** Name in the log what was found and has not been said yet. The caller holds no lock. */
    void tell();
    /** Totals, the attached threads' shares included. */
    Totals totals();
    /** Size in bytes of the largest warm hole's range. */
    std::size_t largestFree();
    /**
        The program keeps this much outside, for its blocks. It counts against the limits, and `added` bytes
        as if they had been allocated: the next collection comes as much sooner. Any thread.
     */
    void setOutside(std::size_t bytes, std::size_t added);
    /** Have memory of others count as committed, if the limits allow that much (pinned blocks, handles). Any thread. */
    bool lend(std::size_t bytes, bool privileged) MPR_EXCLUDES(lock_);
    void endLoan(std::size_t bytes) MPR_EXCLUDES(lock_);
    /** Bytes of addresses of all regions; in blocks that have regions of their own. */
    struct Usage {
        std::uint64_t reserved = 0, large = 0;
    };
    Usage usage();
    /** Granules in blocks and contexts. */
    std::uint64_t granulesInUse();

    // ---- Checking ----
    /**
        Walk everything, and mend links that were overwritten. @return defects, each named in the log. No attached
        thread may run.
     */
    int verify();
    /**
        Call visit for each block, n granules from there on, with its head: in use, or freed while it may be traced
        (head::isGone). No attached thread may run; it must not log.
     */
    void forEachBlock(void (*visit)(void* context, Byte* block, std::size_t n, Byte h), void* context);

private:
    friend class Verifier;

    /** Bytes from which on zero() looks whether it has to. */
    static constexpr std::size_t leastPristine = 16 * 1024;
    /** Granules that a sweep or purge looks at in one hold of the lock: 2 KiB of the map, some microseconds. */
    static constexpr std::size_t sliceGranules = 2048;
    /**
        Bytes of retired large blocks past which the next large allocation decommits them: what a program may have in
        excess. From 1 to 256 MiB `work_mpr phases` takes 0.42 s throughout.
     */
    static constexpr std::size_t retiredGreatest = std::size_t{16} << 20;

    // regions.cpp, under the lock
    void* reserveRegion(std::size_t size) MPR_REQUIRES(lock_);
    Region* addRegion(Sort sort, bool privileged, Shortage& shortage) MPR_REQUIRES(lock_);
    bool changeSort(Sort sort) MPR_REQUIRES(lock_);
    void linkWhole(Region* region) MPR_REQUIRES(lock_);
    Region* addLarge(std::size_t n, bool privileged, Shortage& shortage) MPR_REQUIRES(lock_);
    void enlist(Region* region) MPR_REQUIRES(lock_);
    void delist(Region* region) MPR_REQUIRES(lock_);
    void fitLinkRange() MPR_REQUIRES(lock_);
    void prepare(Region* region, std::size_t length, Origin origin) MPR_REQUIRES(lock_);
    void openSpans(Region* region) const;
    static void divide(Region* region, std::size_t granules);
    bool commit(Region* region, std::uint64_t fresh, bool privileged) MPR_REQUIRES(lock_);
    bool commitChunks(Region* region, std::uint64_t fresh) MPR_REQUIRES(lock_);
    void retire(Region* region) MPR_REQUIRES(lock_);
    Region* reuseRetired(std::size_t n) MPR_REQUIRES(lock_);
    static std::size_t slackOf(const Region* region);
    void releaseSlack(Region* region) MPR_REQUIRES(lock_);
    void releaseAllSlack() MPR_REQUIRES(lock_);
    Region* mapLarge(std::size_t n, std::size_t header, std::size_t length) MPR_REQUIRES(lock_);
    bool isPristine(const void* block) const;
    bool releaseGoneBlocks() MPR_REQUIRES(lock_);
    void forgetCommitted(Region* region) MPR_REQUIRES(lock_);
    void decommitRetiredLocked() MPR_REQUIRES(lock_);

    // holes.hpp, under the lock
    struct MayLead;
    /** Whether a hole is warm: has no chunks that are not committed. */
    static bool isBacked(Place at, std::size_t n) { return at.region->allCommitted(at.granule, at.granule + n); }
    static void setSort(Region* region, Sort sort, FreeQueues* queues) {
        region->sort = sort;
        region->queues = queues + static_cast<unsigned>(sort);
    }
    void setHome(Region* region) {
        if constexpr (os::hasPages) {
            region->home.set(serving_.pinned ? this : nullptr);
            region->apart = serving_.pinned;
        }
    }
    FreeQueues& queuesOf(Region* region) { return os::hasPages ? *region->queues : queues_[0]; }
    void dequeue(Region* region, Hole* hole) MPR_REQUIRES(lock_);
    void dequeueFront(Region* region, unsigned queue) MPR_REQUIRES(lock_);
    void link(Place at, std::size_t n, bool warm) MPR_REQUIRES(lock_);
    void unlink(Region* region, std::size_t g, std::size_t n) MPR_REQUIRES(lock_);
    static Hole* holeAt(Place at);
    bool sizeOfFront(Place at, std::size_t& size) MPR_REQUIRES(lock_);
    void requeueWithoutUnsound(const void* hole) MPR_REQUIRES(lock_);
    bool takeOut(Region* region, Hole* hole) MPR_REQUIRES(lock_);
    void giveBack(Place at, std::size_t n) MPR_REQUIRES(lock_);
    void giveBackIntact(Place at, std::size_t n, bool committed) MPR_REQUIRES(lock_);
    void carveWarm(Place at, std::size_t size, std::size_t n, unsigned queue) MPR_REQUIRES(lock_);
    bool carve(Place at, std::size_t size, std::size_t n, bool privileged, unsigned queue) MPR_REQUIRES(lock_);
    Region* regionOf(const Hole* hole) const;

    // pinned.cpp
    struct Fit;
    bool findFit(std::size_t n, std::size_t alignment, bool privileged, Fit& fit, Shortage& shortage)
        MPR_REQUIRES(lock_);
    bool findTight(const Hole* hole, const FreeQueues& queues, std::size_t n, std::size_t alignment, Fit& fit)
        MPR_REQUIRES(lock_);
    void* allocateAlignedLarge(std::size_t n, Byte h, bool privileged, Shortage& shortage) MPR_REQUIRES(lock_);
    bool charge(std::size_t bytes, bool privileged);
    void discharge(std::size_t bytes);

    // inside.cpp
    bool isLive(Byte h) const;

    // poison.cpp
    void fillFree(Place at, std::size_t n);
    void fillChunks(Region* region, std::uint64_t chunks) MPR_REQUIRES(lock_);
    void look(const void* memory, std::size_t n);
    void bury(Place at, std::size_t n) MPR_REQUIRES(lock_);
    bool buryDead(Place at, Swept& swept) MPR_REQUIRES(lock_);
    void endOldest() MPR_REQUIRES(lock_);

    // damage.cpp
    bool isHole(const void* address) const;
    void requeue(const Hole* without) MPR_REQUIRES(lock_);
    class Telling;
    void note(const Finding& finding);
    static void say(const Finding& finding);
    void nameDamage(const Hole* hole);
    void nameDamage(const void* where, const char* what);
    void nameMapDamage(const void* where);
    void nameDefect(const char* what, const void* where);
    bool setDamagedAside(Local& local, std::size_t n);

    // headers.cpp
    void checkHeaders() MPR_REQUIRES(lock_);
    bool checkHeader(Region* region) MPR_REQUIRES(lock_);
    bool isListed() const MPR_REQUIRES(lock_);
    /** Of ordinary regions from the system. Where no region is made it costs nothing. */
    struct OwnShape {
        Shape shape;
    };
    struct NoShape {
        static inline constinit Shape shape;
    };
    [[no_unique_address]] std::conditional_t<os::hasPages, OwnShape, NoShape> ordinary_;

    // holes.cpp, under the lock
    void giveBackAnyhow(Region* region, std::size_t g, std::size_t n) MPR_REQUIRES(lock_);
    std::size_t agreedSize(Place at) MPR_REQUIRES(lock_);
    std::size_t agreedSizeBefore(Place at) MPR_REQUIRES(lock_);
    unsigned findFresh(Sort sort, std::size_t n, bool privileged, Shortage& shortage) MPR_REQUIRES(lock_);
    void* carveFront(const FreeQueues& queues, unsigned queue, NewBlock block, bool privileged) MPR_REQUIRES(lock_);
    static void* makeCarved(Place at, NewBlock block);
    void* carveAnywhere(NewBlock block, bool privileged) MPR_REQUIRES(lock_);
    Hole* carveTight(const FreeQueues& queues, std::size_t n, bool privileged) MPR_REQUIRES(lock_);
    Hole* carveScarce(const FreeQueues& queues, std::size_t n, bool privileged) MPR_REQUIRES(lock_);
    bool findScarce(const FreeQueues& queues, std::size_t n, std::size_t alignment, bool privileged, Fit& fit) const
        MPR_REQUIRES(lock_);
    void findScarceIn(Extent hole, std::size_t n, std::size_t alignment, bool privileged, std::size_t& least,
                      Fit& fit) const MPR_REQUIRES(lock_);
    bool carveFit(const Fit& fit, std::size_t n, bool privileged) MPR_REQUIRES(lock_);
    void* carveBlock(std::size_t n, Byte head, bool privileged, Shortage& shortage) MPR_REQUIRES(lock_);
    bool releaseHeld(Region* region, void* block) MPR_REQUIRES(lock_, clearing_);

    // earmark.cpp
    void* makeInHole(std::size_t n, Byte flags) MPR_REQUIRES(lock_);
    bool serveOne() MPR_EXCLUDES(lock_);
    void freeEarmarked(Earmark& mark);
    os::Shared<Earmark*>& placeOf(const Earmark* mark) MPR_REQUIRES(lock_);

    /** The context for blocks of n granules. The asm keeps the compiler from recomputing it for each member access. */
    MPR_INLINE AllocationContext& contextFor(Local& local, std::size_t n) const {
        AllocationContext* context = &local.contexts[static_cast<unsigned>(lifetimes_.laneOf(n))];
        asm("" : "+r"(context));
        return *context;
    }

    // allocate.cpp, under the lock
    /** Memory that has been taken for a thread; of its map the first `clear` granules are zero. */
    struct Taken {
        Extent memory;
        std::size_t clear;
    };
    /** How much a thread takes if it can, and where: a queue that is not empty, or FreeQueues::none. */
    struct Sought {
        std::size_t want;
        unsigned queue;
    };
    void* settle(Local& local, AllocationContext& c, Taken taken, NewBlock block) MPR_REQUIRES(lock_);
    std::size_t share(Place at, std::size_t size, std::size_t n, std::size_t want) const;
    void holdUp(const Local& local, AllocationContext& c) const;
    static void leaveContext(Local& local, AllocationContext& c);
    bool mayFillSpan(const AllocationContext& c) const MPR_REQUIRES(lock_);
    void noteScattered(const AllocationContext& c) MPR_REQUIRES(lock_);
    static Byte* makeBlock(Place at, NewBlock block);

    // take_back.cpp
    void* allocateInRoom(Local& local, AllocationContext& c, std::size_t n, Byte h) MPR_EXCLUDES(lock_);
    int freeBesideBatch(const Local& local, Place at, std::size_t n) MPR_EXCLUDES(lock_);
    bool resizeOrdinary(Local& local, Place at, std::size_t n, std::size_t m) MPR_EXCLUDES(lock_);
    bool extendLarge(Region* region, std::size_t n, std::size_t m) MPR_EXCLUDES(lock_);
    int resizeInBatch(Local& local, Place at, std::size_t n, std::size_t m) const;
    void makeRoom(Batch::Part& part, const Batch::Piece& piece, Byte* from, Byte* to, std::size_t least);
    unsigned takeBack(Local& local, AllocationContext& c, unsigned last);

    // span.cpp
    void* allocateInSpan(Local& local, AllocationContext& c, NewBlock block) MPR_REQUIRES(lock_);
    void* allocateInSparse(SparseSpans& list, Local& local, AllocationContext& c, NewBlock block) MPR_REQUIRES(lock_);
    Region* regionOf(const Span* span) const;
    Span* takeSparse(SparseSpans& list, std::size_t n, Gap& gap, FoundGaps& others, bool alone) MPR_REQUIRES(lock_);
    void* allocateInGap(const Local& local, AllocationContext& c, NewBlock block);
    void sample(Region* region, std::size_t i);
    void* openGap(const Local& local, AllocationContext& c, Region* region, Gap gap, NewBlock block);
    void* leaveGap(const Local& local, AllocationContext& c, Gap gap, NewBlock block);
    void putAside(Region* region, std::size_t i, std::uint64_t& set) MPR_REQUIRES(lock_);
    void leaveOver(Local& local) MPR_REQUIRES(lock_);
    void disown(Local& local) MPR_REQUIRES(lock_);
    void judgeSparse(Region* region) MPR_REQUIRES(lock_);
    void releaseDead(Region* region, std::size_t i, Swept& swept) MPR_EXCLUDES(lock_);
    bool releaseSparse(Region* region, std::size_t i) MPR_REQUIRES(lock_);
    void releaseKept(Region* region, std::size_t i, Swept& swept) MPR_EXCLUDES(lock_);
    std::size_t clearSpan(Region* region, std::size_t i, Swept& swept, bool& left) MPR_EXCLUDES(lock_);
    void retire(Region* region, std::size_t i) MPR_EXCLUDES(lock_);
    void forgetSpans(const Region* region) MPR_REQUIRES(lock_);
    void* resumeContext(Local& local, AllocationContext& c, std::size_t n, Byte h) MPR_EXCLUDES(lock_);
    void* allocateFrom(const FreeQueues& queues, Sought sought, Local& local, AllocationContext& c, NewBlock block)
        MPR_REQUIRES(lock_);
    void* allocateOtherwise(Local& local, AllocationContext& c, NewBlock block, Sought sought, Shortage& shortage)
        MPR_RELEASES(lock_);
    void* allocateScarce(Local& local, NewBlock block, std::size_t want, Shortage& shortage) MPR_RELEASES(lock_);
    void close(const Remainder& remainder) MPR_REQUIRES(lock_);
    bool closeContexts(Local& local) MPR_REQUIRES(lock_);
    void takeCounts(Local& local) MPR_REQUIRES(lock_);
    void openQuickLists(Local& local) MPR_EXCLUDES(lock_);
    std::size_t shareOfLimit(std::size_t shares) const MPR_REQUIRES(lock_);
    void fitContexts() MPR_REQUIRES(lock_);
    void took(std::size_t granules) MPR_REQUIRES(lock_);

    void freeClaimed(Place at, std::size_t n) MPR_EXCLUDES(lock_);
    void takeClaimed(Place at, std::size_t n) MPR_REQUIRES(lock_);
    int freeOrdinary(Region* region, std::size_t g, std::size_t n) MPR_EXCLUDES(lock_);
    void freeBlock(Place at, std::size_t n) MPR_REQUIRES(lock_);
    bool extendInContext(Local& local, const Byte* end, std::size_t n, std::size_t more) const;
    bool extendIntoHole(const Local& local, Place end, std::size_t more) MPR_REQUIRES(lock_);
    Byte changeDeadHead(Region* region, std::size_t g, Byte set, Byte clear) MPR_EXCLUDES(lock_, clearing_);
    Byte changePinnedHead(Region* region, const void* block, Byte set, Byte clear);
    void sweepRange(Region* region, std::size_t at, std::size_t to, Swept& swept) MPR_REQUIRES(lock_);
    void keepHeld(Region* region, std::size_t at, swar::Word held) const;
    std::size_t clearDead(GranuleMap map, std::size_t g, std::size_t sliceEnd, Swept& swept) const;
    std::size_t sweepRun(Place at, std::size_t sliceEnd, Swept& swept) MPR_REQUIRES(lock_);
    void purgeRegion(Region* region, std::size_t keep) MPR_EXCLUDES(lock_);
    bool releaseIfEmpty(Region* region, std::size_t keep) MPR_EXCLUDES(lock_);
    Inside aroundLocked(const void* address) const MPR_REQUIRES(lock_);
    std::size_t freeBytesLocked() const MPR_REQUIRES(lock_);
    std::size_t freeForLimits() const MPR_REQUIRES(lock_);
    bool mayUse(std::size_t granules, bool privileged) MPR_REQUIRES(lock_);
    void gave(std::size_t granules) MPR_REQUIRES(lock_);
    void noteCommitted(std::size_t bytes) MPR_REQUIRES(lock_);
    void haveTold() MPR_REQUIRES(lock_);
    void spend() MPR_REQUIRES(lock_);
    void watchRedline() MPR_REQUIRES(lock_);

    /** Every Nth time that marking begins: what can be seen without walking maps. */
    void check() MPR_REQUIRES(lock_);

    os::Lock lock_;
    /**
        Held while the dead are cleared from a span's map without lock_, and taken before lock_. It excludes whoever
        walks maps, or changes the head of a block that only its hold keeps.
     */
    os::Lock clearing_;
    RegionTable table_;
    // Both lines are set before there are threads.
    Link secret_ = 0; // of links, and of what is written into listed blocks
    std::uintptr_t regionOrigin_ = 0, regionMask_ = 0;
    LinkRange linkRange_;    // under the lock
    os::Counter damages_{0}; // a statistic
    [[no_unique_address]] std::conditional_t<os::hasThreads, Findings, NoFindings> findings_;
    [[no_unique_address]] std::conditional_t<os::hasThreads, Quarantine, NoQuarantine>
        quarantine_ MPR_GUARDED_BY(lock_);
    bool poison_ = false;                         // set before there are threads
    bool hasSlack_ MPR_GUARDED_BY(lock_) = false; // some large region may be longer than its block
    FreeQueues queues_[sorts] MPR_GUARDED_BY(lock_);
    Region* regions_ MPR_GUARDED_BY(lock_) = nullptr; // newest first
    RetiredRegions retired_ MPR_GUARDED_BY(lock_){lock_};
    [[no_unique_address]] std::conditional_t<os::hasPages, GoneRegions, NoGoneRegions> gone_; // used on duty
    Local* locals_ MPR_GUARDED_BY(lock_) = nullptr;
    std::size_t
        allocating_ MPR_GUARDED_BY(lock_) = 0; // of those, how many had a context at the last pause, or are newer
    os::Shared<Earmark*> waiting_{nullptr};    // who wants something; changes under the lock
    SpareSpans spare_ MPR_GUARDED_BY(lock_){lock_};
    [[no_unique_address]] std::conditional_t<(lanes > 1), Lifetimes, NoLifetimes> lifetimes_;
    SweepState state_{lock_}; // may be asked by any thread
    Limits limits_ MPR_GUARDED_BY(lock_);
    Totals totals_ MPR_GUARDED_BY(lock_);
    Trigger trigger_ MPR_GUARDED_BY(lock_);
    unsigned stepping_ = 0, step_ = 0;  // see setStepping; the first is set before there are threads
    os::Shared<bool> attention_{false}; // a hint; the reason is guarded by the lock
    // This and the following members are set before there are threads, except those that the lock guards.
    unsigned regionShift_ = defaultRegionShift;
    std::size_t contextGranules_ = 0;       // what a context takes when it can: a power of two
    os::Shared<std::size_t> contextNow_{0}; // that, or less: see fitContexts
    FreeQueues::Words coldContexts_ = 0;    // of the cold queues whose holes have that many, except some in a tiny heap
    std::size_t greatestInRegion_ = 0;
    std::size_t reserve_ = 0;
    bool spans_ MPR_GUARDED_BY(lock_) = true;
    bool buffer_ = false;
    bool ends_ = false;      // see endLives
    bool hugePages_ = false; // regions may have them
    [[no_unique_address]] std::conditional_t<os::hasPages, Serving, NotServing> serving_;
    os::Shared<const Annex*> annex_{nullptr};
    [[no_unique_address]] std::conditional_t<os::hasPages, Scattered, NoScattered> scattered_ MPR_GUARDED_BY(lock_);
    [[no_unique_address]] std::conditional_t<os::hasPages, Refusals, NoRefusals> refusals_ MPR_GUARDED_BY(lock_);
};

/** Made before the lock is taken. After the lock has been released it names what was found under it. */
class Heap::Telling {
public:
    explicit Telling(Heap& heap) : heap_(heap) {}
    ~Telling() {
        if constexpr (os::hasThreads) {
            os::assertUnlocked();
            if (heap_.findings_.any()) [[unlikely]] {
                heap_.tell();
            }
        }
    }
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;

private:
    Heap& heap_;
};

/** Have memory that is about to be committed count against the limits of the heap that this one serves, if any. */
inline bool Heap::charge(std::size_t bytes, bool privileged) {
    Heap* main = serving_.main();
    return !main || main->lend(bytes, privileged);
}
inline void Heap::discharge(std::size_t bytes) {
    if (Heap* main = serving_.main()) {
        main->endLoan(bytes);
    }
}

/** If the limits have something to tell, have somebody told. */
inline void Heap::haveTold() {
    os::assertHeld(lock_);
    if (limits_.hasNews()) [[unlikely]] {
        wantAttention();
    }
}

inline void Heap::noteCommitted(std::size_t bytes) {
    os::assertHeld(lock_);
    limits_.commit(bytes);
    const std::size_t free = freeBytesLocked();
    const std::size_t unused = free - std::min(free, bytes);
    if (trigger_.isLate(bytes >> granuleShift) || limits_.counted() - unused >= limits_.wellPast()) {
        limits_.crosses(unused);
    }
    haveTold();
}

/** Without pages, what is in use is what counts as committed. @return false: past the limit. */
inline bool Heap::mayUse(std::size_t granules, bool privileged) {
    os::assertHeld(lock_);
    if constexpr (os::hasPages) {
        return true;
    }
    if (!limits_.take(granules << granuleShift, privileged)) [[unlikely]] {
        return false;
    }
    if (limits_.crosses()) [[unlikely]] {
        wantAttention();
    }
    return true;
}

/** Account for granules that left the queues for a context or a block. */
MPR_INLINE void Heap::took(std::size_t granules) {
    os::assertHeld(lock_);
    if constexpr (os::hasPages) {
        totals_.granulesAllocated += granules;
    } // else beginMarking and totals() do
    if (trigger_.take(granules)) [[unlikely]] {
        if constexpr (os::hasPages) {
            spend();
        } else {
            trigger_.spend();
            wantAttention();
        }
    }
}

/** Account for granules of blocks that were freed. Without pages totals() derives them from what is in use. */
inline void Heap::gave(std::size_t granules) {
    os::assertHeld(lock_);
    if constexpr (os::hasPages) {
        totals_.granulesFreed += granules;
    } else {
        limits_.uncommit(granules << granuleShift);
    }
}

/**
    A block's user writes to it at once, and a span is larger than the caches next to a processor. So prefetch some
    blocks ahead, for the memory of the very next one would come too late: a line, or eight where a block takes more than
    one. As many as it takes would be guessed wrongly where sizes vary: `gc_mpr filled_512` 40 ns a block instead of 33.
 */
MPR_INLINE void fetchAhead(const Byte* bump, std::size_t bytes) {
    constexpr std::size_t distance = 512; // bytes; `work_mpr mixed` takes 32 ns an allocation, 39 without
    __builtin_prefetch(bump + distance, 1);
    if (bytes > os::cacheLine) {
#pragma GCC unroll 8
        for (std::size_t at = os::cacheLine; at < distance; at += os::cacheLine) {
            __builtin_prefetch(bump + distance + at, 1);
        }
    }
}

MPR_INLINE void* bump(AllocationContext& c, std::size_t n, Byte h) {
    const std::size_t bytes = n << granuleShift;
    if (bytes > static_cast<std::size_t>(c.limit - c.bump)) {
        return nullptr;
    }
    Byte* block = c.bump;
    Byte* map = c.map;
    c.bump += bytes;
    c.map += n;
    GranuleMap::setSizeBehind(map, n);
    std::atomic_ref<Byte>(*map).store(h, std::memory_order_relaxed);
    if (head::wantsFree(h)) {
        c.region->noteWantsFree(c.region->granuleOf(block));
    }
    fetchAhead(c.bump, bytes);
    c.blocks.add(1);
    return block;
}

/** The kind stays what `flags` says, as far as the compiler knows it. */
inline Byte newbornHead(const Local& local, Byte flags) {
    return static_cast<Byte>(head::inUse | flags | (local.newborn & ~head::kindMask));
}

MPR_INLINE void* Heap::allocateSmall(Local& local, std::size_t n, Byte flags) {
    const Byte h = newbornHead(local, flags);
    if (void* block = n <= QuickLists::greatest ? local.quick.front(n) : nullptr) {
        if (!QuickLists::isIntact(block, secret_)) [[unlikely]] {
            return nullptr; // see allocateInContext
        }
        std::atomic_ref<Byte>(*local.quick.pop(n)).store(h, std::memory_order_relaxed);
        local.takenGranules.add(n);
        if (head::wantsFree(h)) {
            Region* region = find(block);
            region->noteWantsFree(region->granuleOf(block));
        }
        local.blocks.add(1);
        return block;
    }
    return bump(contextFor(local, n), n, h);
}

MPR_INLINE void* Heap::allocateFast(Local& local, std::size_t n, Byte flags) {
    if constexpr (!os::hasThreads) {
        return nullptr; // neither: see open
    }
    if (n <= greatestSmall) [[likely]] {
        return allocateSmall(local, n, flags);
    }
    return bump(contextFor(local, n), n, newbornHead(local, flags));
}

template <typename F>
void Heap::forEachToFree(const Local& local, F&& f) const {
    if constexpr (os::hasThreads) {
        const auto look = [&](Region* region, const Byte* begin, const Byte* bump) {
            const std::size_t from = region ? region->granuleOf(begin) : 0;
            const std::size_t to = region ? region->granuleOf(bump) : 0;
            if (from == to || (region->wantsFree.get() & region->chunksTouched(from, to)) == 0) {
                return;
            }
            const auto answer = [](std::size_t, auto words) { return swar::wantFree(words); };
            region->map().forEach(from, to, answer, [&](std::size_t g) {
                if (g >= from && g < to && (region->map().get(g) & head::referenced) == 0) {
                    f(region->address(g));
                }
            });
        };
        for (unsigned lane = 0; lane < lanes; ++lane) {
            for (unsigned i = 0; i <= local.batch->parts[lane].pieces; ++i) {
                const Batch::Stretch piece = local.batch->stretch(Batch::number(lane, i));
                look(piece.region, piece.begin, piece.bump);
            }
        }
    }
}

MPR_INLINE int Heap::freeClaimed(Local& local, Region* region, void* block, Byte* map, std::size_t n) {
    if (local.quick.push(block, map, n, secret_)) [[likely]] {
        local.freedBlocks.add(1);
        local.freedGranules.add(n);
        region->young.add(region->granuleOf(block)); // where it may be born again
        return 0;
    }
    if (os::hasThreads && local.batch) [[unlikely]] {
        return freeBesideBatch(local, {region, region->granuleOf(block)}, n);
    }
    return freeOrdinary(region, region->granuleOf(block), n);
}

} // namespace mpr::heap
