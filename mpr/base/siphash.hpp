// SPDX-License-Identifier: MIT
/*
    siphash.hpp - SipHash-1-3, a keyed hash for hash tables: whoever does not know the key cannot find keys that collide.

    Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF" (2012); one round a word and three at the
    end, as the authors propose for tables. Words are read in the machine's order: the values leave no process.
 */
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mpr::base {

struct SipKey {
    std::uint64_t k0, k1;
};

/** The bytes of a word as they are: for keys that match exactly. */
struct AsIs {
    static constexpr std::uint64_t word(std::uint64_t w) { return w; }
};

/** ASCII capitals made small, eight at a time, other bytes as they are. */
struct Small {
    static constexpr std::uint64_t word(std::uint64_t w) {
        constexpr std::uint64_t every = 0x0101010101010101u;
        const std::uint64_t low = w & (0x7f * every);
        const std::uint64_t fromA = low + (0x80 - 'A') * every;     // bit 7: at least 'A'
        const std::uint64_t pastZ = low + (0x80 - 'Z' - 1) * every; // bit 7: past 'Z'
        const std::uint64_t capital = (fromA & ~pastZ & ~w) & (0x80 * every);
        return w | capital >> 2; // 'a' - 'A' is 0x20
    }
};

template <class Letters>
class SipHash {
public:
    static std::uint64_t of(const SipKey& key, const char* text, std::size_t length) {
        SipHash s(key);
        const char* end = text + (length & ~std::size_t{7});
        for (; text != end; text += 8) {
            std::uint64_t word;
            std::memcpy(&word, text, 8);
            s.absorb(Letters::word(word));
        }
        std::uint64_t last = 0;
        for (std::size_t i = length & 7; i-- > 0;) {
            last = last << 8 | static_cast<unsigned char>(text[i]);
        }
        s.absorb(Letters::word(last) | std::uint64_t{length} << 56);
        return s.finish();
    }

private:
    explicit SipHash(const SipKey& key)
        : v0_(key.k0 ^ 0x736f6d6570736575u), v1_(key.k1 ^ 0x646f72616e646f6du), v2_(key.k0 ^ 0x6c7967656e657261u),
          v3_(key.k1 ^ 0x7465646279746573u) {}

    void round() {
        v0_ += v1_;
        v2_ += v3_;
        v1_ = std::rotl(v1_, 13) ^ v0_;
        v3_ = std::rotl(v3_, 16) ^ v2_;
        v0_ = std::rotl(v0_, 32) + v3_;
        v2_ += v1_;
        v1_ = std::rotl(v1_, 17) ^ v2_;
        v3_ = std::rotl(v3_, 21) ^ v0_;
        v2_ = std::rotl(v2_, 32);
    }
    void absorb(std::uint64_t word) {
        v3_ ^= word;
        round();
        v0_ ^= word;
    }
    std::uint64_t finish() {
        v2_ ^= 0xff;
        round();
        round();
        round();
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

    std::uint64_t v0_, v1_, v2_, v3_;
};

} // namespace mpr::base
