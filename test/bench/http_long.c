/* SPDX-License-Identifier: MIT */
/*
    http_long.c - Whether a server's memory stays what it is: `http_long REQUESTS [SECONDS]`, ten million by default, or as
    many as there are in that time.

    Clients in a process of their own send requests that leave garbage of every kind: parameters, headers, forms, files,
    bodies in chunks, documents and parts of them, compressed answers, sessions, errors, streams that wait, requests that
    are none, clients that leave in the middle. The server looks a hundred times at what blocks take, and at its resident
    memory, each after a collection, for how far the collector is behind depends on what else the machine does. Flat means
    that the median of the last quarter is at most 2 % above that of the third. Resident memory is what the heap has not
    given back yet, too: beside other work, and in a short run, it varies by more. Exit status 1: one was not flat; 2: it
    could not be seen.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mpr.h"
#include "mpr/http.h"

#define LOOKS 100 /* at memory */
#define BATCH 16  /* requests that a client sends at once */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* ---- The server ---- */

static void answerParams(HttpStream *stream) {
    const char *text = httpGetParamsString(stream);
    httpSetHeader(stream, "X-Agent", "%s", httpGetHeader(stream, "user-agent") ? "known" : "unknown");
    httpWrite(stream->writeq, "%s %s", stream->rx->pathInfo, text ? text : "");
    httpFinalize(stream);
}

static void answerBody(HttpStream *stream) {
    httpWriteBlock(stream->writeq, httpGetBodyInput(stream), httpGetReadCount(stream), 0);
    httpFinalize(stream);
}

static void answerText(HttpStream *stream) {
    int i;
    httpSetContentType(stream, "text/plain");
    for (i = 0; i < 200; i++) {
        httpWrite(stream->writeq, "line %d of a text that is compressed, %s\n", i, stream->rx->pathInfo);
    }
    httpFinalize(stream);
}

static void answerSession(HttpStream *stream) {
    httpSetSessionVar(stream, "since", sfmt("%llu", stream->seqno));
    httpWriteString(stream->writeq, httpGetSessionVar(stream, "since", ""));
    httpDestroySession(stream); /* How many there are would depend on the time */
    httpFinalize(stream);
}

static void answerError(HttpStream *stream) {
    httpError(stream, HTTP_CODE_CONFLICT, "%s is in the way", stream->rx->uri);
}

static void wake(HttpStream *stream, void *data) {
    if (stream) {
        httpWrite(stream->writeq, "%s %s", (char *) data, (char *) stream->data);
        httpFinalize(stream);
    }
}

static void suspend(HttpStream *stream) {
    stream->data = sfmt("stream %llu", stream->seqno);
    httpCreateEvent(stream->seqno, wake, sclone("woken"));
}

/** Its client leaves before it has read much. */
static void answerMuch(HttpQueue *q) {
    static char piece[32 * 1024];
    int i;
    for (i = 0; i < 32; i++) {
        if (httpWriteBlock(q, piece, sizeof(piece), HTTP_NON_BLOCK) < (ptrdiff_t) sizeof(piece)) {
            return;
        }
    }
    httpFinalize(q->stream);
}

static int setUp(const char *folder) {
    HttpEndpoint *endpoint = httpCreate(HTTP_SERVER_SIDE) ? httpCreateEndpoint("127.0.0.1", 0, NULL) : NULL;
    HttpStage *much = endpoint ? httpCreateHandler("much", NULL) : NULL;
    HttpRoute *route = much ? httpCreateActionRoute(NULL, "/text", answerText) : NULL;
    char *path = sjoin(folder, "/document.txt", NULL), *text = route ? (char *) mprAllocZeroed(20001) : NULL;
    if (!text) {
        return -1;
    }
    httpAddRouteFilter(route, "gzipFilter", NULL, HTTP_STAGE_TX);
    much->start = much->writable = answerMuch;
    route = httpCreateInheritedRoute(NULL);
    httpSetRoutePattern(route, "/much", 0);
    httpSetRouteHandler(route, "much");
    httpFinalizeRoute(route);
    httpDefineAction("/params", answerParams);
    httpDefineAction("/body", answerBody);
    httpDefineAction("/session", answerSession);
    httpDefineAction("/error", answerError);
    httpDefineAction("/suspend", suspend);
    memset(text, 'd', 20000);
    if (mprWritePathContents(path, text, 20000, 0600) != 20000) {
        return -1;
    }
    httpSetRouteDocuments(httpGetDefaultRoute(NULL), folder);
    return httpStartEndpoints() == 0 ? httpGetEndpointPort(endpoint) : -1;
}

