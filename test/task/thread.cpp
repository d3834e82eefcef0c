// SPDX-License-Identifier: MIT
/*
    test/task/thread.cpp - Threads: made by the runtime, attached, exempt; living and dying while collections run.
 */
#include "test/support/dying.hpp"
#include "test/support/every_yield.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace test;

namespace {

/* What a thread made by the runtime saw of itself. */
struct Seen {
    std::atomic<int> done{0};
    void *data = nullptr;
    MprThread *passed = nullptr, *current = nullptr;
    std::string name;
    size_t stack = 0;
    MprOsThread os = 0;
};
Seen *seen;

size_t stackSize() {
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *start;
        pthread_attr_getstack(&attributes, &start, &size);
        pthread_attr_destroy(&attributes);
    }
    return size;
}

void look(void *data, MprThread *tp) {
    seen->data = data;
    seen->passed = tp;
    seen->current = mprGetCurrentThread();
    seen->name = mprGetCurrentThreadName();
    seen->stack = stackSize();
    seen->os = mprGetCurrentOsThread();
    seen->done++;
}

/* Whether the system has no memory for a thread's value. */
std::atomic<bool> noValues;

} // namespace

extern "C" int __real_pthread_setspecific(pthread_key_t key, const void *value);
extern "C" int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
    return noValues && value ? ENOMEM : __real_pthread_setspecific(key, value);
}

namespace {
thread_local volatile char threadLocal[300 << 10]; // more than the collector's stack, which the C library puts it on

std::atomic<bool> usedStack;

void useStack(void *, MprThread *) {
    volatile char stack[40 << 10];
    for (size_t i = sizeof(stack); i > 0; i--) {
        stack[i - 1] = 1;
    }
    threadLocal[0] = stack[0];
    usedStack = threadLocal[0] == 1;
}
} // namespace

TEST_CASE("a thread has the stack that it was promised besides the program's thread-local data", "[task][thread]") {
    Runtime runtime;
    usedStack = false;
    MprThread *thread = mprCreateThread("small", MPR_PROC(useStack), nullptr, 64 << 10);
    REQUIRE((thread && mprStartThread(thread) == 0));
    CHECK(until([] { return usedStack.load(); }));
}

TEST_CASE("a started thread runs its procedure with its data, name and object", "[task][thread]") {
    Runtime runtime;
    Seen record;
    seen = &record;
    int unmanaged = 0;
    char name[] = "worker-one";
    MprThread *thread = mprCreateThread(name, reinterpret_cast<void *>(look), &unmanaged, 0);
    REQUIRE(thread);
    memset(name, 'x', sizeof(name) - 1);
    CHECK(mprIsValid(thread));
    CHECK(mprStartThread(thread) == 0);
    REQUIRE(until([&] { return record.done == 1 && stats().threads == 1; }));
    CHECK(record.data == &unmanaged);
    CHECK(record.passed == thread);
    CHECK(record.current == thread);
    CHECK(record.name == "worker-one");
    CHECK(record.os != mprGetCurrentOsThread());
}

TEST_CASE("a thread starts once", "[task][thread]") {
    Runtime runtime;
    Seen record;
    seen = &record;
    MprThread *thread = mprCreateThread("worker", reinterpret_cast<void *>(look), nullptr, 0);
    mprHold(thread);
    CHECK(mprStartThread(thread) == 0);
    CHECK(mprStartThread(thread) == MPR_ERR_BAD_STATE);
    REQUIRE(until([&] { return record.done == 1 && stats().threads == 1; }));
    CHECK(mprStartThread(thread) == MPR_ERR_BAD_STATE);
    CHECK(record.done == 1);
    mprRelease(thread);
}

TEST_CASE("the stack is at least as large as asked for", "[task][thread]") {
    Runtime runtime;
    Seen record;
    seen = &record;
    MprThread *thread = mprCreateThread("worker", reinterpret_cast<void *>(look), nullptr, 40 << 20);
    REQUIRE(mprStartThread(thread) == 0);
    REQUIRE(until([&] { return record.done == 1 && stats().threads == 1; }));
    CHECK(record.stack >= 40 << 20);
}

