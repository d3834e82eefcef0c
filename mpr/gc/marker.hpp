// SPDX-License-Identifier: MIT
/*
    marker.hpp - Reaching every block that can be reached.

    Marking a block sets its colour in the map; a block with a manager is also put on a stack of fixed size: one for what
    is traced now, two for old blocks that wait, barrier and plain ones apart. A popped block's manager is called and marks
    what it references. Nothing recurses, so a thread that marks needs no more stack than the deepest manager. Long rows
    of references (mprMarkRefs) go on the stack as a row and are marked a piece at a time.

    The marker works in two ways. *Stopped*: threads are at a rendezvous, every block may be reached and traced.
    *Concurrent*: threads run. Then only old blocks are marked, and only barrier blocks traced: the young are not looked
    at, and plain blocks are marked and wait for a *slice*, a short pause in which only they are traced. What threads
    change meanwhile is in the log, which the last pause goes through (incremental update: E. Dijkstra et al., "On-the-Fly
    Garbage Collection", CACM 1978, with the objects in place of the references), or in a plain block, all of which that
    pause traces again.

    A pause does not look at what is surely marked (BlockFilter), in a minor collection not at what is surely old: all of
    that is marked, or, while a major collection marks, will be. What the minor pause traces waits for the threads to run
    and is traced once more then, for the old that it references: with room on the stack, one more visit while threads run
    is cheaper than two cache misses in a pause.

    When a stack is full a block is left *grey*, a colour that nothing else has (heap::Colours), and its region remembers
    between which granules such blocks lie. When the stack has run empty those stretches of the map are searched. The
    pause in which a major collection starts may leave nothing grey: to the sweep of the young that follows it, grey blocks
    are dead ones. There a block that finds no room stays unmarked, and a slice after the sweep marks the roots again.

    Between the stack and the managers stands a short ring: a block is fetched into the cache when it enters the ring and
    used when it leaves (C.-Y. Cher, A. L. Hosking, T. N. Vijaykumar, "Software Prefetching for Mark-Sweep Garbage
    Collection", ASPLOS 2004). While threads run another stands between the managers and the heads: these are changed
    atomically then, and a processor begins nothing behind such a change, so that it would wait for one after the other.
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "mpr/gc/block_filter.hpp"
#include "mpr/gc/mark_stack.hpp"
#include "mpr/gc/shared_work.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"

namespace mpr::gc {

/** What is marked, and when. */
enum class Marking : std::uint8_t {
    again,      // threads are stopped: trace old blocks once more, reach the young
    young,      // threads are stopped: reach what is unmarked, trace the young; old blocks wait
    all,        // threads are stopped: reach and trace everything
    slice,      // threads are stopped: reach the old, trace plain ones; barrier blocks wait
    concurrent, // threads run: reach the old, trace barrier blocks; plain ones wait
    check,      // threads are stopped: change nothing, see what could be reached
};

/** When to leave off: at a time, or when somebody says so. */
struct Until {
    std::uint64_t time = os::forever;
    bool (*over)(const void* of) = nullptr;
    const void* of = nullptr;

    bool passed() const { return (over && over(of)) || (time != os::forever && os::now() >= time); }
};

class Check;

class Marker {
public:
    explicit Marker(heap::Heap& heap) : heap_(heap) {}

    /** @param memory For the mark stacks, at least two entries. */
    void open(void* memory, std::size_t bytes);

    /**
        From here to end, mprMark on this thread comes here. Again after the colours in force have changed.
        @param filter What it passes over is not looked at.
        @param defers What is traced waits to be traced once more while threads run, for the old that were passed over.
     */
    void begin(Marking marking, const BlockFilter* filter = nullptr, bool defers = false);
    /** As begin(Marking::concurrent), before a sweep of the young: what finds no room to wait stays unmarked. */
    void beginRoots();
    /** @return Whether nothing was left unmarked for want of room. */
    bool endRoots();
    void beginCheck(Check& check);
    void end();

    /** Reach a block, not nullptr; what is not a block is named in the log, or ignored when `loose`. */
    void mark(const void* pointer, bool loose);
    /** The same for other files; nullptr is fine. */
    void markRoot(const void* block, bool loose = false);
    /** For the manager that runs: reach what a row of fields holds. */
    void markRow(const void* fields, std::size_t count);
    /** Slices of different numbers are different pauses: threads ran between them. */
    void setPause(std::size_t pause) { pause_ = pause; }
    /** Trace a block that was reached before. */
    void retrace(heap::Region* region, std::size_t g);
    /** Trace the old plain blocks in a chunk once more, or those that are marked, or barrier blocks, logged or not, too. */
    struct Retrace {
        bool markedOnly, barrier;
    };
    void retraceOld(heap::Region* region, unsigned chunk, Retrace which);
    /** Trace until nothing is left; with Marking::young, nothing but old blocks. Threads are stopped. */
    void drain();
    /** Share work with other markers from here on, or, nullptr, with none. */
    void share(SharedWork* work) { shared_ = work; }
    /** The same as drain without a care for what was left grey, together with others; if only old blocks are marked, `until`. */
    void drainShared(const Until& until);
    /** What others have left to be traced is this one's. */
    void inherit(MarkStack& left) { inherit(left, indexNow()); }
    /** Another has ended a part of the same job: what it left and counted becomes this one's. */
    void absorb(Marker& other);
    /** With Marking::slice or concurrent: trace some hundred blocks. @return false when no more of them wait. */
    bool advance();
    /** The one that is drained now. */
    MarkStack& stackNow() { return stacks_[indexNow()]; }
    /** Whether begin may be told to defer: the young that a pause reaches have room to wait. */
    bool mayDefer() const { return !grey_ && stacks_[barrierWaiting].room() >= manyEntries; }
    bool plainWaits() const { return !stacks_[plainWaiting].empty(); }
    /** What waits is traced with all others. */
    void forgetPlain() { stacks_[plainWaiting].clear(); }

