// SPDX-License-Identifier: MIT
/*
    test/base/json_blend.cpp - Trees of JSON merged; JSON to and from hashes, environments and templates.
 */
#include "test/support/json.hpp"

#include <string>

using namespace test;

namespace {

std::string blended(cchar *dest, cchar *src, int flags = 0) {
    MprJson *to = parsed(dest), *from = parsed(src);
    CHECK(mprBlendJson(to, from, flags) == 0);
    CHECK(isSound(to));
    CHECK(printed(from) == printed(parsed(src)));
    return printed(to);
}

} // namespace

TEST_CASE("objects are merged, all else is replaced", "[base][json]") {
    Runtime runtime;
    CHECK(blended("{}", R"({"a":{"b":[1]}})") == R"({"a":{"b":[1]}})");
    CHECK(blended(R"({"a":1})", R"({"b":2})") == R"({"a":1,"b":2})");
    CHECK(blended(R"({"a":{"x":1,"y":2}})", R"({"a":{"y":3,"z":4}})") == R"({"a":{"x":1,"y":3,"z":4}})");
    CHECK(blended(R"({"a":[1,2],"s":"old"})", R"({"a":[3],"s":"new"})") == R"({"a":[3],"s":"new"})");
    CHECK(blended(R"({"a":{"x":1}})", R"({"a":"s"})") == R"({"a":"s"})");
    CHECK(blended(R"({"a":"s"})", R"({"a":{"x":1}})") == R"({"a":{"x":1}})");
    CHECK(blended(R"({"a":"s"})", R"({"+a":"t"})") == R"({"a":"s","+a":"t"})"); // no prefix without MPR_JSON_COMBINE
    CHECK(blended("[1]", "[2,3]") == "[2,3]");
    CHECK(blended("1", "2") == "2");
}

TEST_CASE("flags of merging say otherwise", "[base][json]") {
    Runtime runtime;
    cchar *dest = R"({"o":{"x":1},"a":[1,2],"s":"one two"})";
    cchar *src = R"({"o":{"y":2},"a":[2],"s":"two","n":3})";
    CHECK(blended(dest, src, MPR_JSON_OVERWRITE) == R"({"o":{"y":2},"a":[2],"s":"two","n":3})");
    CHECK(blended(dest, src, MPR_JSON_APPEND) == R"({"o":{"x":1,"y":2},"a":[1,2,2],"s":"one two two","n":3})");
    CHECK(blended(dest, src, MPR_JSON_REPLACE) == R"({"o":{"x":1},"a":[1],"s":"one "})");
    CHECK(blended(dest, src, MPR_JSON_CREATE) == R"({"o":{"x":1,"y":2},"a":[1,2],"s":"one two","n":3})");
    CHECK(blended("[1]", "[2,3]", MPR_JSON_APPEND) == "[1,2,3]");
    CHECK(blended("[1,2,1]", "[1]", MPR_JSON_REPLACE) == "[2]");
    CHECK(blended(R"({"a":[1]})", R"({"a":2})", MPR_JSON_APPEND) == R"({"a":[1,2]})");
    CHECK(blended(R"({"a":[1,2]})", R"({"a":2})", MPR_JSON_REPLACE) == R"({"a":[1]})");
    CHECK(blended(R"({"a":{"b":1}})", R"({"a":2})", MPR_JSON_REPLACE) == R"({"a":{"b":1}})");
    CHECK(blended(R"({"a":1})", R"({"a":2})", MPR_JSON_APPEND) == R"({"a":"1 2"})");
}

TEST_CASE("properties that are the same but for their prefix are merged in their order", "[base][json]") {
    Runtime runtime;
    const auto combined = [](cchar *dest, cchar *src) { return blended(dest, src, MPR_JSON_COMBINE); };
    CHECK(combined("{}", R"({"c":{"a":"1"},"=c":"x"})") == R"({"c":"x"})");
    CHECK(combined("{}", R"({"c":{"a":"1"},"+c":"x"})") == R"({"c":"x"})");
    CHECK(combined("{}", R"({"c":{"a":"1"},"=c":[7]})") == R"({"c":[7]})");
    CHECK(combined("{}", R"({"c":{"a":"1"},"=c":{"b":"2"}})") == R"({"c":{"b":"2"}})");
    CHECK(combined("{}", R"({"c":{"a":"1"},"+c":{"b":"2"}})") == R"({"c":{"a":"1","b":"2"}})");
    CHECK(combined(R"({"c":{"a":{"d":1}}})", R"({"c":{"a":{"e":2}},"=c":5,"+c":"6","?c":7})") == R"({"c":"5 6"})");
    CHECK(combined(R"({"a":{},"b":{}})", R"({"a":{"+x":{"y":1},"=x":2},"b":{"x":{"y":1}},"=a":3,"-b":{"x":4}})") ==
          R"({"a":3,"b":{"x":{"y":1}}})");
}

