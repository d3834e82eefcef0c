// SPDX-License-Identifier: MIT
/*
    digest.hpp - Digests of the family that MD5 and SHA are of, for the files of this room: a state of words that each
    block of 64 bytes changes, the last ones padded and with the length (Merkle 1979, Damgard 1989).

    Small code, not the fastest: what digests much data has a library for it.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpr::base {

/** Write zeros that the compiler must not leave out. */
inline void wipe(void* at, std::size_t size) {
    __builtin_memset(at, 0, size);
    __asm__ volatile("" : : "r"(at) : "memory"); // the compiler takes it for read
}

namespace digest {

inline constexpr std::size_t blockSize = 64;
inline constexpr std::size_t longest = 32;

struct Work {
    std::uint32_t state[8];
    std::uint32_t schedule[64]; // of one block
};

struct Kind {
    std::size_t size; // bytes of a digest
    bool bigEndian;
    std::uint32_t initial[8];
    void (*change)(Work& work); // by the block in schedule[0..15]
};

extern const Kind md5, sha1, sha256;

inline std::uint32_t rotated(std::uint32_t word, unsigned left) {
    return word << left | word >> (32 - left);
}

/** @param out Gets kind.size bytes. */
void compute(const Kind& kind, const void* data, std::size_t length, unsigned char* out);

} // namespace digest

/** The Base64 of bytes, as a managed string. nullptr when memory is short. */
char* encode64(const void* data, std::size_t length);

} // namespace mpr::base
