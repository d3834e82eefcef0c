// SPDX-License-Identifier: MIT
/*
    rendezvous.cpp - How threads stop and go on (mpr/gc/rendezvous.hpp), who collects (mpr/gc/duty.hpp) and how
    collections are asked for (mpr/gc/cycle.cpp), under weak memory. rendezvous.pml has the same protocols with more steps and no
    reordering.
 */
#include "test/model/shapes.hpp"

using namespace model;

namespace {
constexpr Order relaxed = Order::relaxed, acquire = Order::acquire, release = Order::release, acqRel = Order::acqRel,
                seqCst = Order::seqCst;

/**
    Two threads write plain data, leave, enter and read it again; the collector writes to the data of both, and to
    what all threads read, while they are stopped.
*/
struct Stopping {
    using Orders = Gate::Orders;
    Stopping(World& w, const Orders& orders)
        : gate(w, orders, 2), own{w.data("first's"), w.data("second's")}, colours(w.data("colours")) {
        w.start("first", [this](Thread& t) { return mutates(t, own[0]); });
        w.start("second", [this](Thread& t) { return mutates(t, own[1]); });
        w.start("collector", [this](Thread& t) { return collects(t); });
    }
    Task<> mutates(Thread& t, Data mine) {
        t.read(colours);
        t.write(mine, 1);
        co_await gate.leave(t);
        co_await gate.enter(t);
        const bool after = t.read(colours) == 1;
        t.check(t.read(mine) == (after ? 2u : 1u), "what the collector has written is not all there");
        t.write(mine, 1);
        co_await gate.leave(t);
    }
    Task<> collects(Thread& t) {
        co_await gate.close(t);
        co_await gate.awaitStopped(t);
        for (const Data data : own) {
            t.check(t.read(data) == 1, "what a thread has written is not there");
            t.write(data, 2);
        }
        t.write(colours, 1);
        co_await gate.open(t);
    }
    void finish(World&) {}

    Gate gate;
    Data own[2], colours;
};

/** Cycle::request, and Cycle::clearWanted by a thread that has seen no collection requested. */
struct Wanting {
    struct Orders {
        Order request = seqCst, want = seqCst, clear = seqCst, look = seqCst;
        bool wantsFirst = false; // and then sets the phase
        bool looks = true;
    };
    Wanting(World& w, const Orders& orders) : o(orders), phase(w.place("phase")), wanted(w.place("wanted")) {
        w.start("requester", [this](Thread& t) { return requests(t); });
        w.start("clearer", [this](Thread& t) { return clears(t); });
        w.start("second", [this](Thread& t) { return requests(t); });
    }
    Task<> requests(Thread& t) {
        if (o.wantsFirst) {
            co_await t.store(wanted, 1, o.want);
        }
        co_await t.swap(phase, 0, 1, o.request, o.request);
        if (!o.wantsFirst) {
            co_await t.store(wanted, 1, o.want);
        }
    }
    Task<> clears(Thread& t) {
        co_await t.store(wanted, 0, o.clear);
        const Value seen = co_await t.load(phase, o.look);
        if (o.looks && seen == 1) {
            co_await t.store(wanted, 1, seqCst);
        }
    }
    void finish(World& w) const {
        w.check(w.last(wanted) == 1, "a collection is requested, and its flag stays cleared");
    }

