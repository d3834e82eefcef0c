// SPDX-License-Identifier: MIT
/*
    test/base/json.cpp - Trees of JSON: made, linked, read and written by name, copied, kept by the collector.
 */
#include "test/support/json.hpp"
#include "test/support/node.hpp"

#include <climits>
#include <vector>

using namespace test;

TEST_CASE("nodes are made of each kind", "[base][json]") {
    Runtime runtime;
    CHECK(mprCreateJson(0)->type == MPR_JSON_OBJ);
    CHECK(mprCreateJson(MPR_JSON_ARRAY)->type == MPR_JSON_ARRAY);
    MprJson *node = mprCreateJson(MPR_JSON_VALUE | MPR_JSON_TRUE);
    CHECK(node->type == (MPR_JSON_VALUE | MPR_JSON_TRUE));
    CHECK(str(node->value) == "true");
    CHECK(!node->name);
    CHECK(!node->next);
    CHECK(!node->prev);
    CHECK(!node->children);
    CHECK(node->length == 0);
}

TEST_CASE("the kind of a value is that of its text unless it is given", "[base][json]") {
    Runtime runtime;
    const struct {
        cchar *text;
        int asked, type;
        cchar *value;
    } rows[] = {
        {"12", 0, MPR_JSON_NUMBER, "12"},
        {"-0.5e+7", 0, MPR_JSON_NUMBER, "-0.5e+7"},
        {"0x10", 0, MPR_JSON_STRING, "0x10"},
        {"1.", 0, MPR_JSON_STRING, "1."},
        {"", 0, MPR_JSON_STRING, ""},
        {"true", 0, MPR_JSON_TRUE, "true"},
        {"false", 0, MPR_JSON_FALSE, "false"},
        {"null", 0, MPR_JSON_NULL, "null"},
        {"undefined", 0, MPR_JSON_UNDEFINED, "undefined"},
        {"True", 0, MPR_JSON_STRING, "True"},
        {"true", MPR_JSON_STRING, MPR_JSON_STRING, "true"},
        {"12", MPR_JSON_STRING | MPR_JSON_VALUE, MPR_JSON_STRING, "12"},
        {"abc", MPR_JSON_NUMBER, MPR_JSON_STRING, "abc"},
        {"12", MPR_JSON_NUMBER, MPR_JSON_NUMBER, "12"},
        {nullptr, 0, MPR_JSON_NULL, "null"},
        {nullptr, MPR_JSON_FALSE, MPR_JSON_FALSE, "false"},
        {nullptr, MPR_JSON_STRING, MPR_JSON_STRING, ""},
        {nullptr, MPR_JSON_NUMBER, MPR_JSON_NUMBER, "0"},
    };
    for (const auto &row : rows) {
        INFO(str(row.text) << " " << row.asked);
        MprJson *node = mprCreateJsonValue(row.text, row.asked);
        REQUIRE(node);
        CHECK(node->type == (MPR_JSON_VALUE | row.type));
        CHECK(str(node->value) == row.value);
    }
}

TEST_CASE("properties are written and read by name", "[base][json]") {
    Runtime runtime;
    MprJson *obj = mprCreateJson(MPR_JSON_OBJ);
    CHECK(mprWriteJson(obj, "a", "1", 0) == 0);
    CHECK(mprWriteJson(obj, "b.c", "x", 0) == 0); // a name, no path
    CHECK(mprWriteJson(obj, "", "empty", 0) == 0);
    CHECK(mprWriteJson(obj, "a", "2", MPR_JSON_STRING) == 0);
    CHECK(printed(obj) == R"({"a":"2","b.c":"x","":"empty"})");
    CHECK(isSound(obj));
    CHECK(str(mprReadJson(obj, "b.c")) == "x");
    CHECK(str(mprReadJson(obj, "")) == "empty");
    CHECK(!mprReadJson(obj, "b"));
    CHECK(!mprReadJson(obj, "b.cd"));
    CHECK(mprReadJsonObj(obj, "a")->type == (MPR_JSON_VALUE | MPR_JSON_STRING));
    CHECK(mprReadJsonValue(obj, "x") == mprReadJsonObj(obj, "b.c"));
    CHECK(!mprReadJsonValue(obj, "y"));
    CHECK(mprGetJsonLength(obj) == 3);
    CHECK(mprWriteJsonObj(obj, "o", mprCreateJson(MPR_JSON_OBJ)) == 0);
    CHECK(!mprReadJson(obj, "o"));
    CHECK(mprReadJsonObj(obj, "o")->type == MPR_JSON_OBJ);
}

