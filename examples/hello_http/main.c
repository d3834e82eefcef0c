/* SPDX-License-Identifier: MIT */
/*
    hello_http - A web server in a screen: `hello_http 8080`, then `curl localhost:8080/hello?name=you`.

    Without an argument it shows itself: it asks itself once, over a socket, and ends. No memory is freed by hand.

    Rooms: io
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpr.h"
#include "mpr/http.h"

/* Called for each request of /hello, when all of it has come. */
static void hello(HttpStream *stream) {
    httpSetContentType(stream, "text/plain; charset=utf-8");
    httpWrite(stream->writeq, "Hello %s!\n", httpGetParam(stream, "name", "World"));
    httpFinalize(stream);
}

/* A client of this server: see mpr/socket.h. */
static void askOnce(int *port, struct MprEvent *event) {
    static char answer[1024];
    MprSocket *sp = mprCreateSocket();
    (void) event;
    mprAddRoot(sp);
    if (mprConnectSocket(sp, "127.0.0.1", *port, MPR_SOCKET_BLOCK) == 0) {
        mprWriteSocketString(sp, "GET /hello?name=you HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        mprReadSocket(sp, answer, sizeof(answer) - 1);
        printf("%s", strstr(answer, "\r\n\r\n") ? strstr(answer, "\r\n\r\n") + 4 : "no answer\n");
    }
    mprCloseSocket(sp, true);
    mprRemoveRoot(sp);
    mprShutdown(MPR_EXIT_NORMAL, 0, -1);
}

int main(int argc, char **argv) {
    HttpEndpoint *endpoint;
    int port = argc > 1 ? atoi(argv[1]) : 0;
    mprCreate(argc, argv, MPR_USER_EVENTS_THREAD);
    httpDefineAction("/hello", hello);
    endpoint = httpCreateEndpoint("127.0.0.1", port, NULL);
    if (httpStartEndpoints() < 0) {
        return 1;
    }
    port = httpGetEndpointPort(endpoint);
    if (argc == 1) {
        mprCreateEvent(mprCreateDispatcher("client", 0), "ask", 0, askOnce, &port, 0);
    }
    printf("http://127.0.0.1:%d/hello\n", port);
    mprServiceEvents(-1, 0); /* Until mprShutdown */
    return mprDestroy() ? 0 : 1;
}
