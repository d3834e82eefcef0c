// SPDX-License-Identifier: MIT
/*
    test/base/hash.cpp - Hash tables: every call and flag, order, collection, hostile keys, several threads.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/value.hpp"

#include <map>
#include <string>
#include <vector>

using namespace test;

namespace {

std::string keys(MprHash *table) {
    char *all = mprHashKeysToString(table, " ");
    return all ? all : "(null)";
}

/* Key and value pairs in the order of iteration. */
std::string pairs(MprHash *table) {
    std::string all;
    MprKey *kp;
    for (ITERATE_KEYS(table, kp)) {
        all += std::string(all.empty() ? "" : " ") + kp->key + "=" + static_cast<cchar *>(kp->data);
    }
    return all;
}

MprHash *fill(int count, int flags = MPR_HASH_STATIC_VALUES) {
    MprHash *table = mprCreateHash(0, flags);
    for (int i = 0; i < count; i++) {
        mprAddKey(table, std::to_string(i).c_str(), number(i + 1));
    }
    return table;
}

} // namespace

TEST_CASE("what is added is found, and what is removed is not", "[base][hash]") {
    Runtime runtime;
    int flags = GENERATE(MPR_HASH_STATIC_VALUES, MPR_HASH_STATIC_VALUES | MPR_HASH_STABLE);
    MprHash *table = mprCreateHash(GENERATE(-1, 0, 1, 100), flags);
    REQUIRE(table);
    for (int i = 0; i < 1000; i++) {
        std::string key = "key" + std::to_string(i);
        REQUIRE(!mprLookupKey(table, key.c_str()));
        MprKey *kp = mprAddKey(table, key.c_str(), number(i + 1));
        REQUIRE(kp);
        REQUIRE(kp->key == key);
        REQUIRE(kp->data == number(i + 1));
        REQUIRE(kp->type == 0);
        REQUIRE(mprLookupKeyEntry(table, key.c_str()) == kp);
        REQUIRE(mprGetHashLength(table) == i + 1);
    }
    for (int i = 0; i < 1000; i += 2) {
        REQUIRE(mprRemoveKey(table, ("key" + std::to_string(i)).c_str()) == 0);
        REQUIRE(mprRemoveKey(table, ("key" + std::to_string(i)).c_str()) == MPR_ERR_CANT_FIND);
    }
    CHECK(table->length == 500);
    for (int i = 0; i < 1000; i++) {
        REQUIRE(mprLookupKey(table, ("key" + std::to_string(i)).c_str()) == (i % 2 ? number(i + 1) : nullptr));
    }
}

TEST_CASE("keys of every length, with any byte but NUL", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_VALUES);
    for (int c = 1; c < 256; c += 3) {
        for (size_t length = 0; length < 40; length++) {
            mprAddKey(table, std::string(length, static_cast<char>(c)).c_str(),
                      number(c * 100 + static_cast<int>(length)));
        }
    }
    for (int c = 1; c < 256; c += 3) {
        for (size_t length = 1; length < 40; length++) {
            REQUIRE(mprLookupKey(table, std::string(length, static_cast<char>(c)).c_str()) ==
                    number(c * 100 + static_cast<int>(length)));
        }
    }
    CHECK(mprLookupKey(table, "") == number(25300));
    CHECK(mprGetHashLength(table) == 85 * 39 + 1);
}

TEST_CASE("keys are copied and a second value replaces the first", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_VALUES | GENERATE(0, MPR_HASH_STABLE));
    char key[] = "color";
    MprKey *kp = mprAddKey(table, key, number(1));
    key[0] = 'x';
    CHECK(kp->key == std::string("color"));
    CHECK(mprAddKey(table, "color", number(2)) == kp);
    CHECK(mprLookupKey(table, "color") == number(2));
    CHECK(!mprLookupKey(table, key));
    CHECK(mprGetHashLength(table) == 1);
    CHECK(mprAddKeyWithType(table, "color", nullptr, 7)->type == 7);
    CHECK(mprAddKey(table, "color", number(3))->type == 7);
}

