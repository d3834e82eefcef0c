// SPDX-License-Identifier: MIT
/*
    test/support/sanitizer.hpp - Which sanitizer this binary was built with, and whether an emulator runs it, so that heavy
    loops can be smaller there.
 */
#pragma once

#include <cstddef>
#include <cstdlib>

#include "test/support/every_yield.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define TEST_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define TEST_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_THREAD_SANITIZER 1
#endif
#endif

namespace test {

#ifdef TEST_ADDRESS_SANITIZER
inline constexpr bool addressSanitizer = true;
#else
inline constexpr bool addressSanitizer = false;
#endif

#ifdef TEST_THREAD_SANITIZER
inline constexpr bool threadSanitizer = true;
#else
inline constexpr bool threadSanitizer = false;
#endif

inline constexpr bool sanitized = addressSanitizer || threadSanitizer;

/* Whether threads are delayed at random (mpr/os/delay.hpp): how long they take, and who sleeps, says nothing then. */
#ifdef MPR_DELAYS
inline constexpr bool delayed = true;
#else
inline constexpr bool delayed = false;
#endif

/* The command that runs programs of this architecture here, or NULL where the machine does so itself. Set by the build. */
inline const char *emulator() {
    return getenv("MPR_TEST_EMULATOR");
}

/* A sanitizer, an emulator or a simulated board (which sets the variable) is ten times slower. */
inline bool slow() {
    return sanitized || emulator() || getenv("MPR_TEST_SLOW");
}

/* The count of a heavy loop: the whole of it, a tenth where everything is slow, a hundredth when each yield collects. */
inline size_t heavy(size_t count) {
    const size_t part = inTrial() ? 100 : slow() ? 10 : 1;
    return (count + part - 1) / part;
}

} // namespace test
