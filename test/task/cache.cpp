// SPDX-License-Identifier: MIT
/*
    test/task/cache.cpp - Caches: what is written is read, versions, expiry, limits, the order of use, the pruner, many
    threads.
 */
#include "mpr/task/cache.hpp"
#include "test/support/dying.hpp"
#include "test/support/every_yield.hpp"
#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"
#include "test/support/service.hpp"
#include "test/support/wrong_state.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

using namespace test;

namespace {

std::vector<std::string> gone; /* Keys and values, as the callback is told. */

void note(MprCache *, cchar *key, cchar *data, int event) {
    CHECK(event == MPR_CACHE_NOTIFY_REMOVE);
    gone.push_back(std::string(key) + "=" + data);
}

/* A cache that is a root for as long as this exists. */
class Rooted {
public:
    explicit Rooted(int options = 0) : cache(mprCreateCache(options)) {
        REQUIRE(cache);
        mprAddRoot(cache);
        gone.clear();
    }
    ~Rooted() { mprRemoveRoot(cache); }
    operator MprCache *() const { return cache; }

private:
    MprCache *cache;
};

ssize set(MprCache *cache, cchar *key, cchar *value) {
    return mprWriteCache(cache, key, value, 0, 0, 0, MPR_CACHE_SET);
}
std::string get(MprCache *cache, cchar *key) {
    cchar *value = mprReadCache(cache, key, nullptr, nullptr);
    return value ? value : "(none)";
}
int64 versionOf(MprCache *cache, cchar *key) {
    int64 version = 0;
    mprLookupCache(cache, key, nullptr, &version);
    return version;
}
int lengthOf(MprCache *cache) {
    int count = -1;
    mprGetCacheStats(cache, &count, nullptr);
    return count;
}
ssize memoryOf(MprCache *cache) {
    ssize bytes = -1;
    mprGetCacheStats(cache, nullptr, &bytes);
    return bytes;
}
void sleepUntil(MprTicks time) {
    while (mprGetTicks() < time) {
        pause(1);
    }
}
} // namespace

TEST_CASE("what is written to a cache is read, with its time and version", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    CHECK(mprReadCache(cache, "key", nullptr, nullptr) == nullptr);
    CHECK(mprWriteCache(cache, "key", "value", 1234, 0, 0, MPR_CACHE_SET) == 5);
    MprTime modified = 0;
    int64 version = 0;
    CHECK(std::string(mprReadCache(cache, "key", &modified, &version)) == "value");
    CHECK(modified == 1234);
    CHECK(version == 1);
    const MprTime before = mprGetTime();
    CHECK(set(cache, "key", "") == 0);
    CHECK(std::string(mprLookupCache(cache, "key", &modified, &version)) == "");
    CHECK(modified >= before);
    CHECK(modified <= mprGetTime());
    CHECK(version == 2);
    CHECK(mprRemoveCache(cache, "key"));
    CHECK(!mprRemoveCache(cache, "key"));
    version = 77;
    CHECK(!mprReadCache(cache, "key", nullptr, &version));
    CHECK(version == 77);
    CHECK(lengthOf(cache) == 0);
    CHECK(memoryOf(cache) == 0);
}

TEST_CASE("a value that was read stays when another is written", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    set(cache, "key", "old");
    char *old = mprReadCache(cache, "key", nullptr, nullptr);
    mprHold(old);
    set(cache, "key", "new");
    CHECK(mprWriteCache(cache, "key", "er", 0, 0, 0, MPR_CACHE_APPEND) == 2);
    collect();
    CHECK(std::string(old) == "old");
    CHECK(get(cache, "key") == "newer");
    mprRelease(old);
}

