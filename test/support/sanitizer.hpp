/*
    test/support/sanitizer.hpp - Which sanitizer this binary was built with, so that heavy loops can be smaller there.
 */
#pragma once

#include <cstddef>

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

/* The count of a heavy loop: the whole of it, a tenth under a sanitizer, or a hundredth with a collection at every yield. */
inline size_t heavy(size_t count) {
    const size_t part = everyYield() ? 100 : sanitized ? 10 : 1;
    return (count + part - 1) / part;
}

} // namespace test
