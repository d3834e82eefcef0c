// SPDX-License-Identifier: MIT
/*
    test/cpp/census.cpp - mprPrintMem names C++ types.
 */
#include "mpr.hpp"
#include "test/support/printed.hpp"
#include "test/cpp/setting.hpp"

#include <string>

namespace census {

struct Leaky {
    void trace(mpr::Marker& marker) { marker(next); }
    mpr::Member<Leaky> next;
};
struct Named {
    std::string name;
};

TEST_CASE("cpp census: a type whose objects pile up is named, with its destructor, arrays and containers or without") {
    test::Setting setting;
    constexpr auto grown = "what has grown since the last call";
    test::memPrinted();
    mpr::Root<Leaky> first;
    for (int i = 0; i < 1000; i++) {
        Leaky* const leaky = mpr::make<Leaky>();
        leaky->next = first;
        first = leaky;
    }
    std::string text = test::memPrinted();
    INFO(text);
    CHECK(test::lineOf(text, "census::Leaky", grown).substr(0, 6) == "+1000 ");
    mpr::Root<Named> named = mpr::make<Named>();
    mpr::Root<Leaky> row = mpr::makeArray<Leaky>(100).data();
    mpr::Root<mpr::Array<Leaky>> array = mpr::Array<Leaky>::make(100);
    text = test::memPrinted();
    INFO(text);
    CHECK(test::lineOf(text, "census::Leaky", grown) == "");
    CHECK(test::lineOf(text, "census::Named", grown).substr(0, 3) == "+1 ");
    const bool spaced = test::lineOf(text, "census::Leaky[]").empty(); // compilers differ
    CHECK(test::lineOf(text, spaced ? "census::Leaky []" : "census::Leaky[]", grown).substr(0, 3) == "+1 ");
    CHECK(test::lineOf(text, "mpr::Array<census::Leaky>", grown).substr(0, 3) == "+1 ");
}

} // namespace census
