// SPDX-License-Identifier: MIT
/*
    string.cpp - Strings: measure, copy, compare, change case. See mpr/string.h.
 */
#include "mpr/string.h"

#include <cstring>

#include "mpr/base/ascii.hpp"
#include "mpr/base/string.hpp"
#include "mpr/memory.h"

using namespace mpr::base;

namespace mpr::base {

char* newString(std::size_t length) {
    auto* string = static_cast<char*>(mprAlloc(length + 1));
    if (string) {
        string[length] = '\0';
    }
    return string;
}

char* newString(const char* text, std::size_t length) {
    char* string = newString(length);
    if (string) {
        std::memcpy(string, text, length);
    }
    return string;
}

std::size_t boundedLength(const char* text, std::size_t most) {
    const void* zero = std::memchr(text, '\0', most);
    return zero ? static_cast<std::size_t>(static_cast<const char*>(zero) - text) : most;
}

} // namespace mpr::base

namespace {

std::size_t positive(ssize length) {
    return length > 0 ? static_cast<std::size_t>(length) : 0;
}

/** Order of strings of which one is NULL. */
int compareNull(cchar* s1, cchar* s2) {
    return (s1 != nullptr) - (s2 != nullptr);
}

ssize copyInto(char* dest, ssize destMax, cchar* src, std::size_t length) {
    if (!dest || destMax < 1) {
        return MPR_ERR_BAD_ARGS;
    }
    if (length >= static_cast<std::size_t>(destMax)) {
        return MPR_ERR_WONT_FIT;
    }
    if (length > 0) {
        std::memmove(dest, src, length);
    }
    dest[length] = '\0';
    return static_cast<ssize>(length);
}

template <class Change>
char* changed(cchar* str, Change change) {
    if (!str) {
        return nullptr;
    }
    const std::size_t length = std::strlen(str);
    char* string = newString(length);
    for (std::size_t i = 0; string && i < length; ++i) {
        string[i] = change(str[i]);
    }
    return string;
}
} // namespace

ssize slen(cchar* str) {
    return str ? static_cast<ssize>(std::strlen(str)) : 0;
}

char* sclone(cchar* str) {
    return str ? newString(str, std::strlen(str)) : newString(0);
}

char* snclone(cchar* str, ssize len) {
    return str ? newString(str, boundedLength(str, positive(len))) : newString(0);
}

ssize scopy(char* dest, ssize destMax, cchar* src) {
    return copyInto(dest, destMax, src, src ? std::strlen(src) : 0);
}

ssize sncopy(char* dest, ssize destMax, cchar* src, ssize len) {
    return copyInto(dest, destMax, src, src ? boundedLength(src, positive(len)) : 0);
}

int scmp(cchar* s1, cchar* s2) {
    return s1 && s2 ? std::strcmp(s1, s2) : compareNull(s1, s2);
}

int sncmp(cchar* s1, cchar* s2, ssize len) {
    return s1 && s2 ? std::strncmp(s1, s2, positive(len)) : compareNull(s1, s2);
}

int scaselesscmp(cchar* s1, cchar* s2) {
    return sncaselesscmp(s1, s2, PTRDIFF_MAX);
}

int sncaselesscmp(cchar* s1, cchar* s2, ssize len) {
    if (!s1 || !s2) {
        return compareNull(s1, s2);
    }
    for (; len > 0; --len, ++s1, ++s2) {
        const int order = static_cast<uchar>(lower(*s1)) - static_cast<uchar>(lower(*s2));
        if (order != 0 || *s1 == '\0') {
            return order;
        }
    }
    return 0;
}

bool smatch(cchar* s1, cchar* s2) {
    return scmp(s1, s2) == 0;
}

bool scaselessmatch(cchar* s1, cchar* s2) {
    return scaselesscmp(s1, s2) == 0;
}

char* slower(cchar* str) {
    return changed(str, lower);
}

char* supper(cchar* str) {
    return changed(str, upper);
}

namespace {
/** A copy whose first character is changed. */
char* firstChanged(cchar* str, char (*change)(char)) {
    char* string = changed(str, [](char c) { return c; });
    if (string) {
        string[0] = change(string[0]);
    }
    return string;
}
} // namespace

char* stitle(cchar* str) {
    return firstChanged(str, upper);
}

char* scamel(cchar* str) {
    return firstChanged(str, lower);
}

char* ssub(cchar* str, ssize offset, ssize length) {
    if (!str || offset < 0 || length < 0 || offset > slen(str)) {
        return nullptr;
    }
    return snclone(str + offset, length);
}

void serase(char* str) {
    if (str) {
        std::memset(str, 0, std::strlen(str));
        __asm__ volatile("" : : "r"(str) : "memory"); // the compiler takes it for read
    }
}

bool smatchsec(cchar* s1, cchar* s2) {
    if (!s1 || !s2) {
        return s1 == s2;
    }
    const std::size_t length = std::strlen(s1);
    if (length != std::strlen(s2)) {
        return false;
    }
    unsigned char differing = 0;
    for (std::size_t i = 0; i < length; ++i) {
        differing = static_cast<unsigned char>(differing | (s1[i] ^ s2[i]));
    }
    return differing == 0;
}
