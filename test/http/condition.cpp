// SPDX-License-Identifier: MIT
/*
    test/http/condition.cpp - Tags, and conditional requests in the order of RFC 9110, 13.2.2.
 */
#include "test/support/runtime.hpp"

#include "mpr/http/condition.hpp"

using namespace test;
using namespace mpr::http;

namespace {

constexpr MprTime modified = 784111777000;
constexpr cchar *at = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr cchar *before = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr cchar *after = "Sun, 06 Nov 1994 08:49:38 GMT";
constexpr Representation there = {true, "\"x\"", modified + 500, modified + 60000};
constexpr Representation missing = {false, "", 0, modified + 60000};

struct Request : Conditions {
    Request() : Conditions{} { safe = true; }
    Request &match(cchar *field) { return ifMatch = field, *this; }
    Request &none(cchar *field) { return ifNoneMatch = field, *this; }
    Request &since(cchar *field) { return ifModifiedSince = field, *this; }
    Request &unless(cchar *field) { return ifUnmodifiedSince = field, *this; }
    Request &range(cchar *field) { return ifRange = field, *this; }
    Request &unsafe() { return safe = false, *this; }
};

int statusOf(const Request &request, const Representation &is = there) {
    const Outcome outcome = evaluate(request, is);
    return outcome == Outcome::proceed ? 200 : outcome == Outcome::failed ? 412 : 304;
}
} // namespace

TEST_CASE("tags are compared weakly and strongly: RFC 9110, 8.8.3.2", "[http][condition]") {
    struct {
        cchar *one, *other;
        bool strongly, weakly;
    } cases[] = {
        {"W/\"1\"", "W/\"1\"", false, true},
        {"W/\"1\"", "W/\"2\"", false, false},
        {"W/\"1\"", "\"1\"", false, true},
        {"\"1\"", "\"1\"", true, true},
        {"", "", false, false},
        {"\"\"", "\"\"", true, true},
    };
    for (const auto &c : cases) {
        CHECK(matchesStrongly(c.one, c.other) == c.strongly);
        CHECK(matchesStrongly(c.other, c.one) == c.strongly);
        CHECK(matchesWeakly(c.one, c.other) == c.weakly);
        CHECK(matchesWeakly(c.other, c.one) == c.weakly);
    }
}

TEST_CASE("lists of tags", "[http][condition]") {
    for (cchar *list :
         {"\"x\"", "*", " * ", "\"a\", \"x\"", "\"a\",\"x\",\"b\"", ",, \"x\"", "\"a,b\", \"x\"", "W/\"a\", \"x\""}) {
        INFO(list);
        CHECK(listHas(list, "\"x\"", true));
    }
    for (cchar *list : {"", "x", "\"y\"", "\"x", "x\"", "\"X\"", "W/\"x\"", "w/\"x\"", "\"a\" \"x\"", "\"a\"\"x\"",
                        "\"a\", x", "*, \"x\"", "\"\"", "'x'", "\"a, \"x\""}) {
        INFO(list);
        CHECK_FALSE(listHas(list, "\"x\"", true));
    }
    CHECK(listHas("W/\"x\"", "\"x\"", false));
    CHECK(listHas("\"a,W/\\\",\"x\"", "\"x\"", false)); /* a backslash is itself */
    std::string many;
    for (int i = 0; i < 100000; ++i) {
        many += "\"" + std::to_string(i) + "\",";
    }
    CHECK(listHas(many, "\"99999\"", true));
    CHECK_FALSE(listHas(many, "\"x\"", true));
    CHECK_FALSE(listHas(std::string(1000000, ','), "\"x\"", true));
}

