// SPDX-License-Identifier: MIT
/*
    pinned_pointer.cpp - Pinned memory for pointers: to managed blocks they would be references.

    Refused: a pinned array: T is a pointer, and pinned memory is not traced
 */
#include "mpr.hpp"

std::span<int*> make() {
    return mpr::makePinnedArray<int*>(4);
}
