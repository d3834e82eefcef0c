/*
    write_log.cpp - Chunks of the log: filled, handed over, used again.
 */
#include "mpr/gc/write_log.hpp"

#include <new>

namespace mpr::gc {

/** An empty chunk, nullptr when there is no memory. */
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

bool WriteLog::add(LogChunk*& chunk, std::uintptr_t entry) {
    bool many = false;
    if (chunk && chunk->count == LogChunk::capacity) {
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
    chunk->entries[chunk->count++] = entry;
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

void WriteLog::recycle() {
    os::Locked locked(lock_);
    while (LogChunk* chunk = full_) {
        full_ = chunk->next;
        if (spares_ < mostSpare) {
            chunk->count = 0;
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
