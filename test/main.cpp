// SPDX-License-Identifier: MIT
/*
    test/main.cpp - The main of every Catch2 test program.

    The same text serves Catch2 2 (where this file also holds Catch2's implementation) and 3. Tags that are more than
    names: [large] wants 30 MB of memory or more, which the smallest boards of toolchains/boards do not have left.
 */
#define CATCH_CONFIG_RUNNER
#include "test/catch.hpp"

/*
    What the thread sanitizer is not to tell. It sees who opens a descriptor, but not that libuv closes it, which is a bare
    system call. So it takes the next descriptor of that number, opened by a system call too (a pidfd), for the first.
 */
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
    return "race:epoll_ctl\n";
}

int main(int argc, char* argv[]) {
    return Catch::Session().run(argc, argv);
}
