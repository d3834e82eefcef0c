// SPDX-License-Identifier: MIT
/*
    test/http/file_handler.cpp - Documents: what is served, as what, and what is not; conditions; files of the program.
 */
#include "test/http/site.hpp"

#include "mpr/http/document.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

using namespace test;

namespace {

std::string pattern(size_t size) {
    std::string text;
    while (text.size() < size) {
        text += std::to_string(text.size()) + "\n";
    }
    text.resize(size);
    return text;
}
} // namespace

TEST_CASE("a document is served", "[http][file]") {
    Site site;
    site.folder.write("a.html", "<p>hello");
    site.folder.write("a b&c.txt", "blank");
    site.folder.write("none", "");
    site.folder.write("noext", "x");
    Reply reply = site.get("/a.html");
    CHECK(reply.status == 200);
    CHECK(reply.body == "<p>hello");
    CHECK(reply.header("Content-Length") == "8");
    CHECK(reply.header("Content-Type") == "text/html");
    CHECK(reply.header("Accept-Ranges") == "bytes");
    CHECK(reply.header("ETag").size() > 4);
    CHECK(reply.header("Last-Modified").size() == 29);
    CHECK(site.get("/a%20b&c.txt").body == "blank");
    CHECK(site.get("/a.html?query=1").body == "<p>hello");
    CHECK(site.get("/x/../a.html").body == "<p>hello");
    CHECK(site.get("//a.html").body == "<p>hello");
    CHECK(site.get("/noext").header("Content-Type") == "application/octet-stream");
    reply = site.get("/none");
    CHECK(reply.status == 200);
    CHECK(reply.header("Content-Length") == "0");
    reply = site.request("HEAD", "/a.html");
    CHECK(reply.status == 200);
    CHECK(reply.body.empty());
    CHECK(reply.header("Content-Length") == "8");
    CHECK(reply.header("Content-Type") == "text/html");
}

TEST_CASE("what is no document is refused", "[http][file]") {
    Site site;
    site.folder.write("docs/a.txt", "a");
    site.folder.write("docs/.hidden", "secret");
    site.folder.write("docs/.git/config", "secret");
    site.folder.write("docs/.well-known/x", "known");
    site.folder.write("docs/sub/b.txt", "b");
    site.folder.write("secret.txt", "secret");
    httpSetRouteDocuments(site.route, (site.folder / "docs").c_str());
    for (cchar *path : {"/b.txt", "/a.txt/", "/a.txt/x", "/.hidden", "/.git/config", "/.git/", "/sub/.", "/sub/c.txt",
                        "/docs/a.txt"}) {
        INFO(path);
        const Reply reply = site.get(path);
        CHECK((reply.status == 404 || (reply.status == 301 && std::string(path) == "/sub/.")));
        CHECK(reply.body.find("secret") == std::string::npos);
    }
    for (cchar *path : {"/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/a%00.txt", "/..\\secret.txt",
                        "/sub/../../secret.txt", "/%2e%2e%5csecret.txt"}) {
        INFO(path);
        const Reply reply = site.get(path);
        CHECK(reply.status == 400);
        CHECK(reply.body.find("secret\n") == std::string::npos);
    }
    CHECK(site.get("/.well-known/x").body == "known");
    CHECK(site.get("/sub/").status == 403); /* no index */
    Reply reply = site.request("POST", "/a.txt", "", "x=1");
    CHECK(reply.status == 405);
    CHECK(reply.header("Allow") == "GET, HEAD, OPTIONS");
    reply = site.request("DELETE", "/a.txt");
    CHECK(reply.status == 405);
    reply = site.request("OPTIONS", "/a.txt");
    CHECK(reply.status == 204);
    CHECK(reply.header("Allow") == "GET, HEAD, OPTIONS");
    if (geteuid() != 0) {
        chmod((site.folder / "docs/a.txt").c_str(), 0);
        CHECK(site.get("/a.txt").status == 403);
    }
    REQUIRE(mkfifo((site.folder / "docs/pipe").c_str(), 0600) == 0);
    CHECK(site.get("/pipe").status == 404); /* and nobody waits for its other end */
}

