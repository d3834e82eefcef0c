// SPDX-License-Identifier: MIT
/*
    glob.hpp - Wild cards of file names.
 */
#pragma once

#include <string_view>

namespace mpr::io {

/**
    Whether a path matches a pattern: see mprGlobPathFiles. Takes the product of their lengths at most: of two stars
    only the last can matter, so there is one place to come back to for each kind.
 */
bool matchesGlob(std::string_view pattern, std::string_view path);

/** Whether a path matches patterns separated by commas, of which those with "!" exclude. */
bool matchesPatterns(std::string_view patterns, std::string_view path);

/** Whether one of the patterns can match below the first directory. */
bool patternsDescend(std::string_view patterns);

} // namespace mpr::io
