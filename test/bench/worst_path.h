/* SPDX-License-Identifier: MIT */
/*
    worst_path.h - The longest path, in instructions, that an allocation or a free takes. Over a small policy:
    see worst_path.cpp and worst_path_malloc.cpp.

    Usage: worst_path [--bound N] [--free-bound N] [--long] [--seed N] [--heap MB] [--where] [--self-test] [--cap N]

      --bound N    exit with status 1 when a bounded call took more than N instructions
      --free-bound N  the same for frees alone
      --long       five rounds with as many seeds instead of one, and four times as many calls stepped in each
      --heap MB    this live size only (else 10 and 200)
      --where      for the worst call of each kind: the functions that its instructions stood in
      --cap N      step no more than so many instructions of a call (20000, the most that is told apart)
      --self-test  show that the counter is exact and that a path of 10,000 instructions would be caught; no measurement

    The method: live blocks, mostly of 1 to 4096 bytes, hang from a rooted table. Phases bring the heap into states that
    are hard for some allocator or other; most calls run at full speed, a sample of them is stepped (stepper.h). The
    collector is disabled; where a phase wants one, a whole collection runs between two calls.
    Calls are counted by kind. For each: calls, least, median, 99th percentile, worst, and what was called before it.
 */
#ifndef WORST_PATH_H
#define WORST_PATH_H

#include "stepper.h"

#include <dlfcn.h>

#if !STEPPER_WORKS

int main(void) {
    puts("# instructions are counted on x86-64 Linux only: skipped");
    return 77;
}

#else

using namespace bench;

enum Kind {
    ALLOC_SMALL,
    ALLOC_MEDIUM,
    ALLOC_64K,
    FREE_SMALL,
    FREE_MEDIUM,
    FREE_64K,
    FREE_REMOTE,
    ALLOC_REMOTE,
    ALLOC_REGION,
    FREE_REGION,
    ALLOC_SWEEPING,
    FREE_SWEEPING,
    KINDS
};

static const struct {
    const char *name, *what;
    bool bounded;
} kinds[KINDS] = {
    {"alloc_small", "allocate 1..256 B", true},
    {"alloc_medium", "allocate 257..4096 B", true},
    {"alloc_64k", "allocate 4 KiB..256 KiB", true},
    {"free_small", "free 1..256 B", true},
    {"free_medium", "free 257..4096 B", true},
    {"free_64k", "free 4 KiB..256 KiB", true},
    {"free_remote", "free on a thread that did not allocate", true},
    {"alloc_remote", "allocate after another thread has freed", true},
    {"alloc_region", "allocate 3..16 MiB", true},
    {"free_region", "free 3..16 MiB", true},
    /* The collector's thread sweeps meanwhile: a lock it holds costs turns that belong to no path. */
    {"alloc_sweeping", "allocate while the collector sweeps", false},
    {"free_sweeping", "free while the collector sweeps", false},
};

/* History: the last calls before a call, stepped or not */

struct Call {
    const char *phase;
    Kind kind;
    size_t size; /* Asked for; of a free: of the block */
    size_t slot; /* In the table */
};

static const size_t HISTORY = 8;

struct Record {
    uint32_t *counts; /* By number of instructions; the last counts all above */
    uint64_t calls, worst, least;
    Call history[HISTORY];
    size_t historyLength;
    uint64_t *trace;
};

static const size_t COUNTS = 20001;
static Record records[KINDS];
static Call recent[HISTORY];
static size_t recentCount;
static const char *phaseName = "";
static uint64_t stepped; /* Instructions so far */
static bool keepTrace;

static void remember(Kind kind, size_t size, size_t slot) {
    recent[recentCount++ % HISTORY] = {phaseName, kind, size, slot};
}

