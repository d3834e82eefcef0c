/* SPDX-License-Identifier: MIT */
/*
    hello_http_cpp - A web server in a screen, in C++: `hello_http_cpp 8080`, then `curl localhost:8080/hello/you`.

    Handlers are lambdas without captures. Nothing that a request makes is freed by hand. Without an argument the
    program only shows that it can listen.

    Rooms: io
 */
#include <cstdio>
#include <cstdlib>

#include "mpr.h"
#include "mpr/http.h"

namespace {

void answer(HttpStream *stream, const char *text) {
    httpSetContentType(stream, "text/plain; charset=utf-8");
    httpWriteString(stream->writeq, text);
    httpFinalize(stream);
}
} // namespace

int main(int argc, char **argv) {
    mprCreate(argc, argv, MPR_USER_EVENTS_THREAD);
    const int port = argc > 1 ? std::atoi(argv[1]) : 0;

    httpDefineAction("/", [](HttpStream *stream) { httpRedirect(stream, HTTP_CODE_SEE_OTHER, "/hello/World"); });
    httpCreateActionRoute(nullptr, "^/hello/{name}$", [](HttpStream *stream) {
        answer(stream, sfmt("Hello %s!\n", httpGetParam(stream, "name", "")));
    });

    HttpEndpoint *endpoint = httpCreateEndpoint("127.0.0.1", port, nullptr);
    if (httpStartEndpoints() < 0) {
        return 1;
    }
    std::printf("http://127.0.0.1:%d/hello/you\n", httpGetEndpointPort(endpoint));
    std::fflush(stdout);
    mprServiceEvents(argc > 1 ? -1 : 0, 0);
    return mprDestroy() ? 0 : 1;
}
