// SPDX-License-Identifier: MIT
/*
    fields.hpp - Fields that nobody marks: option check=fields.

    The most common mistake of a program is a reference that the collector is not told of: a manager that forgets a
    field, a trace function that is missing or misspelt, a plain pointer among Members. The target is freed while the
    field still holds its address. So, after each marking and before anything is swept, all living blocks are read
    word by word, as a conservative collector would read them. A word that holds the address of a block about to die
    is named, with its block, its offset, and what dies.

    This is a suspicion, not a proof: the unused part of a union may hold an old address, and a program may keep an
    address that it does not follow. Memory that was never written holds none, because free memory is filled while
    this option is on (heap/poison.hpp). A block that lives by its hold alone is read, too: a hold keeps nothing else.
    So are blocks without a manager, which references should not be in, but not those that are held: permanent memory
    and buffers of containers, where old addresses stay. Memory outside the heap is not read, nor is the end of a
    vector's buffer suspected. Each offset of each kind of block is named once, and only a few per collection.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/suspicions.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"

namespace mpr::gc {

class Fields {
public:
    explicit Fields(heap::Heap& heap) : heap_(heap) {}
    Fields(const Fields&) = delete;
    Fields& operator=(const Fields&) = delete;

    void open(std::uintptr_t mask) { named_.open(mask); }
    void close() { named_.close(); }
    /** Check, if open. Threads are stopped, and the heap knows what the coming sweep may free. */
    void check() {
        if (named_.isOpen()) [[unlikely]] {
            checkAll();
        }
    }

private:
    /** A field that has been named. */
    struct Field {
        std::uintptr_t kind; // of its block: the manager, or the size of one without
        std::size_t offset;
    };
    static constexpr unsigned mostOffsets = 16; // of one kind: it may have a table
    static constexpr unsigned mostInCollection = 8;
    static constexpr std::size_t mostPointers = 4; // into one buffer, in a row

    [[gnu::cold]] void checkAll();
    void checkBlock(heap::Region* region, std::size_t g);
    bool endsBuffer(const heap::Byte* owner, std::size_t size, std::size_t offset) const;
    bool isNew(Field field);
    void report(heap::Place owner, std::size_t offset, heap::Place dying) const;

    heap::Heap& heap_;
    Suspicions<Field, 512> named_;
    unsigned reports_ = 0; // in this collection; used on duty
};

} // namespace mpr::gc
