// SPDX-License-Identifier: MIT
/*
    test/gc/manager.cpp - Managers: setting them, and what they may rely on when called with MPR_MANAGE_FREE.
 */
#include "mpr/gc/manager.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/waiting_manager.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

using namespace test;

TEST_CASE("mprSetManager gives a manager to a block with room for one", "[gc][manager]") {
    Runtime runtime;
    calls.reset();
    void *block = mprAllocMem(sizeof(Node), MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO);
    collect();
    CHECK(calls.frees == 0);
    block = mprAllocMem(sizeof(Node), MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO);
    CHECK(mprSetManager(block, manageNode) == block);
    collect();
    CHECK(calls.frees == 1);
    CHECK_FALSE(mprIsValid(block));
}

TEST_CASE("mprSetManager refuses a block without room", "[gc][manager]") {
    Runtime runtime;
    calls.reset();
    size_t size = GENERATE(0, 8, 24, 100, 100000);
    void *leaf = mprAllocZeroed(size);
    CHECK(mprSetManager(leaf, manageNode) == nullptr);
    collect();
    CHECK(calls.frees == 0);
}

TEST_CASE("a block with room for a manager but none yet is kept and collected like a leaf", "[gc][manager]") {
    Runtime runtime;
    void *block = mprAllocMem(50, MPR_ALLOC_MANAGER);
    mprAddRoot(block);
    collect();
    CHECK(mprIsValid(block));
    mprRemoveRoot(block);
    collect();
    CHECK_FALSE(mprIsValid(block));
}

TEST_CASE("the manager word is beyond the size of the block", "[gc][manager]") {
    Runtime runtime;
    for (size_t size = 0; size < 1200; size++) { // the paths of blocks up to 1 KiB and above
        calls.reset();
        void *block = mprAllocManaged(
            size, [](void *, int flags) { calls.frees += flags == MPR_MANAGE_FREE; }, 0);
        REQUIRE(mprGetBlockSize(block) >= size);
        memset(block, 0xff, mprGetBlockSize(block));
        REQUIRE(mprFree(block) == 0);
        REQUIRE(calls.frees == 1);
    }
}

TEST_CASE("a manager is called with one flag at a time", "[gc][manager]") {
    Runtime runtime;
    static std::atomic<int> odd, marks, frees;
    odd = marks = frees = 0;
    Root root(mprAllocManaged(
        8,
        [](void *, int flags) {
            marks += flags == MPR_MANAGE_MARK;
            frees += flags == MPR_MANAGE_FREE;
            odd += flags != MPR_MANAGE_MARK && flags != MPR_MANAGE_FREE;
        },
        0));
    collect();
    root.set(nullptr);
    collect();
    CHECK(marks >= 1);
    CHECK(frees == 1);
    CHECK(odd == 0);
}

TEST_CASE("MPR_ALLOC_NO_FREE blocks are marked through and collected", "[gc][manager]") {
    Runtime runtime;
    Node *child = makeNode();
    Root root(mprAllocObjWithFlags(Node, manageNode, MPR_ALLOC_ZERO | MPR_ALLOC_NO_FREE));
    root.as<Node>()->next = child;
    collect();
    CHECK(mprIsValid(child));
    root.set(nullptr);
    collect();
    CHECK_FALSE(mprIsValid(child));
}

namespace {

/*
    A family: parents and children that refer to one another and to strings. Each FREE call reads all that its block
    refers to. A block's FREE call marks it as done but leaves its contents, so every read must find them.
 */
struct Relative {
    Relative *parent;
    Relative *child;
    unsigned char *text;
    size_t size;
    uintptr_t magic;
};

constexpr uintptr_t alive = 0x5afe5afe;
std::atomic<long> familyFreed, familyBroken, textBroken;

void manageRelative(void *ptr, int flags) {
    auto self = static_cast<Relative *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMark(self->parent);
        mprMark(self->child);
        mprMark(self->text);
    }
    if (flags & MPR_MANAGE_FREE) {
        familyFreed++;
        familyBroken += self->magic != alive;
        for (Relative *other : {self->parent, self->child}) {
            if (other) {
                familyBroken += other->magic != alive;
                textBroken += !filled(other->text, other->size, other->size);
            }
        }
        textBroken += !filled(self->text, self->size, self->size);
    }
}

