// SPDX-License-Identifier: MIT
/*
    test/metal/test.cpp - The core on a processor without an operating system: allocator, collector, managers, roots,
    redline and the C++ API, in buffers of 16, 32 and 256 KiB; a board with less memory leaves out what it has no room
    for: -DTEST_BUFFER=32768.

    No Catch2 here: no exceptions, no C++ library, no heap but mpr's. A check that fails says where and is counted.
 */
#include <mpr.hpp>
#include <mpr/board.h>

#include "test/metal/say.hpp"

#include <cstdint>
#include <cstring>

namespace {

// ---- Saying what happens ----------------------------------------------------------------------------------------

int checks = 0;

void check(bool right, const char* what, int line = __builtin_LINE()) {
    ++checks;
    if (!right) {
        ++failures;
        say("FAILED line ");
        say(static_cast<std::uint32_t>(line));
        say(": ");
        say(what);
        say("\n");
    }
}

char lastMessage[160];
void keepMessage(const char*, int, const char* text) {
    std::strncpy(lastMessage, text, sizeof(lastMessage) - 1);
}
bool said(const char* part) {
    return std::strstr(lastMessage, part) != nullptr;
}

std::uint32_t random() {
    static std::uint32_t state = 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

// ---- Things to manage -------------------------------------------------------------------------------------------

int freed = 0;

struct Node {
    Node* next; // Managed
    std::uint32_t value;
};

void manageNode(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(static_cast<Node*>(ptr)->next);
    } else {
        ++freed;
    }
}

/** A list of nodes n-1 ... 0, whose front is rooted if root is set before the first yield. */
Node* makeList(std::uint32_t count) {
    Node* front = nullptr;
    for (std::uint32_t i = 0; i < count; ++i) {
        Node* node = mprAllocObj(Node, manageNode);
        if (!node) {
            return nullptr;
        }
        *node = {front, i};
        front = node;
    }
    return front;
}

bool isList(const Node* node, std::uint32_t count) {
    for (; node; node = node->next) {
        if (node->value != --count) {
            return false;
        }
    }
    return count == 0;
}

MprMemStats stats() {
    MprMemStats s;
    mprReadMemStats(&s);
    return s;
}

int collect() {
    return mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}

// ---- The cases: each has a runtime of its own -------------------------------------------------------------------

void allocator() {
    for (const std::size_t size : {0u, 1u, 8u, 9u, 24u, 100u, 512u, 513u, 1000u, 4000u}) {
        void* block = mprAlloc(size);
        check(block != nullptr, "a block of every size can be had");
        check(mprGetBlockSize(block) >= size, "a block is as large as asked for");
        check(reinterpret_cast<std::uintptr_t>(block) % 8 == 0, "a block is aligned to 8");
        std::memset(block, 0xA5, size);
        check(mprIsValid(block) != 0, "a block is valid");
        check(mprFree(block) == 0, "a block can be freed");
        check(mprFree(block) == MPR_ERR_BAD_ARGS, "but not twice");
    }
    auto* zeros = static_cast<unsigned char*>(mprAllocZeroed(300));
    bool clean = zeros != nullptr;
    for (int i = 0; clean && i < 300; ++i) {
        clean = zeros[i] == 0;
    }
    check(clean, "mprAllocZeroed gives zeros");
    auto* text = static_cast<char*>(mprAlloc(6));
    std::memcpy(text, "hello", 6);
    for (std::size_t size = 10; size <= 2000; size *= 3) {
        text = static_cast<char*>(mprRealloc(text, size));
        check(text && std::strcmp(text, "hello") == 0, "mprRealloc keeps the contents");
    }
    int local = 0;
    check(mprIsValid(&local) == 0, "the stack is not managed");
    check(mprFree(&local) == MPR_ERR_BAD_ARGS && said("not managed memory"), "freeing it is refused and named");
    check(mprAlloc(~std::size_t{0}) == nullptr && mprAlloc(1u << 24) == nullptr, "what can never be had is NULL");
    check(mprVerifyHeap() == 0, "the heap is sound");
}

void roots() {
    freed = 0;
    Node* list = makeList(20);
    mprAddRoot(list);
    mprAddRoot(list);
    collect();
    check(isList(list, 20) && freed == 0, "a root keeps what it reaches");
    mprRemoveRoot(list);
    collect();
    check(isList(list, 20) && freed == 0, "roots nest");
    mprRemoveRoot(list);
    check(freed == 0, "nothing goes before a yield");
    collect();
    check(freed == 20, "each dead block's manager is called once");

    Node* held = makeList(2);
    mprHold(held);
    mprHold(held);
    collect();
    check(freed == 21 && mprIsValid(held), "a hold keeps its block alone");
    mprRelease(held);
    collect();
    check(mprIsValid(held), "holds nest");
    mprRelease(held);
    collect();
    check(freed == 22 && !mprIsValid(held), "released, it goes");
    mprRelease(mprAlloc(8));
    check(said("not held"), "releasing what is not held is named");
}

void yields() {
    freed = 0;
    check(!mprNeedYield(), "nothing wants to be collected yet");
    Node* kept = makeList(3);
    mprAddRoot(kept);
    int made = 0;
    while (!mprNeedYield() && made < 100000) {
        check(mprAllocObj(Node, manageNode) != nullptr, "the budget ends before memory does");
        ++made;
    }
    check(freed == 0, "allocation never collects");
    mprYield(MPR_YIELD_DEFAULT);
    check(freed == made && !mprNeedYield(), "a yield runs the whole collection");
    check(isList(kept, 3), "what is rooted stays");
    freed = 0;
    makeList(5);
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    check(freed == 0 && mprNeedYield(), "MPR_GC_NO_BLOCK only asks");
    mprYield(MPR_YIELD_STICKY);
    check(freed == 5, "a sticky yield collects before the thread waits");
    mprResetYield();
    check(isList(kept, 3), "and nothing else");
    check(mprEnableGC(false), "it was on");
    while (mprAlloc(100)) {}
    check(stats().errors > 0, "with the collector off memory ends");
    mprYield(0);
    mprEnableGC(true);
    collect();
    check(mprAlloc(1000) != nullptr, "and is there again after a collection");
    mprRemoveRoot(kept);
    check(stats().collections >= 3 && stats().threads == 1, "statistics say so");
}

/** A manager may use the heap, and must not bring it to a halt. */
void manageBusy(void*, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        ++freed;
        check(mprAlloc(16) != nullptr, "MPR_MANAGE_FREE may allocate");
        mprYield(0);
        mprGC(MPR_GC_FORCE);
    }
}

