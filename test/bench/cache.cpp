// SPDX-License-Identifier: MIT
/*
    cache - A cache of a million items: what a call costs, how long the longest takes, and how long the collector
    stops threads.

    Usage: cache [ITEMS]

    One thread adds items that expire, reads them at random, replaces them by others under a limit of keys (each write
    prunes one), has all of them expire, and adds them again to drop them at once; it yields after every 16 calls.
    Figures are nanoseconds of the thread's CPU time a call over a phase, yields left out; `worst` is the longest call
    of a phase, in microseconds of the thread's CPU time, with what the system and page faults took in it. After each
    phase the collector's pauses so far are printed, in microseconds: `mark` is what all threads stood still for.
 */
#include "mpr.h"
#include "test/bench/bench.h"

#include <algorithm>
#include <string>

using namespace bench;

namespace {

uint64_t threadNanos() {
    return clockNanos(CLOCK_THREAD_CPUTIME_ID);
}

struct Phase {
    const char *name;
    uint64_t total = 0, last = 0, worst = 0;
    size_t calls = 0, lastCalls = 0, slow = 0;
};

void report(const Phase &phase) {
    const std::string name = phase.name;
    bench::print("cache", (name + "_ns").c_str(), (double) phase.total / (double) phase.calls);
    bench::print("cache", (name + "_last_tenth_ns").c_str(), (double) phase.last / (double) phase.lastCalls);
    bench::print("cache", (name + "_worst_us").c_str(), (double) phase.worst / 1000);
    bench::print("cache", (name + "_over_1ms").c_str(), (double) phase.slow);
    const MprMemStats *stats = mprGetMemStats();
    printf(
        "# %s: %llu minor, %llu major; mark p50 %.0f p99 %.0f max %.0f us; pause p99 %.0f max %.0f us; heap %.0f MB\n",
        phase.name, stats->collectionsMinor, stats->collectionsMajor, (double) stats->mark.p50 / 1000,
        (double) stats->mark.p99 / 1000, (double) stats->mark.max / 1000, (double) stats->pause.p99 / 1000,
        (double) stats->pause.max / 1000, (double) stats->heap / 1e6);
}

/* Call so often, in stretches between yields. */
template <class Call>
void run(const char *name, size_t count, Call call) {
    Phase phase{name};
    const uint64_t clock = [] {
        const uint64_t start = threadNanos();
        return threadNanos() - start;
    }();
    for (size_t i = 0; i < count;) {
        for (size_t k = 0; k < 16 && i < count; k++, i++) {
            const uint64_t start = threadNanos();
            call(i);
            const uint64_t took = threadNanos() - start;
            const uint64_t net = took > clock ? took - clock : 0;
            phase.total += net;
            phase.calls++;
            phase.worst = std::max(phase.worst, net);
            phase.slow += net > 1'000'000;
            if (i >= count / 10 * 9) {
                phase.last += net;
                phase.lastCalls++;
            }
        }
        mprYield(0);
    }
    report(phase);
}

char key[32];
const char *keyOf(size_t i) {
    snprintf(key, sizeof(key), "session-%zu", i);
    return key;
}
} // namespace

int main(int argc, char **argv) {
    const size_t items = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1'000'000;
    constexpr MprTicks hour = 3'600'000;
    if (!mprCreate(0, nullptr, 0)) {
        return 2;
    }
    MprCache *cache = mprCreateCache(MPR_CACHE_SHARED);
    Random random(1);
    const auto add = [&](size_t i) { mprWriteCache(cache, keyOf(i), "some value of a session", 0, hour, 0, 0); };
    run("add", items, add);
    run("read", items, [&](size_t) { mprReadCache(cache, keyOf(random.below(items)), nullptr, nullptr); });
    mprSetCacheLimits(cache, (long long) items, 0, 0, 0);
    run("replace", items, [&](size_t i) { add(items + i); });
    run("rewrite", items, [&](size_t) { add(items + random.below(items)); });
    int count = 0;
    ptrdiff_t bytes = 0;
    mprGetCacheStats(cache, &count, &bytes);
    bench::print("cache", "item_bytes", (double) bytes / count);
    run("remove", items, [&](size_t i) { mprRemoveCache(cache, keyOf(items + i)); });
    run("again", items, add);
    run("clear", 1, [&](size_t) { mprPruneCache(cache); });
    return mprDestroy() ? 0 : 1;
}
