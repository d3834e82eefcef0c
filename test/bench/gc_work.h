/* SPDX-License-Identifier: MIT */
/*
    gc_work.h - Workloads of the collector: what a thread loses while generations and concurrent marking do their work.

    Each is compiled twice, for mpr's C++ API (gc_mpr.cpp) and for malloc and free (gc_malloc.cpp; peers are preloaded).
    What a mutator loses counts: a "worst push" is the longest of all steps by the clock, whatever caused it.

    Policy: leaf/node allocation, drop (give up), References (a row of references), Map (ids to messages), tick, threads.
 */
#ifndef GC_WORK_H
#define GC_WORK_H

#include "bench.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace bench;

inline double scale = 1;

inline uint64_t scaled(double count) {
    return (uint64_t) (count * scale);
}

/** The longest step of a loop, and all of them. */
class Steps {
public:
    Steps() : began(wallNanos()), cpu(cpuNanos()), last(began) {}
    /** @return the time of its end. */
    uint64_t step() {
        uint64_t now = wallNanos();
        worst = std::max(worst, now - last);
        return last = now;
    }
    uint64_t longest() const { return worst; }
    void report(const char *workload, size_t baseline) {
        print(workload, "wall", (double) (wallNanos() - began) / 1e6);
        print(workload, "cpu", (double) (cpuNanos() - cpu) / 1e6);
        print(workload, "worst", (double) worst / 1e6);
        print(workload, "resident", (double) above(peakBytes(), baseline) / 1e6);
    }

private:
    uint64_t began, cpu, last, worst = 0;
};

constexpr size_t TICK = 16;

/** A ring of 200,000 live leaf messages of 1 KiB, 2,000,000 pushes. */
inline void ringLeaf(const char *workload) {
    const size_t live = 200000, size = 1024;
    resetPeak();
    size_t baseline = residentBytes();
    Policy::begin();
    {
        Policy::References slots(live);
        Steps steps;
        for (uint64_t i = 0, n = scaled(2e6); i < n; i++) {
            void *message = Policy::leaf(size);
            memset(message, (int) i, size);
            Policy::dropLeaf(slots.exchange(i % live, message));
            if (i % TICK == 0) {
                Policy::tick();
            }
            steps.step();
        }
        steps.report(workload, baseline);
    }
    Policy::end(workload);
}

/** A ring of messages that each reference eight of a thousand shared cells. */
inline void ringScanned(const char *workload) {
    const size_t live = 200000;
    resetPeak();
    size_t baseline = residentBytes();
    Policy::begin();
    {
        Policy::References cells(1000), slots(live);
        for (size_t i = 0; i < 1000; i++) {
            cells.exchange(i, Policy::leaf(64));
        }
        Random random(1);
        Steps steps;
        for (uint64_t i = 0, n = scaled(2e6); i < n; i++) {
            auto message = Policy::message();
            if (!message) {
                fail("no memory for a message");
            }
            memset(message->text, (int) i, sizeof(message->text));
            for (auto &ref : message->refs) {
                ref = cells.get(random.below(1000));
            }
            Policy::dropMessage(slots.exchange(i % live, message));
            if (i % TICK == 0) {
                Policy::tick();
            }
            steps.step();
        }
        steps.report(workload, baseline);
    }
    Policy::end(workload);
}

/** One million messages of 64 bytes in a hash by id, two million pushed through. */
inline void hashMillion(const char *workload) {
    const uint64_t live = 1000000;
    resetPeak();
    size_t baseline = residentBytes();
    Policy::begin();
    {
        Policy::Map map(live);
        for (uint64_t i = 0; i < live; i++) {
            map.set(i, Policy::leaf(64));
            if (i % TICK == 0) {
                Policy::tick();
            }
        }
        Steps steps;
        for (uint64_t i = live, n = live + scaled(2e6); i < n; i++) {
            void *message = Policy::leaf(64);
            memset(message, (int) i, 64);
            map.set(i, message);
            Policy::dropLeaf(map.take(i - live));
            if (i % TICK == 0) {
                Policy::tick();
            }
            steps.step();
        }
        steps.report(workload, baseline);
    }
    Policy::end(workload);
}