void managers() {
    freed = 0;
    for (int i = 0; i < 10; ++i) {
        check(mprAllocManaged(8, manageBusy, 0) != nullptr, "ten");
    }
    collect();
    check(freed == 10, "managers that allocate, yield and ask for collections are called once each");
    collect();
    void* late = mprAllocMem(16, MPR_ALLOC_MANAGER);
    freed = 0;
    check(mprSetManager(late, manageNode) == late, "a manager can be set later");
    *static_cast<Node*>(late) = {nullptr, 0};
    check(mprFree(late) == 0 && freed == 1, "mprFree calls it");
    static const auto wrong = [](void* ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMark(static_cast<char*>(ptr) + 4);
        }
    };
    void* liar = mprAllocManaged(16, wrong, 0);
    mprAddRoot(liar);
    collect();
    check(said("is not the start of a block"), "a wrong mark is named");
    mprRemoveRoot(liar);
}

/** Leaves that nothing keeps fill the buffer; of the roots that they are to be, one finds no place. */
void rootsBeyondMemory() {
    freed = 0;
    check(makeList(10) != nullptr, "a list that nothing keeps, either");
    Node* last = nullptr;
    std::uint32_t count = 0;
    while (auto* leaf = static_cast<Node*>(mprAlloc(sizeof(Node)))) {
        *leaf = {last, count++};
        last = leaf;
    }
    const Node* leaf = last;
    for (; leaf && !said("nothing is collected"); leaf = leaf->next) {
        mprAddRoot(leaf);
    }
    check(leaf != nullptr, "a root that cannot be remembered is named");
    collect();
    bool valid = freed == 0 && isList(last, count);
    for (leaf = last; valid && leaf; leaf = leaf->next) {
        valid = mprIsValid(leaf) != 0;
    }
    check(valid, "and nothing is collected any more");
    mprRemoveRoot(last);
    check(mprFree(last) == 0 && mprAlloc(sizeof(Node)) != nullptr, "but what is freed can be had again");
}

