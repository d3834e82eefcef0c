// SPDX-License-Identifier: MIT
/*
    test/gc/life.cpp - The runtime's life: create, configure, log, terminators, destroy, and again.
 */
#include "mpr/heap/options.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace test;

TEST_CASE("one runtime exists at a time", "[gc][life]") {
    Runtime runtime;
    CHECK(mprCreate(0, nullptr, 0) == nullptr);
    static char buffer[64 << 10];
    CHECK(mprCreateInBuffer(buffer, sizeof(buffer), 0) == nullptr);
    CHECK(mprAlloc(10));
}

TEST_CASE("mprDestroy without a runtime is refused", "[gc][life]") {
    Log log;
    CHECK_FALSE(mprDestroy());
}

TEST_CASE("mprDestroy with attached threads is refused and names them", "[gc][life]") {
    Runtime runtime;
    Node *node = makeNode(nullptr, nullptr, 7);
    mprHold(node);
    Mutator worker("lingering-worker", [](Mutator &self) {
        while (self.go()) {
            mprYield(0);
        }
    });
    CHECK_FALSE(mprDestroy());
    CHECK(runtime.log.has("lingering-worker"));
    CHECK(mprIsValid(node));
    CHECK(node->value == 7);
    worker.end();
    mprRelease(node);
}

TEST_CASE("a runtime ends, and the next begins, while a thread is on its last steps out of it", "[gc][life]") {
    // That nobody touches what the next runtime has made anew is for the thread sanitizer to see.
    Runtime runtime("", 0, 200); // seconds, for a machine that has other work
    for (size_t i = 0; i < heavy(2000); i++) {
        std::atomic<bool> attached{false};
        std::thread other([&] {
            mprAttachThread("other");
            attached = true;
            mprDetachThread();
        });
        while (!attached) {
            mprYield(0);
        }
        while (!mprDestroy()) {}
        REQUIRE(mprCreate(0, nullptr, 0));
        other.join();
    }
}

TEST_CASE("threads may attach while a runtime ends and the next begins", "[gc][life]") {
    Log log;
    Watchdog watchdog(120);
    std::atomic<bool> over{false};
    std::vector<std::thread> visitors;
    for (int i = 0; i < 3; i++) {
        visitors.emplace_back([&over] {
            while (!over) {
                if (mprAttachThread("visitor") == 0) {
                    mprAlloc(100);
                    mprDetachThread();
                }
                for (int pause = 0; pause < 20; pause++) {
                    std::this_thread::yield();
                }
            }
        });
    }
    bool created = true;
    for (size_t life = 0; created && life < heavy(300); life++) {
        created = mprCreate(0, nullptr, 0);
        while (created && !mprDestroy()) { // somebody is attached
            mprYield(0);
        }
    }
    over = true;
    for (std::thread &visitor : visitors) {
        visitor.join();
    }
    CHECK(created);
}

TEST_CASE(
    "threads that are not attached may use permanent memory while a runtime ends, and ask for it while one begins",
    "[gc][life]") {
    Log log;
    Watchdog watchdog(120);
    std::atomic<bool> over{false}, begins{false};
    std::atomic<int> users{0};
    std::atomic<size_t> made{0}, used{0}, refused{0};
    std::thread asks([&] {
        while (!over) {
            (palloc(100) ? made : refused)++;
        }
    });
    std::thread uses([&] {
        while (!over) {
            users++;
            if (!begins) { // in which a block of the last one would be any of its own
                pfree(prealloc(palloc(100), 1000));
                pfree(palloc(6 << 20));
                used++;
            }
            users--;
        }
    });
    bool created = true;
    for (size_t life = 0; created && life < heavy(100); life++) {
        begins = true;
        while (users > 0) {
            std::this_thread::yield();
        }
        created = mprCreate(0, nullptr, 0);
        begins = false;
        const size_t madeBefore = made, usedBefore = used;
        while (created && (made < madeBefore + 3 || used < usedBefore + 3)) {
            mprYield(0);
        }
        created = created && mprDestroy();
    }
    over = true;
    asks.join();
    uses.join();
    CHECK(created);
    CHECK(refused > 0);
    CHECK(log.has("palloc: thread"));
}

