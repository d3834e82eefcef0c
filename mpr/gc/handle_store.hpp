// SPDX-License-Identifier: MIT
/*
    handle_store.hpp - Where handles stand: places in segments, each segment with handles of one type.

    A place (slot) is named by its address and its generation; a handle is both in one number. `self` of a place says
    which handle it is at present. The generation grows when a handle is destroyed, so an old handle does not match.
    Addresses of segments are never given back while the process lives, only their memory, which then reads as zeros and
    matches nothing. So any handle that ever was may be looked at without a lock. A segment that is used again begins
    with a generation that it has not had.

    A thread has some free places by itself. It gets them from segments, and gives them back, some at a time and under
    the lock. A segment all of whose places are free gives its memory back; one such segment per type is kept.

    A place that was stored into is *dirty*, as a group of 64: it may refer to a young block. A minor collection looks at
    dirty groups only. After any collection that is no slice, what a handle refers to is old, so nothing is dirty, except
    where only a hold keeps the block, which may become young again.

    Which threads may do what, and what orders it:
      - The collector clears places while threads are stopped; the rendezvous orders that. So between two yields a thread
        that runs sees no handle cleared under it, and what it read is not swept: a sweep frees what a pause has found
        dead, that pause has cleared all weak handles to it, and the thread has read the handle after that pause.
      - Marking is incremental update (marker.hpp): the last pause of a major collection starts from the roots once more.
        So a block that was read from a weak handle while a major collection marks needs no read barrier. If the thread
        stores it anywhere, the last pause finds it there: in a root or a strong handle, in the remembered set, in a
        young or a plain block. If the thread stores it nowhere, it loses it at its yield, before that pause.
      - Long weak handles are cleared while threads run, when FREE managers have returned. The pause has marked their
        places `dying`, and every reader except a manager then gets NULL. A reader looks at `self` first, and at the
        block second, both with acquire; whoever ends dying clears the block first and `self` second, with release. So
        who sees a place that dies no more sees it without its block. In the other order a reader that is held up
        between its two loads would return the block when it is being swept. `self` cannot begin to die between the two
        loads of a thread that runs, for that happens in a pause. Whoever ends dying, also to set or to destroy the handle,
        has the lock: otherwise one that is held up would clear the block that the next has stored meanwhile.
      - Whoever changes a handle's words has its place say so (self::changing) meanwhile, unless it dies: then it has the
        lock. Who destroys the handle waits for the end of that, a few stores. Otherwise a thread that is held up between
        a look at `self` and its store would store into the next handle there, or into what a segment of another type has
        at that place. Frees by hand and realloc store by compare-exchange only, from the block that goes.
      - A reader looks at `self` once more when it has read the block. Otherwise it may return the block of the next handle
        there, when it races with a destruction.
      - Threads that do not run may destroy handles only, also while the collector walks. They change `self`, then clear
        the block, and never give a segment back. What the collector stores into such a place, its next owner overwrites
        before `self` is live again.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/batch.hpp"
#include "mpr/gc/handle_cache.hpp"
#include "mpr/gc/handle_hooks.hpp"
#include "mpr/gc/handle_index.hpp"
#include "mpr/gc/roots.hpp"
#include "mpr/handle.h"
#include "mpr/heap/heap.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::gc {

/** The words of a place, which several threads may use where there are several. */
namespace word {
template <typename T>
T load(const T& from) {
    return os::hasThreads ? __atomic_load_n(&from, __ATOMIC_ACQUIRE) : from;
}
template <typename T>
void store(T& to, T value) {
    if constexpr (os::hasThreads) {
        __atomic_store_n(&to, value, __ATOMIC_RELEASE);
    } else {
        to = value;
    }
}
template <typename T>
bool change(T& word, T& expected, T value) {
    if constexpr (os::hasThreads) {
        return __atomic_compare_exchange_n(&word, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    const bool same = word == expected;
    (same ? word : expected) = same ? value : word;
    return same;
}
/** @return The bits before. */
template <typename Bits>
std::uint8_t setBits(Bits& of, std::uint8_t bits) {
    if constexpr (os::hasThreads) {
        return of.fetch_or(bits, std::memory_order_acq_rel);
    } else {
        return of.exchange(static_cast<std::uint8_t>(of.load() | bits));
    }
}
template <typename Bits>
std::uint8_t keepBits(Bits& of, std::uint8_t bits) {
    if constexpr (os::hasThreads) {
        return of.fetch_and(bits, std::memory_order_acq_rel);
    } else {
        return of.exchange(static_cast<std::uint8_t>(of.load() & bits));
    }
}
} // namespace word

/** What `self` of a place says: a generation, two flags, and with 64 bits the address. */
namespace self {
inline constexpr std::uintptr_t low = 7; // bits of the generation; the others are above the address, or above the flags
inline constexpr std::uintptr_t free = 8;
inline constexpr std::uintptr_t dying = 16;
inline constexpr std::uintptr_t changing = free | dying; // neither: a thread changes the handle, which lives
inline constexpr std::uintptr_t flags = free | dying;
inline constexpr unsigned highShift = sizeof(void*) == 8 ? 48 : 5;

/** In use: it may be dying, or be changed. */
constexpr bool isLive(std::uintptr_t of) {
    return of != 0 && (of & flags) != free;
}
constexpr bool isDying(std::uintptr_t of) {
    return (of & flags) == dying;
}
/** Whether a place with this word is the handle's of a word without flags. */
constexpr bool isOf(std::uintptr_t of, std::uintptr_t live) {
    return isLive(of) && (of & ~flags) == live;
}
constexpr std::uintptr_t generation(std::uintptr_t of) {
    return (of >> highShift) << 3 | (of & low);
}
/** The greatest; then they begin anew. */
inline constexpr std::uintptr_t generations = generation(~std::uintptr_t{0});
inline std::uintptr_t make(const Slot* slot, std::uintptr_t generation) {
    const std::uintptr_t address = sizeof(void*) == 8 ? reinterpret_cast<std::uintptr_t>(slot) : 0;
    return address | (generation >> 3) << highShift | (generation & low);
}
/** The one that follows, without flags. 32 bits: 0 is left out, as it is that of memory that was given back. */
inline std::uintptr_t next(const Slot* slot, std::uintptr_t of) {
    const std::uintptr_t made = make(slot, generation(of) + 1);
    return made != 0 ? made : 1;
}
} // namespace self

struct HandleSegment {
    static constexpr bool is64 = sizeof(void*) == 8;
    static constexpr std::size_t bytes = !os::hasPages ? 1024 : is64 ? 64 * 1024 : 32 * 1024;
    /** Whether a segment begins at a multiple of `bytes`. Otherwise a place has its index, for which 64 bit have no room. */
    static constexpr bool isAligned = os::hasPages || is64;
    static constexpr std::size_t groupSlots = 64;
    static constexpr std::uint32_t fewSlots = 16; // of a segment in a buffer
    static constexpr std::size_t groups =
        os::hasPages ? (bytes / sizeof(Slot) + groupSlots - 1) / groupSlots : 1; // the last may have fewer places

    /** For dependent handles, by place: see handle_tracing.hpp. */
    struct Links {
        std::uint32_t bucket, next;
    };
    static constexpr std::uint8_t noType = 0xFF;

    HandleSegment* next = nullptr;         // of all; constant
    os::Shared<std::uint8_t> type{noType}; // changes under the lock while nothing is used
    os::Shared<std::uint32_t> used{0};     // places from here on have not been used since the type was set
    os::Shared<bool> dirty{false};         // whether it is in the list of those that are
    HandleSegment* nextDirty = nullptr;
    std::uint32_t number = 0; // of those with dependent handles

    // Under the lock:
    std::uint32_t freeCount = 0;
    Slot* free = nullptr;
    std::uintptr_t generation = 1; // of places that are used for the first time
    HandleSegment *nextRoomy = nullptr, *previousRoomy = nullptr;
    bool roomy = false; // in the list of those of its type with free places

    /** Of a group, what was not done since it was stored into: a pause, or an entry into the index. */
    enum : std::uint8_t { dirtyGroup = 1, unindexed = 2, stored = dirtyGroup | unindexed };
    os::Shared<std::uint8_t> groupStates[groups] = {};
    // The index's, under its lock:
    bool isUnindexed = false; // whether it is in the list of those with such groups
    bool takenGroups[groups] = {};
    HandleSegment* nextUnindexed = nullptr;

    static std::uint32_t capacity(int type) {
        if constexpr (!os::hasPages) {
            return fewSlots;
        }
        const std::size_t each = sizeof(Slot) + (type == MPR_HANDLE_DEPENDENT ? sizeof(Links) : 0);
        return static_cast<std::uint32_t>((bytes - offset) / each);
    }
    static std::size_t size() { return os::hasPages ? bytes : offset + fewSlots * sizeof(Slot); }
    Slot* slots() { return reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(this) + offset); }
    std::size_t indexOf(const Slot* slot) { return static_cast<std::size_t>(slot - slots()); }
    Links& link(std::size_t index) { return reinterpret_cast<Links*>(slots() + capacity(MPR_HANDLE_DEPENDENT))[index]; }
    static HandleSegment* of(Slot* slot) {
        if constexpr (isAligned) {
            return reinterpret_cast<HandleSegment*>(reinterpret_cast<std::uintptr_t>(slot) & ~(bytes - 1));
        } else {
            return reinterpret_cast<HandleSegment*>(reinterpret_cast<std::byte*>(slot - indexIn(slot)) - offset);
        }
    }
    static std::uint16_t indexIn([[maybe_unused]] const Slot* slot) {
#if UINTPTR_MAX <= 0xFFFFFFFFu
        return slot->index;
#else
        return 0;
#endif
    }
    int kind() const {
        return type.load(std::memory_order_acquire);
    }

    static const std::size_t offset; // of the first place, which on 64 bit stands at a multiple of 32
};
inline constexpr std::size_t HandleSegment::offset = (sizeof(HandleSegment) + 31) & ~std::size_t{31};
static_assert(sizeof(void*) == 4 || sizeof(Slot) == 32);
static_assert(os::hasPages || HandleSegment::offset + HandleSegment::fewSlots * sizeof(Slot) <= HandleSegment::bytes);
static_assert(!os::hasPages || (HandleSegment::bytes - HandleSegment::offset) / sizeof(Slot) <=
                                   HandleSegment::groups * HandleSegment::groupSlots,
              "each place belongs to a group");

/** A set of types. */
constexpr unsigned typeBit(int type) {
    return 1u << type;
}
inline constexpr unsigned strongTypes =
    typeBit(MPR_HANDLE_STRONG) | typeBit(MPR_HANDLE_PINNED) | typeBit(MPR_HANDLE_ASYNC_PINNED);

class HandleStore {
public:
    /** The runtime begins, or a test's heap. */
    void open(heap::Heap& heap, Roots& roots);
    bool isOpen() const { return heap_ != nullptr; }
    /** All handles end, and their memory is given back. Nobody else runs. */
    void close();

