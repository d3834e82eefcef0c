// SPDX-License-Identifier: MIT
/*
    test/base/print.cpp - Printing to the standard streams.
 */
#define MPR_CHECK_PRINTF /* The compiler accepts the declarations, and these formats */
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <cstdio>

using namespace test;

TEST_CASE("child: print without a runtime", "[.][print-child]") {
    printf("first ");
    const char *volatile none = nullptr; /* the compiler's check does not like to see it */
    CHECK(mprPrintf("second %d %s ", 2, none) == 14);
    printf("third ");
    CHECK(print("fourth %c", '4') == 9);
    CHECK(print("%s", "") == 1);
    CHECK(mprPrintf("%s", "") == 0);
    std::string large(10000, 'l');
    CHECK(print("%s|", large.c_str()) == 10002);
    fflush(stdout);
    CHECK(mprEprintf("to %s\n", "stderr") == 10);
}

TEST_CASE("print and mprPrintf mix with printf", "[base][print]") {
    Ended child = runChild("[print-child]");
    INFO(child.output.substr(0, 300));
    CHECK(child.exited(0));
    CHECK(child.wrote("first second 2 null third fourth 4\n\nlll"));
    CHECK(child.wrote("l|\n"));
    CHECK(child.wrote("to stderr\n"));
}

TEST_CASE("child: print to a full device", "[.][print-full]") {
    REQUIRE(freopen("/dev/full", "w", stdout));
    std::string large(100000, 'l');
    int result = static_cast<int>(print("%s", large.c_str()));
    fprintf(stderr, "print returned %d\n", result);
    fclose(stdout);
    _exit(0);
}

TEST_CASE("an error of the stream is told", "[base][print]") {
    Ended child = runChild("[print-full]");
    INFO(child.output);
    CHECK(child.wrote(("print returned " + std::to_string(MPR_ERR_CANT_WRITE) + "\n").c_str()));
}
