/*
    marker.cpp - The mark loop.
 */
#include "mpr/gc/marker.hpp"

#include <algorithm>
#include <bit>

#include "mpr/barrier.h"
#include "mpr/collect.h"
#include "mpr/os/log.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::GranuleMap;
using heap::Region;
namespace head = heap::head;
namespace swar = heap::swar;

namespace {
// Per thread, so that mprMark on another thread does nothing, and helpers may mark later.
constinit MPR_PER_THREAD Marker* activeMarker = nullptr;

Byte load(Byte* map) {
    return std::atomic_ref<Byte>(*map).load(std::memory_order_relaxed);
}
void store(Byte* map, Byte value) {
    std::atomic_ref<Byte>(*map).store(value, std::memory_order_relaxed);
}
} // namespace

Marker* Marker::active() {
    return activeMarker;
}

void Marker::open(void* stack, std::size_t bytes) {
    stack_ = top_ = static_cast<Entry*>(stack);
    limit_ = stack_ + bytes / sizeof(Entry);
}

void Marker::begin() {
    colours_ = heap_.colours();
    for (unsigned h = head::inUse; h < sizeof(reached_); ++h) {
        reached_[h] = compute(static_cast<Byte>(h));
    }
    reports_ = 0;
    activeMarker = this;
}

void Marker::end() {
    activeMarker = nullptr;
}

// The hot path of a collection: some forty instructions a reference. What usually fails leads to report(), which looks again.
[[gnu::always_inline]] inline void Marker::mark(const void* pointer, bool loose) {
    Region* region = heap_.table().candidate(pointer);
    if (!region) [[unlikely]] {
        return loose ? void() : report(pointer);
    }
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(region);
    // Rotated, so that what is not aligned is out of range, too.
    const std::size_t g = std::rotr(offset, heap::granuleShift);
    if (g >= region->endGranule) [[unlikely]] {
        return loose ? void() : report(pointer);
    }
    Byte* map = region->map().at(g);
    const Byte h = load(map);
    const Byte reached = this->reached(h);
    if (reached == 0) {
        return (h & head::inUse) || loose ? void() : report(pointer);
    }
    if ((h & head::kindMask) == static_cast<Byte>(heap::Kind::leaf)) {
        store(map, reached);
    } else {
        push(region, map, reached, pointer);
    }
}

inline void Marker::push(Region* region, Byte* map, Byte reached, const void* block) {
    Entry* top = top_;
    if (top == limit_) [[unlikely]] {
        overflow(region, map, block);
        return;
    }
    store(map, reached);
    *top = Entry(block, GranuleMap::shortSizeBehind(map));
    top_ = top + 1;
}

void Marker::overflow(Region* region, Byte* map, const void* block) {
    store(map, static_cast<Byte>((load(map) & ~head::colourMask) | colours_.newborn()));
    const auto g = static_cast<std::uint32_t>(region->granuleOf(block));
    region->greyFrom = std::min(region->greyFrom, g);
    region->greyTo = std::max(region->greyTo, g + 1);
    grey_ = true;
    ++overflows_;
}

void Marker::markRoot(const void* block, bool loose) {
    if (block) {
        mark(block, loose);
    }
}

/** A block's last word. */
inline MprManager* Marker::managerOf(Entry entry) const {
    std::size_t n = entry.granules();
    if (n == 0) {
        Region* region = heap_.find(entry.block());
        n = region->blockSize(region->granuleOf(entry.block()));
    }
    return reinterpret_cast<MprManager*>(entry.block() + (n << heap::granuleShift)) - 1;
}

inline void Marker::trace(Entry entry) {
    traced_ = entry;
    if (const MprManager manager = *managerOf(entry)) {
        manager(entry.block(), MPR_MANAGE_MARK);
    }
}

void Marker::drainStack() {
    std::size_t turn = 0;
    std::size_t waiting = 0; // entries in the ring
    for (;;) {
        Entry entry;
        if (top_ != stack_) {
            const Entry next = *--top_;
            if (waiting == 0 && top_ == stack_) {
                trace(next); // a list: nothing else to do while it is fetched
                continue;
            }
            __builtin_prefetch(next.block());
            __builtin_prefetch(next.block() + (next.granules() << heap::granuleShift) - sizeof(MprManager));
            entry = ring_[turn];
            ring_[turn] = next;
            turn = (turn + 1) % ahead;
            if (!entry) {
                ++waiting;
                continue;
            }
        } else if (waiting > 0) {
            entry = ring_[turn];
            ring_[turn] = Entry();
            turn = (turn + 1) % ahead;
            if (!entry) {
                continue;
            }
            --waiting;
        } else {
            return;
        }
        trace(entry);
    }
}

/** Trace the blocks that were left grey in a region. Tracing may leave others grey, here or elsewhere. */
void Marker::recoverGrey(Region* region) {
    const GranuleMap map = region->map();
    const std::size_t from = region->greyFrom;
    const std::size_t to = region->greyTo;
    region->greyFrom = ~0u;
    region->greyTo = 0;
    for (std::size_t at = from & ~std::size_t{swar::bytes - 1}; at < to; at += swar::bytes) {
        const swar::Word word = map.word(at);
        const swar::Word other = word ^ swar::spread(colours_.newborn());
        swar::Word grey = swar::heads(word) & ~(other | other >> 1);
        for (; grey != 0; grey &= grey - 1) {
            const std::size_t g = at + swar::first(grey);
            const Byte h = map.get(g);
            // A leaf of this colour was made by a thread outside the rendezvous (palloc).
            if ((h & head::kindMask) != static_cast<Byte>(heap::Kind::leaf)) {
                push(region, map.at(g), static_cast<Byte>((h & ~head::colourMask) | colours_.oldMarked()),
                     region->address(g));
                drainStack();
            }
        }
    }
}

void Marker::drain() {
    drainStack();
    while (grey_) {
        grey_ = false;
        for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
            if (region->greyFrom < region->greyTo) {
                recoverGrey(region);
            }
        }
    }
    traced_ = {};
}

void Marker::report(const void* pointer) {
    ++misuses_;
    if (++reports_ > 8) {
        return; // threads are stopped: enough said
    }
    os::Message message;
    message << "mprMark(" << pointer << ") is not the start of a block; ignored";
    if (traced_) {
        message << "; by the manager of block " << static_cast<const void*>(traced_.block()) << ", ";
        message.code(reinterpret_cast<const void*>(*managerOf(traced_)));
    }
    os::log(os::Level::error, message);
}

} // namespace mpr::gc

void mprMark(cvoid* ptr) {
    if (ptr) {
        if (mpr::gc::Marker* marker = mpr::gc::activeMarker) {
            marker->mark(ptr, false);
        }
    }
}

void mprMarkRef(cvoid* field) {
    mprMark(__atomic_load_n(static_cast<void* const*>(field), __ATOMIC_ACQUIRE));
}

void mprMarkRefs(cvoid* fields, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        mprMarkRef(static_cast<void* const*>(fields) + i);
    }
}
