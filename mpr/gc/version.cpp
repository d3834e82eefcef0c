// SPDX-License-Identifier: MIT
/*
    version.cpp - The version of the library. See mpr/version.h. It stands in a file of its own: a program that does not
    ask takes nothing of it from the archive.
 */
#include "mpr/version.h"

const char* mprGetVersion(void) {
    return MPR_VERSION;
}
