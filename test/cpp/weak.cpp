// SPDX-License-Identifier: MIT
/*
    test/cpp/weak.cpp - mpr::Weak, Ephemeron, WeakMap and Cleanup: what they do not keep, and what follows.
 */
#include "test/cpp/setting.hpp"

#include <utility>
#include <vector>

using test::Counted;
using test::Node;
using test::Setting;

namespace {

void collect() {
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}

TEST_CASE("cpp weak: is cleared when its target dies, and may stand in managed objects") {
    Setting setting;
    struct Holder {
        mpr::Weak<Node> weak;
    };
    mpr::Root<Node> root = mpr::make<Node>(1);
    mpr::Root<Holder> holder = mpr::make<Holder>();
    holder->weak = root.get();
    mpr::Weak<Node> copy = holder->weak, moved = std::move(copy), none;
    CHECK_FALSE(none);
    collect();
    CHECK(holder->weak.get() == root.get());
    CHECK(moved.get() == root.get());
    CHECK(mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, nullptr) == 2);
    root = nullptr;
    collect();
    CHECK_FALSE(holder->weak);
    CHECK_FALSE(moved);
    root = mpr::make<Node>(2);
    moved = root.get();
    CHECK(moved.get()->value == 2);
    holder = nullptr;
    collect();
    CHECK(mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, nullptr) == 1); // the holder's went with it
}

TEST_CASE("cpp ephemeron: a value that leads to its key keeps neither") {
    Setting setting;
    mpr::Root<Node> key = mpr::make<Node>(1);
    mpr::Ephemeron<Node, Node> entry(key, mpr::make<Node>(2, key.get()));
    collect();
    REQUIRE(entry.value());
    CHECK(entry.value()->value == 2);
    CHECK(entry.setValue(mpr::make<Node>(3, key.get())));
    collect();
    CHECK(entry.value()->value == 3);
    key = nullptr;
    collect();
    CHECK(entry.key() == nullptr);
    CHECK(entry.value() == nullptr);
    CHECK_FALSE(entry.setValue(mpr::make<Node>(4)));
    CHECK(Counted::alive() <= 1);
}

TEST_CASE("cpp weak map: entries live as long as their keys") {
    Setting setting;
    constexpr int count = 200;
    std::vector<mpr::Root<Node>> keys;
    mpr::WeakMap<Node, Node> map;
    for (int i = 0; i < count; i++) {
        keys.push_back(mpr::make<Node>(i));
        map.set(keys.back(), mpr::make<Node>(1000 + i, keys.back().get()));
    }
    collect();
    int right = 0;
    for (const mpr::Root<Node>& key : keys) {
        right += map.get(key) && map.get(key)->value == 1000 + key->value;
    }
    CHECK(right == count);
    keys.resize(count / 2);
    collect();
    int seen = 0;
    map.forEach([&](Node* key, Node* value) { seen += value->value == 1000 + key->value; });
    CHECK(seen == count / 2);
    CHECK(map.purge() == count / 2);
    map.erase(keys[0]);
    CHECK_FALSE(map.contains(keys[0]));
    map.set(keys[1], nullptr);
    CHECK_FALSE(map.contains(keys[1]));
    map.set(keys[2], keys[3]);
    CHECK(map.get(keys[2]) == keys[3]);
    // What is born at dead keys' addresses is not taken for them.
    keys.clear();
    collect();
    for (int i = 0; i < 1000; i++) {
        CHECK_FALSE(map.contains(mpr::make<Node>(i)));
    }
}

TEST_CASE("cpp cleanup: is called once when its block has gone, unless it is taken back") {
    Setting setting;
    std::atomic<int> called{0}, takenBack{0}, detached{0};
    mpr::Root<Node> a = mpr::make<Node>(1), b = mpr::make<Node>(2), c = mpr::make<Node>(3);
    mpr::Cleanup first(a.get(), [&] { called++; });
    {
        mpr::Cleanup second(b.get(), [&] { takenBack++; });
        mpr::Cleanup third(c.get(), [&] { detached++; });
        third.detach();
        CHECK(second);
    }
    collect();
    CHECK(called == 0);
    CHECK(first);
    a = b = c = nullptr;
    collect();
    collect();
    CHECK(called == 1);
    CHECK(detached == 1);
    CHECK(takenBack == 0);
    CHECK_FALSE(first);
    Node* const freed = mpr::make<Node>(4);
    mpr::Cleanup fourth(freed, [&] { called++; });
    mprFree(freed);
    collect();
    CHECK(called == 2);
}

TEST_CASE("cpp: what is assigned a new thing by a move has let go of the old one, and the source is empty") {
    Setting setting;
    std::atomic<int> first{0}, second{0};
    const mpr::Root<Node> a = mpr::make<Node>(1), b = mpr::make<Node>(2);
    mpr::Cleanup one(a, [&] { first++; }), two(b, [&] { second++; });
    one = std::move(two);
    CHECK(!two);
    CHECK(one);
    mpr::Weak<Node> weak(a), other(b);
    weak = std::move(other);
    CHECK(weak.get() == b);
    CHECK(!other);
    weak = a;
    CHECK(weak.get() == a);
    CHECK(first == 0);
}

TEST_CASE("cpp cleanup: one that is taken back leaves nothing while its block lives") {
    Setting setting;
    mpr::Root<Node> node = mpr::make<Node>(1);
    int called = 0;
    struct Captured {
        int* count;
        explicit Captured(int* c) : count(c) { ++*count; }
        Captured(Captured&& other) noexcept : count(std::exchange(other.count, nullptr)) {}
        ~Captured() {
            if (count) {
                --*count;
            }
        }
        void operator()() const {}
    };
    int captured = 0;
    for (int i = 0; i < 100; i++) {
        mpr::Cleanup cleanup(node.get(), Captured(&captured));
        CHECK(cleanup);
    }
    CHECK(mprCountHandles(MPR_HANDLE_ANY, MPR_HANDLE_ANY, nullptr) == 0);
    collect();
    collect();
    CHECK(captured == 0);
    mpr::Cleanup none(static_cast<Node*>(nullptr), [&] { called++; });
    CHECK_FALSE(none);
    collect();
    collect();
    CHECK(called == 0);
}

} // namespace

TEST_CASE("cpp cleanup: the function may destroy it") {
    Setting setting;
    std::atomic<int> called{0};
    mpr::Root<Node> node = mpr::make<Node>(1);
    auto* cleanup = new mpr::Cleanup;
    *cleanup = mpr::Cleanup(node.get(), [&] {
        delete cleanup; // on the collector's thread, which would wait for itself
        called++;
    });
    node = nullptr;
    collect();
    collect();
    CHECK(called == 1);
}
