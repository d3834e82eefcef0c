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

[[noreturn, gnu::cold]] inline void assertionFailed(const char* expression, const char* file, int line) {
    Message message;
    log(Level::error, message << "assertion failed: " << expression << " (" << file << ":" << line << ", thread "
                              << threadNumber() << ")");
    abort();
}

/** For an assertion that is a function: its caller's place is named. */
inline void check(bool holds, const char* expression, const char* file, int line) {
    if (!holds) [[unlikely]] {
        assertionFailed(expression, file, line);
    }
}

} // namespace mpr::os

/* A macro because no function sees the text of an expression. */
#define MPR_ASSERT(...) \
    (!::mpr::os::checked || (__VA_ARGS__) ? static_cast<void>(0) \
                                          : ::mpr::os::assertionFailed(#__VA_ARGS__, __FILE__, __LINE__))
