// SPDX-License-Identifier: MIT
/*
    test/gc/embed.cpp - mpr/embed.h: each hook at its place in a pause, what it may ask, and its misuse.
 */
#include "mpr/embed.h"

#include "mpr/gc/runtime.hpp"
#include "mpr/handle.h"
#include "mpr/memory.h"
#include "mpr/pinned.h"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using test::Gate;
using test::Log;
using test::makeNode;
using test::Mutator;
using test::Node;
using test::Root;
using test::Runtime;

namespace {

/* An embedder of functions. The callbacks are called while all threads are stopped. */
struct Host {
    std::function<void(int)> onRoots, onClear;
    std::function<void(int, int)> onMarked;
    std::function<void()> onStop, onResume;
    std::string order; /* s r m c g */

    Host() {
        table.data = this;
        table.stop = [](void *data) { self(data).called('s', self(data).onStop); };
        table.roots = [](void *data, int generation) { self(data).called('r', self(data).onRoots, generation); };
        table.marked = [](void *data, int generation, int round) {
            self(data).called('m', self(data).onMarked, generation, round);
        };
        table.clear = [](void *data, int generation) { self(data).called('c', self(data).onClear, generation); };
        table.resume = [](void *data) { self(data).called('g', self(data).onResume); };
    }
    ~Host() { CHECK(mprSetEmbedder(nullptr) == 0); }
    Host(const Host &) = delete;
    Host &operator=(const Host &) = delete;
    void begin() { REQUIRE(mprSetEmbedder(&table) == 0); }

    MprEmbedder table{};

private:
    static Host &self(void *data) { return *static_cast<Host *>(data); }
    template <class F, class... A>
    void called(char what, F &f, A... args) {
        if (order.empty() || order.back() != what) {
            order += what;
        }
        if (f) {
            f(args...);
        }
    }
};

/* Blocks that only a hook knows are hidden from every other look. */
uintptr_t hide(const void *block) {
    return ~reinterpret_cast<uintptr_t>(block);
}
template <class T = Node>
T *shown(uintptr_t hidden) {
    return reinterpret_cast<T *>(~hidden);
}

void collect(int generation) {
    mprGC((generation == MPR_GENERATION_YOUNG ? MPR_GC_MINOR : MPR_GC_MAJOR) | MPR_GC_COMPLETE);
}

} // namespace

TEST_CASE("hooks are called in their order, and not when they have been ended", "[gc][embed]") {
    Runtime runtime;
    {
        Host host;
        host.begin();
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        INFO(host.order);
        CHECK(host.order.find("srmcg") != std::string::npos);
        CHECK(host.order.find("cs") == std::string::npos); // resume stands between
        CHECK(mprSetEmbedder(&host.table) == MPR_ERR_ALREADY_EXISTS);
        CHECK(Log::has("there is an embedder"));
        CHECK(mprSetEmbedder(nullptr) == 0);
        const size_t calls = host.order.size();
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        CHECK(host.order.size() == calls);
        const MprEmbedder nothing{};
        CHECK(mprSetEmbedder(&nothing) == 0); // which may be all NULL
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    }
}

TEST_CASE("roots that a hook marks live, with what they lead to", "[gc][embed]") {
    Runtime runtime(GENERATE("", "check=1", "everyyield=1,check=1", "young=65536,check=1"));
    std::vector<uintptr_t> table;
    const uintptr_t count = 1000;
    Host host;
    host.onRoots = [&](int) {
        for (const uintptr_t hidden : table) {
            mprMark(shown(hidden));
        }
    };
    host.begin();
    test::calls.reset();
    for (uintptr_t i = 0; i < count; i++) {
        table.push_back(hide(makeNode(makeNode(nullptr, nullptr, i), nullptr, i)));
        makeNode();
        mprYield(0);
    }
    for (const int generation : {MPR_GENERATION_YOUNG, MPR_GENERATION_ALL, MPR_GENERATION_ALL}) {
        collect(generation);
        for (uintptr_t i = 0; i < count; i++) {
            const Node *const node = shown(table[i]);
            if (!mprIsValid(node) || node->value != i || !mprIsValid(node->next) || node->next->value != i) {
                FAIL("root " << i << " was lost");
            }
        }
    }
    CHECK(test::calls.frees == count);
    table.clear();
    collect(MPR_GENERATION_ALL);
    collect(MPR_GENERATION_ALL);
    CHECK(test::calls.frees == 3 * count);
}