TEST_CASE("threads that are not attached may set limits and turn the collector on while a runtime ends or begins",
          "[gc][life]") {
    Log log;
    Watchdog watchdog(120);
    std::atomic<bool> over{false};
    std::atomic<size_t> calls{0};
    std::thread sets([&] {
        while (!over) {
            mprSetMemLimits(0, 0, -1);
            mprEnableGC(true);
            calls++;
        }
    });
    bool created = true;
    for (size_t life = 0; created && life < heavy(300); life++) {
        const size_t before = calls;
        created = mprCreate(0, nullptr, 0);
        while (created && calls < before + 3) {
            mprYield(0);
        }
        created = created && mprDestroy();
    }
    over = true;
    sets.join();
    CHECK(created);
}

TEST_CASE("a thread that is not attached may set limits while others collect", "[gc][life]") {
    // That budgets are read and written in order is for the thread sanitizer to see.
    cchar *options = GENERATE("young=64k,everyyield=0", "young=64k,everyyield=1");
    Runtime runtime(options);
    std::atomic<bool> over{false};
    std::atomic<int> sets{0};
    std::thread setter([&] {
        while (!over) {
            mprSetMemLimits(200 << 20, 400 << 20, -1);
            sets++;
        }
    });
    const auto before = stats().collectionsMinor;
    for (size_t i = 0; i < heavy(2000) || stats().collectionsMinor < before + 5 || sets < 10; i++) {
        mprAlloc(1000);
        mprYield(0);
    }
    over = true;
    setter.join();
    CHECK(runtime.log.size() == 0);
    CHECK(stats().maxHeap == 400 << 20);
}

/* What two regions have, a stack of the test's own, and a little. */
constexpr size_t ofFreshRuntime = (size_t{2} << mpr::heap::defaultRegionShift) + (16 << 20);

TEST_CASE("a fresh runtime may write little more than its two regions", "[gc][life]") {
    if (sanitized) {
        return; // a sanitizer's own mappings are many
    }
    const size_t before = writableBytes();
    Runtime runtime;
    REQUIRE(mprAlloc(100));
    mprGC(MPR_GC_FORCE);
    CHECK(writableBytes() - before < ofFreshRuntime);
}