TEST_CASE("a route without documents serves none", "[http][file]") {
    Site site;
    httpSetRouteDocuments(site.route, nullptr);
    CHECK(site.get("/CMakeLists.txt").status == 404);
    CHECK(site.get("/").status == 404);
}

TEST_CASE("folders", "[http][file]") {
    Site site;
    site.folder.write("index.html", "root");
    site.folder.write("sub/index.html", "sub");
    site.folder.write("a b/home.htm", "home");
    CHECK(site.get("/").body == "root");
    CHECK(site.get("/sub/").body == "sub");
    Reply reply = site.get("/sub");
    CHECK(reply.status == 301);
    CHECK(reply.header("Location").find("/sub/") != std::string::npos);
    CHECK(site.get("/sub?x=1").header("Location").find("/sub/?x=1") != std::string::npos);
    /* Two slashes would name another host. */
    CHECK(site.get("//sub").header("Location").find("//sub") == std::string::npos);
    CHECK(site.get("/a%20b").header("Location").find("/a%20b/") != std::string::npos);
    CHECK(site.get("/a%20b/").status == 403);
    httpAddRouteIndex(site.route, "home.htm");
    httpAddRouteIndex(site.route, "index.html");
    CHECK(site.get("/a%20b/").body == "home");
    CHECK(site.get("/a%20b/").header("Content-Type") == "text/html");
    CHECK(site.get("/sub/").body == "sub");
}

TEST_CASE("symbolic links are followed within the documents, and out of them if that is allowed", "[http][file]") {
    using std::filesystem::create_symlink;
    Site site;
    const Folder &folder = site.folder;
    folder.write("elsewhere.txt", "elsewhere");
    folder.write("other/index.html", "other");
    folder.write("docs-too/a.txt", "too"); /* A path that begins as the documents' does */
    folder.write("docs/a.txt", "a");
    folder.write("docs/sub/b.txt", "b");
    create_symlink(folder / "elsewhere.txt", folder / "docs/out.txt");
    create_symlink("../elsewhere.txt", folder / "docs/relative.txt");
    create_symlink(folder / "docs/out.txt", folder / "docs/twice.txt");
    create_symlink(folder / "docs-too/a.txt", folder / "docs/too.txt");
    create_symlink(folder / "other", folder / "docs/folder");
    create_symlink(folder / "docs/sub/b.txt", folder / "docs/in.txt");
    create_symlink("sub", folder / "docs/alias");
    create_symlink(folder / "nowhere", folder / "docs/broken");
    const cchar *leaving[] = {"/out.txt", "/relative.txt", "/twice.txt", "/too.txt", "/folder/", "/folder/index.html"};
    httpSetRouteDocuments(site.route, (folder / "docs").c_str());
    SECTION("until it is set they stay") {
        for (cchar *path : leaving) {
            INFO(path);
            const Reply reply = site.get(path);
            CHECK(reply.status == 404);
            CHECK(reply.body.find("else") == std::string::npos);
        }
        CHECK(site.get("/in.txt").body == "b");
        CHECK(site.get("/alias/b.txt").body == "b");
        CHECK(site.get("/broken").status == 404);
        CHECK(Log::has("docs/out.txt is not sent: it leads to " + folder / "elsewhere.txt"));
    }
    SECTION("if it is set they may leave") {
        httpSetRouteFollow(site.route, true);
        for (cchar *path : leaving) {
            INFO(path);
            CHECK(site.get(path).status == 200);
        }
        httpSetRouteFollow(site.route, false);
        CHECK(site.get("/out.txt").status == 404);
    }
    SECTION("an error's document, too") {
        httpAddRouteErrorDocument(site.route, 405, "/out.txt");
        CHECK(site.request("POST", "/a.txt", "", "x").body != "elsewhere");
        httpSetRouteFollow(site.route, true);
        CHECK(site.request("POST", "/a.txt", "", "x").body == "elsewhere");
    }
    SECTION("the documents may be a link themselves, and be led to others while the server runs") {
        create_symlink("docs", folder / "current");
        httpSetRouteDocuments(site.route, (folder / "current").c_str());
        CHECK(site.get("/a.txt").body == "a");
        std::filesystem::remove(folder / "current");
        create_symlink("docs-too", folder / "current");
        CHECK(site.get("/a.txt").body == "too");
    }
}

