// SPDX-License-Identifier: MIT
/*
    glob.cpp - Wild cards of file names.
 */
#include "mpr/io/glob.hpp"

#include <algorithm>

#include "mpr/base/part.hpp"

namespace mpr::io {

namespace {

using base::part;
using std::string_view;
constexpr std::size_t none = string_view::npos;

/** A set at pattern[at], which is '['. @return The index behind it, or none when it does not end: then it is a plain '['. */
std::size_t matchSet(string_view pattern, std::size_t at, unsigned char c, bool& matches) {
    std::size_t i = at + 1;
    const bool inverted = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    i += inverted;
    bool found = false;
    for (std::size_t first = i; i < pattern.size(); ++i) {
        if (pattern[i] == ']' && i > first) {
            matches = found != inverted && c != '/';
            return i + 1;
        }
        const auto low = static_cast<unsigned char>(pattern[i]);
        auto high = low;
        if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
            high = static_cast<unsigned char>(pattern[i + 2]);
            i += 2;
        }
        found = found || (c >= low && c <= high);
    }
    return none;
}

/** One character of the path against one of the pattern. @return The place in the pattern behind it, or none. */
std::size_t matchOne(string_view pattern, std::size_t at, char c) {
    if (pattern[at] == '?') {
        return c != '/' ? at + 1 : none;
    }
    if (pattern[at] == '[') {
        bool matches = false;
        const std::size_t behind = matchSet(pattern, at, static_cast<unsigned char>(c), matches);
        if (behind != none) {
            return matches ? behind : none;
        }
    }
    return pattern[at] == c ? at + 1 : none;
}

/** A place to continue from: the pattern behind a star, and the path from which it is tried next. */
struct Retry {
    std::size_t pattern = none;
    std::size_t path = 0;
};

template <class Use>
void eachPattern(string_view patterns, Use use) {
    while (!patterns.empty()) {
        const std::size_t comma = patterns.find(',');
        string_view one = part(patterns, 0, comma);
        patterns.remove_prefix(comma == none ? patterns.size() : comma + 1);
        while (!one.empty() && one.front() == ' ') {
            one.remove_prefix(1);
        }
        while (!one.empty() && one.back() == ' ') {
            one.remove_suffix(1);
        }
        const bool excludes = !one.empty() && one.front() == '!';
        one.remove_prefix(excludes);
        if (!one.empty()) {
            use(one, excludes);
        }
    }
}
} // namespace

bool matchesGlob(string_view pattern, string_view path) {
    std::size_t p = 0;
    std::size_t t = 0;
    Retry star;      // "*": within a part
    Retry deepStar;  // "**": anything
    Retry directory; // "**/": from the next part on
    for (;;) {
        if (part(pattern, p, 3) == "**/" && (p == 0 || pattern[p - 1] == '/')) {
            p += 3;
            directory = {p, t};
            deepStar = star = {};
            continue;
        }
        if (part(pattern, p, 2) == "**") {
            p += 2;
            deepStar = {p, t};
            directory = star = {};
            continue;
        }
        if (p < pattern.size() && pattern[p] == '*') {
            star = {++p, t};
            continue;
        }
        if (t == path.size() && p == pattern.size()) {
            return true;
        }
        const std::size_t next = p < pattern.size() && t < path.size() ? matchOne(pattern, p, path[t]) : none;
        if (next != none) {
            p = next;
            ++t;
            continue;
        }
        if (star.pattern != none && star.path < path.size() && path[star.path] != '/') {
            p = star.pattern;
            t = ++star.path;
            continue;
        }
        if (star.pattern != none && deepStar.pattern != none) {
            // What follows the star is nowhere in the rest of its part, and so it is for each later place in the part where
            // "**" ends: what is between the two has as many slashes wherever it is.
            deepStar.path = std::min(path.find('/', deepStar.path), path.size());
        }
        star = {};
        if (deepStar.pattern != none && deepStar.path < path.size()) {
            p = deepStar.pattern;
            t = ++deepStar.path;
            continue;
        }
        const std::size_t slash = directory.pattern != none ? path.find('/', directory.path) : none;
        if (slash == none) {
            return false;
        }
        p = directory.pattern;
        t = directory.path = slash + 1;
    }
}

bool matchesPatterns(string_view patterns, string_view path) {
    bool included = false;
    bool excluded = false;
    eachPattern(patterns, [&](string_view one, bool excludes) {
        if (matchesGlob(one, path)) {
            (excludes ? excluded : included) = true;
        }
    });
    return included && !excluded;
}

bool patternsDescend(string_view patterns) {
    bool descends = false;
    eachPattern(patterns, [&](string_view one, bool excludes) {
        descends = descends || (!excludes && (one.find('/') != none || one.find("**") != none));
    });
    return descends;
}

} // namespace mpr::io