/* All that the process maps is locked while this exists, if the system lets it lock much. */
struct LocksAll {
    LocksAll() {
        constexpr size_t much = size_t{256} << 20;
        void *trial =
            mlockall(MCL_FUTURE) == 0 ? mmap(nullptr, much, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
        may = trial != MAP_FAILED && munmap(trial, much) == 0;
    }
    ~LocksAll() { munlockall(); }

    bool may;
};

TEST_CASE("a fresh runtime takes little more than its two regions where all that is mapped is locked", "[gc][life]") {
    const LocksAll locks;
    if (sanitized || emulator() || !locks.may) {
        return;
    }
    const size_t before = residentBytes();
    Runtime runtime;
    REQUIRE(mprAlloc(100));
    CHECK(residentBytes() - before < ofFreshRuntime);
}

TEST_CASE("200 lives leak nothing", "[gc][life]") {
    int maps = 0, threads = 0;
    size_t resident = 0;
    for (int life = 0; life < 200; life++) {
        if (life == 20) {
            maps = countLines("/proc/self/maps");
            threads = threadCount();
            resident = residentBytes();
        }
        Runtime runtime;
        calls.reset();
        Root root;
        for (uintptr_t i = 0; i < heavy(2000); i++) {
            root.set(makeNode(root.as<Node>(), mprAlloc(200), i));
        }
        mprHold(mprAlloc(100000));
        mprAddRoot(makeNode());
        mprAlloc(6 << 20);
        collect();
        mprHold(mprAlloc(6 << 20));
    }
    if (!sanitized) {
        INFO("maps " << maps << " to " << countLines("/proc/self/maps"));
        INFO("resident " << resident << " to " << residentBytes());
        CHECK(countLines("/proc/self/maps") <= maps + 2);
        if (!emulator()) { // whose own memory it would be
            CHECK(residentBytes() <= resident + (1 << 20));
        }
        // The system counts a thread for a moment after it was joined.
        CHECK(until([&] { return threadCount() <= threads; }));
    }
}

TEST_CASE("200 lives in threads of their own leak nothing", "[gc][life]") {
    int maps = 0;
    bool created = true, destroyed = true;
    Log log;
    Watchdog watchdog(60);
    for (int life = 0; life < 200; life++) {
        if (life == 20) {
            maps = countLines("/proc/self/maps");
        }
        std::thread owner([&] {
            created = created && mprCreate(0, nullptr, 0);
            mprAlloc(100);
            destroyed = destroyed && mprDestroy();
        });
        owner.join();
    }
    CHECK(created);
    CHECK(destroyed);
    if (!sanitized) {
        CHECK(countLines("/proc/self/maps") <= maps + 2);
    }
}

TEST_CASE("a bad option is refused by mprConfigure, and the log names it", "[gc][life]") {
    Log log;
    struct Bad {
        cchar *spec, *named;
    };
    auto bad = GENERATE(Bad{"regoin=4m", "regoin"}, Bad{"region=3m", "region=3m"}, Bad{"region=", "region="},
                        Bad{"region=-4m", "region=-4m"}, Bad{"young=many", "young=many"}, Bad{"deadline", "deadline"},
                        Bad{"young=1m,stack=64q", "stack=64q"}, Bad{"region=99999999999999999999", "region=9999"},
                        Bad{"=4m", "=4m"});
    INFO(bad.spec << "\n" << log.text());
    CHECK(mprConfigure(bad.spec) == MPR_ERR_BAD_ARGS);
    CHECK(log.has(bad.named));
    mprConfigure(nullptr);
}

TEST_CASE("a refused mprConfigure changes nothing", "[gc][life]") {
    Log log;
    Watchdog watchdog(60);
    CHECK(mprConfigure("young=3m") == 0);
    CHECK(mprConfigure("young=9m,nonsense=1") == MPR_ERR_BAD_ARGS);
    REQUIRE(mprCreate(0, nullptr, 0));
    CHECK(stats().youngBudget >= 3 << 20);
    CHECK(stats().youngBudget < 9 << 20);
    CHECK(mprDestroy());
    CHECK(mprConfigure("") == 0);
}

TEST_CASE("every option of the documentation is accepted", "[gc][life]") {
    Runtime runtime("region=512k,reserve=1m,young=1m,growth=50,stack=128k,marks=8k,deadline=100");
    CHECK(mprAlloc(100));
    CHECK(stats().heap >= 1 << 20);
    collect();
}

TEST_CASE("an extreme option is refused with its name, or works", "[gc][life][large]") {
    auto spec =
        GENERATE("region=1", "region=4k", "region=64k", "region=1g", "region=8e", "marks=1", "marks=64m", "stack=0",
                 "stack=1", "stack=16k", "young=0", "young=1", "young=1t", "growth=0", "growth=1", "growth=100000",
                 "deadline=0", "deadline=1", "deadline=9999999999", "reserve=100m", "reserve=1");
    Log log;
    Watchdog watchdog(60);
    INFO(spec);
    bool works = false;
    if (mprConfigure(spec) == 0 && mprCreate(0, nullptr, 0)) {
        works = true;
        Root root;
        for (uintptr_t i = 0; i < 1000; i++) {
            root.set(makeNode(root.as<Node>(), mprAlloc(i * 10), i));
            mprYield(0);
        }
        collect();
        size_t kept = 0;
        for (Node *node = root.as<Node>(); node; node = node->next) {
            kept += mprIsValid(node) && mprIsValid(node->data);
        }
        CHECK(kept == 1000);
        CHECK(mprVerifyHeap() == 0);
    }
    if (works) {
        CHECK(mprDestroy());
    } else {
        CHECK(log.has(std::string(spec).substr(0, 5)));
    }
    mprConfigure(nullptr);
}

TEST_CASE("options come from MPR_OPTIONS, too, after mprConfigure", "[gc][life]") {
    setenv("MPR_OPTIONS", "young=5m", 1);
    {
        Runtime runtime("young=2m");
        CHECK(stats().youngBudget >= 5 << 20);
    }
    unsetenv("MPR_OPTIONS");
}

TEST_CASE("a bad MPR_OPTIONS is named and no runtime made", "[gc][life]") {
    Log log;
    setenv("MPR_OPTIONS", "yuong=5m", 1);
    CHECK(mprCreate(0, nullptr, 0) == nullptr);
    CHECK(log.has("yuong"));
    unsetenv("MPR_OPTIONS");
    REQUIRE(mprCreate(0, nullptr, 0));
    CHECK(mprDestroy());
}

TEST_CASE("a reserve is committed from the start and never given back", "[gc][life]") {
    Runtime runtime("region=256k,reserve=8m");
    mprSetMemLimits(0, 0, 0);
    CHECK(stats().heap >= 8 << 20);
    mprAlloc(16 << 20);
    collect();
    collect();
    CHECK(stats().heap >= 8 << 20);
    CHECK(stats().heap < 24 << 20);
}

namespace {

int terminated[32], terminatedCount, terminatedState, terminatedHow;

template <int Number>
void terminator(int state, int how, int) {
    terminated[terminatedCount++] = Number;
    terminatedState = state;
    terminatedHow = how;
}

} // namespace

TEST_CASE("terminators run in order when the runtime ends, once", "[gc][life]") {
    terminatedCount = 0;
    {
        Runtime runtime;
        mprAddTerminator(terminator<3>);
        mprAddTerminator(terminator<1>);
        mprAddTerminator(terminator<2>);
        CHECK(terminatedCount == 0);
    }
    REQUIRE(terminatedCount == 3);
    CHECK(terminated[0] == 3);
    CHECK(terminated[1] == 1);
    CHECK(terminated[2] == 2);
    CHECK(terminatedState == 1);
    CHECK(terminatedHow == 0);
    { Runtime runtime; }
    CHECK(terminatedCount == 3);
}

TEST_CASE("the seventeenth terminator is refused with a message", "[gc][life]") {
    terminatedCount = 0;
    {
        Runtime runtime;
        for (int i = 0; i < 16; i++) {
            mprAddTerminator(terminator<1>);
        }
        CHECK(runtime.log.size() == 0);
        mprAddTerminator(terminator<2>);
        CHECK(runtime.log.size() == 1);
    }
    CHECK(terminatedCount == 16);
}

TEST_CASE("mprSetLogHandler returns the handler before", "[gc][life]") {
    MprLogHandler mine = [](cchar *, int, cchar *) {};
    MprLogHandler before = mprSetLogHandler(mine);
    CHECK(mprSetLogHandler(before) == mine);
}

TEST_CASE("without a runtime, questions are answered and calls refused", "[gc][life]") {
    Log log;
    int local = 0;
    CHECK_FALSE(mprIsValid(&local));
    CHECK(mprGetBlockSize(&local) == 0);
    CHECK(mprAlloc(10) == nullptr);
    CHECK(mprAttachThread("early") == MPR_ERR_BAD_STATE);
    CHECK_FALSE(mprNeedYield());
    mprYield(0);
}

namespace {
pthread_key_t keys[5000];

/* Take all keys that the system has, each with a value. @return How many. */
int takeAllKeys() {
    int taken = 0;
    while (taken < 5000 && pthread_key_create(&keys[taken], nullptr) == 0) {
        pthread_setspecific(keys[taken], &keys[taken]);
        taken++;
    }
    return taken;
}

bool keepTheirValues(int taken) {
    for (int i = 0; i < taken; i++) {
        if (pthread_getspecific(keys[i]) != &keys[i]) {
            return false;
        }
    }
    return true;
}
} // namespace

TEST_CASE("no key left: child", "[.][child]") {
    int taken = takeAllKeys();
    mark(mprCreate(0, nullptr, 0) ? "made" : "refused");
    mark(keepTheirValues(taken) ? "values kept" : "values overwritten");
    pthread_key_delete(keys[--taken]);
    mark(mprCreate(0, nullptr, 0) ? "made later" : "refused later");
    mark(keepTheirValues(taken) ? "values kept again" : "values overwritten later");
    mark(mprDestroy() ? "ended" : "not ended");
    _exit(0);
}

TEST_CASE("without a key to tell when threads end there is no runtime, and the program's keys are its own",
          "[gc][life]") {
    const Ended ended = runChild("no key left: child");
    INFO(ended.output);
    CHECK(ended.exited(0));
    CHECK(ended.wrote("thread \"main\" cannot be attached"));
    CHECK(ended.wrote("refused\n"));
    CHECK(ended.wrote("values kept\n"));
    CHECK(ended.wrote("made later\n"));
    CHECK(ended.wrote("values kept again\n"));
    CHECK(ended.wrote("ended\n"));
}

namespace {

bool destroyedInside, detachedInside;
void (*leaving)();

void leave() {
    destroyedInside = mprDestroy();
    detachedInside = mprDetachThread() == 0;
}

/** A callback that is to come tries to leave. */
void prepareToLeave() {
    destroyedInside = detachedInside = true;
    leaving = leave;
}

void checkRefusedToLeave(const Log &log) {
    CHECK_FALSE(destroyedInside);
    CHECK_FALSE(detachedInside);
    CHECK(log.has("mprDestroy"));
    CHECK(log.has("mprDetachThread"));
}

void leavingTerminator(int, int, int) {
    leaving();
}

void leavingManager(void *, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        leaving();
    }
}

} // namespace

