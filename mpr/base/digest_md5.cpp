// SPDX-License-Identifier: MIT
/*
    digest_md5.cpp - MD5 (Rivest 1992, RFC 1321).
 */
#include "mpr/base/digest.hpp"

namespace mpr::base::digest {

namespace {

// The integer part of 2^32 times |sin(i + 1)|.
constexpr std::uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

constexpr unsigned char shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

/** The function of a round, and which word of the block a step takes. */
std::uint32_t mixed(unsigned step, std::uint32_t b, std::uint32_t c, std::uint32_t d, unsigned& word) {
    switch (step / 16) {
    case 0: word = step; return d ^ (b & (c ^ d));
    case 1: word = 5 * step + 1; return c ^ (d & (b ^ c));
    case 2: word = 3 * step + 5; return b ^ c ^ d;
    default: word = 7 * step; return c ^ (b | ~d);
    }
}

void change(Work& work) {
    std::uint32_t a = work.state[0], b = work.state[1], c = work.state[2], d = work.state[3];
    for (unsigned step = 0; step < 64; ++step) {
        unsigned word = 0;
        const std::uint32_t mix = mixed(step, b, c, d, word);
        const std::uint32_t sum = a + mix + sines[step] + work.schedule[word % 16];
        a = d;
        d = c;
        c = b;
        b += rotated(sum, shifts[step / 16][step % 4]);
    }
    work.state[0] += a;
    work.state[1] += b;
    work.state[2] += c;
    work.state[3] += d;
}
} // namespace

const Kind md5 = {16, false, {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, change};

} // namespace mpr::base::digest
