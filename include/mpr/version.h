/* SPDX-License-Identifier: MIT */
/*
    mpr/version.h - The version of these headers, and that of the library.

    Versions follow semver.org. Below 1.0 a minor version may change the API and the ABI, a patch changes neither; so
    libmpr.so is named after both numbers (libmpr.so.0.1). From 1.0 on only a major version does, and the name carries
    that alone. The build, mpr.pc and the CMake package read their version here.
 */
#ifndef MPR_VERSION_H
#define MPR_VERSION_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

#define MPR_VERSION_MAJOR 0
#define MPR_VERSION_MINOR 1
#define MPR_VERSION_PATCH 0

/** One number for the preprocessor to compare: version 1.2.3 is MPR_VERSION_OF(1, 2, 3). */
#define MPR_VERSION_NUMBER MPR_VERSION_OF(MPR_VERSION_MAJOR, MPR_VERSION_MINOR, MPR_VERSION_PATCH)
#define MPR_VERSION_OF(major, minor, patch) ((major) *1000000 + (minor) *1000 + (patch))

/** The version as a string literal: "1.2.3". */
#define MPR_VERSION MPR_VERSION_TEXT(MPR_VERSION_MAJOR, MPR_VERSION_MINOR, MPR_VERSION_PATCH)
#define MPR_VERSION_TEXT(major, minor, patch) MPR_VERSION_JOIN(major, minor, patch)
#define MPR_VERSION_JOIN(major, minor, patch) #major "." #minor "." #patch

/**
    The version of the library that the program runs with; a shared one may be newer than the headers.
    @return MPR_VERSION as it was when the library was built. Any thread, with or without a runtime.
 */
MPR_EXPORT const char *mprGetVersion(void);

MPR_EXTERN_C_END
#endif /* MPR_VERSION_H */
