// SPDX-License-Identifier: MIT
/*
    string_search.cpp - Finding characters, parts and ends of strings. See mpr/string.h.
 */
#include <cstdint>
#include <cstring>
#include <string_view>

#include "mpr/base/ascii.hpp"
#include "mpr/base/string.hpp"
#include "mpr/string.h"

using namespace mpr::base;

char* schr(cchar* str, int c) {
    return str ? const_cast<char*>(std::strchr(str, c)) : nullptr;
}

char* srchr(cchar* str, int c) {
    return str ? const_cast<char*>(std::strrchr(str, c)) : nullptr;
}

char* scontains(cchar* str, cchar* pattern) {
    return str && pattern ? const_cast<char*>(std::strstr(str, pattern)) : nullptr;
}

char* sncontains(cchar* str, cchar* pattern, ssize limit) {
    if (limit < 0 || !str || !pattern) {
        return scontains(str, pattern);
    }
    const std::string_view text(str, boundedLength(str, static_cast<std::size_t>(limit)));
    const std::size_t at = text.find(pattern);
    return at == std::string_view::npos ? nullptr : const_cast<char*>(str + at);
}

char* scaselesscontains(cchar* str, cchar* pattern) {
    return sncaselesscontains(str, pattern, -1);
}

char* sncaselesscontains(cchar* str, cchar* pattern, ssize limit) {
    if (!str || !pattern) {
        return nullptr;
    }
    const ssize length = slen(pattern);
    for (ssize left = limit < 0 ? PTRDIFF_MAX : limit; left >= length; ++str, --left) {
        if (sncaselesscmp(str, pattern, length) == 0) {
            return const_cast<char*>(str);
        }
        if (*str == '\0') {
            break;
        }
    }
    return nullptr;
}

char* spbrk(cchar* str, cchar* set) {
    return str && set ? const_cast<char*>(std::strpbrk(str, set)) : nullptr;
}

ssize sspn(cchar* str, cchar* set) {
    return str && set ? static_cast<ssize>(std::strspn(str, set)) : 0;
}

bool sstarts(cchar* str, cchar* prefix) {
    return str && prefix && std::strncmp(str, prefix, std::strlen(prefix)) == 0;
}

cchar* sends(cchar* str, cchar* suffix) {
    if (!str || !suffix) {
        return nullptr;
    }
    const std::size_t length = std::strlen(str), end = std::strlen(suffix);
    if (end > length || std::memcmp(str + length - end, suffix, end) != 0) {
        return nullptr;
    }
    return str + length - end;
}
