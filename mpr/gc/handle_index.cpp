// SPDX-License-Identifier: MIT
/*
    handle_index.cpp - The table of handles by block is brought up to date, and asked.
 */
#include "mpr/gc/handle_index.hpp"

#include <algorithm>
#include <utility>

#include "mpr/gc/handle_store.hpp"
#include "mpr/os/fence.hpp"

namespace mpr::gc {

namespace {

bool refers(const HandleSegment& segment, const Slot* slot, const void* block) {
    return word::load(slot->block) == block ||
           (segment.kind() == MPR_HANDLE_DEPENDENT && word::load(slot->extra) == block);
}

/** Call f(slot) for each place in use, or about to be, of a group. */
template <typename F>
void forEachOfGroup(HandleSegment& segment, std::size_t group, F&& f) {
    const std::size_t used = segment.used.load(std::memory_order_acquire);
    const std::size_t end = std::min(used, (group + 1) * HandleSegment::groupSlots);
    for (std::size_t at = group * HandleSegment::groupSlots; at < end; ++at) {
        f(segment.slots() + at);
    }
}

bool isUnindexed(const HandleSegment& segment, std::size_t group) {
    return (segment.groupStates[group].load(std::memory_order_acquire) & HandleSegment::unindexed) != 0;
}

constexpr std::size_t leastRoom = 4096;
} // namespace

bool HandleIndex::visit(HandleStore& store, const void* block, HandleVisitor& visitor) {
    const os::Locked locked(lock_);
    if (!update(store)) {
        return false;
    }
    visitUnindexed(block, visitor);
    for (std::uint32_t at = bucketOf(block); at != 0; at = entries_[at].next) {
        Slot* const slot = entries_[at].slot;
        HandleSegment& segment = *HandleSegment::of(slot);
        if (segment.indexOf(slot) < segment.used.load(std::memory_order_acquire) && refers(segment, slot, block)) {
            visitor.visit(visitor, segment, slot);
        }
    }
    return true;
}

void HandleIndex::visitUnindexed(const void* block, HandleVisitor& visitor) {
    for (HandleSegment* segment = unindexed_; segment; segment = segment->nextUnindexed) {
        for (std::size_t group = 0; group < HandleSegment::groups; ++group) {
            if (isUnindexed(*segment, group)) {
                forEachOfGroup(*segment, group, [&](Slot* slot) {
                    if (refers(*segment, slot, block)) {
                        visitor.visit(visitor, *segment, slot);
                    }
                });
            }
        }
    }
}

void HandleIndex::noteStored(HandleSegment& segment, std::size_t group) {
    // A thread that finds the group unindexed finds the segment in the list, once it has the lock.
    const os::Locked locked(lock_);
    word::setBits(segment.groupStates[group], HandleSegment::unindexed);
    if (!std::exchange(segment.isUnindexed, true)) {
        segment.nextUnindexed = std::exchange(unindexed_, &segment);
    }
}

/** Have the table say all that is not in a few unindexed groups. */
bool HandleIndex::update(HandleStore& store) {
    unsigned unindexed = 0;
    for (HandleSegment* at = complete_ ? unindexed_ : nullptr; at && unindexed <= mostUnindexed;
         at = at->nextUnindexed) {
        for (std::size_t group = 0; group < HandleSegment::groups; ++group) {
            unindexed += isUnindexed(*at, group);
        }
    }
    return (complete_ && unindexed <= mostUnindexed) || enter(store);
}

bool HandleIndex::enter(HandleStore& store) {
    HandleSegment* taken = std::exchange(unindexed_, nullptr);
    for (HandleSegment* segment = taken; segment; segment = segment->nextUnindexed) {
        segment->isUnindexed = false;
        for (std::size_t group = 0; group < HandleSegment::groups; ++group) {
            const std::uint8_t before = word::keepBits(segment->groupStates[group], HandleSegment::dirtyGroup);
            segment->takenGroups[group] = (before & HandleSegment::unindexed) != 0;
        }
    }
    // A thread that stores from here on finds its group indexed, and makes it unindexed; earlier stores are seen below.
    if (!os::fenceOthers()) {
        complete_ = false;
        return false;
    }
    for (; taken; taken = taken->nextUnindexed) {
        for (std::size_t group = 0; complete_ && group < HandleSegment::groups; ++group) {
            if (taken->takenGroups[group]) {
                forEachOfGroup(*taken, group, [&](Slot* slot) MPR_UNANALYSED { add(*taken, slot); });
            }
        }
    }
    return complete_ || makeAnew(store);
}

void HandleIndex::add(HandleSegment& segment, Slot* slot) {
    add(word::load(slot->block), slot);
    if (segment.kind() == MPR_HANDLE_DEPENDENT) {
        add(word::load(slot->extra), slot);
    }
}

void HandleIndex::add(const void* block, Slot* slot) {
    if (!block || !complete_) {
        return;
    }
    std::uint32_t& first = bucketOf(block);
    std::uint32_t at = first;
    for (unsigned i = 0; i < mostCompared && at != 0; ++i, at = entries_[at].next) {
        if (entries_[at].slot == slot) {
            return;
        }
    }
    if (used_ + 1 >= room_) {
        complete_ = false;
        return;
    }
    entries_[++used_] = {slot, first};
    first = static_cast<std::uint32_t>(used_);
}

/** With room for as many entries again. Without memory there is no table. */
bool HandleIndex::makeAnew(HandleStore& store) {
    std::size_t count = 0;
    const auto forEach = [&](auto&& f) {
        store.forEachSegment([&](HandleSegment& segment) {
            for (std::size_t group = 0; group < HandleSegment::groups; ++group) {
                forEachOfGroup(segment, group, [&](Slot* slot) { f(segment, slot); });
            }
        });
    };
    forEach([&](const HandleSegment& segment, const Slot* slot) {
        count += word::load(slot->block) != nullptr;
        count += segment.kind() == MPR_HANDLE_DEPENDENT && word::load(slot->extra);
    });
    if (!makeRoom(2 * count)) {
        return false;
    }
    complete_ = true;
    forEach([&](HandleSegment& segment, Slot* slot) MPR_UNANALYSED { add(segment, slot); });
    return complete_; // not when threads have made as many handles again meanwhile
}

bool HandleIndex::makeRoom(std::size_t entries) {
    drop();
    std::size_t room = leastRoom;
    while (room < entries) {
        room *= 2;
    }
    if (room > UINT32_MAX / sizeof(Entry)) {
        return false;
    }
    auto* const memory =
        static_cast<std::byte*>(os::reserve(room * (sizeof(Entry) + sizeof(std::uint32_t)), os::pageSize())); // zeroed
    if (!memory) {
        return false;
    }
    entries_ = reinterpret_cast<Entry*>(memory);
    buckets_ = reinterpret_cast<std::uint32_t*>(memory + room * sizeof(Entry));
    room_ = room;
    return true;
}

void HandleIndex::drop() {
    if (entries_) {
        os::release(entries_, room_ * (sizeof(Entry) + sizeof(std::uint32_t)));
    }
    entries_ = nullptr;
    buckets_ = nullptr;
    room_ = used_ = 0;
    complete_ = false;
}

void HandleIndex::close() {
    const os::Locked locked(lock_);
    drop();
    unindexed_ = nullptr;
}

std::uint32_t& HandleIndex::bucketOf(const void* block) const {
    constexpr std::uint64_t multiplier = 0x9E37'79B9'7F4A'7C15;
    const std::uint64_t mixed = (reinterpret_cast<std::uintptr_t>(block) >> heap::granuleShift) * multiplier;
    return buckets_[static_cast<std::size_t>(mixed >> 32) & (room_ - 1)];
}

void HandleStore::visit(const void* block, HandleVisitor& visitor) {
    if (os::hasThreads && index_.visit(*this, block, visitor)) {
        return;
    }
    forEach(~0u, HandleScan::all, [&](HandleSegment& segment, Slot* slot) {
        if (refers(segment, slot, block)) {
            visitor.visit(visitor, segment, slot);
        }
    });
}

} // namespace mpr::gc
