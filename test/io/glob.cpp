// SPDX-License-Identifier: MIT
/*
    test/io/glob.cpp - Wild cards, against a plain recursive matcher.
 */
#include "test/catch.hpp"
#include "test/support/pattern.hpp"
#include "test/support/sanitizer.hpp"

#include "mpr/io/glob.hpp"

#include <string>

using namespace mpr::io;

namespace {

/* As simple as can be: no sets. */
bool slow(const char *p, const char *t, bool atStart = true) {
    if (p[0] == '*' && p[1] == '*' && p[2] == '/' && atStart) {
        if (slow(p + 3, t)) {
            return true;
        }
        for (; *t; t++) {
            if (*t == '/' && slow(p + 3, t + 1)) {
                return true;
            }
        }
        return false;
    }
    if (p[0] == '*' && p[1] == '*') {
        for (;; t++) {
            if (slow(p + 2, t, false)) {
                return true;
            }
            if (!*t) {
                return false;
            }
        }
    }
    if (*p == '*') {
        for (;; t++) {
            if (slow(p + 1, t, false)) {
                return true;
            }
            if (!*t || *t == '/') {
                return false;
            }
        }
    }
    if (!*p || !*t) {
        return !*p && !*t;
    }
    return (*p == *t || (*p == '?' && *t != '/')) && slow(p + 1, t + 1, *p == '/');
}

} // namespace

TEST_CASE("wild cards", "[io][glob]") {
    CHECK(matchesGlob("*.c", "main.c"));
    CHECK(!matchesGlob("*.c", "main.cc"));
    CHECK(!matchesGlob("*.c", "src/main.c"));
    CHECK(matchesGlob("**/*.c", "main.c"));
    CHECK(matchesGlob("**/*.c", "a/b/main.c"));
    CHECK(matchesGlob("src/**", "src/a/b"));
    CHECK(matchesGlob("src/**/b", "src/b"));
    CHECK(matchesGlob("src/**/b", "src/a/a/b"));
    CHECK(!matchesGlob("src/**/b", "src/ab"));
    CHECK(matchesGlob("?.[ch]", "a.h"));
    CHECK(!matchesGlob("?.[ch]", "a.x"));
    CHECK(!matchesGlob("?", "/"));
    CHECK(matchesGlob("[!a-c]x", "dx"));
    CHECK(!matchesGlob("[!a-c]x", "bx"));
    CHECK(!matchesGlob("[!a]", "/"));
    CHECK(matchesGlob("[]x]", "]"));
    CHECK(matchesGlob("[a-]", "-"));
    CHECK(matchesGlob("a[", "a["));
    CHECK(matchesGlob("", ""));
    CHECK(!matchesGlob("", "a"));
    CHECK(matchesGlob("*", ""));
}

TEST_CASE("random patterns match what a plain matcher says", "[io][glob]") {
    test::Random random(1);
    int matched = 0;
    for (size_t i = 0; i < test::heavy(300000); i++) {
        std::string pattern, path;
        for (size_t n = random.below(10); n > 0; n--) {
            pattern += "ab/?**"[random.below(6)];
        }
        for (size_t n = random.below(10); n > 0; n--) {
            path += "ab/"[random.below(3)];
        }
        /* Three stars and more are not defined. */
        if (pattern.find("***") != std::string::npos) {
            continue;
        }
        bool expected = slow(pattern.c_str(), path.c_str());
        INFO(pattern << " " << path);
        REQUIRE(matchesGlob(pattern, path) == expected);
        matched += expected;
    }
    CHECK(matched > static_cast<int>(test::heavy(1000)));
}

TEST_CASE("many stars take no exponential time", "[io][glob]") {
    std::string pattern, path(2000, 'a');
    for (int i = 0; i < 100; i++) {
        pattern += "a*";
    }
    CHECK(!matchesGlob(pattern + "b", path));
    CHECK(matchesGlob(pattern, path));
    /* Nor cubic, as when a star is tried again at each place where two have ended. */
    const std::string letters(4000, 'a'), all(32000, 'a');
    CHECK(!matchesGlob("**" + letters + "*" + letters + "b", all));
    CHECK(matchesGlob("**" + letters + "*" + letters, all));
    CHECK(matchesGlob("**a*b", "xa/ab"));
    CHECK(matchesGlob("**a/*b", "aa/a/ab"));
}

TEST_CASE("several patterns, some of which exclude", "[io][glob]") {
    CHECK(matchesPatterns("*.c, *.h", "a.h"));
    CHECK(!matchesPatterns("*.c, *.h", "a.o"));
    CHECK(!matchesPatterns("*.c, !a.*", "a.c"));
    CHECK(matchesPatterns("!a.*,*.c", "b.c"));
    CHECK(!matchesPatterns("!a.*", "b.c"));
    CHECK(!matchesPatterns("", "b.c"));
    CHECK(!matchesPatterns(",,", ""));
    CHECK(patternsDescend("*.c,src/*.c"));
    CHECK(patternsDescend("**"));
    CHECK(!patternsDescend("*.c,!src/*.c"));
}
