// SPDX-License-Identifier: MIT
/*
    string_build.cpp - New strings from several others. See mpr/string.h.

    Each call walks its input twice: to measure, and to write into a block of exact size.
 */
#include <cstdarg>
#include <cstring>
#include <string_view>

#include "mpr/base/string.hpp"
#include "mpr/string.h"

using namespace mpr::base;

namespace {

char* append(char* to, std::string_view text) {
    return static_cast<char*>(std::memcpy(to, text.data(), text.size())) + text.size();
}

std::string_view view(cchar* str) {
    return str ? std::string_view(str) : std::string_view("");
}

/** Adds up; what is too large for memory stays so. */
void addTo(std::size_t& sum, std::size_t value) {
    if (__builtin_add_overflow(sum, value, &sum)) {
        sum = SIZE_MAX - 1;
    }
}
} // namespace

char* sjoinv(cchar* str, va_list args) {
    va_list again;
    va_copy(again, args);
    std::size_t length = 0;
    for (cchar* part = str; part; part = va_arg(again, cchar*)) {
        addTo(length, std::strlen(part));
    }
    va_end(again);
    char* joined = newString(length);
    char* at = joined;
    for (cchar* part = str; part && joined; part = va_arg(args, cchar*)) {
        at = append(at, part);
    }
    return joined;
}

char* srejoinv(char* buf, va_list args) {
    // Not resized, since buf may be among the strings.
    return sjoinv(buf ? buf : "", args);
}

char* srejoin(char* buf, ...) {
    va_list args;
    va_start(args, buf);
    char* joined = srejoinv(buf, args);
    va_end(args);
    return joined;
}

char* sjoin(cchar* str, ...) {
    va_list args;
    va_start(args, str);
    char* joined = sjoinv(str, args);
    va_end(args);
    return joined;
}

cchar* sjoinArgs(int argc, cchar** argv, cchar* sep) {
    const std::string_view between = sep ? sep : " ";
    argc = argv ? argc : 0;
    std::size_t length = 0;
    for (int i = 0; i < argc; ++i) {
        addTo(length, view(argv[i]).size());
        addTo(length, i > 0 ? between.size() : 0);
    }
    char* joined = newString(length);
    char* at = joined;
    for (int i = 0; i < argc && joined; ++i) {
        at = append(i > 0 ? append(at, between) : at, view(argv[i]));
    }
    return joined;
}

char* sreplace(cchar* str, cchar* pattern, cchar* replacement) {
    if (!str) {
        return nullptr;
    }
    const std::string_view old = view(pattern), with = view(replacement);
    if (old.empty()) {
        return sclone(str);
    }
    std::size_t length = 0;
    cchar* from = str;
    for (cchar* found; (found = std::strstr(from, old.data())) != nullptr; from = found + old.size()) {
        addTo(length, static_cast<std::size_t>(found - from));
        addTo(length, with.size());
    }
    addTo(length, std::strlen(from));
    char* replaced = newString(length);
    if (!replaced) {
        return nullptr;
    }
    char* at = replaced;
    from = str;
    for (cchar* found; (found = std::strstr(from, old.data())) != nullptr; from = found + old.size()) {
        at = append(append(at, {from, static_cast<std::size_t>(found - from)}), with);
    }
    append(at, from);
    return replaced;
}
