// SPDX-License-Identifier: MIT
/*
    test/gc/handle.cpp - Handles: what each type keeps in each scope of a collection, step by step; and the C API with
    threads.
 */
#include "mpr/gc/handle_store.hpp"
#include "mpr/pinned.h"
#include "test/support/limit.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/stepped_collection.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using mpr::gc::handleStore;
using mpr::gc::HandleStore;
using mpr::gc::Scope;
using mpr::gc::Wish;
using mpr::heap::Kind;
using test::Log;
using test::Refs;
using test::Runtime;
using test::SteppedCollection;

namespace {

/* A stepped collection and a store of handles for its heap. */
struct Stepped : SteppedCollection {
    using Wish = mpr::gc::Wish;

    explicit Stepped(size_t young = 1 << 20) : SteppedCollection(young) { handleStore.open(stepped.heap(), roots); }
    ~Stepped() { handleStore.close(); }

    MprHandle handle(int type, void *block, void *extra = nullptr) {
        CHECK(handleStore.refer(block));
        CHECK(handleStore.refer(type == MPR_HANDLE_DEPENDENT ? extra : nullptr));
        return handleStore.create(nullptr, type, block, {extra, 7, nullptr});
    }
    static void set(MprHandle handle, void *block) {
        CHECK(handleStore.refer(block));
        HandleStore::set(HandleStore::find(handle), block);
    }
    static Refs *value(MprHandle handle) { return static_cast<Refs *>(MPR_HANDLE_SLOT(handle)->extra); }

    /* Something to mark. */
    void fill() {
        Refs *const root = make(Kind::barrier, true);
        for (int i = 0; i < 500; i++) {
            Refs *const next = make();
            next->refs[0] = root->refs[0];
            root->refs[0] = next;
        }
        collect();
    }
    /* A minor collection after which a major one marks, that finds nothing marked. */
    void beginMajor() {
        if (cycle.major().isTracing()) {
            lastPause();
            reclaim();
        }
        budget.generations().setTrial(true);
        pause();
        budget.generations().setTrial(false);
        reclaim();
        REQUIRE(cycle.major().isTracing());
    }
    void slice() {
        cycle.request(Wish::slice);
        REQUIRE(cycle.closeGate());
        collection.pause();
    }
    void trace() {
        while (!cycle.major().isTraced()) {
            collection.tracing().advance();
            if (!cycle.major().isTraced()) {
                slice();
            }
        }
    }
    void lastPause() {
        trace();
        slice();
        CHECK(cycle.scope() == Scope::last);
    }
    /* A collection up to the end of its pause. */
    void pauseOf(Scope scope) {
        switch (scope) {
        case Scope::minor: return pause();
        case Scope::full: return pause(Wish::urgent);
        default: beginMajor(); return lastPause();
        }
    }
    void check() { CHECK(stats.defects.load() == 0); }
};

struct Sort {
    int type;
    intptr_t extra;
    bool keeps;
};
constexpr Sort sorts[] = {
    {MPR_HANDLE_WEAK_SHORT, 0, false},
    {MPR_HANDLE_WEAK_LONG, 0, false},
    {MPR_HANDLE_STRONG, 0, true},
    {MPR_HANDLE_PINNED, 0, true},
    {MPR_HANDLE_VARIABLE, MPR_HANDLE_WEAK_SHORT, false},
    {MPR_HANDLE_VARIABLE, MPR_HANDLE_WEAK_LONG, false},
    {MPR_HANDLE_VARIABLE, MPR_HANDLE_STRONG, true},
    {MPR_HANDLE_REFCOUNTED, 0, false},
    {MPR_HANDLE_REFCOUNTED, -1, false},
    {MPR_HANDLE_REFCOUNTED, 2, true},
    {MPR_HANDLE_ASYNC_PINNED, 0, true},
    {MPR_HANDLE_SIZED, 0, true},
    {MPR_HANDLE_DEPENDENT, 0, false},
};
bool isLong(const Sort &sort) {
    return sort.type == MPR_HANDLE_WEAK_LONG || sort.extra == MPR_HANDLE_WEAK_LONG;
}

} // namespace

TEST_CASE("each type of handle keeps its block or is cleared, in each scope of a collection", "[gc][handle]") {
    const Scope scope = GENERATE(Scope::minor, Scope::full, Scope::last);
    const Kind kind = GENERATE(Kind::barrier, Kind::plain);
    Stepped c(scope == Scope::last ? 64 * 1024 : 1 << 20);
    c.fill();
    for (const Sort &sort : sorts) {
        for (const bool old : {false, true}) {
            if (old && scope == Scope::minor) {
                continue;
            }
            INFO("scope " << int(scope) << ", type " << sort.type << ", word " << sort.extra << ", old " << old);
            Refs *const block = c.make(kind), *const child = c.make();
            block->refs[0] = child;
            if (old) {
                c.addRoot(block);
                c.collect();
                c.removeRoot(block);
            }
            const MprHandle handle = c.handle(sort.type, block, reinterpret_cast<void *>(sort.extra));
            const bool dies = !sort.keeps && (!old || scope != Scope::minor);
            c.pauseOf(scope);
            if (scope == Scope::last && !old) {
                // It was young when the major collection began, whose first pause is a minor one.
                CHECK(mprGetHandle(handle) == (sort.keeps ? block : nullptr));
            } else if (dies && isLong(sort)) {
                CHECK(HandleStore::isDying(handle));
                CHECK(c.lives(block));
            } else {
                CHECK(mprGetHandle(handle) == (dies ? nullptr : block));
            }
            c.reclaim();
            CHECK_FALSE(HandleStore::isDying(handle));
            CHECK(mprGetHandle(handle) == (dies ? nullptr : block));
            CHECK(c.lives(block) == !dies);
            CHECK(c.lives(child) == !dies);
            CHECK(handleStore.destroy(nullptr, handle));
            c.collect(Wish::urgent);
            CHECK_FALSE(c.lives(block));
        }
    }
}

