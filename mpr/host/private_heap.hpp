// SPDX-License-Identifier: MIT
/*
    private_heap.hpp - A private heap of mpr/host.h: a heap of its own, one local state, and a lock if threads share it.

    Its blocks lie in pages or in memory of the program's, its record in pages (heap_records.cpp). Without an operating system
    there is only the program's memory, with the record at its beginning.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/heap/context.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/host.h"
#include "mpr/os/lock.hpp"

struct MprPrivateHeap {
    /** The one thread whose calls take the short way: 0 when the heap is shared, tracked, or has no thread yet. */
    mpr::os::Shared<std::uint32_t> swift{0};
    mpr::os::Shared<std::uintptr_t> sign{0}; // as signatureOf says while this is a heap
    const bool shared;
    const std::size_t prefix;                // bytes before each block
    mpr::os::Shared<std::uint32_t> owner{0}; // of a heap for one thread; 0: nobody yet
    mpr::os::Total refused = 0;

    mpr::heap::Local local;
    mpr::heap::Heap heap;
    mpr::os::Lock lock{mpr::os::outermost}; // of a shared heap; the heap names damage while it is held
    char name[32] = {};
    MprPrivateHeap* next = nullptr; // of records that are free

    MprPrivateHeap(const char* given, int flags);
    /** @param buffer Where its blocks are to be; nullptr: in pages. @return false: there is no memory. */
    bool open(void* buffer, std::size_t size);

    /** Tells a heap from what programs take for one: no other bytes are likely to have it. */
    static std::uintptr_t signatureOf(const MprPrivateHeap* heap) {
        return reinterpret_cast<std::uintptr_t>(heap) ^ static_cast<std::uintptr_t>(0x9e3779b97f4a7c15);
    }
    /** Whether an address that a program gives is that of a heap. */
    static bool isAlive(const MprPrivateHeap* heap) {
        const bool aligned = reinterpret_cast<std::uintptr_t>(heap) % alignof(MprPrivateHeap) == 0;
        return heap && aligned && heap->sign.load(std::memory_order_relaxed) == signatureOf(heap);
    }
};

namespace mpr::host {
/** @return Whether the caller may make a heap with these flags. Otherwise the call is named. */
bool admitMaking(const char* function, int flags);
/** The heap has ended. */
void giveRecord(MprPrivateHeap* record);
} // namespace mpr::host
