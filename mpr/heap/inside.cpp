// SPDX-License-Identifier: MIT
/*
    inside.cpp - From an address anywhere to the block around it, and the blocks of a range of addresses.
 */
#include <algorithm>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

/** Whether a block with this head is in use and not found dead. */
bool Heap::isLive(Byte h) const {
    return Region::isBlock(h) && (!dead(h) || (h & head::held));
}

void* Heap::blockAround(const void* address) {
    if (const Annex* others = annex()) {
        if (void* block = others->around(address)) {
            return block;
        }
    }
    os::Locked locked(lock_);
    return aroundLocked(address).block;
}

Heap::Inside Heap::aroundLocked(const void* address) const {
    os::assertHeld(lock_);
    constexpr Inside nothing{nullptr, 0, 0};
    Region* region = table_.findField(address);
    const std::size_t g = region ? region->granuleOf(address) : 0;
    if (!region || g < region->firstGranule) {
        return nothing;
    }
    if (!region->isLarge() && (g >= region->endGranule || region->spans.isUncleared(g))) {
        return nothing;
    }
    const std::size_t first =
        region->isLarge() ? region->firstGranule : region->map().boundaryBefore(g, region->firstGranule);
    const bool isKnown = region->isLarge() || !region->spans.isUncleared(first);
    const Byte h = isKnown ? region->map().get(first) : Byte{0};
    const std::size_t n = isLive(h) ? region->blockSize(first) : 0;
    return g - first < n ? Inside{region->address(first), n, h} : nothing;
}

unsigned Heap::blocksIn(const Byte*& from, const Byte* to, Inside* found, unsigned most) {
    constexpr unsigned longest = 4096; // words of maps, and regions, that are looked at in one hold of the lock
    os::Locked locked(lock_);
    unsigned count = 0;
    for (unsigned steps = 0; from < to && count < most && steps < longest;) {
        Region* region = table_.findField(from);
        if (!region) {
            ++steps;
            if (auto* buffer = reinterpret_cast<Byte*>(regions_); fixed() && from < buffer && buffer < to) {
                from = buffer; // it may begin anywhere
                continue;
            }
            const std::size_t gap = table_.gapAt(reinterpret_cast<std::uintptr_t>(from));
            from += std::min(gap, static_cast<std::size_t>(to - from));
            continue;
        }
        if (region->isLarge()) {
            ++steps;
            const std::size_t g = region->firstGranule;
            const Byte h = region->map().get(g);
            Byte* block = region->address(g);
            if (block >= from && block < to && isLive(h)) {
                found[count++] = {block, region->largeGranules, h};
            }
            from = std::min<const Byte*>(reinterpret_cast<Byte*>(region) + region->length, to);
            continue;
        }
        const std::size_t length = static_cast<std::size_t>(to - reinterpret_cast<Byte*>(region));
        const std::size_t end = std::min<std::size_t>(region->endGranule, (length + granuleSize - 1) >> granuleShift);
        std::size_t g =
            (static_cast<std::size_t>(from - reinterpret_cast<Byte*>(region)) + granuleSize - 1) >> granuleShift;
        g = std::max<std::size_t>(g, region->firstGranule);
        for (; g < end && count < most && steps < longest; ++steps) {
            const std::size_t at = g & ~std::size_t{swar::bytes - 1};
            swar::Word heads = swar::heads(region->map().word(at)) & (~swar::Word{0} << (8 * (g - at)));
            for (g = at + swar::bytes; heads != 0; heads &= heads - 1) {
                const std::size_t first = at + swar::first(heads);
                const Byte h = first < end && !region->spans.isUncleared(first) ? region->map().get(first) : Byte{0};
                if (!isLive(h)) {
                    continue;
                }
                if (count == most) {
                    g = first;
                    break;
                }
                found[count++] = {region->address(first), region->map().blockSize(first), h};
            }
        }
        from = g < end ? region->address(g)
                       : std::min<const Byte*>(
                             end < region->endGranule ? to : reinterpret_cast<Byte*>(region) + region->length, to);
    }
    return count;
}

Heap::Range Heap::extent() {
    os::Locked locked(lock_);
    Range all{nullptr, nullptr};
    for (const Region* region = regions_; region; region = region->next) {
        const auto* begin = reinterpret_cast<const Byte*>(region);
        all.from = all.from ? std::min(all.from, begin) : begin;
        all.to = std::max(all.to, begin + region->length);
    }
    return all;
}

Heap::Range Heap::clip(Range range) {
    const Range all = extent();
    return {std::max(range.from, all.from), std::min(range.to, all.to)};
}

} // namespace mpr::heap
