// SPDX-License-Identifier: MIT
/*
    opening.hpp - Whether a room may still open in this runtime.

    mprDestroy closes all rooms, and then calls the managers of all blocks. A room that such a manager opened would be open
    in the next runtime, with blocks and handles of the one before.
 */
#pragma once

namespace mpr::task {

/** Whether a room may open, or a thread start. Once mprDestroy has closed the rooms, none may: named in the log. */
bool mayOpen(const char* function);

} // namespace mpr::task
