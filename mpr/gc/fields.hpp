// SPDX-License-Identifier: MIT
/*
    fields.hpp - Fields that nobody marks: option check=fields.

    The most common mistake of a program is a reference that the collector is not told of: a manager that forgets a
    field, a trace function that is missing or misspelt, a plain pointer among Members. The target is freed while the
    field still holds its address. So, after each marking and before anything is swept, all living blocks with managers
    are read word by word, as a conservative collector would read them. A word that holds the address of a block about
    to die is named, with its block, its offset, and what dies.

    This is a suspicion, not a proof: the unused part of a union may hold an old address, and a program may keep an
    address that it does not follow. Memory that was never written holds none, because free memory is filled while this
    option is on (heap/poison.hpp). A block that lives by its hold alone is read, too: a hold keeps nothing else. Leaves
    are not read, nor is memory outside the heap (buffers of containers), nor is the end of a vector's buffer suspected.
    Each offset of each manager is named once, and only a few per collection.
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

    /** Allow checks. Without this, or without memory for the table, nothing is checked. */
    void open();
    void close();
    /** Check, if open. Threads are stopped, and the heap knows what the coming sweep may free. */
    void check() {
        if (named_) [[unlikely]] {
            checkAll();
        }
    }

private:
    /** A field that has been named. */
    struct Place {
        MprManager manager;
        std::size_t offset;
    };
    static constexpr std::size_t greatest = 512; // places; further ones are not named
    static constexpr unsigned mostOffsets = 16;  // of one manager: it may have a table
    static constexpr unsigned mostInCollection = 8;
    static constexpr std::size_t mostPointers = 4; // into one buffer, in a row

    [[gnu::cold]] void checkAll();
    void checkBlock(heap::Region* region, std::size_t g);
    bool endsBuffer(const heap::Byte* owner, std::size_t size, std::size_t offset, heap::Region* region) const;
    bool isNew(Place place);
    void report(heap::Region* region, std::size_t g, Place place, heap::Region* dying, const void* block) const;
    static void describe(os::Message& message, heap::Region* region, std::size_t g);

    heap::Heap& heap_;
    // Used on duty; the duty's lock orders one such thread after another.
    Place* named_ = nullptr; // memory of the system, since the heap is being checked
    std::size_t places_ = 0;
    unsigned reports_ = 0; // in this collection
};

} // namespace mpr::gc