/* Binary trees (the Computer Language Benchmarks Game) */

inline Policy::Tree *growTree(int depth) {
    return depth > 0 ? Policy::tree(growTree(depth - 1), growTree(depth - 1)) : Policy::tree(nullptr, nullptr);
}

inline size_t countTree(Policy::Tree *tree) {
    return tree->left ? 1 + countTree(tree->left) + countTree(tree->right) : 1;
}

inline size_t useTree(int depth) {
    auto tree = growTree(depth);
    size_t nodes = countTree(tree);
    Policy::fell(tree);
    Policy::tick();
    return nodes;
}

template <int threads>
void binaryTrees(const char *workload) {
    const int most = scale < 1 ? 16 : 18;
    resetPeak();
    size_t baseline = residentBytes();
    Policy::begin();
    {
        std::atomic<size_t> nodes{0};
        uint64_t wall = wallNanos(), cpu = cpuNanos();
        nodes += useTree(most + 1);
        Policy::RootedTree kept(growTree(most));
        std::atomic<int> next{0};
        // The depths, deepest first, are shared out a slice at a time.
        auto work = [&] {
            constexpr int slices = 8;
            for (int job; (job = next++) < ((most - 4) / 2 + 1) * slices;) {
                int depth = most - 2 * (job / slices);
                for (int i = 0; i < (1 << (most - depth + 4)) / slices; i++) {
                    nodes += useTree(depth);
                }
            }
        };
        if (threads == 1) {
            work();
        } else {
            Policy::withThreads(threads, work);
        }
        nodes += countTree(kept.get());
        print(workload, "wall", (double) (wallNanos() - wall) / 1e6);
        print(workload, "cpu", (double) (cpuNanos() - cpu) / 1e6);
        print(workload, "resident", (double) above(peakBytes(), baseline) / 1e6);
        print(workload, "nodes", (double) nodes);
        kept.fell();
    }
    Policy::end(workload);
}

/* GCBench: J. Ellis and P. Kovac, changed by H. Boehm: a stretch tree, a long-lived tree and array, short-lived trees top
   down and bottom up. */

inline void populate(int depth, Policy::Tree *node) {
    if (depth > 0) {
        node->setLeft(Policy::tree(nullptr, nullptr));
        node->setRight(Policy::tree(nullptr, nullptr));
        populate(depth - 1, node->left);
        populate(depth - 1, node->right);
    }
}

inline void gcBench(const char *workload) {
    const int stretch = 18, longLived = 16;
    resetPeak();
    size_t baseline = residentBytes();
    Policy::begin();
    {
        uint64_t wall = wallNanos(), cpu = cpuNanos();
        auto treeSize = [](int depth) { return (1 << (depth + 1)) - 1; };
        useTree(stretch);
        Policy::RootedTree kept(Policy::tree(nullptr, nullptr));
        populate(longLived, kept.get());
        auto array = static_cast<double *>(Policy::leaf(500000 * sizeof(double)));
        Policy::keepLeaf(array);
        for (int i = 1; i < 250000; i++) {
            array[i] = 1.0 / i;
        }
        for (int depth = 4; depth <= 16; depth += 2) {
            const int count = 2 * treeSize(stretch) / treeSize(depth);
            for (int i = 0; i < count; i++) {
                auto top = Policy::tree(nullptr, nullptr);
                populate(depth, top);
                Policy::fell(top);
                Policy::tick();
            }
            for (int i = 0; i < count; i++) {
                Policy::fell(growTree(depth));
                Policy::tick();
            }
        }
        if (array[1000] != 1.0 / 1000 || countTree(kept.get()) != (size_t) treeSize(longLived)) {
            fail("GCBench: wrong contents");
        }
        print(workload, "wall", (double) (wallNanos() - wall) / 1e6);
        print(workload, "cpu", (double) (cpuNanos() - cpu) / 1e6);
        print(workload, "resident", (double) above(peakBytes(), baseline) / 1e6);
        kept.fell();
        Policy::releaseLeaf(array);
    }
    Policy::end(workload);
}

