// SPDX-License-Identifier: MIT
/*
    test/cpp/array.cpp - mpr::makeArray, mpr::clone and mpr::copy.
 */
#include "test/cpp/setting.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using test::Counted;
using test::Link;
using test::Node;
using test::Setting;

namespace {

using Member = mpr::Member<Counted>;

static_assert(std::is_same_v<decltype(mpr::makeArray<Node>(1)), std::span<Node>>);
static_assert(std::is_same_v<decltype(mpr::copy(std::declval<std::span<const int>>())), std::span<int>>);
static_assert(std::is_same_v<decltype(mpr::copy(std::declval<std::span<int, 3>>())), std::span<int>>);

TEST_CASE("cpp array: elements are value-initialised, and theirs alone") {
    Setting setting;
    test::soil();
    for (size_t count = 0; count < 70; count++) {
        std::span<int> numbers = mpr::makeArray<int>(count);
        REQUIRE(numbers.data());
        REQUIRE(numbers.size() == count);
        for (int number : numbers) {
            REQUIRE(number == 0);
        }
        std::span<Node> nodes = mpr::makeArray<Node>(count);
        REQUIRE(nodes.size() == count);
        for (Node& node : nodes) {
            REQUIRE(node.value == 0);
            REQUIRE(!node.next);
            node.value = 1;
        }
    }
    CHECK(Counted::made == 69 * 70 / 2);
    mpr::collect();
    CHECK(Counted::destroyed == 69 * 70 / 2);
}

TEST_CASE("cpp array: of members keeps their targets") {
    Setting setting;
    {
        mpr::Root<Member> kept;
        const int count = 1000;
        std::span<Member> members = mpr::makeArray<Member>(count);
        kept = members.data();
        for (int i = 0; i < count; i++) {
            Counted* counted = mpr::make<Counted>(i);
            if (i % 10) {
                members[static_cast<size_t>(i)] = counted;
            }
            mpr::yield();
        }
        mpr::collect();
        CHECK(Counted::destroyed == 100);
        int wrong = 0;
        for (int i = 0; i < count; i++) {
            const Member& member = members[static_cast<size_t>(i)];
            wrong += i % 10 ? member->value != i : member != nullptr;
        }
        CHECK(wrong == 0);
        members[999] = nullptr;
        mpr::collect();
        CHECK(Counted::destroyed == 101);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 1000);
}

TEST_CASE("cpp array: every element is traced and destroyed once, at every size") {
    Setting setting;
    int expected = 0;
    for (size_t count = 0; count < 40; count++) {
        mpr::Root<Node> nodes = mpr::makeArray<Node>(count).data();
        mpr::Root<Link> links = mpr::makeArray<Link>(count).data();
        mpr::Root<Member> members = mpr::makeArray<Member>(count).data();
        for (size_t i = 0; i < count; i++) {
            nodes.get()[i].next = mpr::make<Node>(1);
            links.get()[i].target = mpr::make<Counted>(2);
            members.get()[i] = mpr::make<Counted>(3);
        }
        mpr::collect();
        CHECK(Counted::destroyed == expected);
        nodes = nullptr;
        links = nullptr;
        members = nullptr;
        mpr::collect();
        expected += static_cast<int>(4 * count);
        CHECK(Counted::destroyed == expected);
    }
}

TEST_CASE("cpp array: held in an object beside its size") {
    Setting setting;
    struct Tree : Counted {
        explicit Tree(size_t width) noexcept : children(mpr::makeArray<mpr::Member<Tree>>(width).data()), size(width) {}
        void trace(mpr::Marker& marker) { marker(children); }
        mpr::Member<mpr::Member<Tree>> children;
        size_t size;
    };
    {
        mpr::Root<Tree> tree = mpr::make<Tree>(size_t{3});
        for (size_t i = 0; i < tree->size; i++) {
            tree->children[i] = mpr::make<Tree>(i);
        }
        tree->children[2]->children[1] = mpr::make<Tree>(size_t{0});
        mpr::collect();
        CHECK(Counted::destroyed == 0);
        CHECK(tree->children[2]->size == 2);
        tree->children[2] = nullptr;
        mpr::collect();
        CHECK(Counted::destroyed == 2);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 5);
}

TEST_CASE("cpp array: an impossible size is refused, not wrapped around") {
    Setting setting;
    const size_t greatest = std::numeric_limits<size_t>::max();
    CHECK(mpr::makeArray<int>(greatest).data() == nullptr);
    CHECK(mpr::makeArray<int>(greatest / sizeof(int) + 2).data() == nullptr); // would be 4 bytes
    CHECK(mpr::makeArray<int>(greatest / sizeof(int) + 2).size() == 0);
    CHECK(mpr::makeArray<Node>(greatest / sizeof(Node) + 2).data() == nullptr);
    CHECK(mpr::makeArray<Member>(greatest / sizeof(Member) - 1).data() == nullptr);
    CHECK(mpr::makeArray<char>(greatest / 2).data() == nullptr);
    CHECK(Counted::made == 0);
    CHECK(mprHasMemError());
    mprResetMemError();
}

struct Fuse : Counted {
    Fuse() {
        if (--left < 0) {
            throw 1;
        }
        order = left;
        node = mpr::make<Node>(left);
        if (yields) {
            mpr::collect();
        }
    }
    ~Fuse() {
        if (!previous) {
            previous = order;
        }
        inOrder = inOrder && order >= previous;
        previous = order;
    }
    void trace(mpr::Marker& marker) { marker(node); }

