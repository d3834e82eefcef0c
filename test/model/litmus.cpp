// SPDX-License-Identifier: MIT
/*
    litmus.cpp - The checker checked: of the shapes that every memory model is told by, exactly the outcomes that C11
    (or, for loads performed late, a processor) allows are found.
 */
#include "test/catch.hpp"
#include "test/model/weak.hpp"

using namespace model;

namespace {
constexpr Order relaxed = Order::relaxed, acquire = Order::acquire, release = Order::release, seqCst = Order::seqCst;

using Outcomes = std::set<Value>;

/** x = 1; y = 1 beside a = y; b = x. Outcomes 10 a + b. */
struct MessagePassing {
    MessagePassing(World& w, Order store, Order load) : store(store), load(load), x(w.place("x")), y(w.place("y")) {
        w.start("writer", [this](Thread& t) { return writes(t); });
        w.start("reader", [this](Thread& t) { return reads(t); });
    }
    Task<> writes(Thread& t) {
        co_await t.store(x, 1, relaxed);
        co_await t.store(y, 1, store);
    }
    Task<> reads(Thread& t) {
        t.keep(a = co_await t.load(y, load));
        t.keep(b = co_await t.load(x, relaxed));
    }
    void finish(World& w) const { w.note(10 * a + b); }

    Order store, load;
    Place x, y;
    Value a = 0, b = 0;
};

/** Message passing with fences. */
struct MessagePassingByFences {
    MessagePassingByFences(World& w, bool both) : both(both), x(w.place("x")), y(w.place("y")) {
        w.start("writer", [this](Thread& t) { return writes(t); });
        w.start("reader", [this](Thread& t) { return reads(t); });
    }
    Task<> writes(Thread& t) {
        co_await t.store(x, 1, relaxed);
        co_await t.fence(release);
        co_await t.store(y, 1, relaxed);
    }
    Task<> reads(Thread& t) {
        t.keep(a = co_await t.load(y, relaxed));
        if (both) {
            co_await t.fence(acquire);
        }
        t.keep(b = co_await t.load(x, relaxed));
    }
    void finish(World& w) const { w.note(10 * a + b); }

    bool both;
    Place x, y;
    Value a = 0, b = 0;
};

/** x = 1; a = y beside y = 1; b = x. */
struct StoreBuffering {
    StoreBuffering(World& w, Order store, Order load, bool fences)
        : store(store), load(load), fences(fences), x(w.place("x")), y(w.place("y")) {
        w.start("left", [this](Thread& t) { return side(t, x, y, a); });
        w.start("right", [this](Thread& t) { return side(t, y, x, b); });
    }
    Task<> side(Thread& t, Place mine, Place other, Value& seen) {
        co_await t.store(mine, 1, store);
        if (fences) {
            co_await t.fence(seqCst);
        }
        t.keep(seen = co_await t.load(other, load));
    }
    void finish(World& w) const { w.note(10 * a + b); }

    Order store, load;
    bool fences;
    Place x, y;
    Value a = 0, b = 0;
};

/** a = x; y = 1 beside b = y; x = 1, the loads performed late. */
struct LoadBuffering {
    LoadBuffering(World& w, bool late, Order store) : late(late), store(store), x(w.place("x")), y(w.place("y")) {
        w.start("left", [this](Thread& t) { return side(t, x, y, a); });
        w.start("right", [this](Thread& t) { return side(t, y, x, b); });
    }
    Task<> side(Thread& t, Place from, Place to, Value& seen) {
        if (late) {
            const Later later = t.loadLater(from);
            co_await t.store(to, 1, store);
            t.keep(seen = co_await t.finish(later));
        } else {
            t.keep(seen = co_await t.load(from, relaxed));
            co_await t.store(to, 1, store);
        }
    }
    void finish(World& w) const { w.note(10 * a + b); }

