// SPDX-License-Identifier: MIT
/*
    test/gc/misuse.cpp - Calls by threads in the wrong state are named, and do nothing.
 */
#include "mpr/os/os.hpp"
#include "test/support/process.hpp"
#include "test/support/wrong_state.hpp"

#include <chrono>
#include <cstring>

using namespace test;

namespace {

void nothing(void *, int) {}
void notifier(int, int, size_t, size_t) {}
void pruner(void *, int) {}
void terminator(int, int, int) {}
const MprSuspensionHandler handler{};
void *row[2];
unsigned char range[4096];
const MprBlockKind leaves{};

const Call table[] = {
    // mpr/memory.h
    {"mprAlloc", running, [] { mprAlloc(10); }},
    {"mprAllocZeroed", running, [] { mprAllocZeroed(10); }},
    {"mprAllocMem", running, [] { mprAllocMem(10, MPR_ALLOC_MANAGER); }},
    {"mprAllocMem", running, [] { mprAllocManaged(10, nothing, 0); }},
    {"mprAllocMem", running, [] { mprAllocManaged(10, nothing, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE); }},
    {"mprRealloc", running, [] { mprRealloc(things.loose, 4000); }, true},
    {"mprAlloc", running, [] { mprMemdup("abc", 3); }},
    {"mprFree", running, [] { mprFree(things.loose); }, true},
    {"mprSetManager", running, [] { mprSetManager(things.node, nothing); }, true},
    {"palloc", anywhere, [] { pfree(palloc(100)); }},
    {"pfree", anywhere, [] { pfree(things.permanent); }, true},
    {"prealloc", anywhere, [] { prealloc(things.permanent, 4000); }, true},
    // mpr/collect.h
    {"mprAddRoot", running, [] { mprAddRoot(things.loose); }, true},
    {"mprRemoveRoot", running, [] { mprRemoveRoot(things.owner); }, true},
    {"mprHold", keeping, [] { mprHold(things.loose); }},
    {"mprRelease", keeping, [] { mprRelease(things.permanent); }, true},
    {"mprHold", keeping, [] { mprHoldBlocks(things.loose, nullptr); }},
    {"mprLinkRootRef", keeping,
     [] {
         things.refused.ptr = things.node; // of one that is NULL nobody hears where there is no runtime
         mprLinkRootRef(&things.refused);
         things.refused.ptr = nullptr;
     }},
    {"mprYield", yielding, [] { mprYield(MPR_YIELD_DEFAULT); }},
    {"mprYield", yielding, [] { mprYield(MPR_YIELD_COMPLETE); }},
    {"mprYield", yielding, [] { mprYield(MPR_YIELD_STICKY); }},
    {"mprResetYield", yielding, [] { mprResetYield(); }},
    {"mprVerifyHeap", running | finalizing, [] { mprVerifyHeap(); }},
    {"mprGC", yielding, [] { mprGC(MPR_GC_FORCE); }},
    {"mprGC", yielding, [] { mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE); }},
    {"mprGC", anywhere, [] { mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK); }},
    {"mprEnableGC", anywhere, [] { mprEnableGC(true); }},
    // mpr/handle.h; the number is no handle, and is looked at only where the call is admitted
    {"mprCreateHandle", running, [] { mprCreateHandle(MPR_HANDLE_STRONG, things.loose); }, true},
    {"mprCreateHandle", running, [] { mprCreateHandleFor(MPR_HANDLE_STRONG, things.loose, nullptr, 1); }, true},
    {"mprDuplicateHandle", running, [] { mprDuplicateHandle(64); }, true},
    {"mprDestroyHandle", keeping, [] { mprDestroyHandle(64); }, true},
    {"mprSetHandle", running, [] { mprSetHandle(64, things.loose); }, true},
    {"mprCompareExchangeHandle", running, [] { mprCompareExchangeHandle(64, things.loose, nullptr); }, true},
    {"mprSetHandleIfNull", running, [] { mprSetHandleIfNull(64, things.loose); }, true},
    {"mprGetHandleExtra", running, [] { mprGetHandleExtra(64); }, true},
    {"mprSetHandleExtra", running, [] { mprSetHandleExtra(64, nullptr); }, true},
    {"mprAddHandleCount", running, [] { mprAddHandleCount(64, 1); }, true},
    {"mprGetHandleValue", running, [] { mprGetHandleValue(64); }, true},
    {"mprSetHandleValue", running, [] { mprSetHandleValue(64, things.loose); }, true},
    {"mprGetHandleSize", running, [] { mprGetHandleSize(64); }, true},
    {"mprGetHandleType", running, [] { mprGetHandleType(64); }, true},
    {"mprContainsHandle", anywhere, [] { mprContainsHandle(64); }},
    {"mprCountHandles", anywhere, [] { mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, nullptr); }},
    {"mprCountHandlesBySite", anywhere, [] { mprCountHandlesBySite(nullptr, 0); }},
    {"mprDumpHandles", anywhere, [] { mprDumpHandles(); }},
    // mpr/pinned.h
    {"mprAllocPinned", running, [] { mprAllocPinned(100, 16, 0); }},
    {"mprAllocPinnedIn", running, [] { mprAllocPinnedIn("range", 100, 16, 0); }, true},
    {"mprAllocPinnedBatch", running, [] { mprAllocPinnedBatch(2, 100, 16, 0, row); }},
    {"mprAllocPinnedBatchIn", running, [] { mprAllocPinnedBatchIn("range", 2, 100, 16, 0, row); }, true},
    {"mprFreePinnedBatch", running,
     [] {
         void *none[] = {nullptr, nullptr};
         mprFreePinnedBatch(2, none);
     }},
    {"mprAddPinnedRange", running, [] { mprAddPinnedRange("range", range, sizeof(range)); }},
    // mpr/context.h
    {"mprGetContext", running | finalizing, [] { mprGetContext(); }},
    {"mprSetBlockKind", running,
     [] {
         MprBlockKind kind;
         mprSetBlockKind(&kind, nothing, 0);
     }},
    {"mprAlloc", running, [] { mprAllocInContextSlow(10, &leaves); }},
    {"mprGetAllocStats", anywhere, [] { mprGetAllocStats(nullptr, 0); }},
    // mpr/embed.h
    {"mprSetEmbedder", running, [] { mprSetEmbedder(nullptr); }},
    {"mprNoteChanged", running, [] { mprNoteChanged(things.owner, things.owner + 1); }, true},
    // mpr/barrier.h
    {"mprSetRefs", running,
     [] {
         void *values[] = {things.node};
         mprSetRefs(things.owner, &things.owner->field, values, 1);
     },
     true},
    // mpr/suspend.h
    {"mprAddSuspensionHandler", locking, [] { mprAddSuspensionHandler(&handler); }, true},
    {"mprRemoveSuspensionHandler", locking | inSuspension, [] { mprRemoveSuspensionHandler(&handler); }},
    {"mprGetLostTimes", anywhere, [] { mprGetLostTimes(nullptr, 0); }},
    // mpr/limits.h
    {"mprSetMemLimits", anywhere, [] { mprSetMemLimits(0, 0, -1); }},
    {"mprSetMemNotifier", anywhere, [] { mprSetMemNotifier(notifier); }},
    {"mprGetMemState", anywhere, [] { mprGetMemState(); }},
    {"mprSetMemPolicy", anywhere, [] { mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE); }},
    {"mprAddPruner", anywhere, [] { mprAddPruner(pruner, nullptr); }},
    {"mprRemovePruner", anywhere, [] { mprRemovePruner(pruner, nullptr); }},
    {"mprHasMemError", anywhere, [] { mprHasMemError(); }},
    {"mprSetMemError", anywhere, [] { mprSetMemError(); }},
    {"mprResetMemError", anywhere, [] { mprResetMemError(); }},
    // mpr/runtime.h, mpr/thread.h
    {"mprAddTerminator", anywhere, [] { mprAddTerminator(terminator); }},
    {"mprDestroy", yielding, [] { mprDestroy(); }, true},
    {"mprCreate", forked, [] { mprCreate(0, nullptr, 0); }, true},
    {"mprAttachThread", anywhere, [] { mprAttachThread("again"); }, true},
    {"mprDetachThread", yielding, [] { mprDetachThread(); }, true},
    {"mprSetBatches", running, [] { mprSetBatches(true); }},
    {"mprSetThreadYield", yielding | finalizing, [] { mprSetThreadYield(nullptr, true); }},
    {"mprSetThreadYield", yielding | finalizing, [] { mprSetThreadYield(nullptr, false); }},
    // mpr/list.h
    {"mprAllocMem", running, [] { mprCreateList(0, 0); }},
    {"mprCloneList", running, [] { mprCloneList(things.list); }},
    {"mprAppendList", running, [] { mprAppendList(things.list, things.list); }},
    {"mprSetListLimits", running, [] { mprSetListLimits(things.list, 100, 100); }},
    {"mprAddItem", running, [] { mprAddItem(things.list, things.node); }},
    {"mprPushItem", running, [] { mprPushItem(things.list, things.node); }},
    {"mprAddNullItem", running, [] { mprAddNullItem(things.list); }},
    {"mprInsertItemAtPos", running, [] { mprInsertItemAtPos(things.list, 0, things.node); }},
    {"mprSetItem", running, [] { mprSetItem(things.list, 0, nullptr); }},
    {"mprRemoveItem", running, [] { mprRemoveItem(things.list, things.node); }},
    {"mprRemoveStringItem", running, [] { mprRemoveStringItem(things.list, "none"); }},
    {"mprRemoveItemAtPos", running, [] { mprRemoveItemAtPos(things.list, 0); }},
    {"mprRemoveRangeOfItems", running, [] { mprRemoveRangeOfItems(things.list, 0, -1); }},
    {"mprRemoveLastItem", running, [] { mprRemoveLastItem(things.list); }},
    {"mprPopItem", running, [] { mprPopItem(things.list); }},
    {"mprClearList", running, [] { mprClearList(things.list); }},
    {"mprGetItem", running, [] { mprGetItem(things.list, 0); }},
    {"mprGetFirstItem", running, [] { mprGetFirstItem(things.list); }},
    {"mprGetLastItem", running, [] { mprGetLastItem(things.list); }},
    {"mprGetListLength", running, [] { mprGetListLength(things.list); }},
    {"mprGetListCapacity", running, [] { mprGetListCapacity(things.list); }},
    {"mprGetNextItem", running,
     [] {
         int next = 0;
         mprGetNextItem(things.list, &next);
     }},
    {"mprGetPrevItem", running,
     [] {
         int last = -1;
         mprGetPrevItem(things.list, &last);
     }},
    {"mprLookupItem", running, [] { mprLookupItem(things.list, things.node); }},
    {"mprLookupStringItem", running, [] { mprLookupStringItem(things.list, "none"); }, true},
    {"mprListToString", running, [] { mprListToString(things.list, ","); }, true},
    {"mprSortList", running, [] { mprSortList(things.list, nullptr, nullptr); }, true},
    {"mprAllocMem", running, [] { mprCreateKeyPair("a", "b", 0); }},
    // mpr/hash.h
    {"mprAllocMem", running, [] { mprCreateHash(0, 0); }},
    {"mprCloneHash", running, [] { mprCloneHash(things.hash); }},
    {"mprBlendHash", running, [] { mprBlendHash(things.hash, things.hash); }},
    {"mprAddKey", running, [] { mprAddKey(things.hash, "other", things.node); }},
    {"mprAddKey", running, [] { mprAddKeyWithType(things.hash, "other", things.node, 1); }},
    {"mprAddKeyFmt", running, [] { mprAddKeyFmt(things.hash, "other", "%d", 1); }},
    {"mprAddDuplicateKey", running, [] { mprAddDuplicateKey(things.hash, "key", things.node); }},
    {"mprRemoveKey", running, [] { mprRemoveKey(things.hash, "key"); }},
    {"mprLookupKeyEntry", running, [] { mprLookupKey(things.hash, "key"); }},
    {"mprGetHashLength", running, [] { mprGetHashLength(things.hash); }},
    {"mprGetFirstKey", running, [] { mprGetFirstKey(things.hash); }},
    {"mprGetNextKey", running, [] { mprGetNextKey(things.hash, nullptr); }},
    {"mprHashKeysToString", running, [] { mprHashKeysToString(things.hash, ","); }},
};
} // namespace

