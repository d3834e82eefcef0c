// SPDX-License-Identifier: MIT
/*
    span.cpp - A stale span is cleared by the thread that fills it again, while others ask about addresses in it
    (mpr/heap/span.hpp, region.hpp, Heap::resumeContext).

    The granule in question holds the head of a block that is dead. In map order it is the first behind what is cleared.
 */
#include "test/model/shapes.hpp"

using namespace model;

namespace {
constexpr Order relaxed = Order::relaxed, acquire = Order::acquire, release = Order::release;

constexpr Value nothing = 0, dead = 1, newborn = 2, claimed = 3;

struct Refilling {
    struct Orders {
        Order publish = release, ask = acquire;
        bool publishesFirst = false; // and then clears
        bool mapFirst = false;       // the asking thread reads the map, and then whether that is valid
    };
    Refilling(World& w, const Orders& orders) : o(orders), head(w.place("head", dead)), cleared(w.place("cleared")) {}

    /** Heap::resumeContext, and then a block is made. */
    Task<> fills(Thread& t) {
        if (o.publishesFirst) {
            co_await t.store(cleared, 1, o.publish);
        }
        co_await t.store(head, nothing, relaxed);
        if (!o.publishesFirst) {
            co_await t.store(cleared, 1, o.publish);
        }
        co_await t.store(head, newborn, relaxed);
    }

    Orders o;
    Place head, cleared;
};

/** Region::headAt, of any address at any time: mprIsValid, mprHold, mprAddRoot. */
struct Asking : Refilling {
    using Orders = Refilling::Orders;
    Asking(World& w, const Orders& orders) : Refilling(w, orders) {
        w.start("owner", [this](Thread& t) { return fills(t); });
        w.start("asker", [this](Thread& t) { return asks(t); });
    }
    Task<> asks(Thread& t) {
        Value h = nothing;
        if (o.mapFirst) {
            h = co_await t.load(head, relaxed);
        }
        const Value meant = co_await t.load(cleared, o.ask);
        if (!o.mapFirst) {
            h = co_await t.load(head, relaxed);
        }
        t.check(meant == 0 || h != dead, "a dead block is said to be one in use");
    }
    void finish(World&) {}
};

/** mprFree of a stale pointer: head, whether the map has a meaning, claim. */
struct FreeingStale : Refilling {
    using Orders = Refilling::Orders;
    FreeingStale(World& w, const Orders& orders) : Refilling(w, orders) {
        w.start("owner", [this](Thread& t) { return fills(t); });
        w.start("freer", [this](Thread& t) { return frees(t); });
    }
    Task<> frees(Thread& t) {
        const Value h = co_await t.load(head, relaxed);
        const Value meant = co_await t.load(cleared, o.ask);
        if (meant == 0 || h != dead) {
            co_return; // no block in use; or the program frees what another has just made, which nobody can tell
        }
        const Value seen = co_await t.swap(head, h, claimed, relaxed);
        t.check(seen != h, "a dead block is freed");
    }
    void finish(World&) {}
};

/**
    A thread is given the address of a block that the owner has just made, by whatever way: it is one, and can be freed.
 */
struct Publishing : Refilling {
    struct Orders : Refilling::Orders {
        Order give = release, take = acquire;
    };
    Publishing(World& w, const Orders& orders)
        : Refilling(w, orders), orders(orders), field(w.place("field")), content(w.data("content")) {
        w.start("owner", [this](Thread& t) { return gives(t); });
        w.start("freer", [this](Thread& t) { return frees(t); });
    }
    Task<> gives(Thread& t) {
        co_await fills(t);
        t.write(content, 1);
        co_await t.store(field, 1, orders.give);
    }
    Task<> frees(Thread& t) {
        co_await t.loadUntil(field, 1, orders.take);
        const Value h = co_await t.load(head, relaxed);
        const Value meant = co_await t.load(cleared, o.ask);
        t.check(meant == 1 && h == newborn, "a block in use is said to be none");
        const Value seen = co_await t.swap(head, newborn, claimed, relaxed);
        t.check(seen == newborn, "a block in use cannot be freed");
        t.write(content, 2); // the link of a quick list
    }
    void finish(World&) {}

    Orders orders;
    Place field;
    Data content;
};
} // namespace

TEST_CASE("model: an address in a stale span is no block while its map is cleared") {
    checkMirrors("mpr/heap/region.hpp", {"(!isLarge() || g == firstGranule) && !spans.isUncleared(g); const Byte h "
                                         "= mayBegin ? map().get(g) : Byte{0};"});
    checkMirrors("mpr/heap/span.hpp", {"g >= __atomic_load_n(cleared_ + (g >> shift_), __ATOMIC_ACQUIRE)",
                                       "__atomic_store_n(cleared_ + i, g, __ATOMIC_RELEASE)"});
    checkMirrors("mpr/heap/allocate.cpp", {"c.region->map().clear(from, std::min(to + swar::bytes, end));"});
    constexpr const char* wrong = "a dead block is said";
    checkShape<Asking>({
        {"what is cleared is published without releasing", wrong, [](Asking::Orders& o) { o.publish = relaxed; }},
        {"the question does not acquire", wrong, [](Asking::Orders& o) { o.ask = relaxed; }},
        {"the owner publishes before it clears", wrong, [](Asking::Orders& o) { o.publishesFirst = true; }},
        {"the map is looked at first", wrong, [](Asking::Orders& o) { o.mapFirst = true; }},
    });
}

TEST_CASE("model: a stale pointer into a stale span frees nothing") {
    checkMirrors("mpr/gc/api_memory.cpp", {"const Byte h = GranuleMap::load(map);",
                                           "freeable == Heap::Freeable::no || region->spans.isUncleared(g))",
                                           "if (!GranuleMap::claim(map, h))"});
    checkMirrors("mpr/heap/map.hpp",
                 {"compare_exchange_strong(seen, to, std::memory_order_relaxed)", "change(head, seen, mark::opaque);"});
    constexpr const char* wrong = "a dead block is freed";
    checkShape<FreeingStale>({
        {"what is cleared is published without releasing", wrong, [](FreeingStale::Orders& o) { o.publish = relaxed; }},
        {"the question does not acquire", wrong, [](FreeingStale::Orders& o) { o.ask = relaxed; }},
        {"the owner publishes before it clears", wrong, [](FreeingStale::Orders& o) { o.publishesFirst = true; }},
    });
}

TEST_CASE("model: a thread that is given a block finds its head, and that the head is valid") {
    checkShape<Publishing>({
        {"the block is given without releasing", "a block in use is said",
         [](Publishing::Orders& o) { o.give = relaxed; }},
        {"it is taken without acquiring", "a block in use is said", [](Publishing::Orders& o) { o.take = relaxed; }},
    });
}