static double resident(void) {
    HttpStats stats;
    httpGetStats(&stats);
    return (double) stats.mem / 1e6;
}

static double inBlocks(void) {
    HttpStats stats;
    httpGetStats(&stats);
    return (double) stats.heapUsed / 1e6;
}

static unsigned long long requests(void) {
    HttpStats stats;
    httpGetStats(&stats);
    return stats.totalRequests;
}

static int compare(const void *a, const void *b) {
    const double one = *(const double *) a, other = *(const double *) b;
    return (one > other) - (one < other);
}

static double median(const double *looks, int begin, int end) {
    double sorted[LOOKS];
    memcpy(sorted, looks + begin, (size_t) (end - begin) * sizeof(double));
    qsort(sorted, (size_t) (end - begin), sizeof(double), compare);
    return sorted[(end - begin) / 2];
}

/** @return By how many percent the median of the last quarter is above that of the third. */
static double growth(const char *name, const double *looks) {
    const double third = median(looks, LOOKS / 2, 3 * LOOKS / 4), last = median(looks, 3 * LOOKS / 4, LOOKS);
    printf("%s, median of each quarter: %.3f, %.3f, %.3f, %.3f MB; the last against the third: %+.2f %%\n", name,
           median(looks, 0, LOOKS / 4), median(looks, LOOKS / 4, LOOKS / 2), third, last, (last / third - 1) * 100);
    return (last / third - 1) * 100;
}

/** @return Whether it was flat. */
static int tell(const double *used, const double *residents, double time) {
    HttpStats stats;
    httpGetStats(&stats);
    printf("%llu requests in %.1f s, %.0f a second; %llu connections, %llu collections\n", stats.totalRequests, time,
           (double) stats.totalRequests / time, stats.totalConnections, stats.totalSweeps);
    const double ofBlocks = growth("in blocks", used), ofResident = growth("resident", residents);
    return ofBlocks <= 2 && ofResident <= 2;
}

/** Have events serviced, and look at memory, until enough requests were served or the time is over. */
static int serve(unsigned long long count, double limit) {
    double used[LOOKS], residents[LOOKS], begin = seconds();
    int i;
    for (i = 0; i < LOOKS; i++) {
        const double until = begin + limit * (i + 1) / LOOKS;
        const unsigned long long enough = count * (unsigned long long) (i + 1) / LOOKS;
        const unsigned long long before = requests();
        const double started = seconds();
        while (limit > 0 ? seconds() < until : requests() < enough) {
            mprServiceEvents(100, MPR_SERVICE_ONE_THING);
            if (requests() == before && seconds() > started + 60) {
                fprintf(stderr, "http_long: no request for a minute\n");
                return 2;
            }
        }
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        used[i] = inBlocks();
        residents[i] = resident();
    }
    return tell(used, residents, seconds() - begin) ? 0 : 1;
}

/* ---- Clients ---- */

static char batch[65536];
static size_t length;
static unsigned long long state = 1;

static unsigned below(unsigned count) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned) (state >> 33) % count;
}

static void add(const char *text) {
    memcpy(batch + length, text, strlen(text));
    length += strlen(text);
}

static void addGet(const char *path, const char *headers) {
    add("GET ");
    add(path);
    add(" HTTP/1.1\r\nHost: localhost\r\n");
    add(headers);
    add("\r\n");
}

static void addPost(const char *path, const char *type, const char *body) {
    char text[96];
    snprintf(text, sizeof(text), " HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n", strlen(body));
    add("POST ");
    add(path);
    add(text);
    add(type);
    add("\r\n");
    add(body);
}

