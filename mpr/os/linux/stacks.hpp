// SPDX-License-Identifier: MIT
/*
    stacks.hpp - Stacks of threads in pages of the host's, where the program has named one (mprSetHost).

    A stack can go back only when its thread has ended. So no such thread is detached as the system understands it: who ends
    says so, and whoever starts a thread later, or ends the runtime, joins it.
 */
#pragma once

#include "mpr/os/os.hpp"

#include <pthread.h>

#include <cstddef>

namespace mpr::os {

struct HostedStack;

/** @param size Bytes of it that the thread may use. @return nullptr: the host refuses. */
HostedStack* takeStack(std::size_t size, const ThreadTraits& traits);

/** Have a thread that will be made stand on it. */
void setStack(pthread_attr_t& attributes, HostedStack* stack);

/** The calling thread stands on it and begins, or is about to return. */
void noteStackBegun(HostedStack* stack);
void noteStackEnded(HostedStack* stack);

/** The stack of a thread that somebody joins; nullptr when it is none of the host's. */
HostedStack* stackOf(pthread_t thread);

/** Its thread has ended, or never was: give it back. */
void giveStack(HostedStack* stack);

} // namespace mpr::os
