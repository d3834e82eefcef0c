// SPDX-License-Identifier: MIT
/*
    test/cpp/make.cpp - mpr::make: which blocks are made, when destructors run, what a constructor may do.
 */
#include "test/cpp/setting.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using test::Counted;
using test::Link;
using test::Node;
using test::Setting;

namespace {

struct Plain {
    void* a;
    void* b;
};
struct Aggregate {
    int number = 7;
    std::string text = "none";
};
struct Matrix { // a trace function that has nothing to do with ours
    double trace() const { return 1; }
};
struct Shared {
    std::shared_ptr<int> use;
};

static_assert(mpr::Traceable<Node> && mpr::Traceable<Link> && mpr::Traceable<const Link>);
static_assert(!mpr::Traceable<Plain> && !mpr::Traceable<Matrix> && !mpr::Traceable<int> && !mpr::Traceable<Node*>);
static_assert(!mpr::Traceable<const Node>); // its trace function is not const

bool hasManager(void* block) {
    return mprSetManager(block, [](void*, int) {}) != nullptr;
}

TEST_CASE("cpp make: forwards arguments, value-initialises without any") {
    Setting setting;
    test::soil();
    CHECK(*mpr::make<int>(42) == 42);
    CHECK(*mpr::make<long>() == 0);
    Plain* plain = mpr::make<Plain>();
    CHECK(plain->a == nullptr);
    CHECK(plain->b == nullptr);
    plain = mpr::make<Plain>(&setting, plain);
    CHECK(plain->a == &setting);

    mpr::Root<Aggregate> aggregate = mpr::make<Aggregate>(1, "one");
    CHECK(aggregate->number == 1);
    CHECK(aggregate->text == "one");
    CHECK(mpr::make<Aggregate>()->number == 7);
    struct Two {
        int first, second;
    };
    CHECK(mpr::make<Two>(1)->second == 0); // without a warning, which is an error here

    auto text = std::make_unique<std::string>("moved in");
    mpr::Root<std::unique_ptr<std::string>> owner = mpr::make<std::unique_ptr<std::string>>(std::move(text));
    CHECK(!text);
    CHECK(**owner == "moved in");
    CHECK(reinterpret_cast<uintptr_t>(mpr::make<char>('c')) % (2 * sizeof(void*)) == 0);
}

TEST_CASE("cpp make: a type neither traced nor destroyed is a leaf") {
    Setting setting;
    CHECK(!hasManager(mpr::make<Plain>()));
    CHECK(!hasManager(mpr::make<Matrix>()));
    CHECK(!hasManager(mpr::make<Node*>(nullptr)));
    setting.misuses = 3; // the log names each of these
    CHECK(hasManager(mpr::make<Link>()));
    CHECK(hasManager(mpr::make<mpr::Member<Node>>()));
    auto* counted = mpr::make<Counted>();
    CHECK(hasManager(counted));
    counted->~Counted(); // its manager is gone now
}

TEST_CASE("cpp make: the destructor runs exactly once, when the object is found dead") {
    Setting setting;
    {
        mpr::Root<Counted> root = mpr::make<Counted>(1);
        CHECK(mpr::make<Counted>(2)->value == 2);
        CHECK(Counted::made == 2);
        mpr::collect();
        CHECK(Counted::destroyed == 1);
        mpr::collect();
        CHECK(Counted::destroyed == 1);
        CHECK(root->value == 1);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 2);
    mpr::collect();
    CHECK(setting.runtime.destroy());
    CHECK(Counted::destroyed == 2);
}

struct Keeper {
    ~Keeper() { kept = nullptr; }
    void trace(mpr::Marker& marker) { marker(kept); }
    Keeper* kept = nullptr; // as it might stand in memory of the object's own
};

TEST_CASE("cpp make: a type that is traced and destroyed is looked at again in each collection") {
    Setting setting;
    mpr::Root<Keeper> keeper = mpr::make<Keeper>();
    mpr::collect(); // now it is old
    keeper->kept = mpr::make<Keeper>();
    mpr::collect(MPR_GC_MINOR | MPR_GC_COMPLETE);
    CHECK(mprIsValid(keeper->kept));
}

TEST_CASE("cpp make: the end of the runtime destroys what is left, rooted or not") {
    Setting setting;
    auto shared = std::make_shared<int>(1);
    mpr::Root<Shared>* root = new mpr::Root<Shared>(mpr::make<Shared>(shared));
    CHECK((*root)->use.use_count() == 2);
    delete root;
    CHECK(mpr::make<Node>(1, mpr::make<Node>(2))->next->value == 2);
    mprHold(mpr::make<Counted>(3));
    CHECK(setting.runtime.destroy());
    CHECK(shared.use_count() == 1);
    CHECK(Counted::destroyed == 3);
}

TEST_CASE("cpp make: mprFree destroys on the spot") {
    Setting setting;
    Counted* counted = mpr::make<Counted>(1);
    CHECK(mprFree(counted) == 0);
    CHECK(Counted::destroyed == 1);
    mpr::collect();
    CHECK(Counted::destroyed == 1);
}

TEST_CASE("cpp make: many objects, each destroyed once") {
    Setting setting;
    {
        mpr::Root<Node> list;
        for (int i = 0; i < 20000; i++) {
            Node* node = mpr::make<Node>(i);
            REQUIRE(node);
            if (i % 4 == 0) {
                node->next = list;
                list = node;
            }
            mpr::yield();
        }
        mpr::collect();
        CHECK(Counted::destroyed == 15000);
        int length = 0, wrong = 0;
        for (Node* node = list; node; node = node->next) {
            wrong += node->value != 4 * (4999 - length++);
        }
        CHECK(length == 5000);
        CHECK(wrong == 0);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 20000);
}

struct Polymorphic : Counted {
    void trace(mpr::Marker& marker) { marker(mine); }
    mpr::Member<Counted> mine;
};
struct Specific : Polymorphic {
    virtual ~Specific() = default;
    virtual void trace(mpr::Marker& marker) {
        Polymorphic::trace(marker);
        marker(more);
    }
    mpr::Member<Counted> more;
};
struct MoreSpecific final : Specific {
    void trace(mpr::Marker& marker) override {
        Specific::trace(marker);
        marker(most);
    }
    mpr::Member<Counted> most;
};

TEST_CASE("cpp make: of a derived type traces and destroys the whole object") {
    Setting setting;
    {
        mpr::Root<Specific> root = mpr::make<MoreSpecific>();
        auto* exact = static_cast<MoreSpecific*>(root.get());
        exact->mine = mpr::make<Counted>(1);
        exact->more = mpr::make<Counted>(2);
        exact->most = mpr::make<Counted>(3);
        mpr::collect();
        CHECK(Counted::destroyed == 0);
        CHECK(exact->mine->value + exact->more->value + exact->most->value == 6);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 4);
}

/* -- memory fails */

struct Huge {
    Huge() { made++; }
    static inline int made = 0;
    std::byte bytes[8 << 20];
};

TEST_CASE("cpp make: returns nullptr when memory fails, and constructs nothing") {
    Setting setting;
    mprSetMemLimits(0, 4 << 20, -1);
    Huge::made = 0;
    CHECK(mpr::make<Huge>() == nullptr);
    CHECK(Huge::made == 0);
    mprSetMemLimits(0, 64 << 20, -1);
    CHECK(mpr::make<Huge>() != nullptr);
    CHECK(Huge::made == 1);
}

/* -- constructors that throw */

struct Throwing : Counted {
    explicit Throwing(bool fails) {
        last = this;
        part = std::make_unique<Counted>();
        node = mpr::make<Node>(1);
        if (fails) {
            throw std::runtime_error("no");
        }
    }
    ~Throwing() { destructors.fetch_add(1); }
    void trace(mpr::Marker& marker) { marker(node); }

