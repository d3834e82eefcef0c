// SPDX-License-Identifier: MIT
/*
    gone.cpp - A region is given up while threads may look at it by stale addresses (mpr/heap/gone.hpp,
    region_table.hpp): its addresses go when all who may have found it have stopped, and what they read until then
    leads nowhere else.
 */
#include "test/model/shapes.hpp"

using namespace model;

namespace {
constexpr Order relaxed = Order::relaxed, acquire = Order::acquire, release = Order::release;

struct GivingUp {
    struct Orders {
        Gate::Orders gate;
        bool waits = true;          // for all to have stopped, before the addresses go
        bool removesLate = false;   // from the table, behind the pause
        bool clearedAtFront = true; // the words about spans lie in what stays mapped, whatever the index
    };
    GivingUp(World& w, const Orders& orders)
        : o(orders), gate(w, orders.gate, 1), slot(w.place("slot", 1)), large(w.place("origin", 1)),
          head(w.place("head", 1)), shift(w.place("shift", most)), addresses(w.data("addresses")) {
        w.start("reader", [this](Thread& t) { return reads(t); });
        w.start("collector", [this](Thread& t) { return givesUp(t); });
    }
    Task<> reads(Thread& t) {
        co_await looks(t);
        const std::uint64_t here = t.here();
        co_await gate.leave(t);
        co_await gate.enter(t);
        t.forget(here, 0);
        co_await looks(t);
        co_await gate.leave(t);
    }
    /**
        mprFree of a stale address in a large region. Processors read what does not depend on each other in any order.
     */
    Task<> looks(Thread& t) {
        const std::uint64_t here = t.here();
        const Value found = co_await t.load(slot, acquire);
        if (found == 0) {
            co_return;
        }
        t.read(addresses);
        const Value isLarge = co_await t.load(large, relaxed);
        if (isLarge == 0) { // as the system's zeros say
            const Value h = co_await t.load(head, relaxed);
            if (h != 0) {
                const Value by = co_await t.load(shift, relaxed);
                t.check(by == most || o.clearedAtFront, "what lies behind the page is read");
            }
        }
        t.read(addresses);
        t.forget(here, 0);
    }
    /** Heap::releaseIfEmpty, GoneRegions::add, and a pause with seal before releaseSealed. */
    Task<> givesUp(Thread& t) {
        if (!o.removesLate) {
            co_await t.store(slot, 0, release);
        }
        for (const Place p : {large, head, shift}) {
            co_await t.store(p, 0, relaxed); // the system takes the memory
        }
        if (o.waits) {
            co_await gate.close(t);
            co_await gate.awaitStopped(t);
            co_await gate.open(t);
        }
        if (o.removesLate) {
            co_await t.store(slot, 0, release);
        }
        t.write(addresses, 1);
    }
    void finish(World&) {}

    static constexpr Value most = 31; // no spans: every granule has index 0

    Orders o;
    Gate gate;
    Place slot, large, head, shift;
    Data addresses;
};

/** A region is made by one thread; another, given the address of a block in it, finds it in the table. */
struct Adding {
    struct Orders {
        Order add = release, look = acquire;
    };
    Adding(World& w, const Orders& orders) : o(orders), slot(w.place("slot")), header(w.data("header")) {
        w.start("maker", [this](Thread& t) { return makes(t); });
        w.start("reader", [this](Thread& t) { return looks(t); });
    }
    Task<> makes(Thread& t) {
        t.write(header, 1);
        co_await t.store(slot, 1, o.add);
    }
    Task<> looks(Thread& t) {
        for (unsigned i = 0; i < 3; ++i) {
            const Value found = co_await t.load(slot, o.look);
            t.check(found == 0 || t.read(header) == 1, "");
        }
    }
    void finish(World&) {}

    Orders o;
    Place slot;
    Data header;
};
} // namespace

TEST_CASE("model: a region's addresses go when nobody looks there") {
    checkMirrors("mpr/heap/purge.cpp", {"table_.remove(region); delist(region); if (LinkRange::suffices"});
    checkMirrors("mpr/heap/sweep.cpp", {"gone_.seal();", "gone_.releaseSealed();"});
    using Orders = GivingUp::Orders;
    checkShape<GivingUp>({
        {"nobody is waited for", "data race", [](Orders& o) { o.waits = false; }},
        {"the region is found until the pause has ended", "data race", [](Orders& o) { o.removesLate = true; }},
        {"leaving does not release", "data race", [](Orders& o) { o.gate.leave = acquire; }},
        {"entering does not acquire", "data race", [](Orders& o) { o.gate.enter = release; }},
        {"what is read by a stale index is not mapped", "what lies behind",
         [](Orders& o) { o.clearedAtFront = false; }},
    });
}

TEST_CASE("model: a thread that finds a region in the table finds its header") {
    checkMirrors("mpr/heap/region_table.hpp", {"slot->store(value, std::memory_order_release);",
                                               "return leaf[slotOf(at)].load(std::memory_order_acquire);"});
    checkShape<Adding>({
        {"adding does not release", "data race", [](Adding::Orders& o) { o.add = relaxed; }},
        {"looking does not acquire", "data race", [](Adding::Orders& o) { o.look = relaxed; }},
    });
}
