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
        if (batches) {
            MprBatchStats b;
            mprReadBatchStats(&b);
            printf(
                "# batches: taken back %llu, blocks %llu, MB %.0f, published %llu; kept: yield %llu plain %llu outside "
                "%llu full %llu hole %llu\n",
                b.takenBack, b.blocks, (double) b.bytes / 1e6, b.published, b.keptYield, b.keptPlain, b.keptOutside,
                b.keptFull, b.keptHole);
        }
        remark("pause", s.pause);
        remark("stall", s.stall);
        remark("rendezvous", s.rendezvous);
        remark("mark", s.mark);
        remark("sweep", s.sweep);
        if (!mprDestroy()) {
            bench::fail("mprDestroy failed");
        }
    }
    /* How the program is written: see run-gc. */
    static inline bool batches = false, barrier = false, plain = false, frees = false;
    static void choose(const char *way) {
        barrier = strcmp(way, "barrier") == 0;
        batches = barrier || strcmp(way, "batches") == 0;
        plain = strcmp(way, "plain") == 0;
        frees = strcmp(way, "free") == 0;
        if (!batches && !plain && !frees) {
            bench::fail("there are batches, barrier, plain and free");
        }
    }
    static void manageEntry(void *ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMarkRef(ptr);
        }
    }
    /* In C++ a leaf; in C an object with one reference, which is NULL. */
    static void *entry(size_t size) {
        void *block = barrier ? mprAllocManaged(size, manageEntry, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE)
                      : plain ? mprAllocManaged(size, manageEntry, MPR_ALLOC_MANAGER)
                              : mprAlloc(size);
        *(void **) block = nullptr;
        return block;
    }
    static void dropEntry(void *) {}
    static void dropGarbage(void *block) {
        if (frees) {
            mprFree(block);
        }
    }
    static void tick() { mprYield(batches ? MPR_YIELD_DISCARD : 0); }
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
        explicit References(size_t count) : slots(plain ? nullptr : mpr::Array<char>::make(count)) {
            if (plain) {
                row = static_cast<void **>(mprAllocManaged(count * sizeof(void *), manageRow, MPR_ALLOC_ZERO));
                mprAddRoot(row);
            }
        }
        ~References() {
            if (row) {
                mprRemoveRoot(row);
            }
        }
        void *exchange(size_t i, void *ref) {
            if (row) {
                return __atomic_exchange_n(&row[i], ref, __ATOMIC_ACQ_REL);
            }
            void *before = slots->get(i);
            slots->set(i, (char *) ref);
            return before;
        }
        char *get(size_t i) { return row ? (char *) row[i] : slots->get(i); }

    private:
        /* The one of a plain C program. */
        static void manageRow(void *ptr, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                mprMarkRefs(ptr, mprGetBlockSize(ptr) / sizeof(void *));
            }
        }
        mpr::Root<mpr::Array<char>> slots;
        void **row = nullptr;
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
