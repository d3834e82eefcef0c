// SPDX-License-Identifier: MIT
/*
    micro_core.cpp - Single calls of the core under Google Benchmark, beside the calls of the C library.

    Where blocks are dropped for the collector, "CPU" is that of the process: the collector's thread is in it.
    Every 64 calls there is a yield.
 */
#include <benchmark/benchmark.h>

#include "mpr.h"

#include <stdlib.h>
#include <string.h>

static void use(void *ptr) {
    *(int64_t *) ptr = 1;
    benchmark::DoNotOptimize(ptr);
    benchmark::ClobberMemory();
}

static void allocCollected(benchmark::State &state) {
    size_t size = (size_t) state.range(0);
    unsigned n = 0;
    for (auto _ : state) {
        use(mprAlloc(size));
        if (++n % 64 == 0) {
            mprYield(0);
        }
    }
}
BENCHMARK(allocCollected)
    ->Name("mprAlloc, collected")
    ->Arg(16)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->Arg(4096)
    ->MeasureProcessCPUTime();

static void allocManaged(benchmark::State &state) {
    struct Node {
        void *a, *b;
        int64 value;
    };
    MprManager manager = [](void *ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMark(((Node *) ptr)->a);
            mprMark(((Node *) ptr)->b);
        }
    };
    unsigned n = 0;
    for (auto _ : state) {
        use(mprAllocObj(Node, manager));
        if (++n % 64 == 0) {
            mprYield(0);
        }
    }
}
BENCHMARK(allocManaged)->Name("mprAllocObj 24 B, collected")->MeasureProcessCPUTime();

static void allocFree(benchmark::State &state) {
    size_t size = (size_t) state.range(0);
    mprEnableGC(false);
    for (auto _ : state) {
        void *ptr = mprAlloc(size);
        use(ptr);
        mprFree(ptr);
    }
    mprEnableGC(true);
}
BENCHMARK(allocFree)->Name("mprAlloc + mprFree")->Arg(16)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);

static void mallocFree(benchmark::State &state) {
    size_t size = (size_t) state.range(0);
    for (auto _ : state) {
        void *ptr = malloc(size);
        use(ptr);
        free(ptr);
    }
}
BENCHMARK(mallocFree)->Name("malloc + free")->Arg(16)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);

static void permanent(benchmark::State &state) {
    size_t size = (size_t) state.range(0);
    for (auto _ : state) {
        void *ptr = palloc(size);
        use(ptr);
        pfree(ptr);
    }
}
BENCHMARK(permanent)->Name("palloc + pfree")->Arg(64)->Arg(1024);

static void zeroed(benchmark::State &state) {
    size_t size = (size_t) state.range(0);
    mprEnableGC(false);
    for (auto _ : state) {
        void *ptr = mprAllocZeroed(size);
        use(ptr);
        mprFree(ptr);
    }
    mprEnableGC(true);
}
BENCHMARK(zeroed)->Name("mprAllocZeroed + mprFree")->Arg(64)->Arg(1024);

static void callocFree(benchmark::State &state) {
    size_t size = (size_t) state.range(0);
    for (auto _ : state) {
        void *ptr = calloc(1, size);
        use(ptr);
        free(ptr);
    }
}
BENCHMARK(callocFree)->Name("calloc + free")->Arg(64)->Arg(1024);

static void needYield(benchmark::State &state) {
    bool seen = false;
    for (auto _ : state) {
        seen |= mprNeedYield();
    }
    benchmark::DoNotOptimize(seen);
}
BENCHMARK(needYield)->Name("mprNeedYield");

static void yield(benchmark::State &state) {
    for (auto _ : state) {
        mprYield(0);
    }
}
BENCHMARK(yield)->Name("mprYield(0)");

static void hold(benchmark::State &state) {
    void *ptr = mprAlloc(64);
    for (auto _ : state) {
        mprHold(ptr);
        mprRelease(ptr);
    }
}
BENCHMARK(hold)->Name("mprHold + mprRelease");

static void blockSize(benchmark::State &state) {
    void *ptr = mprAlloc(64);
    for (auto _ : state) {
        benchmark::DoNotOptimize(mprGetBlockSize(ptr));
    }
}
BENCHMARK(blockSize)->Name("mprGetBlockSize");

/* Growth of a buffer: from 64 bytes to the end by doubling, or by steps of 64. One iteration is the whole growth. */

static void growDouble(benchmark::State &state) {
    mprEnableGC(false);
    for (auto _ : state) {
        void *ptr = nullptr;
        for (size_t size = 64; size <= 65536; size *= 2) {
            ptr = mprRealloc(ptr, size);
            use(ptr);
        }
        mprFree(ptr);
    }
    mprEnableGC(true);
}
BENCHMARK(growDouble)->Name("mprRealloc 64 B..64 KiB by doubling");

static void growDoubleMalloc(benchmark::State &state) {
    for (auto _ : state) {
        void *ptr = nullptr;
        for (size_t size = 64; size <= 65536; size *= 2) {
            ptr = realloc(ptr, size);
            use(ptr);
        }
        free(ptr);
    }
}
BENCHMARK(growDoubleMalloc)->Name("realloc 64 B..64 KiB by doubling");

static void growSteps(benchmark::State &state) {
    mprEnableGC(false);
    for (auto _ : state) {
        void *ptr = nullptr;
        for (size_t size = 64; size <= 8192; size += 64) {
            ptr = mprRealloc(ptr, size);
            use(ptr);
        }
        mprFree(ptr);
    }
    mprEnableGC(true);
}
BENCHMARK(growSteps)->Name("mprRealloc 64 B..8 KiB by 64");

static void growStepsMalloc(benchmark::State &state) {
    for (auto _ : state) {
        void *ptr = nullptr;
        for (size_t size = 64; size <= 8192; size += 64) {
            ptr = realloc(ptr, size);
            use(ptr);
        }
        free(ptr);
    }
}
BENCHMARK(growStepsMalloc)->Name("realloc 64 B..8 KiB by 64");

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (!mprCreate(argc, argv, 0)) {
        return 2;
    }
    benchmark::RunSpecifiedBenchmarks();
    return mprDestroy() ? 0 : 2;
}