    Orders o;
    Place phase, wanted;
};

/** A request while a collection runs, and Cycle::beginNext at its end. Phases: 0 idle, 1 requested, 2 another. */
struct Remembering {
    struct Orders {
        Order remember = seqCst, look = seqCst, end = seqCst, take = seqCst;
        bool looks = true;
        bool takesFirst = false; // what is remembered, and then ends the collection
    };
    Remembering(World& w, const Orders& orders) : o(orders), phase(w.place("phase", 2)), pending(w.place("pending")) {
        w.start("requester", [this](Thread& t) { return requests(t); });
        w.start("collector", [this](Thread& t) { return ends(t); });
    }
    Task<> requests(Thread& t) {
        for (;;) {
            const Value seen = co_await t.swap(phase, 0, 1, seqCst, seqCst);
            if (seen <= 1) {
                co_return;
            }
            co_await t.store(pending, 1, o.remember);
            if (!o.looks) {
                co_return;
            }
            const Value now = co_await t.load(phase, o.look);
            if (now != 0) {
                co_return;
            }
        }
    }
    Task<> ends(Thread& t) {
        bool again = false;
        if (o.takesFirst) {
            again = co_await t.exchange(pending, 0, o.take) == 1;
        }
        co_await t.store(phase, 0, o.end);
        if (!o.takesFirst) {
            again = co_await t.exchange(pending, 0, o.take) == 1;
        }
        if (again) {
            co_await t.swap(phase, 0, 1, seqCst, seqCst);
        }
    }
    void finish(World& w) const { w.check(w.last(phase) == 1, "a request is lost"); }

    Orders o;
    Place phase, pending;
};

/** Duty::rest, which says that it no longer watches, and a request by a thread that rings only if it does not. */
struct Watching {
    struct Orders {
        Order stop = seqCst, lookAtPhase = seqCst, request = seqCst, lookAtWatch = seqCst;
    };
    Watching(World& w, const Orders& orders)
        : o(orders), phase(w.place("phase")), watching(w.place("watching", 1)), bell(w.place("bell")) {
        w.start("requester", [this](Thread& t) { return requests(t); });
        w.start("collector", [this](Thread& t) { return rests(t); });
    }
    Task<> requests(Thread& t) {
        co_await t.swap(phase, 0, 1, o.request, o.request);
        const Value watches = co_await t.load(watching, o.lookAtWatch);
        if (watches == 0) {
            co_await t.add(bell, 1, release);
            co_await t.wakeOne(bell);
        } // else the collector's thread will look again
    }
    Task<> rests(Thread& t) {
        const Value heard = co_await t.load(bell, acquire);
        co_await t.store(watching, 0, o.stop);
        const Value seen = co_await t.load(phase, o.lookAtPhase);
        if (seen == 1) {
            co_return;
        }
        co_await t.sleep(bell, heard);
    }
    void finish(World&) {}

    Orders o;
    Place phase, watching, bell;
};

/** Duty::serve by two threads that stop, beside Duty::awaitThreads, which has the duty first. */
struct Duty {
    struct Orders {
        Order take = acquire, giveUp = release;
        bool rings = true;      // the last thread rings if it cannot have the duty
        bool hearsLate = false; // the collector's thread looks at the bell after it has looked who runs
    };
    Duty(World& w, const Orders& orders)
        : o(orders), gate(w, {}, 2), duty(w.place("duty", 1)), phase(w.place("phase", 1)), bell(w.place("bell")),
          scope(w.data("scope")) {
        w.start("first", [this](Thread& t) { return serves(t); });
        w.start("second", [this](Thread& t) { return serves(t); });
        w.start("collector", [this](Thread& t) { return awaits(t); });
    }
    Task<> ring(Thread& t) {
        co_await t.add(bell, 1, release);
        co_await t.wakeOne(bell);
    }
    /** @return Whether the collection has been done. The caller has the duty. */
    Task<bool> meet(Thread& t) {
        const Value seen = co_await t.load(phase, acquire);
        if (seen == 0) {
            co_return false;
        }
        t.write(scope, t.read(scope) + 1);
        co_await gate.close(t);
        const bool stopped = co_await gate.stopped(t);
        if (stopped) {
            co_await t.store(phase, 0, seqCst);
        }
        co_return stopped;
    }
    Task<> serves(Thread& t) {
        co_await gate.leave(t);
        for (;;) {
            const Value seen = co_await t.load(phase, acquire);
            if (seen == 0) {
                co_return;
            }
            const Value before = co_await t.swap(duty, 0, 1, o.take);
            if (before != 0) {
                const bool empty = co_await gate.empty(t);
                if (empty && o.rings) {
                    co_await ring(t);
                }
                co_return;
            }
            const bool done = co_await meet(t);
            co_await t.exchange(duty, 0, o.giveUp);
            if (done) {
                co_await ring(t); // so that the shape ends
                co_return;
            }
            const bool empty = co_await gate.empty(t);
            if (!empty) {
                co_return;
            }
        }
    }
    Task<> awaits(Thread& t) {
        for (;;) {
            Value heard = co_await t.load(bell, acquire);
            const Value seen = co_await t.load(phase, acquire);
            if (seen == 0) {
                co_return;
            }
            const bool done = co_await meet(t);
            if (done) {
                co_return;
            }
            if (o.hearsLate) {
                heard = co_await t.load(bell, acquire);
            }
            co_await t.exchange(duty, 0, o.giveUp);
            co_await t.sleep(bell, heard);
            co_await t.swapUntil(duty, 0, 1, o.take);
        }
    }
    void finish(World& w) const { w.check(w.last(phase) == 0, "a collection is requested, and nobody does it"); }