Relative *makeRelative(Relative *parent, size_t size) {
    auto self = mprAllocObj(Relative, manageRelative);
    self->magic = alive;
    self->size = size;
    self->text = static_cast<unsigned char *>(mprAlloc(size));
    fill(self->text, size, size);
    self->parent = parent;
    if (parent) {
        parent->child = self;
    }
    return self;
}

void resetFamily() {
    familyFreed = familyBroken = textBroken = 0;
}

/* Allocates, scribbles and drops: whoever gets a dead block's memory too early destroys its contents. */
void scribble(Mutator &self) {
    Random random(7);
    while (self.go()) {
        size_t size = random.below(4000);
        if (void *block = mprAlloc(size)) {
            memset(block, 0xee, size);
            if (random.chance(30)) {
                mprFree(block);
            }
        }
        mprYield(0);
    }
}

} // namespace

TEST_CASE("dead blocks stay readable until all managers have run", "[gc][manager]") {
    Runtime runtime("region=256k");
    resetFamily();
    const size_t count = heavy(20000);
    Relative *last = nullptr;
    for (size_t i = 0; i < count; i++) {
        last = makeRelative(last, i % 500 == 0 ? 300000 : i % 900);
    }
    collect();
    CHECK(familyFreed == static_cast<long>(count));
    CHECK(familyBroken == 0);
    CHECK(textBroken == 0);
}

TEST_CASE("dead blocks stay readable while other threads allocate", "[gc][manager]") {
    Runtime runtime("region=256k,young=256k");
    resetFamily();
    Mutator first("first", scribble);
    Mutator second("second", scribble);
    const size_t rounds = heavy(60);
    for (size_t round = 0; round < rounds; round++) {
        Root root;
        for (size_t i = 0; i < 300; i++) {
            root.set(makeRelative(root.as<Relative>(), i % 100 == 0 ? 200000 : i % 700));
            mprYield(0);
        }
        root.set(nullptr);
        collect();
        REQUIRE(familyBroken == 0);
        REQUIRE(textBroken == 0);
    }
    first.end();
    second.end();
    collect();
    CHECK(familyFreed == static_cast<long>(300 * rounds));
}

TEST_CASE("dead blocks that had survived collections stay readable, too", "[gc][manager]") {
    Runtime runtime("region=256k");
    resetFamily();
    Root root;
    for (size_t i = 0; i < 2000; i++) {
        root.set(makeRelative(root.as<Relative>(), i % 300));
    }
    collect();
    collect();
    Relative *last = root.as<Relative>();
    for (size_t i = 0; i < 100; i++) {
        last = makeRelative(last, 40);
    }
    root.set(nullptr);
    collect();
    CHECK(familyFreed == 2100);
    CHECK(familyBroken == 0);
    CHECK(textBroken == 0);
}

TEST_CASE("mutators run while managers free", "[gc][manager]") {
    Runtime runtime;
    static std::atomic<uint64_t> steps;
    static std::atomic<int> proceeded;
    steps = 0;
    proceeded = -1;
    Mutator worker("worker", [](Mutator &self) {
        while (self.go()) {
            mprAlloc(32);
            steps++;
            mprYield(0);
        }
    });
    mprAllocManaged(
        8,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                uint64_t before = steps;
                proceeded = untilUnyielded([before] { return steps >= before + 1000; });
            }
        },
        0);
    mprGC(MPR_GC_FORCE);
    CHECK(until([] { return proceeded >= 0; }, 30000));
    CHECK(proceeded == 1);
    worker.end();
}

TEST_CASE("a manager that locks what the waiting application holds does not deadlock", "[gc][manager]") {
    Runtime runtime("deadline=50");
    makeWaitingManager();
    {
        std::lock_guard guard(applicationLock);
        collect();
        CHECK(waitedFrees == 0);
        CHECK(runtime.log.size() >= 1);
    }
    CHECK(until([] { return waitedFrees == 1; }));
    mprAlloc(10);
    collect();
}

