// SPDX-License-Identifier: MIT
/*
    test/base/json_query.cpp - Paths of JSON: got, set, removed, malformed.
 */
#include "test/support/json.hpp"

#include <string>

using namespace test;

namespace {

cchar *people = R"({"users":[{"name":"john","age":30,"phone":"206-1","tags":["a","b"]},)"
                R"({"name":"mary","age":50,"phone":"425-206"},{"name":"sam","age":"x"},{"name":"anne","age":100}],)"
                R"("colors":["red","green","blue"],"by.dot":{"a b":1},"admin":{"user":{"name":"root"}}})";

std::string got(MprJson *tree, cchar *path) {
    MprJson *found = mprQueryJson(tree, path, nullptr, 0);
    return found ? printed(found) : "(null)";
}

std::string afterSet(cchar *text, cchar *path, cchar *value, int expected = 0) {
    MprJson *tree = parsed(text);
    CHECK(mprSetJson(tree, path, value, 0) == expected);
    CHECK(isSound(tree));
    return printed(tree);
}

/* Nodes that walks through trees have come to. */
size_t walked;
} // namespace

/* Walk::next of mpr/base/json.hpp. */
extern "C" bool __real__ZN3mpr4base4json4Walk4nextEv(void *walk);
extern "C" bool __wrap__ZN3mpr4base4json4Walk4nextEv(void *walk) {
    walked++;
    return __real__ZN3mpr4base4json4Walk4nextEv(walk);
}

TEST_CASE("paths name what is there", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(people);
    const struct {
        cchar *path, *found;
    } rows[] = {
        {"colors", R"([["red","green","blue"]])"},
        {"colors[0]", R"(["red"])"},
        {"colors.2", R"(["blue"])"},
        {"colors[-1]", R"(["blue"])"},
        {"colors[-3]", R"(["red"])"},
        {"colors[3]", "[]"},
        {"colors[-4]", "[]"},
        {"colors[0:1]", R"(["red","green"])"},
        {"colors[1:1]", R"(["green"])"},
        {"colors[-2:-1]", R"(["green","blue"])"},
        {"colors[-9:9]", R"(["red","green","blue"])"},
        {"colors[1:]", R"(["green","blue"])"},
        {"colors[:1]", R"(["red","green"])"},
        {"colors[2:1]", "[]"},
        {"colors.*", R"(["red","green","blue"])"},
        {"colors[*]", R"(["red","green","blue"])"},
        {"colors[$]", "[]"},
        {"colors[@ == 'red']", R"(["red"])"},
        {"colors[@ != 'red']", R"(["green","blue"])"},
        {"colors[@ ~ re]", R"(["red","green"])"},
        {"colors[@ !~ re]", R"(["blue"])"},
        {"colors[@ ~ ^re]", R"(["red"])"},
        {"colors[@ < 'c']", R"(["blue"])"},
        {"users[name == 'john'].age", "[30]"},
        {"users[name == \"john\"].age", "[30]"},
        {"users[name==john].age", "[30]"},
        {"users[ name == john ].age", "[30]"},
        {"users['name' == john].age", "[30]"},
        {"users[age >= 50].name", R"(["mary","sam","anne"])"}, // "x" is compared as a string
        {"users[age > 50].name", R"(["sam","anne"])"},
        {"users[age <= 50].name", R"(["john","mary"])"},
        {"users[age < 50].name", R"(["john"])"},
        {"users[age == 3e1].name", R"(["john"])"},
        {"users[phone ~ ^206].name", R"(["john"])"},
        {"users[phone ~ 206].name", R"(["john","mary"])"},
        {"users[phone !~ ^206].name", R"(["mary"])"},
        {"users[phone != 'x'].name", R"(["john","mary"])"}, // users without a phone do not match
        {"users[tags == 'a']", "[]"},
        {"users.name", "[]"},
        {"users.*.tags[1]", R"(["b"])"},
        {"users[0:1].name", R"(["john","mary"])"},
        {"['by.dot']['a b']", "[1]"},
        {"['by.dot'].a b", "[1]"},
        {"[\"by.dot\"][\"a b\"]", "[1]"},
        {"by.dot", "[]"},
        {"admin['user'].name", R"(["root"])"},
        {"admin.user.name.first", "[]"},
        {"..name", R"(["root","john","mary","sam","anne"])"},
        {"admin..name", R"(["root"])"},
        {"users..name", R"(["john","mary","sam","anne"])"},
        {"..[name == 'root'].name", R"(["root"])"},
        {"..user..name", R"(["root"])"},
        {"..*..name", R"(["john","mary","sam","anne","root"])"},
        {"nobody", "[]"},
        {"nobody.at[1].all", "[]"},
    };
    for (const auto &row : rows) {
        INFO(row.path);
        std::string found = got(tree, row.path);
        if (std::string(row.path).find("..name") != std::string::npos || std::string(row.path).find("..*") == 0) {
            // Any order.
            CHECK(found.size() == std::string(row.found).size());
        } else {
            CHECK(found == row.found);
        }
    }
    CHECK(printed(tree) == people);
}

