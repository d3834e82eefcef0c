// SPDX-License-Identifier: MIT
/*
    marker.hpp - Reaching every block that can be reached.

    Marking a block sets its colour in the map. A block with a manager is also put on a stack of fixed size. There is
    one stack for what is traced now, and two for old blocks that wait: one for barrier blocks, one for plain ones. The
    manager of a popped block is called, and marks what the block references. Nothing recurses, so a thread that marks
    needs only the stack of the deepest manager. Long rows of references (mprMarkRefs) go on the stack as a row, and are
    marked a piece at a time.

    The marker works in two ways. *Stopped*: threads are at a rendezvous, every block may be reached and traced.
    *Concurrent*: threads run. Then only old blocks are marked, and only barrier blocks are traced. Young blocks are not
    looked at. Plain blocks are marked, and wait for a *slice*, a short pause in which only they are traced. What
    threads change meanwhile is in the remembered set, which the last pause reads (incremental update: E. Dijkstra et al.,
    "On-the-Fly Garbage Collection", CACM 1978, with objects in place of references), or in a plain block; the last
    pause traces all of those again.

    A pause does not look at blocks that are surely marked (BlockFilter). A minor pause does not look at blocks that are
    surely old: they are marked, or will be while a major collection marks. What such a pause traces waits until threads
    run, and is then traced once more, for the old blocks that it references. With room on the stack, one more visit
    while threads run is cheaper than two cache misses in a pause.

    When a stack is full a block is left *grey*, a colour that no other block has (heap::Colours), and its region
    remembers between which granules grey blocks lie. When the stack has run empty, those stretches of the map are
    searched. The pause that starts a major collection may leave nothing grey, because the sweep of the young that
    follows would take grey blocks for dead. In that pause a block that finds no room stays unmarked, and a slice after
    the sweep marks the roots again.

    A short ring stands between the stack and the managers: a block is prefetched when it enters the ring, and used when
    it leaves (C.-Y. Cher, A. L. Hosking, T. N. Vijaykumar, "Software Prefetching for Mark-Sweep Garbage Collection",
    ASPLOS 2004). While threads run, a second ring stands between the managers and the heads. Heads are then changed
    atomically, and a processor starts nothing behind such a change, so without the ring it would wait for each cache
    miss in turn.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "mpr/gc/block_filter.hpp"
#include "mpr/gc/doubts.hpp"
#include "mpr/gc/manager.hpp"
#include "mpr/gc/mark_stack.hpp"
#include "mpr/gc/shared_work.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"

namespace mpr::gc {

/** Which blocks are marked, and when. */
enum class Marking : std::uint8_t {
    again,      // threads are stopped: trace old blocks once more, reach the young
    young,      // threads are stopped: reach what is unmarked, trace the young; old blocks wait
    all,        // threads are stopped: reach and trace everything
    slice,      // threads are stopped: reach the old, trace plain ones; barrier blocks wait
    concurrent, // threads run: reach the old, trace barrier blocks; plain ones wait
    check,      // threads are stopped: change nothing, see what could be reached
    publish,    // threads run: publish what the running manager names (batch.hpp)
};

/** When to stop: at a time, or when over(of) says so. */
struct Until {
    std::uint64_t time = os::forever;
    bool (*over)(const void* of) = nullptr;
    const void* of = nullptr;

    bool passed() const { return (over && over(of)) || (time != os::forever && os::now() >= time); }
};

class Marker {
public:
    /** @param doubts Where references to no block are noted; without threads they are said at once. */
    explicit Marker(heap::Heap& heap, Doubts* doubts = nullptr) : heap_(heap), doubts_(doubts) {}

    /** @param memory For the mark stacks, at least two entries. @param area See MarkStack::open. @return Likewise. */
    bool open(void* memory, std::size_t bytes, const MarkArea* area = nullptr);

    /**
        From here until end(), mprMark on this thread uses this marker. Call again after the colours in force have
        changed.
        @param filter Blocks that it passes over are not looked at.
        @param defers What is traced waits to be traced once more while threads run, for old blocks that were passed
        over.
     */
    void begin(Marking marking, const BlockFilter* filter = nullptr, bool defers = false);
    /**
        Like begin(Marking::concurrent), before a sweep of the young: a block that finds no room to wait stays unmarked.
     */
    void beginRoots();
    /** End what beginRoots began. @return Whether no block was left unmarked for want of room. */
    bool endRoots();
    /** Make this a marker that publishes; it is used by exchangeActive only. */
    void openPublishing();
    /** Set the marker at work on this thread. @return The one before. */
    static Marker* exchangeActive(Marker* marker);
    /** An observer of each block that is reached. */
    struct Watch {
        /** @param before The block's head. @return Whether the block is not to be marked. */
        bool (*reached)(Watch& self, heap::Byte before, const void* block);
    };
    /** begin(Marking::check), which only has blocks reported. */
    void beginCheck(Watch& check);
    /** From here on report blocks, too; nullptr: no more. Only one marker marks. */
    void setWatch(Watch* watch) { watch_ = watch; }
    void end();

