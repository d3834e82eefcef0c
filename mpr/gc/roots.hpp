// SPDX-License-Identifier: MIT
/*
    roots.hpp - Where marking starts, and the counts of nested roots and holds.

    The tables are held blocks of the heap itself, so they count against the limits and exist on boards without pages.
    They are resized by mutators that add or remove entries, never by the collector.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "mpr/collect.h"
#include "mpr/gc/embed_hooks.hpp"
#include "mpr/gc/handle_hooks.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::gc {

/**
    A set of pointers with a count each: hashing with separate chaining (D. Knuth, TAOCP vol. 3, 6.4).

    Entries lie in pieces of one size, in no order and without gaps: removing one moves the last into its place. So a
    table grows where only small holes are left, and is walked in a row. The buckets are one block, twice as large as
    the block before them; while there is no memory for it, chains are longer, and that is all.

    Invariants: every piece but the last is full, and the last is not empty. An entry is in the chain of its bucket.
    One piece is there from the beginning, and is put by until memory is short. Not synchronised.
 */
class CountedPointers {
public:
    CountedPointers() = default;
    CountedPointers(const CountedPointers&) = delete; // it refers to itself
    CountedPointers& operator=(const CountedPointers&) = delete;

    /** @return false when memory for another entry could not be had. */
    bool add(heap::Heap& heap, const void* key, heap::Shortage& shortage);
    /** @return the count left, or -1 when key was not there. */
    int remove(heap::Heap& heap, const void* key);
    std::uint32_t count(const void* key) const;
    /** What a key counts is counted for another, which has nothing yet. Takes no memory. */
    void rename(const void* key, const void* other);
    /** Put an empty piece by, if there is none: the next one is needed when memory is short. */
    void provide(heap::Heap& heap);
    /**
        Unless a piece is put by, put some by that the system gives beyond the heap and its limit; not beyond a buffer.
        @return false: there is none.
     */
    bool provideBeyond(const heap::Heap& heap);
    /** Give back what provideBeyond took. The table is not used any more. */
    void close();

    template <typename F>
    void forEach(F&& f) const {
        forEachEntry([&](const Entry& entry) { f(entry.key); });
    }

    /** Check the invariants. */
    void check() const;

private:
    struct Entry {
        const void* key;
        Entry* next; // of its chain
        std::uint32_t count;
    };
    static constexpr std::size_t pieceBytes = os::hasThreads ? 256 : 64;
    static constexpr std::size_t perPiece = (pieceBytes - sizeof(void*)) / sizeof(Entry);
    struct Piece {
        Piece* before;
        Entry entries[perPiece];
    };

    template <typename F>
    void forEachEntry(F&& f) const {
        std::size_t n = inLast_;
        for (Piece* piece = last_; piece; piece = piece->before, n = perPiece) {
            for (std::size_t i = 0; i < n; ++i) {
                f(piece->entries[i]);
            }
        }
    }

    Entry*& bucketOf(const void* key) const;
    /** Put an entry at the head of its key's chain. */
    void chain(Entry& entry);
    /** The link to the entry of a key, or the null link at the end of its chain. */
    Entry** find(const void* key) const;
    static Piece* makePiece(heap::Heap& heap, heap::Shortage& shortage);
    void putBy(Piece* piece);
    bool extend(heap::Heap& heap, heap::Shortage& shortage);
    void dropLast(heap::Heap& heap);
    void resize(heap::Heap& heap, unsigned bits);
    std::size_t buckets() const { return std::size_t{1} << bits_; }
    static constexpr unsigned leastBits = os::hasThreads ? 4 : 3;

    static constexpr std::size_t beyondBytes = 64 * 1024;

    Piece own_{};
    Piece* last_ = nullptr;
    Piece* spare_ = &own_;          // those put by, linked by `before`
    Piece* beyond_ = nullptr;       // the first of each mapping of beyondBytes, which is in no use, linked likewise
    std::size_t inLast_ = perPiece; // entries in the last piece, as if it were full while there is none
    std::size_t used_ = 0;
    Entry* few_[std::size_t{1} << leastBits] = {}; // the first buckets
    Entry** buckets_ = few_;
    unsigned bits_ = leastBits;
};

