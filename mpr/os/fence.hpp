// SPDX-License-Identifier: MIT
/*
    fence.hpp - A fence that one thread has the system make in all.
 */
#pragma once

namespace mpr::os {

/**
    Between what each thread of the process does before and after some moment of this call there is a full fence, as
    there is in the calling one. @return false when the system cannot.
 */
bool fenceOthers();

} // namespace mpr::os