TEST_CASE("what a weak handle gave while a major collection marks lives if it is stored, and dies if not",
          "[gc][handle]") {
    // 0: into a barrier block that is marked, 1: into a plain one that a slice has traced, 2: a young block,
    // 3: a root, 4: a strong handle, 5: nowhere.
    const int where = GENERATE(0, 1, 2, 3, 4, 5);
    const int when = GENERATE(0, 1);
    Stepped c(64 * 1024);
    c.fill();
    Refs *const barrier = c.make(Kind::barrier, true), *const plain = c.make(Kind::plain, true);
    Refs *const block = c.make(), *const child = c.make();
    block->refs[0] = child;
    c.addRoot(block);
    c.collect();
    c.removeRoot(block);
    const MprHandle weak = c.handle(MPR_HANDLE_WEAK_SHORT, block), strong = c.handle(MPR_HANDLE_STRONG, nullptr);
    c.beginMajor();
    if (when == 1) {
        c.trace();
    }
    auto *const got = static_cast<Refs *>(mprGetHandle(weak));
    CHECK(got == block);
    switch (where) {
    case 0: c.store(barrier, 0, got); break;
    case 1: plain->refs[0] = got; break;
    case 2: c.make(Kind::barrier, true)->refs[0] = got; break;
    case 3: c.addRoot(got); break;
    case 4: c.set(strong, got); break;
    default: break;
    }
    c.lastPause();
    CHECK(mprGetHandle(weak) == (where == 5 ? nullptr : block));
    c.reclaim();
    CHECK(c.lives(block) == (where != 5));
    CHECK(c.lives(child) == (where != 5));
}

TEST_CASE("a strong handle set between the pauses of a major collection keeps its block, young or old",
          "[gc][handle]") {
    const bool minorBetween = GENERATE(false, true);
    Stepped c(64 * 1024);
    c.fill();
    Refs *const old = c.make();
    c.addRoot(old);
    c.collect();
    c.removeRoot(old);
    const MprHandle toOld = c.handle(MPR_HANDLE_STRONG, nullptr), toYoung = c.handle(MPR_HANDLE_STRONG, nullptr);
    c.beginMajor();
    Refs *const young = c.make(), *const child = c.make();
    young->refs[0] = child;
    c.set(toOld, old);
    c.set(toYoung, young);
    if (minorBetween) {
        c.collect();
        REQUIRE(c.cycle.isMinor());
        REQUIRE(c.cycle.major().isTracing());
    }
    c.lastPause();
    c.reclaim();
    CHECK(c.lives(old));
    CHECK(c.lives(young));
    CHECK(c.lives(child));
}

TEST_CASE("a weak handle to a block that only a hold keeps is cleared when the hold has ended", "[gc][handle]") {
    const Kind kind = GENERATE(Kind::barrier, Kind::leaf);
    const Scope first = GENERATE(Scope::minor, Scope::full), second = GENERATE(Scope::minor, Scope::full);
    Stepped c;
    void *const block = kind == Kind::leaf ? c.stepped.make(4) : c.make();
    const MprHandle handle = c.handle(MPR_HANDLE_WEAK_SHORT, block);
    c.stepped.heap().changeHead(c.stepped.regionOf(block), block, mpr::heap::head::held, 0);
    c.pauseOf(first);
    c.reclaim();
    CHECK(mprGetHandle(handle) == block);
    c.stepped.heap().changeHead(c.stepped.regionOf(block), block, 0, mpr::heap::head::held);
    c.pauseOf(second);
    CHECK(c.stepped.heap().dead(c.stepped.head(block)) == !mprGetHandle(handle));
    c.reclaim();
    CHECK(c.lives(block) == (mprGetHandle(handle) != nullptr));
    c.collect(Wish::urgent);
    CHECK(mprGetHandle(handle) == nullptr);
    CHECK_FALSE(c.lives(block));
}

TEST_CASE("a hold that ends between the pause and the sweep leaves a weak handle that the next pause looks at",
          "[gc][handle]") {
    Stepped c;
    Refs *const block = c.make();
    c.addRoot(block);
    c.collect();
    c.removeRoot(block);
    const MprHandle handle = c.handle(MPR_HANDLE_WEAK_SHORT, block);
    c.collect(); // nothing is dirty any more
    c.stepped.heap().changeHead(c.stepped.regionOf(block), block, mpr::heap::head::held, 0);
    c.pause(Wish::urgent);
    c.stepped.heap().changeHead(c.stepped.regionOf(block), block, 0, mpr::heap::head::held);
    c.reclaim();
    CHECK(c.lives(block)); // it is young again
    CHECK(mprGetHandle(handle) == block);
    c.collect();
    CHECK_FALSE(c.lives(block));
    CHECK(mprGetHandle(handle) == nullptr);
}

