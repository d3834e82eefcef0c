// SPDX-License-Identifier: MIT
/*
    test/task/lock.cpp - Locks, spin locks, conditions, atomics: what they exclude, and what waits for them does not stall.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

using namespace test;

namespace {

/* An object as programs lock it. */
struct Account {
    MprMutex *mutex;
    long balance;
};

void manageAccount(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(static_cast<Account *>(ptr)->mutex);
    }
}

long elapsed(std::chrono::steady_clock::time_point since) {
    auto span = std::chrono::steady_clock::now() - since;
    return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

/* A thread that takes a lock and lets it go. */
struct Taker {
    explicit Taker(MprMutex *mutex)
        : thread("waiter", [this, mutex](Mutator &) {
              begun = true;
              mprLock(mutex);
              mprUnlock(mutex);
              done = true;
          }) {}
    std::atomic<bool> begun{false}, done{false};
    Mutator thread;
};

} // namespace

TEST_CASE("lock and unlock exclude one another by an object's mutex", "[task][lock]") {
    Runtime runtime("deadline=10000");
    static Account *account;
    account = mprAllocObj(Account, manageAccount);
    Root root(account);
    account->mutex = mprCreateLock();
    REQUIRE(account->mutex);
    const long rounds = static_cast<long>(heavy(20000));
    {
        std::vector<std::unique_ptr<Mutator>> threads;
        for (int i = 0; i < 4; i++) {
            threads.push_back(std::make_unique<Mutator>("teller", [rounds](Mutator &) {
                for (long n = 0; n < rounds; n++) {
                    lock(account);
                    account->balance++;
                    unlock(account);
                    if (n % 100 == 0) {
                        mprYield(0);
                    }
                }
            }));
        }
        for (int i = 0; i < 20; i++) {
            collect();
        }
    }
    CHECK(account->balance == 4 * rounds);
    CHECK(stats().late == 0);
}

TEST_CASE("a lock is recursive for its owner only", "[task][lock]") {
    Runtime runtime;
    MprMutex *mutex = mprCreateLock();
    Root root(mutex);
    mprLock(mutex);
    CHECK(mprTryLock(mutex));
    mprLock(mutex);
    std::atomic<int> got{-1};
    {
        Mutator other("other", [&](Mutator &) { got = mprTryLock(mutex); });
        other.join();
    }
    CHECK(got == 0);
    mprUnlock(mutex);
    mprUnlock(mutex);
    mprUnlock(mutex);
    {
        Mutator other("other", [&](Mutator &) {
            got = mprTryLock(mutex);
            mprUnlock(mutex);
        });
        other.join();
    }
    CHECK(got == 1);
}

TEST_CASE("an unlock by the wrong thread, and one too many, are refused and named", "[task][lock]") {
    Runtime runtime;
    MprMutex *mutex = mprCreateLock();
    Root root(mutex);
    mprUnlock(mutex);
    CHECK(Log::names(mutex) == 1);
    mprLock(mutex);
    {
        Mutator other("other", [&](Mutator &) { mprUnlock(mutex); });
        other.join();
    }
    CHECK(Log::names(mutex) == 2);
    std::atomic<int> got{-1};
    {
        Mutator other("other", [&](Mutator &) { got = mprTryLock(mutex); });
        other.join();
    }
    CHECK(got == 0);
    mprUnlock(mutex);
}

TEST_CASE("a thread that waits for a lock does not keep a collection waiting", "[task][lock]") {
    Runtime runtime("deadline=10000"); // which a busy machine keeps, and a wait that never yields does not
    MprMutex *mutex = mprCreateLock();
    Root root(mutex);
    mprLock(mutex);
    Taker waiter(mutex);
    REQUIRE(until([&] { return waiter.begun.load(); }));
    for (int i = 0; i < 10; i++) {
        collect();
    }
    CHECK_FALSE(waiter.done);
    CHECK(stats().late == 0);
    mprUnlock(mutex);
    CHECK(until([&] { return waiter.done.load(); }));
}

TEST_CASE("a lock that is waited for is held", "[task][lock]") {
    Runtime runtime;
    MprMutex *mutex = mprCreateLock();
    mprHold(mutex);
    mprLock(mutex);
    Taker waiter(mutex);
    REQUIRE(until([&] { return waiter.begun.load(); }));
    sleepYielded(20);
    mprRelease(mutex);
    collect();
    CHECK(mprIsValid(mutex));
    mprUnlock(mutex);
    CHECK(until([&] { return waiter.done.load(); }));
}

