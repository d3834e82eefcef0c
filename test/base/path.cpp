// SPDX-License-Identifier: MIT
/*
    test/base/path.cpp - Paths as text.
 */
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <string>
#include <vector>

using namespace test;

namespace {

std::string str(const char *text) {
    return text ? text : "(null)";
}

/* Normalisation by parts, for comparison. */
std::string normalized(const std::string &path) {
    bool absolute = !path.empty() && path[0] == '/';
    std::vector<std::string> parts;
    for (size_t at = 0; at <= path.size();) {
        size_t end = std::min(path.find('/', at), path.size());
        std::string part = path.substr(at, end - at);
        at = end + 1;
        if (part.empty() || part == ".") {
            continue;
        }
        if (part == ".." && !parts.empty() && parts.back() != "..") {
            parts.pop_back();
        } else if (part != ".." || !absolute) {
            parts.push_back(part);
        }
    }
    std::string all = absolute ? "/" : "";
    for (size_t i = 0; i < parts.size(); i++) {
        all += (i ? "/" : "") + parts[i];
    }
    return all.empty() ? "." : all;
}

} // namespace

TEST_CASE("paths are normalised", "[base][path]") {
    Runtime runtime;
    constexpr cchar *cases[][2] = {
        {"", "."},
        {".", "."},
        {"/", "/"},
        {"//", "/"},
        {"a", "a"},
        {"a/", "a"},
        {"./a", "a"},
        {"a/.", "a"},
        {"a//b///c", "a/b/c"},
        {"a/b/..", "a"},
        {"a/..", "."},
        {"..", ".."},
        {"../..", "../.."},
        {"a/../..", ".."},
        {"/..", "/"},
        {"/../a", "/a"},
        {"/a/../../b", "/b"},
        {"../a/..", ".."},
        {"../a/../b", "../b"},
        {"/a/b/../c/./d/", "/a/c/d"},
        {"...", "..."},
        {"a/...", "a/..."},
        {".a/..b", ".a/..b"},
        {"a\\b", "a\\b"},
        {"\xc3\xa9/..", "."},
    };
    for (auto &one : cases) {
        INFO(one[0]);
        CHECK(str(mprNormalizePath(one[0])) == one[1]);
        CHECK(str(mprGetPortablePath(one[0])) == one[1]);
        CHECK(str(mprGetNativePath(one[0])) == one[1]);
    }
    CHECK(str(mprNormalizePath(nullptr)) == ".");
}

TEST_CASE("random paths are normalised as by parts; joining is normalising both", "[base][path]") {
    Runtime runtime;
    Random random(1);
    constexpr cchar *parts[] = {"a", "bb", "..", ".", "", "c.d"};
    auto make = [&] {
        std::string path = random.chance(40) ? "/" : "";
        for (size_t n = random.below(8); n > 0; n--) {
            path += std::string(parts[random.below(6)]) + (n > 1 || random.chance(30) ? "/" : "");
        }
        return path;
    };
    for (size_t i = 0; i < heavy(100000); i++) {
        std::string one = make(), two = make();
        INFO(one << " + " << two);
        REQUIRE(str(mprNormalizePath(one.c_str())) == normalized(one));
        std::string both = two.empty() ? one : two[0] == '/' ? two : one.empty() ? two : one + "/" + two;
        REQUIRE(str(mprJoinPath(one.c_str(), two.c_str())) == normalized(both));
        if (i % 1000 == 0) {
            mprYield(0);
        }
    }
}

TEST_CASE("base, directory and parent", "[base][path]") {
    Runtime runtime;
    constexpr cchar *cases[][4] = {
        {"/a/b/c.txt", "c.txt", "/a/b", "/a/b"},
        {"/a", "a", "/", "/"},
        {"a", "a", ".", "."},
        {"/", "/", "/", "/"},
        {"a/", "", "a", "."},
        {"", "", ".", ".."},
        {".", ".", ".", ".."},
        {"..", "..", ".", "../.."},
        {"../a", "a", "..", ".."},
        {"/a/b/", "", "/a/b", "/a"},
        {"a/b", "b", "a", "a"},
        {"./a", "a", ".", "."},
    };
    for (auto &one : cases) {
        INFO(one[0]);
        CHECK(str(mprGetPathBase(one[0])) == one[1]);
        CHECK(str(mprGetPathDir(one[0])) == one[2]);
        CHECK(str(mprGetPathParent(one[0])) == one[3]);
    }
    CHECK(!mprGetPathBase(nullptr));
    CHECK(!mprGetPathDir(nullptr));
}

