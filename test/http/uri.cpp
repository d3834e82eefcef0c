// SPDX-License-Identifier: MIT
/*
    test/http/uri.cpp - URIs: parsed, formatted, completed, joined, resolved; paths normalised and validated.
 */
#include "test/support/runtime.hpp"

#include "mpr/http.h"
#include "mpr/http/uri.hpp"

#include <random>
#include <string>
#include <vector>

using namespace test;

namespace {

std::string text(cchar *s) {
    return s ? s : "(none)";
}

/* All parts of a URI. */
std::string parts(cchar *uri, int flags = 0) {
    const HttpUri *up = httpCreateUri(uri, flags);
    if (!up || !up->valid) {
        return "invalid";
    }
    return text(up->scheme) + " " + text(up->host) + " " + std::to_string(up->port) + " " + text(up->path) + " " +
           text(up->query) + " " + text(up->reference);
}

std::string normalized(cchar *path) {
    return text(httpNormalizeUriPath(path));
}

std::string validated(cchar *path) {
    return text(httpValidateUriPath(path));
}

std::string resolved(cchar *base, cchar *target) {
    return text(httpUriToString(httpResolveUri(nullptr, httpCreateUri(base, 0), httpCreateUri(target, 0)), 0));
}
} // namespace

TEST_CASE("a URI in parts", "[http][uri]") {
    Runtime runtime;
    struct {
        cchar *uri, *parts;
    } cases[] = {
        {"http://example.com:8080/a/b.html?x=1&y=2#top", "http example.com 8080 /a/b.html x=1&y=2 top"},
        {"HTTPS://Example.com", "https Example.com 0 (none) (none) (none)"},
        {"//host/path", "(none) host 0 /path (none) (none)"},
        {"/a?b", "(none) (none) 0 /a b (none)"},
        {"?b", "(none) (none) 0 (none) b (none)"},
        {"#c", "(none) (none) 0 (none) (none) c"},
        {"?", "(none) (none) 0 (none)  (none)"},
        {"", "(none) (none) 0 (none) (none) (none)"},
        {"a/b", "(none) (none) 0 a/b (none) (none)"},
        {"./a:b", "(none) (none) 0 ./a:b (none) (none)"},
        {"example.com:80/x", "(none) example.com 80 /x (none) (none)"},
        {"example.com:80", "(none) example.com 80 (none) (none) (none)"},
        {":4000/x", "(none) (none) 4000 /x (none) (none)"},
        {"http://[::1]:80/", "http ::1 80 / (none) (none)"},
        {"http://[::ffff:1.2.3.4]", "http ::ffff:1.2.3.4 0 (none) (none) (none)"},
        {"[::1]:443/x", "(none) ::1 443 /x (none) (none)"},
        {"http://host:/", "http host 0 / (none) (none)"},
        {"http://host:65535/", "http host 65535 / (none) (none)"},
        {"http://host/a?b?c#d", "http host 0 /a b?c d"},
        {"http://host?q", "http host 0 (none) q (none)"},
        {"http://host#r", "http host 0 (none) (none) r"},
        {"mailto:joe", "mailto (none) 0 joe (none) (none)"},
        {"/%41%2F", "(none) (none) 0 /%41%2F (none) (none)"},
        {"/\xc3\xbc", "(none) (none) 0 /\xc3\xbc (none) (none)"},
    };
    for (const auto &c : cases) {
        INFO(c.uri);
        CHECK(parts(c.uri) == c.parts);
    }
}

TEST_CASE("what is no URI", "[http][uri]") {
    Runtime runtime;
    for (cchar *uri : {"http://host:65536/",
                       "http://host:-1/",
                       "http://host:8x/",
                       "http://us er/",
                       "/a b",
                       "/a\tb",
                       "/a\r\nb",
                       "/a%",
                       "/a%4",
                       "/a%zz",
                       "/a\\b",
                       "/<script>",
                       "/a\"b",
                       "http://joe@host/",
                       "http://joe:pw@host/",
                       "http://[::1/",
                       "http://[]/",
                       "http://[zz]/",
                       "http://[::1]x/",
                       "http:///path",
                       "http://:80/",
                       "1a:b",
                       "/a{b}",
                       "/a|b",
                       "/a\x7f",
                       "http://a,b/",
                       "http://host:99999999999999999999/"}) {
        INFO(uri);
        CHECK(parts(uri) == "invalid");
    }
    std::string deep = "http://";
    deep.append(100000, '[');
    CHECK(parts(deep.c_str()) == "invalid");
}

