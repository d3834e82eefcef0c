// SPDX-License-Identifier: MIT
/*
    test/gc/handler.cpp - The log's handler calls the runtime: nothing that it may call waits for what its caller holds, and
    what would wait for a collection is refused.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/watchdog.hpp"

#include <pthread.h>

#include <cstring>
#include <string>

using namespace test;

namespace {

std::atomic<int> handled; // how often `call` has returned
std::atomic<void (*)()> call;
char about[32]; // what a message must contain for it

/* While this exists a handler makes a call for each message about something. */
class Handler {
public:
    Handler(const char *text, void (*of)()) {
        handled = 0;
        strcpy(about, text);
        call = of;
        previous = mprSetLogHandler(take);
    }
    ~Handler() { mprSetLogHandler(previous); }

private:
    static void take(cchar *, int, cchar *msg) {
        if (strstr(msg, about)) {
            call.load()();
            handled++;
        }
    }
    MprLogHandler previous;
};

void readStats() {
    MprMemStats s;
    mprReadMemStats(&s);
}

/* All that a handler may not wait for. */
void callEverything() {
    readStats();
    mprYield(MPR_YIELD_DEFAULT);
    mprYield(MPR_YIELD_STICKY);
    mprYield(MPR_YIELD_COMPLETE);
    mprResetYield();
    mprGC(MPR_GC_FORCE);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    mprVerifyHeap();
    mprDetachThread();
    mprDestroy();
}

void overwrite(void *block) {
    const uintptr_t value = 0x5A5A5A5A;
    memcpy(block, &value, sizeof(value));
}
} // namespace

TEST_CASE("a handler that is told of a late thread may call anything", "[gc][handler]") {
    const Watchdog dog(60);
    Runtime runtime("deadline=20");
    const Handler handler("keeps a collection waiting", callEverything);
    Mutator late("late", [](Mutator &) { untilUnyielded([] { return handled > 0; }); });
    mprGC(MPR_GC_FORCE);
    CHECK(handled > 0);
    late.end();
    CHECK(mprGetMemStats()->misuses > 0);
}

TEST_CASE("a handler that is told of a thread that does not stop for a verification may call anything",
          "[gc][handler]") {
    const Watchdog dog(60);
    Runtime runtime("deadline=5");
    const Handler handler("keeps a collection waiting", callEverything);
    Mutator late("late", [](Mutator &self) {
        while (self.go()) {
            pause(1);
        }
    });
    CHECK(mprVerifyHeap() == MPR_ERR_TIMEOUT);
    CHECK(handled > 0);
    late.end();
    CHECK(until([] { return mprVerifyHeap() == 0; })); // the collector may have the duty for longer than the deadline
}

TEST_CASE("a handler that is told of attached threads may read statistics", "[gc][handler]") {
    const Watchdog dog(60);
    Runtime runtime;
    const Handler handler("is attached", readStats);
    Mutator other("other", [](Mutator &self) {
        while (self.go()) {
            sleepYielded(1);
        }
    });
    CHECK_FALSE(mprDestroy());
    CHECK(handled == 1);
}

TEST_CASE("a handler that is told of a write to free memory may call anything", "[gc][handler]") {
    if (addressSanitizer) {
        return; // the sanitizer ends the program first
    }
    const Watchdog dog(60);
    for (const char *options : {"region=1m,poison=0", "region=1m,poison=1"}) {
        for (const size_t size : {size_t(64), size_t(5000)}) {
            Runtime runtime(options);
            const Handler handler("write after free", callEverything);
            void *block = mprAlloc(size);
            mprAlloc(size);
            mprFree(block);
            overwrite(block);
            for (int i = 0; i < 2000 && handled == 0; i++) {
                mprFree(mprAlloc(64));
                mprAlloc(4600);
            }
            INFO(options << ", blocks of " << size);
            CHECK(handled == 1);
        }
    }
}

TEST_CASE("a handler that is told what a free or a verification finds may call anything", "[gc][handler]") {
    if (addressSanitizer) {
        return; // the sanitizer ends the program first
    }
    const Watchdog dog(60);
    for (const bool verifies : {false, true}) {
        Runtime runtime("region=1m,poison=0", MPR_DISABLE_GC);
        const Handler handler("", callEverything);
        void *block = mprAlloc(5000);
        void *next = mprAlloc(5000);
        mprAlloc(5000);
        mprFree(block);
        overwrite(block);
        if (verifies) {
            CHECK(mprVerifyHeap() > 0);
        } else {
            mprFree(next);
        }
        CHECK(handled > 0);
    }
}

