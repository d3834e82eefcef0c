// SPDX-License-Identifier: MIT
/*
    test/support/pattern.hpp - Deterministic random numbers, and block contents that can be recognised later.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace test {

/* splitmix64 (Steele, Lea and Flood, 2014). */
class Random {
public:
    explicit Random(uint64_t seed) : state(seed) {}

    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /* From 0 to limit - 1. */
    size_t below(size_t limit) { return static_cast<size_t>(next() % limit); }
    bool chance(unsigned percent) { return below(100) < percent; }

private:
    uint64_t state;
};

inline unsigned char patternByte(uint64_t seed, size_t at) {
    return static_cast<unsigned char>(seed + at * 7 + (at >> 8));
}

/* Fill bytes [from, size) of a block with the pattern of a seed. */
inline void fill(void *ptr, size_t size, uint64_t seed, size_t from = 0) {
    auto bytes = static_cast<unsigned char *>(ptr);
    for (size_t i = from; i < size; i++) {
        bytes[i] = patternByte(seed, i);
    }
}

/* @return Whether bytes [from, size) are still the pattern. */
inline bool filled(const void *ptr, size_t size, uint64_t seed, size_t from = 0) {
    auto bytes = static_cast<const unsigned char *>(ptr);
    for (size_t i = from; i < size; i++) {
        if (bytes[i] != patternByte(seed, i)) {
            return false;
        }
    }
    return true;
}

inline bool zeros(const void *ptr, size_t size) {
    auto bytes = static_cast<const unsigned char *>(ptr);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i]) {
            return false;
        }
    }
    return true;
}

} // namespace test
