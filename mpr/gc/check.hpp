// SPDX-License-Identifier: MIT
/*
    check.hpp - The marking verifier: nothing that can be reached is given to a sweep.

    At the very end of a pause, when what is to be freed is decided, everything is traced again from the roots, old and
    young, with marks of its own. A block that is reached and that the sweep takes for dead is a mistake of the collector, or
    of a store into a barrier block that bypassed the barrier. The log names the block, who references it, and at which
    offset. So the verifier also sees what the start of a major collection, in the same pause, makes of the blocks.

    For tests and for hunting a missing barrier (option check=1): each pause then takes longer than marking everything.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Check {
public:
    /** @param blocks At least as many as the heap has. */
    Check(heap::Heap& heap, std::size_t blocks);
    ~Check();
    Check(const Check&) = delete;
    Check& operator=(const Check&) = delete;

    /** A reference was found: in a root, or by the manager that trace has called. */
    void see(const void* pointer);
    /** Call the managers of all that was seen, and of what they make seen. @return blocks that the sweep would free. */
    std::uint64_t trace();

private:
    bool remember(const void* block);
    [[gnu::cold]] void report(const void* block);
    void say(const void* block, const void* parent) const;

    heap::Heap& heap_;
    std::size_t capacity_ = 0;     // slots, a power of two
    const void** seen_ = nullptr;  // a set by open addressing
    const void** queue_ = nullptr; // in the order seen
    std::size_t queued_ = 0;
    const void* parent_ = nullptr; // whose manager runs
    std::uint64_t defects_ = 0;
    static constexpr unsigned most = 8; // are named, when no lock is held: roots are walked under locks
    const void* defective_[most] = {};
    const void* parents_[most] = {};
};

} // namespace mpr::gc
