// SPDX-License-Identifier: MIT
/*
    mutator.hpp - A thread that may use managed memory, as the collector sees it.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "mpr/heap/local.hpp"
#include "mpr/os/check.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

struct LogChunk;

struct Mutator {
    /**
        Written by the thread itself. Others read it to name those who are late: relaxed, as the site. Who gives up on late
        threads looks again behind a write to the rendezvous' word, which orders `state` and `late` with threads that leave.
     */
    enum class State : std::uint32_t {
        running, // counted in the rendezvous
        waiting, // in a yield that ends by itself
        yielded, // sticky, until mprResetYield
        exempt,  // by mprSetThreadYield
    };

    heap::Local local;
    LogChunk* log = nullptr; // what the thread's write barrier fills
    os::Shared<State> state{State::yielded};
    /** Where the thread last yielded: a code address. */
    os::Shared<const void*> site{nullptr};
    os::Shared<std::uint32_t> lateFor{0}; // rendezvous that this thread was named in, by who has the duty
    /** The others run on without it. Written under the list's lock, before Late::course_, or by the thread itself, behind it. */
    os::Shared<bool> late{false};
    bool visits = false; // is counted in the rendezvous in spite of its state: Visit; the thread's own
    bool isCollector = false;
    bool calledBack = false; // is in an event, a manager of mprFree or a terminator: the thread's own
    bool ofService = false;  // a thread of the runtime's own rooms: it ends when the runtime does
    /** Runs, but waits for its turn to stop the others, and keeps nobody waiting. By the thread itself; to name those who do. */
    os::Shared<bool> parked{false};
    void* thread = nullptr; // its MprThread, or null when the thread was made elsewhere
    std::uint32_t number =
        0; // no other has it that was ever attached, as the system's thread that begins anew may; 0: the collector's
    char name[32] = {};

    Mutator* next = nullptr; // MutatorList's
    Mutator* previous = nullptr;

    /** When it last passed by a collection that others run on without: by itself, and to name those who did not. */
    struct Never {};
    [[no_unique_address]] std::conditional_t<os::hasThreads, os::Counter, Never> passedAt{};
};

/** The calling thread while it runs: nullptr when it is not attached, has yielded, or traces a block. See guard.hpp. */
extern constinit MPR_PER_THREAD Mutator* current;
/** The calling thread in any state, nullptr when it is not attached. */
extern constinit MPR_PER_THREAD Mutator* attached;

/**
    The calling thread collects, and nobody could go on without it: if it ends, that is named, and the process ends. nullptr: it
    has done its work. Defined in runtime.cpp.
 */
void mayNotEnd(const void* thread);

/** The calling thread is this one, and counted as running; or it is the collector, to which phases mean more than states. */
inline void assertRunning([[maybe_unused]] const Mutator& m, [[maybe_unused]] const char* file = __builtin_FILE(),
                          [[maybe_unused]] int line = __builtin_LINE()) {
    if constexpr (os::checked) {
        const bool runs = m.isCollector || m.state.load(std::memory_order_relaxed) == Mutator::State::running;
        os::check(&m == current && runs, "the thread runs, and is the calling one", file, line);
    }
}

} // namespace mpr::gc