TEST_CASE("a call by a thread in the wrong state is named and does nothing", "[gc][misuse]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}

TEST_CASE("what is to be filled in must be there", "[gc][misuse]") {
    Runtime runtime;
    void *none = nullptr;
    tryNothingToFill(runtime,
                     {
                         {"mprReadMemStats", [] { mprReadMemStats(nullptr); }},
                         {"mprReadBatchStats", [] { mprReadBatchStats(nullptr); }},
                         {"mprReadPinnedStats", [] { mprReadPinnedStats(nullptr, nullptr); }},
                         {"mprGetLostTime", [] { mprGetLostTime(nullptr); }},
                         {"mprGetLostTimes", [] { mprGetLostTimes(nullptr, 1); }},
                         {"mprSetBlockKind", [] { mprSetBlockKind(nullptr, nullptr, 0); }},
                         {"mprGetAllocStats", [] { mprGetAllocStats(nullptr, 1); }},
                         {"mprCountHandlesBySite", [] { mprCountHandlesBySite(nullptr, 1); }},
                         {"mprAllocPinnedBatch", [] { mprAllocPinnedBatch(1, 64, 16, 0, nullptr); }},
                         {"mprAllocPinnedBatchIn", [] { mprAllocPinnedBatchIn("none", 1, 64, 16, 0, nullptr); }},
                         {"mprFreePinnedBatch", [] { mprFreePinnedBatch(1, nullptr); }},
                     });
    // Nothing to fill in is not wrong.
    const uint64 before = stats().misuses;
    CHECK(mprGetLostTimes(nullptr, 0) >= 1);
    CHECK(mprGetAllocStats(nullptr, 0) >= 1);
    mprCountHandlesBySite(nullptr, 0);
    CHECK(mprAllocPinnedBatch(0, 64, 16, 0, nullptr) == 0);
    CHECK(mprFreePinnedBatch(0, &none) == 0);
    CHECK(stats().misuses == before);
}

TEST_CASE("questions about a block have an answer in every state", "[gc][misuse]") {
    const State state = GENERATE(unattached, sticky, exempt, marking, notified);
    Runtime runtime;
    things.make();
    static bool answered;
    callIn(state, [] {
        answered = mprIsValid(things.loose) && mprGetBlockSize(things.loose) >= 40 && psize(things.permanent) >= 40;
    });
    CHECK(answered);
    CHECK(runtime.log.size() == 0);
    CHECK(mprGetMemStats()->misuses == 0);
    CHECK(things.untouched());
}

TEST_CASE("a store by a thread that does not run is named when it would have to be remembered, and loses nothing",
          "[gc][misuse]") {
    const State state = GENERATE(unattached, sticky, exempt);
    Runtime runtime;
    things.make();
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE); // now the owner is old
    static void *young;
    young = mprAlloc(50);
    mprHold(young);
    callIn(state, [] { mprSetRef(things.owner, &things.owner->field, young); });
    INFO(Log::text());
    CHECK(isNamed("mprSetRef"));
    mprRelease(young);
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    CHECK(mprIsValid(young));
}

