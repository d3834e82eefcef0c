// SPDX-License-Identifier: MIT
/*
    test/base/string.cpp - Strings: measure, copy, compare, case, numbers.
 */
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace test;

namespace {

int sign(int order) {
    return (order > 0) - (order < 0);
}

constexpr cchar *none = nullptr;

} // namespace

TEST_CASE("slen", "[base][string]") {
    CHECK(slen(none) == 0);
    CHECK(slen("") == 0);
    CHECK(slen("abc") == 3);
    CHECK(slen("gr\xc3\xbc\xc3\x9f") == 6); /* bytes */
    CHECK(slen(std::string(1000000, 'x').c_str()) == 1000000);
}

TEST_CASE("sclone and snclone make managed copies of exact size", "[base][string]") {
    Runtime runtime;
    for (size_t length : {0, 1, 15, 16, 17, 1000, 1000000}) {
        std::string text(length, 'c');
        char *copy = sclone(text.c_str());
        REQUIRE(copy);
        CHECK(copy != text.c_str());
        CHECK(text == copy);
        CHECK(mprIsValid(copy));
        CHECK(mprGetBlockSize(copy) >= length + 1);
        CHECK(text == snclone(text.c_str(), static_cast<ssize>(length)));
        CHECK(text == snclone(text.c_str(), PTRDIFF_MAX));
        CHECK(text.substr(0, length / 2) == snclone(text.c_str(), static_cast<ssize>(length / 2)));
    }
    CHECK(std::string(sclone(none)) == "");
    CHECK(std::string(snclone(none, 5)) == "");
    CHECK(std::string(snclone("abc", 0)) == "");
    CHECK(std::string(snclone("abc", -1)) == "");
    const char raw[3] = {'a', 'b', 'c'}; /* no zero behind it */
    CHECK(std::string(snclone(raw, 3)) == "abc");
}

TEST_CASE("scopy and sncopy", "[base][string]") {
    char buffer[6] = "#####";
    CHECK(scopy(buffer, 6, "abcde") == 5);
    CHECK(std::string(buffer) == "abcde");
    CHECK(scopy(buffer, 6, "abcdef") == MPR_ERR_WONT_FIT);
    CHECK(std::string(buffer) == "abcde");
    CHECK(scopy(buffer, 1, "") == 0);
    CHECK(buffer[0] == '\0');
    CHECK(scopy(buffer, 6, none) == 0);
    CHECK(scopy(buffer, 0, "a") == MPR_ERR_BAD_ARGS);
    CHECK(scopy(buffer, -1, "a") == MPR_ERR_BAD_ARGS);
    CHECK(scopy(nullptr, 6, "a") == MPR_ERR_BAD_ARGS);
    CHECK(sncopy(buffer, 6, "abcdefgh", 3) == 3);
    CHECK(std::string(buffer) == "abc");
    CHECK(sncopy(buffer, 6, "ab", 3) == 2);
    CHECK(sncopy(buffer, 6, "abcdefgh", 6) == MPR_ERR_WONT_FIT);
    CHECK(sncopy(buffer, 6, "abcdefgh", -1) == 0);
    CHECK(sncopy(buffer, 6, none, 3) == 0);
    CHECK(scopy(buffer, 6, "abcde") == 5);
    CHECK(scopy(buffer + 1, 5, buffer) == MPR_ERR_WONT_FIT);
    CHECK(scopy(buffer, 6, buffer + 1) == 4); /* areas may overlap */
    CHECK(std::string(buffer) == "bcde");
}

TEST_CASE("scmp, sncmp, smatch", "[base][string]") {
    CHECK(scmp("a", "a") == 0);
    CHECK(scmp("a", "b") < 0);
    CHECK(scmp("b", "a") > 0);
    CHECK(scmp("a", "ab") < 0);
    CHECK(scmp("\x7f", "\x80") < 0); /* unsigned bytes */
    CHECK(scmp(none, none) == 0);
    CHECK(scmp(none, "") < 0);
    CHECK(scmp("", none) > 0);
    CHECK(sncmp("abc", "abd", 2) == 0);
    CHECK(sncmp("abc", "abd", 3) < 0);
    CHECK(sncmp("abc", "xyz", 0) == 0);
    CHECK(sncmp("abc", "xyz", -1) == 0);
    CHECK(sncmp(none, "abc", 3) < 0);
    CHECK(sncmp("abc", none, 3) > 0);
    CHECK(smatch("abc", "abc"));
    CHECK_FALSE(smatch("abc", "ABC"));
    CHECK_FALSE(smatch("abc", none));
    CHECK(smatch(none, none));
}

