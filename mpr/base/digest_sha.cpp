// SPDX-License-Identifier: MIT
/*
    digest_sha.cpp - SHA-1 and SHA-256 (FIPS 180-4, 2015).
 */
#include "mpr/base/digest.hpp"

namespace mpr::base::digest {

namespace {

// The first bits behind the point of the cube roots of the first 64 primes.
constexpr std::uint32_t roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t choice(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return z ^ (x & (y ^ z));
}

std::uint32_t majority(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return (x & y) | (z & (x | y));
}

std::uint32_t twisted(std::uint32_t x, unsigned i, unsigned j, unsigned k) {
    return rotated(x, 32 - i) ^ rotated(x, 32 - j) ^ rotated(x, 32 - k);
}

/** The function of a round of SHA-1, and its constant. */
std::uint32_t mixed(unsigned step, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    switch (step / 20) {
    case 0: return choice(b, c, d) + 0x5a827999;
    case 1: return (b ^ c ^ d) + 0x6ed9eba1;
    case 2: return majority(b, c, d) + 0x8f1bbcdc;
    default: return (b ^ c ^ d) + 0xca62c1d6;
    }
}

void change1(Work& work) {
    std::uint32_t* const w = work.schedule; // the last sixteen words, in a ring
    std::uint32_t a = work.state[0], b = work.state[1], c = work.state[2], d = work.state[3], e = work.state[4];
    for (unsigned step = 0; step < 80; ++step) {
        std::uint32_t& word = w[step % 16];
        if (step >= 16) {
            word = rotated(w[(step + 13) % 16] ^ w[(step + 8) % 16] ^ w[(step + 2) % 16] ^ word, 1);
        }
        const std::uint32_t next = rotated(a, 5) + mixed(step, b, c, d) + e + word;
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    work.state[0] += a;
    work.state[1] += b;
    work.state[2] += c;
    work.state[3] += d;
    work.state[4] += e;
}

void change256(Work& work) {
    std::uint32_t* const w = work.schedule;
    for (unsigned i = 16; i < 64; ++i) {
        const std::uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotated(x, 25) ^ rotated(x, 14) ^ x >> 3) +
               (rotated(y, 15) ^ rotated(y, 13) ^ y >> 10);
    }
    std::uint32_t s[8];
    for (unsigned i = 0; i < 8; ++i) {
        s[i] = work.state[i];
    }
    for (unsigned step = 0; step < 64; ++step) {
        const std::uint32_t first = s[7] + twisted(s[4], 6, 11, 25) + choice(s[4], s[5], s[6]) + roots[step] + w[step];
        const std::uint32_t second = twisted(s[0], 2, 13, 22) + majority(s[0], s[1], s[2]);
        for (unsigned i = 7; i > 0; --i) {
            s[i] = s[i - 1];
        }
        s[4] += first;
        s[0] = first + second;
    }
    for (unsigned i = 0; i < 8; ++i) {
        work.state[i] += s[i];
    }
    wipe(s, sizeof(s));
}
} // namespace

const Kind sha1 = {20, true, {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}, change1};

// The first bits behind the point of the square roots of the first eight primes.
const Kind sha256 = {32,
                     true,
                     {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
                     change256};

} // namespace mpr::base::digest