static void note(Kind kind, uint64_t steps) {
    Record *record = &records[kind];
    stepped += steps;
    record->calls++;
    record->counts[steps < COUNTS ? steps : COUNTS - 1]++;
    record->least = record->calls == 1 || steps < record->least ? steps : record->least;
    if (steps > record->worst) {
        record->worst = steps;
        record->historyLength = recentCount < HISTORY ? recentCount : HISTORY;
        for (size_t i = 0; i < record->historyLength; i++) {
            record->history[i] = recent[(recentCount - record->historyLength + i) % HISTORY];
        }
        if (keepTrace) {
            memcpy(record->trace, Stepper::trace, Stepper::TRACE * sizeof(uint64_t));
        }
    }
}

static void clearRecords() {
    for (Record &record : records) {
        uint32_t *counts = record.counts ? record.counts : sideTable<uint32_t>(COUNTS);
        uint64_t *trace = record.trace ? record.trace : sideTable<uint64_t>(Stepper::TRACE);
        memset(counts, 0, COUNTS * sizeof(uint32_t));
        record = {};
        record.counts = counts;
        record.trace = trace;
    }
}

static uint64_t quantile(const Record *record, double share) {
    uint64_t rank = (uint64_t) ceil(share * (double) record->calls), seen = 0;
    for (size_t i = 0; i < COUNTS - 1; i++) {
        seen += record->counts[i];
        if (seen >= rank) {
            return i;
        }
    }
    return record->worst;
}

/* The blocks: a table of slots, rooted, with the sizes beside it */

static const size_t SLOTS = 1 << 20;
static void **slots;
static uint32_t *blockSize;
static size_t liveBytes;

static Kind kindOf(size_t size, bool isFree) {
    Kind kind = size <= 256 ? ALLOC_SMALL : size <= 4096 ? ALLOC_MEDIUM : size <= 256 * 1024 ? ALLOC_64K : ALLOC_REGION;
    if (isFree) {
        kind = kind == ALLOC_SMALL    ? FREE_SMALL
               : kind == ALLOC_MEDIUM ? FREE_MEDIUM
               : kind == ALLOC_64K    ? FREE_64K
                                      : FREE_REGION;
    }
    return kind;
}

/** Fill a slot. The flavour picks one of the policy's ways to allocate. */
static void put(size_t slot, size_t size, bool step, int kind = -1, unsigned flavour = 0) {
    Kind k = kind >= 0 ? (Kind) kind : kindOf(size, false);
    remember(k, size, slot);
    void *block;
    if (step) {
        uint64_t steps;
        block = (void *) Stepper::call(Alloc::allocFunction(flavour), size, Alloc::allocFlags(flavour), 0, &steps);
        note(k, steps);
    } else {
        block = Alloc::alloc(size, flavour);
    }
    if (!block) {
        fail("no memory");
    }
    *(char *) block = 1;
    slots[slot] = block;
    blockSize[slot] = (uint32_t) size;
    liveBytes += size;
}

static void take(size_t slot, bool step, int kind = -1) {
    size_t size = blockSize[slot];
    Kind k = kind >= 0 ? (Kind) kind : kindOf(size, true);
    remember(k, size, slot);
    void *block = slots[slot];
    slots[slot] = nullptr;
    liveBytes -= size;
    if (step) {
        uint64_t steps;
        Stepper::call(Alloc::freeFunction(), (uint64_t) (uintptr_t) block, 0, 0, &steps);
        note(k, steps);
    } else {
        Alloc::free(block);
    }
}

/* Phases. The slots below `filled` carry the live size, those above serve the phase. */

static Random rnd(1);
static size_t filled;

/* Which calls are stepped is drawn apart from what is called: a period could miss or meet that of a list. */
static Random draw(1);
static size_t thin = 6;

/* A phase that has stepped its share of instructions steps only one in four of the calls it would have stepped. */
static uint64_t share = 20000, shareEnd;

static void beginPhase(const char *name) {
    phaseName = name;
    shareEnd = stepped + share;
}