TEST_CASE("a started thread is retained until it ends, and so is its managed data", "[task][thread]") {
    Runtime runtime;
    static Gate gate;
    static std::atomic<int> wrong, done;
    wrong = done = 0;
    calls.reset();
    Node *data = makeNode(makeNode(nullptr, nullptr, 2), nullptr, 1);
    MprThread *thread = mprCreateThread("worker", reinterpret_cast<void *>(+[](void *ptr, MprThread *) {
                                            while (!gate.isOpen()) {
                                                auto node = static_cast<Node *>(ptr);
                                                wrong += !mprIsValid(node) || node->value != 1 ||
                                                         !mprIsValid(node->next) || node->next->value != 2;
                                                mprYield(0);
                                            }
                                            done++;
                                        }),
                                        data, 0);
    REQUIRE(mprStartThread(thread) == 0);
    for (int i = 0; i < 20; i++) {
        collect();
        REQUIRE(mprIsValid(thread));
    }
    CHECK(calls.frees == 0);
    gate.open();
    REQUIRE(until([] { return done == 1 && stats().threads == 1; }));
    collect();
    CHECK(wrong == 0);
    CHECK(calls.frees == 2);
    CHECK_FALSE(mprIsValid(thread));
}

TEST_CASE("a thread that is never started is collected with its data", "[task][thread]") {
    Runtime runtime;
    calls.reset();
    MprThread *thread = mprCreateThread("idle", reinterpret_cast<void *>(look), makeNode(), 0);
    Root root(thread);
    collect();
    CHECK(mprIsValid(thread));
    CHECK(calls.frees == 0);
    root.set(nullptr);
    collect();
    CHECK_FALSE(mprIsValid(thread));
    CHECK(calls.frees == 1);
}

TEST_CASE("an attached thread has a name but no object", "[task][thread]") {
    Runtime runtime;
    std::string before, during, after;
    std::atomic<MprThread *> object{nullptr};
    std::atomic<int> attached{-1}, again{-1}, detached{-1}, detachedAgain{-1};
    mprYield(MPR_YIELD_STICKY);
    std::thread foreign([&] {
        before = mprGetCurrentThreadName();
        attached = mprAttachThread("guest");
        again = mprAttachThread("guest-again");
        during = mprGetCurrentThreadName();
        object = mprGetCurrentThread();
        detached = mprDetachThread();
        detachedAgain = mprDetachThread();
        after = mprGetCurrentThreadName();
    });
    foreign.join();
    mprResetYield();
    CHECK(before == "");
    CHECK(during == "guest");
    CHECK(after == "");
    CHECK(object == nullptr);
    CHECK(attached == 0);
    CHECK(again == MPR_ERR_BAD_STATE);
    CHECK(detached == 0);
    CHECK(detachedAgain == MPR_ERR_BAD_STATE);
    CHECK(mprAttachThread("main-again") == MPR_ERR_BAD_STATE);
    CHECK(mprGetCurrentThread() == nullptr);
}

TEST_CASE("an attached thread allocates, and what it rooted outlives it", "[task][thread]") {
    Runtime runtime;
    static Node *node;
    Mutator worker("worker", [](Mutator &) {
        node = makeNode(makeNode(nullptr, nullptr, 2), nullptr, 1);
        mprAddRoot(node);
    });
    worker.join();
    collect();
    CHECK(mprIsValid(node));
    CHECK(mprIsValid(node->next));
    CHECK(node->next->value == 2);
    mprRemoveRoot(node);
}

TEST_CASE("a thread that ends is detached by itself", "[task][thread]") {
    Runtime runtime("deadline=10000");
    for (int i = 0; i < 20; i++) {
        std::atomic<bool> ready{false};
        std::thread foreign([&] {
            mprAttachThread("forgetful");
            for (int j = 0; j < 100; j++) {
                mprAlloc(100);
            }
            ready = true;
        });
        mprYield(MPR_YIELD_STICKY);
        foreign.join();
        mprResetYield();
        REQUIRE(ready);
        REQUIRE(stats().threads == 1);
        collect();
    }
    CHECK(stats().late == 0);
}