TEST_CASE("a hook learns what is marked, brings blocks back, and is asked until nothing is new", "[gc][embed]") {
    const int generation = GENERATE(MPR_GENERATION_YOUNG, MPR_GENERATION_ALL);
    const char *const options = GENERATE("", "check=1");
    Runtime runtime(options);
    Root root(makeNode());
    Node *const held = makeNode(), *const dead = makeNode();
    Node *const last = makeNode(nullptr, nullptr, 3), *const second = makeNode(last, nullptr, 2);
    mprHold(held);
    // Chained weak pairs: when the first is marked the hook marks what belongs to it.
    uintptr_t pairs[][2] = {{hide(root.as<Node>()), hide(second)}, {hide(last), hide(makeNode(nullptr, nullptr, 4))}};
    const uintptr_t hiddenDead = hide(dead);
    const uintptr_t leaf = hide(mprAlloc(10));
    int rounds = 0, wrong = 0, cleared = 0;
    Host host;
    host.onMarked = [&](int of, int round) {
        wrong += of != generation && of != MPR_GENERATION_YOUNG && of != MPR_GENERATION_ALL;
        rounds = round;
        wrong += !mprIsMarked(root.as<Node>()) || !mprIsMarked(held) || mprIsMarked(nullptr) || mprIsMarked(&wrong);
        wrong += round == 0 && of == generation && (mprIsMarked(shown(hiddenDead)) || mprIsMarked(shown(leaf)));
        for (const auto &[key, value] : pairs) {
            if (mprIsMarked(shown(key))) {
                mprMark(shown(value));
                wrong += !mprIsMarked(shown(value));
            }
        }
    };
    host.onClear = [&](int) {
        cleared++;
        wrong += !mprIsMarked(root.as<Node>()) || !mprIsMarked(held) || !mprIsMarked(shown(pairs[0][1])) ||
                 !mprIsMarked(shown(pairs[1][0])) || !mprIsMarked(shown(pairs[1][1]));
        wrong += cleared == 1 && (mprIsMarked(shown(hiddenDead)) || mprIsMarked(shown(leaf)));
    };
    host.begin();
    collect(generation);
    CHECK(wrong == 0);
    CHECK(rounds >= 2);
    CHECK(cleared >= 1);
    CHECK(shown(pairs[1][1])->value == 4);
    CHECK(mprIsValid(shown(pairs[1][1])));
    CHECK(mprIsMarked(root.as<Node>())); // and named: not in a callback
    CHECK(Log::has("mprIsMarked"));
    mprRelease(held);
}

TEST_CASE("an object is finalized by a hook, and dies after that", "[gc][embed]") {
    Runtime runtime(GENERATE("", "check=1", "everyyield=1"));
    test::calls.reset();
    std::vector<uintptr_t> wanted, ready; // to be finalized when dead; found dead
    Host host;
    host.onRoots = [&](int) {
        for (const uintptr_t hidden : ready) {
            mprMark(shown(hidden));
        }
    };
    host.onMarked = [&](int, int) {
        for (size_t i = wanted.size(); i-- > 0;) {
            if (!mprIsMarked(shown(wanted[i]))) {
                mprMark(shown(wanted[i]));
                ready.push_back(wanted[i]);
                wanted.erase(wanted.begin() + static_cast<ptrdiff_t>(i));
            }
        }
    };
    Root root(makeNode(nullptr, nullptr, 1));
    wanted.push_back(hide(root.as<Node>()));
    wanted.push_back(hide(makeNode(makeNode(nullptr, nullptr, 5), nullptr, 2)));
    host.begin();
    collect(MPR_GENERATION_ALL);
    REQUIRE(ready.size() == 1);
    CHECK(shown(ready[0])->value == 2);
    CHECK(shown(ready[0])->next->value == 5);
    CHECK(test::calls.frees == 0);
    ready.clear();
    collect(MPR_GENERATION_ALL);
    CHECK(test::calls.frees == 2);
    CHECK(wanted.size() == 1);
}

TEST_CASE("values of handles follow what a hook has marked", "[gc][embed][handle]") {
    Runtime runtime(GENERATE("", "check=1"));
    const int generation = GENERATE(MPR_GENERATION_YOUNG, MPR_GENERATION_ALL);
    Node *const key = makeNode(nullptr, nullptr, 1);
    const uintptr_t hiddenKey = hide(key), hiddenNext = hide(makeNode(nullptr, nullptr, 3));
    const MprHandle handle = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, key, makeNode(nullptr, nullptr, 2), 0);
    const MprHandle sized = mprCreateHandle(MPR_HANDLE_SIZED, makeNode(makeNode()));
    const MprHandle weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, makeNode());
    bool seen = false;
    Host host;
    host.onMarked = [&](int, int round) {
        mprMark(shown(hiddenKey));
        auto value = static_cast<Node *>(MPR_HANDLE_SLOT(handle)->extra);
        if (round > 0 && value && mprIsMarked(value)) { // which only the handle keeps
            seen = true;
            mprMark(shown(hiddenNext));
        }
    };
    host.onClear = [&](int) { seen = seen && !mprGetHandle(weak); };
    host.begin();
    collect(generation);
    CHECK(seen);
    CHECK(mprGetHandle(handle) == shown(hiddenKey));
    CHECK(static_cast<Node *>(mprGetHandleValue(handle))->value == 2);
    CHECK(shown(hiddenNext)->value == 3);
    CHECK(mprIsValid(shown(hiddenNext)));
    if (generation == MPR_GENERATION_ALL) {
        CHECK(mprGetHandleSize(sized) >= 2 * sizeof(Node)); // measured once, though values are marked again
    }
}

TEST_CASE("with the collector off nothing is collected, near the limit either", "[gc][embed][limits]") {
    Runtime runtime;
    mprSetMemLimits(0, 24 << 20, -1);
    std::atomic<int> pauses{0};
    Host host;
    host.onStop = [&] { ++pauses; };
    host.begin();
    test::collect();
    mprEnableGC(false);
    const int before = pauses;
    int failed = 0;
    for (int i = 0; i < 100000 && failed < 100; i++) {
        failed += !mprAlloc(1000);
        mprYield(0);
    }
    CHECK(failed == 100);
    mprYield(MPR_YIELD_COMPLETE);
    CHECK(pauses == before);
    CHECK(Log::has("the collector is off"));
    mprEnableGC(true);
    test::collect();
    CHECK(pauses > before);
    CHECK(mprAlloc(1000));
}

