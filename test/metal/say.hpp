// SPDX-License-Identifier: MIT
/*
    test/metal/say.hpp - What the programs for boards print, and checks that are counted: there is no Catch2 here.
 */
#pragma once

#include <mpr/board.h>

#include <cstdint>
#include <cstring>

inline int failures = 0;

inline void say(const char* text) {
    mprBoardWrite(text, std::strlen(text));
}

inline void say(std::uint32_t number) {
    char digits[11] = {};
    char* at = digits + 10;
    do {
        *--at = static_cast<char>('0' + number % 10);
    } while ((number /= 10) != 0);
    say(at);
}

inline void expect(bool holds, const char* what) {
    if (!holds) {
        failures++;
        say("failed: ");
        say(what);
        say("\n");
    }
}
