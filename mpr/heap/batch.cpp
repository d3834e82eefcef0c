// SPDX-License-Identifier: MIT
/*
    batch.cpp - What a batch knows: where contexts stand and have stood, and which addresses are private.
 */
#include "mpr/heap/batch.hpp"

#include "mpr/heap/context.hpp"

namespace mpr::heap {

Batch::Part& Batch::partOf(const AllocationContext& c) {
    return parts[static_cast<unsigned>(c.lane)];
}

// ---- Where a context stands ----------------------------------------------------------------------------------------

void Batch::leave(AllocationContext& c) {
    Part& part = partOf(c);
    MPR_ASSERT(c.span);
    note(c, part.atFrontier ? c.bump : c.end);
    if (part.atFrontier) {
        part.frontier = {c.bump, c.end, c.cleared, c.region, c.span};
        part.atFrontier = false;
    }
    c.countTaken();
    c.span->blocks = static_cast<std::uint32_t>(c.blocks.get() - c.blocksBefore);
}

/** Note the piece in which the context has bumped. @param end How far its free memory is this piece's. */
void Batch::note(const AllocationContext& c, Byte* end) {
    Part& part = partOf(c);
    if (isKept()) {
        return;
    }
    if (part.pieces == mostPieces) {
        keep(Kept::full);
        return;
    }
    part.piece[part.pieces++] = {
        c.begin, c.bump, end, c.cleared, c.region, c.span, static_cast<std::uint32_t>(c.blocks.get() - part.openedAt)};
}

void Batch::enter(AllocationContext& c, const Room& room) {
    MPR_ASSERT(room.begin <= room.cleared && room.cleared <= room.end);
    c.begin = c.bump = room.begin;
    c.limit = c.cleared = room.cleared;
    c.end = room.end;
    c.region = room.region;
    c.map = c.region->map().at(c.region->granuleOf(c.bump));
    c.span = room.span;
    c.blocksBefore = c.blocks.get() - c.span->blocks;
    partOf(c).openedAt = c.blocks.get();
    extend(c.begin, c.end);
}

void Batch::enterFrontier(AllocationContext& c) {
    Part& part = partOf(c);
    part.atFrontier = true;
    enter(c, part.frontier);
}

void Batch::noteLeft(const AllocationContext& c) {
    MPR_ASSERT(c.region && partOf(c).atFrontier);
    c.span ? note(c, c.end) : keep(Kept::hole);
}

void Batch::noteOpened(const AllocationContext& c) {
    Part& part = partOf(c);
    MPR_ASSERT(part.atFrontier);
    part.openedAt = c.blocks.get() - 1;
    c.span ? extend(c.begin, c.end) : keep(Kept::hole);
}

void Batch::forget() {
    keep(Kept::yield);
    for (Part& part : parts) {
        part.pieces = part.rooms = 0;
        part.atFrontier = true;
    }
}

// ---- What is private -----------------------------------------------------------------------------------------------

std::uint32_t Batch::pieceOf(const void* address) const {
    const auto* at = static_cast<const Byte*>(address);
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const AllocationContext& c = contexts_[lane];
        const Part& part = parts[lane];
        if (at >= c.begin && at < c.bump) {
            return number(lane, part.pieces);
        }
        for (unsigned i = part.pieces; i-- > 0;) {
            if (at >= part.piece[i].begin && at < part.piece[i].bump) {
                return number(lane, i);
            }
        }
    }
    return none;
}

Batch::Stretch Batch::stretch(std::uint32_t piece) const {
    const Part& part = parts[piece >> 16];
    if (const unsigned i = piece & 0xFFFF; i < part.pieces) {
        const Piece& noted = part.piece[i];
        return {noted.begin, noted.bump, noted.region, noted.span};
    }
    const AllocationContext& c = contexts_[piece >> 16];
    return {c.begin, c.bump, c.region, c.span};
}

bool Batch::isReused(const Stretch& piece, const void* address) const {
    return (!piece.span || piece.region->spans.isPierced(piece.span)) && isNoted(address);
}

} // namespace mpr::heap
