/* SPDX-License-Identifier: MIT */
/*
    work.h - The workloads, written once over the policy `Alloc` and compiled once for each kind of allocator.

    Usage: work_X <workload> [scale], scale being a share of the full number of operations (1).
    One run of the program measures one workload, because allocators are a matter of the whole process.

    Every block's first word is written. Tick comes every 64 operations. The figures are explained at each workload;
    the bars stand in `run`.
 */
#ifndef WORK_H
#define WORK_H

#include "bench.h"

using namespace bench;

static double scale = 1;

static uint64_t scaled(double count) {
    uint64_t n = (uint64_t) (count * scale);
    return n < 64 ? 64 : n / 64 * 64;
}

static const uint64_t TICK = 64;
static const size_t MIB = 1 << 20;

/** A block with two references and a value; and one with two references only. */
struct Node {
    Node *a, *b;
    int64_t value;
};
struct Pair {
    Pair *a, *b;
};

/* Sizes, 64 Ki of them, drawn before anything is measured. */

static const size_t SIZES = 65536;
static uint16_t *sizes;

static void drawSizes(uint64_t seed, size_t low, size_t high) {
    Random random(seed);
    sizes = sideTable<uint16_t>(SIZES);
    for (size_t i = 0; i < SIZES; i++) {
        sizes[i] = (uint16_t) random.between(low, high);
    }
}

/**
    CPU time of the process when all its threads have come to rest, a collection that is under way included: the system
    adds the time of a thread that runs on another core only now and then.
 */
static uint64_t settledCpuNanos() {
    Alloc::block();
    usleep(3000);
    Alloc::unblock();
    return cpuNanos();
}

#ifdef POLICY_MPR_H
/** Remarks on what the collector did; figures that only mpr has. */
static void printCollector(const char *workload) {
    MprMemStats stats;
    mprReadMemStats(&stats);
    printf(
        "# %s: collections %llu (minor %llu, major %llu) budget %.2f MB heapPeak %.2f MB; us p50/p99/max: "
        "pause %.0f/%.0f/%.0f stall %.0f/%.0f/%.0f rendezvous %.0f/%.0f/%.0f mark %.0f/%.0f/%.0f sweep %.0f/%.0f/%.0f;"
        " overflows %llu misuses %llu\n",
        workload, (unsigned long long) stats.collections, (unsigned long long) stats.collectionsMinor,
        (unsigned long long) stats.collectionsMajor, (double) stats.youngBudget / 1e6, (double) stats.heapPeak / 1e6,
        (double) stats.pause.p50 / 1e3, (double) stats.pause.p99 / 1e3, (double) stats.pause.max / 1e3,
        (double) stats.stall.p50 / 1e3, (double) stats.stall.p99 / 1e3, (double) stats.stall.max / 1e3,
        (double) stats.rendezvous.p50 / 1e3, (double) stats.rendezvous.p99 / 1e3, (double) stats.rendezvous.max / 1e3,
        (double) stats.mark.p50 / 1e3, (double) stats.mark.p99 / 1e3, (double) stats.mark.max / 1e3,
        (double) stats.sweep.p50 / 1e3, (double) stats.sweep.p99 / 1e3, (double) stats.sweep.max / 1e3,
        (unsigned long long) stats.markOverflows, (unsigned long long) stats.misuses);
}
#else
static void printCollector(const char *) {}
#endif

/* 1. Allocation without survivors */

/** The loop of all three: allocate, write, give up. Fixed size unless MIXED. */
template <bool MIXED>
static void allocateAndForget(uint64_t ops, size_t start) {
    size_t at = start;
    for (uint64_t i = 0; i < ops; i += TICK) {
        for (uint64_t j = 0; j < TICK; j++) {
            uint64_t *block = (uint64_t *) Alloc::alloc(MIXED ? sizes[at++ % SIZES] : 64);
            *block = i;
            hide(block);
            Alloc::drop(block);
        }
        Alloc::tick();
    }
}