TEST_CASE("a root reference that was linked is unlinked by whatever thread", "[gc][misuse]") {
    const State state = GENERATE(unattached, sticky, exempt, marking, notified);
    Runtime runtime;
    things.make();
    things.linked.ptr = things.node;
    callIn(state, [] { mprUnlinkRootRef(&things.linked); });
    INFO(Log::text());
    CHECK(isNamed("mprUnlinkRootRef") == (state == unattached || state == marking));
    CHECK(things.linked.next == nullptr);
    memset(&things.linked, 0x55, sizeof(things.linked)); // whoever walked here would crash
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    things.linked = {};
}

TEST_CASE("a root reference that was refused is not unlinked", "[gc][misuse]") {
    Runtime runtime;
    things.make();
    std::thread([] {
        MprRootRef ref{&ref, &ref, things.node};
        mprLinkRootRef(&ref);
        mprUnlinkRootRef(&ref);
    }).join();
    CHECK(Log::count("mprLinkRootRef") == 1);
    CHECK(Log::count("mprUnlinkRootRef") == 0);
    CHECK(things.untouched());
}

TEST_CASE("permanent memory is allocated and freed by a thread that has yielded, while collections run",
          "[gc][misuse]") {
    Runtime runtime;
    std::atomic<bool> intact{true};
    {
        Mutator other("yielded", [&](Mutator &self) {
            mprYield(MPR_YIELD_STICKY);
            constexpr long count = 64;
            long *kept[count] = {};
            for (long i = 0; self.go(); i = (i + 1) % count) {
                if (kept[i] && (kept[i][0] != i || kept[i][3] != ~i)) {
                    intact = false;
                }
                pfree(kept[i]);
                kept[i] = static_cast<long *>(palloc(64));
                kept[i][0] = i;
                kept[i][3] = ~i;
            }
            for (long *block : kept) {
                pfree(block);
            }
            mprResetYield();
        });
        for (int i = 0; i < 3000; i++) {
            for (int k = 0; k < 50; k++) {
                memset(mprAlloc(64), 0xEE, 64);
            }
            mprGC(MPR_GC_MINOR);
        }
    }
    INFO(Log::text());
    CHECK(intact);
    CHECK(mprGetMemStats()->misuses == 0);
}