TEST_CASE("a NULL value is told from no key", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, 0);
    mprAddKey(table, "empty", nullptr);
    CHECK(!mprLookupKey(table, "empty"));
    CHECK(mprLookupKeyEntry(table, "empty"));
    CHECK(!mprLookupKeyEntry(table, "none"));
}

TEST_CASE("MPR_HASH_CASELESS folds ASCII letters only", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, MPR_HASH_CASELESS | MPR_HASH_STATIC_VALUES | GENERATE(0, MPR_HASH_STABLE));
    mprAddKey(table, "Content-Length", number(1));
    mprAddKey(table, "@[`{\xc3\x84", number(2));
    CHECK(mprLookupKey(table, "content-length") == number(1));
    CHECK(mprLookupKey(table, "CONTENT-LENGTH") == number(1));
    CHECK(!mprLookupKey(table, "content_length"));
    CHECK(!mprLookupKey(table, "content-lengt"));
    CHECK(mprLookupKey(table, "@[`{\xc3\x84") == number(2));
    CHECK(!mprLookupKey(table, "`{@[\xc3\x84"));
    CHECK(!mprLookupKey(table, "@[`{\xc3\xa4"));
    mprAddKey(table, "CONTENT-length", number(3));
    CHECK(keys(table) == "Content-Length @[`{\xc3\x84");
    CHECK(mprLookupKey(table, "Content-Length") == number(3));
    CHECK(mprRemoveKey(table, "cONTENT-lENGTH") == 0);
}

TEST_CASE("MPR_HASH_STATIC_KEYS refers to the caller's keys, the latest", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_KEYS | GENERATE(0, MPR_HASH_STABLE));
    Root root(table);
    struct Named {
        char name[16];
    };
    auto make = [] {
        auto named = static_cast<Named *>(mprAllocZeroed(sizeof(Named)));
        strcpy(named->name, "shared");
        return named;
    };
    Named *first = make();
    MprKey *kp = mprAddKey(table, first->name, first);
    CHECK(kp->key == first->name);
    Named *second = make();
    mprAddKey(table, second->name, second);
    collect();
    CHECK(!mprIsValid(first));
    CHECK(mprLookupKey(table, "shared") == second);
    CHECK(kp->key == second->name);
    CHECK(stats().misuses == 0);
}

TEST_CASE("MPR_HASH_UNIQUE refuses a key that exists", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, MPR_HASH_UNIQUE | MPR_HASH_STATIC_VALUES | GENERATE(0, MPR_HASH_STABLE));
    CHECK(mprAddKey(table, "one", number(1)));
    CHECK(!mprAddKey(table, "one", number(2)));
    CHECK(mprLookupKey(table, "one") == number(1));
    CHECK(mprRemoveKey(table, "one") == 0);
    CHECK(mprAddKey(table, "one", number(3)));
}

TEST_CASE("duplicates: the oldest is found, also after the table has grown", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_VALUES | GENERATE(0, MPR_HASH_STABLE));
    for (int i = 1; i <= 100; i++) {
        CHECK(mprAddDuplicateKey(table, "same", number(i)));
        mprAddKey(table, std::to_string(i).c_str(), nullptr);
    }
    CHECK(mprGetHashLength(table) == 200);
    for (int i = 1; i <= 100; i++) {
        REQUIRE(mprLookupKey(table, "same") == number(i));
        REQUIRE(mprRemoveKey(table, "same") == 0);
        if (i == 50) {
            for (int j = 0; j < 1000; j++) {
                mprAddKey(table, ("more" + std::to_string(j)).c_str(), nullptr);
            }
        }
    }
    CHECK(mprRemoveKey(table, "same") == MPR_ERR_CANT_FIND);
}