struct Runner {
    pthread_t thread;
    pthread_barrier_t *barrier;
    uint64_t ops, start, end;
    size_t from;
    bool mixed;
};

static void run(Runner *r) {
    r->start = wallNanos();
    if (r->mixed) {
        allocateAndForget<true>(r->ops, r->from);
    } else {
        allocateAndForget<false>(r->ops, r->from);
    }
    r->end = wallNanos();
}

static void *runInThread(void *data) {
    Runner *r = (Runner *) data;
    Alloc::attach();
    Alloc::block();
    pthread_barrier_wait(r->barrier);
    Alloc::unblock();
    run(r);
    Alloc::detach();
    return nullptr;
}

/**
    cpu, wall: nanoseconds per operation and thread (wall from the first start to the last end).
    resident: peak resident bytes over what was resident before the loop; resident_budgets: the same in young budgets.
 */
static void forget(const char *workload, bool mixed, int threads, double count) {
    uint64_t ops = scaled(count);
    drawSizes(1, 16, 4096);
    Alloc::begin(nullptr);
    Runner runners[8] = {};
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, (unsigned) threads);
    for (int i = 0; i < threads; i++) {
        runners[i] = {{}, &barrier, ops, 0, 0, (size_t) i * 7919, mixed};
    }
    resetPeak();
    size_t baseline = residentBytes();
    uint64_t cpu = settledCpuNanos();
    if (threads == 1) {
        run(&runners[0]);
    } else {
        for (int i = 0; i < threads; i++) {
            if (pthread_create(&runners[i].thread, nullptr, runInThread, &runners[i]) != 0) {
                fail("no thread");
            }
        }
        Alloc::block();
        for (int i = 0; i < threads; i++) {
            pthread_join(runners[i].thread, nullptr);
        }
        Alloc::unblock();
    }
    cpu = settledCpuNanos() - cpu;
    uint64_t start = runners[0].start, end = runners[0].end;
    for (int i = 1; i < threads; i++) {
        start = runners[i].start < start ? runners[i].start : start;
        end = runners[i].end > end ? runners[i].end : end;
    }
    size_t peak = above(peakBytes(), baseline);
    print(workload, "cpu", (double) cpu / (double) (ops * (uint64_t) threads));
    print(workload, "wall", (double) (end - start) / (double) ops);
    print(workload, "resident", (double) peak / 1e6);
#ifdef POLICY_MPR_H
    print(workload, "resident_budgets", (double) peak / (double) mprGetMemStats()->youngBudget);
#endif
    printCollector(workload);
    Alloc::end();
}

static void alloc64(const char *workload) {
    forget(workload, false, 1, 16e6);
}
static void mixed(const char *workload) {
    forget(workload, true, 1, 8e6);
}
static void mixed2(const char *workload) {
    forget(workload, true, 2, 8e6);
}

/* 2. Pauses: 100k live nodes, shuffled in memory */

enum Shape { ARRAY, TREE, LIST };

static const size_t NODES = 100000;

