// SPDX-License-Identifier: MIT
/*
    roots.hpp - Where marking starts, and the counts behind nested roots and holds.

    Tables live in held blocks of the heap itself, so that they count against the limits and exist on boards without
    pages. They are resized by the mutators that add to them or remove from them, never by the collector.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/collect.h"
#include "mpr/heap/heap.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::gc {

/**
    A set of pointers with a count each: open addressing with linear probing; deletion moves entries back, so there are
    no tombstones (D. Knuth, TAOCP vol. 3, 6.4, algorithm R).
    Invariant: never full; more than three quarters only while memory for a larger table cannot be had. Less than an eighth
    only if it is small, or while there is no memory for the smaller table. Not synchronised.
 */
class CountedPointers {
public:
    /** @return false when the table is full and memory for a larger one could not be had. */
    bool add(heap::Heap& heap, const void* key, heap::Shortage& shortage);
    /** @return the count left, or -1 when key was not there. */
    int remove(heap::Heap& heap, const void* key);
    std::uint32_t count(const void* key) const;

    template <typename F>
    void forEach(F&& f) const {
        for (std::size_t i = 0; i < capacity_; ++i) {
            if (entries_[i].key) {
                f(entries_[i].key);
            }
        }
    }

    /** Every entry is where find looks for it, and the table is not full. */
    void check() const;

private:
    struct Entry {
        const void* key;
        std::uint32_t count;
    };

    std::size_t slotOf(const void* key) const {
        return (reinterpret_cast<std::uintptr_t>(key) >> heap::granuleShift) * 0x9E3779B1u & (capacity_ - 1);
    }
    /** Where key is, or where it would go. The table has a free entry. */
    std::size_t find(const void* key) const;
    bool grow(heap::Heap& heap, heap::Shortage& shortage);
    void shrink(heap::Heap& heap);
    bool resize(heap::Heap& heap, std::size_t capacity, heap::Shortage& shortage);
    static constexpr std::size_t leastCapacity = 16;

    Entry* entries_ = nullptr;
    std::size_t capacity_ = 0; // a power of two, or 0
    std::size_t used_ = 0;
};

/**
    The head of a block that has been a root says so (head::referenced), so that nobody frees a root by hand: whoever would
    asks isRoot. (Without an operating system heads do not: code memory is short.)

    The bit in a block's head stands for its first hold; `holds_` counts those beyond. Only who has the lock counts, and clears
    the bit.

    Root references are linked and unlinked in any state of a thread, a destructor cannot fail: under the lock, which whoever
    walks them takes, too. Holds change heads, which a pause stores plainly: running threads only, or visits (Visit).
 */
class Roots {
public:
    /** @return false when there is no memory to remember it: try again, or give up. */
    bool add(heap::Heap& heap, heap::Region* region, const void* block, heap::Shortage& shortage);
    /** A root could not be remembered. Who knows what it keeps alive: from here on nothing dies. Threads run. */
    void giveUp() { incomplete_.store(true, std::memory_order_relaxed); }
    bool incomplete() const { return incomplete_.load(std::memory_order_relaxed); }
    /** @return false when it is not a root. */
    bool remove(heap::Heap& heap, const void* block);
    bool isRoot(const void* block);
    void link(MprRootRef* ref);
    /** Does nothing when it is not linked. */
    void unlink(MprRootRef* ref);
    /** The runtime has ended: nobody else is left. */
    void unlinkAll() MPR_UNANALYSED;

    /** @return false when there is no memory to count it: the hold stays for good. */
    bool hold(heap::Heap& heap, heap::Region* region, void* block);
    /** @return false when it is not held. */
    bool release(heap::Heap& heap, heap::Region* region, void* block);

    /** Call mark(pointer) for each root. All threads are stopped. */
    template <typename F>
    void forEach(F&& mark) {
        os::Locked locked(lock_);
        table_.forEach(mark);
        for (const MprRootRef* ref = refs_.next; ref != &refs_; ref = ref->next) {
            mark(ref->ptr);
        }
    }

private:
    os::Lock lock_;
    CountedPointers table_ MPR_GUARDED_BY(lock_);
    CountedPointers holds_ MPR_GUARDED_BY(lock_); // beyond the first, which is the bit in the block's head
    MprRootRef refs_ MPR_GUARDED_BY(lock_){&refs_, &refs_, nullptr};
    os::Shared<bool> incomplete_{false}; // for good; the rendezvous shows it to the next pause
};

} // namespace mpr::gc
