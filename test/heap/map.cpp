// SPDX-License-Identifier: MIT
/*
    test/heap/map.cpp - Questions asked of words and rows of a map: the answers are those that each byte by itself would give.
 */
#include "test/catch.hpp"
#include "test/support/pattern.hpp"

#include "mpr/heap/map.hpp"

#include <algorithm>
#include <set>

using namespace mpr::heap;
using test::Random;

namespace {

constexpr size_t granules = 256;

/* Bytes of all values, and many zeros, as there are in a map. */
struct SomeMap {
    explicit SomeMap(Random &random) {
        for (Byte &byte : bytes) {
            byte = random.below(2) == 0 ? Byte(0) : static_cast<Byte>(random.below(256));
        }
    }
    GranuleMap map() { return GranuleMap(bytes); }

    alignas(64) Byte bytes[granules];
};

/* What forEach finds, and what should be found: all that byteAnswer says of the words that [from, to) reaches into. */
template <typename Answer, typename ByteAnswer>
void compare(SomeMap &some, size_t from, size_t to, Answer answer, ByteAnswer byteAnswer) {
    std::multiset<size_t> found, expected;
    some.map().forEach(
        from, to, [&](size_t, auto words) { return answer(words); }, [&](size_t g) { found.insert(g); });
    const size_t end = (to + swar::bytes - 1) / swar::bytes * swar::bytes;
    for (size_t g = from / swar::bytes * swar::bytes; g < end; g++) {
        if (byteAnswer(some.bytes[g])) {
            expected.insert(g);
        }
    }
    CHECK(found == expected);
}

} // namespace

TEST_CASE("heads are unmarked by colour and age, in bytes, words and rows", "[heap][port][board]") {
    Random random(1);
    for (int round = 0; round < 200; round++) {
        SomeMap some(random);
        Colours colours;
        colours.youngParity = round & 1;
        colours.oldParity = mpr::os::hasGenerations ? round >> 1 & 1 : colours.youngParity;
        const bool youngOnly = mpr::os::hasGenerations && (round & 4) != 0;
        const size_t to = random.below(granules + 1), from = random.below(to + 1);
        compare(
            some, from, to, [&](auto words) { return swar::unmarked(words, colours, youngOnly); },
            [&](Byte h) { return (h & head::inUse) && !colours.marked(h) && !(youngOnly && (h & head::old)); });
        compare(
            some, from, to, [&](auto words) { return swar::marked(words, colours); },
            [&](Byte h) { return (h & head::inUse) && colours.marked(h); });
    }
}

TEST_CASE("heads are asked for what they hold, in bytes, words and rows", "[heap][port][board]") {
    Random random(2);
    for (int round = 0; round < 50; round++) {
        SomeMap some(random);
        const size_t to = random.below(granules + 1), from = random.below(to + 1);
        const auto isHead = [](Byte h) { return (h & head::inUse) != 0; };
        compare(
            some, from, to, [](auto words) { return swar::heads(words); }, isHead);
        compare(
            some, from, to, [](auto words) { return swar::heads(words) & swar::held(words); },
            [&](Byte h) { return isHead(h) && (h & head::held); });
        compare(
            some, from, to, [](auto words) { return swar::old(words); },
            [&](Byte h) { return isHead(h) && (h & head::old); });
        compare(
            some, from, to, [](auto words) { return swar::leaf(words); },
            [&](Byte h) { return isHead(h) && head::isLeaf(h); });
        compare(
            some, from, to, [](auto words) { return swar::plain(words); },
            [&](Byte h) { return isHead(h) && head::isPlain(h); });
        compare(
            some, from, to, [](auto words) { return swar::wantFree(words); },
            [&](Byte h) { return isHead(h) && head::wantsFree(h); });
    }
}

TEST_CASE("the nearest head or mark before a granule is found, wherever in a word the search ends",
          "[heap][port][board]") {
    Random random(3);
    for (int round = 0; round < 2000; round++) {
        SomeMap some(random);
        for (size_t left = random.below(granules); left > 0; left--) {
            some.bytes[random.below(granules)] = 0; // some are nearly empty
        }
        const size_t g = random.below(granules), least = random.below(g + 1);
        const auto nearest = [&](auto isOne) {
            for (size_t at = g + 1; at-- > least / swar::bytes * swar::bytes;) {
                if (isOne(some.bytes[at])) {
                    return at;
                }
            }
            return least;
        };
        CHECK(some.map().headBefore(g, least) == nearest([](Byte b) { return (b & head::inUse) != 0; }));
        CHECK(some.map().boundaryBefore(g, least) == nearest([](Byte b) { return b >= mark::hole; }));
    }
}
