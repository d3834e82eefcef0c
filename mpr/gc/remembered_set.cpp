// SPDX-License-Identifier: MIT
/*
    remembered_set.cpp - Chunks of the set: filled, handed over, used again.
 */
#include "mpr/gc/remembered_set.hpp"

#include <algorithm>
#include <new>

namespace mpr::gc {

/** An empty chunk, or nullptr when there is no memory. */
RememberedChunk* RememberedSet::fresh() {
    {
        os::Locked locked(lock_);
        if (RememberedChunk* chunk = spare_) {
            spare_ = chunk->next;
            --spares_;
            chunk->next = nullptr;
            return chunk;
        }
    }
    heap::Shortage shortage = heap::Shortage::none;
    void* memory = heap_.allocateShared(heap::granulesFor(sizeof(RememberedChunk)), heap::head::held, true, shortage);
    return memory ? new (memory) RememberedChunk : nullptr;
}

/** Add an entry's field to the last entry, if it is the next field. @return false when it is not. */
bool RememberedSet::extends(RememberedChunk& chunk, std::uintptr_t entry) {
    std::uintptr_t* end = chunk.entries + chunk.count;
    if (chunk.count == 0 || !isField(entry)) {
        return false;
    }
    if (isField(end[-1]) && entry == end[-1] + sizeof(void*)) {
        *end = std::uintptr_t{1} << runShift | 2;
        ++chunk.count;
        return true;
    }
    if (isRun(end[-1]) && entry == end[-2] + (moreOf(end[-1]) + 1) * sizeof(void*)) {
        end[-1] += std::uintptr_t{1} << runShift;
        return true;
    }
    return false;
}

bool RememberedSet::add(RememberedChunk*& chunk, std::uintptr_t entry) {
    bool many = false;
    if (chunk && chunk->full()) {
        os::Locked locked(lock_);
        chunk->next = full_;
        full_ = chunk;
        chunk = nullptr;
        many = ++fulls_ >= enough_;
    }
    if (!chunk) {
        chunk = fresh();
    }
    if (!chunk) {
        lost_.store(true, std::memory_order_relaxed);
        return true;
    }
    MPR_ASSERT(!chunk->full() && chunk->count < RememberedChunk::capacity);
    ++chunk->stores;
    if (!extends(*chunk, entry)) {
        chunk->entries[chunk->count++] = entry;
    }
    return many;
}

void RememberedSet::leave(RememberedChunk*& chunk) {
    if (chunk) {
        os::Locked locked(lock_);
        chunk->next = full_;
        full_ = chunk;
        ++fulls_;
        chunk = nullptr;
    }
}

void RememberedSet::check() const {
    os::assertHeld(lock_);
    std::size_t fulls = 0;
    for (const RememberedChunk* chunk = full_; chunk; chunk = chunk->next) {
        MPR_ASSERT(chunk->count <= RememberedChunk::capacity && chunk->stores <= RememberedChunk::capacity);
        ++fulls;
    }
    std::size_t spares = 0;
    for (const RememberedChunk* chunk = spare_; chunk; chunk = chunk->next) {
        MPR_ASSERT(chunk->count == 0 && chunk->stores == 0);
        ++spares;
    }
    MPR_ASSERT(fulls == fulls_ && spares == spares_ && spares <= mostSpare);
    MPR_ASSERT(enough_ >= leastFull && enough_ <= mostFull);
}

void RememberedSet::pace(std::uint64_t took, std::uint64_t longest) {
    os::Locked locked(lock_);
    if (fulls_ < enough_) {
        return; // something else called for the pause, and took the time
    }
    // Go half the way, since a single pause may have been disturbed.
    const std::uint64_t fitting = fulls_ * longest / std::max(took, std::uint64_t{1});
    const auto wanted = static_cast<std::size_t>(std::clamp<std::uint64_t>(fitting, leastFull, mostFull));
    enough_ = (enough_ + wanted + (wanted > enough_)) / 2;
}

void RememberedSet::recycle() {
    os::Locked locked(lock_);
    if constexpr (os::checked) {
        check();
    }
    while (RememberedChunk* chunk = full_) {
        full_ = chunk->next;
        if (spares_ < mostSpare) {
            chunk->clear();
            chunk->next = spare_;
            spare_ = chunk;
            ++spares_;
        } else {
            heap_.freeShared(heap_.find(chunk), chunk);
        }
    }
    fulls_ = 0;
}

} // namespace mpr::gc
