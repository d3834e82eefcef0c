/*
    marker.cpp - The mark loop.
 */
#include "mpr/gc/marker.hpp"

#include <algorithm>

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
constinit thread_local Marker* activeMarker __attribute__((tls_model("initial-exec"))) = nullptr;

Byte load(Byte* map) { return std::atomic_ref<Byte>(*map).load(std::memory_order_relaxed); }
void store(Byte* map, Byte value) { std::atomic_ref<Byte>(*map).store(value, std::memory_order_relaxed); }
} // namespace

Marker* Marker::active() { return activeMarker; }

void Marker::open(void* stack, std::size_t bytes) {
    stack_ = static_cast<Entry*>(stack);
    capacity_ = bytes / sizeof(Entry);
}

void Marker::begin() {
    colours_ = heap_.colours();
    reports_ = 0;
    activeMarker = this;
}

void Marker::end() { activeMarker = nullptr; }

void Marker::mark(const void* pointer, bool loose) {
    if (!pointer) {
        return;
    }
    Region* region = heap_.find(pointer);
    if (!region || !region->isBlock(pointer)) [[unlikely]] {
        if (!loose) {
            report(pointer);
        }
        return;
    }
    Byte* map = region->map().at(region->granuleOf(pointer));
    const Byte h = load(map);
    if (colours_.live(h)) {
        return; // reached already
    }
    const Byte reached = static_cast<Byte>((h & ~head::colourMask) | colours_.oldMarked());
    if ((h & head::kindMask) == static_cast<Byte>(heap::Kind::leaf)) {
        store(map, reached);
        return;
    }
    push(region, map, reached, const_cast<void*>(pointer));
}

inline void Marker::push(Region* region, Byte* map, Byte reached, void* block) {
    if (top_ == capacity_) [[unlikely]] {
        store(map, static_cast<Byte>((reached & ~head::colourMask) | colours_.newborn()));
        const auto g = static_cast<std::uint32_t>(region->granuleOf(block));
        region->greyFrom = std::min(region->greyFrom, g);
        region->greyTo = std::max(region->greyTo, g + 1);
        grey_ = true;
        ++overflows_;
        return;
    }
    store(map, reached);
    const std::size_t n = region->blockSize(region->granuleOf(block));
    auto* last = reinterpret_cast<MprManager*>(static_cast<Byte*>(block) + (n << heap::granuleShift)) - 1;
    stack_[top_++] = {block, last};
}

inline void Marker::trace(const Entry& entry) {
    traced_ = entry;
    if (const MprManager manager = *entry.manager) {
        manager(entry.block, MPR_MANAGE_MARK);
    }
}

void Marker::drainStack() {
    for (;;) {
        while (queued_ < ahead && top_ > 0) {
            const Entry entry = stack_[--top_];
            __builtin_prefetch(entry.block);
            __builtin_prefetch(entry.manager);
            queue_[(first_ + queued_++) & (ahead - 1)] = entry;
        }
        if (queued_ == 0) {
            return;
        }
        const Entry entry = queue_[first_];
        first_ = (first_ + 1) & (ahead - 1);
        --queued_;
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
    if (traced_.block) {
        message << "; by the manager of block " << traced_.block << ", ";
        message.code(reinterpret_cast<const void*>(*traced_.manager));
    }
    os::log(os::Level::error, message);
}

} // namespace mpr::gc

extern "C" void mprMark(cvoid* ptr) {
    if (mpr::gc::Marker* marker = mpr::gc::Marker::active()) {
        marker->mark(ptr);
    }
}