    // ---- Threads that run ----
    struct Traits {
        void* extra = nullptr;
        int owner = 0;
        const void* site = nullptr;
    };
    /** @param cache The calling thread's, or nullptr. @return 0 when there is no memory. The block is referred to. */
    MprHandle create(HandleCache* cache, int type, const void* block, Traits traits);
    /** Have a block known as one that handles may refer to. @return false when it is none, or dead. NULL is fine. */
    bool refer(const void* block);
    /** refer() for a block outside the collector's heap: it may be pinned, in memory of the program's. */
    bool refersElsewhere(const void* block);
    /**
        Call f(slot) while nobody destroys a handle. It stores into the place, and calls nothing that waits.
        @param dies Whether the handle may go on dying. @return false when the handle is stale.
     */
    template <typename F>
    static bool change(MprHandle handle, bool dies, F&& f);
    /** Within change: a place gets another block. */
    static void set(Slot* slot, const void* block);
    static void* compareExchange(Slot* slot, const void* block, const void* expected);
    /** The place of a handle, which may be dying, or nullptr when it is stale. */
    static Slot* find(MprHandle handle);
    static bool isDying(MprHandle handle);
    /** The value of a dependent handle goes if the key has gone. The handle may be another's meanwhile. */
    static void forgetValue(Slot* slot);
    /** Note that a place may refer to a young block. */
    static void setDirty(Slot* slot);

