// SPDX-License-Identifier: MIT
/*
    test/cpp/untraced.cpp - Types with references and without a trace function: what the compiler knows of them, what a
    collection names, and what option check=fields does. What does not compile at all is in test/refused.
 */
#include "test/cpp/setting.hpp"
#include "test/support/runtime.hpp"

#include <any>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

using mpr::detail::HasMembers;
using mpr::detail::hasMembers;
using mpr::detail::misspellsTrace;
using mpr::detail::suspect;
using mpr::detail::tracesWrongly;
using test::Link;
using test::Log;
using test::Setting;

namespace {

using Reference = mpr::Member<Link>;

// ---- Aggregates with Members: known ------------------------------------------------------------------------------

struct Second {
    int number;
    Reference link;
};
struct Behind {
    int numbers[10];
    Reference link;
};
struct Inside {
    int number;
    Behind part;
};
struct Derived : Second {};
struct InArray {
    std::array<Reference, 3> links;
};
struct InLongArray {
    Reference links[20000];
};
struct InVector {
    std::string name;
    std::vector<Reference> links;
};
struct InMap {
    std::map<int, Reference> links;
};
struct InPair {
    std::pair<int, Reference> link;
};
struct InOptional {
    std::optional<Reference> link;
};
struct InVariant {
    std::variant<int, Reference> link;
};
struct TracedPart {
    Link link;
};
struct BehindOddities {
    double ratio = 3;
    std::atomic<int> uses{0};
    std::mutex lock;
    std::unique_ptr<int> owned;
    Reference link = nullptr;
};
template <class... T>
constexpr bool allHave = ((hasMembers<T>() == HasMembers::yes) && ...);
static_assert(allHave<Second, Behind, Inside, Derived, InArray, InLongArray, InVector, InMap, InPair, InOptional,
                      InVariant, TracedPart, BehindOddities>);

// ---- Without: known, and leaves as ever -----------------------------------------------------------------------------

struct Empty {};
struct Pointers {
    int number;
    Link* link;
};
struct Containers {
    std::string name;
    std::vector<Link*> links;
    double sums[7];
};
struct Callback {
    std::function<void()> f;
    int z;
};
struct Text {
    char text[16];
    std::pair<int, int> place;
};
struct Locks {
    std::mutex lock;
    std::atomic<int> uses;
};
struct Rooted {
    mpr::Root<Link> link;
};
template <class... T>
constexpr bool noneHas = ((hasMembers<T>() == HasMembers::no && !suspect<T>) &&...);
static_assert(noneHas<Empty, Pointers, Containers, Callback, Text, Locks, Rooted>);

// ---- Not known -------------------------------------------------------------------------------------------------------

struct Any {
    std::any any; // would take anything
    Reference link;
};
struct Far {
    char text[40];
    Reference link;
};
struct LongText {
    char text[40];
};
struct Bound {
    int& number;
};
static_assert(hasMembers<Any>() == HasMembers::unknown && hasMembers<Far>() == HasMembers::unknown && suspect<Far>);
static_assert(hasMembers<LongText>() == HasMembers::unknown && !suspect<LongText> && !suspect<Bound>);

class Built {
public:
    Built() {}
    int number = 0;
    Reference link;
};
class BuiltUncopied {
public:
    BuiltUncopied() {}
    BuiltUncopied(const BuiltUncopied&) = delete;
    BuiltUncopied& operator=(const BuiltUncopied&) = delete;
    Reference link;
};
class BuiltPlain {
public:
    BuiltPlain() {}
    Link* link = nullptr;
};
class BuiltDestroyed {
public:
    BuiltDestroyed() {}
    std::string name;
    Reference link;
};
static_assert(suspect<Built> && suspect<BuiltUncopied> && !suspect<BuiltPlain> && !suspect<BuiltDestroyed>);
static_assert(!suspect<Link> && !suspect<int>);

// ---- Trace functions that are none -----------------------------------------------------------------------------------

template <class Parameter>
struct Traces {
    Traces() {}
    void trace(Parameter) {}
};
static_assert(tracesWrongly<Traces<mpr::Marker*>>() && tracesWrongly<Traces<mpr::Marker&&>>());
static_assert(!tracesWrongly<Traces<double>>() && !misspellsTrace<Traces<double>>());
struct Capital {
    void Trace(mpr::Marker&) const noexcept {}
};
struct Matrix {
    double Trace() const { return 1; }
    void visit(int) {}
};
static_assert(misspellsTrace<Capital>() && !misspellsTrace<Matrix>() && !misspellsTrace<Pointers>());

// ---- At run time ------------------------------------------------------------------------------------------------------

constexpr const char* untraced = "its type has no trace";

std::string at(size_t offset) {
    return "at offset " + std::to_string(offset) + " the address of block";
}

} // namespace

