// SPDX-License-Identifier: MIT
/*
    test/base/string_split.cpp - Splitting in place, trimming, joining, replacing.
 */
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <cstdarg>
#include <cstring>
#include <string>
#include <vector>

using namespace test;

namespace {

using Words = std::vector<std::string>;
constexpr cchar *none = nullptr;

Words tokens(std::string text, cchar *delim) {
    Words words;
    char *last = nullptr;
    for (char *word = stok(text.data(), delim, &last); word; word = stok(nullptr, delim, &last)) {
        words.push_back(word);
    }
    return words;
}

Words patternTokens(std::string text, cchar *pattern) {
    Words words;
    char *last = nullptr;
    for (char *word = sptok(text.data(), pattern, &last); word; word = sptok(nullptr, pattern, &last)) {
        words.push_back(word);
    }
    return words;
}

std::string trim(cchar *text, cchar *set, int where) {
    char *trimmed = strim(text, set, where);
    return trimmed ? trimmed : "(null)";
}

char *joinAll(cchar *first, ...) {
    va_list args;
    va_start(args, first);
    char *all = sjoinv(first, args);
    va_end(args);
    return all;
}
} // namespace

TEST_CASE("stok gives the runs between delimiters", "[base][string]") {
    CHECK(tokens("a b c", " ") == Words{"a", "b", "c"});
    CHECK(tokens("  a ,, b\t", " ,\t") == Words{"a", "b"});
    CHECK(tokens("a", " ") == Words{"a"});
    CHECK(tokens("", " ") == Words{});
    CHECK(tokens("   ", " ") == Words{});
    CHECK(tokens("a b", "") == Words{"a b"});
    CHECK(tokens("a b", none) == Words{"a b"});
    std::string many;
    for (int i = 0; i < 1000000; i++) {
        many += "x ";
    }
    CHECK(tokens(many, " ").size() == 1000000);
}

TEST_CASE("stok leaves the rest, NULL without a delimiter", "[base][string]") {
    char pair[] = "key == value = more", single[] = "key", *value;
    CHECK(std::string(stok(pair, " =", &value)) == "key");
    CHECK(std::string(value) == "value = more");
    CHECK(std::string(stok(single, "=", &value)) == "key");
    CHECK(value == nullptr);
    char ended[] = "key=";
    CHECK(std::string(stok(ended, "=", &value)) == "key");
    REQUIRE(value);
    CHECK(std::string(value) == "");
    CHECK(stok(nullptr, "=", &value) == nullptr);
    CHECK(value == nullptr);
    CHECK(stok(nullptr, "=", &value) == nullptr);
    CHECK(stok(nullptr, "=", nullptr) == nullptr);
    char once[] = " one two";
    CHECK(std::string(stok(once, " ", nullptr)) == "one");
}

TEST_CASE("sptok splits at a whole pattern", "[base][string]") {
    CHECK(patternTokens("a--b--c", "--") == Words{"a", "b", "c"});
    CHECK(patternTokens("a-b--c", "--") == Words{"a-b", "c"});
    CHECK(patternTokens("--a----b--", "--") == Words{"", "a", "", "b", ""});
    CHECK(patternTokens("a", "--") == Words{"a"});
    CHECK(patternTokens("", "--") == Words{""});
    CHECK(patternTokens("a", "") == Words{});
    CHECK(patternTokens("a", none) == Words{});
    char text[] = "a\r\n\r\nb", *last;
    CHECK(std::string(sptok(text, "\r\n\r\n", &last)) == "a");
    CHECK(std::string(last) == "b");
    CHECK(std::string(sptok(nullptr, "\r\n", &last)) == "b");
    CHECK(last == nullptr);
    CHECK(sptok(nullptr, "\r\n", &last) == nullptr);
    CHECK(sptok(nullptr, "\r\n", nullptr) == nullptr);
}

