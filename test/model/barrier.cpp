// SPDX-License-Identifier: MIT
/*
    barrier.cpp - Stores into an old barrier block, beside a marker and up to the next pauses: what a field holds at a
    pause has been seen by then (mpr/barrier.h, mpr/gc/api_barrier.cpp, marker.cpp, remembered.cpp).

    The block has a field for each of two threads. Its head: bit 0 remembered, bit 1 marked.
 */
#include "test/model/shapes.hpp"

using namespace model;

namespace {
constexpr Order relaxed = Order::relaxed, acquire = Order::acquire, release = Order::release;

constexpr Value remembered = 1, marked = 2;

struct Storing {
    struct Orders {
        Gate::Orders gate;
        Order store = release, load = acquire;
        bool asksAfter = false;         // whether the store need be remembered, after it
        bool logsByStore = false;       // in place of a compare and swap of the head
        bool marksByStore = false;      // the same
        bool marksAway = false;         // marking clears the bit, as in a pause
        bool logsLate = false;          // the entry follows when the thread has left
        bool keepsBit = false;          // the pause does not clear it
        bool clearsWithoutLook = false; // the pause clears it without tracing the block
    };
    Storing(World& w, const Orders& orders)
        : o(orders), gate(w, orders.gate, 2), head(w.place("head")), field{w.place("field 1"), w.place("field 2")},
          content{w.data("content 1"), w.data("content 2")}, log{w.data("log 1"), w.data("log 2")} {
        w.start("first", [this](Thread& t) { return mutates(t, 0, 2); });
        w.start("second", [this](Thread& t) { return mutates(t, 1, 1); });
        w.start("collector", [this](Thread& t) { return collects(t); });
    }

    Task<> mutates(Thread& t, unsigned i, Value rounds) {
        for (Value round = 1; round <= rounds; ++round) {
            if (round > 1) {
                co_await gate.enter(t);
            }
            const std::uint64_t here = t.here();
            const bool logs = co_await sets(t, i, round);
            if (logs && !o.logsLate) {
                t.write(log[i], 1);
            }
            co_await gate.leave(t);
            if (logs && o.logsLate) {
                t.write(log[i], 1);
            }
            t.forget(here, 0);
        }
    }

    /** mprSetRef of a block that was just made. @return Whether there is an entry to be written. */
    Task<bool> sets(Thread& t, unsigned i, Value value) {
        if (value == 1) {
            t.write(content[i], 1);
        }
        Value h = 0;
        if (!o.asksAfter) {
            h = co_await t.load(head, relaxed);
        }
        co_await t.store(field[i], value, o.store);
        if (o.asksAfter) {
            h = co_await t.load(head, relaxed);
        }
        if (h & remembered) {
            co_return false;
        }
        if (o.logsByStore) {
            co_await t.store(head, h | remembered, relaxed);
            co_return true;
        }
        const Value before = co_await t.update(head, relaxed, relaxed, [](Value seen, Value, Value) {
            return Change{(seen & remembered) == 0, seen | remembered};
        });
        co_return (before & remembered) == 0;
    }

    Task<> collects(Thread& t) {
        co_await marksBeside(t);
        for (unsigned pause = 0; pause < 2; ++pause) {
            const std::uint64_t here = t.here();
            co_await gate.close(t);
            co_await gate.awaitStopped(t);
            co_await retraces(t);
            co_await gate.open(t);
            t.forget(here, 4 * seen[0] + seen[1]);
        }
    }

    /** Marker::reach and mprMarkRef with Marking::concurrent. */
    Task<> marksBeside(Thread& t) {
        if (o.marksByStore) {
            const Value h = co_await t.load(head, relaxed);
            co_await t.store(head, h | marked, relaxed);
        } else {
            co_await t.update(
                head, relaxed, relaxed,
                [](Value seen, Value clears, Value) {
                    return Change{true, (seen | marked) & ~clears};
                },
                o.marksAway ? remembered : 0);
        }
        for (unsigned i = 0; i < 2; ++i) {
            const Value value = co_await t.load(field[i], o.load);
            if (value != 0) {
                t.check(t.read(content[i]) == 1, "");
            }
            seen[i] = value;
        }
    }

    /** RememberedSet and Remembered::markBlock: what is in the set and says so in its head. */
    Task<> retraces(Thread& t) {
        const Value entries = t.read(log[0]) + t.read(log[1]);
        const Value h = co_await t.load(head, relaxed);
        t.check((h & marked) != 0, "a mark is lost");
        const bool traces = entries != 0 && (h & remembered) != 0;
        if (traces && !o.keepsBit) {
            co_await t.store(head, h & ~remembered, relaxed);
        }
        for (unsigned i = 0; i < 2; ++i) {
            t.write(log[i], 0);
            const Value value = co_await t.load(field[i], relaxed);
            if (traces && !o.clearsWithoutLook) {
                seen[i] = value;
            }
            t.check(seen[i] == value, "a store is lost");
        }
    }
    void finish(World&) {}

    Orders o;
    Gate gate;
    Place head, field[2];
    Data content[2], log[2];
    Value seen[2] = {}; // by the collector
};
} // namespace

TEST_CASE("model: what is stored into an old barrier block is seen by a marker or at the next pause") {
    checkMirrors("include/mpr/barrier.h", {"return __atomic_load_n((const unsigned char *) known, __ATOMIC_RELAXED);",
                                           "const unsigned char known = mprBarrierByte(owner);",
                                           "__atomic_store_n((void **) field, (void *) value, __ATOMIC_RELEASE);"});
    checkMirrors("mpr/gc/collector.cpp",
                 {"region->map().update(g, [](Byte h) { return static_cast<Byte>(h | head::remembered); });",
                  "if (before != 0 && (before & head::remembered) == 0)"});
    checkMirrors("mpr/gc/marker.cpp", {"compare_exchange_weak(h, reached, std::memory_order_relaxed)",
                                       "mprMark(__atomic_load_n(static_cast<void* const*>(field), __ATOMIC_ACQUIRE));",
                                       "colours_.survivor(h) | (waits ? h & head::remembered : 0)"});
    using Orders = Storing::Orders;
    checkShape<Storing>({
        {"the store does not release", "data race", [](Orders& o) { o.store = relaxed; }},
        {"the marker's load does not acquire", "data race", [](Orders& o) { o.load = relaxed; }},
        {"leaving does not release", "a store is lost", [](Orders& o) { o.gate.leave = acquire; }},
        {"entering does not acquire", "data race", [](Orders& o) { o.gate.enter = release; }},
        {"the head is remembered by a store", "a mark is lost", [](Orders& o) { o.logsByStore = true; }},
        {"the head is marked by a store", "a store is lost", [](Orders& o) { o.marksByStore = true; }},
        {"marking clears the bit", "a store is lost", [](Orders& o) { o.marksAway = true; }},
        {"the entry is written behind leaving", "data race", [](Orders& o) { o.logsLate = true; }},
        {"the pause does not clear the bit", "a store is lost", [](Orders& o) { o.keepsBit = true; }},
        {"the pause clears the bit and does not look", "a store is lost",
         [](Orders& o) { o.clearsWithoutLook = true; }},
    });
    // Asked after the store it is sound, too: nobody but a pause clears the bit.
    Orders after;
    after.asksAfter = true;
    CHECK(explore<Storing>(after).failure == "");
}
