// SPDX-License-Identifier: MIT
/*
    micro_files.cpp - Files under Google Benchmark, beside the C library's streams and POSIX doing the same.

    One file of 4 KiB, and one of 10,000 lines, in memory (/dev/shm) where there is such a folder: what counts is what the
    library does, not the disk. "CPU" is that of the process: the collector's thread is in it. Every 64 calls there is a
    yield.
 */
#include <benchmark/benchmark.h>

#include "mpr.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr int lines = 10'000;
char folder[64], page[96], text[96];

void sometimesYield() {
    static unsigned calls;
    if (++calls % 64 == 0) {
        mprYield(0);
    }
}

void check(bool good, benchmark::State &state) {
    if (!good) {
        state.SkipWithError("failed");
    }
}

void mprOpenReadClose(benchmark::State &state) {
    char bytes[4096];
    for (auto _ : state) {
        MprFile *file = mprOpenFile(page, O_RDONLY, 0);
        check(file && mprReadFile(file, bytes, sizeof(bytes)) == sizeof(bytes), state);
        mprCloseFile(file);
        sometimesYield();
    }
}

void libcOpenReadClose(benchmark::State &state) {
    char bytes[4096];
    for (auto _ : state) {
        FILE *file = fopen(page, "r");
        check(file && fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes), state);
        fclose(file);
    }
}

void mprWhole(benchmark::State &state) {
    for (auto _ : state) {
        ptrdiff_t length = 0;
        check(mprReadPathContents(page, &length) && length == 4096, state);
        sometimesYield();
    }
}

void posixWhole(benchmark::State &state) {
    for (auto _ : state) {
        const int fd = open(page, O_RDONLY | O_CLOEXEC);
        struct stat info;
        check(fd >= 0 && fstat(fd, &info) == 0, state);
        char *bytes = static_cast<char *>(malloc(static_cast<size_t>(info.st_size) + 1));
        check(bytes && read(fd, bytes, static_cast<size_t>(info.st_size)) == 4096, state);
        benchmark::DoNotOptimize(bytes);
        free(bytes);
        close(fd);
    }
}

void mprLines(benchmark::State &state) {
    for (auto _ : state) {
        MprFile *file = mprOpenFile(text, O_RDONLY, 0);
        mprAddRoot(file);
        mprEnableFileBuffering(file, 0, 0);
        int count = 0;
        while (mprReadLine(file, 0, nullptr)) {
            count++;
            sometimesYield();
        }
        check(count == lines, state);
        mprCloseFile(file);
        mprRemoveRoot(file);
    }
    state.SetItemsProcessed(state.iterations() * lines);
}

void libcLines(benchmark::State &state) {
    for (auto _ : state) {
        FILE *file = fopen(text, "r");
        int count = 0;
        char *line = nullptr;
        size_t size = 0;
        while (getline(&line, &size, file) > 0) { // a line of its own for each, as mprReadLine gives
            benchmark::DoNotOptimize(line);
            free(line);
            line = nullptr, size = 0;
            count++;
        }
        free(line);
        check(count == lines, state);
        fclose(file);
    }
    state.SetItemsProcessed(state.iterations() * lines);
}

void mprInfo(benchmark::State &state) {
    for (auto _ : state) {
        MprPath info;
        check(mprGetPathInfo(page, &info) == 0 && info.size == 4096, state);
        sometimesYield();
    }
}

void posixInfo(benchmark::State &state) {
    for (auto _ : state) {
        struct stat info;
        check(stat(page, &info) == 0 && info.st_size == 4096, state);
    }
}

BENCHMARK(mprOpenReadClose)->Name("mpr: open, read 4 KiB, close")->MeasureProcessCPUTime();
BENCHMARK(libcOpenReadClose)->Name("libc: open, read 4 KiB, close")->MeasureProcessCPUTime();
BENCHMARK(mprWhole)->Name("mpr: contents of a path, 4 KiB")->MeasureProcessCPUTime();
BENCHMARK(posixWhole)->Name("posix: contents of a path, 4 KiB")->MeasureProcessCPUTime();
BENCHMARK(mprLines)->Name("mpr: 10,000 lines")->MeasureProcessCPUTime();
BENCHMARK(libcLines)->Name("libc: 10,000 lines")->MeasureProcessCPUTime();
BENCHMARK(mprInfo)->Name("mpr: what a path is")->MeasureProcessCPUTime();
BENCHMARK(posixInfo)->Name("posix: what a path is")->MeasureProcessCPUTime();

bool makeFiles() {
    snprintf(folder, sizeof(folder), "%s/micro-files-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) {
        return false;
    }
    snprintf(page, sizeof(page), "%s/page", folder);
    snprintf(text, sizeof(text), "%s/text", folder);
    FILE *file = fopen(page, "w");
    FILE *ofLines = fopen(text, "w");
    if (!file || !ofLines) {
        return false;
    }
    for (int i = 0; i < 4096; i++) {
        fputc('a' + i % 26, file);
    }
    for (int i = 0; i < lines; i++) {
        fprintf(ofLines, "%d: a line as a configuration or a log has it\n", i);
    }
    return fclose(file) == 0 && fclose(ofLines) == 0;
}
} // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (!makeFiles() || !mprCreate(argc, argv, 0)) {
        return 2;
    }
    benchmark::RunSpecifiedBenchmarks();
    unlink(page);
    unlink(text);
    rmdir(folder);
    return mprDestroy() ? 0 : 2;
}
