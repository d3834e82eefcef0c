// SPDX-License-Identifier: MIT
/*
    test/metal/whole.cpp - A firmware that uses all of core, neither handles nor pinned memory: a test that a program in C++
    with explicit frees and collections runs.
 */
#include "test/metal/whole.hpp"

int main() {
    return callWhole([] {});
}