    static inline Throwing* last = nullptr;
    static inline std::atomic<int> destructors{0};
    std::unique_ptr<Counted> part;
    mpr::Member<Node> node;
};
struct ThrowingLeaf {
    ThrowingLeaf() {
        last = this;
        throw 1;
    }
    static inline ThrowingLeaf* last = nullptr;
};

TEST_CASE("cpp make: a constructor that throws frees the block and does not run the destructor") {
    Setting setting;
    Throwing::destructors = 0;
    CHECK_THROWS_AS(mpr::make<Throwing>(true), std::runtime_error);
    CHECK(Throwing::destructors == 0);
    CHECK(Counted::destroyed == 2); // the base and the part, by the language
    CHECK(!mprIsValid(Throwing::last));
    mpr::collect(); // the node; and nothing of the block
    CHECK(Counted::destroyed == 3);
    CHECK(Throwing::destructors == 0);

    {
        mpr::Root<Throwing> root = mpr::make<Throwing>(false);
        mpr::collect();
        CHECK(root->node->value == 1);
        CHECK(Throwing::destructors == 0);
    }
    mpr::collect();
    CHECK(Throwing::destructors == 1);
    CHECK(Counted::alive() == 0);

    CHECK_THROWS_AS(mpr::make<ThrowingLeaf>(), int);
    CHECK(!mprIsValid(ThrowingLeaf::last));
}

/* -- constructors that yield */

struct Yielder {
    Yielder() {
        destroyedBefore = Counted::destroyed;
        mpr::collect();
        test::soil(); // what was lost is overwritten
    }
    static inline int destroyedBefore = 0;
};

struct Half : Counted {
    explicit Half(int initial) : Counted(initial), early(mpr::make<Node>(11)), later(3) {
        later[2] = mpr::make<Node>(12);
        mpr::collect();
        last = mpr::make<Node>(13);
    }
    void trace(mpr::Marker& marker) {
        traced.fetch_add(1);
        marker(early, later, last);
    }

