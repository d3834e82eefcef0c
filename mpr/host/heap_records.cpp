// SPDX-License-Identifier: MIT
/*
    heap_records.cpp - Private heaps are made: where their records are.

    With an operating system they are in pages. A record is never given back to the system, only used again. So a call with a heap that was destroyed finds that out as
    long as no other has its place. A host has records back when a runtime ends.
 */
#include <new>
#include <utility>

#include "mpr/host/private_heap.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/pages.hpp"

namespace os = mpr::os;

namespace {

constinit os::Lock recordsLock;
constinit MprPrivateHeap* freeRecords MPR_GUARDED_BY(recordsLock) = nullptr;

std::size_t recordBytes() {
    return mpr::heap::roundUp(sizeof(MprPrivateHeap), os::pageSize());
}

std::size_t recordsKept() {
    const os::Locked locked(recordsLock);
    std::size_t bytes = 0;
    for (const MprPrivateHeap* record = freeRecords; record; record = record->next) {
        bytes += recordBytes();
    }
    return bytes;
}

void giveRecords() {
    MprPrivateHeap* next = nullptr;
    {
        const os::Locked locked(recordsLock);
        next = std::exchange(freeRecords, nullptr);
    }
    while (MprPrivateHeap* record = next) {
        next = record->next;
        os::release(record, recordBytes());
    }
}

[[maybe_unused]] MprPrivateHeap* takeRecord() {
    if constexpr (!os::hasPages) {
        return nullptr;
    }
    {
        const os::Locked locked(recordsLock);
        if (MprPrivateHeap* record = freeRecords) {
            freeRecords = record->next;
            return record;
        }
    }
    os::givesAtEnd(giveRecords, recordsKept);
    return static_cast<MprPrivateHeap*>(os::map(recordBytes(), MPR_MAP_READ | MPR_MAP_WRITE));
}

/** Memory of the program's. */
struct Buffer {
    std::uintptr_t begin, end;

    /** Where something of this type has room. @return nullptr when it has none. */
    template <typename T>
    void* take() {
        const std::uintptr_t at = mpr::heap::roundUp(begin, alignof(T));
        if (at > end || end - at < sizeof(T)) {
            return nullptr;
        }
        begin = at + sizeof(T);
        return reinterpret_cast<void*>(at);
    }
};

/** @param buffer nullptr: its blocks are in pages. */
MprPrivateHeap* make(void* record, const char* name, int flags, const Buffer* buffer) {
    if (!record) {
        return nullptr;
    }
    auto* heap = new (record) MprPrivateHeap(name, flags);
    const bool open = buffer ? heap->open(reinterpret_cast<void*>(buffer->begin), buffer->end - buffer->begin)
                             : heap->open(nullptr, 0);
    if (!open) {
        heap->~MprPrivateHeap();
        mpr::host::giveRecord(heap);
        return nullptr;
    }
    return heap;
}
} // namespace

void mpr::host::giveRecord(MprPrivateHeap* record) {
    if constexpr (os::hasPages) {
        const os::Locked locked(recordsLock);
        record->next = freeRecords;
        freeRecords = record;
    }
}

MprPrivateHeap* mprCreateHeap(const char* name, int flags) {
    if (!os::hasPages || !mpr::host::admitMaking("mprCreateHeap", flags)) {
        return nullptr;
    }
    const os::AsCritical critical(os::Critical::domain);
    return make(takeRecord(), name, flags, nullptr);
}

MprPrivateHeap* mprCreateHeapIn(const char* name, void* memory, size_t size, int flags) {
    if (!mpr::host::admitMaking("mprCreateHeapIn", flags)) {
        return nullptr;
    }
    constexpr std::size_t least = sizeof(mpr::heap::Region) + 1024;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    Buffer buffer{begin, begin + size};
    void* record = os::hasPages ? nullptr : buffer.take<MprPrivateHeap>();
    if (!memory || buffer.end < buffer.begin || buffer.end - buffer.begin < least || (!os::hasPages && !record)) {
        os::Message message;
        os::log(os::Level::error, message << "mprCreateHeapIn: memory of " << (memory ? size : 0)
                                          << " bytes is too small; at least "
                                          << least + (os::hasPages ? 0 : sizeof(MprPrivateHeap) + sizeof(void*)));
        return nullptr;
    }
    const os::AsCritical critical(os::Critical::domain);
    return make(os::hasPages ? takeRecord() : record, name, flags, &buffer);
}