TEST_CASE("a value lives as long as its key, through chains and cycles, in each scope", "[gc][handle]") {
    const Scope scope = GENERATE(Scope::minor, Scope::full, Scope::last);
    const bool reversed = GENERATE(false, true);
    constexpr int length = 1000;
    Stepped c(scope == Scope::last ? 64 * 1024 : 1 << 20);
    c.fill();
    std::vector<Refs *> live, dead;
    for (int i = 0; i <= length; i++) {
        live.push_back(c.make(i % 3 == 0 ? Kind::plain : Kind::barrier));
        dead.push_back(c.make());
    }
    std::vector<MprHandle> chain(length), cycle(length);
    for (int i = 0; i < length; i++) {
        const int at = reversed ? length - 1 - i : i;
        const auto next = static_cast<size_t>(at + 1), here = static_cast<size_t>(at);
        chain[here] = c.handle(MPR_HANDLE_DEPENDENT, live[here], live[next]);
        // Each keeps the next, and the last the first: none lives.
        cycle[here] = c.handle(MPR_HANDLE_DEPENDENT, dead[here], dead[next == length ? 0 : next]);
    }
    c.addRoot(live[0]);
    c.pauseOf(scope);
    c.reclaim();
    size_t right = 0;
    for (size_t i = 0; i < length; i++) {
        right += mprGetHandle(chain[i]) == live[i] && c.value(chain[i]) == live[i + 1] && c.lives(live[i + 1]) &&
                 !mprGetHandle(cycle[i]) && !c.value(cycle[i]) && !c.lives(dead[i]);
    }
    CHECK(right == length);
    c.removeRoot(live[0]);
    c.collect(Wish::urgent);
    for (size_t i = 0; i < length; i++) {
        right -= !mprGetHandle(chain[i]) && !c.value(chain[i]) && !c.lives(live[i]);
    }
    CHECK(right == 0);
}

TEST_CASE("a minor collection keeps the young value of an old key, and not that of a young key that dies",
          "[gc][handle]") {
    Stepped c;
    const bool tracing = GENERATE(false, true); // then the key is old, and not marked
    Refs *const old = c.make();
    c.addRoot(old);
    c.collect();
    c.removeRoot(old);
    if (tracing) {
        c.beginMajor();
    }
    const MprHandle kept = c.handle(MPR_HANDLE_DEPENDENT, old, c.make());
    Refs *const key = c.make();
    const MprHandle lost = c.handle(MPR_HANDLE_DEPENDENT, key, c.make());
    Refs *const keptValue = c.value(kept), *const lostValue = c.value(lost);
    c.collect();
    CHECK(c.lives(keptValue));
    CHECK(c.value(kept) == keptValue);
    CHECK_FALSE(c.lives(lostValue));
    CHECK_FALSE(c.lives(key));
    CHECK(c.value(lost) == nullptr);
    CHECK(mprGetHandle(lost) == nullptr);
}

TEST_CASE("dependent handles are right when the mark stack overflows", "[gc][handle]") {
    Stepped c;
    Refs *const root = c.make(Kind::barrier, true);
    // Each value leads to a tree that no small stack has room for.
    std::vector<MprHandle> handles;
    std::vector<Refs *> leaves;
    Refs *key = root;
    const std::function<Refs *(int)> tree = [&](int depth) {
        Refs *const node = c.make(depth % 2 ? Kind::plain : Kind::barrier);
        for (size_t i = 0; i < Refs::most && depth > 0; i++) {
            node->refs[i] = tree(depth - 1);
        }
        if (depth == 0) {
            leaves.push_back(node);
        }
        return node;
    };
    for (int i = 0; i < 30; i++) {
        Refs *const top = tree(4);
        handles.push_back(c.handle(MPR_HANDLE_DEPENDENT, key, top));
        key = leaves.back();
    }
    std::reverse(handles.begin(), handles.end());
    const Wish wish = GENERATE(Wish::minor, Wish::urgent);
    c.collect(wish);
    CHECK(std::all_of(leaves.begin(), leaves.end(), [&](Refs *leaf) { return c.lives(leaf); }));
    c.removeRoot(root);
    c.collect(Wish::urgent);
    CHECK(std::none_of(leaves.begin(), leaves.end(), [&](Refs *leaf) { return c.lives(leaf); }));
}

TEST_CASE("a sized handle reports what only it keeps alive", "[gc][handle]") {
    const Scope scope = GENERATE(Scope::full, Scope::last);
    Stepped c(64 * 1024);
    c.fill();
    Refs *const own = c.make(), *const child = c.make(), *const shared = c.make(Kind::barrier, true);
    void *const leaf = c.stepped.make(100);
    own->refs[0] = child;
    own->refs[1] = shared;
    child->refs[0] = static_cast<Refs *>(leaf);
    const MprHandle handle = c.handle(MPR_HANDLE_SIZED, own), none = c.handle(MPR_HANDLE_SIZED, shared);
    c.collect(); // a minor one keeps all, and measures nothing
    CHECK(MPR_HANDLE_SLOT(handle)->extra == nullptr);
    c.pauseOf(scope);
    c.reclaim();
    size_t expected = 0;
    for (void *block : {static_cast<void *>(own), static_cast<void *>(child), leaf}) {
        CHECK(c.lives(block));
        expected += c.stepped.regionOf(block)->blockSize(c.stepped.granuleOf(block)) << mpr::heap::granuleShift;
    }
    CHECK(reinterpret_cast<uintptr_t>(MPR_HANDLE_SLOT(handle)->extra) == expected);
    CHECK(MPR_HANDLE_SLOT(none)->extra == nullptr);
}

