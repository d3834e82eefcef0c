// SPDX-License-Identifier: MIT
/*
    test/base/json_print.cpp - Trees of JSON printed: compact, pretty, quoted; random trees there and back.
 */
#include "test/support/json.hpp"

#include <string>

using namespace test;

namespace {

/* Random trees, as texts. Any byte of UTF-8 in names and values. */
struct Trees {
    uint64_t state;

    uint64_t next() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return state >> 33;
    }
    size_t below(size_t count) { return static_cast<size_t>(next() % count); }

    MprJson *make(int depth) {
        const size_t kind = below(depth > 0 ? 10 : 6);
        if (kind >= 6) {
            MprJson *node = mprCreateJson(kind < 8 ? MPR_JSON_OBJ : MPR_JSON_ARRAY);
            for (size_t i = below(6); i > 0; i--) {
                MprJson *child = make(depth - 1);
                REQUIRE(mprWriteJsonObj(node, kind < 8 ? text().c_str() : nullptr, child) == 0);
            }
            return node;
        }
        return kind == 0   ? mprCreateJson(MPR_JSON_VALUE | MPR_JSON_TRUE)
               : kind == 1 ? mprCreateJson(MPR_JSON_VALUE | MPR_JSON_NULL)
               : kind == 2 ? mprCreateJsonValue(std::to_string(next()).c_str(), 0)
                           : mprCreateJsonValue(text().c_str(), MPR_JSON_STRING);
    }
    std::string text() {
        std::string all;
        for (size_t i = below(20); i > 0; i--) {
            switch (below(6)) {
            case 0: all += static_cast<char>(1 + below(31)); break;
            case 1: all += "\xc3\xa4"; break;
            case 2: all += "\xf0\x9f\x98\x80"; break;
            case 3: all += "\xc0\x80"; break;
            case 4: all += below(2) ? '"' : '\\'; break;
            default: all += static_cast<char>(' ' + below(94)); break;
            }
        }
        return all;
    }
};

std::string inBuffer(void (*put)(MprBuf *buf)) {
    MprBuf *buf = mprCreateBuf(0, 0);
    put(buf);
    return str(mprBufToString(buf));
}

} // namespace

TEST_CASE("trees are printed compact or pretty", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(R"( { "a" : [ 1 , { } , [ ] , { "b" : null } ] , "c d" : "x" } )");
    CHECK(printed(tree, 0) == R"({"a":[1,{},[],{"b":null}],"c d":"x"})");
    CHECK(printed(tree, MPR_JSON_PRETTY) == R"({
    "a": [
        1,
        {},
        [],
        {
            "b": null
        }
    ],
    "c d": "x"
})");
    CHECK(printed(parsed("[]"), MPR_JSON_PRETTY) == "[]");
    CHECK(printed(parsed("1"), MPR_JSON_PRETTY) == "1");
    CHECK(printed(mprReadJsonObj(tree, "a")) == R"([1,{},[],{"b":null}])"); // a part, without what follows it
    CHECK(!mprJsonToString(nullptr, 0));
}

TEST_CASE("names are in quotes unless the rules are relaxed", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(R"({"a":1,"$b_2":2,"2":3,"":4,"c d":5,"e-f":6})");
    CHECK(printed(tree, 0) == R"({"a":1,"$b_2":2,"2":3,"":4,"c d":5,"e-f":6})");
    mprSetJsonRules(&relaxed);
    const std::string bare = printed(tree, 0);
    const std::string quoted = printed(tree, MPR_JSON_QUOTES);
    MprJson *again = mprParseJson(bare.c_str());
    mprSetJsonRules(nullptr);
    CHECK(bare == R"({a:1,$b_2:2,"2":3,"":4,"c d":5,"e-f":6})");
    CHECK(quoted == R"({"a":1,"$b_2":2,"2":3,"":4,"c d":5,"e-f":6})");
    CHECK(printed(again) == quoted);
}

TEST_CASE("values of every kind are printed, also as strings", "[base][json]") {
    Runtime runtime;
    MprJson *array = parsed("[true,false,null,-1.50,\"s\"]");
    mprWriteJson(array, nullptr, "undefined", 0);
    mprWriteJson(array, nullptr, "/x/", MPR_JSON_REGEXP);
    mprWriteJson(array, nullptr, "0x10", MPR_JSON_NUMBER);
    CHECK(printed(array) == R"([true,false,null,-1.50,"s",null,"/x/","0x10"])");
    CHECK(printed(array, MPR_JSON_STRINGS) == R"(["true","false","null","-1.50","s","undefined","/x/","0x10"])");
}