int heard = 0;
bool reserveServed = false;
void notified(int cause, int, std::size_t, std::size_t) {
    heard |= cause;
    reserveServed = mprAlloc(64) != nullptr;
}

int pruned = 0;
Node* cache = nullptr;
void prune(void*, int) {
    ++pruned;
    while (cache) {
        Node* next = cache->next;
        mprFree(cache);
        cache = next;
    }
}

void redline(ssize size) {
    const auto heap = static_cast<ssize>(stats().heap);
    const ssize warn = heap + size / 8;
    const ssize limit = heap + size / 2;
    mprSetMemNotifier(notified);
    mprSetMemLimits(warn, limit, -1);
    heard = 0;
    int made = 0;
    for (; heard == 0 && made < 10000; ++made) {
        check(mprAlloc(100) != nullptr, "allocations succeed up to the redline");
    }
    check(heard == MPR_MEM_WARNING && reserveServed, "the redline is heard first, and its listener may allocate");
    check(static_cast<ssize>(stats().heap) > warn, "when it was crossed");
    while (mprAlloc(100)) {
        ++made;
    }
    check((heard & MPR_MEM_LIMIT) && static_cast<ssize>(stats().heapPeak) <= limit, "the limit is never exceeded");
    check(mprHasMemError(), "and remembered");
    mprResetMemError();
    check(mprGetMemState() == MPR_MEM_LIMIT, "memory is not well");
    collect();
    check(mprGetMemState() == MPR_MEM_WELL, "after a collection it is");
    heard = 0;
    for (int i = 0; i < made / 2; ++i) {
        check(mprAlloc(100) != nullptr, "and there is memory again");
    }
    check((heard & MPR_MEM_WELL) != 0, "as the listener hears");
    collect();
    // What can be rebuilt goes when an allocation would fail.
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    check(mprAddPruner(prune, nullptr) == 0, "a pruner");
    heard = pruned = 0;
    cache = makeList(100);
    while (pruned == 0 && mprAlloc(100)) {}
    check(pruned > 0 && cache == nullptr && mprAlloc(100) != nullptr, "a pruner makes room");
    mprRemovePruner(prune, nullptr);
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
    mprSetMemNotifier(nullptr);
    mprSetMemLimits(0, 0, -1);
    check(mprVerifyHeap() == 0, "the heap is sound");
}

// ---- C++ ---------------------------------------------------------------------------------------------------------

int destroyed = 0;
struct Tree {
    int value = 0;
    mpr::Member<Tree> left, right;
    explicit Tree(int number) noexcept : value(number) {}
    ~Tree() { ++destroyed; }
    void trace(mpr::Marker& marker) { marker(left, right); }
};

Tree* grow(int depth) {
    Tree* tree = mpr::make<Tree>(depth);
    if (tree && depth > 0) {
        tree->left = grow(depth - 1);
        tree->right = grow(depth - 1);
    }
    return tree;
}

int sum(const Tree* tree) {
    return tree ? tree->value + sum(tree->left) + sum(tree->right) : 0;
}