namespace {
/* Handles that a thread which has yielded destroys while the block is marked. */
std::vector<MprHandle> destroyedMeanwhile;
void destroyMeanwhile(void *, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        for (MprHandle handle : std::exchange(destroyedMeanwhile, {})) {
            CHECK(handleStore.destroy(nullptr, handle));
        }
    }
}
} // namespace

TEST_CASE("handles that are destroyed while a pause looks at them leave the list of free places whole",
          "[gc][handle]") {
    Stepped c(64 * 1024);
    c.fill();
    const int type = GENERATE(MPR_HANDLE_SIZED, MPR_HANDLE_DEPENDENT, MPR_HANDLE_WEAK_LONG);
    Refs *const block = c.make();
    mpr::gc::setManager(block, mpr::heap::granulesFor(sizeof(Refs) + sizeof(MprManager)),
                        mpr::gc::codeOf(destroyMeanwhile));
    std::vector<MprHandle> handles(8);
    for (MprHandle &handle : handles) {
        handle = c.handle(type, type == MPR_HANDLE_SIZED ? block : c.make());
    }
    const MprHandle keeps = c.handle(MPR_HANDLE_SIZED, block);
    destroyedMeanwhile = handles;
    c.pauseOf(Scope::full);
    c.reclaim();
    CHECK(destroyedMeanwhile.empty());
    for (size_t i = 0; i < 2 * handles.size(); i++) {
        const MprHandle handle = c.handle(type, block);
        REQUIRE(handleStore.contains(handle));
        CHECK(mprGetHandle(handle) == block);
        CHECK(std::find(handles.begin(), handles.end(), handle) == handles.end());
    }
    CHECK(handleStore.destroy(nullptr, keeps));
}

namespace {
/* A thread that has yielded destroys a handle while the world is stopped. */
struct Meanwhile {
    MprHandle handle = 0;
    MprRootRef root{};
    std::atomic<bool> stopped{false}, destroyed{false}, tooEarly{false};

    void whenStopped() {
        mprYield(MPR_YIELD_STICKY);
        test::untilUnyielded([this] { return stopped.load(); });
        mprLinkRootRef(&root); // what the handle kept
        mprDestroyHandle(handle);
        destroyed = true;
        mprResetYield();
    }
    static void begins(void *data) {
        auto *self = static_cast<Meanwhile *>(data);
        if (!self->stopped.exchange(true)) {
            self->tooEarly = test::untilUnyielded([self] { return self->destroyed.load(); }, 50);
        }
    }
};
} // namespace

TEST_CASE("a yielded thread that destroys a handle waits for the end of a pause, which may have looked at roots before",
          "[gc][handle]") {
    Runtime runtime;
    Meanwhile meanwhile;
    meanwhile.root.ptr = mprAlloc(40);
    meanwhile.handle = mprCreateHandle(MPR_HANDLE_STRONG, meanwhile.root.ptr);
    const MprSuspensionHandler handler{nullptr, Meanwhile::begins, nullptr, nullptr, &meanwhile};
    test::Mutator thread("destroyer", [&](test::Mutator &) { meanwhile.whenStopped(); });
    REQUIRE(mprAddSuspensionHandler(&handler) == 0);
    test::collect();
    thread.join();
    CHECK(mprRemoveSuspensionHandler(&handler) == 0);
    CHECK(meanwhile.destroyed);
    CHECK_FALSE(meanwhile.tooEarly);
    test::collect();
    CHECK(mprIsValid(meanwhile.root.ptr));
    mprUnlinkRootRef(&meanwhile.root);
}

namespace {
MprHandle shortAtEnd, longAtEnd;
int shortSeen, longSeen;
void lookAtEnd(void *block, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        shortSeen += mprGetHandle(shortAtEnd) != nullptr;
        longSeen += mprGetHandle(longAtEnd) == block;
    }
}
} // namespace

TEST_CASE("when the runtime ends weak handles are cleared before any manager is called", "[gc][handle]") {
    const bool isOld = GENERATE(false, true);
    shortSeen = longSeen = 0;
    {
        Runtime runtime;
        void *const block = mprAllocManaged(16, lookAtEnd, 0);
        mprAddRoot(block);
        shortAtEnd = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block);
        longAtEnd = mprCreateHandle(MPR_HANDLE_WEAK_LONG, block);
        if (isOld) {
            test::collect();
        }
    }
    CHECK(shortSeen == 0);
    CHECK(longSeen == 1);
}

namespace {
MprHandle asked;
bool answersRight, stillThere;
void askFirst(void *block, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        answersRight = mprGetHandleType(asked) == MPR_HANDLE_WEAK_LONG && mprGetHandleSize(asked) == 0 &&
                       mprGetHandleExtra(asked) == &asked;
        const MprHandle other = mprDuplicateHandle(asked);
        answersRight = answersRight && other != 0 && mprGetHandle(other) == nullptr;
        stillThere = mprGetHandle(asked) == block;
    }
}
} // namespace

TEST_CASE("whoever asks about a long weak handle does not take its block from the manager", "[gc][handle]") {
    Runtime runtime;
    answersRight = stillThere = false;
    asked = mprCreateHandleFor(MPR_HANDLE_WEAK_LONG, mprAllocManaged(16, askFirst, 0), &asked, 0);
    test::collect();
    CHECK(answersRight);
    CHECK(stillThere);
    CHECK(mprGetHandle(asked) == nullptr);
    CHECK(test::stats().misuses == 0);
}