TEST_CASE("a manager may lock what the application locks", "[task][lock]") {
    Runtime runtime;
    static MprMutex embedded;
    static std::atomic<int> freed;
    freed = 0;
    mprInitLock(&embedded);
    for (int i = 0; i < 200; i++) {
        mprAllocManaged(
            16,
            [](void *, int flags) {
                if (flags & MPR_MANAGE_FREE) {
                    mprLock(&embedded);
                    freed++;
                    mprUnlock(&embedded);
                }
            },
            0);
    }
    mprLock(&embedded);
    mprGC(MPR_GC_FORCE);
    mprUnlock(&embedded);
    CHECK(until([] { return freed == 200; }));
}

TEST_CASE("locks tolerate NULL", "[task][lock]") {
    Runtime runtime;
    mprLock(nullptr);
    mprUnlock(nullptr);
    CHECK_FALSE(mprTryLock(nullptr));
    mprSpinLock(nullptr);
    mprSpinUnlock(nullptr);
    CHECK_FALSE(mprTrySpinLock(nullptr));
    mprSignalCond(nullptr);
    mprResetCond(nullptr);
    CHECK(mprWaitForCond(nullptr, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprInitLock(nullptr) == nullptr);
    CHECK(mprInitSpinLock(nullptr) == nullptr);
    CHECK(Log::size() == 0);
}

TEST_CASE("locks work on foreign threads and without a runtime", "[task][lock]") {
    static MprMutex mutex;
    static MprSpin spin;
    mprInitLock(&mutex);
    mprInitSpinLock(&spin);
    long count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            for (int n = 0; n < 2000; n++) {
                mprGlobalLock();
                mprGlobalLock();
                mprLock(&mutex);
                mprSpinLock(&spin);
                count++;
                mprSpinUnlock(&spin);
                mprUnlock(&mutex);
                mprGlobalUnlock();
                mprGlobalUnlock();
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    CHECK(count == 8000);
}

TEST_CASE("spin locks exclude one another, and never yield", "[task][lock]") {
    Runtime runtime;
    MprSpin *spin = mprCreateSpinLock();
    REQUIRE(spin);
    Root root(spin);
    long count = 0;
    std::atomic<int> lost{0};
    const long rounds = static_cast<long>(heavy(20000));
    {
        std::vector<std::unique_ptr<Mutator>> threads;
        for (int i = 0; i < 3; i++) {
            threads.push_back(std::make_unique<Mutator>("spinner", [&](Mutator &) {
                for (long n = 0; n < rounds; n++) {
                    Node *node = makeNode(nullptr, nullptr, 7);
                    mprSpinLock(spin);
                    count++;
                    mprSpinUnlock(spin);
                    lost += node && node->value != 7;
                    mprYield(0);
                }
            }));
        }
        for (int i = 0; i < 10; i++) {
            collect();
        }
    }
    CHECK(count == 3 * rounds);
    CHECK(lost == 0);
    CHECK(mprTrySpinLock(spin));
    CHECK_FALSE(mprTrySpinLock(spin));
    mprSpinUnlock(spin);
    mprSpinUnlock(spin);
    CHECK(Log::names(spin) == 1);
}

TEST_CASE("a condition is taken by one wait, and signals do not add up", "[task][cond]") {
    Runtime runtime;
    MprCond *cond = mprCreateCond();
    REQUIRE(cond);
    Root root(cond);
    CHECK(mprWaitForCond(cond, 0) == MPR_ERR_TIMEOUT);
    mprSignalCond(cond);
    mprSignalCond(cond);
    CHECK(mprWaitForCond(cond, -1) == 0);
    CHECK(mprWaitForCond(cond, 0) == MPR_ERR_TIMEOUT);
    mprSignalCond(cond);
    mprResetCond(cond);
    CHECK(mprWaitForCond(cond, 1) == MPR_ERR_TIMEOUT);
}

TEST_CASE("a wait with a timeout takes that long", "[task][cond]") {
    Runtime runtime;
    MprCond *cond = mprCreateCond();
    Root root(cond);
    auto begin = std::chrono::steady_clock::now();
    CHECK(mprWaitForCond(cond, 30) == MPR_ERR_TIMEOUT);
    CHECK(elapsed(begin) >= 30);
}

TEST_CASE("a wait for a condition lets collections pass, and holds the condition", "[task][cond]") {
    Runtime runtime("deadline=10000");
    MprCond *cond = mprCreateCond();
    mprHold(cond);
    std::atomic<int> result{1};
    std::atomic<bool> begun{false};
    Mutator waiter("waiter", [&](Mutator &) {
        begun = true;
        result = mprWaitForCond(cond, -1);
    });
    REQUIRE(until([&] { return begun.load(); }));
    sleepYielded(20);
    mprRelease(cond);
    for (int i = 0; i < 5; i++) {
        collect();
    }
    REQUIRE(mprIsValid(cond));
    mprSignalCond(cond);
    waiter.join();
    CHECK(result == 0);
    CHECK(stats().late == 0);
}

TEST_CASE("a signal wakes one waiter", "[task][cond]") {
    Runtime runtime;
    MprCond *cond = mprCreateCond();
    Root root(cond);
    std::atomic<int> awake{0};
    {
        std::vector<std::unique_ptr<Mutator>> threads;
        for (int i = 0; i < 4; i++) {
            threads.push_back(std::make_unique<Mutator>("waiter", [&](Mutator &) {
                mprWaitForCond(cond, -1);
                awake++;
            }));
        }
        for (int i = 1; i <= 4; i++) {
            mprSignalCond(cond);
            REQUIRE(until([&] { return awake == i; }));
            sleepYielded(5);
            CHECK(awake == i);
        }
    }
}

TEST_CASE("a foreign thread signals", "[task][cond]") {
    Runtime runtime;
    MprCond *ping = mprCreateCond(), *pong = mprCreateCond();
    Root one(ping), two(pong);
    std::thread foreign([&] {
        for (int i = 0; i < 200; i++) {
            while (mprWaitForCond(ping, 1000) != 0) {}
            mprSignalCond(pong);
        }
    });
    for (int i = 0; i < 200; i++) {
        mprSignalCond(ping);
        REQUIRE(mprWaitForCond(pong, 20000) == 0);
        if (i % 20 == 0) {
            collect();
        }
    }
    mprYield(MPR_YIELD_STICKY);
    foreign.join();
    mprResetYield();
}

TEST_CASE("a wait inside a sticky yield leaves the thread yielded", "[task][cond]") {
    Runtime runtime("deadline=10000");
    MprCond *cond = mprCreateCond();
    mprHold(cond);
    std::atomic<bool> waited{false}, go{false};
    Mutator other("other", [&](Mutator &) {
        mprYield(MPR_YIELD_STICKY);
        mprWaitForCond(cond, 1);
        mprSleep(1);
        waited = true;
        while (!go) {
            pause(1);
        }
        mprResetYield();
    });
    REQUIRE(until([&] { return waited.load(); }));
    collect();
    CHECK(stats().late == 0);
    go = true;
    other.join();
    mprRelease(cond);
}

TEST_CASE("mprSleep sleeps as long as asked for, and yields", "[task][sleep]") {
    Runtime runtime("deadline=50");
    auto begin = std::chrono::steady_clock::now();
    mprSleep(25);
    CHECK(elapsed(begin) >= 25);
    mprSleep(0);
    mprSleep(-5);
    // A busy machine may make a thread late that yields. One that does not would be late each time.
    uint64 late = 1;
    for (int tries = 0; tries < 20 && late != 0; tries++) {
        std::atomic<bool> asleep{false};
        Mutator sleeper("sleeper", [&](Mutator &) {
            asleep = true;
            mprSleep(150);
        });
        REQUIRE(until([&] { return asleep.load(); }));
        late = stats().late;
        collect();
        late = stats().late - late;
    }
    CHECK(late == 0);
}

TEST_CASE("atomic operations", "[task][atomic]") {
    int value = 5;
    mprAtomicAdd(&value, -7);
    CHECK(value == -2);
    int64 wide = 1;
    mprAtomicAdd64(&wide, int64(1) << 40);
    CHECK(wide == (int64(1) << 40) + 1);
    int a = 0, b = 0;
    void *volatile pointer = &a;
    CHECK(mprAtomicCas(&pointer, &b, nullptr) == 0);
    CHECK(pointer == &a);
    CHECK(mprAtomicCas(&pointer, &a, &b) == 1);
    CHECK(pointer == &b);
    mprAtomicBarrier();
    std::vector<std::thread> threads;
    int sum = 0;
    int64 total = 0;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            for (int n = 0; n < 10000; n++) {
                mprAtomicAdd(&sum, 1);
                mprAtomicAdd64(&total, 2);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    CHECK(sum == 40000);
    CHECK(total == 80000);
}
