// SPDX-License-Identifier: MIT
/*
    test/base/format.cpp - The conversions: the same text as the C library's, and what it leaves open.
*/
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <cfloat>
#include <climits>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

using namespace test;

namespace {

std::string own(const char *form, ...) {
    va_list args;
    va_start(args, form);
    char *text = sfmtv(form, args);
    va_end(args);
    return text ? text : "(no memory)";
}

/* Random conversions of one type, with the flags that C defines for it. */
class Conversion {
public:
    Conversion(Random &source, const char *sizes, const char *types) : random(source) {
        text = "<%";
        const char *type = types + random.below(strlen(types));
        bool text_like = strchr("sc", *type), number = strchr("di", *type), real = strchr("feEgGaAF", *type);
        for (const char *flag = "-+ #0"; *flag; flag++) {
            bool fits = *flag == '-' || (*flag == '#'   ? !text_like && !number && *type != 'u'
                                         : *flag == '0' ? !text_like
                                                        : number || real);
            if (fits && random.below(4) == 0) {
                text += *flag;
            }
        }
        width = static_cast<int>(random.below(60)) - 20;
        switch (random.below(3)) {
        case 0: break;
        case 1:
            text += "*";
            stars = 1;
            break;
        default: text += std::to_string(width < 0 ? 0 : width); break;
        }
        if (width < 0 && !stars) {
            text.pop_back(); /* the 0 would be a flag */
        }
        precision = static_cast<int>(random.below(50)) - 10;
        if (*type != 'c') {
            switch (random.below(5)) {
            case 0:
            case 1: break;
            case 2: text += "."; break;
            case 3:
                text += ".*";
                stars |= 2;
                break;
            default: text += "." + std::to_string(precision < 0 ? 0 : precision); break;
            }
        }
        text += sizes;
        text += *type;
        text += ">";
    }

    template <class Value>
    bool agrees(Value value) {
        char expected[8192];
        std::string got;
        switch (stars) {
        case 0:
            snprintf(expected, sizeof(expected), text.c_str(), value);
            got = own(text.c_str(), value);
            break;
        case 1:
            snprintf(expected, sizeof(expected), text.c_str(), width, value);
            got = own(text.c_str(), width, value);
            break;
        case 2:
            snprintf(expected, sizeof(expected), text.c_str(), precision, value);
            got = own(text.c_str(), precision, value);
            break;
        default:
            snprintf(expected, sizeof(expected), text.c_str(), width, precision, value);
            got = own(text.c_str(), width, precision, value);
            break;
        }
        if (got != expected) {
            UNSCOPED_INFO(text << " width " << width << " precision " << precision << ": " << got << " instead of "
                               << expected);
        }
        return got == expected;
    }

private:
    Random &random;
    std::string text;
    int stars = 0, width = 0, precision = 0;
};

uint64_t anyBits(Random &random) {
    switch (random.below(5)) {
    case 0: return random.below(3);
    case 1: return ~random.below(3);
    case 2: return uint64_t(1) << random.below(64);
    case 3: return (uint64_t(1) << random.below(64)) - 1;
    default: return (uint64_t(random.below(UINT32_MAX)) << 32 | random.below(UINT32_MAX)) >> random.below(64);
    }
}

double anyDouble(Random &random) {
    switch (random.below(8)) {
    case 0: return 0;
    case 1: return -0.0;
    case 2: return static_cast<double>(static_cast<int64_t>(anyBits(random)));
    case 3: return static_cast<double>(random.below(1000000)) / 1000;
    case 4: return random.below(2) ? DBL_MAX : -DBL_TRUE_MIN;
    case 5: return random.below(2) ? HUGE_VAL : -HUGE_VAL;
    case 6: return std::numeric_limits<double>::quiet_NaN();
    default: {
        uint64_t bits = anyBits(random);
        double value;
        memcpy(&value, &bits, sizeof(value));
        return std::isnan(value) ? 1.5 : value;
    }
    }
}

template <class Value, class Make>
int disagreements(uint64_t seed, const char *sizes, const char *types, Make make) {
    Random random(seed);
    int wrong = 0;
    for (size_t i = 0; i < heavy(20000); i++) {
        Conversion conversion(random, sizes, types);
        wrong += !conversion.agrees(static_cast<Value>(make(random)));
        if (i % 64 == 0) {
            mprYield(0);
        }
    }
    return wrong;
}

} // namespace