TEST_CASE("a terminator cannot end the runtime that is ending, nor detach its thread", "[gc][life]") {
    Log log;
    REQUIRE(mprCreate(0, nullptr, 0));
    prepareToLeave();
    mprAddTerminator(leavingTerminator);
    CHECK(mprDestroy());
    checkRefusedToLeave(log);
}

TEST_CASE("a terminator that returns yielded or exempt keeps nobody from ending the runtime", "[gc][life]") {
    leaving = GENERATE(
        +[] { mprYield(MPR_YIELD_STICKY); }, +[] { mprSetThreadYield(nullptr, false); });
    Log log;
    REQUIRE(mprCreate(0, nullptr, 0));
    mprAddTerminator(leavingTerminator);
    CHECK(mprDestroy());
}

TEST_CASE("a manager that mprDestroy calls cannot end the runtime again, nor detach the thread", "[gc][life]") {
    Log log;
    REQUIRE(mprCreate(0, nullptr, 0));
    prepareToLeave();
    mprAddRoot(mprAllocManaged(100, leavingManager, 0));
    CHECK(mprDestroy());
    checkRefusedToLeave(log);
}

TEST_CASE("a manager that mprFree calls can neither end the runtime nor detach its thread", "[gc][life]") {
    Runtime runtime;
    prepareToLeave();
    void *block = mprAllocManaged(100, leavingManager, 0);
    CHECK(mprFree(block) == 0);
    checkRefusedToLeave(runtime.log);
    CHECK_FALSE(mprIsValid(block));
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("a manager that mprFree calls and that returns yielded or exempt is named, and the thread runs again",
          "[gc][life]") {
    leaving = GENERATE(
        +[] { mprYield(MPR_YIELD_STICKY); }, +[] { mprSetThreadYield(nullptr, false); });
    Runtime runtime;
    void *block = mprAllocManaged(100, leavingManager, 0);
    CHECK(mprFree(block) == 0);
    CHECK(runtime.log.has("mprFree"));
    CHECK_FALSE(mprIsValid(block));
    CHECK(mprAlloc(10));
    CHECK(mprVerifyHeap() == 0);
}
