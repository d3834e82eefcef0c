// SPDX-License-Identifier: MIT
/*
    pinned_destructor.cpp - Pinned memory for objects with a destructor, which nobody would call.

    Refused: a pinned array: T must be trivially copyable, as no destructor runs
 */
#include "mpr.hpp"

#include <string>

std::span<std::string> make() {
    return mpr::makePinnedArray<std::string>(4);
}