/**
    The head of a block that has been a root says so (head::referenced), and whoever frees such a block by hand asks
    isRoot first.

    A bit in a block's head stands for its first hold; `holds_` counts further ones. Counting, and clearing the bit,
    needs the lock. The head of a block that has been counted there says so (head::referenced), as that of a root: an
    entry that outlived its block would stand for holds of the next one there.

    Root references are linked and unlinked in any state of a thread, since a destructor cannot fail. This happens under
    the lock, which a walk takes, too. Holds change heads, which a pause stores plainly, so only running threads and
    visits (Visit) may do that.
 */
class Roots {
public:
    /** @return false when there is no memory to remember it: make some, or call provideBeyond, and try again. */
    bool add(heap::Heap& heap, heap::Region* region, const void* block, heap::Shortage& shortage);
    /**
        A root or hold could not be remembered, since neither heap nor system had memory, so nobody knows what it keeps
        alive: from here on nothing dies. Threads run.
     */
    void giveUp() { incomplete_.store(true, std::memory_order_relaxed); }
    bool incomplete() const { return incomplete_.load(std::memory_order_relaxed); }
    /** @return false when it is not a root. */
    bool remove(heap::Heap& heap, const void* block);
    /** Put memory by for what is to be remembered when there is none. Any thread that may allocate. */
    void provide(heap::Heap& heap);
    /** The heap has no memory to be put by: take some of the system's beyond its limit. @return false: there is none. */
    bool provideBeyond(const heap::Heap& heap);
    /** The runtime has ended. */
    void close() MPR_UNANALYSED;
    bool isRoot(const void* block);
    /** A block has moved: what keeps it keeps the new one instead. The old one is not dead. */
    void move(heap::Heap& heap, heap::Place from, heap::Place to);
    /** @return false when it was the last to be linked already. */
    bool link(MprRootRef* ref);
    /** Does nothing when it is not linked. */
    void unlink(MprRootRef* ref);
    /** Unlink all: the runtime has ended, and no other thread is left. */
    void unlinkAll() MPR_UNANALYSED;

    /** @return false when there is no memory to count it, as add. */
    bool hold(heap::Heap& heap, heap::Region* region, void* block, heap::Shortage& shortage);
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

    /**
        Call mark(pointer) for each root. All threads are stopped. A reference that was linked a second time, or whose memory
        went without unlinking, hides those behind it: that is named, and nothing dies any more.
     */
    template <typename F>
    void forEach(F&& mark) {
        bool intact = false;
        {
            os::Locked locked(lock_);
            table_.forEach(mark);
            intact = forEachRef([&](const MprRootRef& ref) { mark(ref.ptr); });
        }
        if (!intact) [[unlikely]] {
            loseRefs();
        }
    }

private:
    /** Call f(reference) for each, which may unlink it. @return false when not all could be found. */
    template <typename F>
    bool forEachRef(F&& f) MPR_REQUIRES(lock_) {
        MprRootRef* before = &refs_;
        MprRootRef* ref = refs_.next;
        while (ref != &refs_) {
            if ((os::hasThreads && !ref) || ref->prev != before) [[unlikely]] {
                return false;
            }
            before = std::exchange(ref, ref->next);
            f(*before);
        }
        return true;
    }
    [[gnu::cold]] void loseRefs();

    /** What a block's head says while there may be several holds of it. */
    static constexpr heap::Byte counted = heap::head::held | heap::head::referenced;

    os::Lock lock_;
    CountedPointers table_ MPR_GUARDED_BY(lock_);
    CountedPointers holds_ MPR_GUARDED_BY(lock_); // beyond the first hold, which is a bit in the block's head
    MprRootRef refs_ MPR_GUARDED_BY(lock_){&refs_, &refs_, nullptr};
    os::Shared<const HandleHooks*> handles_{nullptr};
    [[no_unique_address]] std::conditional_t<os::hasThreads, os::Shared<const EmbedHooks*>, NoEmbedHooks> embedder_{};
    os::Shared<bool> incomplete_{false}; // never cleared; the rendezvous orders it with the next pause
};

} // namespace mpr::gc
