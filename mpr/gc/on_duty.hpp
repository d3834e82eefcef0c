// SPDX-License-Identifier: MIT
/*
    on_duty.hpp - The role of the collector, for clang's analysis of locks (mpr/os/capability.hpp).

    Cycle has the lock. The analysis identifies a lock by the expression that names it, so it would see a different lock
    in each part of the collector. The role has one name everywhere. There is one collector in a process.
 */
#pragma once

#include "mpr/os/capability.hpp"

namespace mpr::gc {

class MPR_CAPABILITY("role") Role {};

/** The calling thread has the duty: see Cycle::assertOnDuty, which checked builds ask. */
inline constexpr Role onDuty;

} // namespace mpr::gc
