// SPDX-License-Identifier: MIT
/*
    gc_mpr.cpp - The collector's workloads with mpr's C++ API, and what only a collector has: pauses and the barrier.
 */
#include "bench.h"
#include "mpr.hpp"

#include <thread>
#include <vector>

#define GC_MPR 1

struct Policy {
    struct Message {
        mpr::Member<char> refs[8];
        char text[960 - 16];
        void trace(mpr::Marker &marker) { marker(refs); }
    };
    struct Tree {
        mpr::Member<Tree> left, right;
        int64_t value = 0;
        Tree(Tree *l, Tree *r) noexcept : left(l), right(r) {}
        void setLeft(Tree *tree) { left = tree; }
        void setRight(Tree *tree) { right = tree; }
        void trace(mpr::Marker &marker) { marker(left, right); }
    };

    static void begin() {
        if (!mprCreate(0, nullptr, 0)) {
            bench::fail("mprCreate failed");
        }
    }
    static void remark(const char *name, const MprTimes &times) {
        printf("# %s: %llu, us p50 %.0f p99 %.0f max %.0f, ms in all %.0f\n", name, (unsigned long long) times.count,
               (double) times.p50 / 1e3, (double) times.p99 / 1e3, (double) times.max / 1e3,
               (double) times.total / 1e6);
    }
    static void end(const char *) {
        MprMemStats s;
        mprReadMemStats(&s);
        printf("# collections: minor %llu major %llu, peak %.1f MB, mark overflows %llu\n",
               (unsigned long long) s.collectionsMinor, (unsigned long long) s.collectionsMajor,
               (double) s.heapPeak / 1e6, (unsigned long long) s.markOverflows);
        printf("# blocks: made %llu, left %llu, bytes left %llu\n", (unsigned long long) s.blocksAllocated,
               (unsigned long long) (s.blocksAllocated - s.blocksFreed), (unsigned long long) s.bytesLive);
        remark("pause", s.pause);
        remark("stall", s.stall);
        remark("rendezvous", s.rendezvous);
        remark("mark", s.mark);
        remark("sweep", s.sweep);
        if (!mprDestroy()) {
            bench::fail("mprDestroy failed");
        }
    }
    static void tick() { mprYield(0); }
    static void *leaf(size_t size) { return mprAlloc(size); }
    static void dropLeaf(void *) {}
    static void keepLeaf(void *block) { mprHold(block); }
    static void releaseLeaf(void *block) { mprRelease(block); }
    static Message *message() { return mpr::make<Message>(); }
    static void dropMessage(void *) {}
    static Tree *tree(Tree *left, Tree *right) { return mpr::make<Tree>(left, right); }
    static void fell(Tree *) {}

    class RootedTree {
    public:
        explicit RootedTree(Tree *tree) : root(tree) {}
        Tree *get() { return root; }
        void fell() {}

    private:
        mpr::Root<Tree> root;
    };

    class References {
    public:
        explicit References(size_t count) : slots(mpr::Array<char>::make(count)) {}
        void *exchange(size_t i, void *ref) {
            void *before = slots->get(i);
            slots->set(i, (char *) ref);
            return before;
        }
        char *get(size_t i) { return slots->get(i); }

    private:
        mpr::Root<mpr::Array<char>> slots;
    };

    class Map {
    public:
        explicit Map(size_t count) : map(mpr::make<mpr::HashMap<uint64_t, char>>()) {
            if (!map->reserve(count)) {
                bench::fail("no memory for the map");
            }
        }
        void set(uint64_t id, void *message) {
            if (!map->set(id, (char *) message)) {
                bench::fail("no memory for the map");
            }
        }
        void *take(uint64_t id) {
            map->remove(id);
            return nullptr;
        }

    private:
        mpr::Root<mpr::HashMap<uint64_t, char>> map;
    };

    template <class Body>
    static void withThreads(int count, Body body) {
        std::vector<std::thread> threads;
        for (int i = 0; i < count; i++) {
            threads.emplace_back([&] {
                mprAttachThread("bench");
                body();
                mprDetachThread();
            });
        }
        mprYield(MPR_YIELD_STICKY);
        for (auto &thread : threads) {
            thread.join();
        }
        mprResetYield();
    }
};

#include "gc_main.h"
