/* SPDX-License-Identifier: MIT */
/*
    gc_pause.h - What only a collector has: pauses over many live nodes while a thread writes, the share of time that is
    left to it, and what the barrier costs. And what the machine takes away from all alike.
 */
#ifndef GC_PAUSE_H
#define GC_PAUSE_H

#include "gc_work.h"

struct PauseNode {
    PauseNode *left, *right;
    uint64_t value;
};

inline void managePlain(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((PauseNode *) ptr)->left);
        mprMark(((PauseNode *) ptr)->right);
    }
}

inline void manageBarrier(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&((PauseNode *) ptr)->left);
        mprMarkRef(&((PauseNode *) ptr)->right);
    }
}

/**
    `count` live nodes that reference each other at random (shuffled): half of them in a row, each with one more that
    hangs on it alone. A thread replaces those of random nodes by new ones and yields, for four seconds; so as many stay
    alive.
    worst: us of the longest step by the clock. mmu10: percent of the worst 10 ms left to the thread.
 */
template <bool barrier>
void pauses(const char *workload, size_t count) {
    Policy::begin();
    {
        const size_t rows = count / 2;
        mpr::Root<mpr::Array<PauseNode>> nodes = mpr::Array<PauseNode>::make(rows);
        auto make = [](uint64_t value) {
            auto node =
                (PauseNode *) mprAllocManaged(sizeof(PauseNode), barrier ? manageBarrier : managePlain,
                                              MPR_ALLOC_ZERO | (barrier ? MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE : 0));
            node->value = value;
            return node;
        };
        Random random(3);
        std::vector<uint32_t> order(rows);
        for (size_t i = 0; i < rows; i++) {
            order[i] = (uint32_t) i;
        }
        for (size_t i = rows; i-- > 1;) {
            std::swap(order[i], order[random.below(i + 1)]);
        }
        for (size_t i = 0; i < rows; i++) {
            nodes->set(order[i], make(i));
            if (i % TICK == 0) {
                Policy::tick();
            }
        }
        auto replace = [&](PauseNode *owner, uint64_t value) {
            auto fresh = make(value);
            mprSetRef(fresh, &fresh->left, nodes->get(random.below(rows)));
            mprSetRef(fresh, &fresh->right, nodes->get(random.below(rows)));
            mprSetRef(owner, &owner->left, fresh);
        };
        for (size_t i = 0; i < rows; i++) {
            auto node = nodes->get(i);
            mprSetRef(node, &node->right, nodes->get(random.below(rows)));
            replace(node, i);
            if (i % TICK == 0) {
                Policy::tick();
            }
        }
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        std::vector<std::pair<uint64_t, uint64_t>> lost; // when a step ended, how long it took
        lost.reserve(1000000);
        const uint64_t majors = mprGetMemStats()->collectionsMajor;
        const uint64_t until = wallNanos() + (uint64_t) (4e9 * scale);
        uint64_t last = wallNanos(), worst = 0;
        for (uint64_t i = 0; last < until; i++) {
            replace(nodes->get(random.below(rows)), i);
            mprAlloc(200);
            mprYield(0);
            uint64_t now = wallNanos();
            if (now - last > 20000 && lost.size() < 1000000) {
                lost.emplace_back(now, now - last);
            }
            worst = std::max(worst, now - last);
            last = now;
        }
        print(workload, "majors", (double) (mprGetMemStats()->collectionsMajor - majors));
        print(workload, "worst", (double) worst / 1e3);
        print(workload, "pause_p99", (double) mprGetMemStats()->pause.p99 / 1e3);
        uint64_t most = 0, sum = 0;
        for (size_t from = 0, to = 0; to < lost.size(); to++) {
            sum += lost[to].second;
            while (lost[to].first - lost[from].first > 10000000) {
                sum -= lost[from++].second;
            }
            most = std::max(most, std::min<uint64_t>(sum, 10000000));
        }
        print(workload, "mmu10", 100.0 - (double) most / 1e5);
    }
    Policy::end(workload);
}

/**
    `bytes` of living barrier blocks of 32 to 128 bytes: nodes in a row, each with one more that hangs on it alone. A
    thread replaces random ones by new ones of other sizes, and yields now and then, for four seconds. So each block lives
    as long as chance has it, and most that are young in a collection survive it.
    resident: MB at the peak; replaced: ns of CPU each; worst: us of the longest step.
 */
