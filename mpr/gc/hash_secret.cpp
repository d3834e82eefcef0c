// SPDX-License-Identifier: MIT
/*
    hash_secret.cpp - The number by which hash tables of programs are keyed. See mprGetHashSecret.
 */
#include "mpr/memory.h"
#include "mpr/os/lock.hpp"
#include "mpr/os/os.hpp"

namespace os = mpr::os;

namespace {
constinit os::Lock lock;
unsigned long long secret MPR_GUARDED_BY(lock) = 0; // 0: not drawn
} // namespace

unsigned long long mprGetHashSecret() {
    os::Locked locked(lock);
    while (secret == 0) {
        if constexpr (os::hasThreads) {
            os::seed(&secret, sizeof(secret));
        } else {
            secret = 0x9E3779B97F4A7C15u;
        }
    }
    return secret;
}
