// SPDX-License-Identifier: MIT
/*
    test/http/cookie.cpp - Cookies: found in Cookie, formatted for Set-Cookie, refused when they say more than their
    part.
 */
#include "test/support/runtime.hpp"

#include "mpr/http.h"
#include "mpr/http/cookie.hpp"

using namespace test;
using namespace mpr::http;

namespace {

std::string found(std::string_view header, std::string_view name) {
    const std::string_view value = findCookie(header, name);
    return value.data() ? std::string(value) : "(none)";
}

std::string formatted(cchar *name, cchar *value, CookieRules rules = {}, MprTime now = 784111777000) {
    cchar *fault = nullptr;
    cchar *text = formatCookie(name, value, rules, now, fault);
    CHECK((text == nullptr) == (fault != nullptr));
    return text ? text : "(none)";
}
} // namespace

TEST_CASE("a cookie is found", "[http][cookie]") {
    CHECK(found("a=1", "a") == "1");
    CHECK(found("a=1; b=2", "b") == "2");
    CHECK(found("a=1;b=2", "b") == "2");
    CHECK(found(" a = 1 ; b=2 ", "a") == "1");
    CHECK(found("a=1; a=2", "a") == "1");
    CHECK(found("a=", "a") == "");
    CHECK(found("a", "a") == "(none)");
    CHECK(found("", "a") == "(none)");
    CHECK(found("ab=1; b=2", "a") == "(none)");
    CHECK(found("xa=1", "a") == "(none)");
    CHECK(found("A=1", "a") == "(none)");
    CHECK(found("a=\"x y\"", "a") == "x y");
    CHECK(found("a=\"", "a") == "\"");
    CHECK(found("a=b=c", "a") == "b=c");
    CHECK(found("a=x,y; b=1", "b") == "1");
    CHECK(found(";;;=;a=1", "a") == "1");
    CHECK(found("$Version=1; a=1; $Path=/", "a") == "1");
    CHECK(found(std::string(1000000, ';') + "a=1", "a") == "1");
}

TEST_CASE("a cookie is set", "[http][cookie]") {
    Runtime runtime;
    CHECK(formatted("a", "1") == "a=1; Path=/");
    CHECK(formatted("a", nullptr) == "a=; Path=/");
    CHECK(formatted("a", "1", {"/x", "example.com", 0, HTTP_COOKIE_SECURE | HTTP_COOKIE_HTTP}) ==
          "a=1; Path=/x; Domain=example.com; Secure; HttpOnly");
    CHECK(formatted("a", "1", {nullptr, nullptr, 60000, HTTP_COOKIE_SAME_LAX}) ==
          "a=1; Path=/; Max-Age=60; Expires=Sun, 06 Nov 1994 08:50:37 GMT; SameSite=Lax");
    CHECK(formatted("a", "1", {nullptr, nullptr, 1, HTTP_COOKIE_SAME_STRICT}) ==
          "a=1; Path=/; Max-Age=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT; SameSite=Strict");
    CHECK(formatted("a", "", {nullptr, nullptr, -1, 0}) ==
          "a=; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
    CHECK(formatted("a", "1", {"", "", 0, HTTP_COOKIE_SAME_NONE}) == "a=1; Path=/; Secure; SameSite=None");
    CHECK(formatted("a", "1", {nullptr, nullptr, INT64_MAX, 0}) ==
          "a=1; Path=/; Max-Age=9223372036854776; Expires=Fri, 31 Dec 9999 23:59:59 GMT");
    const std::string large(100000, 'x');
    CHECK(formatted("a", large.c_str()) == "a=" + large + "; Path=/");
}

TEST_CASE("a cookie that says more than its part is refused", "[http][cookie]") {
    Runtime runtime;
    for (cchar *name : {"", "a b", "a=b", "a;b", "a\r\nX: y", "a\n", "\"a\"", "\xc3\xbc", "a,b"}) {
        CHECK(formatted(name, "1") == "(none)");
    }
    CHECK(formatted(nullptr, "1") == "(none)");
    for (cchar *value : {"1;x", "1; Domain=evil", "1\r\nSet-Cookie: b=2", "\n", "\r", "\x01", "\x7f", "a\tb"}) {
        CHECK(formatted("a", value) == "(none)");
        CHECK(formatted("a", "1", {value, nullptr, 0, 0}) == "(none)");
        CHECK(formatted("a", "1", {nullptr, value, 0, 0}) == "(none)");
    }
    CHECK(formatted("a", "1", {"/a b", nullptr, 0, 0}) == "(none)");
    CHECK(formatted("a", "1", {nullptr, "a.com,b.com", 0, 0}) == "(none)");
    CHECK(formatted("a", "x y,z=\"\xc3\xbc") == "a=x y,z=\"\xc3\xbc; Path=/");
}
