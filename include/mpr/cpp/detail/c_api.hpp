// SPDX-License-Identifier: MIT
/*
    mpr/cpp/detail/c_api.hpp - The C API as the C++ headers use it: without its short names (mpr/types.h), so that a
    program's own names, `namespace fmt` say, are its own.
 */
#ifndef MPR_CPP_DETAIL_C_API_HPP
#define MPR_CPP_DETAIL_C_API_HPP

#ifdef MPR_NO_SHORT_NAMES
#include "mpr.h"
#else
#define MPR_NO_SHORT_NAMES
#include "mpr.h"
#undef MPR_NO_SHORT_NAMES
#endif

#include <cstddef>

namespace mpr::detail {

/* Permanent memory has short names only; here they are the C++ headers' own. */
extern "C" {
MPR_EXPORT void* palloc(std::size_t size);
MPR_EXPORT void pfree(void* ptr);
}

} // namespace mpr::detail

#endif /* MPR_CPP_DETAIL_C_API_HPP */