TEST_CASE("a hook may ask about pinned blocks, in memory of the program's, too", "[gc][embed][pinned]") {
    Runtime runtime;
    alignas(64) static unsigned char memory[256 * 1024];
    REQUIRE(mprAddPinnedRange("range", memory, sizeof(memory)) == 0);
    const bool inRange = GENERATE(false, true);
    const auto make = [&] {
        return static_cast<char *>(inRange ? mprAllocPinnedIn("range", 500, 64, 0) : mprAllocPinned(500, 64, 0));
    };
    char *const block = make();
    REQUIRE(block);
    mprAddRoot(block);
    for (size_t at = 0; at < 500; at++) {
        CHECK(mprBlockOf(block + at) == block);
    }
    CHECK(mprBlockOf(block + 512) == nullptr);
    const uintptr_t dead = hide(make());
    bool lives[2] = {}, deadLives = true;
    Host host;
    host.onMarked = [&](int, int) { lives[0] = mprIsMarked(block); };
    host.onClear = [&](int) {
        lives[1] = mprIsMarked(block);
        deadLives = mprIsMarked(shown(dead));
    };
    host.begin();
    collect(MPR_GENERATION_ALL);
    CHECK(lives[0]);
    CHECK(lives[1]);
    CHECK_FALSE(deadLives);
    CHECK(mprBlockOf(shown<char>(dead) + 50) == nullptr);
    mprRemoveRoot(block);
}

TEST_CASE("the block around an address is found", "[gc][embed]") {
    Runtime runtime;
    for (const size_t size : {1, 16, 17, 100, 1000, 1025, 5000, 100000, 2 << 20, 9 << 20}) {
        auto *const before = static_cast<char *>(mprAlloc(size));
        auto *const block = static_cast<char *>(mprAlloc(size));
        REQUIRE(block);
        Root root(block);
        const size_t whole = mprGetBlockSize(block);
        for (size_t at = 0; at < whole; at += std::max<size_t>(1, whole / 5000)) {
            if (mprBlockOf(block + at) != block) {
                FAIL("size " << size << ", offset " << at << ": " << mprBlockOf(block + at));
            }
        }
        CHECK(mprBlockOf(block + whole - 1) == block);
        CHECK(mprBlockOf(block + whole) != block);
        CHECK(mprBlockOf(before) == before);
        REQUIRE(mprFree(before) == 0);
        CHECK(mprBlockOf(before) == nullptr);
        CHECK(mprBlockOf(before + size / 2) == nullptr);
    }
    int local = 0;
    CHECK(mprBlockOf(&local) == nullptr);
    CHECK(mprBlockOf(nullptr) == nullptr);
    CHECK(mprBlockOf(reinterpret_cast<void *>(~uintptr_t{0})) == nullptr);
    const uintptr_t dead = hide(mprAlloc(100));
    test::collect();
    CHECK(mprBlockOf(shown<char>(dead) + 50) == nullptr);
}

TEST_CASE("the blocks of a range are visited in order", "[gc][embed]") {
    Runtime runtime(GENERATE("", "young=65536"));
    std::vector<char *> blocks;
    auto *const row = test::makeRow(3000);
    Root root(row);
    for (size_t i = 0; i < 3000; i++) {
        row[i] = nullptr;
    }
    for (size_t i = 0; i < 3000; i++) {
        mprSetRef(row, row + i, mprAlloc(i % 100 == 99 ? 300000 : 1 + i * 7 % 3000));
        REQUIRE(row[i]);
        blocks.push_back(static_cast<char *>(row[i]));
        mprAlloc(50); // garbage
        mprYield(0);
    }
    test::collect();
    std::sort(blocks.begin(), blocks.end());
    struct Seen {
        std::vector<char *> blocks;
        size_t wrong = 0;
        size_t most = ~size_t{0};
    };
    const auto visit = [](void *data, void *block, size_t size) {
        auto seen = static_cast<Seen *>(data);
        seen->wrong += mprGetBlockSize(block) != size;
        seen->wrong += !seen->blocks.empty() && seen->blocks.back() >= block;
        seen->blocks.push_back(static_cast<char *>(block));
        return seen->blocks.size() < seen->most;
    };
    Seen all;
    const size_t count = mprBlocksIn(blocks.front(), blocks.back() + 1, visit, &all);
    CHECK(count == all.blocks.size());
    CHECK(all.wrong == 0);
    CHECK(std::includes(all.blocks.begin(), all.blocks.end(), blocks.begin(), blocks.end()));
    for (size_t i = 10; i + 10 < blocks.size(); i += 97) { // any part of it
        Seen some;
        mprBlocksIn(blocks[i] + 1, blocks[i + 9], visit, &some);
        const auto from = std::upper_bound(all.blocks.begin(), all.blocks.end(), blocks[i]);
        const auto to = std::lower_bound(all.blocks.begin(), all.blocks.end(), blocks[i + 9]);
        CHECK(some.blocks == std::vector<char *>(from, to));
    }
    Seen few;
    few.most = 3;
    CHECK(mprBlocksIn(blocks.front(), blocks.back(), visit, &few) == 3);
    CHECK(mprBlocksIn(blocks.back(), blocks.front(), visit, &few) == 0);
}