TEST_CASE("a name that is found in two ways is found once", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(R"({"a":{"a":{"a":{"b":1}}}})");
    CHECK(got(tree, "..a..b") == "[1]");
    CHECK(mprRemoveJson(tree, "..a..b")->length == 1);
    CHECK(printed(tree) == R"({"a":{"a":{"a":{}}}})");
    tree = parsed(R"({"a":{"b":{"a":{"b":{"x":1}}},"c":{"x":2}},"b":{"a":{"x":3}}})");
    CHECK(got(tree, "..a..x") == "[1,2,3]");
    CHECK(got(tree, "..a..b..x") == "[1]");
    CHECK(got(tree, "..*..*..x") == "[1,2,3]");
    CHECK(got(tree, "..a.b..x") == "[1]");
}

TEST_CASE("a path with several .. walks through a tree once for each of them", "[base][json]") {
    Runtime runtime;
    constexpr int depth = 3000;
    MprJson *tree = mprCreateJson(MPR_JSON_OBJ);
    MprJson *at = tree;
    for (int i = 0; i < depth; i++) {
        MprJson *child = mprCreateJson(MPR_JSON_OBJ);
        REQUIRE(mprWriteJsonObj(at, "a", child) == 0);
        REQUIRE(mprWriteJson(at, "b", "1", 0) == 0);
        at = child;
    }
    constexpr size_t nodes = 2 * depth + 1;
    const struct {
        cchar *path;
        int found;
    } rows[] = {{"..a..b", depth - 1}, {"..*..b", depth - 1}, {"..a..a..b", depth - 2}, {"..a[*]..b", depth - 2}};
    for (const auto &row : rows) {
        INFO(row.path);
        walked = 0;
        CHECK(mprGetJsonLength(mprQueryJson(tree, row.path, nullptr, 0)) == row.found); // values: a step for each copy
        CHECK(walked > nodes);
        CHECK(walked <= 4 * nodes);
    }
}

TEST_CASE("numbers are compared exactly", "[base][json]") {
    Runtime runtime;
    const struct {
        cchar *one, *other;
        int order;
    } rows[] = {
        {"1", "1.0", 0},
        {"0", "-0.0e5", 0},
        {"100", "1e2", 0},
        {"0.001", "1e-3", 0},
        {"123.456", "12345.6E-2", 0},
        {"9007199254740993", "9007199254740992", 1},
        {"-9007199254740993", "-9007199254740992", -1},
        {"0.1", "0.09", 1},
        {"-0.1", "-0.09", -1},
        {"-1", "1", -1},
        {"0", "1", -1},
        {"0", "-1", 1},
        {"-5", "0", -1},
        {"5", "0.0", 1},
        {"1e400", "1e399", 1},
        {"1e99999999999999999999", "2", 1},
        {"1e-99999999999999999999", "0.5", -1},
        {"10", "9", 1},
        {"1.10", "1.1", 0},
        {"1.01", "1.1", -1},
        {"0.10001", "0.1", 1},
    };
    for (const auto &row : rows) {
        INFO(row.one << " " << row.other);
        MprJson *array = mprCreateJson(MPR_JSON_ARRAY);
        mprWriteJson(array, nullptr, row.one, 0);
        CHECK((mprQueryJson(array, sfmt("[@ < %s]", row.other), nullptr, 0)->length == 1) == (row.order < 0));
        CHECK((mprQueryJson(array, sfmt("[@ == %s]", row.other), nullptr, 0)->length == 1) == (row.order == 0));
        CHECK((mprQueryJson(array, sfmt("[@ > %s]", row.other), nullptr, 0)->length == 1) == (row.order > 0));
        CHECK((mprQueryJson(array, sfmt("[@ >= %s]", row.other), nullptr, 0)->length == 1) == (row.order >= 0));
        CHECK((mprQueryJson(array, sfmt("[@ != %s]", row.other), nullptr, 0)->length == 1) == (row.order != 0));
    }
}

