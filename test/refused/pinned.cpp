// SPDX-License-Identifier: MIT
/*
    pinned.cpp - Pinned memory for objects with references, which nobody would trace there.

    Refused: a pinned array: T has references, and pinned memory is not traced
 */
#include "mpr.hpp"

struct Node {
    int value;
    mpr::Member<Node> next;
};

std::span<Node> make() {
    return mpr::makePinnedArray<Node>(4);
}
