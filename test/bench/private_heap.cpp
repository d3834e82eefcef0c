// SPDX-License-Identifier: MIT
/*
    test/bench/private_heap.cpp - Allocation and free of 64 bytes by one thread: a private heap beside mimalloc, malloc
    and the runtime's own heap.

    Each is called through a pointer, as a library that is loaded at run time has to be. Two patterns: a block at a time,
    and a thousand before they are freed. Rounds of all alternate; printed are medians, and of each round's quotient.
 */
#include "mpr.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

constexpr int rounds = 61, times = 200'000, many = 1000;
MprPrivateHeap *oneThread, *shared;

struct Subject {
    const char *name;
    void *(*alloc)(size_t);
    void (*free)(void *);
    std::vector<double> pairs, rows;
};

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double pairs(const Subject &s) {
    const double begin = now();
    for (int i = 0; i < times; i++) {
        auto block = static_cast<volatile char *>(s.alloc(64));
        *block = 1;
        s.free(const_cast<char *>(block));
    }
    return (now() - begin) / times;
}

double rows(const Subject &s) {
    static void *blocks[many];
    const double begin = now();
    for (int i = 0; i < times / many; i++) {
        for (void *&block : blocks) {
            block = s.alloc(64);
            *static_cast<volatile char *>(block) = 1;
        }
        for (void *block : blocks) {
            s.free(block);
        }
    }
    return (now() - begin) / times;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double quotient(const std::vector<double> &a, const std::vector<double> &b) {
    std::vector<double> all;
    for (size_t i = 0; i < a.size(); i++) {
        all.push_back(a[i] / b[i]);
    }
    return median(all);
}
} // namespace

int main() {
    if (!mprCreate(0, nullptr, MPR_DISABLE_GC)) {
        return 1;
    }
    oneThread = mprCreateHeap("one thread", MPR_HEAP_ONE_THREAD);
    shared = mprCreateHeap("shared", 0);
    std::vector<Subject> subjects{
        {"private heap, one thread",
         [](size_t size) { return mprHeapAlloc(oneThread, size, MPR_CRITICAL_TASK); },
         [](void *ptr) { mprHeapFree(oneThread, ptr); },
         {},
         {}},
        {"private heap, shared",
         [](size_t size) { return mprHeapAlloc(shared, size, MPR_CRITICAL_TASK); },
         [](void *ptr) { mprHeapFree(shared, ptr); },
         {},
         {}},
        {"mprAlloc", [](size_t size) { return mprAlloc(size); }, [](void *ptr) { mprFree(ptr); }, {}, {}},
        {"malloc", malloc, free, {}, {}},
    };
    if (void *library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL)) {
        subjects.push_back({"mimalloc",
                            reinterpret_cast<void *(*) (size_t)>(dlsym(library, "mi_malloc")),
                            reinterpret_cast<void (*)(void *)>(dlsym(library, "mi_free")),
                            {},
                            {}});
    } else {
        puts("libmimalloc.so.2 is not here (Debian: libmimalloc2.0)");
    }
    for (int round = 0; round < rounds; round++) {
        for (Subject &s : subjects) {
            s.pairs.push_back(pairs(s));
            s.rows.push_back(rows(s));
        }
    }
    puts("64 B, ns for allocation and free; x: of the last");
    for (const Subject &s : subjects) {
        printf("  %-26s  one at a time %6.2f (%4.2f x)  a thousand %6.2f (%4.2f x)\n", s.name, median(s.pairs),
               quotient(s.pairs, subjects.back().pairs), median(s.rows), quotient(s.rows, subjects.back().rows));
    }
    mprDestroyHeap(oneThread);
    mprDestroyHeap(shared);
    mprDestroy();
    return 0;
}
