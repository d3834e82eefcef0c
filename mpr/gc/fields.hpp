// SPDX-License-Identifier: MIT
/*
    fields.hpp - Fields that nobody marks: option check=fields.

    The commonest mistake of a program is a reference that the collector is not told of: a manager that forgets a field, a
    trace function that is missing or misspelt, a plain pointer among Members. Its target is freed while the field still
    holds its address. So, after each marking and before anything is swept, all living blocks with managers are read word by
    word, as a conservative collector would. A word that holds the address of a block about to die is named: whose it is,
    at which offset, and what dies.

    A suspicion, no proof: memory that was never written, padding and the unused part of a union may hold old addresses, and
    a program may keep one that it does not follow. Leaves are not read, nor is memory outside the heap (buffers of
    containers); nor is the end of a vector's buffer suspected. Each offset of each manager is named once, a few in a collection.
 */
#pragma once

#include <cstddef>

#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"

namespace mpr::gc {

class Fields {
public:
    explicit Fields(heap::Heap& heap) : heap_(heap) {}
    Fields(const Fields&) = delete;
    Fields& operator=(const Fields&) = delete;

    /** Without this no check is done. Without memory for the table neither. */
    void open();
    void close();
    /** Threads are stopped, and the heap knows what the sweep to come may free: look, if open. */
    void check() {
        if (named_) [[unlikely]] {
            checkAll();
        }
    }

private:
    /** What has been named. */
    struct Place {
        MprManager manager;
        std::size_t offset;
    };
    static constexpr std::size_t greatest = 512; // places; then nothing more is named
    static constexpr unsigned mostOffsets = 16;  // of one manager: it may have a table
    static constexpr unsigned mostInCollection = 8;

    [[gnu::cold]] void checkAll();
    void checkBlock(heap::Region* region, std::size_t g);
    bool endsBuffer(const heap::Byte* owner, std::size_t size, std::size_t offset, heap::Region* region) const;
    bool isNew(Place place);
    void report(heap::Region* region, std::size_t g, Place place, heap::Region* dying, const void* block) const;
    static void describe(os::Message& message, heap::Region* region, std::size_t g);

    heap::Heap& heap_;
    Place* named_ = nullptr; // memory of the system: the heap is what is checked
    std::size_t places_ = 0;
    unsigned reports_ = 0; // in this collection
};

} // namespace mpr::gc