/** A request of a kind; the most are what services do all day. */
static void addRequest(void) {
    static const char form[] =
        "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
        "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\nfile\r\n--B--\r\n";
    char path[128];
    const unsigned kind = below(1000);
    snprintf(path, sizeof(path), "/params?name=%u&other=%%41+%u", below(1000000), kind);
    if (kind < 550) {
        addGet(path, "User-Agent: long\r\nCookie: a=b; c=d\r\n");
    } else if (kind < 700) {
        addPost("/params", "Content-Type: application/x-www-form-urlencoded\r\n", path + 8);
    } else if (kind < 800) {
        add("POST /body HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
        add("5\r\n01234\r\n1\r\n5\r\n0\r\n\r\n");
    } else if (kind < 850) {
        addGet("/document.txt", "");
    } else if (kind < 870) {
        addGet("/document.txt", "Range: bytes=0-9,20-29,-5\r\n");
    } else if (kind < 890) {
        addGet("/document.txt", "If-None-Match: *\r\n");
    } else if (kind < 910) {
        addGet("/text", "Accept-Encoding: gzip\r\n");
    } else if (kind < 940) {
        addGet("/error?a=b", "");
    } else if (kind < 960) {
        addGet("/none/of/these", "");
    } else if (kind < 970) {
        addGet("/session", "");
    } else if (kind < 990) {
        addGet("/suspend", "");
    } else if (kind < 993) {
        addPost("/params", "Content-Type: multipart/form-data; boundary=B\r\n", form);
    } else if (kind < 996) {
        add("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"); /* its connection is closed */
    } else {
        addGet("/much", ""); /* its client leaves */
    }
}

static int dial(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0) {
        perror("http_long: no connection");
        exit(2);
    }
    return fd;
}

/** Read until the last answer of a batch. @return 0: the server has closed. */
static int readAnswers(int fd, const char *last) {
    static char bytes[262144];
    size_t kept = 0;
    const size_t size = strlen(last);
    for (;;) {
        const ssize_t count = recv(fd, bytes + kept, sizeof(bytes) - kept, 0);
        if (count <= 0) {
            return 0;
        }
        if (memmem(bytes, kept + (size_t) count, last, size)) {
            return 1;
        }
        kept += (size_t) count;
        if (kept >= size) { /* the start of the last one may be there */
            memmove(bytes, bytes + kept - size, size);
            kept = size;
        }
    }
}

static void ask(int port) {
    unsigned number = 0;
    int fd = dial(port);
    for (;;) {
        char last[32], path[64];
        int i;
        length = 0;
        for (i = 1; i < BATCH; i++) {
            addRequest();
        }
        snprintf(last, sizeof(last), "mark-%u-", ++number);
        snprintf(path, sizeof(path), "/params?%s=1", last);
        addGet(path, "");
        const int sent = send(fd, batch, length, MSG_NOSIGNAL) == (ssize_t) length;
        const int leaves = below(500) == 0;
        if (!sent || leaves || !readAnswers(fd, last)) {
            close(fd);
            fd = dial(port);
        }
    }
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/http-long-XXXXXX";
    const unsigned long long count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    int status, port, each;
    pid_t clients[2];
    if (!mkdtemp(folder) || !mprCreate(argc, argv, 0) || (port = setUp(folder)) < 0) {
        fprintf(stderr, "http_long: the server cannot be set up\n");
        return 2;
    }
    for (each = 0; each < 2; each++) {
        clients[each] = fork();
        if (clients[each] == 0) {
            state += (unsigned) each;
            ask(port);
        }
    }
    status = serve(count, argc > 2 ? strtod(argv[2], NULL) : 0);
    for (each = 0; each < 2; each++) {
        kill(clients[each], SIGKILL);
        waitpid(clients[each], NULL, 0);
    }
    mprDeletePath(sjoin(folder, "/document.txt", NULL));
    mprDeletePath(folder);
    mprDestroy();
    return status;
}