namespace {
void *living;
constexpr unsigned refused = 4; // calls below that are named
/* None of these changes the handle. @return How many did, or answered wrongly. */
unsigned failToChange(void *block) {
    unsigned wrong = mprCompareExchangeHandle(asked, nullptr, living) != block;
    wrong += block && mprSetHandleIfNull(asked, living);
    wrong += mprSetHandle(asked, &living) != MPR_ERR_BAD_ARGS;
    wrong += mprSetHandleExtra(asked, &living) != 0;
    wrong += mprAddHandleCount(asked, 1) != 0;
    wrong += mprGetHandleValue(asked) != nullptr;
    wrong += mprSetHandleValue(asked, living) != MPR_ERR_BAD_HANDLE;
    return wrong + (mprGetHandle(asked) != block);
}
std::atomic<int> turn;
std::atomic<unsigned> wrongForManager;
bool swaps;
void failFirst(void *block, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        wrongForManager += failToChange(block);
        turn = 1;
        test::untilUnyielded([] { return turn == 2; });
        wrongForManager += mprGetHandle(asked) != block;
        if (swaps) {
            wrongForManager += mprCompareExchangeHandle(asked, living, block) != block;
            wrongForManager += mprGetHandle(asked) != living;
        }
    }
}
} // namespace

TEST_CASE("a change of a long weak handle that fails does not take its block from the manager", "[gc][handle]") {
    Runtime runtime("everyyield=0,everyalloc=0,batches=0");
    swaps = GENERATE(false, true);
    turn = 0;
    wrongForManager = 0;
    living = mprAllocMem(16, MPR_ALLOC_HOLD);
    asked = mprCreateHandle(MPR_HANDLE_WEAK_LONG, mprAllocManaged(16, failFirst, 0));
    mprGC(MPR_GC_FORCE);
    REQUIRE(test::untilUnyielded([] { return turn == 1; }));
    CHECK(failToChange(nullptr) == 0); // to all others it has no block any more
    turn = 2;
    mprYield(MPR_YIELD_COMPLETE);
    CHECK(wrongForManager == 0);
    CHECK(mprGetHandle(asked) == (swaps ? living : nullptr));
    CHECK(test::stats().misuses == 2 * refused);
    mprRelease(living);
}

TEST_CASE("a handle whose dying ends while it is asked for its block is not called stale", "[gc][handle]") {
    Runtime runtime("everyyield=0,everyalloc=0,batches=0,deadline=60000");
    std::vector<MprHandle> handles(2000);
    for (MprHandle &handle : handles) {
        handle = mprCreateHandle(MPR_HANDLE_WEAK_LONG, nullptr);
    }
    test::Mutator reader("reader", [&](test::Mutator &self) {
        while (self.go()) {
            for (const MprHandle handle : handles) {
                mprGetHandle(handle);
            }
            mprYield(0);
        }
    });
    for (int round = 0; round < 100; round++) {
        for (const MprHandle handle : handles) {
            mprSetHandle(handle, mprAllocManaged(
                                     16, [](void *, int) {}, 0));
        }
        test::collect();
    }
    reader.stop();
    CHECK(test::stats().misuses == 0);
}

TEST_CASE("a counted handle is strong while its count is greater than 0", "[gc][handle]") {
    Runtime runtime;
    test::calls.reset();
    const MprHandle handle = mprCreateHandle(MPR_HANDLE_REFCOUNTED, test::makeNode());
    CHECK(mprAddHandleCount(handle, 2) == 2);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprAddHandleCount(handle, -1) == 1);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprGetHandle(handle));
    CHECK(mprAddHandleCount(handle, -1) == 0);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK_FALSE(mprGetHandle(handle));
    CHECK(test::calls.frees == 1);
}

TEST_CASE("a count that has no room is named and stays", "[gc][handle][misuse]") {
    Runtime runtime;
    const MprHandle handle = mprCreateHandle(MPR_HANDLE_REFCOUNTED, test::makeNode());
    CHECK(mprAddHandleCount(handle, PTRDIFF_MAX) == PTRDIFF_MAX);
    CHECK(mprAddHandleCount(handle, 1) == PTRDIFF_MAX);
    CHECK(Log::has("mprAddHandleCount("));
    CHECK(Log::has("more than can be counted"));
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprGetHandle(handle));
    CHECK(mprAddHandleCount(handle, -PTRDIFF_MAX) == 0);
    CHECK(mprAddHandleCount(handle, PTRDIFF_MIN) == PTRDIFF_MIN);
    CHECK(mprAddHandleCount(handle, -1) == PTRDIFF_MIN);
}

TEST_CASE("a variable handle that is told to be what there is not is named, and stays as it is",
          "[gc][handle][misuse]") {
    Runtime runtime;
    const auto word = [](ptrdiff_t number) { return reinterpret_cast<void *>(number); };
    test::Node *const node = test::makeNode();
    const MprHandle handle = mprCreateHandleFor(MPR_HANDLE_VARIABLE, node, word(MPR_HANDLE_STRONG), 0);
    REQUIRE(handle);
    for (const ptrdiff_t wrong : {ptrdiff_t{MPR_HANDLE_PINNED}, ptrdiff_t{MPR_HANDLE_TYPES}, ptrdiff_t{-1}}) {
        CHECK(mprSetHandleExtra(handle, word(wrong)) == MPR_ERR_BAD_ARGS);
        CHECK(Log::has("mprSetHandleExtra("));
        CHECK(mprCreateHandleFor(MPR_HANDLE_VARIABLE, node, word(wrong), 0) == 0);
        CHECK(Log::has("mprCreateHandle("));
        Log::clear();
    }
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprGetHandle(handle) == node);
    CHECK(mprSetHandleExtra(handle, word(MPR_HANDLE_WEAK_LONG)) == 0);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprGetHandle(handle) == nullptr);
}

