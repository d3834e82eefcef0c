/* SPDX-License-Identifier: MIT */
/*
    bench.h - What every benchmark program shares: clocks, random numbers, resident memory, distributions, output.

    Invariants: nothing here allocates with the allocator under test once a measurement runs. Side tables come from
    mmap and are resident before the baseline is taken, so that they never count for or against anybody.

    A program prints one figure a line, `metric value`, and remarks as lines that start with '#'. Linux only.
 */
#ifndef BENCH_H
#define BENCH_H

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace bench {

[[noreturn]] inline void fail(const char *what) {
    fprintf(stderr, "bench: %s\n", what);
    exit(2);
}

/* Clocks */

inline uint64_t clockNanos(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

inline uint64_t wallNanos() {
    return clockNanos(CLOCK_MONOTONIC);
}

/** CPU time of the whole process: a collector's thread is in it. */
inline uint64_t cpuNanos() {
    return clockNanos(CLOCK_PROCESS_CPUTIME_ID);
}

/** The cheapest clock there is, for single calls. Its unit is known to tickNanos. */
inline uint64_t ticks() {
#if defined(__x86_64__)
    uint32_t low, high;
    asm volatile("rdtscp" : "=a"(low), "=d"(high) : : "rcx", "memory");
    return (uint64_t) high << 32 | low;
#else
    return wallNanos();
#endif
}

/** Nanoseconds in one tick, measured against the system's clock for 30 ms. */
inline double tickNanos() {
    uint64_t wall = wallNanos(), start = ticks();
    while (wallNanos() - wall < 30000000) {}
    uint64_t end = ticks(), wallEnd = wallNanos();
    return end == start ? 1.0 : (double) (wallEnd - wall) / (double) (end - start);
}

/* Random numbers: splitmix64 (Steele, Lea, Flood 2014). */

struct Random {
    uint64_t state;

    explicit Random(uint64_t seed) : state(seed) {}

    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    /** Uniform in 0 .. count - 1; count is less than 2^32. */
    size_t below(size_t count) { return (size_t) (((next() >> 32) * count) >> 32); }

    /** Uniform in low .. high. */
    size_t between(size_t low, size_t high) { return low + below(high - low + 1); }
};

/* Memory */

/** A zeroed, resident table beside the heap. */
template <typename T>
T *sideTable(size_t count) {
    void *area =
        mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (area == MAP_FAILED) {
        fail("no memory for a side table");
    }
    return (T *) area;
}

template <typename T>
void freeSideTable(T *table, size_t count) {
    munmap((void *) table, count * sizeof(T));
}

/** Read `key` (with its colon) from a file of /proc that gives kilobytes. @return Bytes, 0 when it is not there. */
inline size_t procBytes(const char *path, const char *key) {
    static char text[8192];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    size_t length = 0;
    ssize_t got;
    while (length < sizeof(text) - 1 && (got = read(fd, text + length, sizeof(text) - 1 - length)) > 0) {
        length += (size_t) got;
    }
    close(fd);
    text[length] = '\0';
    const char *line = strstr(text, key);
    return line ? (size_t) strtoull(line + strlen(key), nullptr, 10) * 1024 : 0;
}

/** Resident memory now. The rollup is counted from the page tables; the counters in `status` may lag. */
inline size_t residentBytes() {
    size_t bytes = procBytes("/proc/self/smaps_rollup", "Rss:");
    return bytes ? bytes : procBytes("/proc/self/status", "VmRSS:");
}

/** Start a new high-water mark of resident memory. Where the system forbids it the peak is since the start. */
inline void resetPeak() {
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (write(fd, "5", 1) != 1) {
            printf("# the high-water mark could not be reset\n");
        }
        close(fd);
    }
}

inline size_t peakBytes() {
    return procBytes("/proc/self/status", "VmHWM:");
}

/** Peak or present resident memory above a baseline. */
inline size_t above(size_t bytes, size_t baseline) {
    return bytes > baseline ? bytes - baseline : 0;
}

/* Optimiser */

/** Make the compiler believe that ptr is used and that all memory was looked at. */
inline void hide(void *ptr) {
    asm volatile("" : : "r"(ptr) : "memory");
}

/* Distributions */

inline int compareDoubles(const void *left, const void *right) {
    double a = *(const double *) left, b = *(const double *) right;
    return a < b ? -1 : a > b;
}

/** A few values: keeps them all, sorts on demand. */
struct Values {
    static const size_t LIMIT = 4096;
    double value[LIMIT];
    size_t count = 0;

    void add(double v) {
        if (count < LIMIT) {
            value[count++] = v;
        }
    }
    void sort() { qsort(value, count, sizeof(double), compareDoubles); }
    double median() {
        sort();
        return count ? (count % 2 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2) : 0;
    }
    double max() {
        sort();
        return count ? value[count - 1] : 0;
    }
};

/** Many durations in ticks: buckets one tick wide up to 64 Ki ticks, the longer ones one by one. Exact throughout. */
struct Durations {
    static const size_t NEAR = 65536, FAR = 65536;
    uint32_t *near = sideTable<uint32_t>(NEAR);
    double *far = sideTable<double>(FAR);
    size_t count = 0, farCount = 0;
    double longest = 0;

    void add(uint64_t t) {
        count++;
        if (t < NEAR) {
            near[t]++;
        } else if (farCount < FAR) {
            far[farCount++] = (double) t;
        }
        if ((double) t > longest) {
            longest = (double) t;
        }
    }
    /** The value that `share` of all values do not exceed. */
    double quantile(double share) {
        size_t rank = (size_t) ceil(share * (double) count), seen = 0;
        for (size_t i = 0; i < NEAR; i++) {
            seen += near[i];
            if (seen >= rank) {
                return (double) i;
            }
        }
        qsort(far, farCount, sizeof(double), compareDoubles);
        return rank > seen && rank - seen <= farCount ? far[rank - seen - 1] : longest;
    }
};

/* Processes */

/** Call a function in a process of its own, so that no heap is left of the measurement before. */
template <typename Result, typename Measure>
Result measureApart(Measure measure) {
    int way[2];
    if (pipe(way) != 0) {
        fail("no pipe");
    }
    const pid_t child = fork();
    if (child == 0) {
        const Result result = measure();
        _exit(write(way[1], &result, sizeof(result)) == (ssize_t) sizeof(result) ? 0 : 1);
    }
    close(way[1]);
    Result result;
    if (read(way[0], &result, sizeof(result)) != (ssize_t) sizeof(result)) {
        fail("a measurement ended early");
    }
    close(way[0]);
    waitpid(child, nullptr, 0);
    return result;
}

/* Output */

inline void print(const char *workload, const char *figure, double value) {
    printf("%s.%s %.6g\n", workload, figure, value);
    fflush(stdout);
}

} // namespace bench

#endif /* BENCH_H */