TEST_CASE("more is found than is noted: the rest is counted", "[gc][handler]") {
    if (addressSanitizer) {
        return; // the sanitizer ends the program first
    }
    Runtime runtime("region=4m,poison=0", MPR_DISABLE_GC);
    void *blocks[100];
    for (void *&block : blocks) {
        block = mprAlloc(5000);
        mprAlloc(5000);
    }
    for (void *block : blocks) {
        mprFree(block);
    }
    for (void *block : blocks) {
        overwrite(block);
    }
    CHECK(mprVerifyHeap() > 0);
    CHECK(Log::has("more findings"));
}

TEST_CASE("a handler that is told of a wrong root reference may end one", "[gc][handler]") {
    const Watchdog dog(60);
    Runtime runtime;
    static MprRootRef wrong, other;
    static int noBlock;
    wrong = other = {};
    wrong.ptr = &noBlock;
    mprLinkRootRef(&other);
    mprLinkRootRef(&wrong);
    const Handler handler("is not the start of a block", [] {
        readStats();
        mprUnlinkRootRef(&other);
    });
    mprGC(MPR_GC_FORCE);
    CHECK(handled > 0);
    CHECK_FALSE(other.next);
    mprUnlinkRootRef(&wrong);
}

TEST_CASE("a handler that is called for a thread that has yielded may hold a block", "[gc][handler]") {
    const Watchdog dog(60);
    Runtime runtime;
    static void *block;
    block = palloc(40);
    const Handler handler("the block is not held", [] {
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        for (int i = 0; i < 50; i++) {
            mprHold(block);
            pause(1); // the collector closes the gate
            mprRelease(block);
        }
    });
    void *loose = mprAlloc(40);
    mprHold(loose);
    mprYield(MPR_YIELD_STICKY);
    mprRelease(loose);
    mprRelease(loose);
    mprResetYield();
    CHECK(handled == 1);
    pfree(block);
}

TEST_CASE("a message that comes of what the handler does is not given to it", "[gc][handler]") {
    Runtime runtime;
    static std::atomic<int> depth, deepest;
    depth = deepest = 0;
    const Handler handler("", [] {
        deepest = std::max(deepest.load(), ++depth);
        mprRelease(&depth);
        mprGC(MPR_GC_FORCE);
        depth--;
    });
    mprRelease(&depth);
    CHECK(handled == 1);
    CHECK(deepest == 1);
    CHECK(mprGetMemStats()->misuses == 3);
}

TEST_CASE("a handler that allocates at the hard limit gets nothing that would have to be made free first",
          "[gc][handler]") {
    Runtime runtime("region=256k,young=1m");
    constexpr ssize mega = 1 << 20;
    mprSetMemLimits(0, 32 * mega, 64 * mega); // keep what is free
    Root root;
    while (stats().heap < 28 * mega) {
        root.set(makeNode(root.as<Node>(), mprAlloc(1000)));
    }
    root.set(nullptr);
    collect();
    REQUIRE(stats().heap >= 28 * mega);
    static std::atomic<bool> got;
    got = true;
    const Handler handler("the block is not held", [] { got = mprAlloc(16 * mega) != nullptr; });
    mprRelease(mprAlloc(40));
    CHECK(handled == 1);
    CHECK_FALSE(got);
    CHECK(until(
        [] { return mprAlloc(16 * mega) != nullptr; })); // on a busy machine the collector keeps the duty for a while
}

// ---- The notifier ---------------------------------------------------------------------------------------------------

TEST_CASE("a thread that ends inside the notifier is detached, and the notifier is called again", "[gc][handler]") {
    if (threadSanitizer || addressSanitizer) {
        return; // the sanitizer knows no thread that ends below its frames
    }
    const Watchdog dog(60);
    Runtime runtime;
    static std::atomic<int> notified;
    notified = 0;
    mprSetMemNotifier([](int, int, size_t, size_t) {
        if (notified++ == 0) {
            pthread_exit(nullptr);
        }
    });
    const auto body = [](void *) -> void * {
        mprAttachThread("ends");
        mprAlloc(SIZE_MAX / 2);
        return nullptr;
    };
    pthread_t thread;
    REQUIRE(pthread_create(&thread, nullptr, body, nullptr) == 0);
    mprYield(MPR_YIELD_STICKY);
    pthread_join(thread, nullptr);
    mprResetYield();
    CHECK(notified == 1);
    CHECK(mprGetMemStats()->threads == 1);
    CHECK(Log::size() == 0);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprAlloc(SIZE_MAX / 2) == nullptr);
    CHECK(notified == 2);
    mprSetMemNotifier(nullptr);
}
