/* SPDX-License-Identifier: MIT */
/*
    http_mpr.c - The server that run-http measures: `http_mpr PORT DOCUMENTS`.

    /1k       1 KiB that an action writes
    /text     64 KiB of text that an action writes; gzip for who accepts it
    /big      1 MB that a handler writes as fast as its client reads
    /cache    1 KiB, and one of 500,000 entries of a managed hash is replaced; the hash is filled by the first request
    /echo     the body of the request; /headers: its headers
    /upload   names and sizes of the files of a form
    /figures  lines of "name number": what the service and the heap have done so far
    others    files below DOCUMENTS

    `http_mpr zlib FILE LEVEL COUNT` compresses a file COUNT times by zlib alone, with one state, and prints "us", the CPU time
    of one. What it costs to compress is zlib's; what a server adds to that is the server's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "mpr.h"
#include "mpr/http.h"

#define ENTRIES 500000
#define TEXT 65536
#define BIG 1000000

static char kilobyte[1024];
static char text[TEXT];
static char big[65536];
static MprHash *cache;

static void answerKilobyte(HttpStream *stream) {
    httpSetContentType(stream, "text/plain");
    httpWriteBlock(stream->writeq, kilobyte, sizeof(kilobyte), 0);
    httpFinalize(stream);
}

static void answerText(HttpStream *stream) {
    httpSetContentType(stream, "text/plain");
    httpWriteBlock(stream->writeq, text, sizeof(text), 0);
    httpFinalize(stream);
}

static void answerEcho(HttpStream *stream) {
    httpWriteBlock(stream->writeq, httpGetBodyInput(stream), httpGetReadCount(stream), 0);
    httpFinalize(stream);
}

static void answerHeaders(HttpStream *stream) {
    httpSetContentType(stream, "text/plain");
    httpWriteString(stream->writeq, httpGetHeaders(stream));
    httpFinalize(stream);
}

static void answerUpload(HttpStream *stream) {
    HttpUploadFile *file;
    int next;
    for (MPR_ITERATE_ITEMS(stream->rx->files, file, next)) {
        httpWrite(stream->writeq, "%s %lld\n", file->clientFilename, (long long) file->size);
    }
    httpFinalize(stream);
}

/** Called when all has come, and again whenever there is room. */
static void answerBig(HttpQueue *q) {
    ptrdiff_t *written = q->queueData;
    if (!written) {
        written = q->queueData = mprAllocZeroed(sizeof(*written));
        httpSetContentType(q->stream, "application/octet-stream");
        httpSetContentLength(q->stream, BIG);
    }
    while (*written < BIG) {
        ptrdiff_t size = BIG - *written < (ptrdiff_t) sizeof(big) ? BIG - *written : (ptrdiff_t) sizeof(big);
        ptrdiff_t count = httpWriteBlock(q, big, size, HTTP_NON_BLOCK);
        if (count <= 0) {
            return;
        }
        *written += count;
    }
    httpFinalize(q->stream);
}

static void answerFromCache(HttpStream *stream) {
    static unsigned seed = 1;
    char key[32];
    char *value;
    int i;
    if (!cache) {
        cache = mprCreateHash(ENTRIES, 0);
        mprAddRoot(cache);
        for (i = 0; i < ENTRIES; i++) {
            snprintf(key, sizeof(key), "%d", i);
            value = mprAlloc(64);
            memset(value, 'v', 64);
            mprAddKey(cache, key, value);
            mprYield(0);
        }
    }
    seed = seed * 1664525 + 1013904223;
    snprintf(key, sizeof(key), "%u", (seed >> 8) % ENTRIES);
    value = mprAlloc(64);
    memset(value, 'w', 64);
    mprAddKey(cache, key, value);
    answerKilobyte(stream);
}

static void answerFigures(HttpStream *stream) {
    HttpStats http;
    MprMemStats heap;
    httpGetStats(&http);
    mprReadMemStats(&heap);
    httpWrite(stream->writeq, "requests %lld\nblocks %lld\nbytes %lld\ncollections %lld\nrss %lld\nheap %lld\n",
              (long long) http.totalRequests, (long long) heap.blocksAllocated, (long long) heap.bytesAllocated,
              (long long) heap.collections, (long long) heap.rss, (long long) heap.heap);
    httpFinalize(stream);
}