TEST_CASE("the blocks of one manager are visited, wherever they are", "[gc][embed]") {
    Runtime runtime(GENERATE("", "young=65536"));
    const auto manageRow = [](void *, int) {};
    constexpr size_t large = size_t{3} << 20;
    Node *list = nullptr;
    Node *first = makeNode();
    Root root(first);
    for (uintptr_t i = 0; i < 2000; i++) {
        list = makeNode(list, i % 100 == 99 ? mprAllocManaged(i % 200 == 99 ? large : 5000, manageRow, 0) : nullptr, i);
        makeNode(); // garbage
        mprAlloc(1 + i % 3000);
        first->next = list;
        mprYield(0);
    }
    test::collect();
    struct Seen {
        std::vector<void *> blocks;
        size_t bytes = 0, most = ~size_t{0};
    };
    const auto visit = [](void *data, void *block, size_t size) {
        auto seen = static_cast<Seen *>(data);
        seen->blocks.push_back(block);
        seen->bytes += size;
        return seen->blocks.size() < seen->most;
    };
    Seen nodes, rows, all, few;
    CHECK(mprBlocksOf(test::manageNode, visit, &nodes) == 2001);
    CHECK(std::is_sorted(nodes.blocks.begin(), nodes.blocks.end()));
    for (Node *node = list; node; node = node->next) {
        CHECK(std::binary_search(nodes.blocks.begin(), nodes.blocks.end(), static_cast<void *>(node)));
    }
    CHECK(mprBlocksOf(manageRow, visit, &rows) == 20);
    CHECK(rows.bytes >= 10 * large + 10 * 5000);
    few.most = 3;
    CHECK(mprBlocksOf(test::manageNode, visit, &few) == 3);
    CHECK(mprBlocksOf([](void *, int) {}, visit, &few) == 0); // of another, which has none
    CHECK(mprBlocksOf(nullptr, visit, &few) == 0);
    // All addresses there are: where the heap has nothing the walk takes large steps.
    const uintptr_t top = sizeof(void *) == 8 ? ~uintptr_t{0} >> 17 : ~uintptr_t{0};
    mprBlocksIn(nullptr, reinterpret_cast<void *>(top), visit, &all);
    CHECK(std::includes(all.blocks.begin(), all.blocks.end(), nodes.blocks.begin(), nodes.blocks.end()));
}

TEST_CASE("ranges of addresses end where the heap does", "[gc][embed]") {
    Runtime runtime;
    mprAddRoot(test::makeNode());
    const auto last = reinterpret_cast<void *>(~uintptr_t{0});
    size_t seen = 0;
    const auto visit = [](void *data, void *, size_t) {
        ++*static_cast<size_t *>(data);
        return true;
    };
    CHECK(mprBlocksIn(nullptr, last, visit, &seen) == seen);
    CHECK(seen > 0);
    mprNoteChanged(nullptr, last);
    CHECK(test::stats().misuses == 0);
    CHECK(mprBlocksIn(nullptr, last, nullptr, nullptr) == 0);
    CHECK(Log::has("mprBlocksIn"));
    CHECK(mprBlocksOf(test::manageNode, nullptr, nullptr) == 0);
    CHECK(Log::has("mprBlocksOf"));
}

TEST_CASE("a walk passes by what another thread frees and gives back to the system meanwhile", "[gc][embed]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    mprSetMemLimits(0, 0, 0); /* free memory goes back at once */
    std::atomic<bool> done{false};
    constexpr size_t large = size_t{1} << 20;
    Mutator other("frees", [&](Mutator &) {
        for (int i = 0; i < 2000; i++) {
            void *blocks[4];
            for (void *&block : blocks) {
                block = mprAllocManaged(large, test::manageNode, 0);
            }
            for (void *block : blocks) {
                mprFree(block);
            }
        }
        done = true;
    });
    // A walk may come by more than the four that there are at a time, but never by what is no such block.
    size_t others = 0;
    const auto visit = [](void *seen, void *, size_t size) {
        *static_cast<size_t *>(seen) += size < large || size > large + 64;
        return true;
    };
    while (!done) {
        mprBlocksOf(test::manageNode, visit, &others);
        mprYield(0);
    }
    other.join();
    CHECK(others == 0);
    CHECK(mprBlocksOf(test::manageNode, visit, &others) == 0);
}

namespace {

/* A node that nobody has to be told of when it dies: a thread with a batch takes it back. */
Node *makeQuiet(Node *next, uintptr_t value) {
    const auto manage = [](void *ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMarkRefs(ptr, 2);
        }
    };
    auto node = static_cast<Node *>(mprAllocManaged(sizeof(Node), manage, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE));
    *node = {next, nullptr, value};
    return node;
}

} // namespace

TEST_CASE("changed memory that begins or ends inside a pinned block has nothing to be looked at",
          "[gc][embed][barrier][pinned]") {
    Runtime runtime;
    alignas(64) static unsigned char memory[64 * 1024];
    REQUIRE(mprAddPinnedRange("range", memory, sizeof(memory)) == 0);
    mprSetBatches(GENERATE(false, true));
    for (char *block : {static_cast<char *>(mprAllocPinnedIn("range", 4096, 64, MPR_ALLOC_HOLD)),
                        static_cast<char *>(mprAllocPinned(4096, 64, MPR_ALLOC_HOLD))}) {
        REQUIRE(block);
        mprNoteChanged(block + 100, block + 200);
        mprNoteChanged(block, block + 200);
        mprNoteChanged(block + 100, block + 8192);
        mprNoteChanged(block - 100, block + 100);
        mprRelease(block);
    }
    CHECK(test::stats().misuses == 0);
}

