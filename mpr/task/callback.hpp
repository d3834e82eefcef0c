// SPDX-License-Identifier: MIT
/*
    callback.hpp - How the runtime calls procedures of the program.

    A procedure may leave its thread in another state than it found it in: yielded, exempt, with a lock. The next procedure
    on that thread is another's: it would get no memory, or wait for ever. So the runtime calls the program through
    callProgram alone. Inside it the thread can be neither detached nor end the runtime. Afterwards the thread is put
    right, and the procedure is named as misuse.

    A procedure may yield, and most do not. So with option everyyield each yields at its end: what the runtime keeps over
    the call, but has not retained, does not outlive that.

    To ask for the signal mask takes a system call. So that is asked once for many procedures: by endTurn.
 */
#pragma once

#include <utility>

#include "mpr/gc/runtime.hpp"

namespace mpr::task {

/** A procedure of the program, as messages name it. */
struct Callback {
    const char* kind;           // "event"
    const char* name = nullptr; // what the program calls it; nullptr or empty: nothing
    bool mayYield = true;
};

/** Locks and spin locks of mpr/lock.h that the calling thread has. */
extern constinit MPR_PER_THREAD int programLocks;

/** What callProgram does at the end: if something is wrong the thread runs again, and the procedure is named. @param ran Whether
    the thread ran before. @param locks Left locked. */
void endCall(const Callback& callback, bool ran, int locks);

/**
    Call a procedure of the program. Nothing here needs a destructor, for the procedure may end its thread.
    @param call Calls it.
 */
template <class Call>
[[gnu::always_inline]] inline void callProgram(const Callback& callback, Call&& call) {
    gc::Mutator* const m = gc::attached;
    if (!m) {
        call(); // the thread has no state that it could leave
        return;
    }
    const bool ran = gc::current != nullptr;
    const int locks = programLocks;
    const bool was = std::exchange(m->calledBack, true);
    call();
    m->calledBack = was;
    endCall(callback, ran, programLocks - locks);
}

/**
    The calling thread is done with the procedures of a turn. A thread of the runtime's takes none of the program's signals
    again. A worker gives up what it has claimed, for its next work is another's. It is named.
 */
void endTurn(const Callback& callback);

} // namespace mpr::task
