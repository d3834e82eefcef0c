// SPDX-License-Identifier: MIT
/*
    test/cpp/json.cpp - mpr::Json: subscripts, typed values, range-for, writing.
 */
#include "test/support/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <ranges>
#include <string>
#include <vector>

using namespace test;
using mpr::Json;

static_assert(sizeof(Json) == sizeof(void *));
static_assert(std::is_trivially_copyable_v<Json>);
static_assert(std::ranges::input_range<Json>);

TEST_CASE("Json: subscripts lead to nodes, and from none to none", "[cpp][json]") {
    Runtime runtime;
    Json json = Json::parse(R"({"a":[1,{"b":"x"}],"0":true})");
    REQUIRE(json);
    CHECK(json.isObject());
    CHECK(json.size() == 2);
    CHECK(json["a"][1]["b"].text() == "x");
    CHECK(json["a"][1]["b"].name() == "b");
    CHECK(json["a"][std::size_t{0}].text() == "1");
    CHECK(json["0"].isBool());
    CHECK(!json[0]);
    CHECK(!json["a"]["b"]);
    CHECK(!json["a"][2]);
    CHECK(!json["a"][-1]);
    CHECK(json["a"][0u].text() == "1");
    CHECK(json["a"][std::uint8_t{1}]["b"].text() == "x");
    CHECK(!json["a"][UINT64_MAX]);
    CHECK(!json[static_cast<const char *>(nullptr)]);
    CHECK(json.set("none", static_cast<const char *>(nullptr)));
    CHECK(json["none"].isNull());
    CHECK(json.remove("none") == 1);
    CHECK(!json["none"][3]["x"]);
    CHECK(json["none"].text() == "");
    CHECK(json["none"].size() == 0);
    CHECK(json.at("a[1].b") == json["a"][1]["b"]);
    CHECK(!json.at("a[7]"));
    CHECK(!Json().at("a"));
}

TEST_CASE("Json: values are read with their types, exactly or not at all", "[cpp][json]") {
    Runtime runtime;
    Json json = Json::parse(R"([127, 128, -1, 1.5, 1e2, 9223372036854775808, "7", true, null, 0.1, 1e400])");
    CHECK(json[0].as<signed char>() == 127);
    CHECK(!json[1].as<signed char>());
    CHECK(json[1].as<unsigned char>() == 128);
    CHECK(!json[2].as<unsigned>());
    CHECK(json[2].as<int>() == -1);
    CHECK(!json[3].as<int>());
    CHECK(json[3].as<double>() == 1.5);
    CHECK(json[3].as<float>() == 1.5f);
    CHECK(!json[4].as<int>());
    CHECK(json[4].as<double>() == 100);
    CHECK(!json[5].as<long long>());
    CHECK(json[5].as<unsigned long long>() == 9223372036854775808u);
    CHECK(!json[6].as<int>());
    CHECK(json[6].as<std::string_view>() == "7");
    CHECK(json[7].as<bool>() == true);
    CHECK(!json[7].as<int>());
    CHECK(!json[7].as<std::string_view>());
    CHECK(!json[8].as<bool>());
    CHECK(json[8].isNull());
    CHECK(json[9].as<double>() == 0.1);
    CHECK(!json[99].as<int>());
    Json object = Json::parse(R"({"server":{"port":80,"name":"x"}})");
    CHECK(object.get<int>("server.port", 1) == 80);
    CHECK(object.get<int>("server.name", 1) == 1);
    CHECK(object.get<std::string_view>("server.name", "y") == "x");
    CHECK(object.get<bool>("server.none", true));
}

TEST_CASE("Json: the nearest number is read, 0 or less than normal, too, but none that is infinite", "[cpp][json]") {
    Runtime runtime;
    Json json = Json::parse(R"([1e-999, 2e-324, 3e-324, -1e-60, 1e-40, 1.5e-99999999999999999999, 1e999, -1e39])");
    CHECK(json[0].as<double>() == 0);
    CHECK(json[0].as<float>() == 0);
    CHECK(json[1].as<double>() == 0);
    CHECK(json[2].as<double>() == std::numeric_limits<double>::denorm_min());
    CHECK(json[3].as<float>() == 0);
    CHECK(std::signbit(json[3].as<float>().value_or(1)));
    CHECK(json[3].as<double>() == -1e-60);
    CHECK(json[4].as<float>() == 1e-40f);
    CHECK(json[5].as<double>() == 0);
    CHECK(json[5].as<long double>() == 0);
    CHECK(!json[6].as<double>());
    CHECK(!json[7].as<float>());
    CHECK(json[7].as<double>() == -1e39);
    const long double least = std::numeric_limits<long double>::denorm_min();
    Json written = Json::array();
    REQUIRE(written.push(least));
    CHECK(written[0].as<long double>() == least);
    Json zero = Json::parse("[-0]");
    CHECK(zero[0].as<unsigned>() == 0u);
    CHECK(zero[0].as<int>() == 0);
    CHECK(std::signbit(zero[0].as<double>().value_or(1)));
}

