// SPDX-License-Identifier: MIT
/*
    test/base/string_search.cpp - Finding characters, parts and ends of strings.
 */
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <cstring>
#include <string>

using namespace test;

namespace {
constexpr cchar *none = nullptr;
}

TEST_CASE("schr and srchr", "[base][string]") {
    cchar *text = "abcabc";
    CHECK(schr(text, 'b') == text + 1);
    CHECK(srchr(text, 'b') == text + 4);
    CHECK(schr(text, 'x') == nullptr);
    CHECK(srchr(text, 'x') == nullptr);
    CHECK(schr(text, 0) == text + 6);
    CHECK(srchr(text, 0) == text + 6);
    CHECK(schr("", 'a') == nullptr);
    CHECK(schr(none, 'a') == nullptr);
    CHECK(srchr(none, 'a') == nullptr);
}

TEST_CASE("scontains, scaselesscontains, sncontains", "[base][string]") {
    cchar *text = "Hello World, hello world";
    CHECK(scontains(text, "World") == text + 6);
    CHECK(scontains(text, "world") == text + 19);
    CHECK(scontains(text, "") == text);
    CHECK(scontains(text, "worlds") == nullptr);
    CHECK(scontains("", "a") == nullptr);
    CHECK(std::string(scontains("", "")) == "");
    CHECK(scontains(none, "a") == nullptr);
    CHECK(scontains(text, none) == nullptr);

    CHECK(scaselesscontains(text, "WORLD") == text + 6);
    CHECK(scaselesscontains(text, "o w") == text + 4);
    CHECK(scaselesscontains(text, "") == text);
    CHECK(scaselesscontains(text, "worlds") == nullptr);
    CHECK(scaselesscontains("", "a") == nullptr);
    CHECK(scaselesscontains(none, "a") == nullptr);
    CHECK(scaselesscontains(text, none) == nullptr);
    CHECK(std::string(scaselesscontains("aaab", "AAB")) == "aab");

    CHECK(sncontains(text, "World", 11) == text + 6);
    CHECK(sncontains(text, "World", 10) == nullptr);
    CHECK(sncontains(text, "hello", -1) == text + 13);
    CHECK(sncontains(text, "hello", 1000) == text + 13);
    CHECK(sncontains(text, "Hello", 0) == nullptr);
    CHECK(sncontains(text, "", 0) == text);
    CHECK(sncontains(none, "a", 5) == nullptr);
    CHECK(sncontains(text, none, 5) == nullptr);
    const char raw[3] = {'a', 'b', 'c'}; /* no zero behind it */
    CHECK(sncontains(raw, "bc", 3) == raw + 1);
    CHECK(sncontains(raw, "cd", 3) == nullptr);
}

TEST_CASE("searches agree with std::string", "[base][string]") {
    Random random(9);
    for (size_t i = 0; i < heavy(50000); i++) {
        std::string text, pattern;
        for (size_t k = random.below(12); k > 0; k--) {
            text += "abAB"[random.below(4)];
        }
        for (size_t k = random.below(4); k > 0; k--) {
            pattern += "abAB"[random.below(4)];
        }
        auto offset = [&](cchar *found) {
            return found ? static_cast<size_t>(found - text.c_str()) : std::string::npos;
        };
        auto lower = [](std::string s) {
            for (char &c : s) {
                c |= 0x20;
            }
            return s;
        };
        size_t limit = random.below(14);
        INFO(text << " " << pattern << " " << limit);
        REQUIRE(offset(scontains(text.c_str(), pattern.c_str())) == text.find(pattern));
        REQUIRE(offset(scaselesscontains(text.c_str(), pattern.c_str())) == lower(text).find(lower(pattern)));
        REQUIRE(offset(sncontains(text.c_str(), pattern.c_str(), static_cast<ssize>(limit))) ==
                text.substr(0, limit).find(pattern));
        bool starts = text.compare(0, pattern.size(), pattern) == 0;
        REQUIRE(sstarts(text.c_str(), pattern.c_str()) == starts);
        bool ends = text.size() >= pattern.size() && text.substr(text.size() - pattern.size()) == pattern;
        REQUIRE(offset(sends(text.c_str(), pattern.c_str())) ==
                (ends ? text.size() - pattern.size() : std::string::npos));
    }
}

