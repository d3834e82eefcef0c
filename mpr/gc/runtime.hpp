// SPDX-License-Identifier: MIT
/*
    runtime.hpp - The one runtime of a process, in static memory: the heap, the collector and what belongs to them.
 */
#pragma once

#include <atomic>
#include <cstddef>

#include "mpr/gc/collector.hpp"
#include "mpr/gc/cooperative.hpp"
#include "mpr/gc/depletion.hpp"
#include "mpr/gc/guard.hpp"
#include "mpr/gc/roots.hpp"
#include "mpr/gc/service.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/runtime.h"

namespace mpr::gc {

/** What mprSetGCStartupLimits has set: log2 of the region size, and the young budget. 0: not set. */
struct StartupLimits {
    bool set = false;
    unsigned regionShift = 0;
    std::size_t young = 0;
};
extern StartupLimits startupLimits;

/** How far the runtime has come, and how it is to end. mpr/shutdown.h is the interface. */
struct Life {
    os::Shared<int> state{1}; // MPR_CREATED ...
    // Numbers, which order nothing, like those that follow.
    os::Shared<int> strategy{0};
    os::Shared<int> status{0};
    os::Shared<std::int64_t> exitTimeout{30'000}; // milliseconds that mprDestroy grants to work in progress
};

/** Where there are threads: mprDestroy is under way. It writes this before Life::state; mprCancelShutdown reads this after. */
extern os::Shared<bool> ending;

struct Runtime {
    heap::Heap heap;
    Roots roots;
    std::conditional_t<os::hasThreads, Collector, CooperativeCollector> collector{heap, roots};
    Depletion depletion{heap};
    // Plain fields are set before mprCreate says that there is a runtime; to read that acquires them.
    Mpr* mpr = nullptr;
    os::Counter misuses{0};   // a statistic
    std::uintptr_t owner = 0; // the thread that created it
    int flags = 0;            // of mprCreate
    bool batches = false;     // of all threads that attach; with threads
    char** argv = nullptr;
    Life life;
    Services services;
    os::Shared<void*> app{nullptr}; // a block of room base, and a root; stored after its contents, with release
};

/** The memory of the runtime, at a constant address, so that reaching it costs nothing. */
extern std::byte runtimeMemory[];
inline Runtime& runtime() {
    return *reinterpret_cast<Runtime*>(runtimeMemory);
}
/** Whether there is one, and this process is no child of fork. */
bool running();

/**
    What stands for a thread that is to be attached; nullptr: there is no memory, though everything has been tried. Any
    thread that is not attached, or runs. The runtime does not end meanwhile.
 */
Mutator* prepareThread(const char* name, bool service, void* thread);

/**
    Have the calling thread detached when it ends, if it has not detached itself. @return false, logged: not possible.
 */
bool detachAtEnd(const Mutator* mutator);
/** Attach the calling thread, which Collector::prepare has announced and which will be detached at its end. */
void attachPrepared(Mutator* mutator);

/** The slow part of allocation: contexts, limits, depletion. @param size Bytes asked for, for messages. */
void* allocateSlow(Mutator& m, std::size_t n, heap::Byte flags, std::size_t size);
/** Do what an allocation has made necessary: tell of the redline, request a collection. @param size Bytes asked for. */
void attend(Mutator& m, std::size_t size);
/** A request that can never be met. @return nullptr */
[[gnu::cold]] void* allocateTooBig(std::size_t size);

} // namespace mpr::gc
