// SPDX-License-Identifier: MIT
/*
    test/support/dies.hpp - What ends the process, tried in a child that is forked on the spot.

    For assertions: the child is a copy of the calling thread alone, so what it does must not need others.
 */
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include "mpr/os/log.hpp"
#include "test/support/process.hpp"

namespace test {

/* @return Whether the call writes a text to standard error and then aborts. */
template <class Call>
bool failsWith(const char *text, Call call) {
    const Ended ended = inChild([&] {
        mpr::os::setLogHandler(nullptr);
        signal(SIGABRT, SIG_DFL);
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        call();
    });
    return ended.killed(SIGABRT) && ended.wrote(text);
}

} // namespace test