TEST_CASE("many values are taken out of an array in a time that grows with their number alone", "[base][json]") {
    Runtime runtime;
    std::string all = "[", even = "[";
    for (int i = 0; i < 200000; i++) { // 20 G comparisons, if each were looked for among all
        all += (i ? "," : "") + std::to_string(i);
        even += i % 2 == 0 ? (i ? "," : "") + std::to_string(i) : "";
    }
    MprJson *array = parsed(all + "]");
    mpr::Root<MprJson> kept = array;
    CHECK(mprBlendJson(array, parsed(even + ",[],{}]"), MPR_JSON_REPLACE) == 0);
    CHECK(array->length == 100000);
    CHECK(str(array->children->value) == "1");
    CHECK(isSound(array));
    CHECK(blended(R"(["1",2,2,[2],null])", "[null,1,2]", MPR_JSON_REPLACE) == "[[2]]");
}

TEST_CASE("prefixes of names say it for one property and what is below", "[base][json]") {
    Runtime runtime;
    cchar *dest = R"({"o":{"x":1,"s":"a b"},"a":[1,2],"s":"one two"})";
    const struct {
        cchar *src, *result;
    } rows[] = {
        {R"({"+s":"three"})", R"({"o":{"x":1,"s":"a b"},"a":[1,2],"s":"one two three"})"},
        {R"({"-s":"one"})", R"({"o":{"x":1,"s":"a b"},"a":[1,2],"s":" two"})"},
        {R"({"=s":"x"})", R"({"o":{"x":1,"s":"a b"},"a":[1,2],"s":"x"})"},
        {R"({"?s":"x","?t":"y"})", R"({"o":{"x":1,"s":"a b"},"a":[1,2],"s":"one two","t":"y"})"},
        {R"({"+a":[3]})", R"({"o":{"x":1,"s":"a b"},"a":[1,2,3],"s":"one two"})"},
        {R"({"-a":[1,7]})", R"({"o":{"x":1,"s":"a b"},"a":[2],"s":"one two"})"},
        {R"({"=a":[3]})", R"({"o":{"x":1,"s":"a b"},"a":[3],"s":"one two"})"},
        {R"({"=o":{"z":1}})", R"({"o":{"z":1},"a":[1,2],"s":"one two"})"},
        {R"({"+o":{"s":"c"}})", R"({"o":{"x":1,"s":"a b c"},"a":[1,2],"s":"one two"})"},
        {R"({"+o":{"=s":"c"}})", R"({"o":{"x":1,"s":"c"},"a":[1,2],"s":"one two"})"},
        {R"({"o":{"+s":"c"}})", R"({"o":{"x":1,"s":"a b c"},"a":[1,2],"s":"one two"})"},
        {R"({"-t":"x","-u":{"v":1}})", R"({"o":{"x":1,"s":"a b"},"a":[1,2],"s":"one two"})"},
        {R"({"+n":{"+m":{"?k":1}}})", R"({"o":{"x":1,"s":"a b"},"a":[1,2],"s":"one two","n":{"m":{"k":1}}})"},
        {R"({"=o":{"+p":{"-q":1,"r":2}}})", R"({"o":{"p":{"r":2}},"a":[1,2],"s":"one two"})"},
    };
    for (const auto &row : rows) {
        INFO(row.src);
        CHECK(blended(dest, row.src, MPR_JSON_COMBINE) == row.result);
    }
}

TEST_CASE("merging with parts of the same tree ends", "[base][json]") {
    Runtime runtime;
    for (int flags : {0, MPR_JSON_COMBINE, MPR_JSON_APPEND, MPR_JSON_OVERWRITE, MPR_JSON_APPEND | MPR_JSON_COMBINE}) {
        MprJson *tree = parsed(R"({"a":{"a":{"a":[1],"b":"x"}}})");
        MprJson *part = mprGetJsonObj(tree, "a");
        CHECK(mprBlendJson(tree, tree, flags) == 0);
        CHECK(mprBlendJson(tree, part, flags) == 0);
        CHECK(isSound(tree));
        part = mprGetJsonObj(tree, "a");
        CHECK(mprBlendJson(part, tree, flags) == 0);
        CHECK(isSound(tree));
        CHECK(mprBlendJson(mprGetJsonObj(tree, "a.a"), mprGetJsonObj(tree, "a"), flags) == 0);
        CHECK(isSound(tree));
    }
}

