// SPDX-License-Identifier: MIT
/*
    test/catch.cpp - Owns the precompiled Catch2 that the tests of all rooms share; see CMakeLists.txt.
 */
#include "test/catch.hpp"
