// SPDX-License-Identifier: MIT
/*
    number.cpp - Numbers to strings and back. See mpr/string.h.
 */
#include <charconv>
#include <climits>

#include "mpr/base/ascii.hpp"
#include "mpr/base/string.hpp"
#include "mpr/string.h"

using namespace mpr::base;

namespace {

constexpr int leastRadix = 2, greatestRadix = 36;
constexpr std::size_t longest = 1 + CHAR_BIT * sizeof(int64); // a sign and binary digits

/** @return Its length, 0 for a bad radix. */
std::size_t convert(char (&out)[longest], int64 value, int radix) {
    if (radix < leastRadix || radix > greatestRadix) {
        return 0;
    }
    return static_cast<std::size_t>(std::to_chars(out, out + longest, value, radix).ptr - out);
}

/** Digits of a number that is being read, kept within bounds. */
class Reader {
public:
    Reader(int radix, bool negative)
        : radix_(static_cast<uint64>(radix)), limit_(uint64{INT64_MAX} + (negative ? 1 : 0)) {}

    void add(int digit) {
        if (__builtin_mul_overflow(value_, radix_, &value_) ||
            __builtin_add_overflow(value_, static_cast<uint64>(digit), &value_) || value_ > limit_) {
            overflowed_ = true;
        }
    }
    bool overflowed() const { return overflowed_; }
    uint64 value() const { return overflowed_ ? limit_ : value_; }

private:
    const uint64 radix_, limit_;
    uint64 value_ = 0;
    bool overflowed_ = false;
};

/** Step over a prefix that decides about the radix. A prefix without a digit behind it is none. */
cchar* skipPrefix(cchar* at, int& radix) {
    const bool hexadecimal = at[0] == '0' && lower(at[1]) == 'x' && digitValue(at[2]) < 16;
    if ((radix == 0 || radix == 10 || radix == 16) && hexadecimal) {
        radix = 16;
        return at + 2;
    }
    if (radix == 0) {
        radix = at[0] == '0' && isDigit(at[1]) ? 8 : 10;
    }
    return at;
}
} // namespace

char* itosbuf(char* buf, ssize size, int64 value, int radix) {
    char digits[longest];
    const std::size_t length = convert(digits, value, radix);
    if (length == 0) {
        return nullptr;
    }
    return sncopy(buf, size, digits, static_cast<ssize>(length)) < 0 ? nullptr : buf;
}

char* itosradix(int64 value, int radix) {
    char digits[longest];
    const std::size_t length = convert(digits, value, radix);
    return length > 0 ? newString(digits, length) : nullptr;
}

char* itos(int64 value) {
    return itosradix(value, 10);
}

int64 stoiradix(cchar* str, int radix, int* err) {
    int ignored;
    int& status = err ? *err : ignored;
    status = MPR_ERR_BAD_ARGS;
    if (radix != 0 && (radix < leastRadix || radix > greatestRadix)) {
        return 0;
    }
    status = MPR_ERR_BAD_SYNTAX;
    if (!str) {
        return 0;
    }
    while (isBlank(*str)) {
        ++str;
    }
    const bool negative = *str == '-';
    if (*str == '-' || *str == '+') {
        ++str;
    }
    str = skipPrefix(str, radix);
    Reader reader(radix, negative);
    cchar* const digits = str;
    for (; digitValue(*str) < radix; ++str) {
        reader.add(digitValue(*str));
    }
    cchar* rest = str;
    while (isBlank(*rest)) {
        ++rest;
    }
    if (str != digits && *rest == '\0') {
        status = reader.overflowed() ? MPR_ERR_BAD_VALUE : 0;
    }
    return static_cast<int64>(negative ? 0 - reader.value() : reader.value());
}

int64 stoi(cchar* str) {
    return stoiradix(str, 10, nullptr);
}

bool snumber(cchar* s) {
    if (!s) {
        return false;
    }
    if (*s == '-' || *s == '+') {
        ++s;
    }
    cchar* const digits = s;
    while (isDigit(*s)) {
        ++s;
    }
    return s != digits && *s == '\0';
}
