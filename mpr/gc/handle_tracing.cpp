// SPDX-License-Identifier: MIT
/*
    handle_tracing.cpp - Handles in a collection.
 */
#include "mpr/gc/handle_tracing.hpp"

#include <algorithm>
#include <utility>

#include "mpr/gc/guard.hpp"
#include "mpr/gc/handle_freeing.hpp"
#include "mpr/gc/handle_store.hpp"
#include "mpr/gc/handle_types.hpp"
#include "mpr/gc/marker.hpp"
#include "mpr/gc/mutator.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::Region;
namespace head = heap::head;

namespace {

constexpr unsigned dependentType = typeBit(MPR_HANDLE_DEPENDENT);
constexpr unsigned varyingTypes = typeBit(MPR_HANDLE_VARIABLE) | typeBit(MPR_HANDLE_REFCOUNTED);
constexpr unsigned longTypes = typeBit(MPR_HANDLE_WEAK_LONG) | typeBit(MPR_HANDLE_VARIABLE);

/** Whether long weak handles die at the moment. */
os::Shared<bool> anyDying{false};

/** Whether the runtime ends: its owner, the only thread that is left, calls the last managers. */
os::Shared<bool> callsLast{false};

// ---- Marking ------------------------------------------------------------------------------------------------------

void mark(Marker& marker, HandleScan scan) {
    // Sized ones are marked last in a major collection's last pause, where that measures them.
    const bool sized = !os::hasThreads || scan != HandleScan::all;
    const unsigned types = strongTypes | varyingTypes | (sized ? sizedType : 0);
    handleStore.forEach(types, scan, [&](HandleSegment& segment, Slot* slot) {
        if (isStrong(segment.kind(), slot)) {
            marker.markRoot(word::load(slot->block), true);
        }
    });
}

/** Whether a key keeps its value: it is marked, held, or in a minor collection old. */
bool lives(Byte h, bool young) {
    return h != 0 && (handleStore.heap().colours().marked(h) || (h & head::held) || (young && (h & head::old)));
}

/** Marks the values of dependent handles, and measures sized ones. Threads are stopped. */
class Closure : public Marker::Watch {
public:
    Closure(Marker& marker, bool young) : Watch{see}, marker_(marker), young_(young) { marker_.setWatch(this); }
    ~Closure() { marker_.setWatch(nullptr); }
    Closure(const Closure&) = delete;
    Closure& operator=(const Closure&) = delete;

    /** Mark the values whose keys live, and whatever lives by them. */
    void markValues(HandleScan scan) {
        openTable(scan);
        unsigned since = 0;
        handleStore.forEach(dependentType, scan, [&](HandleSegment& segment, Slot* slot) {
            look(segment, slot);
            if (++since % 64 == 0) {
                marker_.drain(); // while its stack has room
            }
        });
        run();
    }

    void measure() {
        measures_ = true;
        handleStore.forEach(sizedType, HandleScan::all, [&](HandleSegment&, Slot* slot) {
            bytes_ = 0;
            marker_.markRoot(word::load(slot->block), true);
            run();
            word::store(slot->extra, reinterpret_cast<void*>(bytes_));
        });
    }

private:
    static constexpr std::uint32_t none = 0; // elsewhere the number of a place, from 1 on

    static std::uint32_t capacity() { return HandleSegment::capacity(MPR_HANDLE_DEPENDENT); }
    static HandleSegment::Links& link(std::uint32_t place) {
        return handleStore.dependent(place / capacity()).link(place % capacity());
    }
    static Slot* slotOf(std::uint32_t number) {
        return handleStore.dependent((number - 1) / capacity()).slots() + (number - 1) % capacity();
    }

    /** Make the table as large as it may have to be; a minor collection has few handles to put into it. */
    void openTable(HandleScan scan) {
        std::size_t most = 0;
        handleStore.forEachGroup(dependentType, scan, [&] { most += HandleSegment::groupSlots; });
        const std::uint32_t used = static_cast<std::uint32_t>(
            std::min<std::size_t>(handleStore.dependents(), (most + capacity() - 1) / capacity()));
        buckets_ = used * capacity();
        reciprocal_ = buckets_ != 0 ? UINT64_MAX / buckets_ + 1 : 0;
        for (std::uint32_t i = 0; i < used; ++i) {
            HandleSegment& segment = handleStore.dependent(i);
            for (std::uint32_t place = 0; place < capacity(); ++place) {
                segment.link(place).bucket = none;
            }
        }
    }