TEST_CASE("comparison without case", "[base][string]") {
    CHECK(scaselesscmp("Hello", "hELLO") == 0);
    CHECK(scaselesscmp("a", "B") < 0);
    CHECK(scaselesscmp("B", "a") > 0);
    CHECK(scaselesscmp("ab", "ABC") < 0);
    CHECK(scaselesscmp("[", "a") < 0); /* between Z and a */
    CHECK(scaselesscmp(none, "") < 0);
    CHECK(scaselesscmp("", none) > 0);
    CHECK(scaselesscmp(none, none) == 0);
    CHECK(sncaselesscmp("ABCx", "abcy", 3) == 0);
    CHECK(sncaselesscmp("ABCx", "abcy", 4) < 0);
    CHECK(sncaselesscmp("a", "a", 100) == 0);
    CHECK(scaselessmatch("\xc3\x84", "\xc3\x84"));
    CHECK_FALSE(scaselessmatch("\xc3\x84", "\xc3\xa4")); /* case is that of ASCII */
    Random random(3);
    for (int i = 0; i < 20000; i++) {
        char a[4] = {}, b[4] = {};
        for (int k = 0; k < 3; k++) {
            a[k] = "abAB\xc4["[random.below(6)];
            b[k] = "abAB\xc4["[random.below(6)];
        }
        REQUIRE(sign(scaselesscmp(a, b)) == sign(strcasecmp(a, b)));
        REQUIRE(sign(scmp(a, b)) == sign(strcmp(a, b)));
    }
}

TEST_CASE("case", "[base][string]") {
    Runtime runtime;
    CHECK(std::string(slower("HeLLo 123 \xc3\x84Z[")) == "hello 123 \xc3\x84z[");
    CHECK(std::string(supper("HeLLo 123 \xc3\xa4z{")) == "HELLO 123 \xc3\xa4Z{");
    CHECK(std::string(stitle("hello world")) == "Hello world");
    CHECK(std::string(stitle("HELLO")) == "HELLO");
    CHECK(std::string(stitle("1a")) == "1a");
    for (auto change : {slower, supper, stitle}) {
        CHECK(std::string(change("")) == "");
        CHECK(change(none) == nullptr);
        cchar *text = "abc";
        CHECK(change(text) != text);
    }
}

TEST_CASE("itos, itosradix, itosbuf", "[base][string]") {
    Runtime runtime;
    CHECK(std::string(itos(0)) == "0");
    CHECK(std::string(itos(-1)) == "-1");
    CHECK(std::string(itos(INT64_MAX)) == "9223372036854775807");
    CHECK(std::string(itos(INT64_MIN)) == "-9223372036854775808");
    CHECK(std::string(itosradix(255, 16)) == "ff");
    CHECK(std::string(itosradix(-255, 16)) == "-ff");
    CHECK(std::string(itosradix(8, 8)) == "10");
    CHECK(std::string(itosradix(INT64_MIN, 2)) == "-1" + std::string(63, '0'));
    CHECK(std::string(itosradix(35, 36)) == "z");
    for (int radix : {-1, 0, 1, 37}) {
        CHECK(itosradix(5, radix) == nullptr);
    }
    char buffer[8] = "#######";
    CHECK(itosbuf(buffer, 8, -123456, 10) == buffer);
    CHECK(std::string(buffer) == "-123456");
    CHECK(itosbuf(buffer, 8, 12345678, 10) == nullptr);
    CHECK(std::string(buffer) == "-123456");
    CHECK(itosbuf(buffer, 1, 1, 10) == nullptr);
    CHECK(itosbuf(buffer, 0, 1, 10) == nullptr);
    CHECK(itosbuf(nullptr, 8, 1, 10) == nullptr);
    CHECK(itosbuf(buffer, 8, 1, 99) == nullptr);
}

TEST_CASE("numbers there and back in every radix", "[base][string]") {
    Runtime runtime;
    Random random(7);
    for (int radix = 2; radix <= 36; radix++) {
        for (int i = 0; i < 300; i++) {
            auto value = static_cast<int64>((uint64_t(random.below(UINT32_MAX)) << 32 | random.below(UINT32_MAX)) >>
                                            random.below(64));
            value = random.below(2) ? -value : value;
            int err = 1;
            REQUIRE(stoiradix(itosradix(value, radix), radix, &err) == value);
            REQUIRE(err == 0);
        }
    }
}

