/*
    marker.hpp - Reaching every block that can be reached.

    Marking a block sets its colour in the map; a block with a manager is also put on a stack of fixed size. A popped
    block's manager is called and marks what it references. Nothing recurses, so the collector's thread needs no more
    stack than the deepest manager.

    When the stack is full a block is left *grey*: coloured newborn, which no block reached before can have, and its
    region remembers between which granules such blocks lie. When the stack has run empty those stretches of the map are
    searched for grey blocks. A block is traced once, whatever happens.

    Between the stack and the managers stands a short ring: a block is fetched into the cache when it enters the ring and
    used when it leaves (C.-Y. Cher, A. L. Hosking, T. N. Vijaykumar, "Software Prefetching for Mark-Sweep Garbage
    Collection", ASPLOS 2004).
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"

namespace mpr::gc {

class Marker {
public:
    explicit Marker(heap::Heap& heap) : heap_(heap) {}

    /** @param stack Memory for the mark stack, at least one entry. */
    void open(void* stack, std::size_t bytes);

    /** All threads are stopped and the colours flipped. Between begin and end, mprMark on this thread comes here. */
    void begin();
    /** Reach a block, not nullptr; what is not a block is named in the log, or ignored when `loose`. */
    void mark(const void* block, bool loose);
    /** The same for other files; nullptr is fine. */
    void markRoot(const void* block, bool loose = false);
    /** Trace until nothing is left. */
    void drain();
    void end();

    std::uint64_t overflows() const { return overflows_; }
    std::uint64_t misuses() const { return misuses_; }

    /** The marker at work on this thread, or nullptr. */
    static Marker* active();

private:
    /**
        A block on the stack: its address, and in the bits that alignment leaves its size in granules, or 0 when that
        does not fit. One word: copied as two, it would be stored in halves and loaded whole, which stalls.
     */
    class Entry {
    public:
        Entry() = default;
        Entry(const void* block, std::size_t granules) : bits_(reinterpret_cast<std::uintptr_t>(block) | granules) {}
        explicit operator bool() const { return bits_ != 0; }
        heap::Byte* block() const { return reinterpret_cast<heap::Byte*>(bits_ & ~(heap::granuleSize - 1)); }
        /** 0: look into the map. */
        std::size_t granules() const { return bits_ & (heap::granuleSize - 1); }

    private:
        std::uintptr_t bits_ = 0;
    };
    static constexpr std::size_t ahead = os::cooperative ? 1 : 16; // entries in the ring: a power of two

    void push(heap::Region* region, heap::Byte* map, heap::Byte reached, const void* block);
    void trace(Entry entry);
    MprManager* managerOf(Entry entry) const;
    [[gnu::cold]] void overflow(heap::Region* region, heap::Byte* map, const void* block);
    void drainStack();
    void recoverGrey(heap::Region* region);
    [[gnu::cold]] void report(const void* pointer);

    heap::Heap& heap_;
    heap::Colours colours_;
    /** The head that says "reached"; 0 when h says so already, or is no head. */
    heap::Byte reached(heap::Byte h) const {
        if constexpr (os::cooperative) {
            return compute(h); // no room for a table
        }
        return reached_[h];
    }
    heap::Byte compute(heap::Byte h) const {
        return (h & heap::head::inUse) == 0 || colours_.live(h)
                   ? heap::Byte{0}
                   : static_cast<heap::Byte>((h & ~heap::head::colourMask) | colours_.oldMarked());
    }
    heap::Byte reached_[os::cooperative ? 1 : 256] = {};
    Entry* stack_ = nullptr;
    Entry* top_ = nullptr; // one past the last entry
    Entry* limit_ = nullptr;
    Entry ring_[ahead] = {};
    Entry traced_{}; // whose manager runs
    bool grey_ = false;
    std::uint64_t overflows_ = 0;
    std::uint64_t misuses_ = 0;
    unsigned reports_ = 0;
};

} // namespace mpr::gc
