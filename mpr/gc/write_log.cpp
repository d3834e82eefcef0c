// SPDX-License-Identifier: MIT
/*
    write_log.cpp - Chunks of the log: filled, handed over, used again.
 */
#include "mpr/gc/write_log.hpp"

#include <new>

namespace mpr::gc {

/** An empty chunk, or nullptr when there is no memory. */
LogChunk* WriteLog::fresh() {
    {
        os::Locked locked(lock_);
        if (LogChunk* chunk = spare_) {
            spare_ = chunk->next;
            --spares_;
            chunk->next = nullptr;
            return chunk;
        }
    }
    heap::Shortage shortage = heap::Shortage::none;
    void* memory = heap_.allocateShared(heap::granulesFor(sizeof(LogChunk)), heap::head::held, true, shortage);
    return memory ? new (memory) LogChunk : nullptr;
}

/** Add an entry's field to the last entry, if it is the next field. @return false when it is not. */
bool WriteLog::extends(LogChunk& chunk, std::uintptr_t entry) {
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

bool WriteLog::add(LogChunk*& chunk, std::uintptr_t entry) {
    bool many = false;
    if (chunk && chunk->full()) {
        os::Locked locked(lock_);
        chunk->next = full_;
        full_ = chunk;
        chunk = nullptr;
        many = ++fulls_ >= mostFull;
    }
    if (!chunk) {
        chunk = fresh();
    }
    if (!chunk) {
        lost_.store(true, std::memory_order_relaxed);
        return true;
    }
    MPR_ASSERT(!chunk->full() && chunk->count < LogChunk::capacity);
    ++chunk->stores;
    if (!extends(*chunk, entry)) {
        chunk->entries[chunk->count++] = entry;
    }
    return many;
}

void WriteLog::leave(LogChunk*& chunk) {
    if (chunk) {
        os::Locked locked(lock_);
        chunk->next = full_;
        full_ = chunk;
        ++fulls_;
        chunk = nullptr;
    }
}

void WriteLog::check() const {
    os::assertHeld(lock_);
    std::size_t fulls = 0;
    for (const LogChunk* chunk = full_; chunk; chunk = chunk->next) {
        MPR_ASSERT(chunk->count <= LogChunk::capacity && chunk->stores <= LogChunk::capacity);
        ++fulls;
    }
    std::size_t spares = 0;
    for (const LogChunk* chunk = spare_; chunk; chunk = chunk->next) {
        MPR_ASSERT(chunk->count == 0 && chunk->stores == 0);
        ++spares;
    }
    MPR_ASSERT(fulls == fulls_ && spares == spares_ && spares <= mostSpare);
}

void WriteLog::recycle() {
    os::Locked locked(lock_);
    if constexpr (os::checked) {
        check();
    }
    while (LogChunk* chunk = full_) {
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
