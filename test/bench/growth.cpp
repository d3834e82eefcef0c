// SPDX-License-Identifier: MIT
/*
    growth.cpp - How much memory a heap takes for what lives in it, and how long one call may take, by kind of program.

    Usage: growth [--seconds N] [--tries N] [--only WORD] [--trace 1]

        build/bench/bench/growth                all cases, three minutes
        build/bench/bench/growth --only slow    those with this word in their names
        build/bench/bench/growth --trace 1      and what the collector has come to, ten times a second

    Each case is a process of its own. Its threads keep tables of blocks that are full from the start. Each operation makes a
    block and writes it in full; one in so many replaces what is at a random place of the thread's table, the others are
    dropped at once. So what lives is known, and stays the same.

    Printed are medians over the tries: bytes that live, with headers; the heap when the program ends, at its greatest in the
    second half of the time, and at its greatest since the start, each as a multiple of what lives; operations a second;
    the longest call, of allocation or yield; pauses; collections, and the major ones among them.
 */
#include "bench.h"
#include "policy_mpr.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace bench;

namespace {

constexpr size_t mega = size_t{1} << 20;
constexpr uint64_t us = 1000, ms = 1000000;

enum class Kind { leaf, plain, barrier, pinned };

struct Case {
    const char *name;
    int threads;
    size_t live; // bytes, of all threads together
    size_t least, most;
    Kind kind = Kind::leaf;
    unsigned kept = 10;     // one of so many operations keeps its block
    uint64_t finalizer = 0; // nanoseconds that a manager takes
    unsigned finalized = 1; // one of so many blocks has such a manager, if there are any
    uint64_t interval = 0;  // nanoseconds between yields; 0: one in 64 operations
    size_t limit = 0;
    int spinners = 0;
};

struct Result {
    double end, late, peak; // bytes
    double speed;           // operations a second
    double longest, pause;  // milliseconds
    double collections, majors;
};

const Case *which;
std::atomic<bool> ends;
bool traced;

void spin(uint64_t nanos) {
    for (const uint64_t begin = wallNanos(); wallNanos() - begin < nanos;) {}
}

/** The first word of blocks that are not leaves is a reference. */
void markOne(void *block, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(*static_cast<void **>(block));
    }
}
/** Of blocks that take long to be freed. */
void freeSlowly(void *block, int flags) {
    markOne(block, flags);
    if (flags & MPR_MANAGE_FREE) {
        spin(which->finalizer);
    }
}

void *make(size_t size, bool finalized) {
    if (finalized) {
        return mprAllocManaged(size, freeSlowly, MPR_ALLOC_ZERO);
    }
    switch (which->kind) {
    case Kind::leaf: return mprAlloc(size);
    case Kind::plain: return mprAllocManaged(size, markOne, MPR_ALLOC_ZERO | MPR_ALLOC_NO_FREE);
    case Kind::barrier: return mprAllocManaged(size, markOne, MPR_ALLOC_ZERO | MPR_ALLOC_NO_FREE | MPR_ALLOC_BARRIER);
    case Kind::pinned: return mprAllocPinned(size, 16, 0);
    }
    return nullptr;
}

struct Worker {
    uint64_t operations = 0, longest = 0, refused = 0;

    /** A block, or wait for memory: a call, and a retry, as programs at a limit do. */
    void *block(size_t size, bool finalized) {
        for (int i = 0; i < 100; i++) {
            const uint64_t begin = wallNanos();
            void *made = make(size, finalized);
            longest = std::max(longest, wallNanos() - begin);
            if (made) {
                return made;
            }
            refused++;
            yield(MPR_YIELD_COMPLETE);
        }
        fail("no memory");
    }
    void yield(int flags) {
        const uint64_t begin = wallNanos();
        mprYield(flags);
        longest = std::max(longest, wallNanos() - begin);
    }