    /** Reach a block, not nullptr; what is not a block is named in the log, or ignored when `loose`. */
    void mark(const void* pointer, bool loose);
    /** mark() for callers in other files; nullptr is fine. */
    void markRoot(const void* block, bool loose = false);
    /** For the manager that is running: reach what a row of fields refers to. */
    void markRow(const void* fields, std::size_t count);
    /** Set the number of the pause. Threads run between slices of different numbers. */
    void setPause(std::size_t pause) { pause_ = pause; }
    /** Trace a block that was reached before. */
    void retrace(heap::Region* region, std::size_t g);
    /** What retraceOld traces: only marked blocks, or all; barrier blocks, remembered or not, besides plain ones. */
    struct Retrace {
        bool markedOnly, barrier;
    };
    void retraceOld(heap::Region* region, unsigned chunk, Retrace which);
    /** Trace until nothing is left; with Marking::young old blocks may be left. Threads are stopped. */
    void drain();
    /** Trace a marked block of n granules once more, and drain. Threads are stopped. */
    void traceAgain(const void* block, std::size_t n);
    /** Share work with other markers from here on; nullptr: with none. */
    void share(SharedWork* work) { shared_ = work; }
    /**
        Trace together with others until nothing is left, except grey blocks. If only old blocks are marked, stop at
        `until`.
     */
    void drainShared(const Until& until);
    /** Take over what others have left to be traced. */
    void inherit(MarkStack& left) { inherit(left, indexNow()); }
    /** Another marker has ended its part of the job: take over what it left and counted. */
    void absorb(Marker& other);
    /** With Marking::slice or concurrent: trace some hundred blocks. @return false when no more of them wait. */
    bool advance();
    /** The stack that is being drained. */
    MarkStack& stackNow() { return stacks_[indexNow()]; }
    /** Whether begin may defer: there is room for the young blocks of a pause to wait. */
    bool mayDefer() const { return !grey_ && stackOf(barrierWaiting).room() >= manyEntries; }
    bool plainWaits() const { return !stackOf(plainWaiting).empty(); }
    /** Plain blocks need not wait any more: all of them will be traced. */
    void forgetPlain() { stackOf(plainWaiting).clear(); }

    std::uint64_t overflows() const { return overflows_.load(std::memory_order_relaxed); }
    std::uint64_t misuses() const { return misuses_.load(std::memory_order_relaxed); }
    /** Count references to no block; name one, and the block whose manager named it. */
    void countMisuses(unsigned more) { misuses_.fetch_add(more, std::memory_order_relaxed); }
    void say(const void* pointer, MarkEntry by) const;
    /** Blocks reached since the last call; and plain ones among them, which every pause traces again. */
    struct Reached {
        std::size_t blocks = 0, plain = 0;
    };
    Reached takeReached() { return std::exchange(count_, {}); }
    const Reached& reachedSoFar() const { return count_; }

    /** The marker at work on this thread, or nullptr. */
    static Marker* active();
    /** A value that identifies the block whose manager is running, or 0. Any thread may ask. */
    std::uintptr_t traced() const { return traced_.load(std::memory_order_relaxed); }
    /** Name that block and its manager, if there is one. */
    void describeTraced(os::Message& message) const;

private:
    /**
        Entries in each ring, a power of two. `gc_mpr hash_million`: 0.213 s CPU with 4, 0.207 with 16, 0.196 with 64.
     */
    static constexpr std::size_t ahead = os::cooperative ? 1 : 16;
    /** Fields marked between two looks at the time. From 16 to 1024 `gc_mpr ring_scanned` takes the same. */
    static constexpr std::size_t rowPiece = 128;
    static constexpr std::size_t fewEntries = 16; // so few are not shared: the others would be back at once
    static_assert(fewEntries / 2 >= MarkStack::rowEntries,
                  "whoever gives half of more keeps some, though no row is cut");
    static constexpr std::size_t manyEntries = 8 * 1024; // an eighth of the least blocks in a budget of 1 MiB

    enum : unsigned { now, barrierWaiting, plainWaiting };