static void shuffle(void **items, size_t count, uint64_t seed) {
    Random random(seed);
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = random.below(i + 1);
        void *item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

/** Build without yielding; a collector that needs no yield finds the nodes through the table. @return The root. */
static void **buildNodes(Shape shape, size_t count) {
    Random random(2);
    void **items = Alloc::allocTable(count);
    for (size_t i = 0; i < count; i++) {
        Node *node = Alloc::allocNode<Node>();
        node->a = node->b = nullptr;
        node->value = (int64_t) i;
        items[i] = node;
    }
    shuffle(items, count, 3);
    for (size_t i = 0; i < count; i++) {
        Node *node = (Node *) items[i];
        if (shape == ARRAY) {
            node->a = (Node *) items[random.below(count)];
            node->b = (Node *) items[random.below(count)];
        } else if (shape == TREE) {
            node->a = 2 * i + 1 < count ? (Node *) items[2 * i + 1] : nullptr;
            node->b = 2 * i + 2 < count ? (Node *) items[2 * i + 2] : nullptr;
        } else {
            node->a = i + 1 < count ? (Node *) items[i + 1] : nullptr;
        }
    }
    if (shape == ARRAY) {
        return items;
    }
    void **root = Alloc::allocTable(1);
    root[0] = items[0];
    Alloc::dropTable(items, count);
    return root;
}

/** A little garbage, so that a collection has something young to look at. */
static void litter() {
    for (int i = 0; i < 256; i++) {
        void *block = Alloc::alloc(64);
        *(int64_t *) block = i;
        hide(block);
        Alloc::drop(block);
    }
}

/**
    mark: all threads stopped, as the runtime says, over 50 forced collections. gc: the caller's time in a forced
    collection. yield: the longest yield of a thread that runs on while somebody else's collection happens. All
    microseconds; _med and _max. cpu: mean CPU time of a collection, sweep included, which other programs disturb least.
 */
static void pause(const char *workload, Shape shape) {
    const int rounds = 50;
    Values marks, calls, yields;
    Alloc::begin(nullptr);
    void **root = buildNodes(shape, NODES);
    for (int i = 0; i < 3; i++) {
        Alloc::collect();
    }
    uint64_t cpu = settledCpuNanos();
    for (int i = 0; i < rounds; i++) {
        litter();
#ifdef POLICY_MPR_H
        MprMemStats before, after;
        mprReadMemStats(&before);
        uint64_t start = wallNanos();
        mprGC(MPR_GC_FORCE);
        uint64_t end = wallNanos();
        do {
            mprYield(MPR_YIELD_COMPLETE);
            mprReadMemStats(&after);
        } while (after.collections == before.collections);
        if (after.mark.count == before.mark.count) {
            fail("a forced collection did not mark");
        }
        marks.add((double) (after.mark.total - before.mark.total) / (double) (after.mark.count - before.mark.count) /
                  1e3);
#else
        uint64_t start = wallNanos();
        Alloc::collect();
        uint64_t end = wallNanos();
#endif
        calls.add((double) (end - start) / 1e3);
    }
    print(workload, "cpu", (double) (settledCpuNanos() - cpu) / 1e3 / rounds);
#ifdef POLICY_MPR_H
    for (int i = 0; i < rounds; i++) {
        litter();
        uint64_t collections = mprGetMemStats()->collections, longest = 0;
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        while (mprGetMemStats()->collections == collections) {
            uint64_t start = wallNanos();
            mprYield(0);
            uint64_t took = wallNanos() - start;
            longest = took > longest ? took : longest;
        }
        yields.add((double) longest / 1e3);
    }
    print(workload, "mark_med", marks.median());
    print(workload, "mark_max", marks.max());
    print(workload, "yield_med", yields.median());
    print(workload, "yield_max", yields.max());
#endif
    print(workload, "gc_med", calls.median());
    print(workload, "gc_max", calls.max());
    hide(root);
    printCollector(workload);
    Alloc::end();
}

static void pauseArray(const char *workload) {
    pause(workload, ARRAY);
}
static void pauseTree(const char *workload) {
    pause(workload, TREE);
}
static void pauseList(const char *workload) {
    pause(workload, LIST);
}

/* 3. A million small blocks */

/**
    rss_block: resident bytes a block, everything that the runtime took since before it was made included, the rooted
    table excepted. heap_block: the same from the allocator's own figure, all that is committed.
    kept_rss, kept_heap: megabytes left when all are dropped and collected; kept_trim: when the allocator is also asked
    to give back.
 */
static void million(const char *workload) {
    const size_t count = 1000000;
    void **addresses = sideTable<void *>(count);
    size_t baseline = residentBytes();
    Alloc::begin(nullptr);
    void **table = nullptr;
    size_t tableBytes = 0;
    if (Alloc::collects) {
        table = Alloc::allocTable(count);
        memset((void *) table, 0, count * sizeof(void *));
        tableBytes = count * sizeof(void *);
#ifdef POLICY_MPR_H
        tableBytes = mprGetBlockSize((char *) table - offsetof(Table, item));
#endif
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t *block = (uint64_t *) Alloc::alloc(32);
        memset(block, 1, 32);
        *block = i;
        addresses[i] = block;
        if (table) {
            table[i] = block;
        }
        if (i % TICK == 0) {
            Alloc::tick();
        }
    }
    double blocks = (double) count;
    print(workload, "rss_block", (double) above(residentBytes(), baseline + tableBytes) / blocks);
    if (Alloc::heapBytes()) {
        print(workload, "heap_block", (double) above(Alloc::heapBytes(), tableBytes) / blocks);
    }
    Alloc::collect();
    print(workload, "rss_block_gc", (double) above(residentBytes(), baseline + tableBytes) / blocks);
    for (size_t i = 0; i < count; i++) {
        if (*(uint64_t *) addresses[i] != i) {
            fail("a live block was damaged");
        }
    }
    if (table) {
        memset((void *) table, 0, count * sizeof(void *));
        Alloc::dropTable(table, count);
    } else {
        for (size_t i = 0; i < count; i++) {
            Alloc::drop(addresses[i]);
        }
        Alloc::tick();
    }
    Alloc::collect();
    print(workload, "kept_rss", (double) above(residentBytes(), baseline) / 1e6);
    if (Alloc::heapBytes()) {
        print(workload, "kept_heap", (double) Alloc::heapBytes() / 1e6);
    }
    Alloc::trim();
    print(workload, "kept_trim", (double) above(residentBytes(), baseline) / 1e6);
    printCollector(workload);
    Alloc::end();
}

/* 4. A list of ten million nodes */

/**
    nodes: how many are there after a collection by a collector with a stack of 64 KiB; 0 when one is wrong.
    mark: milliseconds. What is freed by mistake would be overwritten before the nodes are counted.
 */
static void longList(const char *workload) {
    const size_t count = 10000000;
    Alloc::begin("stack=64k");
    void **root = Alloc::allocTable(1);
#ifdef POLICY_MPR_H
    mprEnableGC(false);
#endif
    for (size_t i = 0; i < count; i++) {
        Node *node = Alloc::allocNode<Node>();
        node->a = (Node *) root[0];
        node->b = nullptr;
        node->value = (int64_t) i;
        root[0] = node;
        if (i % TICK == 0) {
            Alloc::tick();
        }
    }
    uint64_t start = wallNanos();
    Alloc::collect();
    double took = (double) (wallNanos() - start) / 1e6;
#ifdef POLICY_MPR_H
    took = (double) mprGetMemStats()->mark.max / 1e6;
#endif
    for (int i = 0; i < 100000; i++) {
        memset(Alloc::alloc(24), 0xff, 24);
    }
    size_t seen = 0;
    int64_t expected = (int64_t) count - 1;
    for (Node *node = (Node *) root[0]; node; node = node->a) {
        if (node->value != expected--) {
            seen = 0;
            break;
        }
        seen++;
    }
    print(workload, "nodes", (double) seen);
    print(workload, "mark", took);
    printCollector(workload);
    Alloc::end();
}

/* 5. The test of an inner loop */

#ifdef POLICY_MPR_H
__attribute__((noinline)) static bool callNothing() {
    asm volatile("");
    return false;
}

/** Nanoseconds of a loop that calls `test` until it has been false so many times. */
template <bool (*TEST)()>
static double timeTest(uint64_t ops) {
    uint64_t seen = 0, start = cpuNanos();
    for (uint64_t i = 0; i < ops; i++) {
        if (TEST()) {
            seen++;
            mprYield(0);
        }
    }
    uint64_t end = cpuNanos();
    hide((void *) seen);
    return (double) (end - start) / (double) ops;
}

static bool needs() {
    return mprNeedYield();
}

/** cpu: nanoseconds for one mprNeedYield in a loop that does nothing else. call: for a function that does nothing. */
static void needYield(const char *workload) {
    uint64_t ops = scaled(1e8);
    Alloc::begin(nullptr);
    timeTest<needs>(ops / 8);
    print(workload, "cpu", timeTest<needs>(ops));
    print(workload, "call", timeTest<callNothing>(ops));
    Alloc::end();
}
#endif

/* 6. Churn: 100k live blocks of 16 to 4096 bytes, each replaced at random */

/**
    med, p9999, max: nanoseconds of single replacements (give up, allocate, write, and the tick when it is due), pages
    warm, the clock's floor included; floor: that floor. cpu: of the same without a clock, per replacement.
 */
static void churn(const char *workload) {
    const size_t live = 100000;
    uint64_t ops = scaled(1.3e6) + 200000;
    drawSizes(4, 16, 4096);
    Durations durations, floor;
    double unit = tickNanos();
    Alloc::begin(nullptr);
    void **slots = Alloc::allocTable(live);
    Random random(5);
    size_t at = 0;
    for (size_t i = 0; i < live; i++) {
        size_t size = sizes[at++ % SIZES];
        slots[i] = Alloc::alloc(size);
        memset(slots[i], 1, size);
        if (i % TICK == 0) {
            Alloc::tick();
        }
    }
    auto replace = [&](uint64_t i) {
        void **slot = &slots[random.below(live)];
        Alloc::drop(*slot);
        uint64_t *block = (uint64_t *) Alloc::alloc(sizes[at++ % SIZES]);
        *block = i;
        *slot = block;
        if (i % TICK == 0) {
            Alloc::tick();
        }
    };
    for (uint64_t i = 0; i < 2 * live; i++) {
        replace(i);
    }
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t start = ticks();
        replace(i);
        durations.add(ticks() - start);
    }
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t start = ticks();
        floor.add(ticks() - start);
    }
    uint64_t cpu = settledCpuNanos();
    for (uint64_t i = 0; i < ops / 2; i++) {
        replace(i);
    }
    cpu = settledCpuNanos() - cpu;
    print(workload, "med", durations.quantile(0.5) * unit);
    print(workload, "p9999", durations.quantile(0.9999) * unit);
    print(workload, "max", durations.longest * unit);
    print(workload, "floor", floor.quantile(0.5) * unit);
    print(workload, "cpu", (double) cpu / (double) (ops / 2));
    printCollector(workload);
    Alloc::end();
}

