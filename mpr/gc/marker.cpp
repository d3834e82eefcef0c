/*
    marker.cpp - The mark loop.
 */
#include "mpr/gc/marker.hpp"

#include <algorithm>
#include <bit>

#include "mpr/barrier.h"
#include "mpr/collect.h"
#include "mpr/gc/check.hpp"
#include "mpr/gc/manager.hpp"
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

constexpr std::size_t noEnd = ~std::size_t{0};
} // namespace

Marker* Marker::active() {
    return activeMarker;
}

void Marker::open(void* memory, std::size_t bytes) {
    const std::size_t part = os::hasGenerations ? bytes / 4 & ~(sizeof(MarkEntry) - 1) : 0;
    stacks_[0].open(memory, part);
    stacks_[1].open(static_cast<Byte*>(memory) + part, bytes - part);
}

void Marker::begin(Marking marking) {
    colours_ = heap_.colours();
    marking_ = marking;
    stopped_ = marking != Marking::concurrent;
    tracesOld_ = marking == Marking::all;
    for (unsigned h = head::inUse; h < sizeof(reached_); ++h) {
        reached_[h] = compute(static_cast<Byte>(h));
    }
    reports_ = 0;
    activeMarker = this;
}

void Marker::beginCheck(Check& check) {
    marking_ = Marking::check;
    check_ = &check;
    activeMarker = this;
}

void Marker::end() {
    activeMarker = nullptr;
}

// The hot path of a collection: some forty instructions a reference. What usually fails leads to report(), which looks again.
template <bool stopped>
MPR_INLINE void Marker::reach(const void* pointer, bool loose) {
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
    Byte h = GranuleMap::load(map);
    Byte reached = this->reached(h);
    if (reached == 0) {
        // While threads run, a field may name a block that has just been freed by hand, or what was made of its memory.
        return !stopped || (h & head::inUse) || loose ? void() : report(pointer);
    }
    if constexpr (stopped) {
        if ((h & head::old) == 0) {
            if (region->nurseries.isStale(g)) [[unlikely]] {
                return loose ? void() : report(pointer);
            }
            region->nurseries.keep(g);
        }
        GranuleMap::store(map, reached);
    } else {
        // Others change heads, too: holds, the barrier, frees. Whatever they made of it may be still to be reached.
        while (!std::atomic_ref<Byte>(*map).compare_exchange_weak(h, reached, std::memory_order_relaxed)) {
            reached = this->reached(h);
            if (reached == 0) {
                return;
            }
        }
    }
    if constexpr (os::hasGenerations) {
        ++count_.blocks;
    }
    if (!head::isLeaf(h)) {
        push(region, map, h, pointer);
    }
}

void Marker::mark(const void* pointer, bool loose) {
    if constexpr (os::cooperative) {
        return reach<true>(pointer, loose);
    }
    switch (marking_) {
    case Marking::young:
    case Marking::all: return reach<true>(pointer, loose);
    case Marking::concurrent: return reach<false>(pointer, loose);
    case Marking::check: return check_->see(pointer);
    }
}

/** A block with a manager; its head before it was marked is given. */
MPR_INLINE void Marker::push(Region* region, Byte* map, Byte before, const void* block) {
    const bool old = os::hasGenerations && (before & head::old) != 0;
    if (os::hasGenerations && head::isPlain(before)) {
        ++count_.plain;
        if (old && !tracesOld()) {
            return; // the last pause of this collection traces all plain blocks that are marked
        }
    }
    if (!stacks_[old || tracesOld()].push(MarkEntry(block, GranuleMap::shortSizeBehind(map)))) [[unlikely]] {
        overflow(region, map, block);
    }
}