TEST_CASE("changed memory that a program hands over is looked at", "[gc][embed][barrier]") {
    const size_t count = GENERATE(4, 100, 5000, 1000000);
    const bool inStop = GENERATE(false, true);
    const bool batches = !inStop && GENERATE(false, true);
    Runtime runtime("check=1");
    Node **row = test::makeRow<Node>(count);
    Root root(row);
    Host host;
    std::vector<Node **> dirty;
    const auto note = [&] {
        for (Node **field : dirty) {
            mprNoteChanged(reinterpret_cast<char *>(field) - 20, field + 2);
        }
        dirty.clear();
    };
    if (inStop) {
        host.onStop = note;
    }
    host.begin();
    collect(MPR_GENERATION_ALL);
    collect(MPR_GENERATION_ALL);
    mprSetBatches(batches);
    for (int i = 0; i < 20000 && batches; i++) {
        mprAlloc(100); // until the thread has memory that is its own
    }
    mprYield(0);
    for (uintptr_t i = 0; i < 30; i++) {
        const size_t at = (count - 1) * i / 29;
        __atomic_store_n(row + at, makeQuiet(makeQuiet(nullptr, i), i), __ATOMIC_RELEASE); // no barrier
        dirty.push_back(row + at);
        if (!inStop) {
            note();
        }
        batches ? mprYield(0) : collect(i % 7 == 6 ? MPR_GENERATION_ALL : MPR_GENERATION_YOUNG);
        REQUIRE(mprIsValid(row[at]));
        REQUIRE(row[at]->value == i);
        REQUIRE(mprIsValid(row[at]->next));
        REQUIRE(row[at]->next->value == i);
    }
    mprSetBatches(false);
    mprNoteChanged(&row, &row);
    mprNoteChanged(&row, &row + 1); // nothing of the heap's
}

namespace {

constexpr size_t inside = 2 * sizeof(void *);

/* A block whose references point behind two words of the blocks that they are to. */
struct Offset {
    uintptr_t value, check;
    Offset *next, *other; /* inside */

    static void manage(void *ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMarkRefInside(&static_cast<Offset *>(ptr)->next, inside);
            mprMarkRefInside(&static_cast<Offset *>(ptr)->other, inside);
        }
    }
    static Offset *of(void *ref) { return reinterpret_cast<Offset *>(static_cast<char *>(ref) - inside); }
    static Offset *make(uintptr_t value) {
        auto made =
            static_cast<Offset *>(mprAllocManaged(sizeof(Offset), manage, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE));
        *made = {value, ~value, nullptr, nullptr};
        return made;
    }
};

} // namespace

TEST_CASE("references may point into blocks", "[gc][embed][barrier]") {
    Runtime runtime("check=1");
    const bool batches = GENERATE(false, true);
    Offset *const first = Offset::make(0);
    Root root(first);
    mprSetBatches(batches);
    for (int i = 0; i < 20000; i++) {
        mprAlloc(100); // until the thread has memory that is its own
    }
    mprYield(0);
    Offset *last = first;
    for (uintptr_t i = 1; i < 300; i++) {
        Offset *const next = Offset::make(i);
        mprSetRefInside(last, &last->next, reinterpret_cast<char *>(next) + inside, inside);
        mprSetRefInside(first, &first->other, reinterpret_cast<char *>(next) + inside, inside);
        last = next;
        Offset::make(i); // garbage
        i % 60 == 59 ? collect(i % 120 == 119 ? MPR_GENERATION_ALL : MPR_GENERATION_YOUNG) : mprYield(0);
    }
    mprSetBatches(false);
    collect(MPR_GENERATION_ALL);
    CHECK(Offset::of(first->other) == last);
    uintptr_t length = 0;
    for (Offset *at = first;; at = Offset::of(at->next), length++) {
        REQUIRE(at->value == length);
        REQUIRE(at->check == ~length);
        if (!at->next) {
            break;
        }
    }
    CHECK(length == 299);
    mprSetRefInside(first, &first->other, nullptr, inside);
    CHECK(first->other == nullptr);
}

