// SPDX-License-Identifier: MIT
/*
    test/base/siphash.cpp - SipHash-1-3 against values of another implementation (CPython 3.11, with a key of zeros).
 */
#include "test/catch.hpp"

#include "mpr/base/siphash.hpp"
#include "mpr/os/os.hpp"

#include <cctype>
#include <string>

using namespace mpr::base;

TEST_CASE("hashes are those of SipHash-1-3", "[base][siphash]") {
    char bytes[64];
    for (int i = 0; i < 64; i++) {
        bytes[i] = static_cast<char>(i);
    }
    SipKey zero{0, 0};
    auto hash = [&](size_t length) { return SipHash<AsIs>::of(zero, bytes, length); };
    CHECK(hash(1) == 0x68a914128e01e473u);
    CHECK(hash(7) == 0x2f098ab0c751325au);
    CHECK(hash(8) == 0xead411e67ebe2eeau);
    CHECK(hash(9) == 0x75927f9d95124362u);
    CHECK(hash(15) == 0xf30eb725bb91c9eau);
    CHECK(hash(16) == 0x8972188433a5c5b7u);
    CHECK(hash(63) == 0x385d3e39e5f37359u);
}

TEST_CASE("folding changes ASCII capitals and nothing else", "[base][siphash]") {
    SipKey key{1, 2};
    for (int c = 0; c < 256; c++) {
        for (size_t length : {1, 7, 8, 20}) {
            std::string text(length, static_cast<char>(c));
            std::string folded(length, static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
            INFO("character " << c << ", length " << length);
            REQUIRE(SipHash<Small>::of(key, text.data(), length) == SipHash<AsIs>::of(key, folded.data(), length));
        }
    }
}

TEST_CASE("the seed is not the same twice", "[base][siphash]") {
    SipKey one{}, two{};
    mpr::os::seed(&one, sizeof(one));
    mpr::os::seed(&two, sizeof(two));
    CHECK((one.k0 != two.k0 || one.k1 != two.k1));
    CHECK((one.k0 != 0 || one.k1 != 0));
}