TEST_CASE("a table of one user takes an index when it has more than a few entries", "[base][hash]") {
    Runtime runtime;
    const auto blocks = [](int flags, int count) {
        const uint64 before = stats().blocksAllocated;
        MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_VALUES | MPR_HASH_STATIC_KEYS | flags);
        static const char letters[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j";
        for (int i = 0; i < count; i++) {
            mprAddKey(table, letters + 2 * i, number(i + 1));
        }
        for (int i = 0; i < count; i++) {
            CHECK(mprLookupKey(table, letters + 2 * i) == number(i + 1));
        }
        return static_cast<int>(stats().blocksAllocated - before);
    };
    CHECK(blocks(0, 1) == 4); // the table, entries, index, an entry
    CHECK(blocks(MPR_HASH_STABLE, 1) == 3);
    CHECK(blocks(MPR_HASH_STABLE, 8) == 10);
    CHECK(blocks(MPR_HASH_STABLE, 9) == 13); // entries and an index once more
    // One that is nearly full closes its gaps in place.
    MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_VALUES | MPR_HASH_STATIC_KEYS | MPR_HASH_STABLE);
    for (cchar *key : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
        mprAddKey(table, key, number(1));
    }
    const uint64 before = stats().blocksAllocated;
    for (int i = 0; i < 100; i++) {
        REQUIRE(mprRemoveKey(table, "c") == 0);
        mprAddKey(table, "c", number(2));
    }
    CHECK(stats().blocksAllocated - before == 100); // entries
}

TEST_CASE("the gaps of a small table are closed, and its order stays", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_VALUES | GENERATE(0, MPR_HASH_STABLE));
    Root root(table);
    std::vector<std::string> model;
    for (int i = 0; i < 1000; i++) {
        model.push_back(std::to_string(i));
        mprAddKey(table, model.back().c_str(), number(i + 1));
        if (model.size() > 6) {
            const auto middle = model.begin() + i % 5;
            REQUIRE(mprRemoveKey(table, middle->c_str()) == 0);
            model.erase(middle);
        }
        std::string all;
        for (const std::string &key : model) {
            all += (all.empty() ? "" : " ") + key;
            REQUIRE(mprLookupKey(table, key.c_str()) == number(atoi(key.c_str()) + 1));
        }
        REQUIRE(keys(table) == all);
    }
    CHECK(table->size < 24);
}

TEST_CASE("iteration follows the order of addition", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, 0);
    for (cchar *key : {"zero", "alpha", "mid", "beta", "x"}) {
        mprAddKey(table, key, text(std::string("<") + key + ">"));
    }
    CHECK(pairs(table) == "zero=<zero> alpha=<alpha> mid=<mid> beta=<beta> x=<x>");
    mprRemoveKey(table, "zero");
    mprRemoveKey(table, "mid");
    mprAddKey(table, "zero", text("again"));
    mprAddKey(table, "beta", text("new"));
    CHECK(pairs(table) == "alpha=<alpha> beta=new x=<x> zero=again");
    CHECK(mprGetFirstKey(table)->key == std::string("alpha"));
    MprKey *kp;
    char *data;
    std::string all;
    for (ITERATE_KEY_DATA(table, kp, data)) {
        all += data;
    }
    CHECK(all == "<alpha>new<x>again");
    CHECK(std::string(mprHashKeysToString(table, nullptr)) == "alpha,beta,x,zero");
    CHECK(keys(mprCreateHash(0, 0)).empty());
    CHECK(!mprGetFirstKey(mprCreateHash(0, 0)));
}

TEST_CASE("the current key may be removed during iteration", "[base][hash]") {
    Runtime runtime;
    int flags = GENERATE(MPR_HASH_STATIC_VALUES, MPR_HASH_STATIC_VALUES | MPR_HASH_STABLE);
    for (int count : {1, 5, 6, 7, 24, 100, 5000}) {
        for (int keep : {1000000, 2, 3, 50}) {
            MprHash *table = fill(count, flags);
            MprKey *kp;
            int seen = 0;
            for (ITERATE_KEYS(table, kp)) {
                REQUIRE(kp->key == std::to_string(seen));
                seen++;
                if (seen % keep != 0) {
                    REQUIRE(mprRemoveKey(table, kp->key) == 0);
                }
            }
            INFO(count << " keys, one in " << keep << " kept");
            CHECK(seen == count);
            CHECK(mprGetHashLength(table) == count / keep);
            for (int i = 0; i < count; i++) {
                bool kept = (i + 1) % keep == 0;
                REQUIRE((mprLookupKeyEntry(table, std::to_string(i).c_str()) != nullptr) == kept);
            }
        }
    }
}

