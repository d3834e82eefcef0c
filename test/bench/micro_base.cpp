// SPDX-License-Identifier: MIT
/*
    micro_base.cpp - Single calls of the room base under Google Benchmark, beside those of the C library.

    The bar: sfmt takes at most 1.2 times as long as asprintf. Blocks of mpr are dropped for the collector, "CPU" is that of
    the process: the collector's thread is in it. Every 64 calls there is a yield. Those of the C library are freed.
 */
#include <benchmark/benchmark.h>

#include "mpr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void use(void *ptr) {
    benchmark::DoNotOptimize(ptr);
    benchmark::ClobberMemory();
}

/* Yields as a program would, now and then. */
static void sometimesYield() {
    static unsigned calls;
    if (++calls % 64 == 0) {
        mprYield(0);
    }
}

/* The formats: what logs, headers and messages are made of. */
static const char *name = "connection", *longText;

#define CASES(make) \
    make(Text, "%s", name) make(Numbers, "%d %u %x", 12345, 67890u, 0xbeef) \
        make(Header, "%s: %d\r\n", "Content-Length", 123456) \
            make(Line, "%s:%d %-10s [%8.3f] %lld ms, %zu bytes", name, 80, "ready", 3.14159, 1234567LL, sizeof(int)) \
                make(Float, "%g %.2f", 0.1, 1234.5) make(Long, "%s", longText)

#define SFMT(kind, ...) \
    static void sfmt##kind(benchmark::State &state) { \
        for (auto _ : state) { \
            use(sfmt(__VA_ARGS__)); \
            sometimesYield(); \
        } \
    } \
    BENCHMARK(sfmt##kind)->MeasureProcessCPUTime();

#define ASPRINTF(kind, ...) \
    static void asprintf##kind(benchmark::State &state) { \
        for (auto _ : state) { \
            char *text; \
            if (asprintf(&text, __VA_ARGS__) < 0) { \
                abort(); \
            } \
            use(text); \
            free(text); \
        } \
    } \
    BENCHMARK(asprintf##kind)->MeasureProcessCPUTime();

#define STRDUP(kind, ...) \
    static void strdup##kind(benchmark::State &state) { \
        for (auto _ : state) { \
            char buffer[8192]; \
            snprintf(buffer, sizeof(buffer), __VA_ARGS__); \
            char *text = strdup(buffer); \
            use(text); \
            free(text); \
        } \
    } \
    BENCHMARK(strdup##kind)->Name("snprintf+strdup" #kind)->MeasureProcessCPUTime();

#define EACH(kind, ...) SFMT(kind, __VA_ARGS__) ASPRINTF(kind, __VA_ARGS__) STRDUP(kind, __VA_ARGS__)
CASES(EACH)

static void fmtLine(benchmark::State &state) {
    char buffer[256];
    for (auto _ : state) {
        use(fmt(buffer, sizeof(buffer), "%s:%d %-10s %lld ms", name, 80, "ready", 1234567LL));
    }
}
BENCHMARK(fmtLine);

static void snprintfLine(benchmark::State &state) {
    char buffer[256];
    for (auto _ : state) {
        snprintf(buffer, sizeof(buffer), "%s:%d %-10s %lld ms", name, 80, "ready", 1234567LL);
        use(buffer);
    }
}
BENCHMARK(snprintfLine);

static void cloneString(benchmark::State &state) {
    for (auto _ : state) {
        use(sclone(name));
        sometimesYield();
    }
}
BENCHMARK(cloneString)->Name("sclone")->MeasureProcessCPUTime();

static void strdupString(benchmark::State &state) {
    for (auto _ : state) {
        char *text = strdup(name);
        use(text);
        free(text);
    }
}
BENCHMARK(strdupString)->Name("strdup")->MeasureProcessCPUTime();

static void joinStrings(benchmark::State &state) {
    for (auto _ : state) {
        use(sjoin(name, "/", name, "?", name, NULL));
        sometimesYield();
    }
}
BENCHMARK(joinStrings)->Name("sjoin of five")->MeasureProcessCPUTime();

/* A buffer that is filled with 64 KiB and emptied; one iteration is all of it. */

static void putChars(benchmark::State &state) {
    MprBuf *buf = mprCreateBuf(65536, 0);
    mprAddRoot(buf);
    for (auto _ : state) {
        for (int i = 0; i < 65536; i++) {
            mprPutCharToBuf(buf, i);
        }
        mprFlushBuf(buf);
    }
    mprRemoveRoot(buf);
}
BENCHMARK(putChars)->Name("mprPutCharToBuf x 65536");

static void putFormatted(benchmark::State &state) {
    MprBuf *buf = mprCreateBuf(65536, 0);
    mprAddRoot(buf);
    for (auto _ : state) {
        mprPutToBuf(buf, "%s: %d\r\n", "Content-Length", 123456);
        if (mprGetBufLength(buf) > 60000) {
            mprFlushBuf(buf);
        }
    }
    mprRemoveRoot(buf);
}
BENCHMARK(putFormatted)->Name("mprPutToBuf");

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (!mprCreate(argc, argv, 0)) {
        return 2;
    }
    static char text[2001];
    memset(text, 'x', sizeof(text) - 1);
    longText = text;
    benchmark::RunSpecifiedBenchmarks();
    return mprDestroy() ? 0 : 2;
}