/* The process stops in the midst of a manager's call: as when a machine sleeps, or has no time for it. */
TEST_CASE("child: stopped while a manager frees", "[.child]") {
    REQUIRE(mprConfigure("deadline=1000") == 0);
    REQUIRE(mprCreate(0, nullptr, 0));
    mprAllocManaged(
        8,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                pause(60); // so that whoever waits has looked before
                if (fork() == 0) {
                    usleep(1500 * 1000);
                    kill(getppid(), SIGCONT);
                    _exit(0);
                }
                kill(getpid(), SIGSTOP);
                pause(60); // and looks afterwards
                wait(nullptr);
            }
        },
        0);
    mark(collect() == 1 ? "waited to the end" : "did not wait");
    mark(mprDestroy() ? "destroyed" : "not destroyed");
}

TEST_CASE("time in which the whole process stands still does not count against a manager", "[gc][manager]") {
    // A manager's thread that alone gets no processor for the deadline seems stuck; the whole process standing still does not.
    bool waited = false;
    for (int tries = 0; tries < 10 && !waited; tries++) {
        const Ended ended = runChild("child: stopped while a manager frees");
        INFO(ended.output);
        CHECK(ended.exited(0));
        CHECK(ended.wrote("destroyed\n"));
        waited = ended.wrote("waited to the end\n");
    }
    CHECK(waited);
}

TEST_CASE("waiting at mprYield(COMPLETE) for a manager that waits for the caller ends, too", "[gc][manager]") {
    Runtime runtime("deadline=50");
    makeWaitingManager();
    {
        std::lock_guard guard(applicationLock);
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        mprYield(MPR_YIELD_COMPLETE);
    }
    CHECK(until([] { return waitedFrees == 1; }));
}

TEST_CASE("allocation and yields go on while a manager is stuck", "[gc][manager]") {
    Runtime runtime("deadline=50,young=64k");
    makeWaitingManager();
    {
        std::lock_guard guard(applicationLock);
        mprGC(MPR_GC_FORCE);
        for (size_t i = 0; i < heavy(20000); i++) {
            REQUIRE(mprAlloc(100));
            mprYield(0);
        }
        CHECK(waitedFrees == 0);
    }
    CHECK(until([] { return waitedFrees == 1; }));
}

TEST_CASE("a manager may allocate while it frees", "[gc][manager]") {
    Runtime runtime("young=256k");
    static std::atomic<void *> made[100];
    static std::atomic<int> count, failed;
    count = failed = 0;
    for (int i = 0; i < 100; i++) {
        mprAllocManaged(
            8,
            [](void *, int flags) {
                if (flags & MPR_MANAGE_FREE) {
                    void *block = mprAllocMem(100, MPR_ALLOC_HOLD);
                    failed += block == nullptr;
                    if (block) {
                        int at = count++;
                        fill(block, 100, static_cast<uint64_t>(at));
                        made[at] = block;
                    }
                    for (int garbage = 0; garbage < 10; garbage++) {
                        failed += mprAlloc(500) == nullptr;
                    }
                }
            },
            0);
    }
    collect();
    CHECK(failed == 0);
    REQUIRE(count == 100);
    collect();
    for (int i = 0; i < 100; i++) {
        REQUIRE(mprIsValid(made[i]));
        REQUIRE(filled(made[i], 100, static_cast<uint64_t>(i)));
        mprRelease(made[i]);
    }
    collect();
    CHECK_FALSE(mprIsValid(made[0]));
}

TEST_CASE("a manager that allocates garbage at each free does not start an endless collection", "[gc][manager]") {
    Runtime runtime("young=64k");
    calls.reset();
    struct Heir {
        static void manage(void *, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                calls.frees++;
                if (calls.frees < 50) {
                    mprAllocManaged(8, manage, 0);
                }
            }
        }
    };
    mprAllocManaged(8, Heir::manage, 0);
    for (int i = 0; i < 60; i++) {
        collect();
    }
    CHECK(calls.frees == 50);
}