TEST_CASE("a table used as a queue stays small and quick", "[base][hash]") {
    Runtime runtime("", 0, 120);
    MprHash *table = fill(100, MPR_HASH_STATIC_VALUES | GENERATE(0, MPR_HASH_STABLE));
    Root root(table);
    int most = 0;
    const int last = static_cast<int>(heavy(300000));
    for (int i = 100; i < last; i++) {
        MprKey *kp = mprGetFirstKey(table);
        REQUIRE(kp->data == number(i - 99));
        REQUIRE(mprRemoveKey(table, kp->key) == 0);
        mprAddKey(table, std::to_string(i).c_str(), number(i + 1));
        most = std::max(most, table->size);
        if (i % 1000 == 0) {
            mprYield(0);
        }
    }
    CHECK(most <= 400);
}

TEST_CASE("check=fields does not accuse a table of what an index that was replaced has", "[base][hash][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    MprHash *table = fill(100, MPR_HASH_STATIC_VALUES | GENERATE(0, MPR_HASH_STABLE));
    Root root(table);
    for (int i = 100; i < 20000; i++) { // a queue: index and entries are replaced, together or not
        mprRemoveKey(table, mprGetFirstKey(table)->key);
        mprAddKey(table, std::to_string(i).c_str(), number(i + 1));
        if (i % 1000 == 0) {
            mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        }
    }
    INFO(Log::text());
    CHECK(Log::count("check:") == 0);
}

TEST_CASE("keys removed and added again in a large table are retained by every collection", "[base][hash]") {
    Runtime runtime("check=1");
    const int count = GENERATE(20, 100, 1000);
    MprHash *table = mprCreateHash(0, GENERATE(0, MPR_HASH_STABLE));
    Root root(table);
    std::vector<std::string> names;
    for (int i = 0; i < count; i++) {
        names.push_back("key" + std::to_string(i));
        mprAddKey(table, names.back().c_str(), makeNode(nullptr, nullptr, uintptr_t(i)));
    }
    Random random(29);
    const int rounds = static_cast<int>(heavy(20000));
    for (int i = 0; i < rounds; i++) {
        const size_t at = random.below(names.size());
        auto node = static_cast<Node *>(mprLookupKey(table, names[at].c_str()));
        REQUIRE(node->value == at);
        REQUIRE(mprRemoveKey(table, names[at].c_str()) == 0);
        REQUIRE(mprAddKey(table, names[at].c_str(), i % 2 ? node : makeNode(nullptr, nullptr, at)));
        if (i % 200 == 0) {
            mprGC(i % 800 == 0 ? MPR_GC_FORCE : MPR_GC_MINOR);
        }
    }
    collect();
    CHECK(mprGetHashLength(table) == count);
    bool right = true;
    for (size_t i = 0; i < names.size(); i++) {
        auto node = static_cast<Node *>(mprLookupKey(table, names[i].c_str()));
        right = right && mprIsValid(node) && node->value == i;
    }
    CHECK(right);
    CHECK(table->size < 4 * count + 50);
}

TEST_CASE("churn in a large old table does not ask for collections by itself", "[base][hash]") {
    Runtime runtime("everyyield=0,young=32m"); // no budget is spent
    MprHash *table = fill(1000, MPR_HASH_STATIC_VALUES | GENERATE(0, MPR_HASH_STABLE));
    Root root(table);
    collect();
    const uint64 before = stats().collections;
    for (int i = 0; i < 50000; i++) {
        const std::string key = std::to_string(i % 1000);
        mprRemoveKey(table, key.c_str());
        mprAddKey(table, key.c_str(), number(1));
        mprYield(0);
    }
    // Six thousand stores remembered one by one would be a collection, so eight at least; a slow machine may have some by time.
    CHECK(stats().collections - before <= 4);
}

TEST_CASE("an emptied table gives its memory back", "[base][hash]") {
    Runtime runtime;
    MprHash *table = fill(10000);
    CHECK(table->size >= 10000);
    for (int i = 0; i < 9990; i++) {
        mprRemoveKey(table, std::to_string(i).c_str());
    }
    CHECK(table->size < 200);
    CHECK(keys(table) == "9990 9991 9992 9993 9994 9995 9996 9997 9998 9999");
}

