// SPDX-License-Identifier: MIT
/*
    wait.hpp - Wait handlers of descriptors that the runtime's own objects own.

    A handler that waits retains the owner of its descriptor, so that nobody closes it meanwhile. A manager that closes
    a descriptor drops the handler first: libuv forgets descriptors by number, and the number may be another's by then.
 */
#pragma once

#include "mpr/wait.h"

namespace mpr::io {

void setOwner(MprWaitHandler& handler, void* owner);

/**
    What a handler waits for at its descriptor is not what its program waits for: wants(owner, mask) says, each time,
    what it is. 0: nothing; the procedure is called soon.
 */
void setWants(MprWaitHandler& handler, int (*wants)(void* owner, int mask));

/** For some milliseconds a handler waits for nothing. What it waited for before, or is to wait for meanwhile, it does
    then. */
void pauseHandler(MprWaitHandler& handler, MprTicks rest);

/** For managers with MPR_MANAGE_FREE: end a handler that waits no more. nullptr is fine. */
void dropHandler(MprWaitHandler* handler);

} // namespace mpr::io
