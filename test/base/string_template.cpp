// SPDX-License-Identifier: MIT
/*
    test/base/string_template.cpp - Values put into a text.
 */
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <string>

using namespace test;

TEST_CASE("stemplate replaces keys by their values", "[base][string]") {
    Runtime runtime;
    MprHash *tokens = mprCreateHash(0, 0);
    mprAddKey(tokens, "name", sclone("Ann"));
    mprAddKey(tokens, "age", sclone("44"));
    mprAddKey(tokens, "empty", sclone(""));
    mprAddKey(tokens, "none", nullptr);
    struct {
        cchar *from, *to;
    } cases[] = {
        {"${name} is ${age}", "Ann is 44"},
        {"${name}${name}", "AnnAnn"},
        {"[${empty}]", "[]"},
        {"${unknown} ${none} ${}", "${unknown} ${none} ${}"},
        {"$name {name} $ { ${name", "$name {name} $ { ${name"},
        {"${a${name}}", "${aAnn}"},
        {"$${age}", "$44"},
        {"plain", "plain"},
        {"", ""},
    };
    for (auto &c : cases) {
        CHECK(std::string(stemplate(c.from, tokens)) == c.to);
    }
    CHECK(std::string(stemplate("${name}", nullptr)) == "${name}");
    CHECK(stemplate(nullptr, tokens) == nullptr);
    mprAddKey(tokens, "a${name", sclone("never"));
    CHECK(std::string(stemplate("${a${name}} }${name}", tokens)) == "${aAnn} }Ann");
    std::string open;
    for (size_t i = 0; i < heavy(5000000); i++) { // 25 T bytes, if the end of each were looked for
        open += "${";
    }
    CHECK(stemplate(open.c_str(), tokens) == open);
    CHECK(stemplate((open + "}").c_str(), tokens) == open + "}");
    CHECK(stemplate((open + "name}").c_str(), tokens) == open.substr(2) + "Ann");
    CHECK(stemplateJson((open + "}").c_str(), mprCreateJson(0)) == open + "}");
    std::string many, expected;
    for (size_t i = 0; i < heavy(10000); i++) {
        many += "<${name}>";
        expected += "<Ann>";
    }
    CHECK(stemplate(many.c_str(), tokens) == expected);
}
