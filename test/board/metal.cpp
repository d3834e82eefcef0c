// SPDX-License-Identifier: MIT
/*
    test/board/metal.cpp - The programs of test/metal on this machine: what a board promises holds where it can be debugged, with
    every assertion. Here is the board that they run on.
 */
#include "test/catch.hpp"

#include "mpr/board.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

/* The programs: the build calls each one's main by its file. */
int metal_cpp();
int metal_embed();
int metal_handle();
int metal_pinned();
int metal_promises();
int metal_test();
int metal_whole();

namespace {
std::string console;
} // namespace

unsigned long long mprBoardTime(void) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<unsigned long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void mprBoardWrite(const char *text, size_t length) {
    console.append(text, length);
}

void mprBoardExit(int status) {
    std::exit(status);
}

void mprBoardAbort(void) {
    std::fputs(console.c_str(), stderr);
    std::abort();
}

TEST_CASE("what a board's programs check holds in the same build of core on this machine", "[board]") {
    struct Program {
        const char *name;
        int (*main)();
    };
    const Program programs[] = {{"whole", metal_whole},   {"test", metal_test},   {"promises", metal_promises},
                                {"handle", metal_handle}, {"embed", metal_embed}, {"pinned", metal_pinned},
                                {"cpp", metal_cpp}};
    for (const Program &program : programs) {
        console.clear();
        const int failed = program.main();
        INFO(program.name << "\n" << console);
        CHECK(failed == 0);
    }
}