static bool affordable() {
    return stepped < shareEnd || draw.below(4) == 0;
}

static bool oneIn(size_t every) {
    return draw.below(every * thin) == 0 && affordable();
}

static size_t anySize() {
    return rnd.between(1, 4096);
}

/** Sizes that meet edges: powers of two and multiples of a granule, one more, one less. */
static size_t edgeSize() {
    size_t size = rnd.below(2) ? (size_t) 1 << rnd.between(0, 12) : 16 * rnd.between(1, 256);
    size += rnd.below(3);
    size -= size > 1;
    return size > 4096 ? 4096 : size;
}

/** From an empty heap to the live size: one call in `every` is stepped, and the first ones. */
static void fill(size_t bytes, size_t every) {
    beginPhase("fill");
    for (filled = 0; liveBytes < bytes; filled++) {
        put(filled, anySize(), filled < 100 || oneIn(every));
    }
}

/** Replace at random. */
static void churnRandom(size_t calls, size_t every) {
    beginPhase("random replacement");
    for (size_t i = 0; i < calls; i++) {
        size_t slot = rnd.below(filled);
        take(slot, oneIn(every));
        put(slot, rnd.below(4) ? anySize() : edgeSize(), oneIn(every), -1, (unsigned) rnd.below(3));
    }
}

/** Free neighbours in order of address, backwards or inside out, then ask for more than each of them gave. */
static void burst(size_t count) {
    beginPhase("burst of neighbours");
    size_t start = rnd.below(filled - count), order = rnd.below(3);
    for (size_t i = 0; i < count; i++) {
        size_t offset = order == 0 ? i : order == 1 ? count - 1 - i : i % 2 ? count / 2 + i / 2 : count / 2 - 1 - i / 2;
        take(start + (offset < count ? offset : 0), oneIn(1));
    }
    for (size_t i = 0; i < count; i++) {
        put(start + i, anySize(), oneIn(1));
    }
}

/** Blocks of one size, every other one freed, then the rest (both neighbours are free), then larger ones. */
static void checkerboard(size_t size, size_t count, size_t every) {
    beginPhase("checkerboard");
    size_t base = filled;
    for (size_t i = 0; i < count; i++) {
        put(base + i, size, oneIn(4 * every));
    }
    for (size_t i = 0; i < count; i += 2) {
        take(base + i, oneIn(every));
    }
    for (size_t i = 0; i < count; i += 8) {
        put(base + i, size + 16, oneIn(every / 2));
    }
    for (size_t i = 1; i < count; i += 2) {
        take(base + i, oneIn(every));
    }
    for (size_t i = 4; i < count; i += 8) {
        put(base + i, rnd.below(2) ? size / 2 + 1 : 3 * size, oneIn(every / 2));
    }
    for (size_t i = 0; i < count; i++) {
        if (slots[base + i]) {
            take(base + i, oneIn(every));
        }
    }
}

/** Holes of every size at once, then requests that each hole just misses or just fits. */
static void graded() {
    beginPhase("graded holes");
    size_t base = filled, count = 512;
    for (size_t i = 0; i < count; i++) {
        put(base + i, 8 + 16 * (i / 2), false);
    }
    for (size_t i = 0; i < count; i += 2) {
        take(base + i, oneIn(2));
    }
    for (size_t i = 0; i < count; i += 2) {
        size_t j = (i + 2 * rnd.below(8)) / 2 * 16 + 8;
        put(base + i, j > 4096 ? 4096 : j, oneIn(1));
    }
    for (size_t i = 0; i < count; i++) {
        take(base + i, oneIn(2));
    }
}

