// SPDX-License-Identifier: MIT
/*
    row.cpp - A row of objects, made as one.

    Refused: T must be one object; for a row of them there is mpr::makeArray
 */
#include "mpr.hpp"

void* make() {
    return mpr::make<int[3]>();
}