TEST_CASE("integers come as from the C library", "[base][format]") {
    Runtime runtime;
    CHECK(disagreements<int>(1, "", "diuoxX", anyBits) == 0);
    CHECK(disagreements<int>(2, "h", "diuoxX", anyBits) == 0);
    CHECK(disagreements<int>(3, "hh", "diuoxX", anyBits) == 0);
    CHECK(disagreements<long>(4, "l", "diuoxX", anyBits) == 0);
    CHECK(disagreements<long long>(5, "ll", "diuoxX", anyBits) == 0);
    CHECK(disagreements<size_t>(6, "z", "diuoxX", anyBits) == 0);
    CHECK(disagreements<intmax_t>(7, "j", "diuoxX", anyBits) == 0);
    CHECK(disagreements<ptrdiff_t>(8, "t", "diuoxX", anyBits) == 0);
}

TEST_CASE("floating-point numbers come as from the C library", "[base][format]") {
    Runtime runtime;
    CHECK(disagreements<double>(11, "", "fFeEgGaA", anyDouble) == 0);
    CHECK(disagreements<double>(12, "l", "fFeEgGaA", anyDouble) == 0);
    CHECK(disagreements<long double>(13, "L", "fFeEgGaA", anyDouble) == 0);
}

TEST_CASE("strings and characters come as from the C library", "[base][format]") {
    Runtime runtime;
    static const char *texts[] = {"", "a", "hello", "a longer text, longer than most widths", "gr\xc3\xbc\xc3\x9f"};
    CHECK(disagreements<const char *>(21, "", "s", [](Random &random) { return texts[random.below(5)]; }) == 0);
    CHECK(disagreements<int>(22, "", "c", [](Random &random) { return 1 + random.below(255); }) == 0);
}