TEST_CASE("handles count against the hard limit, until their segments are given back", "[gc][handle][limits]") {
    Runtime runtime;
    const uint64 before = mprGetMemStats()->heap;
    test::limitCommitted(before + (1 << 20), 0);
    std::vector<MprHandle> handles(1 << 20);
    size_t made = 0;
    while (made < handles.size() && (handles[made] = mprCreateHandle(MPR_HANDLE_STRONG, nullptr))) {
        made++;
    }
    CHECK(made < handles.size());
    CHECK(Log::has("no memory for another handle"));
    CHECK(mprGetMemStats()->heap <= before + (1 << 20));
    CHECK(mprGetMemStats()->heap > before + (1 << 19));
    while (made > 0) {
        mprDestroyHandle(handles[--made]);
    }
    CHECK(mprGetMemStats()->heap < before + (1 << 19));
    CHECK(mprCreateHandle(MPR_HANDLE_STRONG, nullptr));
    mprSetMemLimits(-1, -1, -1);
}

TEST_CASE("a sized handle measures pinned blocks, in memory of the program's, too", "[gc][handle][pinned]") {
    Runtime runtime;
    alignas(64) static unsigned char memory[256 * 1024];
    REQUIRE(mprAddPinnedRange("range", memory, sizeof(memory)) == 0);
    const bool inRange = GENERATE(false, true);
    void *const block = inRange ? mprAllocPinnedIn("range", 4000, 64, 0) : mprAllocPinned(4000, 64, 0);
    const MprHandle handle = mprCreateHandle(MPR_HANDLE_SIZED, block);
    mprGC(MPR_GC_MAJOR | MPR_GC_COMPLETE);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprGetHandleSize(handle) >= 4000);
}

TEST_CASE("handles are set, exchanged, duplicated, counted and destroyed", "[gc][handle]") {
    Runtime runtime;
    void *const a = mprAlloc(16), *const b = mprAlloc(16);
    const MprHandle handle = mprCreateHandleFor(MPR_HANDLE_STRONG, a, a, 12);
    CHECK(mprGetHandle(handle) == a);
    CHECK(mprGetHandleExtra(handle) == a);
    CHECK(mprGetHandleType(handle) == MPR_HANDLE_STRONG);
    CHECK(mprContainsHandle(handle));
    CHECK(mprCompareExchangeHandle(handle, b, b) == a);
    CHECK(mprGetHandle(handle) == a);
    CHECK(mprCompareExchangeHandle(handle, b, a) == a);
    CHECK(mprGetHandle(handle) == b);
    CHECK_FALSE(mprSetHandleIfNull(handle, a));
    CHECK(mprSetHandle(handle, nullptr) == 0);
    CHECK(mprSetHandleIfNull(handle, a));
    CHECK(mprSetHandleExtra(handle, b) == 0);
    const MprHandle twin = mprDuplicateHandle(handle);
    CHECK(twin != handle);
    CHECK(mprGetHandle(twin) == a);
    CHECK(mprGetHandleExtra(twin) == b);
    CHECK(mprCountHandles(MPR_HANDLE_STRONG, 12, nullptr) == 2);
    CHECK(mprCountHandles(MPR_HANDLE_ANY, 13, nullptr) == 0);
    CHECK(mprCountHandles(MPR_HANDLE_WEAK_LONG, MPR_HANDLE_ANY, nullptr) == 0);
    MprHandleCount counts[4];
    REQUIRE(mprCountHandlesBySite(counts, 4) == 2); // created in two places
    CHECK(counts[0].count == 1);
    CHECK(counts[0].type == MPR_HANDLE_STRONG);
    CHECK(counts[0].owner == 12);
    CHECK(mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, counts[1].site) == 1);
    CHECK(mprCountHandlesBySite(counts, 1) == 1);
    Log::clear();
    mprDumpHandles();
    CHECK(Log::count("handle ") == 2);
    CHECK(Log::has("strong"));
    CHECK(Log::names(a) == 2);
    Log::clear();
    CHECK(mprDestroyHandle(handle) == 0);
    CHECK(mprDestroyHandle(twin) == 0);
    CHECK(mprDestroyHandle(0) == 0);
    CHECK(mprGetHandle(0) == nullptr);
    CHECK(Log::size() == 0);
    CHECK_FALSE(mprContainsHandle(handle));
    CHECK(mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, nullptr) == 0);
}

TEST_CASE("a dependent handle's value dies with its key", "[gc][handle]") {
    Runtime runtime;
    test::Root key(mprAlloc(16));
    void *const value = mprAlloc(16);
    const MprHandle handle = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, key.as<void>(), value, 0);
    CHECK(mprGetHandleValue(handle) == value);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprGetHandleValue(handle) == value);
    CHECK(mprIsValid(value));
    CHECK(mprGetHandleExtra(handle) == nullptr);
    CHECK(mprSetHandle(handle, nullptr) == 0);
    CHECK(mprGetHandleValue(handle) == nullptr);
    CHECK(mprSetHandleValue(handle, key.as<void>()) == MPR_ERR_BAD_STATE);
    CHECK(mprSetHandle(handle, key.as<void>()) == 0);
    CHECK(mprGetHandleValue(handle) == nullptr); // not what it was
    CHECK(mprSetHandleValue(handle, key.as<void>()) == 0);
    CHECK(mprGetHandleValue(handle) == key.as<void>());
    key.set(nullptr);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    CHECK(mprGetHandle(handle) == nullptr); // its own value does not keep it
    CHECK(mprGetHandleValue(handle) == nullptr);
    CHECK_FALSE(mprIsValid(value));
}