TEST_CASE("a single value is got as its text, others as JSON", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(people);
    CHECK(str(mprGetJson(tree, "users[0].name")) == "john");
    CHECK(mprGetJson(tree, "users[0].name") == mprGetJsonObj(tree, "users[0].name")->value);
    CHECK(str(mprGetJson(tree, "users[0].age")) == "30");
    CHECK(str(mprGetJson(tree, "users[0].tags")) == R"(["a","b"])");
    CHECK(str(mprGetJson(tree, "users[0:1].name")) == R"(["john","mary"])");
    CHECK(!mprGetJson(tree, "users[9].name"));
    CHECK(mprGetJsonObj(tree, "admin.user")->type == MPR_JSON_OBJ);
    CHECK(mprGetJsonObj(tree, "users[0:1].name")->type == MPR_JSON_ARRAY);
    CHECK(!mprGetJsonObj(tree, "admin.users"));
}

TEST_CASE("what is got is a copy", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(people);
    MprJson *found = mprQueryJson(tree, "users[0]", nullptr, 0);
    CHECK(isSound(found));
    CHECK(mprSetJson(found, "[0].name", "other", 0) == 0);
    CHECK(str(mprGetJson(tree, "users[0].name")) == "john");
}

TEST_CASE("paths set what is there, and make single things that are not", "[base][json]") {
    Runtime runtime;
    CHECK(afterSet("{}", "a", "1") == R"({"a":1})");
    CHECK(afterSet("{}", "a.b.c", "x") == R"({"a":{"b":{"c":"x"}}})");
    CHECK(afterSet("{}", "a[0].b", "x") == R"({"a":[{"b":"x"}]})");
    CHECK(afterSet("{}", "a[$][$]", "x") == R"({"a":[["x"]]})");
    CHECK(afterSet("{}", "['a.b']", "x") == R"({"a.b":"x"})");
    CHECK(afterSet(R"({"a":[1,2]})", "a[1]", "x") == R"({"a":[1,"x"]})");
    CHECK(afterSet(R"({"a":[1,2]})", "a[-1]", "x") == R"({"a":[1,"x"]})");
    CHECK(afterSet(R"({"a":[1,2]})", "a[2]", "x") == R"({"a":[1,2,"x"]})");
    CHECK(afterSet(R"({"a":[1,2]})", "a.2", "x") == R"({"a":[1,2,"x"]})");
    CHECK(afterSet(R"({"a":[1,2]})", "a[$]", "x") == R"({"a":[1,2,"x"]})");
    CHECK(afterSet(R"({"a":[1,2]})", "a[*]", "true") == R"({"a":[true,true]})");
    CHECK(afterSet(R"({"a":[1,2,3]})", "a[0:1]", "null") == R"({"a":[null,null,3]})");
    CHECK(afterSet(R"({"a":[1,2,3]})", "a[@ > 1]", "0") == R"({"a":[1,0,0]})");
    CHECK(afterSet(R"({"a":{"b":{"x":1}},"x":2})", "..x", "0") == R"({"a":{"b":{"x":0}},"x":0})");
    CHECK(afterSet(R"({"u":[{"n":"a"},{"n":"b"}]})", "u[n == 'b'].age", "7") ==
          R"({"u":[{"n":"a"},{"n":"b","age":7}]})");
    CHECK(afterSet(R"({"u":[{},{}]})", "u.*.age", "7") == R"({"u":[{"age":7},{"age":7}]})");
    CHECK(afterSet(R"({"a":{"b":1}})", "a", "x") == R"({"a":"x"})");

    // Nothing that can be set.
    CHECK(afterSet(R"({"a":[1,2]})", "a[3]", "x", MPR_ERR_CANT_FIND) == R"({"a":[1,2]})");
    CHECK(afterSet(R"({"a":[1,2]})", "a[-3]", "x", MPR_ERR_CANT_FIND) == R"({"a":[1,2]})");
    CHECK(afterSet(R"({"a":[1,2]})", "a.x", "x", MPR_ERR_CANT_FIND) == R"({"a":[1,2]})");
    CHECK(afterSet(R"({"a":"s"})", "a.b", "x", MPR_ERR_CANT_FIND) == R"({"a":"s"})");
    CHECK(afterSet(R"({"a":{}})", "a[$]", "x", MPR_ERR_CANT_FIND) == R"({"a":{}})");
    CHECK(afterSet(R"({"a":[]})", "a[*]", "x", MPR_ERR_CANT_FIND) == R"({"a":[]})");
    CHECK(afterSet("{}", "..x", "x", MPR_ERR_CANT_FIND) == "{}");
    CHECK(afterSet("[]", "[2147483647]", "x", MPR_ERR_CANT_FIND) == "[]");
}