void members() {
    destroyed = 0;
    {
        mpr::Root<Tree> tree = grow(5);
        const int all = sum(tree);
        collect();
        check(destroyed == 0 && sum(tree) == all && all == 57, "a Root keeps a tree of Members");
        tree->left = nullptr;
        collect();
        check(destroyed == 31, "a branch that is dropped is destroyed");
        mpr::Held<Tree> held(tree->right);
        tree = nullptr;
        collect();
        check(held->value == 4 && destroyed == 31 + 1 + 30, "a Held keeps one object");
    }
    collect();
    check(destroyed == 63, "with the last reference the last one goes");
}

// ---- Anything, for long ------------------------------------------------------------------------------------------

/** Blocks of random sizes with a pattern, in a table that a root keeps; freed by hand, by the collector, or resized. */
struct Table {
    static constexpr int places = 40;
    unsigned char* items[places]; // Managed
    std::uint16_t sizes[places];
};

void manageTable(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        for (unsigned char* item : static_cast<Table*>(ptr)->items) {
            mprMark(item);
        }
    }
}

bool patterned(const Table* table, int i) {
    for (int at = 0; at < table->sizes[i]; ++at) {
        if (table->items[i][at] != static_cast<unsigned char>(i + at)) {
            return false;
        }
    }
    return true;
}

void paint(Table* table, int i, int from) {
    for (int at = from; at < table->sizes[i]; ++at) {
        table->items[i][at] = static_cast<unsigned char>(i + at);
    }
}

void churn(int steps, std::uint32_t greatest) {
    auto* table = static_cast<Table*>(mprAllocManaged(sizeof(Table), manageTable, MPR_ALLOC_ZERO));
    mprAddRoot(table);
    int refused = 0;
    for (int step = 0; step < steps; ++step) {
        const auto i = static_cast<int>(random() % Table::places);
        const auto size = static_cast<std::uint16_t>(random() % (random() % 8 == 0 ? greatest : 64) + 1);
        unsigned char*& item = table->items[i];
        if (item && !patterned(table, i)) {
            check(false, "a block keeps its contents");
            break;
        }
        const std::uint32_t what = random() % 4;
        if (item && what == 0) {
            check(mprFree(item) == 0, "freed by hand");
            item = nullptr;
            table->sizes[i] = 0;
        } else if (item && what == 1) {
            if (void* moved = mprRealloc(item, size)) {
                const int kept = table->sizes[i] < size ? table->sizes[i] : size;
                item = static_cast<unsigned char*>(moved);
                table->sizes[i] = size;
                paint(table, i, kept);
            }
        } else {
            item = static_cast<unsigned char*>(mprAlloc(size));
            table->sizes[i] = item ? size : std::uint16_t{0};
            refused += item == nullptr;
            paint(table, i, 0);
        }
        if (step % 16 == 0) {
            mprYield(0);
        }
        if (step % 200 == 0 && mprVerifyHeap() != 0) {
            check(false, "the heap is sound at every step");
            break;
        }
    }
    check(refused * 50 < steps, "allocations hardly ever fail");
    mprRemoveRoot(table);
    collect();
    check(mprVerifyHeap() == 0, "the heap is sound in the end");
}

// ---- What fits ---------------------------------------------------------------------------------------------------

void manageNothing(void*, int) {}

/** How many blocks of a size fit, all at once. @param whole Bytes in the heap a block, the manager's word included. */
std::uint32_t fill(std::size_t whole, bool managed) {
    std::uint32_t count = 0;
    while (managed ? mprAllocManaged(whole - sizeof(MprManager), manageNothing, 0) : mprAlloc(whole)) {
        ++count;
    }
    return count;
}

void reportFit(const char* what, std::uint32_t count, std::uint32_t size) {
    say("  ");
    say(what);
    say(": ");
    say(count);
    say(" of ");
    say(static_cast<std::uint32_t>(32 * 1024 / size));
    say(" (");
    say(count * 100 / static_cast<std::uint32_t>(32 * 1024 / size));
    say(" %)\n");
}

