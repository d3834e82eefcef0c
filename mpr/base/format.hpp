// SPDX-License-Identifier: MIT
/*
    format.hpp - The one formatter behind sfmt, fmt, mprPrintf, mprPutToBuf and mprLog.
 */
#pragma once

#include <cstdarg>

#include "mpr/base/sink.hpp"

namespace mpr::base {

/** Write a format (mpr/format.h says what it means) with its arguments to a sink. nullptr is "". */
void format(Sink& sink, const char* text, std::va_list args);

} // namespace mpr::base