TEST_CASE("random operations agree with std::map", "[base][hash]") {
    Runtime runtime;
    int flags = GENERATE(MPR_HASH_STATIC_VALUES, MPR_HASH_STATIC_VALUES | MPR_HASH_STABLE);
    MprHash *table = mprCreateHash(0, flags);
    Root root(table);
    std::map<std::string, intptr_t> model;
    Random random(static_cast<uint64_t>(flags));
    for (int phase = 0; phase < 20; phase++) {
        size_t range = size_t(1) << random.below(13);
        unsigned adding = 20 + static_cast<unsigned>(random.below(70));
        for (int i = 0; i < 3000; i++) {
            std::string key = "k" + std::to_string(random.below(range));
            if (random.chance(adding)) {
                mprAddKey(table, key.c_str(), number(i + 1));
                model[key] = i + 1;
            } else {
                REQUIRE((mprRemoveKey(table, key.c_str()) == 0) == (model.erase(key) == 1));
            }
            std::string other = "k" + std::to_string(random.below(range));
            auto found = model.find(other);
            REQUIRE(mprLookupKey(table, other.c_str()) == (found == model.end() ? nullptr : number(found->second)));
        }
        REQUIRE(mprGetHashLength(table) == static_cast<int>(model.size()));
        size_t count = 0;
        MprKey *kp;
        for (ITERATE_KEYS(table, kp)) {
            REQUIRE(kp->data == number(model.at(kp->key)));
            count++;
        }
        REQUIRE(count == model.size());
        mprYield(0);
    }
}

TEST_CASE("clones and blends", "[base][hash]") {
    Runtime runtime;
    MprHash *one = mprCreateHash(0, MPR_HASH_CASELESS), *two = mprCreateHash(0, 0);
    mprAddKeyWithType(one, "a", text("1"), 9);
    mprAddKey(one, "b", text("2"));
    mprAddDuplicateKey(one, "a", text("3"));
    MprHash *clone = mprCloneHash(one);
    mprRemoveKey(one, "b");
    CHECK(pairs(clone) == "a=1 b=2 a=3");
    CHECK(clone->flags == one->flags);
    CHECK(mprLookupKeyEntry(clone, "A")->type == 9);
    CHECK(mprLookupKeyEntry(clone, "a")->key != mprLookupKeyEntry(one, "a")->key);
    mprAddKey(two, "b", text("4"));
    mprAddKey(two, "c", text("5"));
    CHECK(mprBlendHash(clone, two) == clone);
    CHECK(pairs(clone) == "a=1 b=4 a=3 c=5");
    CHECK(mprBlendHash(two, nullptr) == two);
    CHECK(!mprBlendHash(nullptr, two));
    CHECK(!mprCloneHash(nullptr));
    MprHash *unique = mprCreateHash(0, MPR_HASH_UNIQUE);
    mprAddKey(unique, "b", text("old"));
    CHECK(mprBlendHash(unique, two) == unique);
    CHECK(pairs(unique) == "b=4 c=5");
}

TEST_CASE("formatted values", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, 0);
    Root root(table);
    CHECK(mprAddKeyFmt(table, "port", "%s:%d", "localhost", 8080));
    CHECK(mprAddKeyFmt(table, "empty", "%s", ""));
    collect();
    CHECK(pairs(table) == "port=localhost:8080 empty=");
    std::string large(100000, 'x');
    CHECK(mprAddKeyFmt(table, "large", "%s", large.c_str()));
    CHECK(static_cast<char *>(mprLookupKey(table, "large")) == large);
    MprHash *fixed = mprCreateHash(0, MPR_HASH_STATIC_VALUES);
    CHECK(!mprAddKeyFmt(fixed, "port", "%d", 1));
    CHECK(Log::count("MPR_HASH_STATIC_VALUES") == 1);
}

