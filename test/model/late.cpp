// SPDX-License-Identifier: MIT
/*
    late.cpp - How threads give up waiting for a late one (mpr/gc/late.hpp), and how one stops the others without a
    collection (Others::stop), under weak memory. late.pml has the same with more steps and no reordering.
 */
#include "test/model/shapes.hpp"

using namespace model;

namespace {
constexpr Order relaxed = Order::relaxed, acquire = Order::acquire, release = Order::release, seqCst = Order::seqCst;

constexpr Value stop = 0, runsOn = 1; // Course

/** Safepoint::stepOut by a thread that is noted as late by Late::giveUpOnLate meanwhile. A third one runs. */
struct Noting {
    struct Orders {
        Gate::Orders gate;
        Order decide = seqCst;
        bool isOpen = false;     // the gate, before
        bool looksAgain = true;  // at those who have been noted
        bool looksFirst = false; // at whether it is late, and leaves then
    };
    Noting(World& w, const Orders& orders)
        : o(orders), gate(w, orders.gate, 2), state(w.place("state", 1)), late(w.place("late")),
          course(w.place("course", stop)) {
        w.start("leaving", [this](Thread& t) { return leaves(t); });
        w.start("waiting", [this](Thread& t) { return givesUp(t); });
    }
    Task<> leaves(Thread& t) {
        co_await t.store(state, 0, relaxed);
        if (!o.looksFirst) {
            co_await gate.leave(t);
        }
        const Value isLate = co_await t.load(late, relaxed);
        if (o.looksFirst) {
            co_await gate.leave(t);
        }
        if (isLate == 1) {
            co_await t.store(late, 0, relaxed);
            co_await t.swap(course, runsOn, stop, seqCst);
        }
    }
    Task<> givesUp(Thread& t) {
        if (!o.isOpen) {
            co_await gate.close(t);
        }
        const Value runs = co_await t.load(state, relaxed);
        co_await t.store(late, runs, relaxed);
        if (runs == 0) {
            co_return;
        }
        co_await t.store(course, runsOn, o.decide);
        co_await gate.giveUp(t);
        if (o.looksAgain) {
            const Value isLate = co_await t.load(late, relaxed);
            const Value runsStill = co_await t.load(state, relaxed);
            if (isLate == 0 || runsStill == 0) {
                co_await t.swap(course, runsOn, stop, seqCst);
            }
        }
    }
    void finish(World& w) const { w.check(w.last(course) == stop, "threads run on without a late one"); }

    Orders o;
    Gate gate;
    Place state, late, course;
};

/** A late thread yields, and another has used up memory, while threads begin to run on. */
struct Deciding {
    struct Orders {
        Order decide = seqCst, look = acquire;
        bool decidesFirst = false;
    };
    Deciding(World& w, const Orders& orders)
        : o(orders), late(w.place("late")), until(w.place("runsUntil")), course(w.place("course", stop)) {
        w.start("waiting", [this](Thread& t) { return givesUp(t); });
        w.start("late", [this](Thread& t) { return yields(t); });
        w.start("spending", [this](Thread& t) { return spends(t); });
    }
    Task<> givesUp(Thread& t) {
        if (o.decidesFirst) {
            co_await t.store(course, runsOn, o.decide);
        }
        co_await t.store(late, 1, relaxed);
        co_await t.store(until, 1, relaxed);
        if (!o.decidesFirst) {
            co_await t.store(course, runsOn, o.decide);
        }
    }
    Task<> yields(Thread& t) {
        const Value seen = co_await t.load(course, o.look);
        if (seen == runsOn) {
            const Value isLate = co_await t.load(late, relaxed);
            t.check(isLate == 1, "a late thread runs on");
        }
    }
    Task<> spends(Thread& t) {
        const Value seen = co_await t.load(course, o.look);
        if (seen == runsOn) {
            const Value bytes = co_await t.load(until, relaxed);
            t.check(bytes == 1, "a thread knows nothing of the memory that there is");
        }
    }
    void finish(World&) {}

    Orders o;
    Place late, until, course;
};

/** Safepoint::waitOut by a thread that has stopped, while another gives up. A third one runs. */
struct Waking {
    struct Orders {
        Gate::Orders gate;
        Order decide = seqCst, look = acquire, change = release, hear = acquire;
        bool changesFirst = false;
    };
    Waking(World& w, const Orders& orders)
        : o(orders), gate(w, orders.gate, 1), course(w.place("course", stop)), progress(w.place("progress")) {
        w.start("giving up", [this](Thread& t) { return givesUp(t); });
        w.start("waiting", [this](Thread& t) { return waits(t); });
    }
    Task<> change(Thread& t) {
        co_await t.add(progress, 1, o.change);
        co_await t.wakeAll(progress);
    }
    Task<> givesUp(Thread& t) {
        co_await gate.close(t);
        if (o.changesFirst) {
            co_await change(t);
        }
        co_await t.store(course, runsOn, o.decide);
        co_await gate.giveUp(t);
        if (!o.changesFirst) {
            co_await change(t);
        }
    }
    Task<> waits(Thread& t) {
        for (;;) {
            const Value heard = co_await t.load(progress, o.hear);
            const Value seen = co_await t.load(course, o.look);
            if (seen == runsOn) {
                break;
            }
            co_await t.sleep(progress, heard);
        }
        co_await gate.enter(t);
    }
    void finish(World&) {}