TEST_CASE("several conversions take their arguments in order", "[base][format]") {
    Runtime runtime;
    char expected[512];
    const char *form = "%d %s|%5.2f|%-6s|%c%%%lld %#x %hhd %Lg %zu %s";
    snprintf(expected, sizeof(expected), form, -1, "two", 3.14159, "four", 'x', 1LL << 40, 255, 300, 1.25L, size_t(7),
             "end");
    CHECK(own(form, -1, "two", 3.14159, "four", 'x', 1LL << 40, 255, 300, 1.25L, size_t(7), "end") == expected);
    CHECK(own("%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == "12345678910");
    CHECK(own("%g %g %g %g %g %g %g %g %g %g", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.) == "1 2 3 4 5 6 7 8 9 10");
}

TEST_CASE("text without conversions is copied", "[base][format]") {
    Runtime runtime;
    CHECK(own("") == "");
    CHECK(own("plain") == "plain");
    CHECK(own("100%%") == "100%");
    CHECK(own("%%%%") == "%%");
    const char *none = nullptr;
    CHECK(own(none) == "");
    std::string large(100000, 'x');
    CHECK(own(large.c_str()) == large);
}

TEST_CASE("64-bit sizes", "[base][format]") {
    Runtime runtime;
    CHECK(own("%Ld %Lu %Lx", INT64_MIN, UINT64_MAX, UINT64_MAX) ==
          "-9223372036854775808 18446744073709551615 ffffffffffffffff");
    CHECK(own("%qd", int64_t(1) << 62) == "4611686018427387904");
    CHECK(own("%lld %llo", INT64_MAX, UINT64_MAX) == "9223372036854775807 1777777777777777777777");
}

TEST_CASE("thousands", "[base][format]") {
    Runtime runtime;
    CHECK(own("%'d %'d %'d %'d", 0, 999, 1000, -1234567) == "0 999 1,000 -1,234,567");
    CHECK(own("%,d", 1234567) == "1,234,567");
    CHECK(own("%'u", UINT_MAX) == "4,294,967,295");
    CHECK(own("%'Ld", INT64_MIN) == "-9,223,372,036,854,775,808");
    CHECK(own("[%'10d] [%-'10d] [%+'d]", 12345, 12345, 12345) == "[    12,345] [12,345    ] [+12,345]");
    CHECK(own("%'.7d", 1234) == "0,001,234");
    CHECK(own("%'010d", 1234) == "000001,234");
    CHECK(own("%'x", 0x1234567) == "1234567");
    CHECK(own("%'.2f %'f", 1234567.891, -1000.5) == "1,234,567.89 -1,000.500000");
    CHECK(own("%'.0f %'g %'e", 999999.0, 123456.0, 123456.0) == "999,999 123,456 1.234560e+05");
    CHECK(own("%'f", HUGE_VAL) == "inf");
}

TEST_CASE("NULL strings and pointers", "[base][format]") {
    Runtime runtime;
    const char *none = nullptr;
    CHECK(own("%s", none) == "null");
    CHECK(own("[%6s] [%-6s] [%.2s]", none, none, none) == "[  null] [null  ] [nu]");
    CHECK(own("%S", static_cast<const wchar_t *>(nullptr)) == "null");
    CHECK(own("%p", static_cast<void *>(nullptr)) == "0x0");
    CHECK(own("%p", reinterpret_cast<void *>(uintptr_t(0xbeef))) == "0xbeef");
    CHECK(own("[%10p] [%-10p]", reinterpret_cast<void *>(uintptr_t(0xbeef)), reinterpret_cast<void *>(uintptr_t(1))) ==
          "[    0xbeef] [0x1       ]");
}

TEST_CASE("a precision makes an unterminated string safe", "[base][format]") {
    Runtime runtime;
    auto raw = static_cast<char *>(malloc(4)); /* where a sanitizer sees a read too far */
    memcpy(raw, "abcd", 4);
    CHECK(own("%.4s|%.2s|%.*s", raw, raw, 3, raw) == "abcd|ab|abc");
    free(raw);
    CHECK(own("%.0s", static_cast<const char *>("x")) == "");
}

TEST_CASE("%@ is a managed string, which ends with its block", "[base][format]") {
    Runtime runtime;
    CHECK(own("%@ %d", sclone("text"), 5) == "text 5");
    CHECK(own("[%6@] [%-6@] [%.2@]", sclone("text"), sclone("text"), sclone("text")) == "[  text] [text  ] [te]");
    CHECK(own("%@|%@", static_cast<char *>(nullptr), sclone("")) == "null|");
    CHECK(own("%@", static_cast<const char *>("no block")) == "no block");
    auto raw = static_cast<char *>(mprAlloc(24));
    const size_t size = mprGetBlockSize(raw);
    memset(raw, 'x', size);
    CHECK(own("%@", raw) == std::string(size, 'x'));
    CHECK(own("%.1000@|%.3@", raw, raw) == std::string(size, 'x') + "|xxx");
}

TEST_CASE("wide characters come as UTF-8", "[base][format]") {
    Runtime runtime;
    CHECK(own("%ls|%S", L"gr\u00fc\u00df", L"\u20ac\U0001f600") == "gr\xc3\xbc\xc3\x9f|\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK(own("%lc%C", wint_t(0xe4), wint_t(0x20ac)) == "\xc3\xa4\xe2\x82\xac");
    /* The precision counts bytes, and no character is cut. */
    CHECK(own("%.4ls|", L"\u20ac\u20ac") == "\xe2\x82\xac|");
    CHECK(own("%.6ls|", L"\u20ac\u20ac") == "\xe2\x82\xac\xe2\x82\xac|");
    CHECK(own("[%5ls] [%-5ls]", L"\u20ac", L"\u20ac") == "[  \xe2\x82\xac] [\xe2\x82\xac  ]");
    const wchar_t bad[] = {wchar_t(0xd800), wchar_t(0x110000), 0};
    CHECK(own("%ls", bad) == "\xef\xbf\xbd\xef\xbf\xbd");
    const wchar_t edges[] = {0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff, 0};
    CHECK(own("%ls", edges) == "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}

TEST_CASE("bytes of UTF-8 pass through %s", "[base][format]") {
    Runtime runtime;
    CHECK(own("%s", "\xe2\x82\xac") == "\xe2\x82\xac");
    CHECK(own("%.2s", "\xe2\x82\xac") == "\xe2\x82"); /* bytes, as in C */
}

TEST_CASE("%n writes nothing", "[base][format]") {
    Runtime runtime;
    int value = 77;
    CHECK(own("ab%ncd%d", &value, 5) == "abcd5");
    CHECK(own("%hhn%lln%d", &value, &value, 6) == "6");
    CHECK(value == 77);
}

TEST_CASE("what is no conversion is copied as it stands", "[base][format]") {
    Runtime runtime;
    CHECK(own("%y %d", 4) == "%y 4");
    CHECK(own("%-5k|%y|%!") == "%-5k|%y|%!");
    CHECK(own("50%") == "50%");
    CHECK(own("%5") == "%5");
    CHECK(own("%-08.3l") == "%-08.3l");
    CHECK(own("%1$d", 4) == "%1$d");
}

TEST_CASE("widths and precisions at the edges", "[base][format]") {
    Runtime runtime;
    CHECK(own("%*d|%-*d|%*d|", 5, 1, 5, 1, -5, 1) == "    1|1    |1    |");
    CHECK(own("%.*d", -1, 0) == "0");
    CHECK(own("[%.0d] [%.d] [%#.0o] [%#.0x]", 0, 0, 0, 0) == "[] [] [0] []");
    CHECK(own("%2000d", 7) == std::string(1999, ' ') + "7");
    CHECK(own("%.2000d", 7) == std::string(1999, '0') + "7");
    CHECK(own("%-2000d|", 7) == "7" + std::string(1999, ' ') + "|");
    CHECK(own("%.3000f", 0.5) == "0.5" + std::string(2999, '0'));
    CHECK(own("%.1000Lf", LDBL_MAX).size() > 1300);
    CHECK(own("%1000000s", "x").size() == 1000000);
}

TEST_CASE("a width or precision makes a megabyte at most; text beyond all memory is an error, no crash",
          "[base][format]") {
    Runtime runtime;
    mprSetMemLimits(0, 64 << 20, -1);
    std::string wide(2 << 20, 'x');
    CHECK(slen(sfmt("%99999999999999999999d", 1)) == 1 << 20);
    CHECK(slen(sfmt("%*d|", INT_MIN, 1)) == (1 << 20) + 1);
    CHECK(slen(sfmt("%.2147483647d", 1)) == 1 << 20);
    CHECK(slen(sfmt("%.2147483647f", 1.5)) == (1 << 20) + 2);
    CHECK(slen(sfmt("%.2147483647s", wide.c_str())) == 2 << 20); // a bound of text, which pads nothing
    CHECK(slen(sfmt("%1048577s", wide.c_str())) == 2 << 20);
    wide.assign(65 << 20, 'x');
    CHECK(sfmt("%s", wide.c_str()) == nullptr);
    char buffer[8];
    CHECK(std::string(fmt(buffer, sizeof(buffer), "%99999999999999999999d", 1)) == "       ");
    mprSetMemLimits(0, 0, -1);
    CHECK(own("%d", 1) == "1");
}

TEST_CASE("great precisions come as from the C library", "[base][format]") {
    Random random(5);
    Runtime runtime;
    const double values[] = {0, -0.0, 1, 0.1, -1.5, 1e308, DBL_MIN, 5e-324, DBL_MAX, 123456789.125, INFINITY, NAN};
    for (size_t i = 0; i < heavy(20000); i++) {
        std::string form = "<%";
        for (const char *flag = "-+ #0"; *flag; flag++) {
            if (random.below(4) == 0) {
                form += *flag;
            }
        }
        form += random.below(2) ? std::to_string(1 + random.below(2500)) : "";
        form += "." + std::to_string(1000 + random.below(300));
        const char type = "feEgGaAF"[random.below(8)];
        char expected[4000];
        const double value = values[random.below(12)];
        INFO(form << type << " of " << value);
        snprintf(expected, sizeof(expected), (form + type + ">").c_str(), value);
        REQUIRE(own((form + type + ">").c_str(), value) == expected);
        if (i % 64 == 0) {
            std::vector<char> large(40000);
            const int precision = 16300 + static_cast<int>(random.below(400));
            form = form.substr(0, form.find('.')) + ".*L" + type + ">";
            const long double wide = random.below(2) ? LDBL_MIN / 3 : static_cast<long double>(value);
            snprintf(large.data(), large.size(), form.c_str(), precision, wide);
            REQUIRE(own(form.c_str(), precision, wide) == large.data());
        }
        mprYield(0);
    }
}

/* What one of these took before: from one second to a minute. Thousands of them do not end then. */
TEST_CASE("a width or precision costs no more than there is room for", "[base][format]") {
    Runtime runtime; /* with its watchdog */
    char text[64];
    const std::string zeros(63, '0'), blanks(63, ' ');
    std::string grouped = "0";
    while (grouped.size() < 63) {
        grouped += ",000";
    }
    grouped.resize(63);
    for (int i = 0; i < 1000; i++) {
        CHECK(fmt(text, sizeof(text), "%'.2147483647d", 7) == grouped);
        CHECK(fmt(text, sizeof(text), "%.2147483647x", 7) == zeros);
        CHECK(fmt(text, sizeof(text), "%.300000000f", 0.0) == "0." + zeros.substr(2));
        CHECK(fmt(text, sizeof(text), "%.2147483647e", 1.0) == "1." + zeros.substr(2));
        CHECK(fmt(text, sizeof(text), "%#.2147483647g", 1.0) == "1." + zeros.substr(2));
        CHECK(fmt(text, sizeof(text), "%.2147483647g", 1.0) == std::string("1"));
        CHECK(fmt(text, sizeof(text), "%.2147483647Lf", 0.0L) == "0." + zeros.substr(2));
        CHECK(fmt(text, sizeof(text), "%.2147483647a", 0.0) == "0x0." + zeros.substr(4));
        CHECK(fmt(text, sizeof(text), "%2147483647.2147483647s", "x") == blanks);
        CHECK(fmt(text, sizeof(text), "%-2147483647cy", 'x') == "x" + blanks.substr(1));
        CHECK(fmt(text, sizeof(text), "%*.*f%*d", INT_MIN, INT_MAX, 0.5, INT_MAX, 1) == "0.5" + zeros.substr(3));
        CHECK(fmt(text, sizeof(text), "%2147483647ls", L"x") == blanks);
        CHECK(fmt(text, sizeof(text), "%2147483647p", text) == blanks);
    }
}

TEST_CASE("a long number needs no runtime", "[base][format]") {
    Log log;
    char text[2000];
    CHECK(slen(fmt(text, sizeof(text), "%.1074f", -DBL_MAX)) == 1 + 309 + 1 + 1074);
    CHECK(slen(fmt(text, sizeof(text), "%+#.1500e", 5e-324)) == 3 + 1500 + 5);
    CHECK(Log::text() == "");
}

TEST_CASE("a precision takes no memory besides the result", "[base][format]") {
    Runtime runtime;
    const size_t before = mprGetMem();
    char text[64];
    for (int i = 0; i < 100; i++) {
        fmt(text, sizeof(text), "%.2147483647f", 1e300);
    }
    CHECK(mprGetMem() < before + (1 << 20));
    CHECK(slen(sfmt("%.1000000f", 1e300)) == 301 + 1 + 1000000);
    CHECK(std::string(sfmt("%.1100e", 1.0)) == "1." + std::string(1100, '0') + "e+00");
}

TEST_CASE("the result is a managed block of exact size", "[base][format]") {
    Runtime runtime;
    for (size_t length : {0, 1, 14, 15, 16, 17, 100, 478, 479, 480, 481, 482, 1000, 5000, 100000}) {
        std::string text(length, 'y');
        char *result = sfmt("%s", text.c_str());
        REQUIRE(result);
        CHECK(text == result);
        CHECK(mprIsValid(result));
        CHECK(mprGetBlockSize(result) >= length + 1);
        CHECK(mprGetBlockSize(result) < length + 1 + 64);
        CHECK(sfmt("%sz", text.c_str()) == text + "z");
    }
}

TEST_CASE("a million characters in small pieces", "[base][format]") {
    Runtime runtime;
    std::string form;
    for (int i = 0; i < 10000; i++) {
        form +=
            "%%0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";
    }
    std::string got = own(form.c_str());
    CHECK(got.size() == 1010000);
    CHECK(got.substr(1010000 - 101) == "%" + form.substr(2, 100));
}

TEST_CASE("an embedded zero counts", "[base][format]") {
    Runtime runtime;
    char *text = sfmt("a%cb", 0);
    CHECK(memcmp(text, "a\0b", 4) == 0);
}

TEST_CASE("fmt cuts, terminates and returns its buffer", "[base][format]") {
    char buffer[64], expected[64];
    Random random(5);
    for (int i = 0; i < 2000; i++) {
        size_t size = 1 + random.below(sizeof(buffer));
        int width = static_cast<int>(random.below(40));
        memset(buffer, '#', sizeof(buffer));
        CHECK(fmt(buffer, static_cast<ssize>(size), "%*d %s %.3f", width, width, "text", 2.5) == buffer);
        snprintf(expected, size, "%*d %s %.3f", width, width, "text", 2.5);
        REQUIRE(std::string(buffer) == expected);
        for (size_t at = size; at < sizeof(buffer); at++) {
            REQUIRE(buffer[at] == '#');
        }
    }
    CHECK(fmt(nullptr, 10, "x") == nullptr);
    CHECK(fmt(buffer, 0, "x") == nullptr);
    CHECK(fmt(buffer, -1, "x") == nullptr);
}

TEST_CASE("every allocation may fail: the result is NULL and nothing is lost", "[base][format]") {
    static unsigned char memory[128 << 10];
    Runtime runtime(memory, sizeof(memory));
    mprEnableGC(false);
    std::string text(20000, 't');
    int made = 0;
    while (sfmt("%s", text.c_str())) {
        made++;
        REQUIRE(made < 100);
    }
    CHECK(made > 0);
    uint64 before = stats().bytesLive;
    CHECK(sfmt("%s%s", text.c_str(), text.c_str()) == nullptr);
    CHECK(stats().bytesLive == before);
    mprEnableGC(true);
    collect();
    CHECK(sfmt("%s", text.c_str()));
}