TEST_CASE("no table or no key, and calls say so", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, 0);
    CHECK(!mprAddKey(nullptr, "a", nullptr));
    CHECK(!mprAddKey(table, nullptr, nullptr));
    CHECK(!mprAddDuplicateKey(table, nullptr, nullptr));
    CHECK(!mprAddKeyFmt(nullptr, "a", "b"));
    CHECK(Log::count("no key") == 2);
    CHECK(Log::count("no table") == 2);
    CHECK(!mprLookupKey(nullptr, "a"));
    CHECK(!mprLookupKey(table, nullptr));
    CHECK(!mprLookupKeyEntry(nullptr, nullptr));
    CHECK(mprRemoveKey(nullptr, "a") == MPR_ERR_CANT_FIND);
    CHECK(mprRemoveKey(table, nullptr) == MPR_ERR_CANT_FIND);
    CHECK(mprGetHashLength(nullptr) == 0);
    CHECK(!mprGetFirstKey(nullptr));
    CHECK(!mprGetNextKey(nullptr, nullptr));
    CHECK(!mprHashKeysToString(nullptr, nullptr));
}

TEST_CASE("a table retains keys and values, unless they are static", "[base][hash]") {
    Runtime runtime;
    Root all(mprCreateHash(0, 0)), fixedKeys(mprCreateHash(0, MPR_HASH_STATIC_KEYS)),
        fixedValues(mprCreateHash(0, MPR_HASH_STATIC_VALUES)), fixed(mprCreateHash(0, MPR_HASH_STATIC_ALL));
    std::vector<std::string> names;
    for (int i = 0; i < 500; i++) {
        names.push_back("name" + std::to_string(i));
    }
    for (auto &name : names) {
        mprAddKey(all.as<MprHash>(), name.c_str(), text("v" + name));
        mprAddKey(fixedKeys.as<MprHash>(), name.c_str(), text("v" + name));
        mprAddKey(fixedValues.as<MprHash>(), name.c_str(), name.c_str());
        mprAddKey(fixed.as<MprHash>(), name.c_str(), name.c_str());
    }
    for (int round = 0; round < 3; round++) {
        collect();
        for (auto &name : names) {
            REQUIRE(static_cast<char *>(mprLookupKey(all.as<MprHash>(), name.c_str())) == "v" + name);
            REQUIRE(static_cast<char *>(mprLookupKey(fixedKeys.as<MprHash>(), name.c_str())) == "v" + name);
            REQUIRE(mprLookupKey(fixedValues.as<MprHash>(), name.c_str()) == name.c_str());
            REQUIRE(mprLookupKey(fixed.as<MprHash>(), name.c_str()) == name.c_str());
            REQUIRE(mprIsValid(mprLookupKeyEntry(fixed.as<MprHash>(), name.c_str())));
        }
        mprAddKey(all.as<MprHash>(), names[static_cast<size_t>(round)].c_str(),
                  text("v" + names[static_cast<size_t>(round)]));
    }
    CHECK(stats().misuses == 0);
    void *value = mprLookupKey(all.as<MprHash>(), "name100");
    mprRemoveKey(all.as<MprHash>(), "name100");
    collect();
    CHECK(!mprIsValid(value));
}

TEST_CASE("without memory a key is refused and the table stays whole", "[base][hash]") {
    Runtime runtime;
    MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_VALUES | GENERATE(0, MPR_HASH_STABLE));
    mprSetMemLimits(0, static_cast<ssize>(stats().heap + 4 * 1024 * 1024), -1);
    int count = 0;
    while (mprAddKey(table, std::to_string(count).c_str(), number(count + 1))) {
        count++;
    }
    CHECK(count > 1000);
    CHECK(mprGetHashLength(table) == count);
    CHECK(!mprCloneHash(table));
    for (int i = 0; i < count; i++) {
        REQUIRE(mprLookupKey(table, std::to_string(i).c_str()) == number(i + 1));
        if (i % 2) {
            REQUIRE(mprRemoveKey(table, std::to_string(i).c_str()) == 0);
        }
    }
    CHECK(!mprCreateHash(2000000000, 0));
}