TEST_CASE("a thread that ends is detached by itself although others detached before", "[task][thread]") {
    Runtime runtime;
    Gate gate;
    std::atomic<bool> attached{false};
    mprYield(MPR_YIELD_STICKY);
    std::thread forgetful([&] {
        mprAttachThread("forgetful");
        attached = true;
        mprYield(MPR_YIELD_STICKY);
        while (!gate.isOpen()) {
            pause(1);
        }
    });
    REQUIRE(untilUnyielded([&] { return attached.load(); }));
    mprResetYield();
    Mutator other("other", [](Mutator &) {});
    other.join();
    CHECK(stats().threads == 2);
    gate.open();
    forgetful.join();
    CHECK(stats().threads == 1);
    collect();
}

TEST_CASE("a thread may end or detach in a sticky yield or exempt", "[task][thread]") {
    Runtime runtime("deadline=10000");
    for (int i = 0; i < 40; i++) {
        mprYield(MPR_YIELD_STICKY);
        std::thread foreign([i] {
            mprAttachThread("leaver");
            mprAlloc(10);
            if (i & 1) {
                mprYield(MPR_YIELD_STICKY);
            } else {
                mprSetThreadYield(nullptr, false);
            }
            if (i & 2) {
                mprDetachThread();
            }
        });
        foreign.join();
        mprResetYield();
        REQUIRE(stats().threads == 1);
        collect();
    }
    CHECK(stats().late == 0);
}