TEST_CASE("an embedder's own threads are stopped in each pause", "[gc][embed]") {
    Runtime runtime(GENERATE("", "young=65536"));
    // The program's: it is not attached, and reads a list of blocks that a hook marks.
    std::atomic<bool> ends{false}, wantsStop{false}, stopped{false};
    std::atomic<uintptr_t> shared{hide(makeNode(makeNode(nullptr, nullptr, 7), nullptr, 7))};
    std::atomic<long> wrong{0}, reads{0};
    std::atomic<int> stops{0}, resumes{0};
    std::thread reader([&] {
        uintptr_t mine = 0; // a root of this thread's
        while (!ends) {
            mine = shared;
            for (int i = 0; i < 50; i++) {
                const Node *const node = shown(mine);
                wrong += node->value != 7 || node->next->value != 7;
            }
            ++reads;
            if (wantsStop) {
                stopped = true; // it forgets what it has read
                while (wantsStop) {
                    std::this_thread::yield();
                }
                stopped = false;
            }
        }
        stopped = true;
    });
    {
        Host host;
        host.onStop = [&] {
            ++stops;
            wantsStop = true;
            while (!stopped) {
                std::this_thread::yield();
            }
        };
        host.onResume = [&] {
            ++resumes;
            wantsStop = false;
            while (stopped && !ends) {
                std::this_thread::yield();
            }
        };
        host.onRoots = [&](int) { mprMark(shown(shared)); };
        host.begin();
        for (int i = 0; i < 200; i++) {
            shared = hide(makeNode(makeNode(nullptr, nullptr, 7), nullptr, 7));
            for (int k = 0; k < 100; k++) {
                makeNode(nullptr, nullptr, 9);
            }
            i % 10 == 9 ? collect(i % 20 == 19 ? MPR_GENERATION_ALL : MPR_GENERATION_YOUNG) : mprYield(0);
        }
        CHECK(test::untilUnyielded([&] { return reads > 10; }));
        ends = true;
        reader.join();
        CHECK(stops == resumes);
        CHECK(stops >= 20);
    }
    CHECK(wrong == 0);
}

namespace {
/* A piece that is filled with nodes, which are named later. */
struct Filling {
    Filling() { REQUIRE(mprSetBlockKind(&nodes, test::manageNode, MPR_ALLOC_BARRIER) == 0); }
    Node *make(Node *next, uintptr_t value) {
        constexpr size_t granule = size_t{1} << MPR_GRANULE_SHIFT;
        auto *node = reinterpret_cast<Node *>(static_cast<char *>(piece) + used);
        used += (sizeof(Node) + nodes.extra + granule - 1) / granule * granule;
        node->next = next;
        node->value = value;
        named.push_back({node, sizeof(Node), &nodes});
        return node;
    }
    int name() {
        const int result = mprNameBlocks(&piece, used, named.data(), named.size());
        named.clear();
        used = 0;
        return result;
    }
    MprBlockKind nodes{};
    void *piece = mprAllocPiece();
    size_t used = 0;
    std::vector<MprNamed> named;
};
} // namespace

TEST_CASE("what a program makes in a piece are blocks when it has named them", "[gc][embed][piece]") {
    const size_t count = GENERATE(as<size_t>{}, 1, 63, 64, 65, 300);
    Runtime runtime(GENERATE("everyyield=0,everyalloc=0", "check=1", "check=1,poison=1"));
    Filling filling;
    REQUIRE(filling.piece);
    CHECK(mprGetBlockSize(filling.piece) == MPR_PIECE_SIZE);
    CHECK(std::all_of(static_cast<char *>(filling.piece), static_cast<char *>(filling.piece) + MPR_PIECE_SIZE,
                      [](char c) { return c == 0; }));
    test::calls.reset();
    std::vector<uintptr_t> hidden;
    Node *list = nullptr;
    for (uintptr_t i = 0; i < count; i++) {
        list = filling.make(list, i);
        hidden.push_back(hide(list));
    }
    const auto before = test::stats();
    Root rest(filling.piece);
    CHECK(filling.name() == 0);
    rest.set(filling.piece);
    CHECK(test::stats().blocksAllocated == before.blocksAllocated + count); // each, and the rest
    CHECK(mprVerifyHeap() == 0);
    for (uintptr_t i = 0; i < count; i++) {
        CHECK(mprIsValid(shown(hidden[i])));
        CHECK(mprBlockOf(&shown(hidden[i])->value) == shown(hidden[i]));
    }
    // The last half of the list lives.
    Root root(shown(hidden[count / 2]));
    collect(MPR_GENERATION_YOUNG);
    collect(MPR_GENERATION_ALL);
    CHECK(test::calls.frees == static_cast<long>(count - count / 2 - 1));
    uintptr_t value = count / 2;
    for (const Node *node = root.as<Node>(); node; node = node->next) {
        CHECK(node->value == value--);
    }
    CHECK(mprVerifyHeap() == 0);
    CHECK(mprIsValid(filling.piece)); // which its root has kept
}

TEST_CASE("what was left out of a piece is free, and a piece may be used up", "[gc][embed][piece]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    MprBlockKind leaf;
    REQUIRE(mprSetBlockKind(&leaf, nullptr, 0) == 0);
    const size_t before = test::stats().bytesLive;
    void *piece = mprAllocPiece();
    REQUIRE(piece);
    auto *const begin = static_cast<char *>(piece);
    const MprNamed last = {begin + MPR_PIECE_SIZE - 4096, 4096, &leaf};
    CHECK(mprNameBlocks(&piece, MPR_PIECE_SIZE, &last, 1) == 0);
    CHECK(piece == nullptr);
    Root root(last.block);
    CHECK(mprGetBlockSize(last.block) == 4096);
    collect(MPR_GENERATION_YOUNG);
    collect(MPR_GENERATION_ALL);
    CHECK(test::stats().bytesLive < before + MPR_PIECE_SIZE);
    CHECK(mprIsValid(last.block));
    CHECK(mprVerifyHeap() == 0);
    CHECK(mprAllocPiece() != nullptr);
}