TEST_CASE("a stale handle is named and does nothing", "[gc][handle]") {
    Runtime runtime;
    void *const a = mprAlloc(16), *const b = mprAlloc(16);
    const MprHandle stale = mprCreateHandle(MPR_HANDLE_STRONG, a);
    mprDestroyHandle(stale);
    const MprHandle other = mprCreateHandle(MPR_HANDLE_STRONG, b); // in the same place
    REQUIRE(MPR_HANDLE_SLOT(stale) == MPR_HANDLE_SLOT(other));
    REQUIRE(stale != other);
    Log::clear();
    int lines = 0;
    const auto named = [&](const char *function) {
        INFO(function << "\n" << Log::text());
        CHECK(Log::count(function) > 0);
        CHECK(Log::size() == ++lines);
    };
    CHECK(mprGetHandle(stale) == nullptr);
    named("mprGetHandle");
    CHECK(mprSetHandle(stale, a) == MPR_ERR_BAD_HANDLE);
    named("mprSetHandle");
    CHECK(mprCompareExchangeHandle(stale, a, b) == nullptr);
    named("mprCompareExchangeHandle");
    CHECK_FALSE(mprSetHandleIfNull(stale, a));
    named("mprSetHandleIfNull");
    CHECK(mprGetHandleExtra(stale) == nullptr);
    named("mprGetHandleExtra");
    CHECK(mprSetHandleExtra(stale, a) == MPR_ERR_BAD_HANDLE);
    named("mprSetHandleExtra");
    CHECK(mprGetHandleType(stale) == MPR_ERR_BAD_HANDLE);
    named("mprGetHandleType");
    CHECK(mprDuplicateHandle(stale) == 0);
    named("mprDuplicateHandle");
    CHECK(mprDestroyHandle(stale) == MPR_ERR_BAD_HANDLE);
    named("mprDestroyHandle");
    CHECK(mprGetHandle(other) == b);
    CHECK_FALSE(mprContainsHandle(stale));
    CHECK_FALSE(mprContainsHandle(1));
    CHECK_FALSE(mprContainsHandle(~0ull));
    CHECK(mprCreateHandle(MPR_HANDLE_TYPES, a) == 0);
    CHECK(mprCreateHandle(-1, a) == 0);
    CHECK(mprCreateHandleFor(MPR_HANDLE_STRONG, a, nullptr, 65536) == 0);
    CHECK(mprCreateHandle(MPR_HANDLE_STRONG, static_cast<char *>(a) + 1) == 0);
    CHECK(mprSetHandle(other, &lines) == MPR_ERR_BAD_ARGS);
    CHECK(mprAddHandleCount(other, 1) == 0);
    CHECK(mprGetHandleValue(other) == nullptr);
    CHECK(mprGetHandle(other) == b);
    CHECK(Log::size() > lines);
}

TEST_CASE("freeing by a call that is refused leaves the handles of a block as they are", "[gc][handle]") {
    Runtime runtime;
    void *const key = mprAlloc(40), *const leaf = mprAlloc(40);
    const MprHandle weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, leaf),
                    dependent = mprCreateHandle(MPR_HANDLE_DEPENDENT, key);
    REQUIRE(mprSetHandleValue(dependent, leaf) == 0);
    const auto misused = [&](auto call) {
        const uint64_t before = test::stats().misuses;
        call();
        CHECK(test::stats().misuses == before + 1);
        CHECK(mprGetHandle(weak) == leaf);
        CHECK(mprGetHandleValue(dependent) == leaf);
    };
    misused([=] { pfree(leaf); }); // it is no permanent memory
    misused([=] { prealloc(leaf, 20000); });
    mprHold(leaf);
    misused([=] { mprFree(leaf); });
    mprHold(leaf);
    misused([=] { pfree(leaf); });
    mprRelease(leaf);
    mprRelease(leaf);
    mprDestroyHandle(weak);
    mprDestroyHandle(dependent);
}

TEST_CASE("segments are given back, and their handles stay stale", "[gc][handle]") {
    Runtime runtime;
    constexpr size_t many = 20000;
    std::vector<MprHandle> first(many), again(many);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < many; i++) {
            first[i] = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, nullptr);
        }
        std::vector<MprHandle> sorted = first;
        std::sort(sorted.begin(), sorted.end());
        CHECK(std::unique(sorted.begin(), sorted.end()) == sorted.end());
        for (MprHandle handle : first) {
            CHECK(mprDestroyHandle(handle) == 0);
        }
        for (size_t i = 0; i < many; i++) {
            again[i] = mprCreateHandle(round % 2 ? MPR_HANDLE_DEPENDENT : MPR_HANDLE_STRONG, nullptr);
        }
        size_t right = 0;
        for (size_t i = 0; i < many; i++) {
            right += !mprContainsHandle(first[i]) && mprContainsHandle(again[i]);
        }
        CHECK(right == many);
        for (MprHandle handle : again) {
            CHECK(mprDestroyHandle(handle) == 0);
        }
    }
    CHECK(mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, nullptr) == 0);
}

