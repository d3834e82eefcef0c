// SPDX-License-Identifier: MIT
/*
    remembered.cpp - Blocks and fields that the remembered set names, looked up.
 */
#include "mpr/gc/remembered.hpp"

#include <iterator>

namespace mpr::gc {

using heap::Byte;
using heap::GranuleMap;
using heap::Region;
namespace head = heap::head;

void Remembered::mark(const RememberedChunk& chunk) {
    constexpr std::size_t ahead = 12; // entries; `gc_mpr hash_million`: 0.206 s CPU, with 1 0.221, with 32 0.200
    for (std::size_t i = 0; i < chunk.count; ++i) {
        if (i + ahead < chunk.count) {
            fetch(chunk.entries[i + ahead]);
        }
        const std::uintptr_t entry = chunk.entries[i];
        const void* address = RememberedSet::addressOf(entry);
        Region* region = RememberedSet::isRun(entry) ? nullptr : heap_.findField(address);
        if (!region) {
            continue; // freed by hand, and its region is gone; or the length of a run, which has been marked
        }
        if (RememberedSet::isField(entry)) {
            const bool isRun = i + 1 < chunk.count && RememberedSet::isRun(chunk.entries[i + 1]);
            markFields(region, static_cast<void* const*>(address),
                       1 + (isRun ? RememberedSet::moreOf(chunk.entries[i + 1]) : 0));
        } else {
            markBlock(region, address);
        }
    }
}

/** Prefetch what an entry leads to. */
void Remembered::fetch(std::uintptr_t entry) const {
    if (RememberedSet::isRun(entry)) {
        return;
    }
    const void* address = RememberedSet::addressOf(entry);
    __builtin_prefetch(address);
    if (!RememberedSet::isField(entry)) {
        heap_.fetchHead(address);
    }
}

/** Reach what fields in a row refer to. A run may extend into another block. */
void Remembered::markFields(Region* region, void* const* fields, std::size_t count) {
    for (const void* const* field = fields; field < fields + count; ++field) {
        Piece& owner = pieceOf(region, region->granuleOf(field));
        const Byte h = owner.isBlock ? region->map().get(owner.from) : Byte{0};
        if ((h & head::old) && head::isBarrier(h) && (!markedOnly_ || heap_.colours().marked(h))) {
            markField(owner, __atomic_load_n(field, __ATOMIC_RELAXED));
        }
    }
}

/** Whether a word cannot be an address, for bits that addresses of programs have not: it has a tag, or is a number. */
static bool isTagged(const void* value) {
    if constexpr (sizeof(value) == 8) {
        return reinterpret_cast<std::uintptr_t>(value) >> 48 != 0;
    }
    return false;
}

/**
    Reach what a field refers to. A reference may point into a block (mprMarkRefInside) or have a tag, which only the
    manager of the field's block can read. The first leads to the block, the second has the manager asked.
 */
void Remembered::markField(Piece& owner, const void* value) {
    if (!value) {
        return;
    }
    Region* region = heap_.table().candidate(value);
    if (region && region->isBlock(value)) [[likely]] {
        return marker_.markRoot(value, true);
    }
    if (isTagged(value)) [[unlikely]] {
        if (!owner.retraced) {
            owner.retraced = true;
            marker_.retrace(owner.region, owner.from);
        }
        return;
    }
    marker_.markRoot(!os::hasThreads || !heap_.findField(value) ? value : heap_.blockAround(value), true);
}

void Remembered::markBlock(Region* region, const void* block) {
    if (!region->isBlock(block)) {
        return;
    }
    const std::size_t g = region->granuleOf(block);
    const Byte h = region->map().get(g);
    if ((h & head::old) && head::isBarrier(h) && (h & head::remembered)) {
        region->map().set(g, static_cast<Byte>(h & ~head::remembered));
        if (!markedOnly_ || heap_.colours().marked(h)) {
            marker_.retrace(region, g);
        }
    }
}

/**
    The piece around granule g. Where nothing begins, as in a large block that was freed, no granule is looked at twice.
 */
Remembered::Piece& Remembered::pieceOf(Region* region, std::size_t g) {
    const GranuleMap map = region->map();
    Piece* before = nullptr; // the nearest piece before g that is no block
    for (Piece& piece : pieces_) {
        if (piece.region == region && g >= piece.from && g < piece.to) {
            return piece;
        }
        if (piece.region == region && !piece.isBlock && piece.to <= g && (!before || piece.to > before->to)) {
            before = &piece;
        }
    }
    const std::size_t least = before ? before->to : std::size_t{region->firstGranule};
    const std::size_t head = region->isLarge() ? std::size_t{region->firstGranule} : map.headBefore(g, least);
    const bool found = head >= least && (map.get(head) & head::inUse) != 0;
    const std::size_t end = found ? head + region->blockSize(head) : 0;
    if (!found && before) {
        before->to = g + 1;
        return *before;
    }
    Piece& piece = pieces_[nextPiece_++ % std::size(pieces_)];
    if (g < end) {
        piece = {region, head, end, true, false};
    } else {
        piece = {region, found ? end : least, g + 1, false, false};
    }
    return piece;
}

} // namespace mpr::gc
