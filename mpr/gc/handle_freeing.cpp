// SPDX-License-Identifier: MIT
/*
    handle_freeing.cpp - Handles when a block is freed by hand, or moves.

    Other threads create, set and destroy handles meanwhile, and a place may have become another handle's since it was
    looked at. So a word is changed by a compare-exchange only, from the block that is freed: a handle with that block
    refers to it, whoever owns it.
 */
#include "mpr/gc/handle_freeing.hpp"

#include <algorithm>

#include "mpr/gc/guard.hpp"
#include "mpr/gc/handle_types.hpp"

namespace mpr::gc {

namespace {

/** The words of a handle that refer to a block refer to another one. */
void redirect(HandleSegment& segment, Slot* slot, const void* from, void* to) {
    void* seen = const_cast<void*>(from);
    word::change(slot->block, seen, to);
    if (segment.kind() == MPR_HANDLE_DEPENDENT) {
        seen = const_cast<void*>(from);
        word::change(slot->extra, seen, to);
        if (!to) {
            HandleStore::forgetValue(slot);
        }
    }
}
bool keeps(const HandleSegment& segment, const Slot* slot, const void* block) {
    return self::isLive(word::load(slot->self)) && word::load(slot->block) == block && isStrong(segment.kind(), slot);
}
} // namespace

bool releaseBlock(const void* block) {
    bool kept = false;
    handleStore.forEachOf(
        block, [&](HandleSegment& segment, const Slot* slot) { kept = kept || keeps(segment, slot, block); });
    if (kept) {
        misuse("mprFree", block, "a strong handle refers to the block; destroy it first");
        return false;
    }
    const bool waits = heap::head::wantsFree(headOf(block)); // for its manager
    handleStore.forEachOf(block, [=](HandleSegment& segment, Slot* slot) {
        if (!waits || !isLong(segment.kind(), slot)) {
            redirect(segment, slot, block, nullptr);
        }
    });
    return true;
}

void releasedBlock(const void* block) {
    bool kept = false;
    handleStore.forEachOf(block, [&](HandleSegment& segment, Slot* slot) {
        kept = kept || keeps(segment, slot, block);
        redirect(segment, slot, block, nullptr);
    });
    if (kept) {
        misuse("mprFree", block, "its manager has a strong handle refer to the block, which is freed all the same");
    }
}

bool refersToBlock(const void* block) {
    bool any = false;
    handleStore.forEachOf(block,
                          [&](HandleSegment&, const Slot* slot) { any = any || self::isLive(word::load(slot->self)); });
    return any;
}

void moveBlock(const void* from, void* to) {
    handleStore.refer(to);
    constexpr unsigned most = 32;
    Slot* moved[most];
    unsigned count = most;
    while (count == most) {
        count = 0;
        handleStore.forEachOf(from, [&](HandleSegment& segment, Slot* slot) {
            if (count < most) {
                redirect(segment, slot, from, to);
                moved[count++] = slot;
            }
        });
        std::for_each(moved, moved + count, [](Slot* slot) { HandleStore::setDirty(slot); });
    }
}

} // namespace mpr::gc