    /** Of a division by the number of buckets: D. Lemire et al., "Faster remainder by direct computation", 2019. */
    std::uint32_t remainder(std::uint32_t of) const {
#ifdef __SIZEOF_INT128__
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint32_t>(static_cast<Wide>(reciprocal_ * of) * buckets_ >> 64);
#else
        return of % buckets_;
#endif
    }
    std::uint32_t& bucketOf(const void* key) const {
        // Neighbours come to stand side by side: in a chain a bucket would else be a cache miss each.
        const auto granule = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(key) >> heap::granuleShift);
        return link(remainder(granule ^ (granule >> 10) * 0x9E37'79B1u)).bucket;
    }

    void look(HandleSegment& segment, Slot* slot) {
        const void* key = word::load(slot->block);
        const void* value = word::load(slot->extra);
        if (!key || !value) {
            return;
        }
        const Byte h = headOf(key);
        if (lives(h, young_)) {
            // An old key that a major collection has not reached yet may be dead: it keeps young values only.
            const bool sure = !young_ || handleStore.heap().colours().marked(h);
            if (sure || (headOf(value) & head::old) == 0) {
                marker_.markRoot(value, true);
            }
            return;
        }
        const auto place = static_cast<std::uint32_t>(segment.number * capacity() + segment.indexOf(slot));
        link(place).next = std::exchange(bucketOf(key), place + 1);
    }

    /** The marker has reached a block with this head. */
    static bool see(Watch& self, Byte h, const void* block) {
        static_cast<Closure&>(self).reached(h, block);
        return false;
    }
    void reached(Byte h, const void* block) {
        if (measures_) {
            Region* region = handleStore.heap().find(block);
            const heap::Place at = region ? heap::Place::of(region, block) : placeElsewhere(block);
            bytes_ += at.region->blockSize(at.granule) << heap::granuleShift;
        }
        if ((h & head::referenced) == 0 || buckets_ == 0) {
            return;
        }
        for (std::uint32_t* from = &bucketOf(block); *from != none;) {
            const std::uint32_t number = *from;
            HandleSegment::Links& links = link(number - 1);
            if (word::load(slotOf(number)->block) != block) {
                from = &links.next;
                continue;
            }
            *from = links.next;
            links.next = std::exchange(ready_, number);
        }
    }

    /** Mark until nothing is new. Values are marked here, not where their keys are reached: chains may be long. */
    void run() {
        for (;;) {
            marker_.drain();
            if (ready_ == none) {
                return;
            }
            for (std::uint32_t number = std::exchange(ready_, none); number != none;) {
                const std::uint32_t next = link(number - 1).next; // marking the value may have the key's list change
                marker_.markRoot(word::load(slotOf(number)->extra), true);
                number = next;
            }
        }
    }

    Marker& marker_;
    const bool young_;
    bool measures_ = false;
    std::uint32_t buckets_ = 0;
    [[maybe_unused]] std::uint64_t reciprocal_ = 0; // of that, times 2^64, rounded up
    std::uint32_t ready_ = none;                    // handles whose keys have been reached, linked by next
    std::uintptr_t bytes_ = 0;
};

// ---- Clearing -----------------------------------------------------------------------------------------------------

/** The block of a long weak handle is dead, and its manager has not returned yet. */
void beginDying(Slot* slot) {
    std::uintptr_t live = word::load(slot->self);
    if (!self::isLive(live) || !word::change(slot->self, live, live | self::dying)) {
        return; // a thread that has yielded has just destroyed the handle
    }
    anyDying.store(true, std::memory_order_relaxed);
}

/** Whether what has been found dead includes a block with this head, which may be 0. */
bool isDead(Byte h) {
    if constexpr (!os::hasThreads) {
        return h == 0 || !handleStore.heap().colours().marked(h); // asked before the sweep begins
    }
    return h == 0 || handleStore.heap().dead(h);
}

/** A weak handle refers to a dead block with this head: clear it, at once or when the block's manager has returned. */
void lose(int type, Slot* slot, Byte h) {
    if (h != 0 && head::wantsFree(h) && isLong(type, slot)) {
        return beginDying(slot);
    }
    word::store(slot->block, static_cast<void*>(nullptr));
    if (type == MPR_HANDLE_DEPENDENT) {
        word::store(slot->extra, static_cast<void*>(nullptr));
    }
}

/**
    Clear a weak handle to a block that is dead: at the runtime's end all are, held or not.
    @return Whether it stays as it is, since only a hold keeps the block, which may be young again.
 */
bool settle(HandleSegment& segment, Slot* slot) {
    const int type = segment.kind();
    const bool last = callsLast.load(std::memory_order_relaxed);
    const void* block = word::load(slot->block);
    const Byte h = headOf(block);
    if (block && !last && !isDead(h)) {
        return false;
    }
    if (last ? isStrong(type, slot) : (h & head::held) != 0) {
        return true;
    }
    lose(type, slot, h);
    return false;
}

void finalized() {
    if (anyDying.exchange(false, std::memory_order_relaxed)) {
        handleStore.forEach(longTypes, HandleScan::all,
                            [](HandleSegment&, Slot* slot) { HandleStore::endDying(slot); });
    }
}

void clear(HandleScan scan) {
    if (scan == HandleScan::young) {
        return handleStore.cleanse(settle);
    }
    if constexpr (!os::hasThreads) {
        finalized(); // of the collection before: code memory is scarce, and only its managers could have asked
    }
    callsLast.store(scan == HandleScan::end, std::memory_order_relaxed);
    if constexpr (os::hasGenerations) {
        handleStore.cleanse([](HandleSegment&, Slot*) { return false; });
    }
    handleStore.forEach(weakTypes, HandleScan::all, [](HandleSegment& segment, Slot* slot) {
        if (settle(segment, slot)) {
            HandleStore::setDirty(slot);
        }
    });
}

/** Mark the values of dependent handles whose keys live, where they are looked at until nothing is new. */
void markValuesInTurn(Marker& marker, HandleScan scan) {
    for (bool more = true; more;) {
        marker.drain();
        more = false;
        handleStore.forEach(dependentType, scan, [&](HandleSegment&, Slot* slot) {
            const void* value = word::load(slot->extra);
            const Byte h = headOf(value);
            if (h != 0 && !lives(h, false) && lives(headOf(slot->block), false)) {
                marker.markRoot(value, true);
                more = true;
            }
        });
    }
}

void values(Marker& marker, HandleScan scan) {
    if constexpr (!os::hasThreads) {
        return markValuesInTurn(marker, scan);
    }
    if (handleStore.dependents() > 0) {
        Closure(marker, scan == HandleScan::young).markValues(scan);
    }
}

/** Without threads this is all there is. */
void closeAll(Marker& marker, HandleScan scan) {
    const EmbedHooks* embedder = embedHooks;
    if (!embedder) {
        mark(marker, scan);
        markValuesInTurn(marker, scan);
        return clear(scan);
    }
    embedder->stop();
    mark(marker, scan);
    embedder->mark(marker, scan);
    markValuesInTurn(marker, scan);
    embedder->close(marker, scan, &handleHooks);
    clear(scan);
    embedder->clear(scan);
    embedder->resume();
}

void close(Marker& marker, HandleScan scan) {
    if constexpr (!os::hasThreads) {
        return closeAll(marker, scan);
    }
    if (handleStore.dependents() > 0 || scan == HandleScan::all) {
        Closure closure(marker, scan == HandleScan::young);
        closure.markValues(scan);
        if (scan == HandleScan::all) {
            closure.measure();
        }
    }
}

void see(Marker& marker) {
    handleStore.forEach(dependentType, HandleScan::all, [&](HandleSegment&, Slot* slot) {
        if (const Byte h = headOf(word::load(slot->block)); h != 0 && !isDead(h)) {
            marker.markRoot(word::load(slot->extra), true);
        }
    });
}

void leave(Mutator& m) {
    if (HandleCache* cache = cacheIn(m.handles)) {
        handleStore.leave(*cache);
    }
}

void end() {
    handleStore.close();
    callsLast.store(false, std::memory_order_relaxed);
}

} // namespace

constinit const EmbedHooks* embedHooks = nullptr;

const HandleHooks handleHooks = {mark,         close,         values,    clear, finalized, see,
                                 releaseBlock, releasedBlock, moveBlock, leave, end};

bool isFinalizing() {
    return current && (current->isCollector || callsLast.load(std::memory_order_relaxed));
}

} // namespace mpr::gc