TEST_CASE("nodes are set by paths: the first is the node itself", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(R"({"a":[1,2]})");
    MprJson *node = parsed(R"({"x":1})");
    CHECK(mprSetJsonObj(tree, "a[*]", node) == 0);
    CHECK(printed(tree) == R"({"a":[{"x":1},{"x":1}]})");
    CHECK(mprGetJsonObj(tree, "a[0]") == node);
    CHECK(mprGetJsonObj(tree, "a[1]") != node);
    CHECK(mprSetJsonObj(tree, "b", node) == 0); // a copy now
    CHECK(mprGetJsonObj(tree, "b") != node);
    CHECK(mprSetJsonObj(tree, "c", tree) == 0);
    CHECK(isSound(tree));
    CHECK(mprSetJsonObj(tree, "d", nullptr) == MPR_ERR_BAD_ARGS);
    MprJson *row = parsed("[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29]");
    CHECK(mprSetJsonObj(row, "[*]", row) == 0); // each gets what it was: no copy contains another
    CHECK(mprQueryJson(row, "..*", nullptr, 0)->length == 30 * 31);
    CHECK(mprQueryJson(tree, "e", "5", 0) == tree);
    CHECK(!mprQueryJson(tree, "a[9]", "5", 0));
    CHECK(mprQueryJson(tree, "e", "6", MPR_JSON_STRING) == tree);
    CHECK(mprGetJsonObj(tree, "e")->type == (MPR_JSON_VALUE | MPR_JSON_STRING));
}

TEST_CASE("paths remove what they name", "[base][json]") {
    Runtime runtime;
    const struct {
        cchar *path, *removed, *left;
    } rows[] = {
        {"a", "[[1,2,3]]", R"({"b":{"x":1,"y":{"x":2}}})"},
        {"a[0]", "[1]", R"({"a":[2,3],"b":{"x":1,"y":{"x":2}}})"},
        {"a[0:1]", "[1,2]", R"({"a":[3],"b":{"x":1,"y":{"x":2}}})"},
        {"a[*]", "[1,2,3]", R"({"a":[],"b":{"x":1,"y":{"x":2}}})"},
        {"..x", "[1,2]", R"({"a":[1,2,3],"b":{"y":{}}})"},
        {"b.y.x", "[2]", R"({"a":[1,2,3],"b":{"x":1,"y":{}}})"},
        {"c", "[]", R"({"a":[1,2,3],"b":{"x":1,"y":{"x":2}}})"},
    };
    for (const auto &row : rows) {
        INFO(row.path);
        MprJson *tree = parsed(R"({"a":[1,2,3],"b":{"x":1,"y":{"x":2}}})");
        MprJson *removed = mprRemoveJson(tree, row.path);
        REQUIRE(removed);
        CHECK(printed(removed) == row.removed);
        CHECK(printed(tree) == row.left);
        CHECK(isSound(tree));
    }
    // One inside the other.
    MprJson *tree = parsed(R"({"a":{"a":{"a":1}}})");
    CHECK(mprRemoveJson(tree, "..a")->length == 3);
    CHECK(printed(tree) == "{}");
}

TEST_CASE("malformed paths are refused", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(people);
    mprSetLogLevel(2);
    for (cchar *path : {"",         ".",
                        "..",       "...",
                        ".a",       "a.",
                        "a..",      "a.[0]",
                        "a[",       "a[]",
                        "a[0",      "a['x]",
                        "a['x'",    "a[x",
                        "a[x =",    "a[x == 'y",
                        "a[== 1]",  "a[1:2",
                        "a[1:x]",   "a[x:1]",
                        "a[-0]",    "a[99999999999]x",
                        "a[0]b",    "a[1:2:3]",
                        "a[x = 1]", "a[x & 1]"}) {
        INFO(path);
        Log::clear();
        CHECK(!mprQueryJson(tree, path, nullptr, 0));
        CHECK(Log::has("malformed path"));
        CHECK(!mprGetJson(tree, path));
        CHECK(!mprGetJsonObj(tree, path));
        CHECK(!mprRemoveJson(tree, path));
        CHECK(!mprQueryJson(tree, path, "x", 0));
        CHECK(mprSetJson(tree, path, "x", 0) == MPR_ERR_BAD_ARGS);
        CHECK(mprSetJsonObj(tree, path, tree) == MPR_ERR_BAD_ARGS);
    }
    mprSetLogLevel(0);
    CHECK(!mprQueryJson(nullptr, "a", nullptr, 0));
    CHECK(!mprQueryJson(tree, nullptr, nullptr, 0));
    CHECK(mprSetJson(nullptr, "a", "b", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprSetJson(tree, nullptr, "b", 0) == MPR_ERR_BAD_ARGS);
}