TEST_CASE("cpp untraced: a reference in a class without trace is named by the collection that may free its target") {
    const bool old = GENERATE(false, true);
    Setting setting;
    // Each type is named once, so each round has its own.
    class First : public Built {};
    class Later : public Built {};
    const auto check = [&](auto* object, const char* type) {
        mpr::Root root(object);
        if (old) {
            mpr::collect();
            CHECK_FALSE(Log::has(untraced)); // it references nothing yet
        }
        object->link = mpr::make<Link>();
        Link* const target = object->link;
        mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        INFO(Log::text());
        CHECK(Log::count(untraced) == 1);
        CHECK(Log::has(at(offsetof(Second, link))));
        CHECK(Log::has(type));
        CHECK(Log::names(object) == 1);
        CHECK(Log::names(target) == 1);
        CHECK_FALSE(mprIsValid(target));
        object->link = mpr::make<Link>();
        mpr::collect();
        CHECK(Log::count(untraced) == 1);
    };
    if (old) {
        check(mpr::make<Later>(), "Later>: object");
    } else {
        check(mpr::make<First>(), "First>: object");
    }
}

TEST_CASE("cpp untraced: a reference in an array of such objects is named") {
    Setting setting;
    auto elements = mpr::makeArray<BuiltUncopied>(10);
    mpr::Root root(elements.data());
    elements[7].link = mpr::make<Link>();
    mpr::collect();
    CHECK(Log::count(untraced) == 1);
    CHECK(Log::has(at(7 * sizeof(BuiltUncopied))));
}

TEST_CASE("cpp untraced: objects without references are not named, nor pointers to themselves") {
    Setting setting;
    struct Self {
        Self() : self(this) {}
        Self(const Self&) : self(this) {}
        Self* self;
        std::optional<Reference> link;
    };
    static_assert(suspect<Self>);
    test::soil();
    mpr::Root<Self> root = mpr::make<Self>();
    mpr::Root<BuiltPlain> plain = mpr::make<BuiltPlain>();
    mpr::collect();
    mpr::collect();
    CHECK_FALSE(Log::has(untraced));
}

namespace {

struct HalfTraced {
    int number = 0;
    Link* plain = nullptr; // a plain pointer among Members
    Reference link;
    void trace(mpr::Marker& marker) { marker(link); }
};

struct HalfDestroyed {
    HalfDestroyed() {}
    ~HalfDestroyed() { number = 0; }
    volatile int number = 0;
    Reference link;
};

constexpr const char* unmarked = "unmarked field";

/* Whether one field is named. */
void checkNamed(const void* object, size_t offset, const void* target) {
    INFO(Log::text());
    CHECK(Log::count(unmarked) == 1);
    CHECK(Log::has("has at offset " + std::to_string(offset) + " the address"));
    CHECK(Log::names(object) >= 1);
    CHECK(Log::names(target) >= 1);
}

} // namespace

TEST_CASE("cpp untraced: check=fields names a plain pointer among Members") {
    test::Runtime runtime("check=fields,everyyield=0");
    mpr::Root<HalfTraced> root = mpr::make<HalfTraced>();
    if (GENERATE(false, true)) {
        mpr::collect();
    }
    root->link = mpr::make<Link>();
    root->plain = mpr::make<Link>();
    const void* const target = root->plain;
    mprGC(GENERATE(MPR_GC_MINOR, MPR_GC_FORCE) | MPR_GC_COMPLETE);
    checkNamed(root.get(), offsetof(HalfTraced, plain), target);
    CHECK(mprIsValid(root->link));
}

TEST_CASE("cpp untraced: check=fields names a missing trace of classes that are watched and of such with destructors") {
    test::Runtime runtime("check=fields,everyyield=0");
    mpr::Root<Built> built = mpr::make<Built>();
    built->link = mpr::make<Link>();
    const void* target = built->link;
    mpr::collect();
    checkNamed(built.get(), offsetof(Second, link), target);
    Log::clear();
    mpr::Root<HalfDestroyed> destroyed = mpr::make<HalfDestroyed>();
    destroyed->link = mpr::make<Link>();
    target = destroyed->link;
    mpr::collect();
    checkNamed(destroyed.get(), offsetof(Second, link), target);
}

TEST_CASE("cpp untraced: check=fields has nothing to say about a correct program") {
    test::Runtime runtime("check=fields,everyyield=0,young=64k");
    mpr::Root<mpr::HashMap<int, Link>> map = mpr::make<mpr::HashMap<int, Link>>();
    mpr::Root<Link> list;
    for (int i = 0; i < 5000; i++) {
        Link* const link = mpr::make<Link>();
        link->next = list;
        list = i % 100 == 0 ? nullptr : link;
        REQUIRE(map->set(i % 700, link));
        mpr::Root<Link> row = mpr::makeArray<Link>(3).data();
        row->next = list;
        mpr::yield();
    }
    mpr::collect();
    INFO(Log::text());
    CHECK(Log::size() == 0);
}
