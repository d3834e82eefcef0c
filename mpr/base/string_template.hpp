// SPDX-License-Identifier: MIT
/*
    string_template.hpp - Values put into a text, wherever they come from.
 */
#pragma once

namespace mpr::base {

/** @return The value of a key, or nullptr. */
using TokenOf = const char*(void* tokens, const char* key);

/** What stemplate does (mpr/string.h), with values of any source. */
char* expand(const char* str, TokenOf* tokenOf, void* tokens);

} // namespace mpr::base