    // ---- Any attached thread ----
    /** @param cache nullptr when the thread does not run. @return false when the handle is stale. */
    bool destroy(HandleCache* cache, MprHandle handle);
    bool contains(MprHandle handle);
    void leave(HandleCache& cache);

    /** Call f(segment, slot) for each place in use of some types. HandleScan::young: only dirty ones. */
    template <typename F>
    void forEach(unsigned types, HandleScan scan, F&& f) {
        const bool young = os::hasGenerations && scan == HandleScan::young;
        HandleSegment* segment = (young ? dirty_ : all_).load(std::memory_order_acquire);
        for (; segment; segment = young ? segment->nextDirty : segment->next) {
            const int type = segment->kind();
            if (type >= MPR_HANDLE_TYPES || (types & typeBit(type)) == 0) {
                continue;
            }
            forEachIn(*segment, young, f);
        }
    }
    /** Call f() for each group of 64 places in which forEach looks. */
    template <typename F>
    void forEachGroup(unsigned types, HandleScan scan, F&& f) {
        const bool young = os::hasGenerations && scan == HandleScan::young;
        HandleSegment* segment = (young ? dirty_ : all_).load(std::memory_order_acquire);
        for (; segment; segment = young ? segment->nextDirty : segment->next) {
            const int type = segment->kind();
            const std::size_t used = segment->used.load(std::memory_order_relaxed);
            for (std::size_t group = 0; group * HandleSegment::groupSlots < used; ++group) {
                const bool looks = !young || isDirty(*segment, group);
                if (looks && type < MPR_HANDLE_TYPES && (types & typeBit(type)) != 0) {
                    f();
                }
            }
        }
    }
    /** Threads are stopped: take the list of dirty segments, call keeps(slot) for each place in them, and keep it dirty if true. */
    template <typename F>
    void cleanse(F&& keeps) {
        HandleSegment* segment = dirty_.exchange(nullptr, std::memory_order_acq_rel);
        while (segment) {
            HandleSegment* const next = segment->nextDirty;
            segment->dirty.store(false, std::memory_order_relaxed);
            cleanseGroups(*segment, keeps);
            segment = next;
        }
    }

