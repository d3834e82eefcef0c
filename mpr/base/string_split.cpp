// SPDX-License-Identifier: MIT
/*
    string_split.cpp - Taking strings apart in place, and trimming. See mpr/string.h.
 */
#include <cstring>

#include "mpr/app.h"
#include "mpr/base/string.hpp"
#include "mpr/string.h"

using namespace mpr::base;

namespace {

void setLast(char** last, char* value) {
    if (last) {
        *last = value;
    }
}

/** Where a tokenizer goes on. */
char* startOf(char* str, char** last) {
    return str || !last ? str : *last;
}

/** End the part before a delimiter. @return What comes after it and its followers; nullptr when there is no delimiter. */
char* cut(char* part, cchar* delim) {
    char* end = std::strpbrk(part, delim);
    if (end) {
        *end++ = '\0';
        end += std::strspn(end, delim);
    }
    return end;
}
} // namespace

char* stok(char* str, cchar* delim, char** last) {
    char* start = startOf(str, last);
    delim = delim ? delim : "";
    if (start) {
        start += std::strspn(start, delim);
    }
    if (!start || *start == '\0') {
        setLast(last, nullptr);
        return nullptr;
    }
    setLast(last, cut(start, delim));
    return start;
}

char* ssplit(char* str, cchar* delim, char** last) {
    if (!str) {
        setLast(last, mprEmptyString());
        return mprEmptyString();
    }
    char* rest = cut(str, delim ? delim : "");
    setLast(last, rest ? rest : str + std::strlen(str));
    return str;
}

char* sptok(char* str, cchar* pattern, char** last) {
    char* start = startOf(str, last);
    if (!start || !pattern || *pattern == '\0') {
        setLast(last, nullptr);
        return nullptr;
    }
    char* end = std::strstr(start, pattern);
    if (end) {
        *end = '\0';
        end += std::strlen(pattern);
    }
    setLast(last, end);
    return start;
}

char* strim(cchar* str, cchar* set, int where) {
    if (!str) {
        return nullptr;
    }
    set = set ? set : " \t\r\n\v\f";
    where = where ? where : MPR_TRIM_BOTH;
    if (where & MPR_TRIM_START) {
        str += std::strspn(str, set);
    }
    std::size_t length = std::strlen(str);
    if (where & MPR_TRIM_END) {
        while (length > 0 && std::strchr(set, str[length - 1])) {
            --length;
        }
    }
    return newString(str, length);
}