TEST_CASE("a thread that the system refuses is reported", "[task][thread]") {
    if (sizeof(ssize) == 8 && emulator()) {
        WARN("not tried: an emulator would keep page tables for a stack of 64 TiB");
        return;
    }
    Runtime runtime;
    Seen record;
    seen = &record;
    ssize giant = sizeof(ssize) == 8 ? ssize(uint64(1) << 46) : ssize(1) << 30;
    // 32-bit systems may well have a gigabyte of addresses to give: take those first.
    std::vector<void *> taken;
    while (sizeof(ssize) == 4 && taken.size() < 4) {
        void *addresses = mmap(nullptr, size_t(giant), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (addresses == MAP_FAILED) {
            break;
        }
        taken.push_back(addresses);
    }
    MprThread *thread = mprCreateThread("giant", reinterpret_cast<void *>(look), nullptr, giant);
    if (thread) {
        CHECK(mprStartThread(thread) == MPR_ERR_CANT_CREATE);
    }
    CHECK(record.done == 0);
    CHECK(stats().threads == 1);
    collect();
    CHECK_FALSE(mprIsValid(thread));
    for (void *addresses : taken) {
        munmap(addresses, size_t(giant));
    }
}

TEST_CASE("a thread that cannot be attached again and again is named once a second, and how often it was not",
          "[task][thread]") {
    Runtime runtime;
    constexpr int times = 300;
    const auto second = [] { return static_cast<int>(mprGetHiResTicks() >> 30); }; // as messages are counted by
    const int begin = second();
    const auto attach = [&runtime] {
        std::thread([] { mprAttachThread("stranger"); }).join();
        return runtime.log.count("thread \"stranger\" cannot be attached");
    };
    noValues = true;
    for (int i = 0; i < times; i++) {
        attach();
    }
    const int named = attach();
    CHECK(named >= 1);
    CHECK(named <= 1 + second() - begin);
    std::thread([] { mprAttachThread("other"); }).join();
    CHECK(runtime.log.count("thread \"other\" cannot be attached") == 1); // one hides no other
    CHECK(runtime.log.has("such messages left out before this"));
    noValues = false;
}

TEST_CASE("a thread whose end could not be told is not attached, nor started", "[task][thread]") {
    Runtime runtime;
    Seen record;
    seen = &record;
    MprThread *thread = mprCreateThread("unlucky", reinterpret_cast<void *>(look), nullptr, 0);
    MprThreadLocal *local = mprCreateThreadLocal();
    int result = 0;
    noValues = true;
    std::thread([&result] { result = mprAttachThread("stranger"); }).join();
    CHECK(result == MPR_ERR_CANT_INITIALIZE);
    CHECK(mprStartThread(thread) == MPR_ERR_CANT_CREATE);
    CHECK(mprSetThreadData(local, &record) == MPR_ERR_MEMORY);
    noValues = false;
    CHECK(runtime.log.has("thread \"stranger\" cannot be attached"));
    CHECK(runtime.log.has("thread \"unlucky\" cannot be attached"));
    CHECK(record.done == 0);
    CHECK(stats().threads == 1);
    collect();
    // Nothing of it is left: the same calls do what they should.
    std::thread([&result] {
        result = mprAttachThread("stranger");
        mprDetachThread();
    }).join();
    CHECK(result == 0);
    CHECK(mprSetThreadData(mprCreateThreadLocal(), &record) == 0);
    CHECK(mprStartThread(mprCreateThread("lucky", reinterpret_cast<void *>(look), nullptr, 0)) == 0);
    CHECK(until([&record] { return record.done == 1 && stats().threads == 1; }));
    collect();
}

TEST_CASE("thread locals that are dropped leave nothing behind", "[task][thread]") {
    Runtime runtime;
    int value = 0;
    for (int i = 0; i < 5000; i++) {
        MprThreadLocal *local = mprCreateThreadLocal();
        REQUIRE(local);
        REQUIRE(mprGetThreadData(local) == nullptr);
        REQUIRE(mprSetThreadData(local, &value) == 0);
        if (i % 100 == 0) {
            collect();
        }
    }
}

TEST_CASE("the name of an attached thread is copied", "[task][thread]") {
    Runtime runtime("deadline=30");
    std::atomic<bool> busy{false};
    Gate gate;
    mprYield(MPR_YIELD_STICKY);
    std::thread foreign([&] {
        char name[] = "short-lived-name";
        mprAttachThread(name);
        memset(name, 'x', sizeof(name) - 1);
        busy = true;
        while (!gate.isOpen()) {
            mprNop(name);
        }
        mprDetachThread();
    });
    while (!busy) {
        pause(1);
    }
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    CHECK(untilUnyielded([&] { return runtime.log.has("short-lived-name"); }));
    gate.open();
    foreign.join();
    mprResetYield();
}

TEST_CASE("mprAttachThread waits while a collection marks", "[task][thread]") {
    Runtime runtime;
    static std::atomic<bool> marking;
    static std::atomic<int> early;
    early = 0;
    Root root(mprAllocManaged(
        8,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                marking = true;
                pause(10);
                marking = false;
            }
        },
        0));
    std::atomic<bool> stop{false};
    std::atomic<long> attached{0};
    std::thread guest([&] {
        while (!stop) {
            if (mprAttachThread("guest") == 0) {
                early += marking.load();
                attached++;
                mprDetachThread();
            }
        }
    });
    for (int i = 0; i < 30; i++) {
        collect();
    }
    CHECK(until([&] { return attached > 10; }));
    stop = true;
    mprYield(MPR_YIELD_STICKY);
    guest.join();
    mprResetYield();
    CHECK(early == 0);
}