    Orders o;
    Gate gate;
    Place duty, phase, bell;
    Data scope; // belongs to the holder of the duty
};
} // namespace

TEST_CASE("model: whoever runs is ordered with the collector's work before and after") {
    checkMirrors(
        "mpr/gc/rendezvous.hpp",
        {"word_.fetch_sub(step, std::memory_order_acq_rel)",
         "opened = openings_.load(std::memory_order_acquire); std::uint32_t word = "
         "word_.load(std::memory_order_relaxed);",
         "word_.compare_exchange_weak(word, word + step, std::memory_order_acq_rel,",
         "word_.fetch_or(closedBit, std::memory_order_acq_rel)",
         "return word_.load(std::memory_order_acquire) == closedBit",
         "word_.fetch_and(~closedBit, std::memory_order_acq_rel); openings_.fetch_add(1, std::memory_order_release); "
         "os::wakeAll(openings_);"});
    checkShape<Stopping>({
        {"leaving does not release", "data race", [](Gate::Orders& o) { o.leave = acquire; }},
        {"the look at who runs does not acquire", "data race", [](Gate::Orders& o) { o.stopped = relaxed; }},
        {"opening does not release", "data race", [](Gate::Orders& o) { o.open = acquire; }},
        {"entering does not acquire", "data race", [](Gate::Orders& o) { o.enter = release; }},
        {"the counter of openings does not release", "nobody goes on", [](Gate::Orders& o) { o.ringing = relaxed; }},
        {"the look at that counter does not acquire", "nobody goes on", [](Gate::Orders& o) { o.hearing = relaxed; }},
        {"the counter changes before the gate opens", "nobody goes on", [](Gate::Orders& o) { o.ringsFirst = true; }},
        {"entering is two steps", "data race", [](Gate::Orders& o) { o.entersInTwoSteps = true; }},
    });
}

TEST_CASE("model: the flag of a collection that is requested does not stay cleared") {
    checkMirrors("mpr/gc/rendezvous.hpp", {"__atomic_store_n(&mprYieldWanted, on || always_, __ATOMIC_SEQ_CST)"});
    checkMirrors("mpr/gc/cycle.cpp", {"rendezvous_.setWanted(false); if (phase_.load(std::memory_order_seq_cst) == "
                                      "static_cast<std::uint32_t>(Phase::requested)) { rendezvous_.setWanted(true);"});
    constexpr const char* stays = "a collection is requested, and its flag stays cleared";
    checkShape<Wanting>({
        {"the request is not sequentially consistent", stays, [](Wanting::Orders& o) { o.request = acqRel; }},
        {"setting the flag is not", stays, [](Wanting::Orders& o) { o.want = release; }},
        {"clearing it is not", stays, [](Wanting::Orders& o) { o.clear = release; }},
        {"the look at the phase is not", stays, [](Wanting::Orders& o) { o.look = acquire; }},
        {"the flag is set before the phase", stays, [](Wanting::Orders& o) { o.wantsFirst = true; }},
        {"nobody looks at the phase", stays, [](Wanting::Orders& o) { o.looks = false; }},
    });
}

