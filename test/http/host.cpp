// SPDX-License-Identifier: MIT
/*
    test/http/host.cpp - A server in pages of a host that refuses some: it lives, answers or closes, and has forgotten the
    refusal by the next request.
 */
#include "mpr/host.h"
#include "test/support/http.hpp"
#include "test/support/page_host.hpp"
#include "test/support/watchdog.hpp"

using namespace test;

namespace {

/* More than a handler of a small service asks for: a session, a form, text that is compressed. */
void answer(HttpStream *stream) {
    httpSetSessionVar(stream, "seen", "yes");
    const std::string line(1000, 'x');
    const int lines = httpGetIntParam(stream, "lines", 1);
    for (int i = 0; i < lines; i++) {
        httpWriteBlock(stream->writeq, line.data(), static_cast<ssize>(line.size()), 0);
    }
    httpFinalize(stream);
}

struct Got {
    bool runtime = false, started = false, ended = false;
    int answered = 0; // by a status or by closing
    int statuses = 0; // 200
    bool after = false;
    long asked = 0; // pages, while some were refused
};

HttpEndpoint *makeSite() {
    if (!httpCreate(HTTP_SERVER_SIDE)) {
        return nullptr;
    }
    HttpEndpoint *endpoint = httpCreateEndpoint("127.0.0.1", 0, nullptr);
    HttpRoute *route = endpoint ? httpCreateActionRoute(nullptr, "/answer", answer) : nullptr;
    if (!route) {
        return nullptr;
    }
    httpAddRouteFilter(route, "gzipFilter", nullptr, HTTP_STAGE_TX);
    return httpStartEndpoints() == 0 && mprStart() == 0 ? endpoint : nullptr;
}

/* One request on a connection of its own. @return Its status; 0: it was closed, perhaps in the midst of the body; -1: nothing
   was heard of it. */
int ask(int port) {
    Client client(port, Client::mayFail);
    client.send("POST /answer HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n"
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nlines=400");
    const Answer answer = client.receive();
    return answer.status && answer.whole ? answer.status : client.isClosed() ? 0 : -1;
}

Got serve(PageHost &host, long refused, bool forever, bool fromStart) {
    Got got;
    if (fromStart) {
        host.refuse(refused, forever);
    }
    got.runtime = mprCreate(0, nullptr, 0) != nullptr;
    if (got.runtime) {
        if (HttpEndpoint *endpoint = makeSite()) {
            got.started = true;
            if (!fromStart) {
                host.refuse(refused, forever);
            }
            const int port = httpGetEndpointPort(endpoint);
            for (int i = 0; i < 3; i++) {
                const int status = ask(port);
                got.answered += status >= 0;
                got.statuses += status == 200;
            }
            got.asked = host.asked();
            host.refuse(PageHost::never, false);
            got.after = ask(port) == 200;
        }
        host.refuse(PageHost::never, false);
        mprShutdown(MPR_EXIT_NORMAL, 0, -1);
        got.ended = mprDestroy();
    }
    return got;
}
} // namespace

TEST_CASE("a server lives with any one refusal of its host, and with all after it", "[http][host]") {
    Watchdog watchdog(600);
    const bool fromStart = GENERATE(false, true);
    Log log;
    long asked = 0;
    {
        PageHost host;
        const Got got = serve(host, 1 << 20, false, fromStart);
        CHECK(got.statuses == 3);
        CHECK(got.after);
        asked = got.asked;
    }
    INFO(asked << " requests");
    REQUIRE(asked > 3);
    int whole = 0, refused = 0, without = 0;
    for (const bool forever : {false, true}) {
        for (long n = 0; n < asked; n++) {
            Log::clear();
            PageHost host;
            const Got got = serve(host, n, forever, fromStart);
            INFO("request " << n << " of " << asked << (forever ? ", and all after it" : ""));
            INFO(Log::text());
            CHECK(got.ended == got.runtime);
            CHECK(got.answered == (got.started ? 3 : 0));
            CHECK(got.after == got.started);
            CHECK(host.faults() == "");
            whole += got.statuses == 3;
            refused += host.refused() > 0;
            without += !got.started;
        }
    }
    CHECK(whole > 0);
    CHECK(refused > asked);
    CHECK((without > 0) == fromStart); // once it has begun it makes do with what it has
}
