// SPDX-License-Identifier: MIT
/*
    globals.hpp - Globals that are no roots: option check=globals.

    A program that keeps a block in a global or static variable alone loses it: the collector knows managed memory and
    roots, and nothing else. So, after each marking and before anything is swept, the static data of the program and
    of its libraries is read word by word. A word that holds the address of a block about to die is named, with the
    variable, and with what dies. Of words in a row, as in an array, the first few are named, and the others counted.

    This is a suspicion, not a proof: a program may keep an address that it does not follow any more. What mpr itself
    has in static memory is left out: the runtime, a heap in a static buffer, and libmpr.so; not mark stacks in a
    static array from which a host grants pages. Thread-local variables, stacks and memory from malloc are not read.
    Each word is named once, and only a few per collection.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/suspicions.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Globals {
public:
    explicit Globals(heap::Heap& heap) : heap_(heap) {}
    Globals(const Globals&) = delete;
    Globals& operator=(const Globals&) = delete;

    void open(std::uintptr_t mask) { named_.open(mask); }
    void close() { named_.close(); }
    /** Check, if open. Threads are stopped, and the heap knows what the coming sweep may free. */
    void check() {
        if (named_.isOpen()) [[unlikely]] {
            checkAll();
        }
    }

private:
    using Words = const void* const*;

    /** Words in a row each of which holds the address of a dying block, or has held one. */
    struct Row {
        Words begin, end;
    };
    /** A word that is to be named, with others behind it, and what it leads to. */
    struct Found {
        Row row;
        heap::Place dying;
    };
    static constexpr unsigned mostInCollection = 8;
    static constexpr std::ptrdiff_t mostInRow = 3; // neighbours may be variables of their own

    [[gnu::cold]] void checkAll();
    void read(Words begin, Words end);
    void readAround(Words begin, Words end, Words withoutBegin, Words withoutEnd);
    void see(Words word, heap::Place dying);
    Row* rowOf(Words word) const;
    void say(const Found& found) const;

    heap::Heap& heap_;
    Suspicions<Row, 256> named_;
    // Used on duty, as the table is.
    Found found_[mostInCollection] = {}; // to be named when the loader's lock is free again
    unsigned founds_ = 0;
};

} // namespace mpr::gc
