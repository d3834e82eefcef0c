// SPDX-License-Identifier: MIT
/*
    guard.hpp - Who may call what. A call by a thread in the wrong state is named in the log, and does nothing.

    Each thread has two pointers (mutator.hpp). `attached` is set from attaching to detaching. `current` is set while
    the thread runs: it is counted in the rendezvous, and is not inside a manager's MPR_MANAGE_MARK call. Neither is set
    in a child of fork. So the usual question, whether this thread may touch managed memory, is one load, which the
    paths of allocation need anyway.

    Without an operating system there is one thread, and little code memory. There `current` is set except inside
    MPR_MANAGE_MARK: a thread that has yielded may call, since nothing collects meanwhile. Interrupts are asked for besides
    (caller()).

    Each public function belongs to one class:
        running    it touches managed memory: allocation, frees, stores, roots, lists, hashes
        yielding   it yields, waits for the collector or ends a yield. An attached thread may call it in any state,
                   except inside the notifier, a pruner, a handler of suspensions, a callback of the embedder or the log's:
                   their caller relies on an allocation not to yield, or is on duty for the collector
        anywhere   any thread may call it, attached or not, except in MPR_MANAGE_MARK and without a runtime
        always     any thread may call it, with or without a runtime, except in MPR_MANAGE_MARK and in a child of fork:
                   locks, for which that child would wait for ever
        keeping    it keeps or releases a block, which an attached thread may do in any state (Visit); or it links or
                   unlinks a root reference, under a lock
        making     as running; and it makes something of a room's that lives on (an event, a thread, a socket, a command),
                   or has that refer to blocks. A manager may call it with MPR_MANAGE_FREE, but not with a block that is
                   dying, whose memory goes when all managers have run; nor when mprDestroy has closed the rooms, for
                   the next runtime would find them open, with blocks and handles of the one before
        serving    as running; and it runs events while it waits. Not inside MPR_MANAGE_FREE of a collection or of
                   mprDestroy: the collector's thread would be asked to run the program's events
 */
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "mpr/gc/mutator.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

/** Name in the log why the calling thread may not call a function; on a board in an interrupt: later. @return false */
[[gnu::cold, gnu::noinline]] bool refuse(const char* function);

/** Name what interrupts have called, if they have. */
void nameInterrupts();

/** The calling thread ends in the midst of a collection: name it, and end the process, since nobody could go on. */
[[noreturn, gnu::cold]] void failAtEnd();

[[gnu::noinline]] bool admitRunningOnBoard(const char* function);
/** For functions of class running. @return Whether the call may go on. */
inline bool admitRunning(const char* function) {
    return os::hasThreads ? current || refuse(function) : admitRunningOnBoard(function);
}

/** Whether the notifier or a pruner runs on this thread. */
inline bool isNotified(const Mutator& m) {
    return m.local.privileged();
}

/** Whether a yield has something to see to besides the collector: isNotified, or a batch. */
inline int atYield(const Mutator& m) {
    return m.local.atYield;
}

/** Whether a handler of suspensions (mpr/suspend.h) or a callback of the embedder (mpr/embed.h) runs on this thread. */
inline bool isToldOfPause(const Mutator& m) {
    return m.suspended.told != Told::nobody;
}

/** Whether the calling thread is in a callback whose caller relies on it not to yield. */
inline bool mustNotYield(const Mutator& m) {
    return isNotified(m) || isToldOfPause(m) || os::isLogging();
}

/** For functions of class yielding. */
[[gnu::noinline]] bool admitYielding(const char* function);

/**
    For functions of class yielding that end the thread's state or the runtime. Callbacks whose caller needs these may
    not.
 */
[[gnu::cold, gnu::noinline]] bool admitLeaving(const char* function);

[[gnu::cold, gnu::noinline]] bool admitElsewhere(const char* function);
/** For functions of class anywhere. */
inline bool admitAnywhere(const char* function) {
    return (os::hasThreads && current) || admitElsewhere(function);
}

[[gnu::cold, gnu::noinline]] bool admitWithoutRuntime(const char* function);
/** For functions of class always. */
inline bool admitAlways(const char* function) {
    return caller() || admitWithoutRuntime(function);
}

/** Whether the calling thread may be in a manager's MPR_MANAGE_FREE call, by whatever way a block dies. */
inline bool isFinalizing(const Mutator& m) {
    return m.beingFreed.any();
}

/**
    Whether an address is the start of a block that was found dead, or that was not, as wanted; false where the calling
    thread may not ask. What is dead cannot be kept.
 */
bool isBlockFoundDead(const void* pointer, bool wanted);
/** Whether an address is that of a block whose manager is called with MPR_MANAGE_FREE, or soon will be. In any thread. */
bool isDying(const void* block);

