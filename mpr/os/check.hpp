// SPDX-License-Identifier: MIT
/*
    check.hpp - Invariants that are checked while running, in builds with MPR_CHECKED.

    In other builds an assertion is compiled, so that it cannot go stale, and costs nothing: what it asks is never computed.
    One that fails says so in one line of the log, and aborts.
 */
#pragma once

#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"

namespace mpr::os {

#ifdef MPR_CHECKED
inline constexpr bool checked = true;
#else
inline constexpr bool checked = false;
#endif

/** How many locks the calling thread holds that it may not call foreign code with: counted in checked builds. */
extern constinit MPR_PER_THREAD unsigned locksHeld;

[[noreturn, gnu::cold]] inline void assertionFailed(const char* expression, const char* file, int line) {
    Message message;
    deliver(Level::error, message << "assertion failed: " << expression << " (" << file << ":" << line << ", thread "
                                  << threadNumber() << ")");
    abort();
}

/** For an assertion that is a function: its caller's place is named. */
inline void check(bool holds, const char* expression, const char* file, int line) {
    if (!holds) [[unlikely]] {
        assertionFailed(expression, file, line);
    }
}

/**
    The calling thread may call what the program has given the runtime: a handler of messages, a manager, a notifier. That may
    call the runtime in turn, so the thread holds no lock that a function of the runtime takes.
 */
inline void assertUnlocked([[maybe_unused]] const char* file = __builtin_FILE(),
                           [[maybe_unused]] int line = __builtin_LINE()) {
    if constexpr (checked) {
        check(locksHeld == 0, "the thread holds no lock", file, line);
    }
}

} // namespace mpr::os

/* A macro because no function sees the text of an expression. */
#define MPR_ASSERT(...) \
    (!::mpr::os::checked || (__VA_ARGS__) ? static_cast<void>(0) \
                                          : ::mpr::os::assertionFailed(#__VA_ARGS__, __FILE__, __LINE__))