namespace {
template <class T>
void checkShortest(std::initializer_list<T> values) {
    for (const T value : values) {
        char digits[96];
        mpr::detail::writeShortest(digits, value);
        T again = 0;
        mpr::detail::readNearest(digits, again);
        CHECK(again == value);
#ifdef __cpp_lib_to_chars
        // The same number of digits as by to_chars, whatever stands for the exponent.
        const auto significant = [](std::string text) {
            text = text.substr(0, text.find_first_of("eE"));
            text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '-' || c == '.'; }),
                       text.end());
            text.erase(0, text.find_first_not_of('0'));
            return text.substr(0, text.find_last_not_of('0') + 1);
        };
        char best[64];
        *std::to_chars(best, best + sizeof(best) - 1, value).ptr = '\0';
        INFO(digits << " and " << best);
        CHECK(significant(digits).size() == significant(best).size());
#endif
    }
}
} // namespace

TEST_CASE("Json: where there is no to_chars for them numbers have the fewest digits, too", "[cpp][json]") {
    checkShortest<double>({0.1, 1.0 / 3, 100, 1e23, 5e-324, 1.7976931348623157e308, -2.5, 9007199254740993.0, 0.3});
    checkShortest<float>({0.1f, 1.0f / 3, 1e-40f, 16777216.0f, -3.4028235e38f});
    checkShortest<long double>({0.1L, 1.0L / 3, 1e300L});
    char digits[96];
    mpr::detail::writeShortest(digits, 0.1);
    CHECK(std::string(digits) == "0.1");
    mpr::detail::writeShortest(digits, 100.0);
    CHECK(std::string(digits) == "100");
}

TEST_CASE("Json: a zero within a string stays", "[cpp][json]") {
    Runtime runtime;
    Json json = Json::object();
    CHECK(json.set("s", std::string_view("a\0b", 3)));
    CHECK(json.set("t", std::string(2, '\0')));
    CHECK(json["s"].as<std::string_view>() == "a\xc0\x80"
                                              "b");
    CHECK(json["t"].text() == "\xc0\x80\xc0\x80");
    CHECK(str(json.print()) == R"({"s":"a\u0000b","t":"\u0000\u0000"})");
    Json again = Json::parse(json.print());
    CHECK(again["s"].text() == json["s"].text());
}

TEST_CASE("Json: range-for goes over children", "[cpp][json]") {
    Runtime runtime;
    Json json = Json::parse(R"({"a":1,"b":2,"c":3})");
    std::string seen;
    for (Json child : json) {
        seen += std::string(child.name()) + "=" + std::string(child.text()) + " ";
    }
    CHECK(seen == "a=1 b=2 c=3 ");
#ifdef __cpp_lib_ranges // libc++ 14 has none of its algorithms
    CHECK(std::ranges::count_if(json, [](Json child) { return child.as<int>() > 1; }) == 2);
#endif
    for (Json child : Json()) {
        FAIL("no node has no children, not " << child.name());
    }
    for (Json child : json["a"]) {
        FAIL("a simple value has no children, not " << child.name());
    }
}

TEST_CASE("Json: values are written with their types", "[cpp][json]") {
    Runtime runtime;
    Json json = Json::object();
    CHECK(json.set("i", -5));
    CHECK(json.set("u", std::numeric_limits<unsigned long long>::max()));
    CHECK(json.set("d", 0.1));
    CHECK(json.set("big", 1e300));
    CHECK(json.set("nan", std::nan("")));
    CHECK(json.set("inf", std::numeric_limits<double>::infinity()));
    CHECK(json.set("t", true));
    CHECK(json.set("n", nullptr));
    CHECK(json.set("s", "12"));
    CHECK(json.set("v", std::string_view("abc").substr(0, 2)));
    CHECK(json.set("list[0]", std::string("first")));
    CHECK(json.at("list").push(2));
    CHECK(json.at("list").push(Json::object()));
    CHECK(json.set("list[2].deep", Json::array()));
    CHECK(str(json.print()) ==
          R"({"i":-5,"u":18446744073709551615,"d":0.1,"big":1e+300,"nan":null,"inf":null,"t":true,"n":null,)"
          R"("s":"12","v":"ab","list":["first",2,{"deep":[]}]})");
    CHECK(json["d"].as<double>() == 0.1);
    CHECK(!json.set("list[9]", 1));
    CHECK(!json.push(1));
    CHECK(!Json().set("a", 1));
    CHECK(!Json().push(1));
    CHECK(json.remove("list[0:1]") == 2);
    CHECK(json["list"].size() == 1);
    CHECK(!Json().print());
}

TEST_CASE("Json: mistakes are told, and rules can be given", "[cpp][json]") {
    Runtime runtime;
    const char *mistake = "unset";
    CHECK(Json::parse("[1]", &mistake));
    CHECK(!mistake);
    CHECK(!Json::parse("[1,]", &mistake));
    CHECK(str(mistake) == "line 1, column 4: expected a value");
    CHECK(Json::parse("[1,]", relaxed).size() == 1);
    CHECK(!Json::parse({}));
    CHECK(Json::parse(std::string_view("[1]xyz", 3)));
}

TEST_CASE("Json: a Root or Member of a node keeps the tree", "[cpp][json]") {
    Runtime runtime;
    struct Holder {
        mpr::Member<MprJson> config;
        void trace(mpr::Marker &marker) { marker(config); }
    };
    mpr::Root<Holder> holder = mpr::make<Holder>();
    holder->config = Json::parse(R"({"a":{"b":[1,2,3]}})").node();
    mpr::Root<MprJson> kept = Json::parse("[4,5]").node();
    collect();
    CHECK(Json(holder->config).at("a.b[2]").as<int>() == 3);
    CHECK(Json(kept)[1].as<int>() == 5);
}