TEST_CASE("a million keys", "[base][hash]") {
    Runtime runtime("", 0, 120);
    const int count = static_cast<int>(heavy(1000000));
    MprHash *table = mprCreateHash(0, 0);
    Root root(table);
    char key[32];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "session-%d", i);
        auto value = static_cast<int *>(mprAlloc(sizeof(int)));
        *value = i;
        mprAddKey(table, key, value);
        if (i % 1000 == 0) {
            mprYield(0);
        }
    }
    collect();
    CHECK(stats().misuses == 0);
    REQUIRE(mprGetHashLength(table) == count);
    int wrong = 0, expected = 0;
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "session-%d", i);
        auto value = static_cast<int *>(mprLookupKey(table, key));
        wrong += !value || *value != i;
    }
    CHECK(wrong == 0);
    MprKey *kp;
    for (ITERATE_KEYS(table, kp)) {
        wrong += *static_cast<const int *>(kp->data) != expected++;
    }
    CHECK(wrong == 0);
    CHECK(expected == count);
}

/* Keys that collide in tables hashed by multiplication, where each would be compared with all before it: 2^17 of them would
   take minutes. */
TEST_CASE("keys chosen to collide do not", "[base][hash]") {
    Runtime runtime("", 0, 60);
    MprHash *table = mprCreateHash(0, MPR_HASH_STATIC_VALUES);
    Root root(table);
    for (int i = 0; i < 1 << 17; i++) {
        char key[35] = {};
        for (int bit = 0; bit < 17; bit++) {
            memcpy(key + 2 * bit, i >> bit & 1 ? "BB" : "Aa", 2); /* Equal under h * 31 + c */
        }
        mprAddKey(table, key, number(i + 1));
        if (i % 1000 == 0) {
            mprYield(0);
        }
    }
    CHECK(mprGetHashLength(table) == 1 << 17);
}

TEST_CASE("several threads add, remove, look up and iterate", "[base][hash]") {
    Runtime runtime("young=256k");
    MprHash *table = mprCreateHash(0, 0);
    Root root(table);
    std::atomic<long> wrong{0};
    for (int i = 0; i < 100; i++) {
        mprAddKeyFmt(table, ("fixed" + std::to_string(i)).c_str(), "fixed%d", i);
    }
    {
        auto work = [&](Mutator &self, int me) {
            char key[32];
            for (int i = 0; i < 20000 && self.go(); i++) {
                snprintf(key, sizeof(key), "t%d-%d", me, i);
                mprAddKey(table, key, text(key));
                snprintf(key, sizeof(key), "fixed%d", i % 100);
                auto value = static_cast<char *>(mprLookupKey(table, key));
                wrong += !value || strcmp(value, key) != 0;
                snprintf(key, sizeof(key), "t%d-%d", me, i - 50);
                if (i >= 50) {
                    value = static_cast<char *>(mprLookupKey(table, key));
                    wrong += !value || strcmp(value, key) != 0;
                    wrong += mprRemoveKey(table, key) != 0;
                    wrong += mprLookupKeyEntry(table, key) != nullptr;
                }
                if (i % 100 == 0) {
                    MprKey *kp;
                    for (ITERATE_KEYS(table, kp)) {
                        wrong += strcmp(kp->key, static_cast<cchar *>(kp->data)) != 0;
                    }
                    mprYield(0);
                }
            }
        };
        Mutator a("a", [&](Mutator &self) { work(self, 1); });
        Mutator b("b", [&](Mutator &self) { work(self, 2); });
        Mutator c("c", [&](Mutator &self) { work(self, 3); });
        a.join();
        b.join();
        c.join();
    }
    CHECK(wrong == 0);
    CHECK(mprGetHashLength(table) == 100 + 3 * 50);
    collect();
    CHECK(stats().misuses == 0);
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

TEST_CASE("keys are removed when memory has ended, and nobody is told of what that could do without", "[base][hash]") {
    Runtime runtime;
    MprHash *hash = mprCreateHash(0, 0);
    Root root(hash);
    constexpr int count = 20000;
    for (int i = 0; i < count; i++) {
        mprAddKey(hash, std::to_string(i).c_str(), nullptr);
    }
    fillMemory();
    for (int i = 0; i < count; i++) {
        REQUIRE(mprRemoveKey(hash, std::to_string(i).c_str()) == 0);
    }
    CHECK(mprGetHashLength(hash) == 0);
    CHECK(refusals == 0);
    CHECK_FALSE(mprHasMemError());
    CHECK(stats().errors > 0); // by filling it
}
