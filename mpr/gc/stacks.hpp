// SPDX-License-Identifier: MIT
/*
    stacks.hpp - Local variables that are no roots: option check=stacks.

    A thread that yields loses what its local variables alone refer to. So, after each marking and before anything is
    swept, the stacks of attached threads are read from where each has stopped to its beginning. A word that holds the
    address of a block about to die is named, with the function in or near whose frame it stands: that of the nearest
    return address below it. An address at which a function begins is none: that is a pointer to a function.
    Registers are saved when a thread stops, so what stands there is seen, too, and told of the function
    that yields.

    This is a suspicion, and a weak one: compilers leave old values on the stack, and most variables are not used any
    more. Each function is named once, and only a few per collection. A thread that runs on a stack of its own making,
    or on which others do not wait, is passed over.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/mutator_list.hpp"
#include "mpr/gc/suspicions.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Stacks {
public:
    Stacks(heap::Heap& heap, MutatorList& mutators) : heap_(heap), mutators_(mutators) {}
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;

    void open(std::uintptr_t mask) { named_.open(mask); }
    void close() { named_.close(); }
    /** As in globals.hpp. */
    void check() {
        if (named_.isOpen()) [[unlikely]] {
            checkAll();
        }
    }

private:
    using Word = const void* const*;

    /** Addresses of code below a word, the nearest first: where functions that were called return to. */
    struct Below {
        const void* code[4];

        void add(const void* address);
        /** The nearest that a call may return to. Reads files of programs. */
        const void* function() const;
    };
    /** What is to be named when no lock is held any more. */
    struct Found {
        char thread[sizeof(Mutator::name)];
        const void* site; // where the thread yields
        Below below;
        heap::Place dying;
    };
    static constexpr unsigned mostInCollection = 8;

    [[gnu::cold]] void checkAll();
    void read(const Mutator& m, Word begin, Word end);
    bool isNew(const void* function);
    void say(const Found& found);

    heap::Heap& heap_;
    MutatorList& mutators_;
    Suspicions<const void*, 512> named_; // functions
    // Used on duty, as the table is.
    Found found_[mostInCollection] = {};
    unsigned founds_ = 0;
};

} // namespace mpr::gc