TEST_CASE("a long search ends", "[base][string]") {
    std::string text(1000000, 'a');
    CHECK(scontains(text.c_str(), "ab") == nullptr);
    CHECK(scaselesscontains(text.c_str(), "AAAAB") == nullptr);
    CHECK(sncontains(text.c_str(), "ab", 1000000) == nullptr);
}

TEST_CASE("a search takes time that grows with its texts alone", "[base][string]") {
    const size_t length = heavy(8000000); // 16 T comparisons, if every place were tried
    const std::string text(length, 'a'), half(length / 2, 'A'), lower(length / 2, 'a');
    CHECK(scaselesscontains(text.c_str(), (half + "b").c_str()) == nullptr);
    CHECK(scaselesscontains(text.c_str(), ("b" + half).c_str()) == nullptr);
    CHECK(sncaselesscontains(text.c_str(), (half + "b" + half).c_str(), static_cast<ssize>(length)) == nullptr);
    CHECK(scaselesscontains((text + "b").c_str(), (half + "B").c_str()) != nullptr);
    CHECK(sncontains(text.c_str(), (lower + "b").c_str(), static_cast<ssize>(length)) == nullptr);
    CHECK(sncontains(text.c_str(), ("b" + lower).c_str(), static_cast<ssize>(length)) == nullptr);
}

TEST_CASE("searches for patterns with periods agree with std::string", "[base][string]") {
    Random random(10);
    for (size_t i = 0; i < heavy(50000); i++) {
        std::string piece, pattern, text;
        for (size_t k = 1 + random.below(4); k > 0; k--) {
            piece += "ab"[random.below(2)];
        }
        while (pattern.size() < 12 && random.below(6) != 0) {
            pattern += random.below(5) != 0 ? piece : std::string(1, "abc"[random.below(3)]);
        }
        while (text.size() < 60) {
            text += random.below(4) != 0 ? piece : pattern.substr(0, random.below(pattern.size() + 1)) + "b";
        }
        std::string upper = pattern;
        for (char &c : upper) {
            c = static_cast<char>(c & ~0x20);
        }
        const size_t limit = random.below(text.size() + 2);
        auto offset = [&](cchar *found) {
            return found ? static_cast<size_t>(found - text.c_str()) : std::string::npos;
        };
        INFO(text << " " << pattern << " " << limit);
        REQUIRE(offset(scaselesscontains(text.c_str(), upper.c_str())) == text.find(pattern));
        REQUIRE(offset(sncontains(text.c_str(), pattern.c_str(), static_cast<ssize>(limit))) ==
                text.substr(0, limit).find(pattern));
    }
}

TEST_CASE("sstarts and sends", "[base][string]") {
    cchar *text = "file.txt";
    CHECK(sstarts(text, "file"));
    CHECK(sstarts(text, ""));
    CHECK(sstarts(text, text));
    CHECK_FALSE(sstarts(text, "ile"));
    CHECK_FALSE(sstarts(text, "file.txt.gz"));
    CHECK_FALSE(sstarts(none, "a"));
    CHECK_FALSE(sstarts(text, none));
    CHECK(sends(text, ".txt") == text + 4);
    CHECK(sends(text, text) == text);
    CHECK(sends(text, "") == text + 8);
    CHECK(sends(text, ".tx") == nullptr);
    CHECK(sends(text, "a file.txt") == nullptr);
    CHECK(sends(none, "a") == nullptr);
    CHECK(sends(text, none) == nullptr);
}