/* 7. Fragmentation: peak resident over peak live bytes */

/** Blocks in a table with their sizes beside it, any of which can be dropped. */
struct Population {
    size_t limit, count = 0, bytes = 0, peakBytes = 0;
    uint64_t ops = 0;
    void **slots;
    uint32_t *size;
    Random random{6};

    explicit Population(size_t most) : limit(most) { size = sideTable<uint32_t>(most); }

    void add(size_t want) {
        if (count == limit) {
            fail("population too small");
        }
        void *block = Alloc::alloc(want);
        memset(block, 1, want);
        slots[count] = block;
        size[count++] = (uint32_t) want;
        bytes += want;
        peakBytes = bytes > peakBytes ? bytes : peakBytes;
        tick();
    }
    void dropAny() {
        size_t i = random.below(count);
        Alloc::drop(slots[i]);
        bytes -= size[i];
        slots[i] = slots[--count];
        size[i] = size[count];
        slots[count] = nullptr;
        tick();
    }
    void tick() {
        if (++ops % TICK == 0) {
            Alloc::tick();
        }
    }
};

/** peak: peak resident bytes (the table excepted) over peak live bytes. cpu: nanoseconds per operation. */
template <typename Body>
static void fragment(const char *workload, size_t limit, Body body) {
    Population p(limit);
    resetPeak();
    size_t baseline = residentBytes();
    Alloc::begin(nullptr);
    p.slots = Alloc::allocTable(limit);
    memset((void *) p.slots, 0, limit * sizeof(void *));
    uint64_t cpu = cpuNanos();
    body(p);
    cpu = settledCpuNanos() - cpu;
    print(workload, "peak", (double) above(peakBytes(), baseline + limit * sizeof(void *)) / (double) p.peakBytes);
    print(workload, "cpu", (double) cpu / (double) p.ops);
    printCollector(workload);
    Alloc::end();
}