    bool late;
    Order store;
    Place x, y;
    Value a = 0, b = 0;
};

/** x = 1; y = 2 beside y = 1; x = 2: what is left is both ones only if stores pass each other. */
struct TwoWrites {
    TwoWrites(World& w, Order order) : order(order), x(w.place("x")), y(w.place("y")) {
        w.start("left", [this](Thread& t) { return side(t, x, y); });
        w.start("right", [this](Thread& t) { return side(t, y, x); });
    }
    Task<> side(Thread& t, Place first, Place second) {
        co_await t.store(first, 1, order);
        co_await t.store(second, 2, order);
    }
    void finish(World& w) const { w.note(10 * w.last(x) + w.last(y)); }

    Order order;
    Place x, y;
};

/** Two threads add one, in one step or by load and store, while a third loads twice. The outcome is what is left. */
struct Counter {
    Counter(World& w, bool atomic) : atomic(atomic), x(w.place("x")) {
        w.start("left", [this](Thread& t) { return adds(t); });
        w.start("right", [this](Thread& t) { return adds(t); });
        w.start("reader", [this](Thread& t) { return reads(t); });
    }
    Task<> adds(Thread& t) {
        if (atomic) {
            co_await t.add(x, 1, relaxed);
        } else {
            const Value seen = co_await t.load(x, relaxed);
            co_await t.store(x, seen + 1, relaxed);
        }
    }
    Task<> reads(Thread& t) {
        const Value first = co_await t.load(x, relaxed);
        const Value second = co_await t.load(x, relaxed);
        t.check(!atomic || second >= first, "a load is older than the one before");
    }
    void finish(World& w) const { w.note(w.last(x)); }

    bool atomic;
    Place x;
};

/**
    data = 1; flag = 1 (release); another adds 1 to the flag (relaxed); who acquires 2 sees the data: updates hand on.
 */
struct HandingOn {
    HandingOn(World& w, bool byUpdate) : byUpdate(byUpdate), data(w.data("data")), flag(w.place("flag")) {
        w.start("writer", [this](Thread& t) { return writes(t); });
        w.start("between", [this](Thread& t) { return passes(t); });
        w.start("reader", [this](Thread& t) { return reads(t); });
    }
    Task<> writes(Thread& t) {
        t.write(data, 1);
        co_await t.store(flag, 1, release);
    }
    Task<> passes(Thread& t) {
        co_await t.loadUntil(flag, 1, relaxed);
        if (byUpdate) {
            co_await t.add(flag, 1, relaxed);
        } else {
            co_await t.store(flag, 2, relaxed);
        }
    }
    Task<> reads(Thread& t) {
        co_await t.loadUntil(flag, 2, acquire);
        t.check(t.read(data) == 1, "the data is not there");
    }
    void finish(World&) {}

    bool byUpdate;
    Data data;
    Place flag;
};

/** Two writers of one place each, two readers that disagree about which came first: 8 a + 4 b + 2 c + d. */
struct IndependentReads {
    IndependentReads(World& w, Order load, Order store) : load(load), store(store), x(w.place("x")), y(w.place("y")) {
        w.start("x", [this](Thread& t) { return writes(t, x); });
        w.start("y", [this](Thread& t) { return writes(t, y); });
        w.start("one", [this](Thread& t) { return reads(t, x, y, a, b); });
        w.start("two", [this](Thread& t) { return reads(t, y, x, c, d); });
    }
    Task<> writes(Thread& t, Place p) { co_await t.store(p, 1, store); }
    Task<> reads(Thread& t, Place first, Place second, Value& one, Value& two) {
        t.keep(one = co_await t.load(first, load));
        t.keep(two = co_await t.load(second, load));
    }
    void finish(World& w) const { w.note(8 * a + 4 * b + 2 * c + d); }

    Order load, store;
    Place x, y;
    Value a = 0, b = 0, c = 0, d = 0;
};

/** Sleeps until it is woken; who wakes changes the word first, or does not. */
struct Sleeping {
    Sleeping(World& w, bool changes, bool wakes) : changes(changes), wakes(wakes), word(w.place("word")) {
        w.start("sleeper", [this](Thread& t) { return sleeps(t); });
        w.start("waker", [this](Thread& t) { return rings(t); });
    }
    Task<> sleeps(Thread& t) { co_await t.sleep(word, 0); }
    Task<> rings(Thread& t) {
        if (changes) {
            co_await t.store(word, 1, relaxed);
        }
        if (wakes) {
            co_await t.wakeOne(word);
        }
    }
    void finish(World&) {}