    Orders o;
    Gate gate;
    Place course, progress;
};

/** A thread that nobody counts sets limits, while those who run on are stopped for a pause. */
struct Repacing {
    struct Orders {
        Order look = acquire, end = seqCst;
        bool looksAgain = true;
        bool rearmsFirst = false; // and ends the course then
    };
    static constexpr Value budget = 1, late = 2; // what threads are called by
    Repacing(World& w, const Orders& orders)
        : o(orders), course(w.place("course", runsOn)), lock(w.place("lock")), trigger(w.place("trigger", late)) {
        w.start("setting", [this](Thread& t) { return repaces(t); });
        w.start("collecting", [this](Thread& t) { return forgets(t); });
    }
    Task<> setTrigger(Thread& t, Value to) {
        co_await t.swapUntil(lock, 0, 1, acquire);
        co_await t.store(trigger, to, relaxed);
        co_await t.store(lock, 0, release);
    }
    Task<> repaces(Thread& t) {
        const Value before = co_await t.load(course, o.look);
        if (before != runsOn) {
            co_return;
        }
        co_await setTrigger(t, late);
        const Value after = co_await t.load(course, o.look);
        if (o.looksAgain && after != runsOn) {
            co_await setTrigger(t, budget);
        }
    }
    Task<> forgets(Thread& t) {
        if (o.rearmsFirst) {
            co_await setTrigger(t, budget);
        }
        co_await t.swap(course, runsOn, stop, o.end);
        if (!o.rearmsFirst) {
            co_await setTrigger(t, budget);
        }
    }
    void finish(World& w) const { w.check(w.last(trigger) == budget, "nobody is called when the budget is spent"); }

    Orders o;
    Place course, lock, trigger;
};

/** Two threads that each stop the others, and one that stops. */
struct Parking {
    struct Orders {
        Gate::Orders gate;
        Order park = seqCst, look = seqCst;
        bool unlocksFirst = false; // and then is parked no more
    };
    Parking(World& w, const Orders& orders)
        : o(orders), gate(w, orders.gate, 3), parked(w.place("parked")),
          duty(w.place("duty")), own{w.data("first's"), w.data("second's"), w.data("third's")} {
        w.start("first", [this](Thread& t) { return stopsOthers(t, own[0]); });
        w.start("second", [this](Thread& t) { return stopsOthers(t, own[1]); });
        w.start("third", [this](Thread& t) { return stops(t, own[2]); });
    }
    Task<> stopsOthers(Thread& t, Data mine) {
        t.write(mine, 1);
        co_await t.add(parked, 1, o.park);
        co_await t.swapUntil(duty, 0, 1, acquire);
        co_await gate.close(t);
        const std::uint64_t here = t.here();
        for (;;) {
            t.forget(here, 0);
            const Value running = co_await gate.running(t);
            const Value waiting = co_await t.load(parked, o.look);
            if (running <= waiting) {
                break;
            }
        }
        t.forget(here, 1);
        for (const Data data : own) {
            t.read(data);
        }
        co_await gate.open(t);
        if (o.unlocksFirst) {
            co_await t.store(duty, 0, release);
        }
        co_await t.add(parked, 0u - 1, seqCst);
        if (!o.unlocksFirst) {
            co_await t.store(duty, 0, release);
        }
        t.write(mine, 2);
        co_await gate.leave(t);
    }
    Task<> stops(Thread& t, Data mine) {
        t.write(mine, 1);
        co_await gate.leave(t);
        co_await gate.enter(t);
        t.write(mine, 2);
        co_await gate.leave(t);
    }
    void finish(World&) {}

    Orders o;
    Gate gate;
    Place parked, duty;
    Data own[3];
};
} // namespace

