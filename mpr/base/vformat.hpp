/*
    vformat.hpp - Formatted text in a new block: the one place where this room and those below call vsnprintf.
 */
#pragma once

#include <cstdarg>
#include <cstdio>

#include "mpr/memory.h"

namespace mpr::base {

/** @return A new string, or nullptr when there is no memory or the format is bad. */
[[gnu::format(printf, 1, 0)]] inline char* vformat(const char* format, va_list args) {
    va_list again;
    va_copy(again, args);
    const int length = format ? std::vsnprintf(nullptr, 0, format, args) : -1;
    char* text = length < 0 ? nullptr : static_cast<char*>(mprAlloc(static_cast<std::size_t>(length) + 1));
    if (text) {
        std::vsnprintf(text, static_cast<std::size_t>(length) + 1, format, again);
    }
    va_end(again);
    return text;
}

} // namespace mpr::base
