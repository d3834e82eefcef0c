// SPDX-License-Identifier: MIT
/*
    wait.hpp - Wait handlers of descriptors that the runtime's own objects own.

    A handler that waits retains the owner of its descriptor, so that nobody closes it meanwhile. A manager that closes
    a descriptor ends the watch first: libuv forgets descriptors by number, and the number may be another's by then.
 */
#pragma once

#include "mpr/wait.h"

namespace mpr::io {

/** What leads a manager to libuv's watch of a descriptor: the handler may be no block any more by then. */
struct Tie;

/** @return What the owner has to drop when it lets the handler go, or is finalized. */
Tie* setOwner(MprWaitHandler& owned, void* owner);

/**
    What a handler waits for at its descriptor is not what its program waits for: wants(owner, mask) says, each time,
    what it is. 0: nothing; the procedure is called soon.
 */
void setWants(MprWaitHandler& changed, int (*wants)(void* owner, int mask));

/** Make what pauseHandler needs while there is memory. @return false when there is none. */
bool prepareToPause(MprWaitHandler& prepared);

/** For some milliseconds a handler waits for nothing. What it waited for before, or is to wait for meanwhile, it does
    then. Needs no memory. */
void pauseHandler(MprWaitHandler& pausing, MprTicks rest);

/**
    End the watch, unless that has been done, and give up the caller's use of the tie, which is nullptr from now on. Looks at
    no handler that does not wait, so managers may do this with MPR_MANAGE_FREE. nullptr is fine.
 */
void drop(Tie*& tie);

} // namespace mpr::io