    std::uint64_t overflows() const { return overflows_.load(std::memory_order_relaxed); }
    std::uint64_t misuses() const { return misuses_.load(std::memory_order_relaxed); }
    /** Blocks reached since the last call, all and those that every pause traces again. */
    struct Reached {
        std::size_t blocks = 0, plain = 0;
    };
    Reached takeReached() { return std::exchange(count_, {}); }

    /** The marker at work on this thread, or nullptr. */
    static Marker* active();
    /** Other threads may ask: what tells the block whose manager runs now from others, or 0. */
    std::uintptr_t traced() const { return traced_.load(std::memory_order_relaxed); }
    /** Name that block and its manager, if there is one. */
    void describeTraced(os::Message& message) const;

private:
    static constexpr std::size_t ahead = os::cooperative ? 1 : 16; // entries in each ring: a power of two
    static constexpr std::size_t rowPiece = 128;                   // fields marked at a time
    static constexpr std::size_t fewEntries = 16;                  // are not shared
    static_assert(fewEntries / 2 >= MarkStack::rowEntries,
                  "whoever gives half of more keeps some, though no row is cut");
    static constexpr std::size_t manyEntries = 8 * 1024;

    enum : unsigned { now, barrierWaiting, plainWaiting };

    unsigned indexNow() const {
        return os::cooperative                   ? now
               : marking_ == Marking::slice      ? plainWaiting
               : marking_ == Marking::concurrent ? barrierWaiting
                                                 : now;
    }
    void inherit(MarkStack& left, unsigned stack);
    void look(const void* pointer, bool loose);
    bool markFetched();
    void reach(heap::Region* region, std::size_t g, heap::Byte h, const void* pointer, bool loose);
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
    /** The young are not looked at. */
    bool oldOnly() const { return marking_ == Marking::slice || marking_ == Marking::concurrent; }
    [[gnu::cold]] void report(const void* pointer);
    void say(const void* pointer, MarkEntry by) const;
    [[gnu::cold]] void sayReports();
    void describe(os::Message& message, MarkEntry entry) const;
    void setTraced(MarkEntry entry) { traced_.store(entry.bits(), std::memory_order_relaxed); }

    heap::Heap& heap_;
    heap::Colours colours_;
    Marking marking_ = Marking::all;
    /** A head with one of these bits others may be changing: while threads run every head; in a pause that of permanent
        memory, which a thread that is not attached may free at any time (pfree). */
    heap::Byte contested_ = 0;
    const BlockFilter* filter_ = nullptr;
    bool defers_ = false;
    SharedWork* shared_ = nullptr;
    Check* check_ = nullptr;
    bool grey_ = false;
    bool mayLeaveGrey_ = true;
    bool left_ = false; // something stayed unmarked because it might not be left grey
    /** By head: the head that says "reached"; 0 when it says so already, is not to be reached now, or is no head. */
    heap::Byte reached_[os::cooperative ? 1 : 256] = {};
    heap::Byte reached(heap::Byte h) const {
        if constexpr (os::cooperative) {
            return (h & heap::head::inUse) ? compute(h) : heap::Byte{0}; // no room for a table
        }
        return reached_[h];
    }
    heap::Byte compute(heap::Byte h) const;
    MarkStack stacks_[os::cooperative ? 1 : 3];
    MarkEntry ring_[ahead] = {};
    const void* fetched_[ahead] = {}; // blocks; with Marking::concurrent only
    std::size_t fetchTurn_ = 0;
    os::Shared<std::uintptr_t> traced_{0}; // bits of the entry whose manager runs; for messages: orders nothing
    std::size_t position_ = 0;             // of the next reference that it names in a row
    const Row* resumed_ = nullptr;         // it has been asked for these only
    std::size_t pause_ = 0;
    Reached count_;
    os::Counter overflows_{0}; // statistics, as the next
    os::Counter misuses_{0};
    /** What is no block and was marked, and by which block's manager; said when no lock is held. */
    struct Report {
        const void* pointer;
        MarkEntry by;
    };
    static constexpr unsigned mostReports = 8; // threads are stopped: enough said
    [[no_unique_address]] std::array<Report, os::hasThreads ? mostReports : 0> reported_ = {};
    unsigned reports_ = 0;
};

/** For managers: mark what a field refers to, if it is a block; unmanaged memory there is nobody's mistake. */
inline void markLoose(const void* field) {
    if (Marker* marker = Marker::active()) {
        marker->markRoot(__atomic_load_n(static_cast<void* const*>(field), __ATOMIC_ACQUIRE), true);
    }
}

} // namespace mpr::gc