TEST_CASE("a URI is completed", "[http][uri]") {
    Runtime runtime;
    CHECK(parts("", HTTP_COMPLETE_URI) == "http localhost 80 / (none) (none)");
    CHECK(parts("https://host", HTTP_COMPLETE_URI) == "https host 443 / (none) (none)");
    CHECK(parts(":4000", HTTP_COMPLETE_URI) == "http localhost 4000 / (none) (none)");
    CHECK(parts("http://host?q", HTTP_COMPLETE_URI_PATH) == "http host 0 / q (none)");
    HttpUri *base = httpCreateUri("https://host:8443/doc", 0);
    CHECK(text(httpUriToString(httpCompleteUri(httpCreateUri("/a?b", 0), base), 0)) == "https://host:8443/a?b");
    CHECK(text(httpUriToString(httpCompleteUri(httpCreateUri("", 0), base), 0)) == "https://host:8443/doc");
    CHECK(text(httpUriToString(httpCompleteUri(httpCreateUri("x://other/", 0), nullptr), 0)) == "x://other/");
    CHECK_FALSE(httpCompleteUri(nullptr, base));
}

TEST_CASE("a URI of parts, and as text", "[http][uri]") {
    Runtime runtime;
    CHECK(text(httpFormatUri("http", "host", 80, "/a", "r", "q", 0)) == "http://host/a?q#r");
    CHECK(text(httpFormatUri("https", "host", 80, "a", nullptr, nullptr, 0)) == "https://host:80/a");
    CHECK(text(httpFormatUri(nullptr, "::1", 81, "/", nullptr, nullptr, 0)) == "//[::1]:81/");
    CHECK(text(httpFormatUri(nullptr, nullptr, 0, nullptr, nullptr, nullptr, 0)) == "");
    CHECK(text(httpFormatUri(nullptr, nullptr, 0, nullptr, nullptr, nullptr, HTTP_COMPLETE_URI)) ==
          "http://localhost/");
    CHECK(text(httpUriToString(httpCreateUriFromParts("http", "host:8080", 0, "/p", nullptr, nullptr, 0), 0)) ==
          "http://host:8080/p");
    CHECK(text(httpUriToString(httpCreateUriFromParts("http", "::1", 0, "/p", nullptr, nullptr, 0), 0)) ==
          "http://[::1]/p");
    CHECK_FALSE(httpCreateUriFromParts("http", "a/b", 0, nullptr, nullptr, nullptr, 0)->valid);
    CHECK_FALSE(httpCreateUriFromParts("http", "host", 0, "/a\r\nSet-Cookie: x", nullptr, nullptr, 0)->valid);
    CHECK_FALSE(httpCreateUriFromParts("ht tp", "host", 0, "/", nullptr, nullptr, 0)->valid);
    CHECK_FALSE(httpCreateUriFromParts("http", "host", 70000, "/", nullptr, nullptr, 0)->valid);
    CHECK_FALSE(httpUriToString(httpCreateUri("/a b", 0), 0));
    CHECK_FALSE(httpUriToString(nullptr, 0));
    CHECK_FALSE(httpCloneUri(nullptr, 0));
    /* A path with two slashes is no host, where none stands before it. */
    CHECK(text(httpFormatUri(nullptr, nullptr, 0, "//other/x", nullptr, nullptr, 0)) == "/.//other/x");
    CHECK(text(httpFormatUri("http", nullptr, 0, "//other/x", nullptr, nullptr, 0)) == "http:/.//other/x");
    CHECK(text(httpFormatUri(nullptr, "h", 0, "//other/x", nullptr, nullptr, 0)) == "//h//other/x");
    CHECK_FALSE(httpCreateUri(httpUriToString(httpCreateUri(":0//other/x", 0), 0), 0)->host);
    /* What is formatted is read as it was. */
    for (cchar *uri : {"//h", ":8/", "http://h/", "https://[fe80::1]:1/x?y#z", "//h:8", "/p?q", "?", "a/b.c", "#"}) {
        CHECK(text(httpUriToString(httpCreateUri(uri, 0), 0)) == uri);
    }
}