TEST_CASE("model: a request that comes as a collection ends is not lost") {
    checkMirrors(
        "mpr/gc/cycle.cpp",
        {"pending_.store(true, std::memory_order_seq_cst); rendezvous_.setWanted(true); "
         "if (phase_.load(std::memory_order_seq_cst) != static_cast<std::uint32_t>(Phase::idle)) { return; }"});
    checkMirrors("mpr/gc/cycle.cpp", {"phase_.store(static_cast<std::uint32_t>(phase), std::memory_order_seq_cst);",
                                      "if (pending_.exchange(false, std::memory_order_seq_cst)"});
    checkShape<Remembering>({
        {"remembering is not sequentially consistent", "a request is lost",
         [](Remembering::Orders& o) { o.remember = release; }},
        {"the look at the phase is not", "a request is lost", [](Remembering::Orders& o) { o.look = acquire; }},
        {"the end is not", "a request is lost", [](Remembering::Orders& o) { o.end = release; }},
        {"taking is not", "a request is lost", [](Remembering::Orders& o) { o.take = acqRel; }},
        {"nobody looks at the phase", "a request is lost", [](Remembering::Orders& o) { o.looks = false; }},
        {"what is remembered is taken before the end", "a request is lost",
         [](Remembering::Orders& o) { o.takesFirst = true; }},
    });
}

TEST_CASE("model: a request rings if the collector's thread does not watch") {
    checkMirrors("mpr/gc/cycle.cpp", {"if (!isRunning() || !watching_.load(std::memory_order_seq_cst)) { ring();",
                                      "watching_.store(watches, std::memory_order_seq_cst); "
                                      "return phase_.load(std::memory_order_seq_cst) != "
                                      "static_cast<std::uint32_t>(Phase::requested);"});
    checkMirrors("mpr/gc/duty.cpp", {"if (!cycle_.mayRest(watches)) { return;"});
    checkShape<Watching>({
        {"the request is not sequentially consistent", "nobody goes on: collector",
         [](Watching::Orders& o) { o.request = acqRel; }},
        {"its look is not", "nobody goes on: collector", [](Watching::Orders& o) { o.lookAtWatch = acquire; }},
        {"the end of watching is not", "nobody goes on: collector", [](Watching::Orders& o) { o.stop = release; }},
        {"the look behind it is not", "nobody goes on: collector",
         [](Watching::Orders& o) { o.lookAtPhase = acquire; }},
    });
}

TEST_CASE("model: whoever stops last collects, or rings for it") {
    checkMirrors("mpr/gc/duty.cpp",
                 {"if (!cycle_.tryDuty()) { if (collects && cycle_.rendezvous().empty()) { cycle_.ring(); }",
                  "const std::uint32_t heard = cycle_.heard();"});
    checkMirrors("mpr/gc/cycle.cpp", {"bell_.fetch_add(1, std::memory_order_release); os::wakeOne(bell_);"});
    checkMirrors("mpr/gc/cycle.hpp", {"return bell_.load(std::memory_order_acquire);", "return duty_.tryLock();"});
    checkShape<Duty>({
        {"the duty is taken without acquiring", "data race", [](Duty::Orders& o) { o.take = relaxed; }},
        {"it is given up without releasing", "data race", [](Duty::Orders& o) { o.giveUp = relaxed; }},
        {"who is last does not ring", "nobody goes on: collector", [](Duty::Orders& o) { o.rings = false; }},
        {"the bell is looked at too late", "nobody goes on: collector", [](Duty::Orders& o) { o.hearsLate = true; }},
    });
}