TEST_CASE("model: a thread that goes as it is noted as late does not leave others running on") {
    checkMirrors("mpr/gc/safepoint.cpp", {"m.state.store(state, std::memory_order_relaxed); current = nullptr;"});
    checkMirrors("mpr/gc/safepoint.cpp", {"const bool last = cycle_.rendezvous().leave(); late_.left(m);"});
    checkMirrors("mpr/gc/late.hpp", {"if (m.late.load(std::memory_order_relaxed)) { "
                                     "cameLast(MutatorList::Locked(mutators_), m); }"});
    checkMirrors("mpr/gc/late.cpp",
                 {"m.late.store(false, std::memory_order_relaxed); const bool last = !isAnyLate(list); if (last) { "
                  "endRunningOn(Course::stop);",
                  "course_.store(Course::runsOn, std::memory_order_seq_cst); if (cycle_.rendezvous().giveUp()) {"});
    checkMirrors("mpr/gc/rendezvous.hpp",
                 {"while (!word_.compare_exchange_weak(word, word & ~closedBit, std::memory_order_acq_rel,"});
    constexpr const char* forever = "threads run on without a late one";
    using Orders = Noting::Orders;
    checkShape<Noting>({
        {"leaving does not release", forever, [](Orders& o) { o.gate.leave = acquire; }},
        {"leaving does not acquire", forever, [](Orders& o) { o.gate.leave = release; }},
        {"giving up does not release", forever, [](Orders& o) { o.gate.giveUp = acquire; }},
        {"giving up does not acquire", forever, [](Orders& o) { o.gate.giveUp = release; }},
        {"nobody looks again", forever, [](Orders& o) { o.looksAgain = false; }},
        {"who leaves looks first", forever, [](Orders& o) { o.looksFirst = true; }},
        {"an open gate is not written", forever, [](Orders& o) { o.isOpen = o.gate.leavesOpenGate = true; }},
    });
    Orders open;
    open.isOpen = true;
    CHECK(explore<Noting>(open).failure == "");
}

TEST_CASE("model: a thread that finds others running on finds what was noted for it") {
    checkMirrors("mpr/gc/late.hpp", {"return course_.load(std::memory_order_acquire) == Course::runsOn;"});
    checkMirrors("mpr/gc/late.cpp", {"runsUntil_.store(until, std::memory_order_relaxed);",
                                     "m.late.store(late, std::memory_order_relaxed);"});
    using Orders = Deciding::Orders;
    checkShape<Deciding>({
        {"the course does not release", "a ", [](Orders& o) { o.decide = relaxed; }},
        {"the look at it does not acquire", "a ", [](Orders& o) { o.look = relaxed; }},
        {"the course comes first", "a ", [](Orders& o) { o.decidesFirst = true; }},
    });
}

TEST_CASE("model: setting limits as threads stop leaves them the budget of those that do not run on") {
    checkMirrors("mpr/gc/late.cpp",
                 {"boundRunningOn(roomToRunOn()); if (isRunningOn() && ", "if (bound) { budget_.rearm(); }",
                  "const bool ranOn = course_.exchange(Course::stop, std::memory_order_seq_cst) != Course::stop; "
                  "if (runsUntil_.exchange(0, std::memory_order_relaxed) != 0) { budget_.rearm();"});
    constexpr const char* late = "nobody is called";
    using Orders = Repacing::Orders;
    checkShape<Repacing>({
        {"nobody looks again", late, [](Orders& o) { o.looksAgain = false; }},
        {"the course ends last", late, [](Orders& o) { o.rearmsFirst = true; }},
    });
}

TEST_CASE("model: a thread that waits for a late one wakes up when the others run on") {
    checkMirrors("mpr/gc/late.cpp", {"cycle_.announce();"});
    checkMirrors("mpr/gc/cycle.cpp", {"progress_.fetch_add(1, std::memory_order_release); os::wakeAll(progress_);"});
    constexpr const char* asleep = "nobody goes on: waiting";
    using Orders = Waking::Orders;
    checkShape<Waking>({
        {"the change does not release", asleep, [](Orders& o) { o.change = relaxed; }},
        {"the look at it does not acquire", asleep, [](Orders& o) { o.hear = relaxed; }},
        {"the change comes before the course", asleep, [](Orders& o) { o.changesFirst = true; }},
        {"the counter of openings does not release", asleep, [](Orders& o) { o.gate.ringing = relaxed; }},
    });
}

TEST_CASE("model: a thread that stops the others has them all stopped, or parked") {
    checkMirrors("mpr/gc/others.cpp", {"parked_.fetch_add(1, std::memory_order_seq_cst); if (!awaitDuty(end)) {",
                                       "const unsigned running = cycle_.rendezvous().running(); if (running <= "
                                       "parked_.load(std::memory_order_seq_cst)) {",
                                       "parked_.fetch_sub(1, std::memory_order_seq_cst); cycle_.announce();",
                                       "cycle_.giveUpDuty(); cycle_.ring();"});
    checkMirrors("mpr/gc/rendezvous.hpp", {"return word_.load(std::memory_order_acquire) / step;"});
    using Orders = Parking::Orders;
    checkShape<Parking>({
        {"to park does not release", "data race", [](Orders& o) { o.park = acquire; }},
        {"the look at who is parked does not acquire", "data race", [](Orders& o) { o.look = relaxed; }},
        {"the look at who runs does not acquire", "data race", [](Orders& o) { o.gate.stopped = relaxed; }},
        {"leaving does not release", "data race", [](Orders& o) { o.gate.leave = acquire; }},
        {"the duty is given up first", "data race", [](Orders& o) { o.unlocksFirst = true; }},
    });
}
