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

namespace {
/** What stands behind the last "${" of a text; nullptr: there is none. No key contains another, so each byte is met once. */
cchar* lastKey(cchar* begin, cchar* end) {
    for (cchar* at = end; at - begin >= 2; --at) {
        if (at[-2] == '$' && at[-1] == '{') {
            return at;
        }
    }
    return nullptr;
}
} // namespace

char* mpr::base::expand(cchar* str, TokenOf* tokenOf, void* tokens) {
    if (!str || !tokens) {
        return str ? sclone(str) : nullptr;
    }
    StringSink out;
    for (cchar* end; (end = std::strchr(str, '}')) != nullptr; str = end + 1) {
        cchar* key = lastKey(str, end);
        char* copy = key ? snclone(key, end - key) : nullptr;
        cchar* value = copy ? tokenOf(tokens, copy) : nullptr;
        mprFree(copy);
        // Text that is no token stays.
        out.put(str, static_cast<std::size_t>((value ? key - 2 : end + 1) - str));
        if (value) {
            out.put(value, std::strlen(value));
        }
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