TEST_CASE("values are added, appended and prepended", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    CHECK(mprWriteCache(cache, "key", "b", 0, 0, 0, MPR_CACHE_APPEND) == 1);
    CHECK(mprWriteCache(cache, "key", "a", 0, 0, 0, MPR_CACHE_PREPEND) == 1);
    CHECK(mprWriteCache(cache, "key", "c", 0, 0, 0, MPR_CACHE_APPEND) == 1);
    CHECK(get(cache, "key") == "abc");
    CHECK(mprWriteCache(cache, "key", "x", 0, 0, 0, MPR_CACHE_ADD) == MPR_ERR_ALREADY_EXISTS);
    CHECK(get(cache, "key") == "abc");
    CHECK(mprWriteCache(cache, "other", "x", 0, 0, 0, MPR_CACHE_ADD) == 1);
    CHECK(mprWriteCache(cache, "key", nullptr, 0, 0, 0, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteCache(cache, nullptr, "x", 0, 0, 0, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteCache(nullptr, "key", "x", 0, 0, 0, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteCache(cache, "key", "x", 0, 0, 0, MPR_CACHE_ADD | MPR_CACHE_APPEND) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteCache(cache, "key", "x", 0, 0, 0, 0x100) == MPR_ERR_BAD_ARGS);
}

TEST_CASE("a write for another version is refused, even if the item was written again", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    CHECK(mprWriteCache(cache, "key", "x", 0, 0, 1, 0) == MPR_ERR_BAD_STATE);
    set(cache, "key", "one");
    const int64 first = versionOf(cache, "key");
    CHECK(mprWriteCache(cache, "key", "two", 0, 0, first, 0) == 3);
    CHECK(mprWriteCache(cache, "key", "three", 0, 0, first, 0) == MPR_ERR_BAD_STATE);
    CHECK(mprWriteCache(cache, "key", "three", 0, 0, first, MPR_CACHE_APPEND) == MPR_ERR_BAD_STATE);
    CHECK(get(cache, "key") == "two");
    const int64 second = versionOf(cache, "key");
    CHECK(second == first + 1);
    mprRemoveCache(cache, "key");
    set(cache, "key", "anew");
    CHECK(versionOf(cache, "key") > second);
    const int64 third = versionOf(cache, "key");
    mprPruneCache(cache);
    set(cache, "key", "again");
    CHECK(versionOf(cache, "key") > third);
}

TEST_CASE("numbers in a cache are incremented, up to the ends of the range", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    CHECK(mprIncCache(cache, "n", 5) == 5);
    CHECK(mprIncCache(cache, "n", -7) == -2);
    CHECK(get(cache, "n") == "-2");
    CHECK(versionOf(cache, "n") == 2);
    set(cache, "n", "9223372036854775806");
    CHECK(mprIncCache(cache, "n", 100) == INT64_MAX);
    CHECK(mprIncCache(cache, "n", 1) == INT64_MAX);
    set(cache, "n", "-9223372036854775807");
    CHECK(mprIncCache(cache, "n", -100) == INT64_MIN);
    set(cache, "n", "no number");
    CHECK(mprIncCache(cache, "n", 3) == 3);
}

TEST_CASE("an item expires, and reading it does not put that off", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    mprSetCacheNotify(cache, note);
    mprWriteCache(cache, "short", "s", 0, 1, 0, 0);
    mprWriteCache(cache, "long", "l", 0, 100'000'000, 0, 0);
    set(cache, "forever", "f");
    sleepUntil(mprGetTicks() + 5);
    CHECK(get(cache, "short") == "(none)");
    CHECK(gone == std::vector<std::string>{"short=s"});
    CHECK(get(cache, "long") == "l");
    CHECK(get(cache, "forever") == "f");
    CHECK(mprExpireCacheItem(cache, "long", mprGetTicks() + 20) == 0);
    const MprTicks end = mprGetTicks() + 30;
    while (mprGetTicks() < end) {
        get(cache, "long");
    }
    CHECK(get(cache, "long") == "(none)");
    CHECK(mprExpireCacheItem(cache, "long", 0) == MPR_ERR_CANT_FIND);
    CHECK(mprExpireCacheItem(cache, "forever", 0) == 0);
    CHECK(gone == std::vector<std::string>{"short=s", "long=l", "forever=f"});
    CHECK(lengthOf(cache) == 0);
}

TEST_CASE("an item that expired can be added, and starts with nothing of the old one", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    mprSetCacheLimits(cache, -1, 1, -1, -1);
    set(cache, "key", "old");
    set(cache, "number", "41");
    const MprTicks now = mprGetTicks();
    sleepUntil(now + 2);
    mprSetCacheLimits(cache, -1, 0, -1, -1);
    CHECK(mprWriteCache(cache, "key", "new", 0, 0, 0, MPR_CACHE_ADD) == 3);
    CHECK(mprIncCache(cache, "number", 1) == 1);
    sleepUntil(mprGetTicks() + 2);
    CHECK(get(cache, "key") == "new");
}

TEST_CASE("the timer gives up what has expired, and then stops", "[task][cache]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    Rooted cache;
    mprSetCacheNotify(cache, note);
    mprSetCacheLimits(cache, 0, 0, 0, 1);
    constexpr int items = 1000; // more than one run of the timer takes
    for (int i = 0; i < items; i++) {
        mprWriteCache(cache, itos(i), "x", 0, i % 3 == 0 ? 3'000'000 : 20, 0, 0);
    }
    const int stay = (items + 2) / 3;
    CHECK(serviceUntil([&] { return lengthOf(cache) == stay; }));
    CHECK(gone.size() == static_cast<size_t>(items - stay));
    for (int i = 0; i < items; i += 3) {
        mprExpireCacheItem(cache, itos(i), mprGetTicks() + 10);
    }
    CHECK(serviceUntil([&] { return lengthOf(cache) == 0; }));
    CHECK(serviceUntil([&] { return mprGetEventCount(nullptr) == 0; }));
}

TEST_CASE("a finer resolution holds for what is in a cache already, and leaves one timer", "[task][cache]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    Rooted cache;
    mprSetCacheLimits(cache, 0, 0, 0, 3'600'000);
    mprWriteCache(cache, "far", "x", 0, 3'000'000, 0, 0);
    for (int round = 0; round < 10; round++) {
        mprSetCacheLimits(cache, 0, 0, 0, 5 - round % 5);
        mprWriteCache(cache, "near", "x", 0, 20, 0, 0);
        CHECK(serviceUntil([&] { return lengthOf(cache) == 1; })); // within an hour
    }
    CHECK(mprGetEventCount(nullptr) <= 3); // that of the hour, and one or two that are due
    mprPruneCache(cache);
}

TEST_CASE("at its limits a cache gives up what has expired before what is good", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    mprSetCacheNotify(cache, note);
    mprSetCacheLimits(cache, 3, 0, 0, 0);
    mprWriteCache(cache, "good", "1", 0, 1'000'000, 0, 0);
    mprWriteCache(cache, "short", "2", 0, 10, 0, 0);
    mprWriteCache(cache, "other", "3", 0, 0, 0, 0);
    sleepUntil(mprGetTicks() + 100);
    set(cache, "new", "4");
    CHECK(gone == std::vector<std::string>{"short=2"});
    set(cache, "newer", "5");
    CHECK(gone == std::vector<std::string>{"short=2", "good=1"});
}

TEST_CASE("items expire at their time, near and far, whatever the wheel's level", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    std::mt19937 random(7);
    std::map<std::string, MprTicks> due;
    const MprTicks now = mprGetTicks();
    for (int i = 0; i < 2000; i++) {
        const std::string key = "k" + std::to_string(i);
        const MprTicks in = 1 + (MprTicks{1} << random() % 40) + static_cast<MprTicks>(random() % 1000);
        due[key] = now + in;
        CHECK(mprWriteCache(cache, key.c_str(), "v", 0, 1'000'000'000, 0, 0) == 1);
        mprExpireCacheItem(cache, key.c_str(), now + in);
    }
    sleepUntil(now + 300);
    for (int i = 0; i < 4000; i++) { // writes give up what has expired
        set(cache, "writes", "x");
    }
    const MprTicks end = mprGetTicks();
    int live = 0;
    for (auto &[key, time] : due) {
        const bool there = mprLookupCache(cache, key.c_str(), nullptr, nullptr) != nullptr;
        if (time > mprGetTicks()) {
            CHECK(there);
        } else if (time <= end) {
            CHECK(!there);
        }
        live += there;
    }
    CHECK(lengthOf(cache) == live + 1);
}

TEST_CASE("a cache keeps to its limits, and what was used last", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    mprSetCacheNotify(cache, note);
    mprSetCacheLimits(cache, 3, 0, 0, 0);
    set(cache, "a", "1");
    set(cache, "b", "2");
    set(cache, "c", "3");
    SECTION("a read is a use") {
        mprReadCache(cache, "a", nullptr, nullptr);
    }
    SECTION("a write is a use") {
        set(cache, "a", "1");
    }
    SECTION("a lookup is none") {
        mprLookupCache(cache, "a", nullptr, nullptr);
        set(cache, "d", "4");
        CHECK(gone == std::vector<std::string>{"a=1"});
        return;
    }
    set(cache, "d", "4");
    CHECK(gone == std::vector<std::string>{"b=2"});
    mprSetCacheLimits(cache, 1, -1, -1, -1);
    CHECK(gone == std::vector<std::string>{"b=2", "c=3", "a=1"});
    CHECK(get(cache, "d") == "4");
}

TEST_CASE("a cache keeps to its memory", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    constexpr ssize most = 20'000;
    mprSetCacheLimits(cache, 0, 0, most, 0);
    const std::string value(100, 'v');
    for (int i = 0; i < 500; i++) {
        set(cache, itos(i), value.c_str());
        CHECK(memoryOf(cache) <= most);
    }
    CHECK(memoryOf(cache) > most / 2);
    CHECK(get(cache, "499") == value);
    CHECK(get(cache, "0") == "(none)");
    const int before = lengthOf(cache);
    CHECK(set(cache, "large", std::string(most, 'l').c_str()) == MPR_ERR_WONT_FIT);
    CHECK(set(cache, "499", std::string(most, 'l').c_str()) == MPR_ERR_WONT_FIT);
    CHECK(lengthOf(cache) == before);
    CHECK(get(cache, "499") == value);
    CHECK(set(cache, "half", std::string(most / 2, 'h').c_str()) == most / 2);
    CHECK(memoryOf(cache) <= most);
    for (int i = 0; i < 500; i++) {
        mprRemoveCache(cache, itos(i));
    }
    mprRemoveCache(cache, "half");
    CHECK(memoryOf(cache) == 0);
}

TEST_CASE("a table of many items grows and shrinks, and all are found", "[task][cache]") {
    Runtime runtime("", 0, 120);
    Rooted cache;
    const int count = inTrial() ? 3000 : 20'000;
    for (int i = 0; i < count; i++) {
        REQUIRE(set(cache, sfmt("key-%d", i), itos(i)) > 0);
        if (i % 64 == 0) {
            mprYield(0);
        }
    }
    collect();
    CHECK(lengthOf(cache) == count);
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        wrong += get(cache, sfmt("key-%d", i)) != std::to_string(i);
        if (i % 3 != 0) {
            wrong += !mprRemoveCache(cache, sfmt("key-%d", i));
        }
        if (i % 64 == 0) {
            mprYield(0);
        }
    }
    collect();
    for (int i = 0; i < count; i++) {
        wrong += get(cache, sfmt("key-%d", i)) != (i % 3 == 0 ? std::to_string(i) : "(none)");
        mprRemoveCache(cache, sfmt("key-%d", i));
    }
    CHECK(wrong == 0);
    CHECK(lengthOf(cache) == 0);
    for (int i = 0; i < 1000; i++) { // and again
        set(cache, itos(i), "x");
    }
    CHECK(lengthOf(cache) == 1000);
}

namespace {

using mpr::task::Item;
using mpr::task::ItemTable;

/* A table of items 0, 1, 2, ..., in a block as a cache has it. */
struct Items {
    Items() {
        constexpr int flags = MPR_ALLOC_MANAGER | MPR_ALLOC_BARRIER | MPR_ALLOC_ZERO;
        const MprManager mark = [](void *, int) {}; // no yield comes
        owner = mprAllocManaged(sizeof(ItemTable), mark, flags);
        table = new (owner) ItemTable;
        table->reset(owner, room(2));
    }
    static ItemTable::Room room(size_t pairs) {
        ItemTable::Room room;
        REQUIRE(ItemTable::allocate(room, pairs));
        return room;
    }
    Item **find(size_t i) const { return table->find(i * 0x9E3779B1u, std::to_string(i).c_str()); }
    void add() {
        if (!table->hasRoom()) {
            table->take(owner, room(table->directoryRoom()));
        }
        const size_t i = table->count();
        const std::string key = std::to_string(i);
        auto item = static_cast<Item *>(mprAllocZeroed(sizeof(Item) + key.size()));
        item->hash = i * 0x9E3779B1u;
        strcpy(item->key, key.c_str());
        table->insert(find(i), item);
    }
    bool areAllFound() const {
        for (size_t i = 0; i < table->count(); i++) {
            if (!*find(i)) {
                return false;
            }
        }
        return true;
    }

    void *owner;
    ItemTable *table;
};
} // namespace

TEST_CASE("room for a cache's items that was made before others added hundreds is not taken", "[task][cache]") {
    Runtime runtime;
    Items items;
    const auto wantsDirectory = [&] { return !items.table->hasRoom() && items.table->directoryRoom() > 0; };
    while (!wantsDirectory()) {
        items.add();
    }
    const size_t wanted = items.table->directoryRoom();
    const ItemTable::Room late = Items::room(wanted);
    while (!wantsDirectory() || items.table->directoryRoom() < 4 * wanted) {
        items.add();
    }
    items.table->take(items.owner, late);
    CHECK_FALSE(items.table->hasRoom());
    CHECK(items.table->directoryRoom() >= 4 * wanted);
    CHECK(items.areAllFound());
    items.add();
    CHECK(items.areAllFound());
}

TEST_CASE("a cache and a map agree after random calls", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    std::mt19937 random(42);
    std::map<std::string, std::string> model;
    const int calls = inTrial() ? 3000 : 60'000;
    for (int i = 0; i < calls; i++) {
        const std::string key = std::to_string(random() % 3000);
        const std::string value = std::to_string(random());
        switch (random() % 6) {
        case 0: mprRemoveCache(cache, key.c_str()), model.erase(key); break;
        case 1: mprWriteCache(cache, key.c_str(), value.c_str(), 0, 0, 0, MPR_CACHE_APPEND), model[key] += value; break;
        case 2:
            if (mprWriteCache(cache, key.c_str(), value.c_str(), 0, 0, 0, MPR_CACHE_ADD) > 0) {
                CHECK(model.count(key) == 0);
                model[key] = value;
            }
            break;
        case 3: set(cache, key.c_str(), value.c_str()), model[key] = value; break;
        default: CHECK(get(cache, key.c_str()) == (model.count(key) ? model[key] : "(none)"));
        }
        if (i % 64 == 0) {
            mprYield(0);
        }
        if (i % 20'000 == 0) {
            mprPruneCache(cache);
            model.clear();
        }
    }
    CHECK(lengthOf(cache) == static_cast<int>(model.size()));
    for (auto &[key, value] : model) {
        CHECK(get(cache, key.c_str()) == value);
    }
}

TEST_CASE("a link lives as long as its item", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    static std::atomic<int> finalized;
    finalized = 0;
    const auto makeLink = [] {
        return mprAllocManaged(
            16, [](void *, int flags) { finalized += (flags & MPR_MANAGE_FREE) != 0; }, 0);
    };
    set(cache, "key", "value");
    CHECK(mprSetCacheLink(cache, "key", makeLink()) == 0);
    CHECK(mprSetCacheLink(cache, "none", nullptr) == MPR_ERR_CANT_FIND);
    mprSetCacheNotify(cache, note);
    mprWriteCache(cache, "old", "o", 0, 1, 0, 0);
    sleepUntil(mprGetTicks() + 5);
    CHECK(mprSetCacheLink(cache, "old", nullptr) == MPR_ERR_CANT_FIND);
    CHECK(gone == std::vector<std::string>{"old=o"});
    mprSetCacheNotify(cache, nullptr);
    collect();
    set(cache, "key", "other value");
    collect();
    CHECK(finalized == 0);
    mprRemoveCache(cache, "key");
    collect();
    CHECK(finalized == 1);
}

TEST_CASE("a pruned cache is empty, and tells of each item", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    mprSetCacheNotify(cache, note);
    std::vector<std::string> expected;
    for (int i = 0; i < 700; i++) {
        mprWriteCache(cache, itos(i), "x", 0, i % 2 ? 1'000'000 : 0, 0, 0);
        expected.push_back(std::to_string(i) + "=x");
    }
    mprPruneCache(cache);
    CHECK(gone == expected);
    CHECK(lengthOf(cache) == 0);
    CHECK(memoryOf(cache) == 0);
    set(cache, "5", "again");
    CHECK(lengthOf(cache) == 1);
    CHECK(mprDestroyCache(cache) == nullptr);
    CHECK(gone.back() == "5=again");
}

TEST_CASE("there is one shared cache, which needs no root", "[task][cache]") {
    Runtime runtime;
    mprPruneCache(nullptr); // there is none yet
    MprCache *shared = mprCreateCache(MPR_CACHE_SHARED);
    set(shared, "key", "value");
    collect();
    CHECK(mprCreateCache(MPR_CACHE_SHARED) == shared);
    CHECK(get(shared, "key") == "value");
    CHECK(get(mprCreateCache(0), "key") == "(none)");
    mprPruneCache(nullptr);
    CHECK(lengthOf(shared) == 0);
    mprDestroyCache(shared);
    MprCache *other = mprCreateCache(MPR_CACHE_SHARED);
    CHECK(other != shared);
    mprDestroyCache(other);
}

namespace {
/* Have the pruners called, as the redline does. */
void crossRedline() {
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    mprSetMemLimits(static_cast<ssize>(stats().heap) + 1, 0, -1);
    CHECK(mprFree(mprAlloc(16u << 20)) == 0);
    mprSetMemLimits(0, 0, -1);
}
} // namespace

TEST_CASE("the redline prunes what was used least, in all caches", "[task][cache]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    Rooted one, two;
    mprSetCacheNotify(one, note);
    constexpr int items = 300;
    for (int i = 0; i < items; i++) {
        set(one, itos(i), "x");
        set(two, itos(i), "x");
    }
    for (int i = 0; i < items / 2; i++) {
        get(one, itos(i));
    }
    crossRedline();
    REQUIRE(gone.size() >= items / 3);
    CHECK(gone.size() < items / 3 + 10);
    CHECK(gone[0] == std::to_string(items / 2) + "=x"); // the first that was not read
    CHECK(get(one, "0") == "x");
    CHECK(lengthOf(two) < items * 2 / 3 + 10);
    CHECK(get(two, "0") == "(none)");
}

TEST_CASE("of many items the redline prunes some at once, the timer and writes the rest", "[task][cache]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    Rooted cache;
    mprGetDispatcher(); // without events there is no timer
    constexpr int items = 9000;
    for (int i = 0; i < items; i++) {
        set(cache, itos(i), "x");
    }
    crossRedline();
    const int after = lengthOf(cache);
    CHECK(after < items);
    CHECK(after > items * 2 / 3);
    SECTION("the timer") {
        CHECK(serviceUntil([&] { return lengthOf(cache) <= items * 2 / 3; }));
    }
    SECTION("writes") {
        for (int i = 0; i < items; i++) {
            set(cache, "8999", "x");
        }
        CHECK(lengthOf(cache) <= items * 2 / 3);
    }
    const int left = lengthOf(cache);
    for (int i = 0; i < 100; i++) {
        set(cache, "8999", "x");
    }
    CHECK(lengthOf(cache) == left);
    CHECK(left > items * 2 / 3 - 100); // a third of the memory: the oldest items have shorter keys, which may take less
}

TEST_CASE("a cache that nobody references is not pruned but collected", "[task][cache]") {
    Runtime runtime;
    for (int i = 0; i < 50; i++) {
        MprCache *cache = mprCreateCache(0);
        set(cache, "key", "value");
        if (i % 2) {
            mprFree(cache);
        }
    }
    collect();
    crossRedline();
    CHECK(set(mprCreateCache(0), "key", "value") == 5);
}

TEST_CASE("a cache is freed by hand while its timer is under way", "[task][cache]") {
    Runtime runtime("poison=1");
    static int told;
    told = 0;
    for (bool shared : {false, true}) {
        MprCache *cache = mprCreateCache(shared ? MPR_CACHE_SHARED : 0);
        mprSetCacheLimits(cache, 0, 0, 0, 1);
        mprSetCacheNotify(cache, [](MprCache *, cchar *, cchar *, int) { told++; });
        CHECK(mprWriteCache(cache, "key", "value", 0, 1, 0, 0) == 5);
        CHECK(mprFree(cache) == 0);
        for (int i = 0; i < 100; i++) {
            memset(mprAlloc(1720), 0x11, 1720); // about its size: what is freed would be used again
        }
    }
    bool late = false;
    mprCreateEvent(nullptr, "late", 20, reinterpret_cast<void *>(static_cast<MprEventProc>([](void *data, MprEvent *) {
                       *static_cast<bool *>(data) = true;
                   })),
                   &late, 0);
    CHECK(serviceUntil([&] { return late; }));
    collect();
    CHECK(told == 0);
    CHECK(stats().misuses == 0);
    CHECK(set(mprCreateCache(MPR_CACHE_SHARED), "key", "value") == 5);
}

TEST_CASE("writes without memory fail and change nothing", "[task][cache]") {
    Runtime runtime;
    Rooted cache;
    set(cache, "key", "value");
    mprSetMemLimits(0, static_cast<ssize>(stats().heap) + 1'000'000, -1);
    const std::string large(20'000'000, 'x');
    CHECK(mprWriteCache(cache, "key", large.c_str(), 0, 0, 0, MPR_CACHE_APPEND) == MPR_ERR_MEMORY);
    CHECK(mprWriteCache(cache, "other", large.c_str(), 0, 0, 0, 0) == MPR_ERR_MEMORY);
    CHECK(get(cache, "key") == "value");
    CHECK(versionOf(cache, "key") == 1);
    CHECK(lengthOf(cache) == 1);
    int written = 0;
    while (set(cache, itos(written), "value") > 0 && written < 1'000'000) {
        written++;
    }
    mprSetMemLimits(0, 0, -1);
    CHECK(lengthOf(cache) >= written);
    CHECK(get(cache, "key") == "value");
    mprPruneCache(cache);
    CHECK(lengthOf(cache) == 0);
}

TEST_CASE("many threads use one cache", "[task][cache]") {
    Runtime runtime;
    static MprCache *cache;
    cache = mprCreateCache(MPR_CACHE_SHARED);
    mprSetCacheLimits(cache, 500, 0, 0, 0);
    static std::atomic<int> added, appended, swapped;
    added = appended = swapped = 0;
    {
        const auto work = [](Mutator &self) {
            std::mt19937 random(static_cast<unsigned>(reinterpret_cast<uintptr_t>(&self)));
            for (int i = 0; i < (inTrial() ? 200 : 5000) && self.go(); i++) {
                mprIncCache(cache, "count", 1);
                added++;
                mprWriteCache(cache, "text", "x", 0, 0, 0, MPR_CACHE_APPEND);
                appended++;
                int64 version = 0;
                char *value = mprReadCache(cache, "swap", nullptr, &version);
                if (mprWriteCache(cache, "swap", itos(value ? stoi(value) + 1 : 1), 0, 0, version,
                                  value ? MPR_CACHE_SET : MPR_CACHE_ADD) > 0) {
                    swapped++;
                }
                const std::string key = std::to_string(random() % 1000);
                mprWriteCache(cache, key.c_str(), key.c_str(), 0, 1 + static_cast<MprTicks>(random() % 20), 0, 0);
                value = mprReadCache(cache, std::to_string(random() % 1000).c_str(), nullptr, nullptr);
                if (value && stoi(value) >= 1000) {
                    mprLog("error", 0, "torn");
                }
                if (i % 50 == 0) {
                    mprYield(0);
                }
            }
            while (self.go()) {
                mprYield(0);
            }
        };
        Mutator one("one", work), two("two", work), three("three", work);
        const int each = inTrial() ? 200 : 5000;
        REQUIRE(until([&] {
            mprYield(0);
            return added == 3 * each;
        }));
    }
    CHECK(get(cache, "count") == std::to_string(added));
    CHECK(get(cache, "text").size() == static_cast<size_t>(appended.load()));
    CHECK(get(cache, "swap") == std::to_string(swapped));
    CHECK(!runtime.log.has("torn"));
    CHECK(lengthOf(cache) <= 500);
}

TEST_CASE("a call for caches by a thread in the wrong state is named and does nothing", "[task][cache]") {
    static const auto cache = [] {
        return reinterpret_cast<MprCache *>(things.node);
    }; // where refused it is not looked at
    const Call table[] = {
        {"mprCreateCache", running, [] { mprCreateCache(0); }, true},
        {"mprDestroyCache", running, [] { mprDestroyCache(cache()); }, true},
        {"mprReadCache", running, [] { mprReadCache(cache(), "x", nullptr, nullptr); }, true},
        {"mprLookupCache", running, [] { mprLookupCache(cache(), "x", nullptr, nullptr); }, true},
        {"mprWriteCache", running, [] { mprWriteCache(cache(), "x", "y", 0, 0, 0, 0); }, true},
        {"mprRemoveCache", running, [] { mprRemoveCache(cache(), "x"); }, true},
        {"mprIncCache", running, [] { mprIncCache(cache(), "x", 1); }, true},
        {"mprExpireCacheItem", running, [] { mprExpireCacheItem(cache(), "x", 0); }, true},
        {"mprPruneCache", running, [] { mprPruneCache(cache()); }, true},
        {"mprSetCacheLimits", running, [] { mprSetCacheLimits(cache(), 0, 0, 0, 0); }, true},
        {"mprSetCacheNotify", running, [] { mprSetCacheNotify(cache(), nullptr); }, true},
        {"mprSetCacheLink", running, [] { mprSetCacheLink(cache(), "x", nullptr); }, true},
        {"mprGetCacheStats", running, [] { mprGetCacheStats(cache(), nullptr, nullptr); }, true},
    };
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}

TEST_CASE("managers may write to a cache that is dead: it has no timer", "[task][cache]") {
    Runtime runtime("poison=1");
    static std::atomic<ssize> written;
    written = 0;
    useWhileDying(
        [] {
            MprCache *cache = mprCreateCache(0);
            mprSetCacheLimits(cache, -1, -1, -1, 1);
            return cache;
        },
        [](void *ptr) { written += mprWriteCache(static_cast<MprCache *>(ptr), "key", "value", 0, 5, 0, 0); });
    CHECK(written == 5 * Dying::users);
    CHECK(mprGetEventCount(nullptr) == 0);
    CHECK(stats().misuses == 0);
}
