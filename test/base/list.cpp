// SPDX-License-Identifier: MIT
/*
    test/base/list.cpp - Lists: every call, its errors, collection, and several threads at one list.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/value.hpp"

#include <climits>
#include <string>
#include <vector>

using namespace test;

namespace {

MprList *numbers(int count, int flags = MPR_LIST_STATIC_VALUES) {
    MprList *list = mprCreateList(0, flags);
    for (int i = 1; i <= count; i++) {
        mprAddItem(list, number(i));
    }
    return list;
}

std::string show(MprList *list) {
    std::string all;
    for (int i = 0; i < mprGetListLength(list); i++) {
        all += (i ? " " : "") + std::to_string(reinterpret_cast<intptr_t>(mprGetItem(list, i)));
    }
    return all;
}

std::string textAt(MprList *list, int index) {
    auto item = static_cast<cchar *>(mprGetItem(list, index));
    return item ? item : "(null)";
}

std::string joined(MprList *list, cchar *join = nullptr) {
    char *all = mprListToString(list, join);
    return all ? all : "(null)";
}

} // namespace

TEST_CASE("items are kept in order, from either end and by index", "[base][list]") {
    Runtime runtime;
    int flags = GENERATE(MPR_LIST_STATIC_VALUES, MPR_LIST_STATIC_VALUES | MPR_LIST_STABLE);
    MprList *list = mprCreateList(GENERATE(-1, 0, 1, 100), flags);
    REQUIRE(list);
    CHECK(mprGetListLength(list) == 0);
    CHECK(!mprGetFirstItem(list));
    CHECK(!mprGetLastItem(list));
    for (int i = 1; i <= 50; i++) {
        REQUIRE(mprAddItem(list, number(i)) == i - 1);
        REQUIRE(mprGetLastItem(list) == number(i));
        REQUIRE(list->length == i);
        REQUIRE(list->items[i - 1] == number(i));
    }
    CHECK(mprGetFirstItem(list) == number(1));
    CHECK(mprGetItem(list, 49) == number(50));
    CHECK(!mprGetItem(list, 50));
    CHECK(!mprGetItem(list, -1));
    CHECK(!mprGetItem(list, INT_MAX));
    CHECK(mprGetListCapacity(list) >= 50);
    CHECK(mprLookupItem(list, number(20)) == 19);
    CHECK(mprLookupItem(list, number(51)) == MPR_ERR_CANT_FIND);
}

TEST_CASE("items are inserted, replaced and removed anywhere", "[base][list]") {
    Runtime runtime;
    MprList *list = numbers(5, GENERATE(MPR_LIST_STATIC_VALUES, MPR_LIST_STATIC_VALUES | MPR_LIST_STABLE));
    CHECK(mprInsertItemAtPos(list, 0, number(10)) == 0);
    CHECK(mprInsertItemAtPos(list, 3, number(30)) == 3);
    CHECK(mprInsertItemAtPos(list, 7, number(70)) == 7);
    CHECK(mprInsertItemAtPos(list, -3, number(9)) == 0);
    CHECK(show(list) == "9 10 1 2 30 3 4 5 70");
    CHECK(mprSetItem(list, 4, number(33)) == number(30));
    CHECK(mprRemoveItemAtPos(list, 0) == 0);
    CHECK(mprRemoveItemAtPos(list, 7) == 7);
    CHECK(mprRemoveItem(list, number(33)) == 3);
    CHECK(show(list) == "10 1 2 3 4 5");
    CHECK(mprRemoveItem(list, number(33)) == MPR_ERR_CANT_FIND);
    CHECK(mprRemoveItemAtPos(list, 6) == MPR_ERR_CANT_FIND);
    CHECK(mprRemoveItemAtPos(list, -1) == MPR_ERR_CANT_FIND);
    CHECK(mprRemoveRangeOfItems(list, 1, 3) == 0);
    CHECK(show(list) == "10 3 4 5");
    CHECK(mprRemoveRangeOfItems(list, 2, 2) == 0);
    CHECK(mprRemoveRangeOfItems(list, 2, 5) == MPR_ERR_BAD_ARGS);
    CHECK(mprRemoveRangeOfItems(list, 3, 2) == MPR_ERR_BAD_ARGS);
    CHECK(mprRemoveRangeOfItems(list, -1, 2) == MPR_ERR_BAD_ARGS);
    CHECK(show(list) == "10 3 4 5");
    CHECK(mprRemoveRangeOfItems(list, 1, -1) == 0);
    CHECK(show(list) == "10");
    CHECK(mprRemoveLastItem(list) == 0);
    CHECK(mprRemoveLastItem(list) == MPR_ERR_CANT_FIND);
}

TEST_CASE("past the end a list grows by NULLs", "[base][list]") {
    Runtime runtime;
    MprList *list = numbers(2);
    CHECK(!mprSetItem(list, 4, number(5)));
    CHECK(show(list) == "1 2 0 0 5");
    CHECK(mprInsertItemAtPos(list, 6, number(7)) == 6);
    CHECK(show(list) == "1 2 0 0 5 0 7");
    CHECK(!mprSetItem(list, -1, number(1)));
    CHECK(!mprSetItem(list, INT_MAX, number(1)));
    CHECK(mprGetListLength(list) == 7);
}

TEST_CASE("a list is a stack", "[base][list]") {
    Runtime runtime;
    MprList *list = numbers(0);
    CHECK(!mprPopItem(list));
    mprPushItem(list, number(1));
    mprPushItem(list, number(2));
    CHECK(mprPopItem(list) == number(2));
    CHECK(mprPopItem(list) == number(1));
    CHECK(!mprPopItem(list));
    mprPushItem(list, number(3));
    mprClearList(list);
    CHECK(list->length == 0);
    CHECK(!list->items[0]);
}

TEST_CASE("iteration visits every item and ends at NULL; the current one may be removed", "[base][list]") {
    Runtime runtime;
    MprList *list = mprCreateList(0, 0);
    for (int i = 0; i < 10; i++) {
        mprAddItem(list, text(std::to_string(i)));
    }
    char *item;
    int next;
    std::string seen;
    for (ITERATE_ITEMS(list, item, next)) {
        seen += item;
        if ((item[0] - '0') % 3 == 0) {
            mprRemoveItemAtPos(list, --next);
        }
    }
    CHECK(seen == "0123456789");
    CHECK(joined(list, "") == "124578");
    seen.clear();
    next = -1;
    while ((item = static_cast<char *>(mprGetPrevItem(list, &next))) != nullptr) {
        seen += item;
    }
    CHECK(seen == "875421");
    mprSetItem(list, 2, nullptr);
    int count = 0;
    for (ITERATE_ITEMS(list, item, next)) {
        count++;
    }
    CHECK(count == 2);
    for (ITERATE_ITEMS(static_cast<MprList *>(nullptr), item, next)) {
        FAIL("no list has no items");
    }
}

TEST_CASE("a NULL behind the items is not counted", "[base][list]") {
    Runtime runtime;
    MprList *list = mprCreateList(0, GENERATE(0, MPR_LIST_STATIC_VALUES));
    CHECK(mprAddNullItem(list) == 0);
    REQUIRE(list->items);
    for (int i = 0; i < 100; i++) {
        mprAddItem(list, mprAlloc(1));
        REQUIRE(mprAddNullItem(list) == i + 1);
        REQUIRE(list->length == i + 1);
        REQUIRE(!list->items[i + 1]);
    }
}

TEST_CASE("limits hold, and a refused item changes nothing", "[base][list]") {
    Runtime runtime;
    MprList *list = numbers(0);
    CHECK(mprSetListLimits(list, 100, 3) == 0);
    CHECK(mprGetListCapacity(list) >= 100);
    for (int i = 1; i <= 3; i++) {
        CHECK(mprAddItem(list, number(i)) >= 0);
    }
    CHECK(mprAddItem(list, number(4)) == MPR_ERR_TOO_MANY);
    CHECK(mprInsertItemAtPos(list, 0, number(4)) == MPR_ERR_TOO_MANY);
    CHECK(!mprSetItem(list, 3, number(4)));
    CHECK(mprSetItem(list, 2, number(5)) == number(3));
    CHECK(!mprAppendList(list, numbers(1)));
    CHECK(show(list) == "1 2 5");
    CHECK(mprSetListLimits(list, 0, 0) == 0);
    CHECK(mprAddItem(list, number(4)) == 3);
}

TEST_CASE("without memory calls fail and lists stay whole", "[base][list]") {
    Runtime runtime;
    MprList *list = mprCreateList(0, GENERATE(0, MPR_LIST_STATIC_VALUES));
    std::vector<void *> added;
    mprSetMemLimits(0, static_cast<ssize>(stats().heap + 4 * 1024 * 1024), -1);
    int error = 0;
    while (error >= 0) {
        void *block = mprAlloc(16);
        error = mprAddItem(list, block);
        if (error >= 0) {
            added.push_back(block);
        }
    }
    CHECK(error == MPR_ERR_MEMORY);
    CHECK(mprAppendList(list, list) == nullptr);
    CHECK(mprSortList(list, nullptr, nullptr) == nullptr);
    CHECK(mprInsertItemAtPos(list, 100000000, nullptr) == MPR_ERR_MEMORY);
    REQUIRE(mprGetListLength(list) == static_cast<int>(added.size()));
    for (size_t i = 0; i < added.size(); i++) {
        REQUIRE(mprGetItem(list, static_cast<int>(i)) == added[i]);
    }
}

TEST_CASE("no list, and calls say so", "[base][list]") {
    Runtime runtime;
    int next = 0;
    CHECK(mprAddItem(nullptr, &next) == MPR_ERR_BAD_ARGS);
    CHECK(mprPushItem(nullptr, &next) == MPR_ERR_BAD_ARGS);
    CHECK(mprAddNullItem(nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(mprInsertItemAtPos(nullptr, 0, &next) == MPR_ERR_BAD_ARGS);
    CHECK(mprSetListLimits(nullptr, 0, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprRemoveRangeOfItems(nullptr, 0, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprRemoveItem(nullptr, &next) == MPR_ERR_CANT_FIND);
    CHECK(mprRemoveStringItem(nullptr, "") == MPR_ERR_CANT_FIND);
    CHECK(mprRemoveItemAtPos(nullptr, 0) == MPR_ERR_CANT_FIND);
    CHECK(mprRemoveLastItem(nullptr) == MPR_ERR_CANT_FIND);
    CHECK(mprLookupItem(nullptr, &next) == MPR_ERR_CANT_FIND);
    CHECK(mprLookupStringItem(nullptr, "") == MPR_ERR_CANT_FIND);
    CHECK(!mprSetItem(nullptr, 0, &next));
    CHECK(!mprPopItem(nullptr));
    CHECK(!mprGetItem(nullptr, 0));
    CHECK(!mprGetFirstItem(nullptr));
    CHECK(!mprGetLastItem(nullptr));
    CHECK(!mprGetNextItem(nullptr, &next));
    CHECK(!mprGetPrevItem(nullptr, &next));
    CHECK(!mprCloneList(nullptr));
    CHECK(!mprAppendList(nullptr, nullptr));
    CHECK(!mprSortList(nullptr, nullptr, nullptr));
    CHECK(!mprListToString(nullptr, nullptr));
    CHECK(mprGetListLength(nullptr) == 0);
    CHECK(mprGetListCapacity(nullptr) == 0);
    mprClearList(nullptr);
    MprList *list = numbers(1);
    CHECK(!mprGetNextItem(list, nullptr));
    CHECK(mprAppendList(list, nullptr) == list);
    CHECK(mprLookupStringItem(mprCreateList(0, 0), nullptr) == MPR_ERR_CANT_FIND);
}

TEST_CASE("strings are found by their text, and joined", "[base][list]") {
    Runtime runtime;
    MprList *list = mprCreateListFromWords("  alpha, beta\tgamma,\n\n,delta\xc3\xa9 ");
    CHECK(mprGetListLength(list) == 4);
    CHECK(joined(list) == "alpha,beta,gamma,delta\xc3\xa9");
    CHECK(joined(list, " -> ") == "alpha -> beta -> gamma -> delta\xc3\xa9");
    CHECK(mprLookupStringItem(list, "gamma") == 2);
    CHECK(mprLookupStringItem(list, "gam") == MPR_ERR_CANT_FIND);
    CHECK(mprRemoveStringItem(list, "alpha") == 0);
    CHECK(mprRemoveStringItem(list, "alpha") == MPR_ERR_CANT_FIND);
    mprSetItem(list, 1, nullptr);
    CHECK(joined(list) == "beta,,delta\xc3\xa9");
    CHECK(mprLookupStringItem(list, "delta\xc3\xa9") == 2);
    CHECK(joined(mprCreateListFromWords("")).empty());
    // Texts of 4 GiB: where a size has 32 bits their sum is one of some kilobytes.
    const std::string text(8191, 'x');
    MprList *many = mprCreateList((1 << 19) + 4, MPR_LIST_STATIC_VALUES);
    for (int i = 0; i < (1 << 19) + 4; i++) {
        REQUIRE(mprAddItem(many, text.c_str()) == i);
    }
    mprSetMemLimits(0, 64 << 20, -1);
    Log log;
    CHECK(!mprListToString(many, ","));
    CHECK(joined(mprCreateListFromWords(nullptr)).empty());
    CHECK(joined(mprCreateListFromWords("one")) == "one");
}

TEST_CASE("clones and appended lists have items of their own order", "[base][list]") {
    Runtime runtime;
    MprList *list = numbers(3);
    MprList *clone = mprCloneList(list);
    mprRemoveItemAtPos(list, 0);
    CHECK(show(clone) == "1 2 3");
    CHECK(clone->flags == list->flags);
    CHECK(mprAppendList(list, clone) == list);
    CHECK(show(list) == "2 3 1 2 3");
    CHECK(mprAppendList(clone, clone) == clone);
    CHECK(show(clone) == "1 2 3 1 2 3");
    CHECK(mprGetListLength(mprCloneList(numbers(0))) == 0);
}

TEST_CASE("lists are sorted by a comparison with a context", "[base][list]") {
    Runtime runtime;
    MprList *list = mprCreateList(0, GENERATE(0, MPR_LIST_STABLE));
    for (int i = 0; i < 1000; i++) {
        mprAddItem(list, text(std::to_string(i * 7919 % 1000)));
    }
    CHECK(mprSortList(list, nullptr, nullptr) == list);
    CHECK(textAt(list, 0) == "0");
    CHECK(textAt(list, 2) == "10");
    int sign = -1;
    mprSortList(
        list,
        [](cvoid *p1, cvoid *p2, void *ctx) {
            int a = atoi(*static_cast<char *const *>(p1)), b = atoi(*static_cast<char *const *>(p2));
            return *static_cast<int *>(ctx) * (a - b);
        },
        &sign);
    for (int i = 0; i < 1000; i++) {
        REQUIRE(textAt(list, i) == std::to_string(999 - i));
    }
    CHECK(mprSortList(mprCreateList(0, 0), nullptr, nullptr));
}

TEST_CASE("a list retains its items, unless it is static", "[base][list]") {
    Runtime runtime;
    MprList *list = mprCreateList(0, 0), *weak = mprCreateList(0, MPR_LIST_STATIC_VALUES);
    Root root(list), other(weak);
    for (int i = 0; i < 1000; i++) {
        char *item = text("item " + std::to_string(i));
        mprAddItem(i % 2 ? list : weak, item);
    }
    mprRemoveRangeOfItems(list, 0, 100);
    collect();
    REQUIRE(mprGetListLength(list) == 400);
    for (int i = 0; i < 400; i++) {
        REQUIRE(mprIsValid(mprGetItem(list, i)));
        REQUIRE(textAt(list, i) == "item " + std::to_string(201 + 2 * i));
    }
    int left = 0;
    for (int i = 0; i < 500; i++) {
        left += mprIsValid(mprGetItem(weak, i));
    }
    CHECK(left == 0);
    CHECK(stats().misuses == 0);
}

TEST_CASE("an item popped is safe until its thread yields", "[base][list]") {
    Runtime runtime;
    Root root(mprCreateList(0, 0));
    mprAddItem(root.as<MprList>(), text("popped"));
    collect();
    auto item = static_cast<char *>(mprPopItem(root.as<MprList>()));
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    pause(20);
    CHECK(item == std::string("popped"));
    collect();
    CHECK(!mprIsValid(item));
}

TEST_CASE("pairs copy their texts and retain them", "[base][list]") {
    Runtime runtime;
    char key[] = "key", value[] = "value";
    MprKeyValue *pair = mprCreateKeyPair(key, value, 5);
    Root root(pair);
    key[0] = value[0] = 'x';
    collect();
    CHECK(pair->key == std::string("key"));
    CHECK(static_cast<char *>(pair->value) == std::string("value"));
    CHECK(pair->flags == 5);
    MprKeyValue *empty = mprCreateKeyPair(nullptr, nullptr, 0);
    CHECK(!empty->key);
    CHECK(!empty->value);
}

TEST_CASE("a million items", "[base][list]") {
    Runtime runtime("", 0, 120);
    const int count = static_cast<int>(heavy(1000000));
    MprList *list = mprCreateList(0, 0);
    Root root(list);
    for (int i = 0; i < count; i++) {
        auto item = static_cast<int *>(mprAlloc(sizeof(int)));
        *item = i;
        REQUIRE(mprAddItem(list, item) == i);
        if (i % 1000 == 0) {
            mprYield(0);
        }
    }
    collect();
    CHECK(stats().misuses == 0);
    int *item, next, expected = 0;
    for (ITERATE_ITEMS(list, item, next)) {
        REQUIRE(*item == expected++);
    }
    CHECK(expected == count);
    mprSortList(
        list,
        [](cvoid *p1, cvoid *p2, void *) { return **static_cast<int *const *>(p2) - **static_cast<int *const *>(p1); },
        nullptr);
    CHECK(*static_cast<int *>(mprGetFirstItem(list)) == count - 1);
    while (mprPopItem(list)) {}
    CHECK(mprGetListLength(list) == 0);
}

TEST_CASE("items moved in long lists are retained by every collection", "[base][list]") {
    // Above 127 items an array logs its stores one by one; old ones are replaced when many items move.
    Runtime runtime("check=1");
    const int count = GENERATE(10, 100, 127, 128, 1000);
    MprList *list = mprCreateList(0, GENERATE(0, MPR_LIST_STABLE));
    Root root(list);
    std::vector<uintptr_t> expected;
    for (uintptr_t i = 0; i < uintptr_t(count); i++) {
        mprAddItem(list, makeNode(nullptr, nullptr, i));
        expected.push_back(i);
    }
    Random random(17);
    const int rounds = static_cast<int>(heavy(2000));
    for (int i = 0; i < rounds; i++) {
        const size_t at = random.below(expected.size());
        const size_t to = random.below(expected.size());
        const auto node = static_cast<Node *>(mprGetItem(list, int(at)));
        REQUIRE(mprRemoveItemAtPos(list, int(at)) == int(at));
        REQUIRE(mprInsertItemAtPos(list, int(to), node) == int(to));
        expected.erase(expected.begin() + ptrdiff_t(at));
        expected.insert(expected.begin() + ptrdiff_t(to), node->value);
        if (i % 16 == 0) {
            mprSetItem(list, int(to), makeNode(makeNode(), nullptr, node->value));
            mprGC(i % 64 == 0 ? MPR_GC_FORCE : MPR_GC_MINOR);
        }
    }
    collect();
    bool right = mprGetListLength(list) == count;
    for (int i = 0; right && i < count; i++) {
        const auto node = static_cast<Node *>(mprGetItem(list, i));
        right = mprIsValid(node) && node->value == expected[size_t(i)] && (!node->next || mprIsValid(node->next));
    }
    CHECK(right);
    CHECK(mprRemoveRangeOfItems(list, 0, count / 2) == 0);
    CHECK(mprGetListLength(list) == count - count / 2);
}

TEST_CASE("a long old list is changed at its front without a collection for each hundred moves", "[base][list]") {
    Runtime runtime("everyyield=0");
    MprList *list = mprCreateList(0, GENERATE(0, MPR_LIST_STABLE));
    Root root(list);
    for (int i = 0; i < 10000; i++) {
        mprAddItem(list, makeNode());
    }
    collect();
    const uint64 before = stats().collections;
    for (int i = 0; i < 200; i++) {
        void *item = mprGetFirstItem(list);
        mprRemoveItemAtPos(list, 0);
        mprAddItem(list, item);
        mprInsertItemAtPos(list, 1, mprGetLastItem(list));
        mprRemoveItem(list, mprGetFirstItem(list));
        mprYield(0);
    }
    CHECK(stats().collections <= before + 2); // six million items have moved
    CHECK(mprGetListLength(list) == 10000);
}

TEST_CASE("several threads add, remove and read; nothing is lost or torn", "[base][list]") {
    Runtime runtime("young=256k");
    MprList *list = mprCreateList(0, 0);
    Root root(list);
    std::atomic<long> added{0}, removed{0}, wrong{0};
    {
        auto work = [&](Mutator &self) {
            for (int i = 0; i < 20000 && self.go(); i++) {
                if (mprAddItem(list, text("whole")) >= 0) {
                    added++;
                }
                if (i % 3 == 0) {
                    char *taken = static_cast<char *>(i % 2 ? mprPopItem(list) : mprGetFirstItem(list));
                    if (taken && strcmp(taken, "whole") != 0) {
                        wrong++;
                    }
                    if (taken && i % 2) {
                        removed++;
                    }
                }
                if (i % 50 == 0) {
                    char *item;
                    int next;
                    for (ITERATE_ITEMS(list, item, next)) {
                        wrong += strcmp(item, "whole") != 0;
                        if (next > 100) {
                            break;
                        }
                    }
                    mprYield(0);
                }
            }
        };
        doInThreeThreads(work);
    }
    CHECK(wrong == 0);
    CHECK(mprGetListLength(list) == added - removed);
    collect();
    for (int i = 0; i < mprGetListLength(list); i++) {
        REQUIRE(mprIsValid(mprGetItem(list, i)));
    }
    CHECK(stats().misuses == 0);
}

TEST_CASE("several threads move items about in a long list; none is lost", "[base][list]") {
    Runtime runtime("young=256k");
    MprList *list = mprCreateList(0, 0);
    Root root(list);
    const int threads = 3, each = 300, rounds = static_cast<int>(heavy(3000));
    std::atomic<long> wrong{0};
    for (uintptr_t i = 0; i < threads * each; i++) {
        mprAddItem(list, makeNode(nullptr, nullptr, i));
    }
    {
        std::atomic<uintptr_t> next{0};
        auto work = [&](Mutator &self) {
            const uintptr_t mine = next++;
            Random random(mine);
            Root held; // an item that is in no list for a moment
            for (int i = 0; i < rounds && self.go(); i++) {
                auto node = static_cast<Node *>(mprGetItem(list, int(random.below(threads * each))));
                if (node && node->value % threads == mine) {
                    held.set(node);
                    wrong += mprRemoveItem(list, node) < 0;
                    mprYield(0);
                    wrong += mprInsertItemAtPos(list, int(random.below(each)), node) < 0;
                }
                if (i % 10 == 0) {
                    makeNode();
                    mprYield(0);
                }
            }
        };
        doInThreeThreads(work);
    }
    CHECK(wrong == 0);
    collect();
    std::vector<int> seen(threads * each);
    for (int i = 0; i < mprGetListLength(list); i++) {
        auto node = static_cast<Node *>(mprGetItem(list, i));
        REQUIRE(mprIsValid(node));
        seen[node->value]++;
    }
    CHECK(seen == std::vector<int>(threads * each, 1));
}

TEST_CASE("a list that another thread changes is sorted all the same", "[base][list]") {
    Runtime runtime;
    MprList *list = mprCreateList(0, MPR_LIST_STATIC_VALUES);
    Root root(list);
    for (int i = 0; i < 1000; i++) {
        mprAddItem(list, number(1000 - i));
    }
    static int calls;
    calls = 0;
    /* The change comes from the comparison: the list is not locked there. */
    mprSortList(
        list,
        [](cvoid *p1, cvoid *p2, void *ctx) {
            if (calls++ == 100) {
                mprAddItem(static_cast<MprList *>(ctx), number(500));
            }
            auto a = *static_cast<const intptr_t *>(p1), b = *static_cast<const intptr_t *>(p2);
            return (a > b) - (a < b);
        },
        list);
    REQUIRE(mprGetListLength(list) == 1001);
    for (int i = 1; i < 1001; i++) {
        REQUIRE(reinterpret_cast<intptr_t>(mprGetItem(list, i - 1)) <= reinterpret_cast<intptr_t>(mprGetItem(list, i)));
    }
}

namespace {

int refusals;

/* Have memory end, and count from then on how often the notifier hears of it. */
void fillMemory() {
    mprSetMemLimits(0, static_cast<ssize>(stats().heap) + (4 << 20), -1);
    for (size_t size = 1 << 20; size >= 16; size /= 2) {
        while (mprAllocMem(size, MPR_ALLOC_HOLD)) {}
    }
    refusals = 0;
    mprSetMemNotifier([](int, int, size_t, size_t) { refusals++; });
    mprResetMemError();
}
} // namespace

TEST_CASE("items are removed when memory has ended, and nobody is told of what that could do without", "[base][list]") {
    Runtime runtime;
    MprList *list = mprCreateList(0, 0);
    Root root(list);
    for (int i = 0; i < 20000; i++) {
        mprAddItem(list, list);
    }
    collect(); // its array is old: each item that moves would have to be remembered
    collect();
    fillMemory();
    for (int i = 0; i < 10; i++) {
        CHECK(mprRemoveItemAtPos(list, 0) == 0);
    }
    CHECK(mprGetListLength(list) == 19990);
    CHECK(refusals == 0);
    CHECK_FALSE(mprHasMemError());
}