void Marker::overflow(Region* region, Byte* map, const void* block) {
    const Byte grey = colours_.grey(stopped_);
    GranuleMap::update(map, [&](Byte h) { return static_cast<Byte>((h & ~head::colourMask) | grey); });
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

void Marker::retrace(Region* region, std::size_t g) {
    Byte* map = region->map().at(g);
    if (!stackNow().push(MarkEntry(region->address(g), GranuleMap::shortSizeBehind(map)))) {
        overflow(region, map, region->address(g));
    }
}

inline MprManager& Marker::managerOf(MarkEntry entry) const {
    std::size_t n = entry.granules();
    if (n == 0) {
        Region* region = heap_.find(entry.block());
        n = region->blockSize(region->granuleOf(entry.block()));
    }
    return gc::managerOf(entry.block(), n);
}

inline void Marker::trace(MarkEntry entry) {
    traced_ = entry;
    if (const MprManager manager = __atomic_load_n(&managerOf(entry), __ATOMIC_RELAXED)) {
        manager(entry.block(), MPR_MANAGE_MARK);
    }
}

void Marker::markRow(const void* fields, std::size_t count) {
    auto* field = static_cast<const void* const*>(fields);
    // Of a long row one piece is marked now, the rest when the stack has been emptied down to it.
    if (os::hasThreads && count > rowPiece && marking_ != Marking::check) {
        if (stackNow().pushRow(field + rowPiece, count - rowPiece)) {
            count = rowPiece;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (const void* ref = __atomic_load_n(field + i, __ATOMIC_ACQUIRE)) {
            mark(ref, false);
        }
    }
}

/** The top of the stack is a row. */
void Marker::traceRow(MarkStack& stack) {
    stack.pop();
    const auto* fields = reinterpret_cast<const void*>(stack.pop().bits());
    const std::size_t count = stack.pop().bits();
    markRow(fields, count);
}

bool Marker::drainStack(MarkStack& stack, std::size_t budget) {
    if constexpr (os::cooperative) {
        // No cache to fetch into, no rows: a full stack is no trouble worth more code.
        while (!stack.empty()) {
            trace(stack.pop());
        }
        return true;
    }
    std::size_t turn = 0;
    std::size_t waiting = 0; // entries in the ring
    for (;;) {
        MarkEntry entry;
        if (!stack.empty() && budget > 0) {
            const MarkEntry next = stack.pop();
            if (next.isRow()) [[unlikely]] {
                stack.push(next);
                traceRow(stack);
                budget -= std::min(budget, rowPiece);
                continue;
            }
            if (waiting == 0 && stack.empty()) {
                trace(next); // a list: nothing else to do while it is fetched
                --budget;
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
            --budget;
        } else if (waiting > 0) {
            entry = ring_[turn];
            ring_[turn] = MarkEntry();
            turn = (turn + 1) % ahead;
            if (!entry) {
                continue;
            }
            --waiting;
        } else {
            return stack.empty();
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
    const Byte colour = colours_.grey(stopped_);
    for (std::size_t at = from & ~std::size_t{swar::bytes - 1}; at < to; at += swar::bytes) {
        if (region->nurseries.isUnused(at)) {
            continue;
        }
        const swar::Word word = map.word(at);
        const swar::Word other = word ^ swar::spread(colour);
        swar::Word grey = swar::heads(word) & ~(other | other >> 1);
        for (; grey != 0; grey &= grey - 1) {
            const std::size_t g = at + swar::first(grey);
            // A leaf of this colour was made by a thread outside the rendezvous (palloc).
            if (head::isLeaf(map.get(g))) {
                continue;
            }
            map.update(g, [&](Byte h) {
                return static_cast<Byte>(colours_.survivor(h) | (tracesOld() ? 0 : h & head::logged));
            });
            retrace(region, g);
            drainStack(stackNow(), noEnd);
        }
    }
}

void Marker::drainGrey() {
    while (grey_) {
        grey_ = false;
        for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
            if (region->greyFrom < region->greyTo) {
                recoverGrey(region);
            }
        }
    }
}

void Marker::drain() {
    drainStack(stackNow(), noEnd);
    drainGrey();
    traced_ = {};
}

bool Marker::advance() {
    constexpr std::size_t blocks = 256;
    bool left = !drainStack(stacks_[1], blocks);
    if (!left && grey_) {
        drainGrey();
        left = !stacks_[1].empty();
    }
    traced_ = {};
    return left;
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
        message.code(reinterpret_cast<const void*>(managerOf(traced_)));
    }
    os::log(os::Level::error, message);
}

} // namespace mpr::gc

using mpr::gc::Marker;

void mprMark(cvoid* ptr) {
    if (ptr) {
        if (Marker* marker = mpr::gc::activeMarker) {
            marker->mark(ptr, false);
        }
    }
}

void mprMarkRef(cvoid* field) {
    mprMark(__atomic_load_n(static_cast<void* const*>(field), __ATOMIC_ACQUIRE));
}

void mprMarkRefs(cvoid* fields, size_t count) {
    if (Marker* marker = mpr::gc::activeMarker) {
        marker->markRow(fields, count);
    }
}
