// SPDX-License-Identifier: MIT
/*
    heap_records.cpp - Making private heaps, and the places of their records.

    With an operating system records lie in pages. They are never given back to the system, only used again. So a call with a
    heap that was destroyed finds that out as long as no other has its place. A host has records back when a runtime ends.
    Without one a record lies at the beginning of the program's memory.
 */
#include <memory>
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

/** @param buffer,size The program's memory. Where the record lies in it, what is left is given back. */
void* takeRecord([[maybe_unused]] void*& buffer, [[maybe_unused]] std::size_t& size) {
    if constexpr (!os::hasPages) {
        void* record = std::align(alignof(MprPrivateHeap), sizeof(MprPrivateHeap), buffer, size);
        buffer = static_cast<std::byte*>(buffer) + sizeof(MprPrivateHeap);
        size -= sizeof(MprPrivateHeap);
        return record;
    }
    {
        const os::Locked locked(recordsLock);
        if (MprPrivateHeap* record = freeRecords) {
            freeRecords = record->next;
            return record;
        }
    }
    os::givesAtEnd(giveRecords, recordsKept);
    return os::map(recordBytes(), MPR_MAP_READ | MPR_MAP_WRITE);
}

/** @param buffer Memory of the program's, large enough for a record; nullptr: the blocks are in pages. */
MprPrivateHeap* make(const char* name, int flags, void* buffer, std::size_t size) {
    const os::AsCritical critical(os::Critical::domain);
    void* record = takeRecord(buffer, size);
    if (!record) {
        return nullptr;
    }
    auto* heap = new (record) MprPrivateHeap(name, flags);
    if (!heap->open(buffer, size)) {
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
    const bool may = os::hasPages && mpr::host::admitMaking("mprCreateHeap", flags);
    return may ? make(name, flags, nullptr, 0) : nullptr;
}

MprPrivateHeap* mprCreateHeapIn(const char* name, void* memory, size_t size, int flags) {
    constexpr std::size_t record = os::hasPages ? 0 : sizeof(MprPrivateHeap) + alignof(MprPrivateHeap);
    constexpr std::size_t least = record + sizeof(mpr::heap::Region) + 1024;
    if (!mpr::host::admitMaking("mprCreateHeapIn", flags)) {
        return nullptr;
    }
    const bool ends = size <= ~reinterpret_cast<std::uintptr_t>(memory);
    if (!memory || !ends || size < least) {
        os::Message message;
        os::log(os::Level::error, message << "mprCreateHeapIn: memory of " << (memory ? size : 0)
                                          << " bytes is too small; at least " << least);
        return nullptr;
    }
    return make(name, flags, memory, size);
}
