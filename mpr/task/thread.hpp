// SPDX-License-Identifier: MIT
/*
    thread.hpp - Threads of the runtime's own rooms.
 */
#pragma once

#include "mpr/thread.h"

namespace mpr::task {

/** mprStartThread for a thread that its room ends when the runtime does: mprDestroy does not refuse because of it. */
int startServiceThread(MprThread* thread);
/** The calling thread ends: if it is mprStart's for events, there is to be another. */
void replaceEventsThread();
/** A runtime has ended: what mprCancelShutdown would have started again is forgotten. */
void forgetEndedThreads();

} // namespace mpr::task