    unsigned indexNow() const {
        return os::cooperative                   ? now
               : marking_ == Marking::slice      ? plainWaiting
               : marking_ == Marking::concurrent ? barrierWaiting
                                                 : now;
    }
    MarkStack& stackOf(unsigned i) {
        MPR_ASSERT(i < std::size(stacks_));
        return stacks_[i];
    }
    const MarkStack& stackOf(unsigned i) const {
        MPR_ASSERT(i < std::size(stacks_));
        return stacks_[i];
    }
    void inherit(MarkStack& left, unsigned stack);
    void look(const void* pointer, bool loose);
    static bool publishReference(Watch&, heap::Byte, const void* block);
    bool markFetched();
    void reach(heap::Region* region, std::size_t g, heap::Byte h, const void* pointer, bool loose);
    void reachWatched(heap::Region* region, std::size_t g, heap::Byte h, const void* pointer, bool loose);
    void push(heap::Byte* map, heap::Byte before, const void* block);
    void trace(MarkEntry entry);
    void trace(MarkEntry entry, std::size_t n);
    bool isGone(MarkEntry entry) const;
    void traceRow(MarkStack& stack);
    void markFields(const Row& row);
    void resumeRow(const Row& row);
    std::size_t sizeOf(MarkEntry entry) const;
    [[gnu::cold]] void overflow(heap::Region* region, heap::Byte* map, const void* block);
    /** @return false when at most `budget` blocks were traced and some are left. */
    bool drainStack(MarkStack& stack, std::size_t budget);
    void takeWaiting();
    void drainGrey();
    void recoverGrey(heap::Region* region);
    /** Whether young blocks are not looked at. */
    bool oldOnly() const { return marking_ == Marking::slice || marking_ == Marking::concurrent; }
    [[gnu::cold]] void report(const void* pointer);
    [[gnu::cold, gnu::noinline]] void lookElsewhere(const void* pointer, bool loose);
    void describe(os::Message& message, MarkEntry entry) const;
    void tellMore(os::Message& message, const void* pointer, MarkEntry by) const;
    void setTraced(MarkEntry entry) { traced_.store(entry.bits(), std::memory_order_relaxed); }

    heap::Heap& heap_;
    heap::Colours colours_;
    Marking marking_ = Marking::all;
    /**
        Others may be changing a head with one of these bits: any head while threads run; in a pause only that of
        permanent memory, which a thread that is not attached may free at any time (pfree).
     */
    heap::Byte contested_ = 0;
    const BlockFilter* filter_ = nullptr;
    bool defers_ = false;
    SharedWork* shared_ = nullptr;
    Watch* watch_ = nullptr;
    bool grey_ = false;
    bool mayLeaveGrey_ = true;
    bool left_ = false; // a block stayed unmarked because nothing may be left grey
    /**
        For each head the head of a reached block; 0 when it is reached already, need not be reached now, or is no head.
     */
    heap::Byte reached_[os::cooperative ? 1 : 256] = {};
    heap::Byte reached(heap::Byte h) const {
        if constexpr (os::cooperative) {
            return (h & heap::head::inUse) ? compute(h) : heap::Byte{0}; // no room for a table
        }
        return reached_[h];
    }
    heap::Byte compute(heap::Byte h) const;
    MarkStack stacks_[os::cooperative ? 1 : 3];
    LastManager seen_;
    MarkEntry ring_[ahead] = {};
    struct Fetched {
        const void* block;
        std::uintptr_t by; // an entry: whose manager named it; while the block before it here is looked at, of that one
    };
    Fetched fetched_[ahead] = {};          // with Marking::concurrent only
    std::size_t fetchTurn_ = 0;            // the next to be replaced; the one before it is looked at
    os::Shared<std::uintptr_t> traced_{0}; // bits of the entry whose manager runs; for messages: orders nothing
    std::size_t position_ = 0;             // of the next reference that the running manager names in a row
    const Row* resumed_ = nullptr;         // the running manager was asked for these references only
    std::size_t pause_ = 0;
    Reached count_;
    os::Counter overflows_{0}; // statistics, as the next
    os::Counter misuses_{0};
    static constexpr unsigned mostReports = 8; // lines at once, without threads
    unsigned reports_ = 0;
    Doubts* doubts_;
};

/** For managers: mark what a field refers to, if it is a block. Unmanaged memory there is no mistake. */
inline void markLoose(const void* field) {
    if (Marker* marker = Marker::active()) {
        marker->markRoot(__atomic_load_n(static_cast<void* const*>(field), __ATOMIC_ACQUIRE), true);
    }
}

} // namespace mpr::gc
