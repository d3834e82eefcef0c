// SPDX-License-Identifier: MIT
/*
    test/cpp/root.cpp - mpr::Root and mpr::Held: what outlives a yield.
 */
#include "test/cpp/setting.hpp"

#include <type_traits>
#include <utility>
#include <vector>

using test::Counted;
using test::Node;
using test::Setting;

namespace {

using Root = mpr::Root<Node>;
using Held = mpr::Held<Node>;
struct Incomplete;

static_assert(std::is_nothrow_copy_constructible_v<Root> && std::is_nothrow_move_constructible_v<Root>);
static_assert(std::is_nothrow_copy_assignable_v<Root> && std::is_nothrow_move_assignable_v<Root>);
static_assert(std::is_convertible_v<Node*, Root> && std::is_convertible_v<Root, Node*>);
static_assert(std::is_convertible_v<Root, mpr::Root<Counted>> && !std::is_convertible_v<mpr::Root<Counted>, Root>);
static_assert(std::is_convertible_v<Node*, mpr::Root<const Node>>);
static_assert(!std::is_convertible_v<const Node*, Root>);
static_assert(std::is_assignable_v<mpr::Member<Node>&, Root> && std::is_assignable_v<Root&, mpr::Member<Node>>);
static_assert(sizeof(mpr::Root<Incomplete>) == sizeof(MprRootRef));

static_assert(std::is_nothrow_copy_constructible_v<Held> && std::is_nothrow_move_constructible_v<Held>);
static_assert(std::is_convertible_v<Node*, Held> && std::is_convertible_v<Held, mpr::Held<Counted>>);
static_assert(!std::is_convertible_v<const Node*, Held>);
static_assert(sizeof(mpr::Held<Incomplete>) == sizeof(void*));

TEST_CASE("cpp root: behaves as a pointer") {
    Setting setting;
    Node* a = mpr::make<Node>(1);
    Root none, null = nullptr, root = a;
    CHECK(!none);
    CHECK(null == none);
    CHECK(root);
    CHECK(root == a);
    CHECK(root != none);
    CHECK(root->value == 1);
    CHECK(&*root == a);
    CHECK(root.get() == a);
    Node* plain = root;
    CHECK(plain == a);
    mpr::Root<Counted> base = root;
    CHECK(base == root);
    mpr::Root<const Node> constant = a;
    CHECK(constant->value == 1);
    mpr::Member<Node> member = root;
    CHECK(member == root);
    null = member;
    CHECK(null == a);
    null = {};
    CHECK(!null);
    root = nullptr;
    CHECK(!root);
}

TEST_CASE("cpp root: keeps its target and what that reaches while it exists") {
    Setting setting;
    {
        Root root = mpr::make<Node>(1, mpr::make<Node>(2));
        mpr::collect();
        mpr::collect();
        CHECK(Counted::destroyed == 0);
        CHECK(root->next->value == 2);
    }
    CHECK(Counted::destroyed == 0);
    mpr::collect();
    CHECK(Counted::destroyed == 2);
}

TEST_CASE("cpp root: what no root refers to is collected") {
    Setting setting;
    Node* lost = mpr::make<Node>(1);
    CHECK(lost->value == 1);
    CHECK(mpr::collect() >= 1);
    CHECK(Counted::destroyed == 1);
}

TEST_CASE("cpp root: copies, moves and assignments each keep what they refer to") {
    Setting setting;
    Root copied, moved;
    {
        Root first = mpr::make<Node>(1);
        Root second = mpr::make<Node>(2);
        Root alias = first;
        copied = alias;
        CHECK(alias == first);
        Root taken = std::move(second);
        CHECK(second == nullptr);
        CHECK(taken->value == 2);
        moved = std::move(taken);
        CHECK(taken == nullptr);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 0);
    CHECK(copied->value == 1);
    CHECK(moved->value == 2);

    swap(copied, moved);
    CHECK(copied->value == 2);
    Root& same = copied;
    copied = same;
    CHECK(copied->value == 2);
    copied = std::move(same);
    CHECK(copied->value == 2);

    copied = mpr::make<Node>(3); // 2 goes
    mpr::collect();
    CHECK(Counted::destroyed == 1);
    CHECK(moved->value == 1);
    CHECK(copied->value == 3);
}

TEST_CASE("cpp root: in a container that moves them about") {
    Setting setting;
    {
        std::vector<Root> roots;
        for (int i = 0; i < 100; i++) {
            roots.emplace_back(mpr::make<Node>(i));
        }
        roots.erase(roots.begin() + 10, roots.begin() + 30);
        mpr::collect();
        CHECK(Counted::destroyed == 20);
        int wrong = 0;
        for (size_t i = 0; i < roots.size(); i++) {
            wrong += roots[i]->value != static_cast<int>(i < 10 ? i : i + 20);
        }
        CHECK(wrong == 0);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 100);
}

TEST_CASE("cpp root: a thread that has yielded moves and swaps what it keeps, beside collections") {
    Setting setting;
    std::atomic<bool> ready{false}, over{false};
    std::thread mover([&] {
        mprAttachThread("mover");
        {
            Root first = mpr::make<Node>(1), second = mpr::make<Node>(2);
            const std::vector<Root> between(5000); // which a collection looks at in the meantime
            Root last;
            mprYield(MPR_YIELD_STICKY);
            ready = true;
            while (!over) {
                last = std::move(first);
                first = std::move(last);
                swap(first, second);
                swap(second, last);
                swap(last, second);
            }
            mprResetYield();
        }
        mprDetachThread();
    });
    while (!ready) {
        std::this_thread::yield();
    }
    for (int i = 0; i < 200; i++) {
        mpr::collect();
    }
    over = true;
    {
        const mpr::BlockingRegion region;
        mover.join();
    }
    CHECK(Counted::destroyed == 0);
    mpr::collect();
    CHECK(Counted::destroyed == 2);
}

TEST_CASE("cpp root: one that is there before the runtime keeps what it is given, in this runtime and the next") {
    const test::Log log;
    static Root early; // links itself when it is assigned
    CHECK(log.count("LinkRootRef") == 0);
    for (int round = 0; round < 2; round++) {
        Setting setting;
        CHECK(early == nullptr);
        early = mpr::make<Node>(7);
        mpr::collect();
        mpr::collect();
        CHECK(mprIsValid(early.get()));
        CHECK(early->value == 7);
        early = nullptr;
        early = mpr::make<Node>(8);
        mpr::collect();
        CHECK(early->value == 8);
        CHECK(mprGetMemStats()->misuses == 0);
    }
    CHECK(early == nullptr); // what it referred to has gone with the runtime
    const Root another = early, moved = std::move(early);
    CHECK(moved == nullptr);
    CHECK(log.count("LinkRootRef") == 0);
}

TEST_CASE("cpp held: behaves as a pointer") {
    Setting setting;
    Held none, null = nullptr, held = mpr::make<Node>(1);
    CHECK(!none);
    CHECK(null == none);
    CHECK(held);
    CHECK(held->value == 1);
    CHECK((*held).value == 1);
    CHECK(held.get() == static_cast<Node*>(held));
    mpr::Held<Counted> base = held;
    CHECK(base == held);
    held = nullptr;
    CHECK(!held);
}

TEST_CASE("cpp held: keeps its block alone, while it exists") {
    Setting setting;
    {
        Held held = mpr::make<Node>(1, mpr::make<Node>(2));
        mpr::collect();
        CHECK(Counted::destroyed == 1);
        CHECK(held->value == 1);
        held->next = nullptr;
    }
    mpr::collect();
    CHECK(Counted::destroyed == 2);
}

TEST_CASE("cpp held: holds nest, copies and moves count") {
    Setting setting;
    {
        Held outer;
        {
            Held inner = mpr::make<Node>(1);
            Held copy = inner;
            Held moved = std::move(copy);
            CHECK(!copy);
            outer = moved;
            outer = outer.get();
            CHECK(moved == inner);
        }
        mpr::collect();
        CHECK(Counted::destroyed == 0);
        CHECK(outer->value == 1);

        Held other = mpr::make<Node>(2);
        swap(outer, other);
        outer = std::move(other); // 2 goes
        mpr::collect();
        CHECK(Counted::destroyed == 1);
        CHECK(outer->value == 1);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 2);
}

} // namespace