TEST_CASE("where an open file really is", "[http][file]") {
    const Folder folder;
    const std::string path = folder.write("a.txt", "a"), link = folder / "link";
    std::filesystem::create_symlink(path, link);
    char real[PATH_MAX];
    for (cchar *opened : {"/proc/self/fd", "/nowhere"}) {
        INFO(opened);
        const int fd = open(link.c_str(), O_RDONLY | O_CLOEXEC);
        cchar *found = mpr::http::realPathOf(fd, link.c_str(), real, opened);
        REQUIRE(found);
        CHECK(std::filesystem::equivalent(found, path));
        CHECK_FALSE(std::filesystem::is_symlink(found));
        close(fd);
    }
    const int other = open(folder.write("b.txt", "b").c_str(), O_RDONLY | O_CLOEXEC);
    CHECK_FALSE(
        mpr::http::realPathOf(other, link.c_str(), real, "/nowhere")); /* The link was set to another meanwhile */
    close(other);
}

TEST_CASE("a document is not sent twice", "[http][file]") {
    Site site;
    site.folder.write("a.txt", "first");
    const Reply first = site.get("/a.txt");
    const std::string etag = first.header("ETag"), date = first.header("Last-Modified");
    Reply reply = site.get("/a.txt", "If-None-Match: " + etag + "\r\n");
    CHECK(reply.status == 304);
    CHECK(reply.body.empty());
    CHECK(reply.header("ETag") == etag);
    CHECK(reply.header("Last-Modified") == date);
    CHECK(site.get("/a.txt", "If-Modified-Since: " + date + "\r\n").status == 304);
    CHECK(site.request("HEAD", "/a.txt", "If-None-Match: *\r\n").status == 304);
    CHECK(site.get("/a.txt", "If-None-Match: \"other\"\r\n").body == "first");
    CHECK(site.get("/a.txt", "If-Match: " + etag + "\r\n").body == "first");
    CHECK(site.get("/a.txt", "If-Match: \"other\"\r\n").status == 412);
    CHECK(site.get("/a.txt", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n").status == 412);
    CHECK(site.get("/b.txt", "If-None-Match: *\r\n").status == 404);
    /* Written anew within the same second, and as long. */
    site.folder.write("a.txt", "other");
    CHECK(site.get("/a.txt", "If-None-Match: " + etag + "\r\n").body == "other");
}

TEST_CASE("a large document passes through a small queue", "[http][file]") {
    Site site;
    const std::string large = pattern(5 << 20);
    site.folder.write("large.bin", large);
    const Reply reply = site.get("/large.bin");
    CHECK(reply.header("Content-Length") == std::to_string(large.size()));
    CHECK((reply.body == large));
}

TEST_CASE("documents of all sizes arrive whole, copied or sent by the system", "[http][file]") {
    Site site;
    for (const size_t size : {1000, 16383, 16384, 16385, 65535, 65536, 65537, 200000}) {
        const std::string body = pattern(size);
        site.folder.write("some.bin", body);
        CHECK((site.get("/some.bin").body == body));
        CHECK((site.get("/some.bin", "Range: bytes=100-\r\n").body == body.substr(100)));
    }
}

TEST_CASE("a client that does not read holds little memory, and gets all in the end", "[http][file]") {
    Site site;
    const std::string large = pattern(32 << 20);
    site.folder.write("large.bin", large);
    site.get("/none");
    collect();
    const uint64 before = stats().bytesLive;
    site.measures = true;
    const Reply reply = site.get("/large.bin");
    CHECK((reply.body == large));
    CHECK(site.liveMeanwhile > 0);
    CHECK(site.liveMeanwhile < before + (1 << 20));
}

TEST_CASE("a document that becomes shorter while it is sent ends its connection", "[http][file]") {
    Site site;
    site.folder.write("large.bin", "");
    REQUIRE(truncate((site.folder / "large.bin").c_str(), 64 << 20) == 0);
    int cut = -1;
    site.meanwhile = [&] { cut = truncate((site.folder / "large.bin").c_str(), 100); };
    const Reply reply = site.get("/large.bin");
    CHECK(cut == 0);
    CHECK(reply.header("Content-Length") == std::to_string(64 << 20));
    CHECK(reply.body.size() < 64 << 20);
}

TEST_CASE("files of the program are documents", "[http][file]") {
    static const unsigned char text[] = "from the program";
    static MprRomInode files[] = {
        {"/web/index.html", text, sizeof(text) - 1, 0}, {"/web/sub/a.txt", text, 4, 0}, {nullptr, nullptr, 0, 0}};
    Site site;
    mprSetRomFileSystem(files);
    httpSetRouteDocuments(site.route, "/web");
    Reply reply = site.get("/");
    CHECK(reply.body == "from the program");
    CHECK(reply.header("Content-Type") == "text/html");
    CHECK(reply.header("Last-Modified").empty());
    const std::string etag = reply.header("ETag");
    CHECK(etag.size() > 4);
    CHECK(site.get("/", "If-None-Match: " + etag + "\r\n").status == 304);
    CHECK(site.get("/sub/a.txt").body == "from");
    CHECK(site.get("/sub/a.txt").header("ETag") != etag);
    CHECK(site.get("/sub").status == 301);
    CHECK(site.get("/sub/").status == 403);
    CHECK(site.get("/none").status == 404);
    mprSetRomFileSystem(nullptr);
}

TEST_CASE("errors are answered with documents", "[http][file]") {
    Site site;
    site.folder.write("errors/404.html", "<p>nothing there");
    httpAddRouteErrorDocument(site.route, 404, "/errors/404.html");
    httpAddRouteErrorDocument(site.route, 405, "/errors/405.html");
    Reply reply = site.get("/none");
    CHECK(reply.status == 404);
    CHECK(reply.body == "<p>nothing there");
    CHECK(reply.header("Content-Type") == "text/html");
    CHECK(site.request("HEAD", "/none").body.empty());
    site.folder.write("errors/404.html", std::string("zero \0 bytes", 12));
    CHECK(site.get("/none").body == std::string("zero \0 bytes", 12));
    /* One that is not there. */
    reply = site.request("POST", "/errors/404.html", "", "x");
    CHECK(reply.status == 302);
    CHECK(reply.header("Location").find("/errors/405.html") != std::string::npos);
    /* A client that asks for the document itself is not sent there again. */
    httpAddRouteErrorDocument(site.route, 404, "/missing.html");
    CHECK(site.get("/none").status == 302);
    CHECK(site.get("/missing.html").status == 404);
    CHECK(site.get("/missing.html?again").status == 404);
}

TEST_CASE("files are closed when their request is over", "[http][file]") {
    Site site;
    site.folder.write("a.txt", "a");
    site.get("/a.txt");
    const auto open = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                             std::filesystem::directory_iterator());
    };
    const auto before = open();
    for (int i = 0; i < 20; ++i) {
        site.get("/a.txt");
        site.request("HEAD", "/a.txt");
        site.get("/a.txt", "If-None-Match: *\r\n");
    }
    CHECK(serviceUntil([&] { return open() <= before; })); /* connections go when their clients have gone */
}
