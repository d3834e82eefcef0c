/* SPDX-License-Identifier: MIT */
/*
    echo_http - Answers with what it is asked: `echo_http 8080` for every method on / with the request's body, and on
    /echo with its headers. What probes of HTTP talk to. Without an argument it only shows that it can listen.

    Rooms: io
 */
#include <stdio.h>
#include <stdlib.h>

#include "mpr.h"
#include "mpr/http.h"

static void echoBody(HttpStream *stream) {
    ptrdiff_t length = httpGetReadCount(stream);
    if (httpGetHeader(stream, "Content-Type")) {
        httpSetContentType(stream, httpGetHeader(stream, "Content-Type"));
    }
    httpSetContentLength(stream, length);
    httpWriteBlock(stream->writeq, httpGetBodyInput(stream), length, 0);
    httpFinalize(stream);
}

static void echoHeaders(HttpStream *stream) {
    httpSetContentType(stream, "text/plain; charset=utf-8");
    httpWriteString(stream->writeq, httpGetHeaders(stream));
    httpFinalize(stream);
}

int main(int argc, char **argv) {
    HttpEndpoint *endpoint;
    mprCreate(argc, argv, MPR_USER_EVENTS_THREAD);
    httpGetLimits()->rxFormSize = httpGetLimits()->rxBodySize; /* Forms are as good as other bodies */
    httpDefineAction("/", echoBody);
    httpDefineAction("/echo", echoHeaders);
    endpoint = httpCreateEndpoint("127.0.0.1", argc > 1 ? atoi(argv[1]) : 0, NULL);
    if (httpStartEndpoints() < 0) {
        return 1;
    }
    printf("http://127.0.0.1:%d/\n", httpGetEndpointPort(endpoint));
    fflush(stdout);
    mprServiceEvents(argc > 1 ? -1 : 0, 0);
    return mprDestroy() ? 0 : 1;
}