TEST_CASE("mprGC and mprYield from a manager do not wait", "[gc][manager]") {
    Runtime runtime;
    static std::atomic<int> done, collected;
    done = 0;
    collected = -1;
    mprAllocManaged(
        8,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                collected = mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
                mprYield(0);
                mprYield(MPR_YIELD_COMPLETE);
                mprYield(MPR_YIELD_STICKY);
                mprResetYield();
                done++;
            }
        },
        0);
    mprGC(MPR_GC_FORCE);
    CHECK(until([] { return done == 1; }));
    CHECK(collected == 0);
    CHECK(runtime.log.count("deadline") == 0);
}

TEST_CASE("mprGC from a manager asks for another collection", "[gc][manager]") {
    Runtime runtime;
    mprAllocManaged(
        8,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                mprGC(MPR_GC_FORCE);
            }
        },
        0);
    collect();
    CHECK(until([] { return stats().collections >= 2; }));
}

TEST_CASE("a manager may hold and release other blocks while it frees", "[gc][manager]") {
    Runtime runtime;
    static std::atomic<void *> held;
    held = mprAllocMem(10, MPR_ALLOC_HOLD);
    mprAllocManaged(
        8,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_FREE) {
                mprRelease(held);
            }
        },
        0);
    collect();
    CHECK(stats().misuses == 0);
    collect();
    CHECK_FALSE(mprIsValid(held));
}

TEST_CASE("a manager may free other live blocks by hand", "[gc][manager]") {
    Runtime runtime;
    struct Owner {
        void *owned;
    };
    const int count = 100;
    std::vector<void *> owned;
    for (int i = 0; i < count; i++) {
        auto owner = static_cast<Owner *>(mprAllocManaged(
            sizeof(Owner),
            [](void *ptr, int flags) {
                auto self = static_cast<Owner *>(ptr);
                if (flags & MPR_MANAGE_FREE) {
                    mprRelease(self->owned);
                    mprFree(self->owned);
                }
            },
            0));
        owner->owned = mprAllocMem(100, MPR_ALLOC_HOLD);
        owned.push_back(owner->owned);
    }
    collect();
    CHECK(stats().misuses == 0);
    for (void *block : owned) {
        REQUIRE_FALSE(mprIsValid(block));
    }
}

TEST_CASE("mprDestroy frees every remaining block while all stay readable", "[gc][manager]") {
    Runtime runtime("everyyield=0"); // a collection would free what only a held block references
    resetFamily();
    Relative *last = nullptr;
    for (size_t i = 0; i < 1000; i++) {
        last = makeRelative(last, i % 400);
    }
    mprAddRoot(last);
    collect();
    CHECK(familyFreed == 0);
    mprHold(makeRelative(nullptr, 50));
    makeRelative(nullptr, 60);
    runtime.end();
    CHECK(familyFreed == 1002);
    CHECK(familyBroken == 0);
    CHECK(textBroken == 0);
}

TEST_CASE("managers may allocate, collect, yield and release while the runtime ends", "[gc][manager]") {
    Runtime runtime;
    static std::atomic<int> frees;
    static void *held;
    frees = 0;
    held = mprAllocMem(10, MPR_ALLOC_HOLD);
    for (int i = 0; i < 100; i++) {
        mprHold(mprAllocManaged(
            8,
            [](void *, int flags) {
                if (flags & MPR_MANAGE_FREE) {
                    mprAlloc(100);
                    mprFree(mprAlloc(50));
                    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
                    mprYield(0);
                    if (frees++ == 0) {
                        mprRelease(held);
                    }
                }
            },
            0));
    }
    runtime.end();
    CHECK(frees == 100);
}

namespace {

/* A parent whose FREE call gives its child back by hand, though the child dies with it. */
struct Giver {
    Giver *child;
    uintptr_t magic;
    bool holds, resizes; // the child
};

std::atomic<int> giverFrees, giverBroken;
std::set<const void *> resizedFrom; // where blocks have been that moved in this collection

void manageGiver(void *ptr, int flags) {
    auto self = static_cast<Giver *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMark(self->child);
    }
    if (flags & MPR_MANAGE_FREE) {
        giverFrees++;
        giverBroken += self->magic != alive || resizedFrom.count(self) != 0;
        if (self->child) {
            giverBroken += self->child->magic != alive;
            if (self->holds) {
                mprRelease(self->child);
            }
            if (self->resizes) {
                if (mprRealloc(self->child, 20 * sizeof(Giver)) != self->child) {
                    resizedFrom.insert(self->child);
                }
            } else {
                mprFree(self->child);
            }
        }
    }
}