TEST_CASE("workers block the program's signals, threads that they start do not", "[task][thread]") {
    static std::atomic<int> worker, thread;
    worker = thread = -1;
    static const auto blocked = [](int signo) {
        sigset_t set;
        pthread_sigmask(SIG_BLOCK, nullptr, &set);
        return sigismember(&set, signo);
    };
    sigset_t usr2, before;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &usr2, &before);
    {
        Runtime runtime;
        const auto look = [](void *, MprThread *) { thread = blocked(SIGUSR1) * 2 + blocked(SIGUSR2); };
        static void *const lookProc = reinterpret_cast<void *>(+look);
        REQUIRE(mprStartWorker(
                    [](void *, MprWorker *) {
                        worker = blocked(SIGUSR1) * 2 + blocked(SIGUSR2);
                        mprStartThread(mprCreateThread("from a worker", lookProc, nullptr, 0));
                    },
                    nullptr) == 0);
        CHECK(until([] { return thread >= 0; }));
        CHECK(worker == 3);
        CHECK(thread == 1);
        CHECK(until([] { return stats().threads <= 2; }));
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("thread data is one value per thread", "[task][thread]") {
    Runtime runtime;
    MprThreadLocal *first = mprCreateThreadLocal();
    MprThreadLocal *second = mprCreateThreadLocal();
    REQUIRE(first);
    REQUIRE(second);
    mprHoldBlocks(first, second, NULL);
    int a = 0, b = 0, c = 0;
    CHECK(mprGetThreadData(first) == nullptr);
    CHECK(mprSetThreadData(first, &a) == 0);
    CHECK(mprSetThreadData(second, &b) == 0);
    std::atomic<int> wrong{0};
    Mutator other("other", [&](Mutator &) {
        wrong += mprGetThreadData(first) != nullptr;
        wrong += mprSetThreadData(first, &c) != 0;
        wrong += mprGetThreadData(first) != &c;
        wrong += mprGetThreadData(second) != nullptr;
    });
    other.join();
    collect();
    CHECK(wrong == 0);
    CHECK(mprGetThreadData(first) == &a);
    CHECK(mprGetThreadData(second) == &b);
    CHECK(mprSetThreadData(first, nullptr) == 0);
    CHECK(mprGetThreadData(first) == nullptr);
    mprReleaseBlocks(first, second, NULL);
}

TEST_CASE("managed thread data is not marked: it needs a hold", "[task][thread]") {
    Runtime runtime;
    MprThreadLocal *local = mprCreateThreadLocal();
    mprHold(local);
    void *kept = mprAllocMem(20, MPR_ALLOC_HOLD);
    mprSetThreadData(local, kept);
    collect();
    CHECK(mprGetThreadData(local) == kept);
    CHECK(mprIsValid(kept));
    mprRelease(kept);
    collect();
    CHECK_FALSE(mprIsValid(kept));
    mprSetThreadData(local, nullptr);
    mprRelease(local);
}

TEST_CASE("an exempt thread does not keep a collection waiting", "[task][thread]") {
    Runtime runtime("deadline=10000,everyyield=0"); // collections are counted
    std::atomic<bool> exempt{false}, before{false}, after{true};
    std::atomic<uint64_t> steps{0};
    Gate gate;
    Mutator loner("loner", [&](Mutator &) {
        before = mprSetThreadYield(nullptr, false);
        exempt = true;
        while (!gate.isOpen()) {
            steps++;
        }
        after = mprSetThreadYield(nullptr, true);
        mprAlloc(10);
    });
    REQUIRE(until([&] { return exempt.load(); }));
    for (int i = 0; i < 10; i++) {
        collect();
    }
    CHECK(stats().collections == 10);
    CHECK(stats().late == 0);
    gate.open();
    loner.join();
    CHECK(before == true);
    CHECK(after == false);
    CHECK(steps > 0);
}

TEST_CASE("ending an exemption waits while a collection marks", "[task][thread]") {
    Runtime runtime;
    static std::atomic<bool> marking;
    static std::atomic<int> early;
    early = 0;
    Root root(mprAllocManaged(
        8,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                marking = true;
                pause(10);
                marking = false;
            }
        },
        0));
    Mutator loner("loner", [](Mutator &self) {
        while (self.go()) {
            mprSetThreadYield(nullptr, false);
            pause(2);
            mprSetThreadYield(nullptr, true);
            early += marking.load();
        }
    });
    for (int i = 0; i < 30; i++) {
        collect();
    }
    loner.end();
    CHECK(early == 0);
}

