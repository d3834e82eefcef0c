// SPDX-License-Identifier: MIT
/*
    test/cpp/member.cpp - mpr::Member: a pointer in everything but assignment, and what keeps an object's references.
 */
#include "test/cpp/setting.hpp"

#include "test/support/process.hpp"

#include <csignal>
#include <type_traits>
#include <unordered_set>
#include <utility>

using test::Counted;
using test::Node;
using test::Setting;

namespace {

struct Later;
struct Early {
    mpr::Member<Later> later;
    void trace(mpr::Marker& marker) { marker(later); }
};
static_assert(sizeof(mpr::Member<Later>) == sizeof(void*));
struct Later : Counted {
    mpr::Member<Early> early;
    void trace(mpr::Marker& marker) { marker(early); }
};

struct Base {
    virtual ~Base() = default;
    int base = 1;
};
struct Other {
    virtual ~Other() = default;
    int other = 2;
};
struct Derived : Base, Other {
    int derived = 3;
};

using Member = mpr::Member<Node>;
static_assert(sizeof(Member) == sizeof(void*) && alignof(Member) == alignof(void*));
static_assert(std::is_trivially_destructible_v<Member>);
static_assert(std::is_nothrow_default_constructible_v<Member>);
static_assert(std::is_nothrow_copy_constructible_v<Member> && std::is_nothrow_copy_assignable_v<Member>);
static_assert(std::is_nothrow_move_constructible_v<Member> && std::is_nothrow_move_assignable_v<Member>);
static_assert(std::is_nothrow_swappable_v<Member>);
// A copy byte by byte would pass the write barrier by.
static_assert(!std::is_trivially_copyable_v<Member>);
static_assert(std::is_convertible_v<Node*, Member> && std::is_convertible_v<Member, Node*>);
static_assert(std::is_convertible_v<Node*, mpr::Member<const Node>>);
static_assert(!std::is_convertible_v<const Node*, Member>);
static_assert(std::is_convertible_v<mpr::Member<Derived>, mpr::Member<Base>>);
static_assert(!std::is_convertible_v<mpr::Member<Base>, mpr::Member<Derived>>);
static_assert(!std::is_constructible_v<Member, Counted*> && !std::is_assignable_v<Member&, Counted*>);
static_assert(std::is_same_v<decltype(*std::declval<const Member&>()), Node&>);

TEST_CASE("cpp member: behaves as a pointer") {
    Setting setting;
    Node* a = mpr::make<Node>(1);
    Node* b = mpr::make<Node>(2);
    REQUIRE(a);
    REQUIRE(b);

    Member none, null = nullptr, first = a;
    CHECK(!none);
    CHECK(none == nullptr);
    CHECK(null == none);
    CHECK(first);
    CHECK(first != nullptr);
    CHECK(first == a);
    CHECK(a == first);
    CHECK(first != none);
    CHECK(first.get() == a);
    CHECK(first->value == 1);
    CHECK(&*first == a);
    CHECK((first < Member(b)) == (a < b));

    Node* plain = first;
    CHECK(plain == a);

    Member second = first;
    CHECK(second == a);
    CHECK(first == a);
    second = b;
    CHECK(second->value == 2);
    CHECK(first->value == 1);
    swap(first, second);
    CHECK(first == b);
    CHECK(second == a);
    std::swap(first, second);
    CHECK(first == a);
    CHECK(second == b);

    Member moved = std::move(first);
    CHECK(moved == a);
    CHECK(first == nullptr);
    first = std::move(moved);
    CHECK(first == a);
    CHECK(moved == nullptr);
    Member& same = first;
    first = same;
    CHECK(first == a);
    first = std::move(same);
    CHECK(first == a);
    first = nullptr;
    CHECK(!first);
    second = {};
    CHECK(!second);
}

TEST_CASE("cpp member: bases, const and void") {
    Setting setting;
    Derived* derived = mpr::make<Derived>();
    mpr::Member<Derived> exact = derived;
    mpr::Member<Base> base = derived;
    CHECK(base == derived);
    CHECK(base == exact);
    CHECK(base->base == 1);
    base = nullptr;
    base = exact;
    CHECK(base == derived);
    mpr::Member<Base> copied = exact;
    CHECK(copied == derived);
    mpr::Member<const Base> constant = derived;
    CHECK(constant->base == 1);
    mpr::Member<void> any = derived;
    CHECK(any == derived);
}

TEST_CASE("cpp member: hashes by address") {
    Setting setting;
    Node* a = mpr::make<Node>(1);
    Node* b = mpr::make<Node>(2);
    std::unordered_set<Member> set{a, b, a};
    CHECK(set.size() == 2);
    CHECK(set.count(b) == 1);
    CHECK(set.count(nullptr) == 0);
    CHECK(std::hash<Member>()(a) == std::hash<Node*>()(a));
}

TEST_CASE("cpp member: keeps what it references, and only that") {
    Setting setting;
    {
        mpr::Root<Node> root = mpr::make<Node>(1);
        root->next = mpr::make<Node>(2, mpr::make<Node>(3));
        root->other = root->next->next;
        CHECK(mpr::make<Node>(4)->value == 4);
        mpr::collect();
        CHECK(Counted::made == 4);
        CHECK(Counted::destroyed == 1);
        CHECK(root->next->next->value == 3);
        CHECK(root->other == root->next->next);

        root->next = nullptr; // 2 goes, 3 is still the other
        mpr::collect();
        CHECK(Counted::destroyed == 2);
        CHECK(root->other->value == 3);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 4);
}

TEST_CASE("cpp member: a ring that nobody refers to is garbage") {
    Setting setting;
    {
        mpr::Root<Node> ring = mpr::make<Node>(1);
        ring->next = mpr::make<Node>(2, ring);
        ring->next->other = ring->next;
        mpr::collect();
        CHECK(Counted::destroyed == 0);
        CHECK(ring->next->next == ring);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 2);
}

TEST_CASE("cpp member: of a type that is incomplete where it is declared") {
    Setting setting;
    {
        mpr::Root<Early> early = mpr::make<Early>();
        early->later = mpr::make<Later>();
        early->later->early = early;
        mpr::collect();
        CHECK(Counted::destroyed == 0);
        CHECK(early->later->early == early);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 1);
}

TEST_CASE("cpp member: child: refers to a base in the middle of an object", "[.]") {
    std::signal(SIGABRT, SIG_DFL); // Catch's handler allocates, which the thread sanitizer forbids in a signal
    Setting setting;
    Derived* derived = mpr::make<Derived>();
    test::mark("child: begins");
    mpr::Member<Other> other = derived;
    test::mark("child: goes on");
    CHECK(other == derived);
}

template <int way>
void storeInterior() {
    std::signal(SIGABRT, SIG_DFL);
    Setting setting;
    Derived* derived = mpr::make<Derived>();
    test::mark("child: begins");
    if constexpr (way == 0) {
        const mpr::Root<Derived> root = derived;
        mpr::Array<Other>::make(2)->set(1, root);
    } else if constexpr (way == 1) {
        CHECK(mpr::make<mpr::HashMap<int, Other>>()->set(1, derived));
    } else if constexpr (way == 2) {
        CHECK(mpr::make<mpr::TextMap<Other>>()->set("one", derived));
    } else if constexpr (way == 3) {
        const mpr::Weak<Other> weak = derived;
        CHECK(weak);
    } else {
        mpr::Weak<Other> weak;
        weak = derived;
        CHECK(weak);
    }
    test::mark("child: goes on");
}

TEST_CASE("cpp member: child: an array refers to a base", "[.]") {
    storeInterior<0>();
}
TEST_CASE("cpp member: child: a hash map refers to a base", "[.]") {
    storeInterior<1>();
}
TEST_CASE("cpp member: child: a text map refers to a base", "[.]") {
    storeInterior<2>();
}
TEST_CASE("cpp member: child: a weak reference is made to a base", "[.]") {
    storeInterior<3>();
}
TEST_CASE("cpp member: child: a weak reference is assigned a base", "[.]") {
    storeInterior<4>();
}

TEST_CASE("cpp member: a base in the middle of an object ends the program with a message") {
    for (const char* which :
         {"refers to a base in the middle of an object", "an array refers to a base", "a hash map refers to a base",
          "a text map refers to a base", "a weak reference is made to a base", "a weak reference is assigned a base"}) {
        const test::Ended ended = test::runChild((std::string("cpp member: child: ") + which).c_str());
        INFO(which << ": " << ended.output);
        CHECK(ended.killed(SIGABRT));
        CHECK(ended.wrote("child: begins"));
        CHECK(ended.wrote("not at the start of the object"));
        CHECK(!ended.wrote("child: goes on"));
    }
}

} // namespace