/** Many frees of one size in a row, then of another: short lists of freed blocks fill and flush. */
static void listOverflow(size_t count) {
    beginPhase("many frees of one size");
    size_t base = filled, size = edgeSize();
    for (size_t i = 0; i < count; i++) {
        put(base + i, size, false);
    }
    for (size_t i = 0; i < count; i++) {
        size_t other = i + rnd.below(count - i);
        void *block = slots[base + i];
        slots[base + i] = slots[base + other];
        slots[base + other] = block;
    }
    for (size_t i = 0; i < count; i++) {
        take(base + i, affordable());
    }
    for (size_t i = 0; i < count / 4; i++) {
        put(base + i, i % 2 ? size : edgeSize(), affordable());
    }
    for (size_t i = 0; i < count / 4; i++) {
        take(base + i, oneIn(1));
    }
}

/** Blocks of 4 to 256 KiB among the others. */
static void large(size_t count) {
    beginPhase("large blocks");
    size_t base = filled;
    for (size_t i = 0; i < count; i++) {
        put(base + i, rnd.below(2) ? 65536 : rnd.between(4097, 256 * 1024), affordable());
        put(base + count + i, anySize(), false);
    }
    for (size_t i = 0; i < count; i++) {
        take(base + (i * 7 + 3) % count, affordable());
    }
    for (size_t i = 0; i < count; i++) {
        put(base + i, rnd.below(2) ? 65536 : rnd.between(4097, 256 * 1024), oneIn(1));
    }
    for (size_t i = 0; i < 2 * count; i++) {
        take(base + i, oneIn(1));
    }
}

/** Blocks of several MiB: regions of their own, and where new memory has to come from the system. */
static void huge(size_t count) {
    beginPhase("huge blocks");
    size_t base = filled;
    for (size_t i = 0; i < count; i++) {
        put(base + i, rnd.between(3 << 20, 16 << 20), true);
    }
    for (size_t i = 0; i < count; i++) {
        take(base + (i * 3 + 1) % count, true);
    }
}

/** New memory from the system for small blocks: the calls on the way there are stepped. */
static void growth(size_t bytes, size_t every) {
    beginPhase("growth");
    size_t base = filled, i = 0, end = liveBytes + bytes;
    for (; liveBytes < end; i++) {
        put(base + i, anySize(), oneIn(every));
    }
    for (size_t j = 0; j < i; j++) {
        take(base + j, oneIn(4 * every));
    }
    Alloc::tick();
}

/** Another thread frees `count` blocks; then this one goes on. */
struct Remote {
    size_t base, count, every;
};

static void *freeRemotely(void *data) {
    Remote *remote = (Remote *) data;
    Alloc::attach();
    for (size_t i = 0; i < remote->count; i++) {
        take(remote->base + i, oneIn(remote->every), FREE_REMOTE);
    }
    Alloc::detach();
    return nullptr;
}

static void remoteFrees(size_t count, size_t every) {
    beginPhase("frees by another thread");
    size_t base = filled;
    bool oneSize = rnd.below(2);
    for (size_t i = 0; i < count; i++) {
        put(base + i, oneSize ? 48 : anySize(), false);
    }
    Remote remote = {base, count, every};
    pthread_t thread;
    Alloc::block();
    if (pthread_create(&thread, nullptr, freeRemotely, &remote) != 0) {
        fail("no thread");
    }
    pthread_join(thread, nullptr);
    Alloc::unblock();
    for (size_t i = 0; i < 100; i++) {
        put(base + i, oneSize && i % 2 ? 48 : anySize(), affordable(), ALLOC_REMOTE);
    }
    for (size_t i = 0; i < 100; i++) {
        take(base + i, affordable());
    }
}

/** Forget blocks, collect, go on in what the sweep left; with free memory given back to the system, or kept. */
static void afterCollection(size_t calls, bool purge) {
    if (!Alloc::collects) {
        return;
    }
    beginPhase(purge ? "after a collection and a purge" : "after a collection");
    size_t step = 2 + rnd.below(6);
    for (size_t i = rnd.below(step); i < filled; i += step) {
        liveBytes -= blockSize[i];
        slots[i] = nullptr;
    }
    purge ? Alloc::purge() : Alloc::collect(true);
    size_t i = 0;
    for (size_t slot = 0; slot < filled; slot++) {
        if (!slots[slot]) {
            put(slot, rnd.below(4) ? blockSize[slot] : anySize(), i++ < calls && affordable(), -1,
                (unsigned) rnd.below(3));
        }
    }
    churnRandom(calls, 1);
}