TEST_CASE("strings are escaped, and what is not UTF-8 does not get out", "[base][json]") {
    Runtime runtime;
    const struct {
        cchar *value;
        cchar *text;
    } rows[] = {
        {"", R"("")"},
        {"\"\\/\b\f\n\r\t\x01\x1f\x7f", "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\""},
        {"\xc3\xa4\xf0\x9f\x98\x80", "\"\xc3\xa4\xf0\x9f\x98\x80\""},
        {"\xff", R"("\ufffd")"},
        {"a\xc3", R"("a\ufffd")"},
        {"\xe2\x82", R"("\ufffd\ufffd")"},
        {"\xed\xa0\x80", R"("\ufffd\ufffd\ufffd")"},
        {"a\xc0\x80z", R"("a\u0000z")"},
        {"\xc0", R"("\ufffd")"},
    };
    for (const auto &row : rows) {
        CHECK(printed(mprCreateJsonValue(row.value, MPR_JSON_STRING)) == row.text);
    }
}

TEST_CASE("pieces are put into buffers", "[base][json]") {
    Runtime runtime;
    CHECK(inBuffer([](MprBuf *buf) { mprFormatJsonName(buf, "a\"b", 0); }) == R"("a\"b")");
    CHECK(inBuffer([](MprBuf *buf) { mprFormatJsonName(buf, nullptr, 0); }) == R"("")");
    CHECK(inBuffer([](MprBuf *buf) { mprFormatJsonString(buf, "a\n"); }) == R"("a\n")");
    CHECK(inBuffer([](MprBuf *buf) { mprFormatJsonString(buf, nullptr); }) == "null");
    CHECK(inBuffer([](MprBuf *buf) { mprFormatJsonValue(buf, MPR_JSON_NUMBER, "12", 0); }) == "12");
    CHECK(inBuffer([](MprBuf *buf) { mprFormatJsonValue(buf, MPR_JSON_NUMBER, "12", MPR_JSON_STRINGS); }) == "\"12\"");
    CHECK(inBuffer([](MprBuf *buf) { mprFormatJsonValue(buf, MPR_JSON_NUMBER, "1 2", 0); }) == "\"1 2\"");
    CHECK(inBuffer([](MprBuf *buf) { mprFormatJsonValue(buf, MPR_JSON_TRUE, "true", 0); }) == "true");
    CHECK(inBuffer([](MprBuf *buf) { mprFormatJsonValue(buf, MPR_JSON_STRING, nullptr, 0); }) == "null");
    mprFormatJsonString(nullptr, "x");
}

TEST_CASE("random trees are the same after a way through text, and through the collector", "[base][json]") {
    Runtime runtime;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        INFO("seed " << seed);
        MprJson *tree = Trees{seed}.make(6);
        const std::string text = printed(tree);
        MprJson *again = parsed(text);
        REQUIRE(isSound(again));
        REQUIRE(printed(again) == text);
        REQUIRE(printed(parsed(printed(tree, MPR_JSON_QUOTES | MPR_JSON_PRETTY))) == text);
        REQUIRE(printed(mprCloneJson(tree)) == text);
        if (seed % 30 == 0) {
            mpr::Root<MprJson> kept = again;
            collect();
            REQUIRE(printed(kept) == text);
        }
    }
}

TEST_CASE("a tree is logged line by line", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(R"({"a":[1],"b":"x\ny"})");
    mprLogJson(1, tree, "at level %d", 1);
    CHECK(Log::size() == 0);
    mprLogJson(0, tree, "at level %d", 0);
    mprLogJson(0, nullptr, "nothing");
    CHECK(Log::text() ==
          "json: at level 0\njson: {\njson:     \"a\": [\njson:         1\njson:     ],\njson:     \"b\": "
          "\"x\\ny\"\njson: }\n");
    Log::clear();
    mprLogJson(0, parsed("1"), nullptr);
    CHECK(Log::text() == "json: 1\n");
}