// ---- Runs ---------------------------------------------------------------------------------------------------------

#ifndef TEST_BUFFER
#define TEST_BUFFER (256 * 1024)
#endif
alignas(16) unsigned char buffer[TEST_BUFFER];
constexpr unsigned char canary = 0xC5;

/** A case in a buffer of so many bytes, with something before and behind that must stay. */
template <typename F>
void inBuffer(const char* name, std::size_t size, F&& body) {
    const std::size_t around = size < sizeof(buffer) ? 64 : 0;
    std::memset(buffer, canary, sizeof(buffer));
    const int before = failures;
    lastMessage[0] = '\0';
    if (!mprCreateInBuffer(buffer + around, size, 0)) {
        check(false, "a runtime in a buffer");
        return;
    }
    body();
    check(mprVerifyHeap() == 0, "the heap is sound");
    check(mprDestroy(), "and can be destroyed");
    bool clean = true;
    for (std::size_t i = 0; i < around; ++i) {
        clean = clean && buffer[i] == canary && buffer[around + size + i] == canary;
    }
    check(clean, "nothing outside the buffer was written");
    if (failures != before) {
        say("  in: ");
        say(name);
        say(", ");
        say(static_cast<std::uint32_t>(size));
        say(" bytes; last message: ");
        say(lastMessage);
        say("\n");
    }
}

/** How much goes into 32 KiB. */
void fits() {
    inBuffer("fit", 32 * 1024, [] {
        const std::uint32_t count = fill(24, false);
        reportFit("leaf blocks of 24 bytes in 32 KiB", count, 24);
        check(count * 10 >= 8 * (32 * 1024 / 24), "four fifths of a buffer are usable");
    });
    inBuffer("fit", 32 * 1024, [] {
        const std::uint32_t count = fill(24, true);
        reportFit("managed blocks of 24 bytes, manager included", count, 24);
        check(count * 10 >= 8 * (32 * 1024 / 24), "four fifths, managers and all");
    });
    inBuffer("fit", 32 * 1024, [] { reportFit("objects of 24 bytes and their manager (28)", fill(28, true), 24); });
}
} // namespace

int main() {
    mprSetLogHandler(keepMessage);
    check(mprCreate(0, nullptr, 0) == nullptr && said("mprCreateInBuffer"), "without pages only a buffer will do");
    check(mprCreateInBuffer(buffer, 8 * 1024, 0) == nullptr && said("too small"), "and not any buffer");
    for (const std::size_t size : {std::size_t{16}, std::size_t{32}, std::size_t{256}}) {
        if (size * 1024 > sizeof(buffer)) {
            break;
        }
        if (size == 16 && sizeof(void*) > 4) {
            continue; // where blocks are twice as large, what is to fit does not
        }
        const std::size_t bytes = size * 1024 - (size == 256 ? 128 : 0);
        inBuffer("allocator", bytes, allocator);
        inBuffer("roots", bytes, roots);
        inBuffer("roots beyond memory", bytes, rootsBeyondMemory);
        inBuffer("yields", bytes, yields);
        inBuffer("managers", bytes, managers);
        inBuffer("redline", bytes, [&] { redline(static_cast<ssize>(bytes)); });
        inBuffer("members", bytes, members);
        inBuffer("churn", bytes, [&] { churn(size == 16 ? 2000 : 6000, size == 256 ? 4000 : 400); });
    }
    if (sizeof(buffer) >= 32 * 1024 && sizeof(void*) == 4) {
        fits();
    }
    say(failures == 0 ? "metal: all " : "metal: FAILED ");
    if (failures != 0) {
        say(static_cast<std::uint32_t>(failures));
        say(" of ");
    }
    say(static_cast<std::uint32_t>(checks));
    say(" checks\n");
    return failures == 0 ? 0 : 1;
}