TEST_CASE("a piece that has grown old is cut up while a major collection marks", "[gc][embed][piece]") {
    Runtime runtime("everyyield=0,everyalloc=0,check=1");
    Filling filling;
    Root rest(filling.piece);
    collect(MPR_GENERATION_ALL);
    Root root(makeNode());
    collect(MPR_GENERATION_ALL);
    for (uintptr_t i = 0; i < 100; i++) {
        Node *node = filling.make(root.as<Node>()->next, i);
        REQUIRE(filling.name() == 0);
        rest.set(filling.piece);
        mprSetRef(root.as<Node>(), &root.as<Node>()->next, node);
        mprGC(i % 3 == 0 ? MPR_GC_MAJOR : MPR_GC_MINOR);
        mprYield(0);
    }
    uintptr_t value = 100;
    for (const Node *node = root.as<Node>()->next; node; node = node->next) {
        CHECK(node->value == --value);
    }
    CHECK(value == 0);
    CHECK(test::stats().checkDefects == 0);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("blocks of a piece are counted when they have died, in a thread's own memory, too", "[gc][embed][piece]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    const auto inUse = [] {
        collect(MPR_GENERATION_YOUNG);
        collect(MPR_GENERATION_YOUNG);
        const auto stats = test::stats();
        return stats.blocksAllocated - stats.blocksFreed;
    };
    const auto before = inUse();
    for (int pieces = 0; pieces < 60; pieces++) {
        mprAlloc(2000); // opens memory in which a piece has room, too, now and then
        Filling filling;
        REQUIRE(filling.piece);
        for (uintptr_t i = 0; i < 300; i++) {
            filling.make(nullptr, i);
        }
        REQUIRE(filling.name() == 0);
    }
    CHECK(inUse() == before);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("a piece that has been a root, or had handles, is cut up when those are gone", "[gc][embed][piece]") {
    Runtime runtime;
    Filling filling;
    REQUIRE(filling.piece);
    void *const piece = filling.piece;
    const auto refused = [&] {
        Log::clear();
        CHECK(mprNameBlocks(&filling.piece, 64, nullptr, 0) == MPR_ERR_BAD_ARGS);
        CHECK(Log::has("a root, or a handle"));
        CHECK(filling.piece == piece);
    };
    mprAddRoot(piece);
    refused();
    const MprHandle weak = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, piece);
    mprRemoveRoot(piece);
    refused();
    const MprHandle dependent = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, makeNode(), piece, 0);
    CHECK(mprDestroyHandle(weak) == 0);
    refused();
    CHECK(mprDestroyHandle(dependent) == 0);
    mprHold(piece);
    mprHold(piece);
    mprRelease(piece);
    mprRelease(piece);
    Root first(filling.make(nullptr, 1));
    CHECK(filling.name() == 0);
    const MprHandle rest = mprCreateHandle(MPR_HANDLE_STRONG, filling.piece);
    collect(MPR_GENERATION_ALL);
    CHECK(mprDestroyHandle(rest) == 0);
    CHECK(filling.name() == 0);
    CHECK(first.as<Node>()->value == 1);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("what is left of an old piece is marked, for a marker that has read its address before",
          "[gc][embed][piece]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    Filling filling;
    Root rest(filling.piece);
    collect(MPR_GENERATION_ALL);
    auto &heap = mpr::gc::runtime().heap;
    const auto marked = [&] { return heap.colours().marked(heap.find(filling.piece)->headAt(filling.piece)); };
    REQUIRE(marked());
    heap.unmarkOld(); // as a major collection does that has not come to it yet
    CHECK_FALSE(marked());
    filling.make(nullptr, 1);
    CHECK(filling.name() == 0);
    CHECK(marked());
    heap.unmarkOld();
    rest.set(filling.piece);
}