TEST_CASE("holds by threads that have yielded are not lost to the marker", "[gc][misuse]") {
    // The marker reads a head and stores it back: with many heads and many threads some hold comes in between soon.
    Runtime runtime;
    constexpr size_t count = 512;
    Table *held = makeTable(count);
    mprAddRoot(held);
    for (size_t i = 0; i < count; i++) {
        held->items[i] = mprAlloc(16);
    }
    const auto holds = [held](Mutator &self) {
        mprYield(MPR_YIELD_STICKY);
        while (self.go()) {
            for (size_t i = 0; i < count; i++) {
                mprHold(held->items[i]);
                mprRelease(held->items[i]);
            }
        }
        mprResetYield();
    };
    {
        Mutator one("one", holds), two("two", holds);
        for (const Stretch stretch(2000); stretch.lasts([] { return true; });) {
            mprGC(MPR_GC_FORCE);
        }
    }
    INFO(Log::text());
    CHECK(mprGetMemStats()->misuses == 0);
}

// ---- A manager that does not return -------------------------------------------------------------------------------

namespace {

/* Does not return from MPR_MANAGE_MARK until it has been named; a watchdog ends what never is. */
void stayInMark(void *, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        while (!Log::has("MPR_MANAGE_MARK call has not returned")) {
            pause(1);
        }
    }
}
} // namespace