    static void light(int length, bool yielding) {
        Counted::reset();
        left = length;
        yields = yielding;
        previous = 0;
        inOrder = true;
    }

    static inline int left, previous;
    static inline bool yields, inOrder;
    int order = -1;
    mpr::Member<Node> node;
};

TEST_CASE("cpp array: a constructor that throws undoes the elements before it, last first") {
    Setting setting;
    for (int good : {0, 1, 5, 9}) {
        Fuse::light(good, false);
        CHECK_THROWS_AS(mpr::makeArray<Fuse>(10), int);
        CHECK(Counted::made == 2 * good + 1); // elements, their nodes, the base of the last
        CHECK(Counted::destroyed == good + 1);
        CHECK(Fuse::inOrder);
        mpr::collect();
        CHECK(Counted::alive() == 0);
    }
}

struct Untraced : Counted {
    Untraced() { test::soil(); }
};

TEST_CASE("cpp array: constructors of elements may yield") {
    Setting setting;
    test::soil();
    for (size_t count = 0; count < 4; count++) {
        Counted::reset();
        {
            mpr::Root<Untraced> untraced = mpr::makeArray<Untraced>(count).data();
            CHECK(untraced);
            CHECK(Counted::destroyed == 0);
        }
        mpr::collect();
        CHECK(Counted::made == static_cast<int>(count));
        CHECK(Counted::alive() == 0);
        CHECK(Counted::wrong == 0);
    }
    Fuse::light(10, true);
    {
        mpr::Root<Fuse> none = mpr::makeArray<Fuse>(0).data();
        mpr::collect();
        CHECK(none);
        CHECK(Counted::made == 0);
    }
    {
        mpr::Root<Fuse> fuses = mpr::makeArray<Fuse>(10).data();
        test::soil();
        CHECK(Counted::destroyed == 0);
        int wrong = 0;
        for (int i = 0; i < 10; i++) {
            wrong += fuses.get()[i].node->value != 9 - i;
        }
        CHECK(wrong == 0);
    }
    mpr::collect();
    CHECK(Counted::alive() == 0);

    Fuse::light(5, true);
    CHECK_THROWS_AS(mpr::makeArray<Fuse>(10), int);
    mpr::collect();
    CHECK(Counted::alive() == 0);
}

TEST_CASE("cpp clone: copies text and ends it") {
    Setting setting;
    test::soil();
    char buffer[] = "managed text";
    mpr::Held<char> text = mpr::clone(buffer);
    buffer[0] = '?';
    mpr::collect();
    test::soil();
    CHECK(std::string(text) == "managed text");
    CHECK(std::string(mpr::clone(std::string_view("managed text").substr(2, 3))) == "nag");
    CHECK(std::string(mpr::clone("")) == "");
    CHECK(*mpr::clone(std::string_view()) == '\0');
    using namespace std::string_view_literals;
    const char* inner = mpr::clone("a\0b"sv);
    CHECK(std::string_view(inner, 4) == "a\0b\0"sv);

    std::string sixteen(16, 'x'); // a block is full without the end
    CHECK(mprGetBlockSize(mpr::clone(sixteen)) >= 17);

    mprSetMemLimits(0, 4 << 20, -1);
    CHECK(mpr::clone(std::string(8 << 20, 'x')) == nullptr);
    mprResetMemError();
}

TEST_CASE("cpp copy: copies plain elements") {
    Setting setting;
    test::soil();
    std::vector<int> numbers{1, 2, 3, 4, 5};
    std::span<int> copied = mpr::copy(std::span(numbers));
    mpr::Root<int> root = copied.data();
    numbers.assign(5, 0);
    mpr::collect();
    test::soil();
    REQUIRE(copied.size() == 5);
    CHECK((copied[0] == 1 && copied[4] == 5));
    CHECK(copied.data() == root);

    CHECK(mpr::copy<int>(numbers).size() == 5);
    const double pair[] = {1.5, 2.5};
    CHECK(mpr::copy(std::span(pair))[1] == 2.5);
    CHECK(mpr::copy(std::span<const double>(pair))[0] == 1.5);
    CHECK(mpr::copy(std::span<const int>()).data() != nullptr);
    CHECK(mpr::copy(std::span<const int>()).empty());

    mprSetMemLimits(0, 4 << 20, -1);
    std::vector<char> large(8 << 20);
    CHECK(mpr::copy(std::span(large)).data() == nullptr);
    mprResetMemError();
}

} // namespace