enum class Survivors { ofOneSize, ofAllSizes };

/**
    A service: some threads; a request makes thirty blocks of 16 to 512 bytes that die, and one entry of 256 bytes that
    replaces another in a shared cache of 500,000; or the entry has such a size as the garbage has. What an entry is,
    Policy::entry says.
    requests: each second of wall time; p9999: us of a request.
 */
template <Survivors survivors, int threads>
void service(const char *workload) {
    const size_t cacheSize = 500000;
    const double seconds = 20 * scale;
    resetPeak();
    size_t baseline = residentBytes();
    Policy::begin();
    {
        Policy::References cache(cacheSize);
        const auto sizeOfEntry = [](Random &random) -> size_t {
            return survivors == Survivors::ofOneSize ? 256 : random.between(16, 512);
        };
        Random random(7);
        for (size_t i = 0; i < cacheSize; i++) {
            cache.exchange(i, Policy::entry(sizeOfEntry(random)));
            if (i % TICK == 0) {
                Policy::tick();
            }
        }
        std::atomic<uint64_t> requests{0};
        std::atomic<int> number{0};
        static std::vector<uint32_t> times[threads];
        const uint64_t began = wallNanos(), until = began + (uint64_t) (seconds * 1e9);
        const uint64_t cpu = cpuNanos();
        Policy::withThreads(threads, [&] {
            int self = number++;
            auto &mine = times[self];
            mine.reserve(40000000);
            Random random((uint64_t) self + 1);
            uint64_t done = 0, now = wallNanos();
            while (now < until) {
                void *blocks[30];
                for (void *&block : blocks) {
                    size_t size = random.between(16, 512);
                    block = Policy::leaf(size);
                    memset(block, (int) done, size);
                }
                const size_t size = sizeOfEntry(random);
                void *entry = Policy::entry(size);
                memset((char *) entry + sizeof(void *), (int) done, size - sizeof(void *));
                Policy::dropEntry(cache.exchange(random.below(cacheSize), entry));
                for (void *block : blocks) {
                    Policy::dropGarbage(block);
                }
                Policy::tick();
                done++;
                uint64_t after = wallNanos();
                mine.push_back((uint32_t) std::min<uint64_t>(after - now, ~0u));
                now = after;
            }
            requests += done;
        });
        double took = (double) (wallNanos() - began) / 1e9;
        print(workload, "requests", (double) requests / took);
        print(workload, "cpu_us", (double) (cpuNanos() - cpu) / 1e3 / (double) requests);
        size_t bookkeeping = 0;
        std::vector<uint32_t> all;
        for (auto &mine : times) {
            bookkeeping += mine.size() * sizeof(uint32_t);
        }
        print(workload, "resident", (double) above(peakBytes(), baseline + bookkeeping) / 1e6);
        for (auto &mine : times) {
            all.insert(all.end(), mine.begin(), mine.end());
        }
        auto at = all.begin() + (long) ((double) all.size() * 0.9999);
        std::nth_element(all.begin(), at, all.end());
        print(workload, "p9999", *at / 1e3);
        print(workload, "worst", *std::max_element(all.begin(), all.end()) / 1e3);
    }
    Policy::end(workload);
}

/** Blocks that are written in full and die; a yield after each 64. block: ns each. */
template <size_t least, size_t most>
void filled(const char *workload) {
    Policy::begin();
    Random random(5);
    const uint64_t rounds = scaled(most > 1000 ? 1e5 : 5e5);
    const uint64_t began = cpuNanos();
    for (uint64_t round = 0; round < rounds; round++) {
        void *blocks[64];
        for (void *&block : blocks) {
            const size_t size = least == most ? least : random.between(least, most);
            block = Policy::leaf(size);
            memset(block, (int) round, size);
        }
        for (void *block : blocks) {
            Policy::dropGarbage(block);
        }
        Policy::tick();
    }
    print(workload, "block", (double) (cpuNanos() - began) / (double) (rounds * 64));
    Policy::end(workload);
}

#endif /* GC_WORK_H */
