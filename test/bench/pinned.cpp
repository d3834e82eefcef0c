// SPDX-License-Identifier: MIT
/*
    test/bench/pinned.cpp - Pinned buffers of 4 KiB at a page's start beside mprAlloc of 4 KiB: allocation, writing the block
    in full, and free.

    One at a time; and 64 that are allocated, written and freed one after the other, in a batch where there is one. The
    time of writing alone, into such blocks that stay, is measured beside each, and taken off in a second row. CPU time
    of this thread. Rounds of all alternate; printed are medians, and those of each round's quotient.
 */
#include "mpr.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

namespace {

constexpr int rounds = 61, many = 64, times = 200;
constexpr size_t size = 4096;
void *blocks[many];

double now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

void write(void *block) {
    memset(block, 1, size);
    __asm__ volatile("" : : "r"(block) : "memory");
}

template <class Work>
double measure(Work work) {
    const double begin = now();
    for (int i = 0; i < times; i++) {
        work();
    }
    return (now() - begin) / (times * many);
}

double ordinaryOne() {
    return measure([] {
        for (int i = 0; i < many; i++) {
            void *block = mprAlloc(size);
            write(block);
            mprFree(block);
        }
    });
}
double pinnedOne() {
    return measure([] {
        for (int i = 0; i < many; i++) {
            void *block = mprAllocPinned(size, 4096, 0);
            write(block);
            mprFree(block);
        }
    });
}
double ordinaryMany() {
    return measure([] {
        for (void *&block : blocks) {
            block = mprAlloc(size);
            write(block);
        }
        for (void *block : blocks) {
            mprFree(block);
        }
    });
}
double pinnedMany() {
    return measure([] {
        for (void *&block : blocks) {
            block = mprAllocPinned(size, 4096, 0);
            write(block);
        }
        for (void *block : blocks) {
            mprFree(block);
        }
    });
}
double batch() {
    return measure([] {
        mprAllocPinnedBatch(many, size, 4096, 0, blocks);
        for (void *block : blocks) {
            write(block);
        }
        mprFreePinnedBatch(many, blocks);
    });
}
void *kept[many];
double writeOne() {
    return measure([] {
        for (int i = 0; i < many; i++) {
            write(kept[0]);
        }
    });
}
double writeMany() {
    return measure([] {
        for (void *block : kept) {
            write(block);
        }
    });
}

struct Subject {
    const char *name;
    double (*run)();
    std::vector<double> all;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/* The median of each round's quotient, less what writing takes. */
double quotient(const Subject &a, const Subject &b, const Subject *writing, const Subject *writingB) {
    std::vector<double> values;
    for (size_t i = 0; i < a.all.size(); i++) {
        values.push_back((a.all[i] - (writing ? writing->all[i] : 0)) / (b.all[i] - (writingB ? writingB->all[i] : 0)));
    }
    return median(values);
}
} // namespace

int main() {
    if (!mprCreate(0, nullptr, MPR_DISABLE_GC)) {
        return 1;
    }
    mprAllocPinnedBatch(many, size, 4096, MPR_ALLOC_HOLD, kept);
    Subject one{"mprAlloc, one at a time", ordinaryOne, {}}, pinned{"pinned, one at a time", pinnedOne, {}},
        row{"mprAlloc, 64", ordinaryMany, {}}, pinnedRow{"pinned, 64", pinnedMany, {}},
        batched{"pinned, batch of 64", batch, {}}, writing{"writing, one block", writeOne, {}},
        writingRow{"writing, 64 blocks", writeMany, {}};
    Subject *const all[] = {&one, &pinned, &row, &pinnedRow, &batched, &writing, &writingRow};
    for (int round = 0; round < rounds; round++) {
        for (Subject *s : all) {
            s->all.push_back(s->run());
        }
    }
    puts("4096 B, ns of CPU for allocation, writing and free, each");
    for (const Subject *s : all) {
        printf("  %-24s %8.1f\n", s->name, median(s->all));
    }
    printf("pinned / mprAlloc, one at a time: %.2f (bar 1.5); less writing: %.2f\n",
           quotient(pinned, one, nullptr, nullptr), quotient(pinned, one, &writing, &writing));
    printf("pinned / mprAlloc, 64: %.2f; less writing: %.2f\n", quotient(pinnedRow, row, nullptr, nullptr),
           quotient(pinnedRow, row, &writingRow, &writingRow));
    printf("batch / mprAlloc, 64: %.2f (bar 0.5); less writing: %.2f (bar 0.5)\n",
           quotient(batched, row, nullptr, nullptr), quotient(batched, row, &writingRow, &writingRow));
    printf("batch / pinned, 64: %.2f (bar 0.5); less writing: %.2f (bar 0.5)\n",
           quotient(batched, pinnedRow, nullptr, nullptr), quotient(batched, pinnedRow, &writingRow, &writingRow));
    mprDestroy();
    return 0;
}