TEST_CASE("a manager that does not return from MPR_MANAGE_MARK is named after the deadline, by whoever waits for it",
          "[gc][misuse]") {
    Runtime runtime("deadline=40");
    const auto begin = std::chrono::steady_clock::now();
    void *block = mprAllocManaged(16, stayInMark, 0);
    mprAddRoot(block);
    SECTION("the thread that collects") {
        mprGC(MPR_GC_FORCE);
    }
    SECTION("a thread that waits for the end of the sweep") {
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    }
    SECTION("the collector's thread, when the only other one stands in for it") {
        while (!Log::has("MPR_MANAGE_MARK call has not returned")) {
            mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
            mprYield(0);
        }
    }
    SECTION("a thread that ends a sticky yield") {
        Mutator other("other", [](Mutator &self) {
            while (self.go()) {
                mprYield(MPR_YIELD_STICKY);
                mprResetYield();
            }
        });
        mprYield(MPR_YIELD_STICKY);
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        CHECK(until([] { return Log::has("MPR_MANAGE_MARK call has not returned"); }, 20000, pause));
        mprResetYield();
    }
    INFO(Log::text());
    CHECK(Log::has("MPR_MANAGE_MARK call has not returned"));
    CHECK(Log::names(block) >= 1);
    int most = 3; // ever more rarely: the manager may get no processor for a while to see the first
    for (auto wait = std::chrono::milliseconds(160); std::chrono::steady_clock::now() - begin > wait; wait *= 2) {
        most++;
    }
    CHECK(Log::count("has not returned") <= most);
    mprRemoveRoot(block);
}

TEST_CASE("a manager that takes long to mark, but returns, is not named", "[gc][misuse]") {
    Runtime runtime("deadline=60000"); // a call takes as long as its thread gets no processor, too
    void *block = mprAllocManaged(
        16,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                pause(20);
            }
        },
        0);
    mprAddRoot(block);
    for (int i = 0; i < 5; i++) {
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    }
    CHECK(runtime.log.size() == 0);
    mprRemoveRoot(block);
}

// ---- A manager that ends its thread --------------------------------------------------------------------------------

