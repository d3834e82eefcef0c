// SPDX-License-Identifier: MIT
/*
    number_real.cpp - Numbers with a fraction, and what kind they are. See mpr/string.h.
 */
#include <cmath>
#include <cstdlib>

#include "mpr/base/ascii.hpp"
#include "mpr/string.h"

using namespace mpr::base;

namespace {

cchar* skipSign(cchar* at) {
    return *at == '-' || *at == '+' ? at + 1 : at;
}

/** @return Behind the digits. */
cchar* skipDigits(cchar* at) {
    while (isDigit(*at)) {
        ++at;
    }
    return at;
}
} // namespace

double stof(cchar* str) {
    return str ? std::strtod(str, nullptr) : 0;
}

bool sfnumber(cchar* s) {
    if (!s) {
        return false;
    }
    cchar* const whole = skipSign(s);
    cchar* at = skipDigits(whole);
    bool any = at != whole;
    if (*at == '.') {
        cchar* const fraction = at + 1;
        at = skipDigits(fraction);
        any = any || at != fraction;
    }
    if (any && lower(*at) == 'e') {
        cchar* const exponent = skipSign(at + 1);
        at = skipDigits(exponent);
        any = at != exponent;
    }
    return any && *at == '\0';
}

int mprIsNan(double value) {
    return std::isnan(value) ? 1 : 0;
}

int mprIsInfinite(double value) {
    return std::isinf(value) ? 1 : 0;
}

int mprIsZero(double value) {
    return std::fpclassify(value) == FP_ZERO ? 1 : 0;
}