TEST_CASE("extensions", "[base][path]") {
    Runtime runtime;
    CHECK(str(mprGetPathExt("a.tar.gz")) == "gz");
    CHECK(str(mprGetPathExt("/a.b/c")) == "(null)");
    CHECK(str(mprGetPathExt("a.")) == "");
    CHECK(str(mprGetPathExt(".profile")) == "profile");
    CHECK(!mprGetPathExt("a"));
    CHECK(!mprGetPathExt(nullptr));
    CHECK(str(mprTrimPathExt("/x/a.tar.gz")) == "/x/a.tar");
    CHECK(str(mprTrimPathExt("/a.b/c")) == "/a.b/c");
    CHECK(str(mprTrimPathExt("a.")) == "a");
    CHECK(!mprTrimPathExt(nullptr));
    CHECK(str(mprJoinPathExt("a", "txt")) == "a.txt");
    CHECK(str(mprJoinPathExt("a", ".txt")) == "a.txt");
    CHECK(str(mprJoinPathExt("a.c", "txt")) == "a.c");
    CHECK(str(mprJoinPathExt("a.b/c", "txt")) == "a.b/c.txt");
    CHECK(str(mprJoinPathExt("a", nullptr)) == "a");
    CHECK(str(mprJoinPathExt("a", "")) == "a");
    CHECK(!mprJoinPathExt(nullptr, "c"));
    CHECK(str(mprReplacePathExt("a.c", "o")) == "a.o");
    CHECK(str(mprReplacePathExt("a.c", ".o")) == "a.o");
    CHECK(str(mprReplacePathExt("a", "o")) == "a.o");
    CHECK(str(mprReplacePathExt("a.c", nullptr)) == "a");
    CHECK(!mprReplacePathExt(nullptr, "o"));
}

TEST_CASE("joined and resolved", "[base][path]") {
    Runtime runtime;
    CHECK(str(mprJoinPath("/a", "b")) == "/a/b");
    CHECK(str(mprJoinPath("/a/", "/b")) == "/b");
    CHECK(str(mprJoinPath("a", "../b")) == "b");
    CHECK(str(mprJoinPath(nullptr, "b")) == "b");
    CHECK(str(mprJoinPath("a", nullptr)) == "a");
    CHECK(str(mprJoinPath(nullptr, nullptr)) == ".");
    CHECK(str(mprJoinPaths("/a", "b", "..", "c", nullptr)) == "/a/c");
    CHECK(str(mprJoinPaths("a", nullptr)) == "a");
    CHECK(str(mprJoinPaths("a", "/b", "c", nullptr)) == "/b/c");
    CHECK(str(mprJoinPaths(nullptr, "", "", "x", nullptr)) == "x");
    CHECK(str(mprResolvePath("/a/b", "c")) == "/a/c");
    CHECK(str(mprResolvePath("/a/b/", "c")) == "/a/b/c");
    CHECK(str(mprResolvePath("a", "c")) == "c");
    CHECK(str(mprResolvePath("/a", "/c")) == "/c");
    CHECK(str(mprResolvePath(nullptr, "c")) == "c");
    CHECK(str(mprResolvePath("a/b", nullptr)) == "a/b");
    CHECK(str(mprResolvePath("/r/s", "")) == "/r/s");
    CHECK(str(mprResolvePath("/r/s/", "")) == "/r/s");
    CHECK(str(mprResolvePath("/r/s", ".")) == "/r");
    CHECK(str(mprResolvePath(nullptr, nullptr)) == ".");
}

TEST_CASE("absolute, relative, and other separators", "[base][path]") {
    Runtime runtime;
    CHECK(mprIsPathAbs("/"));
    CHECK(!mprIsPathAbs("a"));
    CHECK(!mprIsPathAbs(""));
    CHECK(!mprIsPathAbs(nullptr));
    CHECK(mprIsPathRel("a"));
    CHECK(mprIsPathRel(""));
    CHECK(!mprIsPathRel("/a"));
    CHECK(!mprIsPathRel(nullptr));
    char path[] = "/a\\b/c";
    mprMapSeparators(path, '\\');
    CHECK(std::string(path) == "\\a\\b\\c");
    mprMapSeparators(path, '/');
    CHECK(std::string(path) == "/a/b/c");
    mprMapSeparators(nullptr, '/');
}
