// SPDX-License-Identifier: MIT
/*
    thread.hpp - Threads of the runtime's own rooms.
 */
#pragma once

#include "mpr/thread.h"

namespace mpr::task {

/** mprStartThread for a thread that its room ends when the runtime does: mprDestroy does not refuse because of it. */
int startServiceThread(MprThread* thread);

} // namespace mpr::task
