// SPDX-License-Identifier: MIT
/*
    late.cpp - What threads lose to one that does not yield: operations a second beside it, and beside one like it that does.

    Usage: late [--pairs N] [--ms N] [--only WORD]

        build/bench/bench/late                  all cases, some five minutes
        build/bench/bench/late --only 50ms      those with this word in their names

    A case is so many workers, a limit of memory, and late threads. Each measurement is a process of its own: workers
    allocate, free half of it by hand, drop the other half and yield, and beside them the late threads compute. Then they
    are late; before it, in the measurement that it is compared with, they compute as much in a sticky yield. So both have
    the same share of the processors. A pair is one measurement of each kind, one after the other.

    Printed are medians over the pairs: operations a second without and with a thread that is late; their ratio, with the
    least and the greatest of a pair; the share of their time that workers spent in yields that had to wait, without and with; how
    much memory the second kind had at most. A run in which memory to run on is used up says so, and counts the time before that only.
 */
#include "bench.h"
#include "policy_mpr.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace bench;

namespace {

constexpr uint64_t never = 0;
constexpr int most = 2; // workers

struct Case {
    const char *name;
    int workers, lates;
    uint64_t interval; // of the late threads' yields, in nanoseconds
    ssize redline, limit;
    const char *reserve = nullptr; // memory that the system has given already, as an option
};

struct Result {
    double speed, waited, heap; // operations a second; share; bytes
    bool spent;
};

constexpr ssize giga = ssize{1} << 30, mega = ssize{1} << 20;
constexpr uint64_t ms = 1000000;

std::atomic<bool> counts, ends;

/** Counts its operations while `counts` is set. Looks at the clock often enough to notice that it has stood still. */
struct Worker {
    alignas(64) std::atomic<uint64_t> operations{0}, waited{0}; // in ticks