TEST_CASE("references are resolved as RFC 3986 does, 5.4", "[http][uri]") {
    Runtime runtime;
    struct {
        cchar *target, *result;
    } cases[] = {
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {";x", "http://a/b/c/;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"https://x/../y", "https://x/y"},
    };
    for (const auto &c : cases) {
        INFO(c.target);
        CHECK(resolved("http://a/b/c/d;p?q", c.target) == c.result);
    }
    CHECK(resolved("http://a", "g") == "http://a/g");
    CHECK_FALSE(httpResolveUri(nullptr, httpCreateUri("/a b", 0), httpCreateUri("g", 0)));
    CHECK_FALSE(httpResolveUri(nullptr, nullptr, nullptr));
    CHECK(text(httpResolveUri(nullptr, nullptr, httpCreateUri("/a/../g", 0))->path) == "/g");
}

TEST_CASE("paths are joined", "[http][uri]") {
    Runtime runtime;
    HttpUri *others[] = {httpCreateUri("b", 0), nullptr, httpCreateUri("../c?q#r", 0)};
    CHECK(text(httpUriToString(httpJoinUri(httpCreateUri("http://h/a", 0), 3, others), 0)) == "http://h/a/c?q#r");
    CHECK(text(httpUriToString(httpJoinUri(nullptr, 1, others), 0)) == "/b");
    CHECK(text(httpUriToString(httpJoinUri(nullptr, 0, nullptr), 0)) == "/");
    HttpUri *out[] = {httpCreateUri("../../..", 0)};
    CHECK(text(httpUriToString(httpJoinUri(httpCreateUri("/a", 0), 1, out), 0)) == "/");
    HttpUri *bad[] = {httpCreateUri("a b", 0)};
    CHECK_FALSE(httpJoinUri(nullptr, 1, bad));
}

TEST_CASE("paths are normalised", "[http][uri]") {
    Runtime runtime;
    struct {
        cchar *path, *result;
    } cases[] = {
        {"/", "/"},
        {"", ""},
        {"//", "/"},
        {"/a//b///c", "/a/b/c"},
        {"/.", "/"},
        {"/./a", "/a"},
        {"/a/.", "/a/"},
        {"/a/..", "/"},
        {"/a/../", "/"},
        {"/a/b/..", "/a/"},
        {"/..", "/"},
        {"/../../a", "/a"},
        {"/a/../../b", "/b"},
        {"/...", "/..."},
        {"/..a/b..", "/..a/b.."},
        {"a/../b", "b"},
        {"../a", "../a"},
        {"a/../../b", "../b"},
        {"../../..", "../../.."},
        {"../a/..", "../"},
        {"./a", "a"},
        {"a/", "a/"},
        {"/%2e%2e/a", "/%2e%2e/a"},
        {"a//../b", "b"},
    };
    for (const auto &c : cases) {
        INFO(c.path);
        CHECK(normalized(c.path) == c.result);
        CHECK(normalized(c.result) == c.result);
    }
    CHECK(normalized(nullptr) == "(none)");
    HttpUri *uri = httpCreateUri("/a/../b.txt", 0);
    CHECK(text(httpNormalizeUri(uri)->path) == "/b.txt");
    CHECK(text(uri->ext) == "txt");
}

TEST_CASE("a path of a request is decoded and stays below its root", "[http][uri]") {
    Runtime runtime;
    struct {
        cchar *path, *result;
    } cases[] = {
        {"/", "/"},
        {"/a%20b", "/a b"},
        {"/a/../b", "/b"},
        {"/a/%2e%2e/b", "/b"},
        {"/a/.%2E/b", "/b"},
        {"/a/%2e/b", "/a/b"},
        {"/%252e%252e/x", "/%2e%2e/x"}, /* once, not twice */
        {"/a//b", "/a/b"},
        {"/\xc3\xbc%C3%BC", "/\xc3\xbc\xc3\xbc"},
        {"/a+b", "/a+b"},
        {"/.../x", "/.../x"},
    };
    for (const auto &c : cases) {
        INFO(c.path);
        CHECK(validated(c.path) == c.result);
    }
    for (cchar *path : {"",
                        "a",
                        "..",
                        "/..",
                        "/../etc",
                        "/a/../..",
                        "/a/../../etc",
                        "/%2e%2e/etc",
                        "/%2e%2e%2fetc",
                        "/a%2fb",
                        "/a%2Fb",
                        "/a\\b",
                        "/..\\..\\etc",
                        "/a%5cb",
                        "/a%5Cb",
                        "/a%00b",
                        "/%00",
                        "/a%",
                        "/a%4",
                        "/a%4g",
                        "/a\nb",
                        "/a%0ab",
                        "/a%0D%0Ab",
                        "/%7f",
                        "/\x01",
                        "/a/./../../b",
                        "//../b",
                        "/%c0%ae/%",
                        "*",
                        "http://h/"}) {
        INFO(path);
        CHECK(validated(path) == "(none)");
    }
    CHECK(validated(nullptr) == "(none)");
}

TEST_CASE("whatever a path is, it stays below its root", "[http][uri]") {
    Runtime runtime;
    std::mt19937 random(22);
    cchar *pieces[] = {"/", "..", ".", "%2e", "%2E%2e", "%2f", "a", "%61", "//", "\\", "%5c", "%00", "%", "%25", "b.c"};
    for (int i = 0; i < 20000; ++i) {
        std::string path = "/";
        for (unsigned n = random() % 12; n > 0; --n) {
            path += pieces[random() % std::size(pieces)];
        }
        cchar *safe = httpValidateUriPath(path.c_str());
        if (safe) {
            const std::string result = std::string(safe) + "/";
            REQUIRE(result[0] == '/');
            REQUIRE(result.find("/../") == std::string::npos);
            REQUIRE(result.find("/./") == std::string::npos);
            REQUIRE(result.find('\\') == std::string::npos);
            REQUIRE(std::string(safe).find("//") == std::string::npos);
        }
        const std::string normal = httpNormalizeUriPath(path.c_str());
        REQUIRE((normal + "/").find("/../") == std::string::npos);
        if (i % 1000 == 0) {
            mprYield(0);
        }
    }
}

TEST_CASE("long paths take time in proportion", "[http][uri]") {
    Runtime runtime;
    std::string dots;
    for (int i = 0; i < 300000; ++i) {
        dots += "/a/..";
    }
    CHECK(normalized(dots.c_str()) == "/");
    CHECK(validated((dots + "/x").c_str()) == "/x");
    std::string up = dots;
    for (int i = 0; i < 300000; ++i) {
        up += "../";
    }
    CHECK(normalized(("x" + up).c_str()).size() >= 3);
}

TEST_CASE("extensions of paths", "[http][uri]") {
    Runtime runtime;
    CHECK(text(httpGetPathExt("/a.b/c.tar.gz?q.r")) == "gz");
    CHECK(text(httpGetPathExt("/a.b/c")) == "(none)");
    CHECK(text(httpGetPathExt("/a.")) == "(none)");
    CHECK(text(httpGetPathExt("/a.b c")) == "(none)");
    CHECK(text(httpGetPathExt("/a.html#x.y")) == "html");
    CHECK(text(httpGetPathExt(nullptr)) == "(none)");
    CHECK(text(httpCreateUri("/x.JS", 0)->ext) == "JS");
}

TEST_CASE("URIs keep their parts", "[http][uri]") {
    Runtime runtime;
    MprRootRef root = {};
    mprLinkRootRef(&root);
    root.ptr = httpCreateUri("http://host/a.b?q#r", 0);
    collect();
    httpCompleteUri(static_cast<HttpUri *>(root.ptr), nullptr);
    collect();
    CHECK(text(httpUriToString(static_cast<HttpUri *>(root.ptr), 0)) == "http://host/a.b?q#r");
    CHECK(static_cast<HttpUri *>(root.ptr)->port == 80);
    mprUnlinkRootRef(&root);
}