TEST_CASE("what cannot be merged is refused", "[base][json]") {
    Runtime runtime;
    MprJson *obj = parsed("{}");
    CHECK(mprBlendJson(nullptr, obj, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprBlendJson(obj, nullptr, 0) == 0);
    CHECK(mprBlendJson(obj, parsed("[]"), 0) == MPR_ERR_BAD_TYPE);
    CHECK(mprBlendJson(obj, parsed("1"), 0) == MPR_ERR_BAD_TYPE);
}

TEST_CASE("JSON goes into a hash and comes back", "[base][json]") {
    Runtime runtime;
    cchar *text = R"({"a":"1","b":2,"c":true,"d":null,"e":{"f":[1,"x"]},"g":[]})";
    MprHash *hash = mprJsonToHash(parsed(text));
    CHECK(str(static_cast<cchar *>(mprLookupKey(hash, "b"))) == "2");
    CHECK(str(static_cast<cchar *>(mprLookupKey(hash, "e"))) == R"({"f":[1,"x"]})");
    CHECK(printed(mprHashToJson(hash)) == text);
    CHECK(str(mprSerialize(hash, MPR_JSON_QUOTES)) == text);
    CHECK(str(mprSerialize(mprDeserialize(text), MPR_JSON_QUOTES)) == text);

    MprHash *own = mprCreateHash(0, 0);
    mprAddKey(own, "n", "12");
    mprAddKey(own, "s\n", "x\"");
    mprAddKey(own, "none", nullptr);
    CHECK(str(mprSerialize(own, 0)) == R"({"n":"12","s\n":"x\"","none":null})");
    CHECK(mprDeserializeInto(R"({"n":1,"m":2})", own) == own);
    CHECK(str(mprSerialize(own, 0)) == R"({"n":1,"s\n":"x\"","none":null,"m":2})");
    CHECK(printed(mprHashToJson(mprJsonToHash(parsed("[1,[2]]")))) == R"({"0":1,"1":[2]})");

    CHECK(!mprDeserialize("[1]"));
    CHECK(!mprDeserialize("{"));
    CHECK(!mprDeserialize(nullptr));
    CHECK(!mprDeserializeInto("{}", nullptr));
    CHECK(!mprJsonToHash(nullptr));
    CHECK(!mprHashToJson(nullptr));
    CHECK(!mprSerialize(nullptr, 0));
}

TEST_CASE("JSON goes into an environment", "[base][json]") {
    Runtime runtime;
    MprJson *json = parsed(R"({"log":{"path":"/x","level":2},"list":["a",{"b-c":true}],"empty":{},"last":null})");
    CHECK(str(mprListToString(mprJsonToEnv(json, "app", nullptr), "|")) ==
          "APP_LOG_PATH=/x|APP_LOG_LEVEL=2|APP_LIST_0=a|APP_LIST_1_B_C=true|APP_LAST=null");
    MprList *list = mprCreateList(0, 0);
    mprAddItem(list, "HOME=/");
    CHECK(mprJsonToEnv(parsed(R"({"a":1})"), nullptr, list) == list);
    CHECK(str(mprListToString(list, "|")) == "HOME=/|A=1");
    CHECK(!mprJsonToEnv(nullptr, "x", nullptr));
    CHECK(mprGetListLength(mprJsonToEnv(mprCreateJsonValue("5", 0), nullptr, nullptr)) == 0); // without a name
    CHECK(str(mprListToString(mprJsonToEnv(mprCreateJsonValue("5", 0), "n", nullptr), "|")) == "N=5");
}

TEST_CASE("places in a text are filled from a tree", "[base][json]") {
    Runtime runtime;
    MprJson *tokens = parsed(R"({"user":{"name":"john","tags":["a"]},"n":1})");
    CHECK(str(stemplateJson("${user.name} ${n} ${user.tags[0]} ${user.tags} ${none} ${} ${ ${n", tokens)) ==
          R"(john 1 a ["a"] ${none} ${} ${ ${n)");
    CHECK(str(stemplateJson("${${n}}", tokens)) == "${1}");
    CHECK(!stemplateJson(nullptr, tokens));
    CHECK(str(stemplateJson("${n}", nullptr)) == "${n}");
}
