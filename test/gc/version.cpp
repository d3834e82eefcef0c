// SPDX-License-Identifier: MIT
/*
    version.cpp - The numbers, the text and the library agree. That the package files agree, too, is looked at where they
    are installed: toolchains/package/check.
 */
#include "mpr/version.h"

#include <cstdio>
#include <string>

#include "test/catch.hpp"

#if MPR_VERSION_NUMBER < MPR_VERSION_OF(MPR_VERSION_MAJOR, 0, 0)
#error "The number cannot be compared in #if"
#endif

TEST_CASE("The library knows its version before there is a runtime", "[version]") {
    CHECK(std::string(mprGetVersion()) == MPR_VERSION);
}

TEST_CASE("The version as text has the three numbers", "[version]") {
    int major = -1, minor = -1, patch = -1;
    char rest = '\0';
    REQUIRE(std::sscanf(MPR_VERSION, "%d.%d.%d%c", &major, &minor, &patch, &rest) == 3);
    CHECK(major == MPR_VERSION_MAJOR);
    CHECK(minor == MPR_VERSION_MINOR);
    CHECK(patch == MPR_VERSION_PATCH);
}

TEST_CASE("A later version has a greater number", "[version]") {
    STATIC_REQUIRE(MPR_VERSION_OF(0, 1, 999) < MPR_VERSION_OF(0, 2, 0));
    STATIC_REQUIRE(MPR_VERSION_OF(0, 999, 999) < MPR_VERSION_OF(1, 0, 0));
}