/** Random churn without waiting for the sweep, counted as kinds of its own. */
static void duringSweep(size_t calls) {
    if (!Alloc::collects) {
        return;
    }
    beginPhase("during a sweep");
    for (size_t i = rnd.below(3); i < filled; i += 3) {
        liveBytes -= blockSize[i];
        slots[i] = nullptr;
    }
    Alloc::collect(false);
    size_t i = 0;
    for (size_t slot = 0; slot < filled; slot++) {
        if (!slots[slot]) {
            put(slot, anySize(), i < calls && affordable(), ALLOC_SWEEPING);
            if (i++ < calls / 2 && slot > 0 && slots[slot - 1]) {
                take(slot - 1, affordable(), FREE_SWEEPING);
                put(slot - 1, anySize(), false);
            }
        }
    }
    Alloc::collect(true);
}

/** Allocation reaches the budget while collection is enabled: the call that asks for one is among these. */
static void budget(size_t calls) {
    if (!Alloc::collects) {
        return;
    }
    beginPhase("budget reached");
    Alloc::enable(true);
    for (size_t i = 0; i < calls; i++) {
        size_t slot = rnd.below(filled);
        take(slot, false);
        put(slot, anySize(), affordable());
        if (i % (calls / 4) == 0) {
            Alloc::tick();
        }
    }
    Alloc::enable(false);
    Alloc::collect(true);
}

/** A random program: phases of random lengths, sizes and orders. */
static void search(size_t programs) {
    for (size_t i = 0; i < programs; i++) {
        beginPhase("random program");
        size_t base = filled, count = rnd.between(50, 800), high = (size_t) 1 << rnd.between(4, 12);
        bool edges = rnd.below(2);
        for (size_t j = 0; j < count; j++) {
            put(base + j, edges ? edgeSize() : rnd.between(1, high), oneIn(8));
        }
        size_t stride = 1 + rnd.below(7);
        for (size_t k = 0; k < stride; k++) {
            for (size_t j = k; j < count; j += stride) {
                take(base + j, oneIn(8));
                if (rnd.below(8) == 0) {
                    size_t slot = rnd.below(filled);
                    take(slot, false);
                    put(slot, edges ? anySize() : rnd.between(1, high), oneIn(1));
                }
            }
        }
        if (rnd.below(2)) {
            Alloc::tick();
        }
    }
}

static void oneHeap(size_t megabytes, uint64_t seed) {
    rnd = Random(seed);
    draw = Random(~seed);
    recentCount = liveBytes = 0;
    size_t bytes = megabytes * 1000000;
    Alloc::begin();
    slots = Alloc::allocTable(SLOTS);
    fill(bytes, bytes / 400000);
    churnRandom(20000, 20);
    for (int i = 0; i < 6; i++) {
        burst(200);
    }
    const size_t boards[] = {1, 24, 48, 100, 240, 500, 1000, 2000, 4000};
    for (size_t size : boards) {
        checkerboard(size, 4096, 16);
    }
    graded();
    graded();
    for (int i = 0; i < 4; i++) {
        listOverflow(128);
    }
    large(60);
    huge(6);
    growth(12 << 20, 32);
    remoteFrees(20000, 64);
    remoteFrees(1000, 8);
    afterCollection(120, false);
    budget(160);
    afterCollection(120, true);
    duringSweep(60);
    search(20);
    churnRandom(4000, 8);
    for (size_t i = 0; i < filled; i++) {
        if (slots[i]) {
            take(i, oneIn(bytes / 200000));
        }
    }
    Alloc::dropTable(slots, SLOTS);
    Alloc::end();
}