TEST_CASE("stoi and stoiradix", "[base][string]") {
    struct {
        cchar *text;
        int radix;
        int64 value;
        int err;
    } cases[] = {
        {"0", 10, 0, 0},
        {"42", 10, 42, 0},
        {"-42", 10, -42, 0},
        {"+42", 10, 42, 0},
        {" \t\n42 \r\n", 10, 42, 0},
        {"0x1F", 10, 31, 0},
        {"0X1f", 0, 31, 0},
        {"-0x10", 10, -16, 0},
        {"0x1f", 16, 31, 0},
        {"1f", 16, 31, 0},
        {"017", 10, 17, 0},
        {"08", 10, 8, 0},
        {"-0123", 10, -123, 0},
        {"0000009223372036854775807", 10, INT64_MAX, 0},
        {"017", 0, 15, 0},
        {"0x17", 0, 23, 0},
        {"17", 0, 17, 0},
        {"017", 8, 15, 0},
        {"017", 16, 23, 0},
        {"0", 0, 0, 0},
        {"00", 10, 0, 0},
        {"101", 2, 5, 0},
        {"zZ", 36, 35 * 36 + 35, 0},
        {"9223372036854775807", 10, INT64_MAX, 0},
        {"-9223372036854775808", 10, INT64_MIN, 0},
        {"0x7fffffffffffffff", 10, INT64_MAX, 0},
        {"9223372036854775808", 10, INT64_MAX, MPR_ERR_BAD_VALUE},
        {"-9223372036854775809", 10, INT64_MIN, MPR_ERR_BAD_VALUE},
        {"99999999999999999999999999", 10, INT64_MAX, MPR_ERR_BAD_VALUE},
        {"36893488147419103232", 10, INT64_MAX, MPR_ERR_BAD_VALUE}, /* 2^65: wraps to 0 */
        {"-99999999999999999999999999", 10, INT64_MIN, MPR_ERR_BAD_VALUE},
        {"", 10, 0, MPR_ERR_BAD_SYNTAX},
        {" ", 10, 0, MPR_ERR_BAD_SYNTAX},
        {"-", 10, 0, MPR_ERR_BAD_SYNTAX},
        {"--1", 10, 0, MPR_ERR_BAD_SYNTAX},
        {"abc", 10, 0, MPR_ERR_BAD_SYNTAX},
        {"12abc", 10, 12, MPR_ERR_BAD_SYNTAX},
        {"12 34", 10, 12, MPR_ERR_BAD_SYNTAX},
        {"1.5", 10, 1, MPR_ERR_BAD_SYNTAX},
        {"0x", 10, 0, MPR_ERR_BAD_SYNTAX},
        {"0xg", 16, 0, MPR_ERR_BAD_SYNTAX},
        {"08", 0, 0, MPR_ERR_BAD_SYNTAX}, /* octal, as in C */
        {"08x", 10, 8, MPR_ERR_BAD_SYNTAX},
        {"2", 2, 0, MPR_ERR_BAD_SYNTAX},
        {"0b1", 2, 0, MPR_ERR_BAD_SYNTAX},
        {nullptr, 10, 0, MPR_ERR_BAD_SYNTAX},
        {"1", 1, 0, MPR_ERR_BAD_ARGS},
        {"1", 37, 0, MPR_ERR_BAD_ARGS},
        {"1", -10, 0, MPR_ERR_BAD_ARGS},
    };
    for (auto &c : cases) {
        INFO((c.text ? c.text : "NULL") << " radix " << c.radix);
        int err = 1;
        CHECK(stoiradix(c.text, c.radix, &err) == c.value);
        CHECK(err == c.err);
        CHECK(stoiradix(c.text, c.radix, nullptr) == c.value);
        if (c.radix == 10) {
            CHECK(stoi(c.text) == c.value);
        }
    }
}

TEST_CASE("stoiradix reads what strtoll reads", "[base][string]") {
    Random random(11);
    for (size_t i = 0; i < heavy(50000); i++) {
        char text[12] = {};
        for (size_t k = 0, length = random.below(11); k < length; k++) {
            text[k] = " -+0xX19afz"[random.below(11)];
        }
        for (int radix : {0, 2, 8, 16, 36}) {
            errno = 0;
            INFO('"' << text << "\" radix " << radix);
            REQUIRE(stoiradix(text, radix, nullptr) == strtoll(text, nullptr, radix));
        }
    }
}

TEST_CASE("snumber", "[base][string]") {
    for (auto text : {"0", "42", "-42", "+42", "007", "99999999999999999999999"}) {
        CHECK(snumber(text));
    }
    for (auto text : {"", "-", "+", "a", "4a", "4 ", " 4", "1.5", "0x1", "--1"}) {
        CHECK_FALSE(snumber(text));
    }
    CHECK_FALSE(snumber(none));
}

TEST_CASE("strings without memory are NULL", "[base][string]") {
    static unsigned char memory[64 << 10];
    Runtime runtime(memory, sizeof(memory));
    mprEnableGC(false);
    std::string text(4000, 't');
    while (sclone(text.c_str())) {}
    cchar *t = text.c_str();
    CHECK(snclone(t, 4000) == nullptr);
    CHECK(slower(t) == nullptr);
    CHECK(supper(t) == nullptr);
    CHECK(stitle(t) == nullptr);
    CHECK(strim(t, "x", MPR_TRIM_BOTH) == nullptr);
    CHECK(sjoin(t, t, NULL) == nullptr);
    CHECK(sjoinArgs(1, &t, ",") == nullptr);
    CHECK(sreplace(t, "t", "tt") == nullptr);
    CHECK(sfmt("%s", t) == nullptr);
    CHECK(mprEscapeHtml(t) == nullptr);
    CHECK(mprUriDecode(t) == nullptr);
    CHECK(mprGetRandomString(4000) == nullptr);
    cchar **argv = &t;
    CHECK(mprMakeArgv(t, &argv, 0) == MPR_ERR_MEMORY);
    CHECK(argv == nullptr);
    CHECK(mprCreateBuf(4000, 0) == nullptr);
}