TEST_CASE("a handle's number does not come again while its place has generations left", "[gc][handle]") {
    if constexpr (sizeof(void *) == 8) { // with 32 bits it takes a hundred million
        Runtime runtime;
        const auto makeAndDestroy = [] {
            const MprHandle handle = mprCreateHandle(MPR_HANDLE_STRONG, nullptr);
            mprDestroyHandle(handle);
            return handle;
        };
        for (int i = 0; i < (1 << 19) - 100; i++) {
            makeAndDestroy(); // at one place, whose generations begin anew soon
        }
        std::set<MprHandle> had;
        std::vector<MprHandle> many(9000);
        int again = 0;
        for (int round = 0; round < 40; round++) {
            for (MprHandle &each : many) {
                each = mprCreateHandle(MPR_HANDLE_STRONG, nullptr);
            }
            if (round % 2) {
                std::reverse(many.begin(), many.end());
            }
            for (const MprHandle each : many) { // and segments are given back
                mprDestroyHandle(each);
            }
            for (int i = 0; i < 300; i++) {
                again += !had.insert(makeAndDestroy()).second;
            }
        }
        CHECK(again == 0);
    }
}

TEST_CASE("threads create, read and destroy handles beside collections", "[gc][handle]") {
    Runtime runtime;
    constexpr int count = 3;
    std::atomic<int> wrong{0};
    const MprHandle common = mprCreateHandle(MPR_HANDLE_WEAK_LONG, nullptr);
    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++) {
        threads.emplace_back([&, t] {
            mprAttachThread("handles");
            std::vector<MprHandle> handles;
            for (int i = 0; i < 4000; i++) {
                auto node = test::makeNode(nullptr, nullptr, 77);
                const int type = i % MPR_HANDLE_TYPES;
                handles.push_back(mprCreateHandleFor(type, node, nullptr, t));
                mprSetHandle(common, node);
                if (auto seen = static_cast<test::Node *>(mprGetHandle(common)); seen && seen->value != 77) {
                    wrong++;
                }
                const MprHandle any = handles[static_cast<size_t>(i * 7) % handles.size()];
                if (auto seen = static_cast<test::Node *>(mprGetHandle(any)); seen && seen->value != 77) {
                    wrong++;
                }
                if (i % 10 == 0) {
                    mprCountHandles(MPR_HANDLE_ANY, t, nullptr); /* for the thread sanitizer: it looks at all */
                }
                if (i % 50 == 0) {
                    mprGC(i % 200 == 0 ? MPR_GC_FORCE : MPR_GC_MINOR);
                }
                if (handles.size() > 300) {
                    for (size_t k = 0; k < 150; k++) {
                        wrong += mprDestroyHandle(handles.back()) != 0;
                        handles.pop_back();
                    }
                }
                mprYield(0);
            }
            mprYield(MPR_YIELD_STICKY);
            for (MprHandle handle : handles) {
                wrong += mprDestroyHandle(handle) != 0;
            }
            mprResetYield();
            mprDetachThread();
        });
    }
    mprYield(MPR_YIELD_STICKY);
    for (std::thread &thread : threads) {
        thread.join();
    }
    mprResetYield();
    CHECK(wrong == 0);
    CHECK(mprDestroyHandle(common) == 0);
    CHECK(mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, nullptr) == 0);
}

TEST_CASE("a call that races with the destruction of its handle changes nothing of the next in its place",
          "[gc][handle]") {
    Runtime runtime;
    constexpr int type = MPR_HANDLE_VARIABLE; /* has a word and a block that both may be set */
    void *const mine = mprAlloc(16), *const others = mprAlloc(16);
    mprHoldBlocks(mine, others, nullptr);
    std::atomic<MprHandle> shared{mprCreateHandle(type, mine)};
    std::atomic<bool> ends{false};
    std::atomic<int> foreign{0};
    std::thread setter([&] {
        mprAttachThread("setter");
        for (int i = 0; !ends; i++) {
            const MprHandle handle = shared;
            switch (i % 4) {
            case 0: mprSetHandle(handle, others); break;
            case 1: mprCompareExchangeHandle(handle, others, mine); break;
            case 2: mprSetHandleExtra(handle, &ends); break;
            default: {
                const MprHandle copy = mprDuplicateHandle(handle);
                foreign += copy && mprGetHandle(copy) && mprGetHandle(copy) != mine && mprGetHandle(copy) != others;
                mprDestroyHandle(copy);
            }
            }
            mprYield(0);
        }
        mprDetachThread();
    });
    void *const next = mprAlloc(16);
    mprHold(next);
    int taken = 0, again = 0;
    for (int i = 0; i < 200000 && taken == 0 && foreign == 0; i++) {
        const MprHandle old = shared;
        mprDestroyHandle(old);
        const MprHandle fresh = mprCreateHandle(type, next); /* nobody else knows it */
        again += MPR_HANDLE_SLOT(old) == MPR_HANDLE_SLOT(fresh);
        for (int k = 0; k < 20; k++) {
            taken += mprGetHandle(fresh) != next || mprGetHandleExtra(fresh);
        }
        mprDestroyHandle(fresh);
        shared = mprCreateHandle(type, mine);
        mprYield(0);
    }
    ends = true;
    mprYield(MPR_YIELD_STICKY);
    setter.join();
    mprResetYield();
    CHECK(taken == 0);
    CHECK(foreign == 0);
    CHECK(again > 0);
    CHECK(mprDestroyHandle(shared) == 0);
}