TEST_CASE("conditions one by one", "[http][condition]") {
    CHECK(statusOf(Request()) == 200);
    CHECK(statusOf(Request().match("\"x\"")) == 200);
    CHECK(statusOf(Request().match("\"y\"")) == 412);
    CHECK(statusOf(Request().match("W/\"x\"")) == 412);
    CHECK(statusOf(Request().match("*")) == 200);
    CHECK(statusOf(Request().match("*"), missing) == 412);
    CHECK(statusOf(Request().match("")) == 412);
    CHECK(statusOf(Request().none("\"x\"")) == 304);
    CHECK(statusOf(Request().none("W/\"x\"")) == 304);
    CHECK(statusOf(Request().none("\"y\"")) == 200);
    CHECK(statusOf(Request().none("*")) == 304);
    CHECK(statusOf(Request().none("*").unsafe()) == 412);
    CHECK(statusOf(Request().none("*").unsafe(), missing) == 200);
    CHECK(statusOf(Request().none("\"x\"").unsafe()) == 412);
    CHECK(statusOf(Request().since(at)) == 304);
    CHECK(statusOf(Request().since(after)) == 304);
    CHECK(statusOf(Request().since(before)) == 200);
    CHECK(statusOf(Request().since(at).unsafe()) == 200);
    CHECK(statusOf(Request().since("tomorrow")) == 200);
    CHECK(statusOf(Request().since("")) == 200);
    CHECK(statusOf(Request().since(at), missing) == 200);
    CHECK(statusOf(Request().unless(at)) == 200);
    CHECK(statusOf(Request().unless(after)) == 200);
    CHECK(statusOf(Request().unless(before)) == 412);
    CHECK(statusOf(Request().unless(before).unsafe()) == 412);
    CHECK(statusOf(Request().unless("never")) == 200);
}

TEST_CASE("conditions in their order", "[http][condition]") {
    /* If-Match goes before If-Unmodified-Since, If-None-Match before If-Modified-Since. */
    CHECK(statusOf(Request().match("\"x\"").unless(before)) == 200);
    CHECK(statusOf(Request().match("\"y\"").unless(after)) == 412);
    CHECK(statusOf(Request().none("\"y\"").since(after)) == 200);
    CHECK(statusOf(Request().none("\"x\"").since(before)) == 304);
    /* What must hold goes before what may spare the body. */
    CHECK(statusOf(Request().match("\"y\"").none("\"x\"")) == 412);
    CHECK(statusOf(Request().match("\"x\"").none("\"x\"")) == 304);
    CHECK(statusOf(Request().unless(before).since(at)) == 412);
    CHECK(statusOf(Request().unless(at).since(at)) == 304);
}

TEST_CASE("If-Range", "[http][condition]") {
    CHECK(rangeHolds(Request(), there));
    CHECK(rangeHolds(Request().range("\"x\""), there));
    CHECK_FALSE(rangeHolds(Request().range("\"y\""), there));
    CHECK_FALSE(rangeHolds(Request().range("W/\"x\""), there));
    CHECK_FALSE(rangeHolds(Request().range("*"), there));
    CHECK_FALSE(rangeHolds(Request().range("\"a\", \"x\""), there));
    CHECK(rangeHolds(Request().range(at), there));
    CHECK_FALSE(rangeHolds(Request().range(before), there));
    CHECK_FALSE(rangeHolds(Request().range(after), there));
    CHECK_FALSE(rangeHolds(Request().range(""), there));
    /* A file that was written in this second, or the one before, may be written again in its second. */
    CHECK_FALSE(rangeHolds(Request().range(at), {true, "\"x\"", modified, modified + 1000}));
    CHECK_FALSE(rangeHolds(Request().range(at), missing));
}

TEST_CASE("a file's tag says which, how long and when", "[http][condition]") {
    char one[etagSize], other[etagSize];
    formatFileTag(one, 1, 2, 3);
    CHECK(std::string(one) == "\"1-2-3\"");
    formatFileTag(one, -1, INT64_MAX, INT64_MIN);
    CHECK(std::string(one) == "\"ffffffffffffffff-7fffffffffffffff-8000000000000000\"");
    formatFileTag(other, -1, INT64_MAX, 0);
    CHECK(std::string(one) != other);
}