/** Exponential lifetimes: every block is as likely to die as any other, sizes 16 to 4096. */
static void decay(const char *workload) {
    fragment(workload, 100000, [](Population &p) {
        for (uint64_t i = 0, n = scaled(800000) + 200000; i < n; i++) {
            while (p.bytes > 64 * MIB) {
                p.dropAny();
            }
            p.add(p.random.between(16, 4096));
        }
    });
}

/** Nine of ten blocks have 16 to 128 bytes, the tenth 2 to 16 KiB. */
static void bimodal(const char *workload) {
    fragment(workload, 200000, [](Population &p) {
        for (uint64_t i = 0, n = scaled(800000) + 200000; i < n; i++) {
            while (p.bytes > 64 * MIB) {
                p.dropAny();
            }
            p.add(p.random.below(10) ? p.random.between(16, 128) : p.random.between(2048, 16384));
        }
    });
}

/** Sizes shift: eight phases, each of twice the size of the one before; one block in twenty survives a phase. */
static void phases(const char *workload) {
    fragment(workload, 2500000, [](Population &p) {
        for (size_t size = 32; size <= 4096; size *= 2) {
            size_t keep = p.count / 20;
            while (p.count > keep) {
                p.dropAny();
            }
            while (p.bytes < 48 * MIB) {
                p.add(p.random.between(size - size / 4, size + size / 4));
            }
        }
    });
}