[[gnu::cold, gnu::noinline]] bool admitMakingInManager(const char* function, std::initializer_list<const void*> blocks);
/** What class making asks of a thread that runs. @param blocks What is to live on, or be referred to by what does; or nullptr. */
template <class... Blocks>
bool mayMake(const Mutator& m, const char* function, const Blocks*... blocks) {
    return !isFinalizing(m) || admitMakingInManager(function, {blocks...});
}
/** The same of a thread in any state, for functions of other classes that make something. */
template <class... Blocks>
bool mayMake(const char* function, const Blocks*... blocks) {
    return !current || mayMake(*current, function, blocks...);
}
/** For functions of class making. */
template <class... Blocks>
bool admitMaking(const char* function, const Blocks*... blocks) {
    return admitRunning(function) && mayMake(*current, function, blocks...);
}

[[gnu::cold, gnu::noinline]] bool admitServingInManager(const char* function);
/** For functions of class serving. */
inline bool admitServing(const char* function) {
    return admitRunning(function) && (!isFinalizing(*current) || admitServingInManager(function));
}

/**
    For functions of class keeping. While this exists, an attached thread that has yielded or is exempt is counted in
    the rendezvous; so it waits while a pause is on.
 */
class Visit {
public:
    explicit Visit(const char* function) : admitted_(os::hasThreads ? current != nullptr : admitRunning(function)) {
        if (os::hasThreads && !admitted_) [[unlikely]] {
            enter(function);
        }
    }
    ~Visit() {
        if (visits_) [[unlikely]] {
            leave();
        }
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    /** Whether the call may go on. */
    explicit operator bool() const { return admitted_; }

private:
    [[gnu::cold]] void enter(const char* function);
    [[gnu::cold]] static void leave();

    bool admitted_;
    bool visits_ = false;
};

/**
    For functions of class anywhere that touch the heap. While this exists the runtime does not end. An attached thread
    is waited for anyway; any other passes the runtime's door, which costs two atomic operations.
 */
class Stay {
public:
    explicit Stay(const char* function) : admitted_(admitAnywhere(function)) {
        if constexpr (os::hasThreads) {
            if (admitted_ && !attached) {
                inside_ = enter();
                admitted_ = inside_ || refuseAtDoor(function);
            }
        }
    }
    /** For calls that are not worth a message when there is no runtime. */
    Stay() : admitted_(attached) {
        if constexpr (os::hasThreads) {
            if (!attached) {
                admitted_ = inside_ = enter();
            }
        }
    }
    ~Stay() {
        if (inside_) {
            leave();
        }
    }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

    /** Whether the call may go on. */
    explicit operator bool() const { return admitted_; }

private:
    // runtime.cpp
    static bool enter();
    static void leave();
    /** @return false */
    [[gnu::cold]] static bool refuseAtDoor(const char* function);

    bool admitted_;
    bool inside_ = false;
};

/**
    For functions of class anywhere: do work in whatever state the calling thread is, while the runtime does not end. A
    thread that runs needs one test.
 */
template <typename Work>
auto inAnyState(const char* function, Work&& work) -> decltype(work()) {
    if constexpr (!os::hasThreads) {
        return admitRunning(function) ? work() : decltype(work())();
    } else if (current) [[likely]] {
        return work();
    }
    const Stay stay(function);
    return stay ? work() : decltype(work())();
}

/** Whether this process is a child of fork, in which the runtime of its parent cannot go on. */
bool isForked();

/** Name a wrong call in the log, and count it. @param pointer The argument that it was given. */
[[gnu::cold]] void misuse(const char* function, const void* pointer, const char* what);

/** Name a call that was given NULL for what it is to fill in. Any state. @return Whether it was. */
bool nameIfNull(const char* function, const void* memory);
/** Whether there is memory for what a function is to fill in. */
inline bool mayFill(const char* function, const void* memory) {
    return !nameIfNull(function, memory);
}
/** Name a call that failed and is not wrong: there is no memory for what it has to remember. */
[[gnu::cold]] void tellFailure(const char* function, const void* pointer, const char* what);

/**
    Write a line about misuse, unless there were too many just now. The next line says how many were left out.
    @param kind An address that no other kind has: the first of a kind within a second is written even so.
    @param each Whether the others are, too, as long as there are not too many.
 */
[[gnu::cold]] void writeMisuse(const void* kind, os::Message& message, bool each = true);
/**
    Write a line about what is wrong with the system or with memory, which a program runs into again and again: the first
    of a kind within a second, under the limits for misuse.
    @param kind A text that no other kind has. Empty, where there are threads: the message, which then has no numbers that
    change.
 */
[[gnu::cold]] void writeRepeated(os::Level level, os::Message& message, std::string_view kind = {});
/** A runtime begins or has ended: forget what was said. */
void forgetMisuses();

} // namespace mpr::gc
