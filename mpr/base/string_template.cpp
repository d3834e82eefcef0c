// SPDX-License-Identifier: MIT
/*
    string_template.cpp - Values put into a text. See stemplate in mpr/string.h.
 */
#include <cstring>

#include "mpr/base/sink.hpp"
#include "mpr/base/string_template.hpp"
#include "mpr/hash.h"
#include "mpr/memory.h"
#include "mpr/string.h"

using namespace mpr::base;

char* mpr::base::expand(cchar* str, TokenOf* tokenOf, void* tokens) {
    if (!str || !tokens) {
        return str ? sclone(str) : nullptr;
    }
    StringSink out;
    for (cchar* start; (start = std::strstr(str, "${")) != nullptr;) {
        cchar* key = start + 2;
        cchar* end = std::strchr(key, '}');
        char* copy = end ? snclone(key, end - key) : nullptr;
        cchar* value = copy ? tokenOf(tokens, copy) : nullptr;
        mprFree(copy);
        // What is no token stays, and another may begin inside.
        out.put(str, static_cast<std::size_t>((value ? start : key) - str));
        if (value) {
            out.put(value, std::strlen(value));
        }
        str = value ? end + 1 : key;
    }
    out.put(str, std::strlen(str));
    return out.finish();
}

char* stemplate(cchar* str, struct MprHash* tokens) {
    return expand(
        str,
        [](void* table, cchar* key) { return static_cast<cchar*>(mprLookupKey(static_cast<MprHash*>(table), key)); },
        tokens);
}
