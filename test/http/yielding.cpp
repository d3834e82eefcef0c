// SPDX-License-Identifier: MIT
/*
    test/http/yielding.cpp - Procedures of the program that yield, under calls of the runtime's that have not done yet, and
    streams that end under theirs.
 */
#include "test/http/site.hpp"
#include "test/support/http.hpp"

#include <algorithm>

using namespace test;

namespace {

/* A yield in which everything goes that is not kept, and others' bytes come where it was. */
void yieldHard() {
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    for (size_t i = 0; i < 300; i++) {
        for (const size_t size : {40 + i * 13 % 4000, size_t{8000}, size_t{61'000}}) {
            if (void *block = mprAlloc(i % 10 == 0 || size < 5000 ? size : 100)) {
                memset(block, '#', mprGetBlockSize(block));
            }
        }
    }
}

std::string letters(size_t size) {
    std::string text(size, ' ');
    for (size_t i = 0; i < size; i++) {
        text[i] = static_cast<char>('a' + (i / 1000 + i * i % 7) % 26);
    }
    return text;
}

ssize fillLetters(HttpQueue *, HttpPacket *packet, MprOff at, ssize size) {
    MprBuf *const into = packet->content;
    mprAddRoot(into);
    yieldHard();
    mprRemoveRoot(into);
    return mprPutBlockToBuf(into, letters(300'000).data() + at, size);
}

/* A site whose answers go through a filter that yields. */
class Yielding : public Site {
public:
    Yielding() {
        HttpStage *filter = httpCreateFilter("yields", nullptr);
        filter->outgoing = [](HttpQueue *q, HttpPacket *packet) {
            mprAddRoot(packet);
            yieldHard();
            mprRemoveRoot(packet);
            httpPutPacketToNext(q, packet);
        };
        httpAddRouteFilter(route, "gzipFilter", nullptr, HTTP_STAGE_TX);
        httpAddRouteFilter(route, "yields", nullptr, HTTP_STAGE_TX);
    }
};

} // namespace

TEST_CASE("parts of a body are whole behind which a filter yields", "[http][yielding]") {
    Yielding site;
    httpCreateActionRoute(
        nullptr, "/parts", +[](HttpStream *stream) {
            httpSetContentLength(stream, 20'000);
            httpWriteBlock(stream->writeq, letters(20'000).data(), 20'000, 0);
            httpFinalize(stream);
        });
    const Reply reply = site.get("/parts", "Range: bytes=0-1499,3000-3999,5500-7000\r\n");
    CHECK(reply.status == 206);
    for (const auto &[from, to] : {std::pair{0u, 1500u}, {3000u, 4000u}, {5500u, 7001u}}) {
        CHECK(reply.body.find(letters(20'000).substr(from, to - from)) != std::string::npos);
    }
    CHECK(reply.body.find('#') == std::string::npos);
}

TEST_CASE("a compressed body has its end behind which a filter yields", "[http][yielding]") {
    Yielding site;
    httpCreateActionRoute(
        nullptr, "/compressed", +[](HttpStream *stream) {
            httpSetContentType(stream, "text/plain");
            httpWriteBlock(stream->writeq, letters(60'000).data(), 60'000, 0);
            httpFlush(stream);
            httpFinalize(stream);
        });
    for (int i = 0; i < 3; i++) {
        const Reply reply = site.get("/compressed", "Accept-Encoding: gzip\r\n");
        CHECK(reply.header("Content-Encoding") == "gzip");
        CHECK(reply.body.find("(cut)") == std::string::npos);
        CHECK(reply.body.size() > 100);
    }
}

TEST_CASE("what is written stays while filters that send it yield, whatever it is in", "[http][yielding]") {
    Yielding site;
    httpCreateActionRoute(
        nullptr, "/formatted", +[](HttpStream *stream) {
            httpWrite(stream->writeq, "%s", letters(400'000).c_str());
            httpFinalize(stream);
        });
    httpCreateActionRoute(
        nullptr, "/managed", +[](HttpStream *stream) {
            char *text = sclone(letters(400'000).c_str());
            CHECK(httpWriteBlock(stream->writeq, text, 200'000, 0) == 200'000);
            text = sclone(letters(400'000).c_str());
            CHECK(httpWriteBlock(stream->writeq, text + 200'000, 200'000, 0) == 200'000);
            httpFinalize(stream);
        });
    CHECK((site.get("/formatted").body == letters(400'000)));
    CHECK((site.get("/managed").body == letters(400'000)));
}

TEST_CASE("a packet stays whose bytes are filled in by a procedure that yields", "[http][yielding]") {
    Yielding site;
    httpCreateActionRoute(
        nullptr, "/filled", +[](HttpStream *stream) {
            httpSetContentType(stream, "text/plain");
            HttpPacket *packet = httpCreateDataPacket(0);
            packet->esize = 300'000;
            packet->fill = fillLetters;
            httpPutForService(stream->writeq, packet, true);
            httpFinalize(stream);
        });
    CHECK((site.get("/filled").body == letters(300'000)));
    const Reply reply = site.get("/filled", "Accept-Encoding: gzip\r\n");
    CHECK(reply.header("Content-Encoding") == "gzip");
    CHECK(reply.body.find("(cut)") == std::string::npos);
}

TEST_CASE("an endpoint starts though its prebind callback yields", "[http][yielding]") {
    Site site;
    const uint64 misuses = stats().misuses;
    mprSetSocketPrebindCallback([](MprSocket *sp) {
        yieldHard();
        return mprIsValid(sp) && sp->fd != INVALID_SOCKET ? 0 : -1;
    });
    httpDefineAction("/hello", answerHello);
    CHECK(site.get("/hello").body == "hello");
    mprSetSocketPrebindCallback(nullptr);
    CHECK(stats().misuses == misuses);
}

TEST_CASE("what a handler stores into a stream that has ended under it stays until it returns", "[http][yielding]") {
    Server server;
    static std::atomic<int> seen{0};
    seen = 0;
    httpDefineAction(
        "/goes", +[](HttpStream *stream) {
            mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE); // the stream is old now
            httpDestroy();
            while (stream->active) {
                mprWaitForEvent(stream->dispatcher, 10, -1);
            }
            for (int i = 0; i < 2; i++) {
                mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
            }
            char *const data = sclone("what the handler keeps");
            stream->data = data; // plainly, as streams allow
            for (int i = 0; i < 3; i++) {
                mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
                yieldHard();
            }
            seen = mprIsValid(stream->data) && std::string(data) == "what the handler keeps" ? 1 : -1;
            httpFinalize(stream);
        });
    server.start();
    Client client(server.port);
    client.send("GET /goes HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually([] { return seen != 0; });
    CHECK(seen == 1);
}

namespace {

void sayBytes(HttpStream *stream) {
    httpWrite(stream->writeq, "%lld", static_cast<long long>(stream->rx->bytesRead));
    httpFinalize(stream);
}

} // namespace

TEST_CASE("a body that nobody takes before it has come comes as a whole", "[http][yielding]") {
    Site site;
    httpCreateActionRoute(nullptr, "/bytes", sayBytes);
    SECTION("without a limit") {
        httpGetLimits()->rxBodySize = INT64_MAX;
        CHECK(site.request("POST", "/bytes", "", letters(200'000)).body == "200000");
    }
    SECTION("of a form with files, where no filter takes them") {
        HttpRoute *const route = httpCreateRoute(nullptr);
        httpSetRoutePattern(route, "/files", 0);
        REQUIRE(httpSetRouteHandler(route, "actionHandler") == 0);
        httpDefineAction("/files", sayBytes);
        httpFinalizeRoute(route);
        const std::string form =
            "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + letters(2'000'000) + "\r\n--b--\r\n";
        CHECK(site.request("POST", "/files", "Content-Type: multipart/form-data; boundary=b\r\n", form).body ==
              std::to_string(form.size()));
    }
    SECTION("though a notifier hears of what goes on") {
        httpSetRequestCallback(
            [](HttpStream *stream) { httpSetStreamNotifier(stream, [](HttpStream *, int, int) {}); });
        CHECK(site.request("POST", "/bytes", "", letters(200'000)).body == "200000");
        httpSetRequestCallback(nullptr);
    }
}