/* 8. Memory returned: 90 % of 200 MB given up in random order */

/** live: megabytes still in use; left: resident after the last one; trimmed: resident after asking to give back. */
static void release90(const char *workload) {
    size_t limit = 110000;
    Population p(limit);
    size_t baseline = residentBytes();
    Alloc::begin(nullptr);
    p.slots = Alloc::allocTable(limit);
    memset((void *) p.slots, 0, limit * sizeof(void *));
    baseline += limit * sizeof(void *);
    while (p.bytes < 200000000) {
        p.add(p.random.between(16, 4096));
    }
    print(workload, "full", (double) above(residentBytes(), baseline) / 1e6);
    while (p.bytes > 20000000) {
        p.dropAny();
    }
    print(workload, "live", (double) p.bytes / 1e6);
    print(workload, "left", (double) above(residentBytes(), baseline) / 1e6);
    Alloc::trim();
    print(workload, "trimmed", (double) above(residentBytes(), baseline) / 1e6);
    printCollector(workload);
    Alloc::end();
}

/* 9. Binary trees (the Computer Language Benchmarks Game), depth 16 */

static Pair *growTree(int depth) {
    Pair *tree = Alloc::allocNode<Pair>();
    if (depth > 0) {
        tree->a = growTree(depth - 1);
        tree->b = growTree(depth - 1);
    } else {
        tree->a = tree->b = nullptr;
    }
    return tree;
}

static size_t checkTree(Pair *tree) {
    return tree->a ? 1 + checkTree(tree->a) + checkTree(tree->b) : 1;
}

static void fellTree(Pair *tree) {
    if (!Alloc::collects) {
        if (tree->a) {
            fellTree(tree->a);
            fellTree(tree->b);
        }
        Alloc::dropNode(tree);
    }
}

static size_t useTree(int depth) {
    Pair *tree = growTree(depth);
    size_t nodes = checkTree(tree);
    fellTree(tree);
    Alloc::tick();
    return nodes;
}