/* Report */

static void printWhere(const Record *record) {
    /* Functions in order of appearance, inlined ones by their own names, as addr2line finds them. */
    Dl_info info;
    if (!dladdr((void *) stepperNothing, &info)) {
        return;
    }
    char command[256];
    snprintf(command, sizeof(command),
             "addr2line -f -C -s -e /proc/%d/exe | awk 'NR %% 2 { if (!n[$0]++) order[++k] = $0 } "
             "END { for (i = 1; i <= k; i++) printf \"#    %%5d  %%s\\n\", n[order[i]], order[i] }'",
             (int) getpid());
    fflush(stdout);
    FILE *pipe = popen(command, "w");
    if (!pipe) {
        return;
    }
    uint64_t end = record->worst < Stepper::TRACE ? record->worst : Stepper::TRACE;
    for (uint64_t i = 0; i < end; i++) {
        fprintf(pipe, "%llx\n", (unsigned long long) (record->trace[i] - (uint64_t) (uintptr_t) info.dli_fbase));
    }
    pclose(pipe);
}

/** @return The worst of the bounded kinds. */
static uint64_t worstFree; /* Of the bounded frees printed so far */

static uint64_t printRecords(const char *heap, bool where) {
    uint64_t worst = 0;
    for (int i = 0; i < KINDS; i++) {
        const Record *record = &records[i];
        if (!record->calls) {
            continue;
        }
        printf("%-12s %-42s %8llu %6llu %6llu %6llu %6llu%s\n", heap, kinds[i].what, (unsigned long long) record->calls,
               (unsigned long long) record->least, (unsigned long long) quantile(record, 0.5),
               (unsigned long long) quantile(record, 0.99), (unsigned long long) record->worst,
               kinds[i].bounded ? "" : "  not bounded");
        if (kinds[i].bounded && record->worst > worst) {
            worst = record->worst;
        }
        if (kinds[i].bounded && strncmp(kinds[i].name, "free", 4) == 0 && record->worst > worstFree) {
            worstFree = record->worst;
        }
    }
    for (int i = 0; i < KINDS; i++) {
        const Record *record = &records[i];
        if (!record->calls) {
            continue;
        }
        printf("# worst of '%s': %llu; the calls up to it:", kinds[i].what, (unsigned long long) record->worst);
        for (size_t j = 0; j < record->historyLength; j++) {
            const Call *call = &record->history[j];
            const char *name = kinds[call->kind].name;
            printf(" %.*s(%zu)", (int) (strchr(name, '_') - name), name, call->size);
        }
        printf(" in phase '%s'\n", record->historyLength ? record->history[record->historyLength - 1].phase : "");
        if (where) {
            printWhere(record);
        }
    }
    return worst;
}

/* Self-test: paths of known length */

extern "C" void stepperHundred(void);
asm(R"(
    .text
    .p2align 4
    .globl stepperHundred
    .type stepperHundred, @function
stepperHundred:
    .rept 99
    nop
    .endr
    ret
    .size stepperHundred, .-stepperHundred
)");

__attribute__((noinline)) static uint64_t longPath(uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; i++) {
        asm volatile("" : : : "memory");
    }
    return rounds;
}