TEST_CASE("threads of the runtime see one another's blocks", "[task][thread]") {
    Runtime runtime;
    static Table *table;
    static std::atomic<int> done;
    static std::atomic<int> number;
    done = number = 0;
    table = makeTable(8);
    mprAddRoot(table);
    for (int i = 0; i < 8; i++) {
        MprThread *thread = mprCreateThread("writer", reinterpret_cast<void *>(+[](void *, MprThread *) {
                                                int mine = number++;
                                                table->items[mine] =
                                                    makeNode(nullptr, nullptr, static_cast<uintptr_t>(mine));
                                                done++;
                                            }),
                                            nullptr, 256 << 10);
        REQUIRE(mprStartThread(thread) == 0);
    }
    REQUIRE(until([] { return done == 8 && stats().threads == 1; }));
    collect();
    for (uintptr_t i = 0; i < 8; i++) {
        REQUIRE(mprIsValid(table->items[i]));
        REQUIRE(static_cast<Node *>(table->items[i])->value == i);
    }
    mprRemoveRoot(table);
}

TEST_CASE("a thousand short threads leave nothing behind", "[task][thread]") {
    Runtime runtime("young=256k");
    static std::atomic<int> done;
    done = 0;
    const int count = static_cast<int>(heavy(1000));
    uint64 heap = 0;
    for (int i = 0; i < count; i++) {
        if (i == count / 5) {
            collect();
            heap = stats().heap;
        }
        if (i % 2) {
            MprThread *thread = mprCreateThread("short", reinterpret_cast<void *>(+[](void *, MprThread *) {
                                                    mprAlloc(1000);
                                                    done++;
                                                }),
                                                nullptr, 256 << 10);
            REQUIRE(mprStartThread(thread) == 0);
            REQUIRE(until([i] { return done > i; }));
        } else {
            Mutator worker("short", [](Mutator &) {
                mprAlloc(1000);
                done++;
            });
            worker.join();
        }
    }
    REQUIRE(until([] { return stats().threads == 1; }));
    collect();
    CHECK(done == count);
    CHECK(stats().heap <= heap + (1 << 20));
}

namespace {

/*
    The load of the long test: each thread builds lists whose nodes count down and carry a filled leaf, checks them
    after every yield, and swaps whole lists with other threads through a shared table.
 */
struct Exchange {
    std::mutex mutex;
    Table *table;
};
Exchange exchange;
constexpr size_t slots = 64;
std::atomic<long> brokenNodes, listsChecked;

Node *makeList(size_t length, Random &random) {
    Root head;
    for (size_t i = 0; i < length; i++) {
        size_t size = 8 + random.below(200);
        auto leaf = static_cast<unsigned char *>(mprAlloc(size));
        fill(leaf, size, i);
        leaf[0] = static_cast<unsigned char>(size);
        head.set(makeNode(head.as<Node>(), leaf, i));
    }
    return head.as<Node>();
}

void checkList(const Node *node) {
    for (; node; node = node->next) {
        auto leaf = static_cast<const unsigned char *>(node->data);
        if (!mprIsValid(node) || !mprIsValid(leaf) || !filled(leaf, leaf[0], node->value, 1) ||
            (node->next && node->next->value + 1 != node->value) || (!node->next && node->value != 0)) {
            brokenNodes++;
            return;
        }
    }
    listsChecked++;
}

void churn(Mutator &self, uint64_t seed) {
    Random random(seed);
    Root mine(makeTable(8));
    while (self.go()) {
        auto table = mine.as<Table>();
        size_t at = random.below(table->count);
        switch (random.below(8)) {
        case 0:
        case 1:
        case 2: {
            Node *list = makeList(1 + random.below(200), random);
            mine.as<Table>()->items[at] = list;
            break;
        }
        case 3:
        case 4: {
            std::lock_guard guard(exchange.mutex);
            std::swap(table->items[at], exchange.table->items[random.below(slots)]);
            break;
        }
        case 5:
            if (random.chance(20)) {
                sleepYielded(1);
            }
            break;
        case 6:
            if (random.chance(3)) {
                mprGC(MPR_GC_FORCE | (random.chance(50) ? MPR_GC_NO_BLOCK : MPR_GC_COMPLETE));
            }
            break;
        default: mprYield(0);
        }
        checkList(static_cast<Node *>(mine.as<Table>()->items[at]));
    }
}

} // namespace