/** wall, cpu: milliseconds in all. resident: peak megabytes. Yields between trees, never while one grows. */
static void trees(const char *workload) {
    const int least = 4;
    const int most = 16;
    resetPeak();
    size_t baseline = residentBytes();
    Alloc::begin(nullptr);
    uint64_t wall = wallNanos(), cpu = cpuNanos();
    size_t nodes = useTree(most + 1);
    void **root = Alloc::allocTable(1);
    root[0] = growTree(most);
    for (int depth = least; depth <= most; depth += 2) {
        for (int i = 0; i < 1 << (most - depth + least); i++) {
            nodes += useTree(depth);
        }
    }
    nodes += checkTree((Pair *) root[0]);
    wall = wallNanos() - wall;
    cpu = settledCpuNanos() - cpu;
    hide((void *) nodes);
    print(workload, "wall", (double) wall / 1e6);
    print(workload, "cpu", (double) cpu / 1e6);
    print(workload, "resident", (double) above(peakBytes(), baseline) / 1e6);
    printCollector(workload);
    Alloc::end();
}

/* 10. A ring of 200k live messages of 1 KiB */

/** wall, cpu: milliseconds for 2M pushes. worst: milliseconds of one push, tick included. resident: peak megabytes. */
static void ring(const char *workload) {
    const size_t live = 200000, size = 1024;
    uint64_t pushes = scaled(2e6), worst = 0;
    resetPeak();
    size_t baseline = residentBytes();
    Alloc::begin(nullptr);
    void **slots = Alloc::allocTable(live);
    uint64_t wall = wallNanos(), cpu = cpuNanos(), last = wall;
    for (uint64_t i = 0; i < pushes; i++) {
        void **slot = &slots[i % live];
        if (*slot) {
            Alloc::drop(*slot);
        }
        void *message = Alloc::alloc(size);
        memset(message, (int) i, size);
        *slot = message;
        if (i % TICK == 0) {
            Alloc::tick();
        }
        uint64_t now = wallNanos();
        worst = now - last > worst ? now - last : worst;
        last = now;
    }
    wall = wallNanos() - wall;
    cpu = settledCpuNanos() - cpu;
    print(workload, "wall", (double) wall / 1e6);
    print(workload, "cpu", (double) cpu / 1e6);
    print(workload, "worst", (double) worst / 1e6);
    print(workload, "resident", (double) above(peakBytes(), baseline) / 1e6);
    printCollector(workload);
    Alloc::end();
}

/* The table of workloads */

#ifdef POLICY_MPR_H
/** Trees of nodes whose managers do not want MPR_MANAGE_FREE. */
template <void (*WORK)(const char *)>
static void noFree(const char *workload) {
    Alloc::nodeFlags = MPR_ALLOC_NO_FREE;
    WORK(workload);
}
#endif

static const struct {
    const char *name;
    void (*work)(const char *workload);
    bool collectorOnly;
} workloads[] = {
    {"alloc64", alloc64, false},
    {"mixed", mixed, false},
    {"mixed2", mixed2, false},
    {"pause_array", pauseArray, true},
    {"pause_tree", pauseTree, true},
    {"pause_list", pauseList, true},
    {"million", million, false},
    {"list", longList, true},
    {"churn", churn, false},
    {"decay", decay, false},
    {"bimodal", bimodal, false},
    {"phases", phases, false},
    {"release90", release90, false},
    {"trees", trees, false},
    {"ring", ring, false},
#ifdef POLICY_MPR_H
    {"need_yield", needYield, true},
    {"pause_array_nofree", noFree<pauseArray>, true},
    {"pause_tree_nofree", noFree<pauseTree>, true},
    {"trees_nofree", noFree<trees>, true},
#endif
};

int main(int argc, char **argv) {
    static char output[8192];
    setvbuf(stdout, output, _IOFBF, sizeof(output)); /* Else the first print would take a block of the heap */
    if (argc > 2) {
        scale = atof(argv[2]);
    }
    for (auto &entry : workloads) {
        if (entry.collectorOnly && !Alloc::collects) {
            continue;
        }
        if (argc < 2) {
            puts(entry.name);
        } else if (strcmp(argv[1], entry.name) == 0) {
            entry.work(entry.name);
            return 0;
        }
    }
    if (argc < 2) {
        return 0;
    }
    fprintf(stderr, "bench: no workload %s here\n", argv[1]);
    return 3;
}

#endif /* WORK_H */
