// SPDX-License-Identifier: MIT
/*
    on_duty.hpp - The role of the collector, for clang's analysis of locks (mpr/os/capability.hpp).

    Cycle has the lock. The analysis knows a lock by the expression that names it, so that each part of the collector would
    have a lock of its own; the role is the same everywhere. There is one collector in a process.
 */
#pragma once

#include "mpr/os/capability.hpp"

namespace mpr::gc {

class MPR_CAPABILITY("role") Role {};

/** The calling thread has the duty: see Cycle::assertOnDuty, which checked builds ask. */
inline constexpr Role onDuty;

} // namespace mpr::gc