static void fill(void) {
    static const char words[] = "memory server request answer client queue stream packet header collector thread page ";
    unsigned seed = 7;
    size_t i;
    memset(kilobyte, 'k', sizeof(kilobyte));
    memset(big, 'b', sizeof(big));
    for (i = 0; i < sizeof(text); i++) { /* words, a letter in sixteen another: compresses as pages do */
        seed = seed * 1664525 + 1013904223;
        text[i] = (seed >> 28) ? words[i % (sizeof(words) - 1)] : (char) ('a' + (seed >> 16) % 26);
    }
}

static void setLimits(void) {
    HttpLimits *limits = httpGetLimits();
    limits->connectionsMax = limits->connectionsPerClientMax = 100000;
    limits->requestMax = limits->requestsPerClientMax = 100000;
    limits->rxFormSize = limits->rxBodySize;
    limits->keepAliveMax = 1000000000;
    limits->inactivityTimeout = 600000;
}

static int serve(int argc, char **argv) {
    HttpStage *bigStage;
    HttpRoute *route;
    mprCreate(argc, argv, MPR_USER_EVENTS_THREAD);
    setLimits();
    httpSetRouteDocuments(httpGetDefaultRoute(NULL), argv[2]);
    httpDefineAction("/1k", answerKilobyte);
    httpAddRouteFilter(httpCreateActionRoute(NULL, "/text", answerText), "gzipFilter", NULL, HTTP_STAGE_TX);
    bigStage = httpCreateHandler("bigHandler", NULL);
    bigStage->ready = bigStage->writable = answerBig;
    route = httpCreateInheritedRoute(NULL);
    httpSetRoutePattern(route, "/big", 0);
    httpSetRouteHandler(route, "bigHandler");
    httpAddRoute(NULL, route);
    httpDefineAction("/cache", answerFromCache);
    httpDefineAction("/echo", answerEcho);
    httpDefineAction("/headers", answerHeaders);
    httpDefineAction("/upload", answerUpload);
    httpDefineAction("/figures", answerFigures);
    httpCreateEndpoint("127.0.0.1", atoi(argv[1]), NULL);
    if (httpStartEndpoints() < 0) {
        return 1;
    }
    mprServiceEvents(-1, 0);
    return mprDestroy() ? 0 : 1;
}

/** What zlib takes for a file, alone. */
static int compressAlone(const char *path, int level, int count) {
    static unsigned char in[TEXT], out[2 * TEXT];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(in, 1, sizeof(in), file) : 0;
    z_stream z;
    clock_t begin;
    int i;
    memset(&z, 0, sizeof(z));
    if (size == 0 || deflateInit2(&z, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return 1;
    }
    fclose(file);
    begin = clock();
    for (i = 0; i < count; i++) {
        z.next_in = in;
        z.avail_in = (uInt) size;
        z.next_out = out;
        z.avail_out = sizeof(out);
        if (deflate(&z, Z_FINISH) != Z_STREAM_END || deflateReset(&z) != Z_OK) {
            return 1;
        }
        if (crc32(0, in, (uInt) size) == 1) {
            return 1;
        }
    }
    printf("us %.1f\n", (double) (clock() - begin) * 1e6 / CLOCKS_PER_SEC / count);
    return 0;
}

int main(int argc, char **argv) {
    fill();
    if (argc == 5 && strcmp(argv[1], "zlib") == 0) {
        return compressAlone(argv[2], atoi(argv[3]), atoi(argv[4]));
    }
    if (argc == 2 && strcmp(argv[1], "text") == 0) { /* for the peers, as a file */
        return fwrite(text, 1, sizeof(text), stdout) == sizeof(text) ? 0 : 1;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: http_mpr PORT DOCUMENTS\n");
        return 2;
    }
    return serve(argc, argv);
}
