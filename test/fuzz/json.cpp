// SPDX-License-Identifier: MIT
/*
    test/fuzz/json.cpp - Any bytes, as a text of JSON and as a path. Built with libFuzzer by clang (fuzz_json), and with a
    driver that mutates a corpus (test/fuzz/corpus.cpp) for the tests.

    What is taken must be printed as a text that is taken and prints the same; no tree may be unsound.
 */
#include "mpr.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

[[noreturn]] void fail(const char *what) {
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

void expect(bool good, const char *what) {
    if (!good) {
        fail(what);
    }
}

bool isSound(MprJson *node) {
    MprJson *child, *before = nullptr;
    int index;
    for (ITERATE_JSON(node, child, index)) {
        if ((before ? child->prev != before : child->prev->next != nullptr) || !isSound(child)) {
            return false;
        }
        before = child;
    }
    return index == node->length && (!node->children || node->children->prev == before);
}

void checkTree(MprJson *tree) {
    expect(isSound(tree), "an unsound tree");
    char *text = mprJsonToString(tree, MPR_JSON_QUOTES);
    MprJson *again = mprParseJson(text);
    expect(again && isSound(again), "what was printed is not taken");
    expect(strcmp(mprJsonToString(again, MPR_JSON_QUOTES), text) == 0, "another text after a round");
    again = mprParseJson(mprJsonToString(tree, MPR_JSON_PRETTY));
    expect(again && strcmp(mprJsonToString(again, MPR_JSON_QUOTES), text) == 0, "another text after a pretty round");
    again = mprCloneJson(tree);
    expect(strcmp(mprJsonToString(again, MPR_JSON_QUOTES), text) == 0, "another copy");
    mprBlendJson(again, tree, MPR_JSON_COMBINE | MPR_JSON_APPEND);
    expect(isSound(again), "an unsound merger");
    mprJsonToEnv(tree, "FUZZ", nullptr);
}

/* The bytes as a path in a tree that has something of all. */
void checkPath(const std::string &path) {
    MprJson *tree = mprParseJson(R"({"a":[1,{"b":"c","a":2.5}],"b":{"a":{"a":null}},"c d":true})");
    MprJson *found = mprQueryJson(tree, path.c_str(), nullptr, 0);
    expect(!found || isSound(found), "unsound copies");
    mprGetJson(tree, path.c_str());
    mprSetJson(tree, path.c_str(), "x", 0);
    expect(isSound(tree), "an unsound tree after setting");
    mprSetJsonObj(tree, path.c_str(), tree);
    expect(isSound(tree), "an unsound tree after setting itself");
    MprJson *removed = mprRemoveJson(tree, path.c_str());
    expect(!removed || isSound(removed), "unsound removals");
    expect(isSound(tree), "an unsound tree after removing");
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Mpr *const mpr = mprCreate(0, nullptr, 0);
    if (!mpr || size > 1 << 16) {
        return mpr ? 0 : -1;
    }
    char *exact = static_cast<char *>(malloc(size ? size : 1)); // so that a sanitizer sees a step too far
    memcpy(exact, data, size);
    const MprJsonRules strict = {0, 64, 0}, relaxed = {MPR_JSON_RELAXED, 64, 0};
    cchar *message = nullptr;
    MprJson *tree = mprParseJsonText(exact, static_cast<ssize>(size), &strict, &message);
    MprJson *other = mprParseJsonText(exact, static_cast<ssize>(size), &relaxed, nullptr);
    free(exact);
    expect(tree ? !message : message && strncmp(message, "line ", 5) == 0, "neither a tree nor a message");
    expect(!tree || other, "taken by strict rules, and refused by relaxed ones");
    if (other) {
        checkTree(other);
    }
    checkPath(std::string(reinterpret_cast<const char *>(data), size < 200 ? size : 200));
    mprYield(MPR_YIELD_DEFAULT);
    return 0;
}