TEST_CASE("elements are written and read by index", "[base][json]") {
    Runtime runtime;
    MprJson *array = mprCreateJson(MPR_JSON_ARRAY);
    CHECK(mprWriteJson(array, "0", "a", 0) == 0);
    CHECK(mprWriteJson(array, nullptr, "b", 0) == 0);
    CHECK(mprWriteJson(array, "$", "c", 0) == 0);
    CHECK(mprWriteJson(array, "1", "B", 0) == 0);
    CHECK(mprWriteJson(array, "4", "e", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteJson(array, "-1", "e", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteJson(array, "x", "e", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteJson(array, "99999999999999999999", "e", 0) == MPR_ERR_BAD_ARGS);
    CHECK(printed(array) == R"(["a","B","c"])");
    CHECK(isSound(array));
    CHECK(str(mprReadJson(array, "2")) == "c");
    CHECK(!mprReadJson(array, "3"));
    CHECK(!mprReadJson(array, ""));
}

TEST_CASE("children are taken out at either end and in the middle", "[base][json]") {
    Runtime runtime;
    for (int at = 0; at < 3; at++) {
        MprJson *array = parsed("[0,1,2]");
        MprJson *child = mprReadJsonObj(array, std::to_string(at).c_str());
        CHECK(mprRemoveJsonChild(array, child) == child);
        CHECK(!child->next);
        CHECK(!child->prev);
        CHECK(isSound(array));
        CHECK(array->length == 2);
        CHECK(!mprRemoveJsonChild(array, child));
        CHECK(mprWriteJsonObj(array, nullptr, child) == 0);
        CHECK(isSound(array));
        CHECK(printed(array) == (at == 0 ? "[1,2,0]" : at == 1 ? "[0,2,1]" : "[0,1,2]"));
    }
    MprJson *one = parsed("[7]");
    CHECK(mprRemoveJsonChild(one, one->children));
    CHECK(!one->children);
    CHECK(printed(one) == "[]");
}

TEST_CASE("a child is replaced at either end, in the middle and alone", "[base][json]") {
    Runtime runtime;
    for (int length = 1; length < 4; length++) {
        for (int at = 0; at < length; at++) {
            MprJson *array = mprCreateJson(MPR_JSON_ARRAY);
            for (int i = 0; i < length; i++) {
                mprWriteJson(array, nullptr, "0", 0);
            }
            MprJson *fresh = mprCreateJsonValue("1", 0);
            CHECK(mprWriteJsonObj(array, std::to_string(at).c_str(), fresh) == 0);
            CHECK(mprReadJsonObj(array, std::to_string(at).c_str()) == fresh);
            CHECK(isSound(array));
            CHECK(array->length == length);
        }
    }
}

TEST_CASE("a node that is a child already is copied, and no tree contains itself", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(R"({"a":{"b":{"c":1}}})");
    MprJson *a = mprReadJsonObj(tree, "a");
    MprJson *b = mprReadJsonObj(a, "b");
    CHECK(mprWriteJsonObj(tree, "copy", b) == 0);
    CHECK(mprReadJsonObj(tree, "copy") != b);
    CHECK(mprWriteJsonObj(b, "up", tree) == 0); // what stands above, by a copy
    CHECK(mprWriteJsonObj(tree, "self", tree) == 0);
    CHECK(isSound(tree));
    CHECK(printed(tree) == R"({"a":{"b":{"c":1,"up":{"a":{"b":{"c":1}},"copy":{"c":1}}}},"copy":{"c":1},)"
                           R"("self":{"a":{"b":{"c":1,"up":{"a":{"b":{"c":1}},"copy":{"c":1}}}},"copy":{"c":1}}})");
    MprJson *alone = mprCreateJsonValue("x", 0);
    CHECK(mprWriteJsonObj(b, "alone", alone) == 0);
    CHECK(mprReadJsonObj(b, "alone") == alone);
}

TEST_CASE("a copy has nothing of the original", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(R"({"a":[1,{"b":null},[]],"c":"d"})");
    MprJson *copy = mprCloneJson(tree);
    CHECK(isSound(copy));
    mprSetJson(tree, "a[1].b", "changed", 0);
    CHECK(printed(copy) == R"({"a":[1,{"b":null},[]],"c":"d"})");
    MprJson *part = mprCloneJson(mprReadJsonObj(tree, "c"));
    CHECK(str(part->name) == "c");
    CHECK(!part->next);
    CHECK(!part->prev);
}

TEST_CASE("wrong arguments are refused", "[base][json]") {
    Runtime runtime;
    MprJson *obj = mprCreateJson(0), *value = mprCreateJsonValue("x", 0);
    CHECK(!mprCloneJson(nullptr));
    CHECK(mprGetJsonLength(nullptr) == 0);
    CHECK(!mprReadJson(nullptr, "a"));
    CHECK(!mprReadJson(obj, nullptr));
    CHECK(!mprReadJsonObj(obj, nullptr));
    CHECK(!mprReadJsonObj(value, "a"));
    CHECK(!mprReadJsonValue(obj, nullptr));
    CHECK(mprWriteJson(nullptr, "a", "b", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteJson(obj, nullptr, "b", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteJson(value, "a", "b", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteJsonObj(obj, "a", nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(!mprRemoveJsonChild(obj, nullptr));
    CHECK(!mprRemoveJsonChild(obj, value));
    MprJson *child;
    int index;
    for (ITERATE_JSON(static_cast<MprJson *>(nullptr), child, index)) {
        FAIL("NULL has no children");
    }
}

TEST_CASE("the collector keeps what a tree holds, and a part without the rest", "[base][json]") {
    Runtime runtime;
    std::string text = R"({"list":[)";
    for (int i = 0; i < 300; i++) {
        text += (i ? ",{\"name\":\"number " : "{\"name\":\"number ") + std::to_string(i) +
                "\",\"i\":" + std::to_string(i) + "}";
    }
    text += R"(],"last":"a value that is longer than a few bytes"})";
    mpr::Root<MprJson> tree = parsed(text);
    collect();
    CHECK(printed(tree) == text);
    collect(); // it is old now: stores are told
    for (int i = 0; i < 300; i++) {
        mprWriteJson(mprGetJsonObj(tree, sfmt("list[%d]", i)), "i", itos(i + 1000), 0);
        mprWriteJsonObj(tree, sfmt("more%d", i % 7), parsed("[1,2,3]"));
        if (i % 100 == 0) {
            collect();
        }
    }
    collect();
    CHECK(isSound(tree));
    CHECK(str(mprGetJson(tree, "list[299].i")) == "1299");
    CHECK(str(mprGetJson(tree, "more6[2]")) == "3");

    // A node, a name and a value are blocks.
    MprJson *node = mprGetJsonObj(tree, "list[200]");
    mpr::Root<MprJson> part = node;
    mpr::Root<const char> name = tree->children->prev->name;
    mpr::Root<const char> value = mprReadJson(tree, "last");
    tree = nullptr;
    collect();
    CHECK(printed(part) == R"({"name":"number 200","i":1200})");
    CHECK(str(name) == "more6");
    CHECK(str(value) == "a value that is longer than a few bytes");
}

TEST_CASE("a value that is shared by nodes is changed in one of them", "[base][json]") {
    Runtime runtime;
    MprJson *tree = parsed(R"([{"a":"x"},{"a":"x"}])");
    CHECK(mprReadJson(mprReadJsonObj(tree, "0"), "a") == mprReadJson(mprReadJsonObj(tree, "1"), "a"));
    mprSetJson(tree, "[0].a", "y", 0);
    CHECK(printed(tree) == R"([{"a":"y"},{"a":"x"}])");
}

TEST_CASE("without memory calls return NULL, and the heap stays whole", "[base][json]") {
    Runtime runtime;
    std::string text = "[";
    for (int i = 0; i < 20000; i++) {
        text += (i ? "," : "") + std::string("{\"key") + std::to_string(i) + "\":\"value " + std::to_string(i) + "\"}";
    }
    text += "]";
    mpr::Root<MprJson> kept = parsed(R"({"a":[1,2,3]})");
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
    collect();
    const ssize limit = static_cast<ssize>(stats().heap) + 256 * 1024;
    mprSetMemLimits(0, limit, -1);
    for (int i = 0; i < 20; i++) {
        cchar *message = "unset";
        CHECK(!mprParseJsonText(text.data(), static_cast<ssize>(text.size()), nullptr, &message));
        CHECK(!message);
        collect();
        CHECK(printed(kept) == R"({"a":[1,2,3]})");
    }
    mprSetMemLimits(0, 0, -1);
    CHECK(mprParseJson(text.c_str()));
}
