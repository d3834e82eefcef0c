// SPDX-License-Identifier: MIT
/*
    test/cpp/marker.cpp - mpr::Marker: everything that a trace function may hand to it keeps its targets.

    Each case roots one object, gives it some references, loses some others, and counts.
 */
#include "test/cpp/setting.hpp"

#include <array>
#include <filesystem>
#include <list>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using test::Counted;
using test::Link;
using test::Node;
using test::Setting;

namespace {

using Member = mpr::Member<Counted>;

Counted* made(int value) {
    return mpr::make<Counted>(value);
}

/* Makes a T, lets fill give it references, and collects, with one lost object beside. @return Destructions. */
template <class T, class Fill>
int lostAfter(Fill fill) {
    mpr::Root<T> root = mpr::make<T>();
    REQUIRE(root);
    fill(*root);
    CHECK(made(-1)->value == -1);
    mpr::collect();
    return Counted::destroyed;
}

struct Variadic {
    Member a, b, c, forgotten;
    void trace(mpr::Marker& marker) { marker(a, b, c); }
};

TEST_CASE("cpp marker: marks each of its arguments, and no other field") {
    Setting setting;
    CHECK(lostAfter<Variadic>([](Variadic& object) {
              object.a = made(1);
              object.c = made(3);
          }) == 1);
    CHECK(lostAfter<Variadic>([](Variadic& object) { object.forgotten = made(4); }) == 5);
}

struct Pointers {
    explicit Pointers() noexcept : counted(made(1)), constant(made(2)), any(made(3)), text(mpr::clone("text")) {}
    void trace(mpr::Marker& marker) const {
        marker(counted, constant);
        marker(any, text, null);
    }
    Counted* counted;
    const Counted* constant;
    void* any;
    char* text;
    Counted* null = nullptr;
};

TEST_CASE("cpp marker: plain pointers that the constructor sets") {
    Setting setting;
    CHECK(lostAfter<Pointers>([](Pointers&) {}) == 1);
    mpr::Root<Pointers> root = mpr::make<Pointers>();
    mpr::collect();
    test::soil();
    CHECK(root->counted->value == 1);
    CHECK(std::string(root->text) == "text");
}

struct Ranges {
    Member array[3];
    std::array<Member, 3> standard;
    std::vector<Member> vector;
    std::list<Member> list;
    std::map<std::string, Member> map;
    std::unordered_map<int, std::pair<Member, int>> nested;
    std::vector<std::vector<Member>> matrix;
    std::vector<Counted*> plain;
    void trace(mpr::Marker& marker) { marker(array, standard, vector, list, map, nested, matrix, plain); }
};

TEST_CASE("cpp marker: ranges, maps, ranges of ranges") {
    Setting setting;
    CHECK(lostAfter<Ranges>([](Ranges& object) {
              object.array[2] = made(1);
              object.standard[1] = made(2);
              object.vector = {made(3), nullptr, made(4)};
              object.list.push_back(made(5));
              object.map["six"] = made(6);
              object.map["seven"] = made(7);
              object.nested[8] = {made(8), 8};
              object.matrix.resize(3);
              object.matrix[1].assign(2, made(9));
              object.plain.push_back(made(10));
          }) == 1);
    CHECK(lostAfter<Ranges>([](Ranges& object) {
              object.vector = {made(1), made(2), made(3)};
              object.vector.pop_back();
              object.vector.erase(object.vector.begin());
          }) == 1 + 10 + 3);
}

struct Part {
    Member first, second;
    void trace(mpr::Marker& marker) { marker(first, second); }
};
struct ConstPart {
    Member only;
    void trace(mpr::Marker& marker) const { marker(only); }
};
struct Whole : Part {
    Part part;
    const ConstPart fixed{made(9)};
    std::vector<Part> parts;
    void trace(mpr::Marker& marker) {
        Part::trace(marker);
        marker(part, fixed, parts);
    }
};

TEST_CASE("cpp marker: bases and parts") {
    Setting setting;
    CHECK(lostAfter<Whole>([](Whole& object) {
              object.second = made(1);
              object.part.first = made(2);
              object.parts.resize(10);
              object.parts[7].second = made(3);
          }) == 1);
}

struct VirtualBase {
    virtual ~VirtualBase() = default;
    virtual void trace(mpr::Marker& marker) { marker(inBase); }
    Member inBase;
};
struct VirtualDerived : VirtualBase {
    void trace(mpr::Marker& marker) override { marker(static_cast<VirtualBase&>(*this), inDerived); }
    Member inDerived;
};

TEST_CASE("cpp marker: a part is traced as what it is declared") {
    Setting setting;
    CHECK(lostAfter<VirtualDerived>([](VirtualDerived& object) {
              object.inBase = made(1);
              object.inDerived = made(2);
          }) == 1);
}

struct Generic {
    Member member;
    template <class M>
    void trace(M& marker) {
        marker(member);
    }
};
struct ByValue {
    Member member;
    void trace(mpr::Marker marker) { marker(member); }
};

TEST_CASE("cpp marker: trace functions of other signatures") {
    Setting setting;
    CHECK(lostAfter<Generic>([](Generic& object) { object.member = made(1); }) == 1);
    CHECK(lostAfter<ByValue>([](ByValue& object) { object.member = made(1); }) == 3);
}

struct Spans {
    explicit Spans() noexcept : members(mpr::makeArray<Member>(4)), counted(mpr::makeArray<Counted>(2)) {}
    ~Spans() {}
    void trace(mpr::Marker& marker) {
        marker(members, outside);
        marker(counted.data());
    }
    std::span<Member> members;
    std::span<Counted> counted;
    std::span<Member> outside;
};

TEST_CASE("cpp marker: spans of managed and of other memory") {
    Setting setting;
    static Member table[2];
    {
        mpr::Root<Spans> root = mpr::make<Spans>();
        root->members[1] = made(1);
        mpr::collect();
        test::soil();
        CHECK(mprIsValid(root->members.data()));
        CHECK(root->members[1]->value == 1);
        CHECK(root->members[0] == nullptr);
        CHECK(Counted::destroyed == 0);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 3);
    CHECK(lostAfter<Spans>([](Spans& object) {
              object.members[3] = made(1);
              table[1] = made(2);
              object.outside = table;
          }) == 3 + 1);
    table[1] = nullptr;
}

TEST_CASE("cpp marker: a container of members is traced without a class around it") {
    Setting setting;
    CHECK(lostAfter<std::vector<Member>>([](auto& vector) { vector.assign(3, made(1)); }) == 1);
    CHECK(lostAfter<std::map<int, Member>>([](auto& map) { map[1] = made(1); }) == 3);
    CHECK(lostAfter<std::array<Member, 2>>([](auto& array) { array[1] = made(1); }) == 5);
    CHECK(lostAfter<Member>([](auto& member) { member = made(1); }) == 7);
    // Nobody knows what plain pointers refer to.
    CHECK(lostAfter<std::vector<Counted*>>([](auto& vector) { vector.assign(3, made(1)); }) == 10);
    // A range of itself.
    CHECK(mpr::make<std::filesystem::path>("a/b") != nullptr);
}

TEST_CASE("cpp marker: a long list is marked to its end") {
    Setting setting;
    {
        mpr::Root<Link> first = mpr::make<Link>();
        Link* last = first;
        for (int i = 0; i < 300000; i++) {
            last->next = mpr::make<Link>();
            last = last->next;
            REQUIRE(last);
        }
        last->target = made(1);
        mpr::collect();
        CHECK(Counted::destroyed == 0);
        CHECK(last->target->value == 1);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 1);
}

} // namespace