TEST_CASE("ssplit never gives NULL", "[base][string]") {
    Runtime runtime;
    char *rest;
    char text[] = "GET  /index.html HTTP/1.1";
    CHECK(std::string(ssplit(text, " ", &rest)) == "GET");
    CHECK(std::string(rest) == "/index.html HTTP/1.1"); /* a run counts as one */
    CHECK(std::string(ssplit(rest, " ", &rest)) == "/index.html");
    CHECK(std::string(ssplit(rest, " ", &rest)) == "HTTP/1.1");
    CHECK(std::string(rest) == "");
    CHECK(std::string(ssplit(rest, " ", &rest)) == "");
    CHECK(std::string(rest) == "");
    char leading[] = ",a,b";
    CHECK(std::string(ssplit(leading, ",", &rest)) == "");
    CHECK(std::string(rest) == "a,b");
    char whole[] = "abc";
    CHECK(ssplit(whole, none, &rest) == whole);
    CHECK(std::string(rest) == "");
    CHECK(std::string(ssplit(nullptr, ",", &rest)) == "");
    CHECK(std::string(rest) == "");
    CHECK(std::string(ssplit(nullptr, ",", nullptr)) == "");
    char sets[] = "a;b,c";
    CHECK(std::string(ssplit(sets, ",;", nullptr)) == "a");
}

TEST_CASE("strim", "[base][string]") {
    Runtime runtime;
    CHECK(trim("  a b  ", " ", MPR_TRIM_BOTH) == "a b");
    CHECK(trim("  a b  ", " ", MPR_TRIM_START) == "a b  ");
    CHECK(trim("  a b  ", " ", MPR_TRIM_END) == "  a b");
    CHECK(trim("  a b  ", " ", 0) == "a b");
    CHECK(trim("\"'x'\"", "'\"", MPR_TRIM_BOTH) == "x");
    CHECK(trim(" \t\r\n\v\fa ", none, MPR_TRIM_BOTH) == "a");
    CHECK(trim("xxx", "x", MPR_TRIM_BOTH) == "");
    CHECK(trim("xxx", "x", MPR_TRIM_START) == "");
    CHECK(trim("xxx", "x", MPR_TRIM_END) == "");
    CHECK(trim("", " ", MPR_TRIM_BOTH) == "");
    CHECK(trim("abc", "", MPR_TRIM_BOTH) == "abc");
    CHECK(trim(none, " ", MPR_TRIM_BOTH) == "(null)");
    cchar *text = "abc";
    CHECK(strim(text, " ", 0) != text);
}

TEST_CASE("sjoin, sjoinv and sjoinArgs", "[base][string]") {
    Runtime runtime;
    CHECK(std::string(joinAll("a", "", "bc", NULL)) == "abc");
    CHECK(std::string(joinAll(NULL, NULL)) == "");
    CHECK(std::string(sjoin("a", "", "bc", "d", NULL)) == "abcd");
    CHECK(std::string(sjoin("a", NULL)) == "a");
    CHECK(std::string(sjoin(NULL, NULL)) == "");
    std::string large(1000000, 'x');
    CHECK(std::string(sjoin(large.c_str(), "-", large.c_str(), NULL)) == large + "-" + large);
    CHECK(std::string(sjoin("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", NULL)) == "123456789101112");

    cchar *args[] = {"one", "two", nullptr, "four"};
    CHECK(std::string(sjoinArgs(4, args, ", ")) == "one, two, , four");
    CHECK(std::string(sjoinArgs(1, args, ", ")) == "one");
    CHECK(std::string(sjoinArgs(2, args, none)) == "one two");
    CHECK(std::string(sjoinArgs(2, args, "")) == "onetwo");
    CHECK(std::string(sjoinArgs(0, args, ",")) == "");
    CHECK(std::string(sjoinArgs(-1, args, ",")) == "");
    CHECK(std::string(sjoinArgs(3, nullptr, ",")) == "");
}

TEST_CASE("sreplace", "[base][string]") {
    Runtime runtime;
    CHECK(std::string(sreplace("a.b.c", ".", "::")) == "a::b::c");
    CHECK(std::string(sreplace("a.b.c", ".", "")) == "abc");
    CHECK(std::string(sreplace("a.b.c", ".", none)) == "abc");
    CHECK(std::string(sreplace("aaaa", "aa", "a")) == "aa");
    CHECK(std::string(sreplace("aaa", "aa", "b")) == "ba"); /* from left to right */
    CHECK(std::string(sreplace("abc", "x", "y")) == "abc");
    CHECK(std::string(sreplace("abc", "", "y")) == "abc");
    CHECK(std::string(sreplace("abc", none, "y")) == "abc");
    CHECK(std::string(sreplace("abc", "abc", "")) == "");
    CHECK(std::string(sreplace("", "a", "b")) == "");
    CHECK(sreplace(none, "a", "b") == nullptr);
    std::string large(heavy(1000000), 'x');
    CHECK(std::string(sreplace(large.c_str(), "x", "yz")).size() == 2 * large.size());
}
