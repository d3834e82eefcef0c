// SPDX-License-Identifier: MIT
/*
    remembered_set.hpp - The remembered set: which old blocks were stored into since the last pause.

    The barrier remembers objects: the first store into an old barrier block sets a bit in its head and writes its address
    into the thread's chunk of the set. The next pause traces the block again. Large blocks (isByField) get
    the bit for words that only their managers can read (mprSetWord), not for references, since tracing a large array for
    one store costs too much: there each store remembers its field. Stores into successive fields, as into a ring, make one
    run.

    Both were tried on this map layout (256 KiB set, random objects of 64 bytes, time over that of plain stores):
    remembering objects 1.06 (1.08 when each is remembered once in a million stores), fields 1.24 (1.38).

    Invariants
      - A chunk belongs to one thread, or to the list of full ones, or to the spare ones (both under the lock).
      - Between pauses every old barrier block whose head says "remembered" is in the set, or will be before the thread that
        set the bit stops. Only pauses clear the bit, and the rendezvous orders that, so a store tests it relaxed.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/heap/heap.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::gc {

/** A piece of the remembered set, in a held block of the heap. */
struct RememberedChunk {
    static constexpr std::size_t capacity = sizeof(void*) == 8 ? 254 : 61; // the block has 2 KiB, or 256 bytes

    RememberedChunk* next = nullptr;
    std::uint32_t count = 0;  // entries
    std::uint32_t stores = 0; // that the entries stand for; at most `capacity`, so that a pause is bounded
    // A block; a field, with bit 0 set; or, behind a field, how many more follow it, shifted, with bit 1 set.
    std::uintptr_t entries[capacity];

    bool full() const { return stores == capacity; }
    void clear() { count = stores = 0; }
};

class RememberedSet {
public:
    explicit RememberedSet(heap::Heap& heap) : heap_(heap) {}

    /**
        Note that a field of an old block, or of one of unknown age, was written. `chunk` is the calling thread's.
        @return true when so much has been remembered that a pause should come.
     */
    bool add(RememberedChunk*& chunk, std::uintptr_t entry);
    static std::uintptr_t ofBlock(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }
    static std::uintptr_t ofField(const void* field) { return reinterpret_cast<std::uintptr_t>(field) | 1; }
    /** Whether each store into a block of so many granules is remembered by its field. */
    static bool isByField(std::size_t granules) { return granules > heap::greatestSmall; }
    static bool isField(std::uintptr_t entry) { return (entry & 1) != 0; }
    static bool isRun(std::uintptr_t entry) { return (entry & 3) == 2; }
    /** How many fields a run adds to the one that the entry before it names. */
    static std::size_t moreOf(std::uintptr_t run) { return run >> runShift; }
    static const void* addressOf(std::uintptr_t entry) {
        return reinterpret_cast<const void*>(entry & ~std::uintptr_t{1});
    }

    /** The thread ends: hand over what it has remembered. */
    void leave(RememberedChunk*& chunk);

    /** Note that something could not be remembered. Any thread. */
    void lose() { lost_.store(true, std::memory_order_relaxed); }

    // ---- Threads are stopped ----
    /** The list of chunks that are full, or were handed over. */
    RememberedChunk* full() const MPR_UNANALYSED { return full_; }
    /**
        Full chunks have been read and what they name has been traced, which took so many nanoseconds and should not have
        taken longer than `longest`: set how many call for the next pause.
     */
    void pace(std::uint64_t took, std::uint64_t longest);
    /** Full chunks have been read: keep some, free the rest. */
    void recycle();
    /** Whether something could not be remembered, so that everything must be traced. Asking clears it. */
    bool takeLost() { return lost_.exchange(false, std::memory_order_relaxed); }

    /** Check that the lists have as many chunks as counted, none of them overfull. */
    void check() const MPR_REQUIRES(lock_);

private:
    /**
        Full chunks that call for a pause. `gc_mpr hash_million`: 0.198 s CPU with 6, 0.187 with 24, 0.190 with 96. What
        one takes differs by ten times, with what is in the processor's cache: so how many is found by time.
     */
    static constexpr std::size_t mostFull = sizeof(void*) == 8 ? 24 : 4;
    static constexpr std::size_t leastFull = mostFull / 4;
    static constexpr std::size_t mostSpare = 8; // chunks kept for the next pauses

    static constexpr unsigned runShift = 2;
    static bool extends(RememberedChunk& chunk, std::uintptr_t entry);
    RememberedChunk* fresh();

    heap::Heap& heap_;
    os::Lock lock_;
    RememberedChunk* full_ MPR_GUARDED_BY(lock_) = nullptr;
    RememberedChunk* spare_ MPR_GUARDED_BY(lock_) = nullptr;
    std::size_t fulls_ MPR_GUARDED_BY(lock_) = 0;
    std::size_t spares_ MPR_GUARDED_BY(lock_) = 0;
    std::size_t enough_ MPR_GUARDED_BY(lock_) = mostFull; // full chunks call for a pause
    std::atomic<bool> lost_{false}; // set by a running thread; the rendezvous orders it with the pause
};

} // namespace mpr::gc