namespace {

pthread_t yielder, collector;
std::atomic<bool> collectorKnown;
int where; // a manager is to end the thread that calls it
enum { InMark = 1, InFree = 2, StandingIn = 4, OfCollector = 8, Helping = 16 };

/* Ends the thread that calls it, if that is the one to end. */
void endThread(void *, int flags) {
    const pthread_t self = pthread_self();
    const bool frees = flags & MPR_MANAGE_FREE;
    if (frees && !collectorKnown) {
        collector = self;
        collectorKnown = true;
    }
    const int who = pthread_equal(self, yielder)                        ? StandingIn
                    : !collectorKnown || pthread_equal(self, collector) ? OfCollector
                                                                        : Helping;
    if (where == ((frees ? InFree : InMark) | who)) {
        pthread_exit(nullptr);
    }
    if (where & Helping && !frees) {
        std::this_thread::sleep_for(std::chrono::microseconds(100)); // time for others to come
    }
}

/* A thread yields to collections, in which a manager ends the thread that calls it. */
void endInManager(int wanted) {
    const Watchdog dog(60);
    where = wanted;
    pthread_t thread;
    const auto body = [](void *) -> void * {
        yielder = pthread_self();
        mprConfigure(where & Helping ? "markers=2,everyyield=1" : "markers=1");
        mprCreate(0, nullptr, 0);
        for (int i = 0; i < (where & Helping ? 200 : 1); i++) {
            mprAddRoot(mprAllocManaged(16, endThread, 0));
        }
        for (;;) {
            mprAllocManaged(16, endThread, 0);
            mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
            mprYield(0);
        }
    };
    pthread_create(&thread, nullptr, body, nullptr);
    pthread_join(thread, nullptr);
    for (;;) {
        pause(1000); // for the watchdog
    }
}
} // namespace

TEST_CASE("a thread ends in MARK that it calls for the collector: child", "[.][child]") {
    endInManager(InMark | StandingIn);
}

TEST_CASE("the collector's thread ends in MARK: child", "[.][child]") {
    endInManager(InMark | OfCollector);
}

TEST_CASE("the collector's thread ends in FREE: child", "[.][child]") {
    endInManager(InFree | OfCollector);
}

TEST_CASE("a thread that helps to mark ends: child", "[.][child]") {
    endInManager(InMark | Helping);
}

TEST_CASE("a thread that ends in the midst of a collection is named, and ends the process", "[gc][misuse]") {
    if (threadSanitizer || addressSanitizer) {
        return; // the sanitizer knows no thread that ends below its frames
    }
    struct End {
        cchar *child, *named;
    };
    const auto end =
        GENERATE(End{"a thread ends in MARK that it calls for the collector: child",
                     " is inside a manager's MPR_MANAGE_MARK call"},
                 End{"the collector's thread ends in MARK: child", " is inside a manager's MPR_MANAGE_MARK call"},
                 End{"a thread that helps to mark ends: child", " is inside a manager's MPR_MANAGE_MARK call"},
                 End{"the collector's thread ends in FREE: child", " is the collector's; no collection can go on"});
    if (std::strstr(end.child, "helps") && mpr::os::processors() < 2) {
        return; // nobody helps on the only processor
    }
    const Ended ended = runChild(end.child);
    INFO(ended.output);
    CHECK(ended.killed(SIGABRT));
    CHECK(ended.wrote(end.named));
    CHECK(ended.wrote("pthread_exit: thread "));
}

// ---- How much is said -----------------------------------------------------------------------------------------------

TEST_CASE("what is misused in a loop is named now and then, and how often it was not", "[gc][misuse]") {
    Runtime runtime;
    constexpr int times = 100000;
    std::thread([] {
        for (int i = 0; i < times; i++) {
            mprAlloc(10);
        }
    }).join();
    CHECK(mprGetMemStats()->misuses == times);
    const int lines = Log::count("mprAlloc: ");
    CHECK(lines >= 1);
    CHECK(lines < 100);
    mprYield(MPR_YIELD_STICKY);
    mprAlloc(10); // another thread in another state
    mprResetYield();
    CHECK(Log::count("mprAlloc: thread \"main\" has yielded") == 1);
    CHECK(Log::count("such messages left out before this") >= 1);
}

TEST_CASE("one misuse in a loop hides no other", "[gc][misuse]") {
    Runtime runtime;
    char wrong[16] = {};
    for (int i = 0; i < 100; i++) {
        mprFree(wrong);
    }
    CHECK(Log::count("mprFree") < 40);
    mprSetMemLimits(8 << 20, 4 << 20, -1);
    CHECK(Log::count("mprSetMemLimits: ") == 1);
    mprRelease(wrong);
    CHECK(Log::count("mprRelease") == 1);
    std::thread([] { mprAlloc(10); }).join();
    CHECK(Log::count("mprAlloc: ") == 1);
}

