// SPDX-License-Identifier: MIT
/*
    census.hpp - Which kinds of blocks there are, how many bytes they take, and what has grown since the last time: for
    mprPrintMem.

    A block's kind is its manager, which in C++ stands for its type; blocks without one are told apart by size. All is counted
    in a static table, so that the heap may be looked at when it has no memory. The table holds some hundred managers; blocks
    of others count as one kind.

    Counted while all threads are stopped, and printed afterwards from what the caller has on its stack (Rows).
 */
#pragma once

#include <cstddef>

#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"
#include "mpr/os/target.hpp"

namespace mpr::gc {

class Census {
public:
    struct Tally {
        std::size_t blocks = 0, bytes = 0;
    };
    /** One kind, as it is printed. */
    struct Row {
        Tally now, before;
        MprManager manager = nullptr; // or
        std::size_t upTo = 0;         // of blocks without one: bytes; or
        const char* name = nullptr;   // of what is neither, or of the manager

        std::size_t grown() const { return now.bytes > before.bytes ? now.bytes - before.bytes : 0; }
    };
    /** The kinds to print. */
    struct Rows {
        static constexpr unsigned most = 12; // that have the most bytes
        static constexpr unsigned mostGrown = 8;

        Row largest[most], grown[mostGrown];
        bool isFirst = true; // nothing to compare with
    };

    /** Say what a manager's blocks are called. Any thread, at any time; not named when there is no room. */
    void name(MprManager manager, const char* name);
    /** What it was said to be called, or nullptr; see type_name.hpp. Any thread, at any time. */
    const char* nameOf(MprManager manager) const;
    /** Count all blocks. Every other thread is stopped, and one thread counts at a time. */
    void take(heap::Heap& heap, Rows& rows);
    /** A runtime begins: there is no last time. */
    void forget();

private:
    struct Kind {
        os::Shared<MprManager> manager; // stored once
        os::Shared<const char*> name;
        Tally now, before;
    };
    static constexpr std::size_t places = 64 * sizeof(void*);
    static constexpr unsigned leastOrder = 4, orders = 24; // up to 16 bytes, twice as many, ...
    enum Rest { permanent, unset, overwritten, others, rests };

    static void count(void* self, heap::Byte* block, std::size_t n, heap::Byte h);
    Tally& tallyOf(heap::Byte* block, std::size_t n, heap::Byte h);
    static std::size_t homeOf(MprManager manager);
    Kind* find(MprManager manager);
    /** Call f(row) for each kind of which there are or were blocks. */
    template <typename F>
    void forEach(F&& f);

    Kind kinds_[places];
    Tally leaves_[orders], leavesBefore_[orders];
    Tally rest_[rests], restBefore_[rests];
    bool isTaken_ = false;
};

extern constinit Census census;

/** Stop all others, count, let them go and print; or print why that cannot be. */
void printCensus();

/** Names a manager of the runtime's own when the program starts. */
struct ManagerName {
    ManagerName(MprManager manager, const char* name) { census.name(manager, name); }
};

} // namespace mpr::gc
