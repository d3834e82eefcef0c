// SPDX-License-Identifier: MIT
/*
    roots.hpp - Where marking starts, and the counts of nested roots and holds.

    The tables are held blocks of the heap itself, so they count against the limits and exist on boards without pages.
    They are resized by mutators that add or remove entries, never by the collector.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/collect.h"
#include "mpr/gc/embed_hooks.hpp"
#include "mpr/gc/handle_hooks.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::gc {

/**
    A set of pointers with a count each: open addressing with linear probing; deletion moves entries back, so there are
    no tombstones (D. Knuth, TAOCP vol. 3, 6.4, algorithm R).
    Invariant: a table is never full. It is more than three quarters full only while memory for a larger one is short,
    and less than an eighth full only if it is small or while memory for a smaller one is short. Not synchronised.
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

    /** Check that every entry is where find looks for it, and that the table is not full. */
    void check() const;

private:
    struct Entry {
        const void* key;
        std::uint32_t count;
    };

    std::size_t slotOf(const void* key) const {
        return (reinterpret_cast<std::uintptr_t>(key) >> heap::granuleShift) * 0x9E3779B1u & (capacity_ - 1);
    }
    /** The place of a key, or where it would go. The table has a free entry. */
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
    The head of a block that has been a root says so (head::referenced), and whoever frees such a block by hand asks
    isRoot first. (Without an operating system heads do not say so: code memory is short.)

    A bit in a block's head stands for its first hold; `holds_` counts further ones. Counting, and clearing the bit,
    needs the lock. The head of a block that has been counted there says so (head::referenced), as that of a root: an
    entry that outlived its block would stand for holds of the next one there.

    Root references are linked and unlinked in any state of a thread, since a destructor cannot fail. This happens under
    the lock, which a walk takes, too. Holds change heads, which a pause stores plainly, so only running threads and
    visits (Visit) may do that.
 */
class Roots {
public:
    /** @return false when there is no memory to remember it: try again, or give up. */
    bool add(heap::Heap& heap, heap::Region* region, const void* block, heap::Shortage& shortage);
    /** A root or hold could not be remembered, so nobody knows what it keeps alive: from here on nothing dies. Threads run. */
    void giveUp() { incomplete_.store(true, std::memory_order_relaxed); }
    bool incomplete() const { return incomplete_.load(std::memory_order_relaxed); }
    /** @return false when it is not a root. */
    bool remove(heap::Heap& heap, const void* block);
    bool isRoot(const void* block);
    void link(MprRootRef* ref);
    /** Does nothing when it is not linked. */
    void unlink(MprRootRef* ref);
    /** Unlink all: the runtime has ended, and no other thread is left. */
    void unlinkAll() MPR_UNANALYSED;

    /** @return false when there is no memory to count it: give up. */
    bool hold(heap::Heap& heap, heap::Region* region, void* block);
    /** @return false when it is not held. */
    bool release(heap::Heap& heap, heap::Region* region, void* block);
    /** Whether a block, whose head says head::referenced, is held more than once. */
    bool isHeldFurther(const void* block);
    /** The block is gone: forget its further holds. @return Whether there were any. */
    bool endHolds(heap::Heap& heap, const void* block);

    /** Hooks of the store of handles; nullptr until there is a handle. Any thread. */
    const HandleHooks* handles() const { return handles_.load(std::memory_order_acquire); }
    void setHandles(const HandleHooks* handles) { handles_.store(handles, std::memory_order_release); }

    /** Hooks of the program (mpr/embed.h); nullptr while there are none. They change while threads run. */
    const EmbedHooks* embedder() const { return embedder_.load(std::memory_order_acquire); }
    void setEmbedder(const EmbedHooks* hooks) { embedder_.store(hooks, std::memory_order_release); }

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
    CountedPointers holds_ MPR_GUARDED_BY(lock_); // beyond the first hold, which is a bit in the block's head
    MprRootRef refs_ MPR_GUARDED_BY(lock_){&refs_, &refs_, nullptr};
    os::Shared<const HandleHooks*> handles_{nullptr};
    [[no_unique_address]] std::conditional_t<os::hasThreads, os::Shared<const EmbedHooks*>, NoEmbedHooks> embedder_{};
    os::Shared<bool> incomplete_{false}; // never cleared; the rendezvous orders it with the next pause
};

} // namespace mpr::gc