    void run(int number) {
        constexpr size_t slots = 4096;
        Alloc::attach();
        void **kept = Alloc::allocTable(slots);
        Random random((uint64_t) number + 1);
        for (uint64_t turn = 0; !ends; turn++) {
            size_t slot = random.below(slots), size = random.between(16, 512);
            void *block = Alloc::alloc(size);
            if (!block) {
                fail("no memory");
            }
            memset(block, (int) turn, size);
            if (turn % 2 && kept[slot]) {
                mprFree(kept[slot]);
            }
            kept[slot] = block;
            if (turn % 16 == 0) {
                if (mprNeedYield()) {
                    const uint64_t begin = ticks();
                    mprYield(0);
                    waited.fetch_add(ticks() - begin, std::memory_order_relaxed);
                }
                operations.fetch_add(16, std::memory_order_relaxed);
            }
        }
        Alloc::dropTable(kept, slots);
        Alloc::detach();
    }
};

void beLate(const Case &which, bool late) {
    Alloc::attach();
    Alloc::block();
    while (!counts) {
        usleep(1000);
    }
    if (late) {
        Alloc::unblock();
    }
    uint64_t last = wallNanos();
    for (uint64_t sum = 0; !ends; sum++) {
        hide(&sum);
        if (which.interval != never && sum % 256 == 0 && wallNanos() - last >= which.interval) {
            Alloc::tick();
            last = wallNanos();
        }
    }
    Alloc::detach();
}

Result measure(const Case &which, bool late, int milliseconds) {
    static Worker workers[most];
    if (which.reserve && mprConfigure(which.reserve) != 0) {
        fail("bad options");
    }
    if (!mprCreate(0, nullptr, 0)) {
        fail("mprCreate failed");
    }
    mprSetLogHandler([](cchar *, int, cchar *) {});
    mprSetMemLimits(which.redline, which.limit, -1);
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    std::vector<std::thread> threads;
    for (int i = 0; i < which.workers; i++) {
        threads.emplace_back([i] { workers[i].run(i); });
    }
    for (int i = 0; i < which.lates; i++) {
        threads.emplace_back([&] { beLate(which, late); });
    }
    Alloc::block();
    usleep(300000);
    const auto sum = [&](std::atomic<uint64_t> Worker::*what) {
        uint64_t all = 0;
        for (int i = 0; i < which.workers; i++) {
            all += (workers[i].*what).load(std::memory_order_relaxed);
        }
        return all;
    };
    const double nanos = tickNanos();
    const uint64_t begin = wallNanos(), first = sum(&Worker::operations), waited = sum(&Worker::waited);
    counts = true;
    // By pieces, to find when they stopped for good.
    constexpr uint64_t patience = 500 * ms;
    uint64_t end = begin, last = first, now = begin;
    while (now - begin < (uint64_t) milliseconds * ms && now - end < patience) {
        usleep(10000);
        now = wallNanos();
        if (const uint64_t seen = sum(&Worker::operations); seen != last) {
            last = seen;
            end = now;
        }
    }
    const bool spent = now - end >= patience;
    end = spent ? end : now;
    const double share = (double) (sum(&Worker::waited) - waited) * nanos;
    MprMemStats stats;
    mprReadMemStats(&stats);
    ends = true;
    for (std::thread &thread : threads) {
        thread.join();
    }
    Alloc::unblock();
    const double took = (double) (end - begin);
    return {(double) (last - first) * 1e9 / took, share / took / which.workers, (double) stats.heapPeak, spent};
}

void compare(const Case &which, int pairs, int milliseconds) {
    static Values without, with, ratio, waitedWithout, waited, heap;
    for (Values *values : {&without, &with, &ratio, &waitedWithout, &waited, &heap}) {
        values->count = 0;
    }
    int spent = 0;
    for (int pair = 0; pair < pairs; pair++) {
        const Result a = measureApart<Result>([&] { return measure(which, false, milliseconds); });
        const Result b = measureApart<Result>([&] { return measure(which, true, milliseconds); });
        without.add(a.speed / 1e6);
        with.add(b.speed / 1e6);
        ratio.add(b.speed / a.speed);
        waitedWithout.add(a.waited * 100);
        waited.add(b.waited * 100);
        heap.add(b.heap / 1e6);
        spent += b.spent;
    }
    const double middle = ratio.median();
    printf("%-36s %8.2f %8.2f   %.3f [%.3f .. %.3f] %6.1f %6.1f %9.0f%s\n", which.name, without.median(), with.median(),
           middle, ratio.value[0], ratio.max(), waitedWithout.median(), waited.median(), heap.median(),
           spent ? "   used up" : "");
    fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
    int pairs = 5, milliseconds = 2000;
    const char *only = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        option == "--pairs"  ? void(pairs = atoi(argv[i + 1]))
        : option == "--ms"   ? void(milliseconds = atoi(argv[i + 1]))
        : option == "--only" ? void(only = argv[i + 1])
                             : fail("usage: late [--pairs N] [--ms N] [--only WORD]");
    }
    static const Case cases[] = {
        {"1 worker, late for ever", 1, 1, never, 0, 0},
        {"2 workers, late for ever", 2, 1, never, 0, 0},
        {"2 workers, late for ever, redline", 2, 1, never, 4 * giga, 0},
        {"2 workers, late for ever, limit", 2, 1, never, 0, 5 * giga},
        {"2 workers, two late for ever", 2, 2, never, 0, 0},
        {"1 worker, late for ever, reserved", 1, 1, never, 0, 0, "reserve=3g"},
        {"2 workers, late for ever, reserved", 2, 1, never, 0, 0, "reserve=3g"},
        {"1 worker, late by 10ms", 1, 1, 10 * ms, 0, 0},
        {"1 worker, late by 50ms", 1, 1, 50 * ms, 0, 0},
        {"1 worker, late by 200ms", 1, 1, 200 * ms, 0, 0},
        {"2 workers, late by 10ms", 2, 1, 10 * ms, 0, 0},
        {"2 workers, late by 50ms", 2, 1, 50 * ms, 0, 0},
        {"2 workers, late by 200ms", 2, 1, 200 * ms, 0, 0},
        {"2 workers, late by 50ms, redline", 2, 1, 50 * ms, 512 * mega, 0},
        {"2 workers, late by 50ms, limit", 2, 1, 50 * ms, 0, 512 * mega},
        {"2 workers, two late by 50ms", 2, 2, 50 * ms, 0, 0},
    };
    printf("%-36s %8s %8s   %-22s %6s %6s %9s\n", "", "M/s", "late M/s", "ratio", "wait %", "late %", "heap MB");
    for (const Case &which : cases) {
        if (strstr(which.name, only)) {
            compare(which, pairs, milliseconds);
        }
    }
}