TEST_CASE("eight threads under load keep every structure whole while threads come and go", "[task][thread]") {
    Runtime runtime("young=256k,region=256k", 0, 120);
    brokenNodes = listsChecked = 0;
    exchange.table = makeTable(slots);
    mprAddRoot(exchange.table);
    std::atomic<long> guests{0};
    {
        std::vector<std::unique_ptr<Mutator>> mutators;
        for (uint64_t i = 0; i < 8; i++) {
            mutators.push_back(std::make_unique<Mutator>("churner", [i](Mutator &self) { churn(self, i); }));
        }
        Random random(99);
        const auto enough = [&] { return stats().collections > 10 && listsChecked > 1000 && guests > 10; };
        for (Stretch stretch(3000); stretch.lasts(enough);) {
            bool detaches = random.chance(50);
            uint64_t seed = random.next();
            mprYield(MPR_YIELD_STICKY);
            std::thread guest([&guests, detaches, seed] {
                mprAttachThread("guest");
                Random own(seed);
                checkList(makeList(100, own));
                mprYield(0);
                mprAlloc(50);
                guests++;
                if (detaches) {
                    mprDetachThread();
                }
            });
            guest.join();
            mprResetYield();
            if (random.chance(10)) {
                collect();
            }
        }
    }
    CHECK(brokenNodes == 0);
    CHECK(listsChecked > 1000);
    CHECK(guests > 10);
    CHECK(stats().collections > 10);
    CHECK(stats().threads == 1);
    CHECK(stats().misuses == 0);
    for (size_t i = 0; i < slots; i++) {
        checkList(static_cast<Node *>(exchange.table->items[i]));
    }
    CHECK(brokenNodes == 0);
    mprRemoveRoot(exchange.table);
}

TEST_CASE("the check of a list fires", "[task][thread]") {
    Runtime runtime;
    Random random(1);
    brokenNodes = 0;
    Node *list = makeList(10, random);
    checkList(list);
    CHECK(brokenNodes == 0);
    static_cast<unsigned char *>(list->next->data)[3] ^= 1;
    checkList(list);
    CHECK(brokenNodes == 1);
    static_cast<unsigned char *>(list->next->data)[3] ^= 1;
    list->next->value = 77;
    checkList(list);
    CHECK(brokenNodes == 2);
}

TEST_CASE("a value per thread that is dead gives nothing of another's", "[task][thread]") {
    Runtime runtime;
    static int mine, others;
    static std::atomic<int> wrong, set;
    wrong = set = 0;
    useWhileDying([] { return mprCreateThreadLocal(); },
                  [](void *ptr) {
                      auto *tls = static_cast<MprThreadLocal *>(ptr);
                      if (mprSetThreadData(tls, &mine) == 0) {
                          set++; // it has not been finalized
                          return;
                      }
                      pthread_key_t key; // the one that was dropped, mostly
                      pthread_key_create(&key, nullptr);
                      pthread_setspecific(key, &others);
                      wrong += mprGetThreadData(tls) != nullptr;
                      wrong += mprSetThreadData(tls, &mine) == 0 || pthread_getspecific(key) != &others;
                      pthread_key_delete(key);
                  });
    CHECK(wrong == 0);
    CHECK((set < Dying::users || inTrial()));
}

TEST_CASE("managers start no thread with what is dead", "[task][thread]") {
    Runtime runtime("poison=1");
    static std::atomic<int> started;
    started = 0;
    const auto run = [](void *, MprThread *) { started++; };
    static void *const proc = reinterpret_cast<void *>(static_cast<MprThreadProc>(run));
    useWhileDying([] { return mprCreateThread("late", proc, nullptr, 0); },
                  [](void *ptr) { mprStartThread(static_cast<MprThread *>(ptr)); });
    useWhileDying([] { return mprAlloc(40); },
                  [](void *ptr) {
                      mprStartThread(mprCreateThread("late", proc, ptr, 0));
                      mprStartWorker([](void *, MprWorker *) { started++; }, ptr);
                  });
    CHECK(started == 0);
    CHECK(stats().misuses == 3 * Dying::users);
    CHECK(Log::has("mprStartThread"));
    CHECK(Log::has("mprStartWorker"));
}