Giver *makeGiver(Giver *child) {
    auto self = mprAllocObj(Giver, manageGiver);
    *self = {child, alive, false, false};
    return self;
}

} // namespace

TEST_CASE("a manager that frees a block that dies in the same collection does no harm", "[gc][manager]") {
    bool childFirst = GENERATE(true, false);
    Runtime runtime("region=256k");
    giverFrees = giverBroken = 0;
    constexpr int count = 1000;
    for (int i = 0; i < count; i++) {
        if (childFirst) {
            makeGiver(makeGiver(nullptr));
        } else {
            Giver *parent = makeGiver(nullptr);
            parent->child = makeGiver(nullptr);
        }
    }
    collect();
    CHECK(giverFrees == 2 * count);
    CHECK(giverBroken == 0);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("a block that a manager has resized does not get FREE where it was", "[gc][manager]") {
    Runtime runtime("region=256k,everyyield=0,everyalloc=0");
    giverFrees = giverBroken = 0;
    constexpr int count = 1000;
    for (int i = 0; i < count; i++) {
        Giver *const parent = makeGiver(nullptr);
        parent->child = makeGiver(nullptr);
        parent->resizes = true;
    }
    collect();
    const int before = giverFrees - count; // those whose turn came before their parent's
    CHECK(before < count);
    CHECK(giverBroken == 0);
    resizedFrom.clear();
    collect();
    CHECK(giverFrees == 2 * count + before);
    CHECK(giverBroken == 0);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("a manager that frees another block by hand while the runtime ends does no harm, young or old",
          "[gc][manager]") {
    const bool childFirst = GENERATE(true, false), isOld = GENERATE(true, false), traces = GENERATE(true, false);
    const bool holds = GENERATE(true, false);
    Runtime runtime("region=256k,everyyield=0,everyalloc=0");
    giverFrees = giverBroken = 0;
    constexpr int count = 1000;
    Root root(makeTable(count));
    for (int i = 0; i < count; i++) {
        Giver *const first = makeGiver(nullptr), *const second = makeGiver(nullptr);
        Giver *const parent = childFirst ? second : first;
        parent->child = childFirst ? first : second;
        if (holds) {
            mprHold(parent->child);
            parent->holds = true;
        }
        root.as<Table>()->items[i] = childFirst ? second : first;
    }
    if (isOld) {
        collect();
        if (traces) {
            mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
            mprYield(0);
        }
    }
    root.set(nullptr);
    runtime.end();
    CHECK(giverFrees == 2 * count);
    CHECK(giverBroken == 0);
}

TEST_CASE("managers that allocate at the hard limit get NULL and do not deadlock", "[gc][manager]") {
    Runtime runtime("region=256k,deadline=2000");
    static std::atomic<int> frees, refused;
    frees = refused = 0;
    mprSetMemLimits(0, 4 << 20, 0);
    for (int i = 0; i < 100; i++) {
        mprAllocManaged(
            8,
            [](void *, int flags) {
                if (flags & MPR_MANAGE_FREE) {
                    frees++;
                    refused += mprAlloc(100000) == nullptr;
                }
            },
            0);
    }
    Root root;
    while (Node *node = makeNode(root.as<Node>(), nullptr, 0)) {
        root.set(node);
    }
    collect();
    CHECK(frees == 100);
    CHECK(refused > 0);
    CHECK(stats().heapPeak <= 4 << 20);
    CHECK(runtime.log.count("deadline") == 0);
}

namespace {

/* A manager that nobody has given to a block. */
std::atomic<int> baitCalls;
void manageBait(void *, int) {
    baitCalls++;
}

/* The word behind the usable bytes of a block: an overflow of eight bytes reaches it. */
void overflow(void *block, uintptr_t value) {
    memcpy(static_cast<char *>(block) + mprGetBlockSize(block), &value, sizeof(value));
}
} // namespace

TEST_CASE("a manager that was overwritten is named and not called, and what the block references stays",
          "[gc][manager]") {
    for (int flags : {0, MPR_ALLOC_BARRIER}) {
        Runtime runtime;
        calls.reset();
        baitCalls = 0;
        auto leaf = static_cast<char *>(mprAlloc(48));
        strcpy(leaf, "still here");
        auto block = static_cast<void **>(mprAllocManaged(40, manageNode, flags | MPR_ALLOC_ZERO));
        mprAddRoot(block);
        block[1] = leaf;
        overflow(block, reinterpret_cast<uintptr_t>(manageBait));
        for (int i = 0; i < 3; i++) {
            collect();
        }
        CHECK(Log::count("the manager word of block") == 1);
        CHECK(Log::names(block) == 1);
        CHECK(mprIsValid(leaf));
        CHECK(strcmp(leaf, "still here") == 0);
        mprRemoveRoot(block);
        collect();
        collect();
        CHECK_FALSE(mprIsValid(block));
        CHECK_FALSE(mprIsValid(leaf));
        CHECK(baitCalls == 0);
        CHECK(calls.frees == 0);
        CHECK(stats().misuses == 1);
    }
}

TEST_CASE("an overwritten manager is named by the collection that frees the block, and by mprFree", "[gc][manager]") {
    Runtime runtime;
    calls.reset();
    baitCalls = 0;
    void *dead = mprAllocManaged(40, manageNode, 0);
    overflow(dead, reinterpret_cast<uintptr_t>(manageBait));
    collect();
    CHECK(Log::count("the manager word of block") == 1);
    CHECK_FALSE(mprIsValid(dead));
    void *freed = mprAllocManaged(40, manageNode, 0);
    overflow(freed, reinterpret_cast<uintptr_t>(manageBait));
    CHECK(mprFree(freed) == 0);
    CHECK(Log::count("the manager word of block") == 2);
    CHECK(calls.frees == 0);
    CHECK(baitCalls == 0);
}

TEST_CASE("the manager word of another block is no manager here", "[gc][manager]") {
    Runtime runtime;
    calls.reset();
    std::vector<void *> blocks;
    for (int i = 0; i < 200; i++) {
        blocks.push_back(mprAllocManaged(40, manageNode, MPR_ALLOC_ZERO));
        mprAddRoot(blocks.back());
    }
    for (size_t i = 1; i < blocks.size(); i++) {
        memcpy(static_cast<char *>(blocks[i]) + mprGetBlockSize(blocks[i]),
               static_cast<char *>(blocks[0]) + mprGetBlockSize(blocks[0]), sizeof(void *));
    }
    collect();
    CHECK(Log::count("the manager word of block") == 199);
}

/*
    A random word is a sealed number by chance: with k managers in the process one word in 2^32 / (k + 1) on 32-bit. This
    program has some fifty managers, so one run of this case in ten thousand meets such a word. It is counted, and another is
    written in its place.
 */
TEST_CASE("ten thousand managers overwritten: each is named, no foreign code is called", "[gc][manager]") {
    Runtime runtime;
    baitCalls = 0;
    const size_t count = heavy(10000);
    Random random(18);
    size_t written = 0;
    int taken = 0;
    while (written < count) {
        std::vector<void *> blocks;
        for (int i = 0; i < 500; i++) {
            void *block = mprAllocManaged(
                random.below(600), [](void *, int) {}, i % 2 ? MPR_ALLOC_BARRIER : 0);
            mprAddRoot(block);
            uintptr_t value = 0;
            switch (random.below(5)) {
            case 0: value = reinterpret_cast<uintptr_t>(manageBait); break;
            case 1: value = reinterpret_cast<uintptr_t>(block); break;
            case 2: value = random.below(4096); break;
            case 3: value = ~uintptr_t(0); break;
            default: value = static_cast<uintptr_t>(random.next()); break;
            }
            for (MprManager known; mpr::gc::managers.unseal(block, value, known); value++) {
                taken++;
            }
            overflow(block, value);
            blocks.push_back(block);
        }
        written += blocks.size();
        collect();
        for (void *block : blocks) {
            mprRemoveRoot(block);
        }
        collect();
    }
    CHECK(Log::count("the manager word of block") == static_cast<int>(written));
    CHECK(taken <= (sizeof(void *) == 4 ? 1 : 0)); // two: one run in a hundred million
    CHECK(baitCalls == 0);
}

TEST_CASE("zero, all ones and small numbers are no managers of any block", "[gc][manager]") {
    for (int opened = 0; opened < 2000; opened++) {
        mpr::gc::Managers managers;
        managers.open();
        const auto *block =
            reinterpret_cast<const void *>(uintptr_t(0x10000) * 16 + 16 * static_cast<uintptr_t>(opened));
        for (uintptr_t number = 0; number < mpr::gc::Managers::most; number += 7) {
            const uintptr_t word = managers.seal(block, managers.code(number));
            if (word < 65536 || ~word < 65536) {
                FAIL("number " << number << " of block " << block << " is sealed as " << word);
            }
        }
    }
}

TEST_CASE("a manager's word of which a byte at either end was overwritten is none", "[gc][manager]") {
    constexpr unsigned bits = 8 * sizeof(uintptr_t);
    for (int opened = 0; opened < 200; opened++) {
        mpr::gc::Managers managers;
        managers.open();
        const uintptr_t number = managers.numberOf(manageNode);
        const auto *block =
            reinterpret_cast<const void *>(uintptr_t(0x10000) * 16 + 16 * static_cast<uintptr_t>(opened));
        const uintptr_t word = managers.seal(block, managers.code(number));
        MprManager manager = nullptr;
        REQUIRE(managers.unseal(block, word, manager));
        REQUIRE(manager == manageNode);
        for (uintptr_t byte = 1; byte < 256; byte++) {
            const bool high = managers.unseal(block, word ^ byte << (bits - 8), manager);
            REQUIRE_FALSE(high);
            /* On 32-bit the low bytes are the number, so they may be that of the one other manager that there is. */
            REQUIRE_FALSE((sizeof(void *) == 8 && managers.unseal(block, word ^ byte, manager)));
        }
    }
}

TEST_CASE("threads that make blocks of many types by turns give each its manager", "[gc][manager]") {
    Runtime runtime;
    static long called[3];
    static const MprManager manage[] = {[](void *, int flags) { called[0] += flags == MPR_MANAGE_FREE; },
                                        [](void *, int flags) { called[1] += flags == MPR_MANAGE_FREE; },
                                        [](void *, int flags) { called[2] += flags == MPR_MANAGE_FREE; }};
    for (long &calls : called) {
        calls = 0;
    }
    Random random(24);
    long made[3] = {};
    for (int i = 0; i < 3000; i++) {
        const size_t type = random.below(3);
        made[type]++;
        mprAllocManaged(random.below(200), manage[type], i % 2 ? MPR_ALLOC_ZERO : 0);
    }
    collect();
    for (int type = 0; type < 3; type++) {
        CHECK(called[type] == made[type]);
    }
}

TEST_CASE("more managers than there are numbers for are refused with a message", "[gc][manager]") {
    Ended child = runChild("too many managers (child)");
    INFO(child.output);
    CHECK(child.exited(0));
    CHECK(child.wrote("more than 2047 managers"));
}

TEST_CASE("too many managers (child)", "[.child]") {
    if (getenv("MPR_TEST_CHILD")) {
        mprCreate(0, nullptr, 0);
        int made = 0;
        uintptr_t address = reinterpret_cast<uintptr_t>(manageBait);
        /* Never called: each block is freed while it has another. */
        for (int i = 1; i <= 3000; i++) {
            void *block = mprAllocMem(40, MPR_ALLOC_MANAGER);
            made += mprSetManager(block, reinterpret_cast<MprManager>(address + static_cast<uintptr_t>(i))) != nullptr;
            mprSetManager(block, manageNode);
        }
        printf("made %d\n", made);
        mprDestroy();
        exit(made > 2000 && made < 2048 ? 0 : 1);
    }
}

TEST_CASE("a block that is asked for zeroed is zero as far as its size says", "[gc][manager]") {
    Runtime runtime("young=256k");
    for (int round = 0; round < 2; round++) { // the second in memory that was written to
        for (size_t size = 1; size <= 3000; size += size < 300 ? 1 : 37) {
            for (int flags : {MPR_ALLOC_ZERO, MPR_ALLOC_ZERO | MPR_ALLOC_HOLD}) {
                auto block = static_cast<unsigned char *>(mprAllocManaged(size, manageNode, flags));
                REQUIRE(block);
                const size_t whole = mprGetBlockSize(block);
                CHECK(std::all_of(block, block + whole, [](unsigned char byte) { return byte == 0; }));
                memset(block, 0xA5, whole);
                if (flags & MPR_ALLOC_HOLD) {
                    mprRelease(block);
                }
                CHECK(mprFree(block) == 0);
            }
        }
        collect();
    }
}

TEST_CASE("signals that a manager unblocks on the collector's thread are blocked again", "[gc][manager]") {
    Runtime runtime;
    static std::atomic<int> blocked;
    blocked = -1;
    const auto free = [](void (*call)()) {
        static void (*what)();
        what = call;
        REQUIRE(mprAllocManaged(
            16, [](void *, int flags) { flags &MPR_MANAGE_FREE ? what() : void(); }, 0));
        collect();
        collect();
    };
    free([] {
        sigset_t usr;
        sigemptyset(&usr);
        sigaddset(&usr, SIGUSR1);
        pthread_sigmask(SIG_UNBLOCK, &usr, nullptr);
    });
    CHECK(Log::has("has left signals unblocked"));
    CHECK(stats().misuses == 1);
    free([] {
        sigset_t now;
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        blocked = sigismember(&now, SIGUSR1);
    });
    CHECK(blocked == 1);
    CHECK(stats().misuses == 1);
}

namespace {

/* A block whose companion dies with it. */
struct Growing {
    char *companion;
};

struct Grown {
    int neighbours = 0; // blocks that were made behind a companion
    bool tried = false;
} growth;

/* Make blocks until one stands behind the companion, free it, and have the companion take its place. */
void growCompanion(char *companion) {
    constexpr size_t size = 1500; // more than a quick list takes
    const size_t before = mprGetBlockSize(companion);
    std::vector<char *> others;
    for (int i = 0; i < 2000 && !growth.tried; i++) {
        others.push_back(static_cast<char *>(mprAlloc(size)));
        if (others.back() == companion + before) {
            growth.neighbours++;
            const size_t more = mprGetBlockSize(others.back());
            mprFree(others.back());
            others.pop_back();
            auto moved = static_cast<char *>(mprRealloc(companion, before + more));
            CHECK(filled(moved, before, 1, 0));
            growth.tried = true;
        }
    }
    for (char *other : others) {
        mprFree(other);
    }
}

void manageGrowing(void *ptr, int flags) {
    auto growing = static_cast<Growing *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMark(growing->companion);
    }
    if ((flags & MPR_MANAGE_FREE) && growing->companion && !growth.tried) {
        growCompanion(growing->companion);
    }
}
} // namespace

TEST_CASE("a dead block that a manager lets grow over its neighbour costs no memory", "[gc][manager]") {
    Runtime runtime;
    growth = {};
    for (int round = 0; round < 200 && !growth.tried; round++) {
        for (int i = 0; i < 10; i++) {
            auto growing = static_cast<Growing *>(
                mprAllocManaged(sizeof(Growing), manageGrowing, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO));
            growing->companion = static_cast<char *>(mprAlloc(40000));
            fill(growing->companion, 40000, 1, 0);
        }
        collect();
    }
    REQUIRE(growth.neighbours > 0);
    CHECK(mprVerifyHeap() == 0);
    collect();
    CHECK(mprVerifyHeap() == 0);
    CHECK(stats().misuses == 0);
}
