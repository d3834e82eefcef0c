// SPDX-License-Identifier: MIT
/*
    remembered.hpp - What the entries of the remembered set lead to: old blocks to trace again, and fields of large ones.

    Each marker that reads the set has one of these for the length of a pause.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/marker.hpp"
#include "mpr/gc/remembered_set.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Remembered {
public:
    /** @param markedOnly Blocks that have not been reached so far need not be traced. */
    Remembered(heap::Heap& heap, Marker& marker, bool markedOnly)
        : heap_(heap), marker_(marker), markedOnly_(markedOnly) {}

    /** Have the blocks that a chunk names traced again, and reach what its fields refer to. */
    void mark(const RememberedChunk& chunk);

private:
    /**
        Granules in which a field was found, of one block or of none. Finding the head of a large block takes a while.
     */
    struct Piece {
        heap::Region* region = nullptr;
        std::size_t from = 0, to = 0;
        bool isBlock = false;
        bool retraced = false; // as a whole, in this pause
    };

    void markBlock(heap::Region* region, const void* block);
    void markFields(heap::Region* region, void* const* fields, std::size_t count);
    void markField(Piece& owner, const void* value);
    Piece& pieceOf(heap::Region* region, std::size_t g);
    void fetch(std::uintptr_t entry) const;

    heap::Heap& heap_;
    Marker& marker_;
    bool markedOnly_;
    Piece pieces_[4];
    unsigned nextPiece_ = 0;
};

} // namespace mpr::gc
