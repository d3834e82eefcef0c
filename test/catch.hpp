// SPDX-License-Identifier: MIT
/*
    test/catch.hpp - Catch2, whichever of 2.13 and 3 is installed. Tests include this, never Catch2 itself.
 */
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
