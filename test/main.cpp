// SPDX-License-Identifier: MIT
/*
    test/main.cpp - The main of every Catch2 test program.

    The same text serves Catch2 2 (where this file also holds Catch2's implementation) and 3. Tags that are more than
    names: [large] wants 30 MB of memory or more, which the smallest boards of toolchains/boards do not have left.
 */
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NO_POSIX_SIGNALS // FatalSignals says more
#include "test/catch.hpp"

#include "test/support/fatal.hpp"

/*
    What the thread sanitizer is not to tell. It sees who opens a descriptor. It does not see that libuv closes one, by a
    bare system call. A pidfd of the same number, which a system call opens, is then taken for the old descriptor.
 */
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
    return "race:epoll_ctl\n";
}

int main(int argc, char* argv[]) {
    test::FatalSignals::listen();
    return Catch::Session().run(argc, argv);
}
