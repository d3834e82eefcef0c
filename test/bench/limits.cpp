// SPDX-License-Identifier: MIT
/*
    limits.cpp - Who is refused memory, and who is refused again after a complete yield, by threads, limit and sizes.

    Usage: limits [--tries N] [--live PERCENT] [--only WORD]

        build/bench/bench/limits                a million allocations a case, some ten minutes
        build/bench/bench/limits --only "64,"   cases with this in their names

    Each case is a process of its own, in which threads share a hard limit. Each keeps what it has allocated last, as much as
    is its part of PERCENT of the limit (45), and drops what is older: the rest is garbage or free. A thread that is refused
    calls mprYield(MPR_YIELD_COMPLETE) and asks for the same once more.

    Printed are, for each kind of sizes, how many of the allocations were refused, and in brackets how many of these were
    refused again, which the runtime promises not to do (mpr/limits.h).
 */
#include "bench.h"
#include "policy_mpr.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

using namespace bench;

namespace {

constexpr size_t mega = size_t{1} << 20;

struct Sizes {
    const char *name;
    size_t least, most;
    bool byTurns; // one of the two, rather than any between them
};

struct Case {
    int threads;
    size_t limit;
    Sizes sizes;
};

struct Result {
    uint64_t refused, again;
};

std::atomic<uint64_t> refused, again;

/** The blocks that a thread has made last, in a managed table. */
class Latest {
public:
    Latest(size_t bytes, size_t least) : most(bytes), slots(std::max<size_t>(bytes / (least + 16), 1)) {
        items = Alloc::allocTable(slots);
        sizes.resize(slots);
        held = slots * sizeof(void *);
    }
    ~Latest() { Alloc::dropTable(items, slots); }
    Latest(const Latest &) = delete;
    Latest &operator=(const Latest &) = delete;

    /** Drop what is too old for a block of so many bytes to be kept, too. */
    void makeRoom(size_t bytes) {
        while (first != next && (held + bytes > most || next - first == slots)) {
            held -= sizes[first % slots];
            items[first++ % slots] = nullptr;
        }
    }
    void keep(void *block, size_t bytes) {
        items[next % slots] = block;
        sizes[next++ % slots] = bytes;
        held += bytes;
    }

private:
    size_t most, slots, held, first = 0, next = 0;
    void **items;
    std::vector<size_t> sizes;
};

void work(const Sizes &sizes, int number, uint64_t tries, Latest &latest) {
    Alloc::attach();
    Random random((uint64_t) number + 1);
    for (uint64_t i = 0; i < tries; i++) {
        const size_t size =
            sizes.byTurns ? (i % 2 ? sizes.most : sizes.least) : random.between(sizes.least, sizes.most);
        latest.makeRoom(size + 16);
        void *block = Alloc::alloc(size);
        if (!block) {
            refused++;
            mprYield(MPR_YIELD_COMPLETE);
            block = Alloc::alloc(size);
            again += block == nullptr;
        }
        if (block) {
            memset(block, (int) i, size);
            latest.keep(block, size + 16);
        }
        Alloc::tick();
    }
    Alloc::detach();
}

Result measure(const Case &which, uint64_t tries, size_t percent) {
    Alloc::begin(nullptr);
    mprSetLogHandler([](cchar *, int, cchar *) {});
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(0, (ssize) which.limit, -1);
    const size_t share = which.limit / 100 * percent / (size_t) which.threads;
    std::deque<Latest> latest;
    for (int i = 0; i < which.threads; i++) {
        latest.emplace_back(share, (which.sizes.least + which.sizes.most) / 2);
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < which.threads; i++) {
        threads.emplace_back([&, i] { work(which.sizes, i, tries / (uint64_t) which.threads, latest[(size_t) i]); });
    }
    Alloc::block();
    for (std::thread &thread : threads) {
        thread.join();
    }
    Alloc::unblock();
    return {refused, again};
}

} // namespace

int main(int argc, char **argv) {
    uint64_t tries = 1000000;
    size_t percent = 45;
    const char *only = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        option == "--tries"  ? void(tries = (uint64_t) atoll(argv[i + 1]))
        : option == "--live" ? void(percent = (size_t) atoi(argv[i + 1]))
        : option == "--only" ? void(only = argv[i + 1])
                             : fail("usage: limits [--tries N] [--live PERCENT] [--only WORD]");
    }
    static const Sizes kinds[] = {
        {"16-4096 B", 16, 4096, false}, {"4-20 KB", 4096, 20480, false}, {"32 B, 4 KB", 32, 4096, true}};
    printf("%-18s", "threads, limit");
    for (const Sizes &sizes : kinds) {
        printf(" %16s", sizes.name);
    }
    printf("\n");
    uint64_t all = 0;
    for (const int threads : {1, 8, 64}) {
        for (const size_t limit : {2 * mega, 4 * mega, 8 * mega, 32 * mega}) {
            const std::string name = std::to_string(threads) + ", " + std::to_string(limit / mega) + " MB";
            if (!strstr(name.c_str(), only)) {
                continue;
            }
            printf("%-18s", name.c_str());
            for (const Sizes &sizes : kinds) {
                const Result result = measureApart<Result>([&] {
                    return measure({threads, limit, sizes}, tries, percent);
                });
                all += result.again;
                printf(" %10lu (%3lu)", (unsigned long) result.refused, (unsigned long) result.again);
                fflush(stdout);
            }
            printf("\n");
        }
    }
    printf("refused again, in all: %lu\n", (unsigned long) all);
}
