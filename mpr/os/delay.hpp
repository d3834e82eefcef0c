// SPDX-License-Identifier: MIT
/*
    delay.hpp - Places where a thread may be delayed at random, in builds with MPR_DELAYS; in others they are nothing.

    The compiler finds atomic operations by itself: delay.cpp. What it cannot see, system calls, says so here.
 */
#pragma once

namespace mpr::os {

#ifdef MPR_DELAYS
void perhapsDelay();
/** How often the calling thread has been delayed. */
unsigned long delaysSoFar();
#else
inline void perhapsDelay() {}
#endif

} // namespace mpr::os