/** A policy's call that is usually short, and once in a thousand times long: the sampling must see it when stepped. */
static int selfTest(uint64_t bound) {
    uint64_t steps, total = 0;
    int failures = 0;
    Stepper::call((void *) stepperNothing, 0, 0, 0, &steps);
    printf("# an empty function: %llu\n", (unsigned long long) steps);
    failures += steps != 1;
    for (int i = 0; i < 100; i++) {
        Stepper::call((void *) stepperHundred, 0, 0, 0, &steps);
        failures += steps != 100;
        total += steps;
    }
    printf("# a function of 100 instructions, 100 times: %llu\n", (unsigned long long) total);
    uint64_t result = Stepper::call((void *) longPath, 5000, 0, 0, &steps);
    printf("# a path of 10,000 instructions: %llu\n", (unsigned long long) steps);
    failures += steps < 10000 || steps > 20010 || result != 5000;
    clearRecords();
    note(ALLOC_SMALL, 50);
    note(ALLOC_SMALL, steps);
    uint64_t worst = printRecords("self-test", false);
    failures += worst != steps || worst <= bound || records[ALLOC_SMALL].least != 50;
    printf("self-test %s\n", failures ? "FAILED" : "passed: the bound would have caught it");
    return failures ? 1 : 0;
}

int main(int argc, char **argv) {
    static char output[8192];
    setvbuf(stdout, output, _IOFBF, sizeof(output));
    bindNow(argv);
    uint64_t bound = 0, freeBound = 0, seed = 1;
    size_t heaps[] = {10, 200}, first = 0;
    int rounds = 1;
    bool where = false, testing = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bound") == 0 && i + 1 < argc) {
            bound = strtoull(argv[++i], nullptr, 10);
        } else if (strcmp(argv[i], "--free-bound") == 0 && i + 1 < argc) {
            freeBound = strtoull(argv[++i], nullptr, 10);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], nullptr, 10);
        } else if (strcmp(argv[i], "--heap") == 0 && i + 1 < argc) {
            heaps[1] = (size_t) strtoull(argv[++i], nullptr, 10);
            first = 1;
        } else if (strcmp(argv[i], "--cap") == 0 && i + 1 < argc) {
            Stepper::cap = strtoull(argv[++i], nullptr, 10);
        } else if (strcmp(argv[i], "--long") == 0) {
            rounds = 5;
            thin = 1;
            share = ~(uint64_t) 0 / 2;
        } else if (strcmp(argv[i], "--where") == 0) {
            where = true;
        } else if (strcmp(argv[i], "--self-test") == 0) {
            testing = true;
        } else {
            fprintf(stderr,
                    "usage: %s [--bound N] [--free-bound N] [--long] [--seed N] [--heap MB] [--where] [--self-test] "
                    "[--cap N]\n",
                    argv[0]);
            return 2;
        }
    }
    Stepper::start();
    if (testing) {
        return selfTest(bound ? bound : 200);
    }
    keepTrace = where;
    blockSize = sideTable<uint32_t>(SLOTS);
    uint64_t worst = 0, start = wallNanos();
    printf("%-12s %-42s %8s %6s %6s %6s %6s\n", "live", "instructions to", "calls", "min", "median", "p99", "worst");
    for (size_t h = first; h < 2; h++) {
        clearRecords();
        for (int i = 0; i < rounds; i++) {
            oneHeap(heaps[h], seed + (uint64_t) i);
        }
        char name[32];
        snprintf(name, sizeof(name), "%zu MB", heaps[h]);
        uint64_t here = printRecords(name, where);
        worst = here > worst ? here : worst;
        for (int i = 0; i < KINDS; i++) {
            if (records[i].calls) {
                printf("worst_path.%s_%zu %llu\n", kinds[i].name, heaps[h], (unsigned long long) records[i].worst);
            }
        }
    }
    printf("# %llu instructions stepped in %.1f s\n", (unsigned long long) stepped,
           (double) (wallNanos() - start) / 1e9);
    printf("worst_path.worst %llu\n", (unsigned long long) worst);
    if (bound && worst > bound) {
        printf("FAILED: %llu instructions, the bound is %llu\n", (unsigned long long) worst,
               (unsigned long long) bound);
        return 1;
    }
    if (freeBound && worstFree > freeBound) {
        printf("FAILED: %llu instructions for a free, the bound is %llu\n", (unsigned long long) worstFree,
               (unsigned long long) freeBound);
        return 1;
    }
    return 0;
}

#endif
#endif /* WORST_PATH_H */