    /** End dying, if the place does: the block goes first. */
    static void endDying(Slot* slot) {
        if (self::isDying(word::load(slot->self))) [[unlikely]] {
            endDyingSlow(slot);
        }
    }

    /**
        Call f(segment, slot) for each handle that refers to a block or has it as its value. It stores into no handle what
        is not known already, and calls no code of the program's.
     */
    template <typename F>
    void forEachOf(const void* block, F&& f) {
        struct Calls : HandleVisitor {
            F& f;
        } calls{{[](HandleVisitor& self, HandleSegment& segment, Slot* slot) {
                    static_cast<Calls&>(self).f(segment, slot);
                }},
                f};
        visit(block, calls);
    }
    void visit(const void* block, HandleVisitor& visitor);

    template <typename F>
    void forEachSegment(F&& f) {
        for (HandleSegment* at = all_.load(std::memory_order_acquire); at; at = at->next) {
            f(*at);
        }
    }

    /**
        After the end of a runtime, whose segments are spare. They stay, so that its handles are recognised as stale in the
        next, unless a host wants them back.
     */
    void giveSegments();
    /** What that would give back. */
    std::size_t bytesOfSegments();

    heap::Heap& heap() { return *heap_; }
    /** Segments of dependent handles, by number. While threads are stopped. */
    HandleSegment& dependent(std::uint32_t number) { return *dependents_[number]; }
    std::uint32_t dependents() const { return dependentCount_; }

private:
    static constexpr unsigned batch = 32;   // places that a thread takes or gives at a time
    static constexpr unsigned mostOwn = 64; // that it has

    static bool isDirty(const HandleSegment& segment, std::size_t group) {
        return (segment.groupStates[group].load(std::memory_order_relaxed) & HandleSegment::dirtyGroup) != 0;
    }
    template <typename F>
    static void forEachIn(HandleSegment& segment, bool young, F& f) {
        const std::size_t used = segment.used.load(std::memory_order_acquire);
        Slot* const slots = segment.slots();
        for (std::size_t at = 0; at < used; at += HandleSegment::groupSlots) {
            if (young && !isDirty(segment, at / HandleSegment::groupSlots)) {
                continue;
            }
            const std::size_t end = used - at < HandleSegment::groupSlots ? used : at + HandleSegment::groupSlots;
            for (Slot* slot = slots + at; slot != slots + end; ++slot) {
                if (self::isLive(word::load(slot->self))) {
                    f(segment, slot);
                }
            }
        }
    }
    template <typename F>
    static void cleanseGroups(HandleSegment& segment, F& keeps) {
        const std::size_t used = segment.used.load(std::memory_order_relaxed);
        for (std::size_t group = 0; group < HandleSegment::groups; ++group) {
            if (!isDirty(segment, group)) {
                continue;
            }
            word::keepBits(segment.groupStates[group], HandleSegment::unindexed);
            for (std::size_t at = group * HandleSegment::groupSlots;
                 at < used && at < (group + 1) * HandleSegment::groupSlots; ++at) {
                Slot* slot = segment.slots() + at;
                if (self::isLive(word::load(slot->self)) && keeps(segment, slot)) {
                    setDirty(slot);
                }
            }
        }
    }

