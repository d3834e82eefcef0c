/* SPDX-License-Identifier: MIT */
/*
    test/compat/http.c - HTTP as programs for the MPR use it: an action, a filter, a stage that streams and suspends,
    and a thread that wakes it. The same text is valid C11 and C++20.

    Rooms: task, io

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "mpr/http.h"
#include "expect.h"

#include <ctype.h>
#include <string.h>

typedef struct Progress {
    char *text;
    int count;
} Progress;

static int port;

static void manageProgress(Progress *progress, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(progress->text);
    }
}

/* ---- An action ---- */

static void hello(HttpStream *stream) {
    httpSetHeaderString(stream, "X-Greeting", "yes");
    httpSetContentType(stream, "text/plain");
    httpWrite(stream->writeq, "Hello %s", httpGetParam(stream, "name", "nobody"));
    httpFinalize(stream);
}

/* ---- A filter ---- */

static int matchCapitals(HttpStream *stream, HttpRoute *route, int dir) {
    (void) route;
    return (dir & HTTP_STAGE_TX) && httpMatchParam(stream, "capitals", "1") ? HTTP_ROUTE_OK : HTTP_ROUTE_REJECT;
}

static void outgoingCapitals(HttpQueue *q) {
    HttpPacket *packet;
    char *cp;
    for (packet = httpGetPacket(q); packet; packet = httpGetPacket(q)) {
        if (!httpWillNextQueueAcceptPacket(q, packet)) {
            httpPutBackPacket(q, packet);
            return;
        }
        if (packet->content) {
            for (cp = mprGetBufStart(packet->content); cp < mprGetBufEnd(packet->content); cp++) {
                *cp = (char) toupper((uchar) *cp);
            }
        }
        httpPutPacketToNext(q, packet);
    }
}

/* ---- A stage that streams, and waits for others between two pieces ---- */

static void goOn(HttpStream *stream, void *data) {
    Progress *progress;
    (void) data;
    if (!stream) {
        return;
    }
    progress = (Progress *) stream->writeq->queueData;
    progress->text = sjoin(progress->text, "+", NULL);
    httpWrite(stream->writeq, "%d%s;", ++progress->count, progress->text);
    httpFlush(stream);
    if (progress->count == 5) {
        httpFinalize(stream);
    } else {
        EXPECT(httpCreateEvent(stream->seqno, goOn, NULL) == 0);
    }
}

static int openCounter(HttpQueue *q) {
    Progress *progress = mprAllocObj(Progress, manageProgress);
    if (progress == 0) {
        return MPR_ERR_MEMORY;
    }
    progress->text = sclone("");
    q->queueData = progress;
    q->staticData = &port;
    return 0;
}

static void readyCounter(HttpQueue *q) {
    EXPECT(q == q->stream->writeq);
    EXPECT(q->pair == q->stream->readq);
    EXPECT(q->direction == HTTP_QUEUE_TX);
    EXPECT(httpGetQueueData(q->stream) == q->queueData);
    EXPECT(httpCreateEvent(q->stream->seqno, goOn, NULL) == 0);
}

static void closeCounter(HttpQueue *q) {
    EXPECT(q->staticData == &port);
}

static void notify(HttpStream *stream, int event, int arg) {
    (void) arg;
    if (event == HTTP_EVENT_DONE) {
        stream->data = NULL;
    }
}

/* ---- A client ---- */

static char *ask(cchar *path) {
    static char answer[4096];
    MprSocket *sp = mprCreateSocket();
    ssize count, total = 0;
    char *request;
    mprAddRoot(sp);
    EXPECT(mprConnectSocket(sp, "127.0.0.1", port, MPR_SOCKET_BLOCK) == 0);
    request = sfmt("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    EXPECT(mprWriteSocketString(sp, request) > 0);
    while (total < (ssize) sizeof(answer) - 1 &&
           (count = mprReadSocket(sp, answer + total, (ssize) sizeof(answer) - 1 - total)) > 0) {
        total += count;
    }
    answer[total] = '\0';
    mprCloseSocket(sp, 1);
    mprRemoveRoot(sp);
    return answer;
}

static HttpRoute *makeRoute(cchar *pattern, cchar *handler) {
    HttpRoute *route = httpCreateInheritedRoute(httpGetDefaultRoute(httpGetDefaultHost()));
    httpSetRoutePattern(route, pattern, 0);
    httpSetRouteMethods(route, "GET");
    EXPECT(httpSetRouteHandler(route, handler) == 0);
    EXPECT(httpAddRoute(httpGetDefaultHost(), route) == 0);
    httpFinalizeRoute(route);
    return route;
}

static void setUp(void) {
    HttpStage *counter = httpCreateHandler("counter", NULL);
    HttpStage *capitals = httpCreateFilter("capitals", NULL);
    HttpEndpoint *endpoint;
    counter->open = openCounter;
    counter->ready = readyCounter;
    counter->close = closeCounter;
    capitals->match = matchCapitals;
    capitals->outgoingService = outgoingCapitals;
    EXPECT(httpLookupStage("capitals") == capitals);
    makeRoute("/count", "counter");
    EXPECT(httpAddRouteFilter(httpCreateActionRoute(NULL, "/hello", hello), "capitals", "", HTTP_STAGE_TX) == 0);
    endpoint = httpCreateEndpoint("127.0.0.1", 0, mprGetDispatcher());
    httpSetEndpointNotifier(endpoint, notify);
    EXPECT(httpSetEndpointWorkers(endpoint, 2) == 0);
    EXPECT(httpStartEndpoint(endpoint) == 0);
    port = httpGetEndpointPort(endpoint);
}

int main(int argc, char **argv) {
    mprCreate(argc, argv, 0);
    EXPECT(httpCreate(HTTP_SERVER_SIDE) != NULL);
    setUp();
    EXPECT(mprStart() == 0);
    EXPECT(scontains(ask("/hello?name=you"), "\r\n\r\nHello you") != NULL);
    EXPECT(scontains(ask("/hello?name=you"), "X-Greeting: yes\r\n") != NULL);
    EXPECT(scontains(ask("/hello?name=you&capitals=1"), "\r\n\r\nHELLO YOU") != NULL);
    EXPECT(scontains(ask("/count"), "1+;") != NULL);
    EXPECT(scontains(ask("/count"), "5+++++;") != NULL);
    EXPECT(sstarts(ask("/none"), "HTTP/1.1 404 Not Found\r\n"));
    mprShutdown(MPR_EXIT_NORMAL, 0, -1);
    EXPECT(mprDestroy());
    return verdict();
}