inline void living(const char *workload, size_t bytes) {
    const size_t most = 128, least = 32, count = bytes / (most + least);
    resetPeak();
    const size_t baseline = residentBytes();
    Policy::begin();
    {
        mpr::Root<mpr::Array<PauseNode>> nodes = mpr::Array<PauseNode>::make(count);
        Random random(11);
        auto make = [&](PauseNode *left) {
            const size_t size = random.between(least, most) - sizeof(MprManager);
            auto node = (PauseNode *) mprAllocManaged(size, manageBarrier, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE);
            memset((void *) node, 0, size);
            mprSetRef(node, &node->left, left);
            return node;
        };
        auto replace = [&](size_t i, bool whole) {
            if (whole) {
                nodes->set(i, make(make(nullptr)));
            } else {
                PauseNode *owner = nodes->get(i);
                mprSetRef(owner, &owner->left, make(nullptr));
            }
        };
        for (size_t i = 0; i < count; i++) {
            replace(i, true);
            if (i % TICK == 0) {
                Policy::tick();
            }
        }
        const uint64_t cpu = cpuNanos(), until = wallNanos() + (uint64_t) (4e9 * scale);
        Steps steps;
        uint64_t done = 0;
        do {
            for (size_t i = 0; i < TICK; i++) {
                replace(random.below(count), i % 2 == 0);
            }
            done += TICK;
            Policy::tick();
        } while (steps.step() < until);
        print(workload, "replaced", (double) (cpuNanos() - cpu) / (double) done);
        print(workload, "worst", (double) steps.longest() / 1e3);
        print(workload, "resident", (double) above(peakBytes(), baseline) / 1e6);
    }
    Policy::end(workload);
}

/**
    `bytes` of living plain blocks of some 256 bytes, as a C program has them that knows of no barrier. A thread makes
    thirty blocks that die and one that replaces another, and yields.
    yields: percent of the time that it spends there; worst: us of the longest step.
 */
inline void plainShare(const char *workload, size_t bytes) {
    const size_t count = bytes / 256;
    resetPeak();
    const size_t baseline = residentBytes();
    Policy::choose("plain");
    Policy::begin();
    {
        Policy::References cache(count);
        Random random(13);
        for (size_t i = 0; i < count; i++) {
            cache.exchange(i, Policy::entry(random.between(16, 480)));
            if (i % TICK == 0) {
                Policy::tick();
            }
        }
        uint64_t yielding = 0, requests = 0;
        const uint64_t began = wallNanos(), cpu = cpuNanos(), until = began + (uint64_t) (8e9 * scale);
        Steps steps;
        for (uint64_t now = began; now < until; requests++) {
            for (int i = 0; i < 30; i++) {
                const size_t size = random.between(16, 512);
                memset(Policy::leaf(size), (int) requests, size);
            }
            cache.exchange(random.below(count), Policy::entry(random.between(16, 480)));
            const uint64_t before = wallNanos();
            Policy::tick();
            now = steps.step();
            yielding += now - before;
        }
        print(workload, "yields", 100 * (double) yielding / (double) (wallNanos() - began));
        print(workload, "cpu_us", (double) (cpuNanos() - cpu) / 1e3 / (double) requests);
        print(workload, "worst", (double) steps.longest() / 1e3);
        print(workload, "resident", (double) above(peakBytes(), baseline) / 1e6);
    }
    Policy::end(workload);
}

/**
    Two threads that do nothing but read the clock, as many as a thread and its collector, for two seconds: what the machine
    takes away by itself, and no program can win back.
    worst: us of the longest time between two looks at the clock.
 */
inline void machineNoise(const char *workload) {
    uint64_t worst[2];
    auto look = [&](int i) {
        const uint64_t until = wallNanos() + (uint64_t) (2e9 * scale);
        Steps steps;
        while (steps.step() < until) {}
        worst[i] = steps.longest();
    };
    std::thread other(look, 1);
    look(0);
    other.join();
    print(workload, "worst", (double) std::max(worst[0], worst[1]) / 1e3);
}

/**
    A loop of stores to random fields of old objects, 256 KiB of them, taken in order or at random.
    plain, barrier: ns each; ratio: of the two.
 */
inline void barrierCost(const char *workload) {
    Policy::begin();
    {
        const size_t count = 256 * 1024 / 64;
        struct Object {
            void *fields[7];
        };
        auto manage = [](void *ptr, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                mprMarkRefs(ptr, 7);
            }
        };
        mpr::Root<mpr::Array<Object>> objects = mpr::Array<Object>::make(count);
        std::vector<Object *> row(count);
        for (size_t i = 0; i < count; i++) {
            row[i] = (Object *) mprAllocManaged(sizeof(Object), manage,
                                                MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE);
            objects->set(i, row[i]);
        }
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        const uint64_t stores = scaled(5e7);
        for (bool shuffled : {false, true}) {
            double best[2] = {1e9, 1e9};
            for (int round = 0; round < 10; round++) {
                uint32_t x = 12345;
                uint64_t start = cpuNanos();
                for (uint64_t i = 0; i < stores / 10; i++) {
                    x = x * 1664525u + 1013904223u;
                    Object *object = row[(shuffled ? x >> 8 : i) & (count - 1)];
                    void **field = object->fields + (x >> 30);
                    if (round % 2) {
                        mprSetRef(object, field, object);
                    } else {
                        __atomic_store_n(field, object, __ATOMIC_RELEASE);
                    }
                }
                best[round % 2] = std::min(best[round % 2], (double) (cpuNanos() - start) / (double) (stores / 10));
            }
            print(workload, shuffled ? "plain_random" : "plain", best[0]);
            print(workload, shuffled ? "barrier_random" : "barrier", best[1]);
            print(workload, shuffled ? "ratio_random" : "ratio", best[1] / best[0]);
        }
    }
    Policy::end(workload);
}

#endif /* GC_PAUSE_H */
