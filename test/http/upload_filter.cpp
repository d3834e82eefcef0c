// SPDX-License-Identifier: MIT
/*
    test/http/upload_filter.cpp - Files in forms: written to temporary files, limited, and removed at the end.
 */
#include "test/http/site.hpp"
#include "test/support/http.hpp"
#include "mpr/http/upload.h"

#include <filesystem>
#include <memory>

using namespace test;

namespace {

std::vector<std::string> temporary; /* files of the last request */

/* What came: "name=value;" sorted, and "name|client name|type|size|contents;" of files. */
void tell(HttpStream *stream) {
    std::string text = httpGetParamsString(stream);
    const HttpUploadFile *file;
    int next;
    for (ITERATE_ITEMS(stream->rx->files, file, next)) {
        ssize length = 0;
        cchar *contents = mprReadPathContents(file->filename, &length);
        temporary.push_back(file->filename);
        text += std::string(";") + file->name + "|" + file->clientFilename + "|" +
                (file->contentType ? file->contentType : "") + "|" + std::to_string(file->size) + "|" +
                std::string(contents, static_cast<size_t>(length)).substr(0, 100);
    }
    httpWriteString(stream->writeq, text.c_str());
    httpFinalize(stream);
}

class Uploading : public Site {
public:
    Uploading() {
        temporary.clear();
        limits = httpGetRouteLimits(route);
        limits->uploadSize = 100000;
        limits->rxBodySize = 300000;
        limits->rxFormSize = 1000;
        REQUIRE(httpCreateActionRoute(nullptr, "/up", tell));
    }
    Reply upload(const std::string &body, const std::string &query = "", size_t piece = 0) {
        return request("POST", "/up" + query, "Content-Type: multipart/form-data; boundary=XyZ\r\n", body, piece);
    }
    bool allRemoved() const {
        for (const std::string &path : temporary) {
            if (std::filesystem::exists(path)) {
                return false;
            }
        }
        return true;
    }

    HttpLimits *limits = nullptr;
};

std::string part(const std::string &parameters, const std::string &data) {
    return "--XyZ\r\nContent-Disposition: form-data; " + parameters + "\r\n\r\n" + data + "\r\n";
}

constexpr cchar *end = "--XyZ--\r\n";
} // namespace

TEST_CASE("files and fields of a form", "[http][uploadfilter]") {
    Uploading site;
    const std::string body = part("name=a", "1 2") +
                             part("name=f; filename=\"../x.txt\"\r\nContent-Type: text/plain", "contents\r\n") +
                             part("name=b", "") + part("name=g; filename=\"\"", "") + end;
    const std::string told = "a=1%202&b=&q=1;f|x.txt|text/plain|10|contents\r\n;g|||0|";
    CHECK(site.upload(body, "?q=1").body == told);
    CHECK(temporary.size() == 2);
    CHECK(site.allRemoved());
    CHECK(site.upload(body, "?q=1", 7).body == told);
    CHECK(site.allRemoved());
    CHECK(site.upload(end).body == "");
    /* What the route and the query say counts before what is in a form. */
    CHECK(site.upload(part("name=q", "2") + part("name=q", "3") + part("name=r", "4") + end, "?q=1").body == "q=1&r=4");
    /* A form without files, of another kind, needs no filter. */
    CHECK(site.request("POST", "/up?q=1", "Content-Type: application/x-www-form-urlencoded\r\n", "a=b&c").body ==
          "a=b&c=&q=1");
}

TEST_CASE("parameters are counted, of queries and of forms", "[http][uploadfilter]") {
    Uploading site;
    std::string many = "a";
    for (int i = 1; i < 1000; ++i) {
        many += "&a";
    }
    const auto post = [&site](const std::string &form) {
        return site.request("POST", "/up", "Content-Type: application/x-www-form-urlencoded\r\n", form).status;
    };
    site.limits->rxFormSize = 10000;
    httpGetLimits()->uriSize = 10000;
    CHECK(post(many) == 200);
    CHECK(post(many + "&a") == 400);
    CHECK(site.get("/up?" + many).status == 200);
    CHECK(site.get("/up?a&" + many).status == 400);
}

TEST_CASE("a zero byte in a form is refused: nobody would look behind it", "[http][uploadfilter]") {
    Uploading server;
    const std::string zero("a=1\0&b=2", 9);
    CHECK(server.upload(part("name=\"a\"", zero) + "--XyZ--\r\n").status == 400);
    CHECK(server.request("POST", "/up", "Content-Type: application/x-www-form-urlencoded\r\n", zero).status == 400);
    CHECK(server.request("POST", "/up", "Content-Type: application/json\r\n", std::string("{\"a\":1}\0", 8)).body ==
          ""); /* no JSON, so no parameters */
}

TEST_CASE("uploads are limited", "[http][uploadfilter]") {
    Uploading site;
    const auto file = [](size_t size) { return part("name=f; filename=x", std::string(size, 'x')) + end; };
    CHECK(site.upload(file(100000)).status == 200);
    CHECK(site.upload(file(100001)).status == 413);
    CHECK(site.upload(part("name=a", std::string(999, 'x')) + end).status == 200);
    CHECK(site.upload(part("name=a", std::string(1000, 'x')) + end).status == 413);
    CHECK(site.upload(part("name=f; filename=x", std::string(100000, 'x')) +
                      part("name=g; filename=x", std::string(100000, 'x')) + end)
              .status == 200);
    CHECK(site.upload(std::string(300001, 'x')).status == 413);
    CHECK(site.allRemoved());
}

TEST_CASE("malformed forms are refused and leave nothing", "[http][uploadfilter]") {
    Uploading site;
    CHECK(site.upload(part("name=f; filename=x", "data")).status == 400); /* no end */
    CHECK(site.upload("nothing").status == 400);
    CHECK(site.upload(part("filename=x", "data") + end).status == 400); /* no name */
    CHECK(site.upload(part("name=f; filename=x", "data") + "--XyZ\n").status == 400);
    CHECK(site.request("POST", "/up", "Content-Type: multipart/form-data\r\n", "x").status == 400);
    CHECK(site.upload(part("name=f; filename=x", "data") + end).status == 200);
    CHECK(site.allRemoved());
}

TEST_CASE("a runtime that ends in the midst of an upload leaves no file", "[http][uploadfilter]") {
    Folder folder;
    const auto files = [&folder] {
        return std::distance(std::filesystem::directory_iterator(folder.root), std::filesystem::directory_iterator());
    };
    cchar *before = getenv("TMPDIR");
    const std::string kept = before ? before : "";
    setenv("TMPDIR", folder.root.c_str(), 1);
    {
        std::unique_ptr<Client> client; // stays longer
        Server server;
        REQUIRE(httpCreateActionRoute(nullptr, "/up", tell));
        server.start();
        client = std::make_unique<Client>(server.port);
        const std::string body =
            part("name=f; filename=x", "data") + part("name=g; filename=y", std::string(5000, 'y'));
        client->send(
            post("/up", body + end, "Content-Type: multipart/form-data; boundary=XyZ\r\n").substr(0, body.size()));
        eventually([&files] { return files() == 2; });
    }
    CHECK(files() == 0);
    before ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}