TEST_CASE("of two threads that name blocks in one piece at the same time one is refused",
          "[gc][embed][piece][misuse]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    MprBlockKind leaf;
    REQUIRE(mprSetBlockKind(&leaf, nullptr, 0) == 0);
    int named = 0;
    for (int round = 0; round < 300; round++) {
        std::atomic<void *> piece{nullptr};
        std::atomic<int> there{0};
        std::atomic<bool> isAttached{false};
        const auto name = [&](size_t apart, size_t used) {
            std::vector<MprNamed> blocks;
            for (size_t i = 0; i < 100; i++) {
                blocks.push_back({static_cast<char *>(piece.load()) + i * apart, 16, &leaf});
            }
            void *rest = piece;
            there++;
            while (there < 2) {}
            return mprNameBlocks(&rest, used, blocks.data(), blocks.size()) == 0;
        };
        bool other = false;
        std::thread thread([&] {
            mprAttachThread("other");
            isAttached = true;
            while (!piece) {}
            other = name(48, 4800);
            mprDetachThread();
        });
        REQUIRE(
            test::until([&] { return isAttached.load(); })); // which a pause may keep it from, so this thread yields
        piece = mprAllocPiece();
        REQUIRE(piece);
        named += name(16, MPR_PIECE_SIZE);
        mprYield(MPR_YIELD_STICKY);
        thread.join();
        mprResetYield();
        named += other;
    }
    CHECK(named == 300); // the one who is first
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("pieces and what is to be named in them are looked at before anything changes",
          "[gc][embed][piece][misuse]") {
    Runtime runtime;
    MprBlockKind leaf, unset{};
    REQUIRE(mprSetBlockKind(&leaf, nullptr, 0) == 0);
    void *piece = mprAllocPiece();
    Root root(piece);
    auto *const at = static_cast<char *>(piece);
    const auto refused = [&](size_t used, std::vector<MprNamed> blocks, const char *why) {
        Log::clear();
        CHECK(mprNameBlocks(&piece, used, blocks.data(), blocks.size()) == MPR_ERR_BAD_ARGS);
        INFO(Log::text());
        CHECK(Log::has(why));
        CHECK(piece == at);
        CHECK(mprGetBlockSize(piece) == MPR_PIECE_SIZE);
    };
    refused(64, {{at, 64, &unset}}, "kind was not set");
    refused(64, {{at, 64, nullptr}}, "kind was not set");
    refused(64, {{at + 4, 8, &leaf}}, "between granules");
    refused(128, {{at, 80, &leaf}, {at + 64, 64, &leaf}}, "overlap");
    refused(128, {{at + 64, 64, &leaf}, {at, 64, &leaf}}, "overlap");
    refused(128, {{at + 64, 80, &leaf}}, "does not lie");
    refused(128, {{at + 128, 0, &leaf}}, "does not lie");
    refused(128, {{at - 64, 8, &leaf}}, "does not lie");
    refused(128, {{at, SIZE_MAX, &leaf}}, "does not lie");
    CHECK(mprNameBlocks(&piece, 64, nullptr, SIZE_MAX) == MPR_ERR_BAD_ARGS);
    MprNamed one = {at, 64, &leaf};
    Log::clear();
    CHECK(mprNameBlocks(&piece, 64, &one, SIZE_MAX) == MPR_ERR_BAD_ARGS);
    CHECK(Log::has("more blocks than there can be"));
    refused(MPR_PIECE_SIZE + 1, {}, "more is used");
    refused(SIZE_MAX, {}, "more is used");
    Log::clear();
    CHECK(mprNameBlocks(&piece, 64, nullptr, 1) == MPR_ERR_BAD_ARGS);
    CHECK(Log::has("NULL"));
    mprHold(piece);
    refused(64, {{at, 64, &leaf}}, "held");
    mprRelease(piece);
    Root managed(makeNode());
    for (void *other :
         {managed.as<void>(), static_cast<void *>(at + 64), static_cast<void *>(&leaf), static_cast<void *>(nullptr)}) {
        Log::clear();
        void *none = other;
        CHECK(mprNameBlocks(&none, 0, nullptr, 0) == MPR_ERR_BAD_ARGS);
        CHECK(Log::has("not a piece"));
    }
    CHECK(mprNameBlocks(nullptr, 0, nullptr, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprNameBlocks(&piece, 0, nullptr, 0) == 0);
    CHECK(piece == at);
    CHECK(mprVerifyHeap() == 0);
}

TEST_CASE("calls of a hook that are not allowed are named", "[gc][embed][misuse]") {
    Runtime runtime;
    Host host;
    void *made = &host;
    host.onClear = [&](int) { made = mprAlloc(10); };
    host.begin();
    const uint64 before = test::stats().misuses;
    test::collect();
    CHECK(made == nullptr);
    CHECK(test::stats().misuses > before);
    CHECK(Log::has("mprAlloc"));
    host.onClear = [&](int) { mprNoteChanged(&host, &host + 1); };
    Log::clear();
    test::collect();
    CHECK(Log::has("mprNoteChanged"));
    mprYield(MPR_YIELD_STICKY);
    Log::clear();
    CHECK(mprSetEmbedder(nullptr) == MPR_ERR_BAD_STATE);
    CHECK(Log::has("mprSetEmbedder"));
    mprResetYield();
}

namespace {
/* A barrier block of any size whose first word points into another one. */
struct Holder {
    static constexpr size_t inside = 8;
    char *ref;
    static void manage(void *ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMarkRefInside(&static_cast<Holder *>(ptr)->ref, inside);
        }
    }
    static Holder *make(size_t size) {
        return static_cast<Holder *>(
            mprAllocManaged(size, manage, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE));
    }
};
} // namespace

TEST_CASE("what an old block's field points into stays, however large the old one is", "[gc][embed]") {
    const size_t size = GENERATE(as<size_t>{}, 32, 1000, 1024, 2000, 60000, 300000);
    const size_t young = GENERATE(as<size_t>{}, 100, 5000, 300000);
    const int how = GENERATE(0, 1, 2);
    Runtime runtime("everyyield=0,everyalloc=0");
    Root root(Holder::make(size));
    collect(MPR_GENERATION_ALL);
    auto *old = root.as<Holder>();
    auto *leaf = static_cast<char *>(mprAlloc(young));
    leaf[young - 1] = 'x';
    if (how == 0) {
        mprSetRefInside(old, &old->ref, leaf + Holder::inside, Holder::inside);
    } else {
        __atomic_store_n(&old->ref, leaf + Holder::inside, __ATOMIC_RELEASE);
        how == 1 ? mprNoteChanged(old, old + 1) : mprNoteChanged(&old->ref, &old->ref + 1);
    }
    collect(MPR_GENERATION_YOUNG);
    INFO(size << " refers to " << young << " by " << how);
    REQUIRE(mprIsValid(leaf));
    CHECK(leaf[young - 1] == 'x');
    CHECK(mprVerifyHeap() == 0);
}
