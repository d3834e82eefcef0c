/*
    marker.hpp - Reaching every block that can be reached.

    Marking a block sets its colour in the map; a block with a manager is also put on a stack of fixed size, with another
    for the young while old blocks wait. A popped block's manager is called and marks what it references. Nothing recurses, so the
    collector's thread needs no more stack than the deepest manager. Long rows of references (mprMarkRefs) go on the stack
    as a row and are marked a piece at a time.

    The marker works in two ways. *Stopped*: threads are at a rendezvous, every block may be reached and traced.
    *Concurrent*: threads run. Then only old blocks are marked, and only barrier blocks traced: the young are not looked
    at, and plain blocks are marked and left for the next pause, which traces every marked plain block anyway. What
    threads change meanwhile is in the log, which the next pause goes through (incremental update: E. Dijkstra et al.,
    "On-the-Fly Garbage Collection", CACM 1978, with the objects in place of the references).

    When a stack is full a block is left *grey*, a colour that nothing else has (heap::Colours), and its region remembers
    between which granules such blocks lie. When the stack has run empty those stretches of the map are searched.

    Between the stack and the managers stands a short ring: a block is fetched into the cache when it enters the ring and
    used when it leaves (C.-Y. Cher, A. L. Hosking, T. N. Vijaykumar, "Software Prefetching for Mark-Sweep Garbage
    Collection", ASPLOS 2004).
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "mpr/gc/mark_stack.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"

namespace mpr::gc {

/** What is marked, and when. */
enum class Marking {
    young,      // threads are stopped: reach what is unmarked, trace the young; old blocks wait for `concurrent`
    all,        // threads are stopped: reach and trace everything
    concurrent, // threads run: reach and trace the old
    check,      // threads are stopped: change nothing, see what could be reached
};

class Check;

class Marker {
public:
    explicit Marker(heap::Heap& heap) : heap_(heap) {}

    /** @param memory For the mark stacks, at least two entries. */
    void open(void* memory, std::size_t bytes);

    /** From here to end, mprMark on this thread comes here. Again after the colours in force have changed. */
    void begin(Marking marking);
    void beginCheck(Check& check);
    void end();

    /** Reach a block, not nullptr; what is not a block is named in the log, or ignored when `loose`. */
    void mark(const void* block, bool loose);
    /** The same for other files; nullptr is fine. */
    void markRoot(const void* block, bool loose = false);
    /** Reach what a row of fields holds. */
    void markRow(const void* fields, std::size_t count);
    /** Trace a block that was reached before. */
    void retrace(heap::Region* region, std::size_t g);
    /** Trace until nothing is left; with Marking::young, nothing but old blocks. Threads are stopped. */
    void drain();
    /** Trace some hundred old blocks. @return false when nothing is left. */
    bool advance();

    std::uint64_t overflows() const { return overflows_; }
    std::uint64_t misuses() const { return misuses_; }
    /** Blocks reached since the last call, all and those that every pause traces again. */
    struct Reached {
        std::size_t blocks = 0, plain = 0;
    };
    Reached takeReached() { return std::exchange(count_, {}); }

    /** The marker at work on this thread, or nullptr. */
    static Marker* active();

private:
    static constexpr std::size_t ahead = os::cooperative ? 1 : 16; // entries in the ring: a power of two
    static constexpr std::size_t rowPiece = 128;                   // fields marked at a time

    template <bool stopped>
    void reach(const void* block, bool loose);
    void push(heap::Region* region, heap::Byte* map, heap::Byte before, const void* block);
    void trace(MarkEntry entry);
    void traceRow(MarkStack& stack);
    MprManager& managerOf(MarkEntry entry) const;
    [[gnu::cold]] void overflow(heap::Region* region, heap::Byte* map, const void* block);
    /** @return false when at most `budget` blocks were traced and some are left. */
    bool drainStack(MarkStack& stack, std::size_t budget);
    void drainGrey();
    void recoverGrey(heap::Region* region);
    /** The one that is drained now. */
    MarkStack& stackNow() { return stacks_[tracesOld() || !stopped_]; }
    bool tracesOld() const { return !os::hasGenerations || tracesOld_; }
    [[gnu::cold]] void report(const void* pointer);

    heap::Heap& heap_;
    heap::Colours colours_;
    Marking marking_ = Marking::all;
    bool stopped_ = true;
    bool tracesOld_ = true; // before end
    Check* check_ = nullptr;
    bool grey_ = false;
    /** By head: the head that says "reached"; 0 when it says so already, is not to be reached now, or is no head. */
    heap::Byte reached_[os::cooperative ? 1 : 256] = {};
    heap::Byte reached(heap::Byte h) const {
        if constexpr (os::cooperative) {
            return (h & heap::head::inUse) ? compute(h) : heap::Byte{0}; // no room for a table
        }
        return reached_[h];
    }
    heap::Byte compute(heap::Byte h) const {
        if constexpr (!os::hasGenerations) {
            return colours_.marked(h) ? heap::Byte{0} : colours_.survivor(h);
        }
        const bool wanted = !colours_.marked(h) && (stopped_ || (h & heap::head::old) != 0);
        // An old block that is in the log and not traced in this pause stays there: its young must be reached now, and
        // while threads run it may be written again once it has been traced.
        const bool waits = (h & heap::head::old) != 0 && !tracesOld();
        const heap::Byte kept = waits ? static_cast<heap::Byte>(h & heap::head::logged) : heap::Byte{0};
        return wanted ? static_cast<heap::Byte>(colours_.survivor(h) | kept) : heap::Byte{0};
    }
    MarkStack stacks_[2]; // of the young while the old wait; of all others
    MarkEntry ring_[ahead] = {};
    MarkEntry traced_{}; // whose manager runs
    Reached count_;
    std::uint64_t overflows_ = 0;
    std::uint64_t misuses_ = 0;
    unsigned reports_ = 0;
};

/** For managers: mark what a field refers to, if it is a block; unmanaged memory there is nobody's mistake. */
inline void markLoose(const void* field) {
    if (Marker* marker = Marker::active()) {
        marker->markRoot(__atomic_load_n(static_cast<void* const*>(field), __ATOMIC_ACQUIRE), true);
    }
}

} // namespace mpr::gc
