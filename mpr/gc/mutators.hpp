// SPDX-License-Identifier: MIT
/*
    mutators.hpp - Threads come and go: each is announced, attaches and detaches. A thread may wait until it is alone.
 */
#pragma once

#include <cstdint>

#include "mpr/gc/late.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/gc/mutator_list.hpp"
#include "mpr/gc/safepoint.hpp"
#include "mpr/gc/tracing.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Mutators {
public:
    Mutators(heap::Heap& heap, const Cycle& cycle, MutatorList& all, Late& late, Tracing& tracing, Safepoint& safepoint)
        : heap_(heap), cycle_(cycle), all_(all), late_(late), tracing_(tracing), safepoint_(safepoint) {}

    /**
        Announce a thread. From now on it counts as attached and yielded, so that the runtime does not end before it
        comes, and attaching cannot fail. @param service It belongs to a room of the runtime, which will end it.
        @param thread Its MprThread, retained, or nullptr. @return nullptr when memory is short.
     */
    Mutator* prepare(const char* name, bool service, void* thread, heap::Shortage& shortage);
    /** An announced thread does not come. */
    void abandon(Mutator* m);
    /** An announced thread has come: it is the calling one, and runs from here on. */
    void attach(Mutator* m);
    /** The calling thread detaches. */
    void detach(Mutator* m);
    /**
        How many threads are attached. @param all Count those that the runtime made, too: its own and mprCreateThread's.
     */
    int count(bool all = true);
    bool isAttached(std::uint32_t number);
    /** mprGetLostTimes. */
    int lostTimes(MprThreadLostTime* threads, int room);
    /** mprGetAllocStats. */
    int allocationStats(MprAllocStats* threads, int room);
    /** Wait, yielded, until no other thread is attached. @return false when the deadline has passed. */
    bool awaitAlone(Mutator& self, std::uint64_t deadline);
    /** Name the attached threads other than self in the log. */
    void nameOthers(const Mutator& self, const char* what);

private:
    heap::Heap& heap_;
    const Cycle& cycle_;
    MutatorList& all_;
    Late& late_;
    Tracing& tracing_;
    Safepoint& safepoint_;
    // Shared by all runtimes: a thread that has detached touches nothing else, since the runtime may be gone.
    static inline constinit os::Word leaving_{0};    // threads that may not have let go of the list yet
    static inline constinit os::Word departures_{0}; // changes whenever a thread has detached
};

} // namespace mpr::gc
