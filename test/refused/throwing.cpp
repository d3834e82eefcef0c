// SPDX-License-Identifier: MIT
/*
    throwing.cpp - A destructor that may throw, on the collector's thread.

    Refused: so T's destructor must be public and noexcept
 */
#include "mpr.hpp"

struct Throws {
    ~Throws() noexcept(false) {}
};

Throws* make() {
    return mpr::make<Throws>();
}