    void run(int number) {
        Alloc::attach();
        Random random((uint64_t) number + 1);
        const size_t middle = (which->least + which->most) / 2 + 16;
        const size_t slots = std::max<size_t>(which->live / (size_t) which->threads / middle, 1);
        void **table = Alloc::allocTable(slots);
        const auto writes = [&](void *made, size_t size) {
            const size_t word = which->kind == Kind::leaf || which->kind == Kind::pinned ? 0 : sizeof(void *);
            memset((char *) made + word, 1, size - word);
        };
        const auto size = [&] { return random.between(which->least, which->most); };
        const auto finalized = [&] { return which->finalizer && random.below(which->finalized) == 0; };
        for (size_t i = 0; i < slots; i++) {
            const size_t bytes = size();
            table[i] = block(bytes, false);
            writes(table[i], bytes);
            if (i % 64 == 0) {
                yield(0);
            }
        }
        uint64_t last = wallNanos();
        for (longest = 0; !ends; operations++) {
            const size_t bytes = size();
            void *made = block(bytes, finalized());
            writes(made, bytes);
            if (random.below(which->kept) == 0) {
                table[random.below(slots)] = made;
            }
            if (which->interval ? wallNanos() - last >= which->interval : operations % 64 == 0) {
                yield(0);
                last = which->interval ? wallNanos() : last;
            }
        }
        Alloc::dropTable(table, slots);
        Alloc::detach();
    }
};

void trace(int milliseconds, const MprMemStats &stats) {
    printf("# %5d ms: heap %.1f MB, free %.1f, live %.1f, marked %.1f, budget %.1f; collections %llu, major %llu, "
           "slices %llu, "
           "assists %llu, rendezvous %llu up to %.1f ms\n",
           milliseconds, (double) stats.heap / mega, (double) stats.bytesFree / mega, (double) stats.bytesLive / mega,
           (double) stats.bytesMarked / mega, (double) stats.youngBudget / mega, stats.collections,
           stats.collectionsMajor, stats.marksSliced, stats.assists, stats.rendezvous.count,
           (double) stats.rendezvous.max / ms);
    fflush(stdout);
}

Result measure(int seconds) {
    if (!mprCreate(0, nullptr, 0)) {
        fail("mprCreate failed");
    }
    mprSetLogHandler([](cchar *, int, cchar *) {});
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    if (which->limit) {
        mprSetMemLimits(0, (ssize) which->limit, -1);
    }
    std::vector<std::thread> threads;
    std::vector<Worker> workers((size_t) which->threads);
    for (int i = 0; i < which->threads; i++) {
        threads.emplace_back([&, i] { workers[(size_t) i].run(i); });
    }
    for (int i = 0; i < which->spinners; i++) {
        threads.emplace_back([] {
            while (!ends) {
                spin(ms);
            }
        });
    }
    Alloc::block();
    Result result{};
    MprMemStats stats;
    constexpr int looks = 100; // a second
    for (int i = 0; i < seconds * looks; i++) {
        usleep(1000000 / looks);
        mprReadMemStats(&stats);
        if (traced && i % (looks / 10) == 0) {
            trace(i * 1000 / looks, stats);
        }
        if (i >= seconds * looks / 2) {
            result.late = std::max(result.late, (double) stats.heap);
        }
    }
    result.end = (double) stats.heap;
    result.peak = (double) stats.heapPeak;
    result.pause = (double) stats.mark.max / ms;
    result.collections = (double) stats.collections;
    result.majors = (double) stats.collectionsMajor;
    ends = true;
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const Worker &worker : workers) {
        result.speed += (double) worker.operations / seconds;
        result.longest = std::max(result.longest, (double) worker.longest / ms);
    }
    return result;
}

