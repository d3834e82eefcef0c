// SPDX-License-Identifier: MIT
/*
    test/main.cpp - The main of every Catch2 test program.

    The same text serves Catch2 2 (where this file also holds Catch2's implementation) and 3. Tags that are more than
    names: [large] wants 30 MB of memory or more, which the smallest boards of toolchains/boards do not have left.
 */
#define CATCH_CONFIG_RUNNER
#include "test/catch.hpp"

int main(int argc, char* argv[]) {
    return Catch::Session().run(argc, argv);
}
