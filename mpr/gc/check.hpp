// SPDX-License-Identifier: MIT
/*
    check.hpp - The marking verifier: nothing that can be reached is given to a sweep.

    The verifier runs at the very end of a pause, when it is decided what will be freed. So it also sees what the start
    of a major collection in the same pause did. It traces everything again from the roots, old and young, with its own
    marks. If it reaches a block that the sweep takes for dead, the collector has made a mistake, or a store into a
    barrier block has bypassed the barrier. The log names the block, who references it, and at which offset.

    A yield marks the blocks that it would have taken back (batch.hpp). A marked block that is reached is named: some
    store has not published it.

    It serves tests and the search for a missing barrier (option check=1): each pause then takes longer than marking
    everything.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/marker.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Check : public Marker::Watch {
public:
    /** @param blocks At least the number of blocks in the heap. */
    Check(heap::Heap& heap, std::size_t blocks);
    ~Check();
    Check(const Check&) = delete;
    Check& operator=(const Check&) = delete;

    /** Trace all that was seen so far, and all that is seen so. @return How many of those blocks the sweep would free. */
    std::uint64_t trace();
    /** Whether a block was seen. */
    bool saw(const void* block) const;

private:
    void seePinned(const void* pointer);
    /** Note a reference, in a root or by a manager that trace has called. */
    void see(const void* pointer);
    const void*& slotOf(const void* block) const;
    bool remember(const void* block);
    [[gnu::cold]] void report(const void* block);
    void say(const void* block, const void* parent) const;

    heap::Heap& heap_;
    std::size_t capacity_ = 0;     // slots, a power of two
    const void** seen_ = nullptr;  // a set by open addressing
    const void** queue_ = nullptr; // in the order seen
    std::size_t queued_ = 0;
    std::size_t traced_ = 0;       // of the queued ones
    const void* parent_ = nullptr; // whose manager runs
    std::uint64_t defects_ = 0;
    std::uint64_t said_ = 0;
    static constexpr unsigned most = 8; // that are named; later, as roots are walked under locks
    const void* defective_[most] = {};
    const void* parents_[most] = {};
};

} // namespace mpr::gc
