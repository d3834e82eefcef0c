// SPDX-License-Identifier: MIT
/*
    test/http/params.cpp - Queries and forms as parameters.
 */
#include "test/support/runtime.hpp"

#include "mpr/http/params.hpp"

using namespace test;
using namespace mpr::http;

namespace {

std::string text(cchar *s) {
    return s ? s : "(none)";
}

MprJson *parse(std::string_view query) {
    Params *params = createParams();
    REQUIRE(addParams(params, query) == 0);
    return treeOf(params);
}

std::string json(std::string_view query) {
    return text(mprJsonToString(parse(query), MPR_JSON_QUOTES));
}
} // namespace

TEST_CASE("a query as parameters", "[http][params]") {
    Runtime runtime;
    struct {
        cchar *query, *json;
    } cases[] = {
        {"", "{}"},
        {"a=1", "{\"a\":\"1\"}"},
        {"a=1&b=2", "{\"a\":\"1\",\"b\":\"2\"}"},
        {"a", "{\"a\":\"\"}"},
        {"a=", "{\"a\":\"\"}"},
        {"=1", "{\"\":\"1\"}"},
        {"=", "{\"\":\"\"}"},
        {"&&a=1&", "{\"a\":\"1\"}"},
        {"a=b=c", "{\"a\":\"b=c\"}"},
        {"a+b=c+d%20e", "{\"a b\":\"c d e\"}"},
        {"%61=%62", "{\"a\":\"b\"}"},
        {"a=%zz%", "{\"a\":\"%zz%\"}"},
        {"a=x%00y", "{\"a\":\"x%00y\"}"},
        {"a=1&b=x&a=2&a=3", "{\"a\":[\"1\",\"2\",\"3\"],\"b\":\"x\"}"},
        {"a.b=1&a[0]=2", "{\"a.b\":\"1\",\"a[0]\":\"2\"}"},
        {"a=%26%3D", "{\"a\":\"&=\"}"},
        {"a=true&b=null&c=1", "{\"a\":\"true\",\"b\":\"null\",\"c\":\"1\"}"},
        {"a={\"x\":1}", "{\"a\":\"{\\\"x\\\":1}\"}"},
    };
    for (const auto &c : cases) {
        INFO(c.query);
        CHECK(json(c.query) == c.json);
    }
}

TEST_CASE("parameters are read by name, or by a path", "[http][params]") {
    Runtime runtime;
    MprJson *params = parse("a=1&b=x&a=2&user.name=joe&r=%ff%fe");
    CHECK(text(paramOf(params, "a")) == "1");
    CHECK(text(paramOf(params, "b")) == "x");
    CHECK(text(paramOf(params, "a[1]")) == "2");
    CHECK(text(paramOf(params, "user.name")) == "joe");
    CHECK(text(paramOf(params, "r")) == "\xff\xfe"); /* any bytes */
    CHECK(text(paramOf(params, "c")) == "(none)");
    CHECK(text(paramOf(nullptr, "c")) == "(none)");
    MprJson *body = mprParseJson("{\"user\":{\"name\":\"ann\",\"tags\":[]},\"n\":1}");
    CHECK(text(paramOf(body, "user.name")) == "ann");
    CHECK(text(paramOf(body, "n")) == "1");
    CHECK(text(paramOf(body, "user.tags")) == "[]");
    CHECK(text(paramOf(body, "user")) == R"({"name":"ann","tags":[]})");
}

TEST_CASE("parameters as text", "[http][params]") {
    Runtime runtime;
    CHECK(text(paramsText(parse("b=2&a=x+y&b=1&c=%26"))) == "a=x%20y&b=2&b=1&c=%26");
    CHECK(text(paramsText(parse(""))) == "");
    CHECK(text(paramsText(nullptr)) == "");
}

TEST_CASE("parameters are counted", "[http][params]") {
    Runtime runtime;
    std::string query;
    for (int i = 0; i < maxParams; ++i) {
        query += "&n" + std::to_string(i % 700) + "=" + std::to_string(i);
    }
    Params *params = createParams();
    CHECK(addParams(params, query) == 0);
    CHECK(mprGetJsonLength(treeOf(params)) == 700);
    CHECK(addParams(params, "n") == MPR_ERR_TOO_MANY);
    CHECK(addParam(params, "n", "") == MPR_ERR_TOO_MANY);
    params = createParams();
    CHECK(addParams(params, query + "&n699=") == MPR_ERR_TOO_MANY);
    params = createParams();
    CHECK(addParams(params, std::string(1000000, '&')) == 0);
    CHECK(addParam(params, "a&b", "c=%41") == 0);
    for (const std::string_view zero : {std::string_view("\0", 1), std::string_view("a\0b", 3)}) {
        CHECK(addParam(params, zero, "") == MPR_ERR_BAD_FORMAT);
        CHECK(addParam(params, "n", zero) == MPR_ERR_BAD_FORMAT);
        CHECK(addParams(params, zero) == MPR_ERR_BAD_FORMAT);
    }
    CHECK(text(mprJsonToString(treeOf(params), MPR_JSON_QUOTES)) == "{\"a&b\":\"c=%41\"}");
}