    [[gnu::noinline]] static Slot* findDying(MprHandle handle);
    [[gnu::noinline]] static void endDyingSlow(Slot* slot);
    [[gnu::noinline]] static void awaitChange(const Slot* slot, std::uintptr_t changing);
    Slot* take(HandleCache* cache, int type);
    [[gnu::noinline]] Slot* takeMany(HandleCache& cache, int type) MPR_EXCLUDES(lock_);
    [[gnu::noinline]] void giveMany(HandleCache& cache, int type, unsigned keep) MPR_EXCLUDES(lock_);
    Slot* takeShared(int type) MPR_EXCLUDES(lock_);
    void putShared(Slot* slot) MPR_EXCLUDES(lock_);
    [[gnu::noinline]] void addStored(HandleSegment* segment, std::size_t group);
    Slot* takeLocked(int type) MPR_REQUIRES(lock_);
    void put(Slot* slot, bool mayRetire) MPR_REQUIRES(lock_);
    HandleSegment* addSegment(int type) MPR_REQUIRES(lock_);
    HandleSegment* takeSegment(int type) MPR_REQUIRES(lock_);
    bool enlist(HandleSegment* segment, int type) MPR_REQUIRES(lock_);
    void* allocate(std::size_t size);
    void retire(HandleSegment* segment) MPR_REQUIRES(lock_);
    void setRoomy(HandleSegment* segment, int type, bool on) MPR_REQUIRES(lock_);

    heap::Heap* heap_ = nullptr;
    Roots* roots_ = nullptr;
    os::Lock lock_;
    os::Shared<HandleSegment*> all_{nullptr}; // grows in front, under the lock; never shrinks
    os::Shared<HandleSegment*> dirty_{nullptr};
    HandleIndex index_;
    HandleSegment* roomy_[MPR_HANDLE_TYPES] MPR_GUARDED_BY(lock_) = {};
    std::uint32_t empty_[MPR_HANDLE_TYPES] MPR_GUARDED_BY(lock_) = {}; // segments whose places are all free
    HandleSegment* spare_ MPR_GUARDED_BY(lock_) = nullptr;             // whose memory was given back
    HandleSegment** dependents_ = nullptr;                             // changes under the lock, by threads that run
    std::uint32_t dependentCount_ = 0;
    std::size_t dependentRoom_ = 0;
};

extern constinit HandleStore handleStore;

MPR_INLINE void HandleStore::setDirty(Slot* slot) {
    if constexpr (os::hasGenerations) {
        HandleSegment* segment = HandleSegment::of(slot);
        const std::size_t group = segment->indexOf(slot) / HandleSegment::groupSlots;
        // The system's fence (HandleIndex::enter) orders store and load as they are executed, so the compiler may not
        // have the load come first.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (segment->groupStates[group].load(std::memory_order_relaxed) != HandleSegment::stored) [[unlikely]] {
            handleStore.addStored(segment, group);
        }
    }
}

MPR_INLINE Slot* HandleStore::find(MprHandle handle) {
    Slot* slot = MPR_HANDLE_SLOT(handle);
    return slot && word::load(slot->self) == MPR_HANDLE_SELF(handle) ? slot : findDying(handle);
}

MPR_INLINE void HandleStore::set(Slot* slot, const void* block) {
    word::store(slot->block, const_cast<void*>(block));
    if (block) {
        setDirty(slot);
    }
}