    bool changes, wakes;
    Place word;
};
} // namespace

TEST_CASE("model: messages are passed by release and acquire, and by nothing less") {
    const Outcomes all{0, 1, 10, 11};
    const Outcomes ordered{0, 1, 11};
    CHECK(explore<MessagePassing>(relaxed, relaxed).outcomes == all);
    CHECK(explore<MessagePassing>(release, relaxed).outcomes == all);
    CHECK(explore<MessagePassing>(relaxed, acquire).outcomes == all);
    CHECK(explore<MessagePassing>(release, acquire).outcomes == ordered);
    CHECK(explore<MessagePassing>(seqCst, seqCst).outcomes == ordered);
    CHECK(explore<MessagePassingByFences>(true).outcomes == ordered);
    CHECK(explore<MessagePassingByFences>(false).outcomes == all);
}

TEST_CASE("model: a load passes a store to another place unless both are sequentially consistent") {
    const Outcomes all{0, 1, 10, 11};
    const Outcomes ordered{1, 10, 11};
    CHECK(explore<StoreBuffering>(relaxed, relaxed, false).outcomes == all);
    CHECK(explore<StoreBuffering>(release, acquire, false).outcomes == all);
    CHECK(explore<StoreBuffering>(seqCst, acquire, false).outcomes == all);
    CHECK(explore<StoreBuffering>(release, seqCst, false).outcomes == all);
    CHECK(explore<StoreBuffering>(seqCst, seqCst, false).outcomes == ordered);
    CHECK(explore<StoreBuffering>(relaxed, relaxed, true).outcomes == ordered);
}

TEST_CASE("model: a late load may see what depends on later stores, unless these release") {
    CHECK(explore<LoadBuffering>(true, relaxed).outcomes == Outcomes{0, 1, 10, 11});
    CHECK(explore<LoadBuffering>(true, release).outcomes == Outcomes{0, 1, 10});
    CHECK(explore<LoadBuffering>(false, relaxed).outcomes == Outcomes{0, 1, 10});
}

TEST_CASE("model: stores to different places become visible in any order, unless they are sequentially consistent") {
    CHECK(explore<TwoWrites>(relaxed).outcomes == Outcomes{11, 12, 21, 22});
    CHECK(explore<TwoWrites>(release).outcomes == Outcomes{11, 12, 21, 22});
    CHECK(explore<TwoWrites>(seqCst).outcomes == Outcomes{12, 21, 22});
}

TEST_CASE("model: updates lose nothing, loads of one place do not go back") {
    const Report atomic = explore<Counter>(true);
    CHECK(atomic.failure == "");
    CHECK(atomic.outcomes == Outcomes{2});
    CHECK(explore<Counter>(false).outcomes == Outcomes{1, 2});
}

TEST_CASE("model: readers may disagree about independent stores unless all is sequentially consistent") {
    constexpr Value disagree = 8 + 2; // 1, 0 and 1, 0
    CHECK(explore<IndependentReads>(acquire, release).outcomes.count(disagree) == 1);
    CHECK(explore<IndependentReads>(seqCst, seqCst).outcomes.count(disagree) == 0);
}

TEST_CASE("model: what is released goes through the updates of others, not through their stores") {
    CHECK(explore<HandingOn>(true).failure == "");
    CHECK(explore<HandingOn>(false).failure.substr(0, 9) == "data race");
}

TEST_CASE("model: a futex that changes before it is rung wakes, one that is never rung does not") {
    CHECK(explore<Sleeping>(true, true).failure == "");
    CHECK(explore<Sleeping>(true, false).failure == "nobody goes on: sleeper");
    CHECK(explore<Sleeping>(false, true).failure == "nobody goes on: sleeper");
}