TEST_CASE("a wrong mark in every collection is named now and then", "[gc][misuse]") {
    Runtime runtime;
    static int notManaged;
    void *block = mprAllocManaged(
        16,
        [](void *, int flags) {
            if (flags & MPR_MANAGE_MARK) {
                mprMark(&notManaged);
            }
        },
        0);
    mprAddRoot(block);
    for (int i = 0; i < 1000; i++) {
        mprGC(MPR_GC_FORCE);
    }
    CHECK(mprGetMemStats()->misuses >= 1000);
    CHECK(Log::names(&notManaged) >= 1);
    CHECK(Log::names(&notManaged) < 500);
    mprRemoveRoot(block);
}

TEST_CASE("a log handler that misuses the runtime is not called for it in turn", "[gc][misuse]") {
    Runtime runtime;
    static std::atomic<int> depth, deepest;
    depth = deepest = 0;
    const MprLogHandler before = mprSetLogHandler([](cchar *, int, cchar *) {
        deepest = std::max(deepest.load(), ++depth);
        mprAlloc(10);
        depth--;
    });
    std::thread([] { mprAlloc(10); }).join();
    mprSetLogHandler(before);
    CHECK(deepest == 1);
    CHECK(mprGetMemStats()->misuses == 2);
}

// ---- Roots ----------------------------------------------------------------------------------------------------------

TEST_CASE("a root cannot be freed by hand", "[gc][misuse]") {
    Runtime runtime;
    void *leaf = mprAlloc(40);
    Node *node = makeNode();
    for (void *block : {leaf, static_cast<void *>(node), static_cast<void *>(runtime.mpr)}) {
        if (block != runtime.mpr) {
            mprAddRoot(block);
        }
        CHECK(mprFree(block) == MPR_ERR_BAD_ARGS);
        CHECK(Log::has("is a root"));
        Log::clear();
        pfree(block);
        CHECK(Log::has("not permanent memory"));
        mprRelease(block);
        CHECK(Log::has("the block is not held"));
        CHECK(mprIsValid(block));
        Log::clear();
    }
    mprRemoveRoot(leaf);
    mprRemoveRoot(node);
    CHECK(mprFree(leaf) == 0);
    CHECK(mprFree(node) == 0);
}

TEST_CASE("prealloc of what is not permanent memory is refused", "[gc][misuse]") {
    Runtime runtime;
    int outside = 0;
    Node *node = makeNode();
    void *leaf = mprAlloc(100), *root = mprAlloc(100);
    mprAddRoot(root);
    void *freed = mprAlloc(100);
    mprFree(freed);
    const size_t size = GENERATE(1, 90, 4000);
    for (void *ptr : {static_cast<void *>(&outside), static_cast<void *>(node), leaf, root, freed,
                      static_cast<void *>(static_cast<char *>(leaf) + 8)}) {
        Log::clear();
        const uint64 misuses = mprGetMemStats()->misuses;
        CHECK(prealloc(ptr, size) == nullptr);
        CHECK(Log::names(ptr) == 1);
        CHECK(mprGetMemStats()->misuses == misuses + 1);
    }
    CHECK(mprIsValid(leaf));
    mprRemoveRoot(root);
}

TEST_CASE("roots and holds of one block are counted apart", "[gc][misuse]") {
    Runtime runtime;
    void *leaf = mprAlloc(40);
    const bool heldFirst = GENERATE(true, false);
    const bool releasedFirst = GENERATE(true, false);
    if (heldFirst) {
        mprHold(leaf);
    }
    mprAddRoot(leaf);
    mprAddRoot(leaf);
    if (!heldFirst) {
        mprHold(leaf);
    }
    if (releasedFirst) {
        mprRelease(leaf);
        CHECK(mprFree(leaf) != 0);
    }
    mprRemoveRoot(leaf);
    CHECK(mprFree(leaf) != 0);
    mprRemoveRoot(leaf);
    if (!releasedFirst) {
        CHECK(mprFree(leaf) != 0);
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        CHECK(mprIsValid(leaf));
        mprRelease(leaf);
    }
    Log::clear();
    mprRelease(leaf);
    mprRemoveRoot(leaf);
    CHECK(Log::size() == 2);
    CHECK(mprFree(leaf) == 0);
}

TEST_CASE("a root that moves when it is resized is a root where it goes", "[gc][misuse]") {
    Runtime runtime;
    void *leaf = mprAlloc(40);
    mprAddRoot(leaf);
    mprAddRoot(leaf);
    mprHold(leaf);
    void *moved = mprRealloc(leaf, 20 << 20);
    REQUIRE(moved != leaf);
    mprRelease(moved);
    mprRemoveRoot(moved);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprIsValid(moved));
    mprRemoveRoot(moved);
    CHECK(mprFree(moved) == 0);
    CHECK(runtime.log.size() == 0);
}