void run(int tries, int seconds) {
    static Values end, late, peak, speed, longest, pause, collections, majors;
    for (Values *values : {&end, &late, &peak, &speed, &longest, &pause, &collections, &majors}) {
        values->count = 0;
    }
    const auto live = (double) which->live;
    for (int i = 0; i < tries; i++) {
        const Result result = measureApart<Result>([&] { return measure(seconds); });
        end.add(result.end / live);
        late.add(result.late / live);
        peak.add(result.peak / live);
        speed.add(result.speed / 1e6);
        longest.add(result.longest);
        pause.add(result.pause);
        collections.add(result.collections);
        majors.add(result.majors);
    }
    printf("%-46s %6.0f %6.2f %6.2f %6.2f %8.3f %9.2f %8.2f %7.0f %6.0f\n", which->name, live / mega, end.median(),
           late.median(), peak.median(), speed.median(), longest.median(), pause.median(), collections.median(),
           majors.median());
    fflush(stdout);
}

constexpr Case cases[] = {
    {"leaves, 16-512, 1 thread", 1, 4 * mega, 16, 512},
    {"leaves, 16-512, 1 thread, 13 MB", 1, 13 * mega, 16, 512},
    {"leaves, 16-512, 2 threads, 40 MB", 2, 40 * mega, 16, 512},
    {"leaves, 16-512, 2 threads, 100 MB", 2, 100 * mega, 16, 512},
    {"leaves, 16-512, 2 threads, 40 MB, all kept", 2, 40 * mega, 16, 512, Kind::leaf, 1},
    {"leaves, 16-8192, 2 threads, 40 MB", 2, 40 * mega, 16, 8192},
    {"leaves, 1K-256K, 2 threads, 40 MB", 2, 40 * mega, 1024, 256 * 1024},
    {"plain, 16-512, 2 threads, 40 MB", 2, 40 * mega, 16, 512, Kind::plain},
    {"plain, 16-512, 2 threads, 40 MB, one in 100", 2, 40 * mega, 16, 512, Kind::plain, 100},
    {"barrier, 16-512, 2 threads, 40 MB", 2, 40 * mega, 16, 512, Kind::barrier},
    {"barrier, 16-512, 8 threads, 40 MB", 8, 40 * mega, 16, 512, Kind::barrier},
    {"barrier, 16-512, 8 threads, spinners", 8, 10 * mega, 16, 512, Kind::barrier, 10, 0, 1, 0, 0, 16},
    {"leaves, 2 threads, a yield each 50 ms", 2, 10 * mega, 16, 512, Kind::leaf, 10, 0, 1, 50 * ms},
    {"barrier, slow managers, 5 us", 2, 2 * mega, 16, 512, Kind::barrier, 10, 5 * us},
    {"barrier, slow managers, 50 us", 1, 2 * mega, 16, 512, Kind::barrier, 10, 50 * us},
    {"barrier, slow managers, 20 ms, one in 10,000", 4, 10 * mega, 16, 512, Kind::barrier, 10, 20 * ms, 10000},
    {"barrier, slow managers, 50 us, limit", 1, 10 * mega, 16, 512, Kind::barrier, 10, 50 * us, 1, 0, 40 * mega},
    {"barrier, slow managers, 5 us, limit", 2, 40 * mega, 16, 512, Kind::barrier, 10, 5 * us, 1, 0, 80 * mega},
    {"leaves, 2 threads, limit", 2, 40 * mega, 16, 512, Kind::leaf, 10, 0, 1, 0, 80 * mega},
    {"pinned, 4096, 2 threads", 2, 4 * mega, 4096, 4096, Kind::pinned},
};

} // namespace

int main(int argc, char **argv) {
    int tries = 1, seconds = 8;
    const char *only = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        option == "--tries"     ? void(tries = atoi(argv[i + 1]))
        : option == "--seconds" ? void(seconds = atoi(argv[i + 1]))
        : option == "--only"    ? void(only = argv[i + 1])
        : option == "--trace"   ? void(traced = atoi(argv[i + 1]))
                                : fail("usage: growth [--seconds N] [--tries N] [--only WORD] [--trace 1]");
    }
    printf("%-46s %6s %6s %6s %6s %8s %9s %8s %7s %6s\n", "", "MB", "end", "late", "peak", "M/s", "call ms", "pause ms",
           "colls", "majors");
    for (const Case &each : cases) {
        if (strstr(each.name, only)) {
            which = &each;
            run(tries, seconds);
        }
    }
}
