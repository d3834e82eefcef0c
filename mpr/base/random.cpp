// SPDX-License-Identifier: MIT
/*
    random.cpp - Randomness from the system. See mpr/app.h.
 */
#include <algorithm>
#include <climits>

#include "mpr/app.h"
#include "mpr/base/retain.hpp"
#include "mpr/base/string.hpp"
#include "mpr/collect.h"
#include "mpr/memory.h"
#include "mpr/os/os.hpp"

namespace os = mpr::os;

int mprGetRandomBytes(char* buf, ssize size, bool block) {
    if (!buf || size < 0) {
        return MPR_ERR_BAD_ARGS;
    }
    const auto count = static_cast<std::size_t>(size);
    if (os::random(buf, count, block ? os::Entropy::ready : os::Entropy::any)) {
        return 0;
    }
    bool filled = false;
    if (block) {
        const mpr::base::Hold held(buf);
        mprYield(MPR_YIELD_STICKY);
        filled = os::random(buf, count, os::Entropy::wait);
        mprResetYield();
    }
    return filled ? 0 : MPR_ERR_CANT_READ;
}

int mprRandom(void) {
    unsigned number = 0;
    mprGetRandomBytes(reinterpret_cast<char*>(&number), sizeof(number), false);
    return static_cast<int>(number & INT_MAX);
}

char* mprGetRandomString(ssize size) {
    static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    static_assert(sizeof(letters) - 1 == 62);
    if (size < 0) {
        return nullptr;
    }
    const auto length = static_cast<std::size_t>(size);
    char* string = mpr::base::newString(length);
    // Six bits a letter; the two values too many are thrown away, or some letters would come more often.
    for (std::size_t at = 0; string && at < length;) {
        uchar bytes[128];
        const std::size_t count = std::min(sizeof(bytes), length - at);
        if (!os::random(bytes, count, os::Entropy::any)) {
            return nullptr;
        }
        for (std::size_t i = 0; i < count; ++i) {
            const unsigned value = bytes[i] & 63u;
            if (value < sizeof(letters) - 1) {
                string[at++] = letters[value];
            }
        }
    }
    return string;
}