MPR_INLINE void* HandleStore::compareExchange(Slot* slot, const void* block, const void* expected) {
    // Only a free by hand or a realloc of `expected` may come between load and store. It is as if it had come after both:
    // then it finds another block here, and leaves that.
    void* seen = word::load(slot->block);
    if (seen == expected) {
        set(slot, block);
    }
    return seen;
}

template <typename F>
MPR_INLINE bool HandleStore::change(MprHandle handle, bool dies, F&& f) {
    Slot* slot = MPR_HANDLE_SLOT(handle);
    const std::uintptr_t live = MPR_HANDLE_SELF(handle);
    std::uintptr_t seen = live;
    while (!word::change(slot->self, seen, live | self::changing)) {
        if (seen == (live | self::changing)) {
            awaitChange(slot, seen);
        } else if (seen != (live | self::dying)) {
            return false;
        } else if (dies) {
            const os::Locked locked(handleStore.lock_); // who has it ends dying, and only then the handle is destroyed
            if (word::load(slot->self) == (live | self::dying)) {
                f(slot);
                return true;
            }
        } else {
            endDying(slot);
        }
        seen = live;
    }
    f(slot);
    word::store(slot->self, live);
    return true;
}

MPR_INLINE bool HandleStore::refer(const void* block) {
    if (!block) {
        return true;
    }
    heap::Region* region = heap_->table().candidate(block);
    const heap::Byte h = region ? region->headAt(block) : heap::Byte{0};
    if (!heap::Region::isBlock(h) || (heap_->dead(h) && (h & heap::head::held) == 0)) [[unlikely]] {
        return refersElsewhere(block); // the second: in a manager's FREE call
    }
    publish(block); // weakly, too: a batch that discards it would leave the handle behind
    if ((h & heap::head::referenced) == 0) {
        heap_->changeHead(region, block, heap::head::referenced, 0); // before the store: whoever frees the block asks
    }
    return true;
}

MPR_INLINE Slot* HandleStore::take(HandleCache* cache, int type) {
    if (os::hasThreads && cache) {
        Slot* slot = cache->take(type);
        return slot ? slot : takeMany(*cache, type);
    }
    return takeShared(type);
}

MPR_INLINE MprHandle HandleStore::create(HandleCache* cache, int type, const void* block, Traits traits) {
    Slot* slot = take(cache, type);
    if (!slot) [[unlikely]] {
        return 0;
    }
    auto site = reinterpret_cast<std::uintptr_t>(traits.site);
#if UINTPTR_MAX > 0xFFFFFFFFu
    site = (site & ~std::uintptr_t{0} >> 16) | static_cast<std::uintptr_t>(traits.owner) << 48;
#else
    __atomic_store_n(&slot->owner, static_cast<std::uint16_t>(traits.owner), __ATOMIC_RELAXED);
#endif
    __atomic_store_n(&slot->site, site, __ATOMIC_RELAXED);
    word::store(slot->block, const_cast<void*>(block)); // before the value: see forgetValue
    word::store(slot->extra, traits.extra);
    const std::uintptr_t of = word::load(slot->self) & ~self::free;
    word::store(slot->self, of);
    if (block || traits.extra) {
        setDirty(slot);
    }
    return sizeof(void*) == 8 ? of : MprHandle{of} << 32 | reinterpret_cast<std::uintptr_t>(slot);
}

MPR_INLINE bool HandleStore::destroy(HandleCache* cache, MprHandle handle) {
    Slot* slot = MPR_HANDLE_SLOT(handle);
    const std::uintptr_t live = MPR_HANDLE_SELF(handle);
    std::uintptr_t seen = live;
    const std::uintptr_t gone = self::next(slot, live) | self::free;
    // Whoever changes `self` has destroyed the handle; of two threads one finds it stale.
    while (!word::change(slot->self, seen, gone)) {
        if (seen == (live | self::changing)) {
            awaitChange(slot, seen);
        } else if (seen != (live | self::dying)) {
            return false;
        }
        endDying(slot);
        seen = live;
    }
    word::store(slot->block, static_cast<void*>(nullptr));
    if (os::hasThreads && cache) [[likely]] {
        const int type = HandleSegment::of(slot)->kind();
        cache->put(type, slot);
        if (cache->count(type) >= mostOwn) [[unlikely]] {
            giveMany(*cache, type, mostOwn - batch);
        }
        return true;
    }
    putShared(slot);
    return true;
}

} // namespace mpr::gc