// ---- Limits -----------------------------------------------------------------------------------------------------------

TEST_CASE("a redline above the limit is refused", "[gc][misuse]") {
    Runtime runtime;
    mprSetMemLimits(16 << 20, 32 << 20, -1);
    CHECK(Log::size() == 0);
    mprSetMemLimits(64 << 20, 48 << 20, 12345);
    CHECK(Log::has("the redline, 67108864, is above the limit, 50331648"));
    CHECK(mprGetMemStats()->misuses == 1);
    CHECK(mprGetMemStats()->warnHeap == 16 << 20);
    CHECK(mprGetMemStats()->maxHeap == 32 << 20);
    CHECK(mprGetMemStats()->cacheHeap != 12345);
}

TEST_CASE("a limit below what blocks take is refused", "[gc][misuse]") {
    Runtime runtime;
    void *block = mprAlloc(8 << 20);
    mprHold(block);
    mprSetMemLimits(0, 6 << 20, -1);
    CHECK(Log::has("more than the limit, 6291456; the limits stay as they were"));
    CHECK(mprGetMemStats()->maxHeap == 0);
    CHECK(mprGetMemStats()->misuses == 1);
    CHECK(mprAlloc(1 << 20)); // as it would not be if the limit held
    mprRelease(block);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    mprSetMemLimits(0, 6 << 20, -1);
    CHECK(mprGetMemStats()->maxHeap == 6 << 20);
}

TEST_CASE("a limit below what is committed is named", "[gc][misuse]") {
    Runtime runtime;
    const auto limit = static_cast<ssize>(mprGetMemStats()->heap) - 1;
    mprSetMemLimits(0, limit, -1);
    CHECK(Log::has("more than the limit"));
    CHECK(mprGetMemStats()->maxHeap == static_cast<uint64>(limit));
    CHECK(mprGetMemStats()->misuses == 0);
    mprSetMemLimits(0, 0, -1);
    CHECK(Log::size() == 1);
}

TEST_CASE("what is asked of options and policies in vain is named with what there is", "[gc][misuse]") {
    Runtime runtime;
    mprSetMemPolicy(7);
    CHECK(Log::has("7 is not a policy; there are MPR_ALLOC_POLICY_NOTHING, PRUNE"));
    struct Wrong {
        const char *spec, *said;
    };
    for (const Wrong &wrong :
         {Wrong{"yung=4m", "option \"yung=4m\" is not an option; there are region, reserve, young"},
          Wrong{"colour=red", "is not an option; there are region"},
          Wrong{"young", "option \"young\" is not name=value, such as young=4m"},
          Wrong{"young=lots", "must be a number, with k, m or g behind it or without"},
          Wrong{"check=yes", "must be 0, 1, fields, globals, stacks, where, abort"}, Wrong{"check=2", "fields+globals"},
          Wrong{"poison=2", "must be 0 or 1"}, Wrong{"region=5m", "must be a power of two from 64k"}}) {
        CHECK(mprConfigure(wrong.spec) == MPR_ERR_BAD_ARGS);
        INFO(Log::text());
        CHECK(Log::has(wrong.said));
        Log::clear();
    }
}

namespace {
/* A kind of message is written once in each stretch of 2^30 ns of the clock. */
int secondsBegunSince(uint64 begin) {
    return static_cast<int>((mprGetHiResTicks() >> 30) - (begin >> 30));
}
} // namespace

TEST_CASE("a program without a notifier that is refused in a loop reads of it now and then, and what to do",
          "[gc][misuse][limits]") {
    Runtime runtime;
    mprSetMemLimits(0, 4 << 20, -1);
    const uint64 begin = mprGetHiResTicks();
    constexpr int times = 2000;
    for (int i = 0; i < times; i++) {
        CHECK(!mprAlloc(16 << 20));
    }
    CHECK(mprGetMemStats()->errors == times);
    const int named = Log::count("memory: ");
    CHECK(named >= 1);
    CHECK(named <= 1 + secondsBegunSince(begin));
    CHECK(Log::has("the hard limit is reached: 16777216 bytes asked for"));
    CHECK(Log::has("mprYield(MPR_YIELD_COMPLETE), try again; or raise the limit"));
    pause(1100); // longer than the second that is counted by
    CHECK(!mprAlloc(16 << 20));
    CHECK(Log::has("such messages left out before this"));
}