    static inline std::atomic<int> traced{0};
    mpr::Member<Node> early;
    Yielder yielder;
    std::vector<mpr::Member<Node>> later;
    mpr::Member<Node> last;
};

TEST_CASE("cpp make: a constructor may yield; its object is kept, traced and not destroyed") {
    Setting setting;
    test::soil();
    Half::traced = 0;
    {
        mpr::Root<Half> half = mpr::make<Half>(10);
        CHECK(Half::traced >= 2);
        CHECK(Counted::destroyed == 0);
        CHECK(half->value == 10);
        CHECK(half->early->value == 11);
        CHECK(half->later[2]->value == 12);
        CHECK(half->last->value == 13);
        mpr::collect();
        CHECK(Counted::destroyed == 0);
    }
    mpr::collect();
    CHECK(Counted::destroyed == 4);
}

struct YieldsFirst {
    YieldsFirst() { mpr::collect(); }
};
/* The pointer to its virtual functions stands before the base that yields, and is not set by then. */
struct LateVirtual : YieldsFirst {
    virtual ~LateVirtual() = default;
    virtual void trace(mpr::Marker& marker) {
        traced.fetch_add(1);
        marker(node);
    }
    static inline std::atomic<int> traced{0};
    mpr::Member<Node> node;
};

TEST_CASE("cpp make: a virtual trace function is called before the object is one") {
    Setting setting;
    test::soil();
    LateVirtual::traced = 0;
    mpr::Root<LateVirtual> root = mpr::make<LateVirtual>();
    CHECK(LateVirtual::traced >= 1);
    CHECK(root->node == nullptr);
}

struct YieldingUntraced : Counted {
    YieldingUntraced() : Counted(5) {
        mpr::collect();
        test::soil();
    }
    std::string text = "a string that is too long to be stored in place";
};
struct YieldingLeaf {
    YieldingLeaf() : value(6) {
        mpr::collect();
        test::soil();
    }
    int value;
};
struct YieldingThenThrowing : Counted {
    YieldingThenThrowing() {
        mpr::collect();
        throw 2;
    }
    void trace(mpr::Marker& marker) { marker(node); }
    mpr::Member<Node> node;
};
struct RootsItself : Counted {
    RootsItself() noexcept : Counted(8) {
        mpr::Root<RootsItself> self(this);
        mpr::collect();
        test::soil();
    }
};

TEST_CASE("cpp make: constructors that yield, of untraced, leaf, throwing and noexcept kinds") {
    Setting setting;
    mpr::Root<YieldingUntraced> untraced = mpr::make<YieldingUntraced>();
    CHECK(untraced->value == 5);
    CHECK(untraced->text == "a string that is too long to be stored in place");
    mpr::Root<YieldingLeaf> leaf = mpr::make<YieldingLeaf>();
    CHECK(leaf->value == 6);
    CHECK(Counted::destroyed == 0);
    CHECK_THROWS_AS(mpr::make<YieldingThenThrowing>(), int);
    CHECK(Counted::destroyed == 1);
    mpr::Root<RootsItself> self = mpr::make<RootsItself>();
    CHECK(self->value == 8);
    mpr::collect();
    CHECK(Counted::destroyed == 1);
    untraced = nullptr;
    mpr::collect();
    CHECK(Counted::destroyed == 2);
}

} // namespace
