// SPDX-License-Identifier: MIT
/*
    free.cpp - Blocks freed by hand, beside other threads that free, a marker, and a collector that clears or marks
    (mpr/heap/map.hpp, free.cpp, span.cpp, mpr/gc/marker.cpp); and the lock under which their memory changes hands
    (mpr/os/lock.hpp).
 */
#include "test/model/shapes.hpp"

using namespace model;

namespace {
constexpr Order relaxed = Order::relaxed, acquire = Order::acquire, release = Order::release, seqCst = Order::seqCst;

/**
    os::WordLock, as threads without real-time priority meet at it: which number takes it does not matter, and nobody waits
    in the kernel on the word itself.
 */
class Lock {
public:
    struct Orders {
        Order take = acquire, giveUp = seqCst;
        Order countsItself = seqCst, looksAgain = seqCst;
        bool wakes = true;
        bool looks = true; // at the word, once it has counted itself
    };
    Lock(World& w, const Orders& orders)
        : o_(orders), word_(w.place("lock")), asleep_(w.place("asleep")), turn_(w.place("turn")) {}

    Task<> lock(Thread& t) {
        const std::uint64_t here = t.here();
        Value before = co_await t.swap(word_, 0, 1, o_.take);
        while (before != 0) {
            t.forget(here, 1);
            // The spin is one look.
            before = co_await t.swap(word_, 0, 1, o_.take);
            if (before != 0) {
                const Value turn = co_await t.load(turn_, acquire);
                co_await t.add(asleep_, 1, o_.countsItself);
                Value seen = 1;
                if (o_.looks) {
                    seen = co_await t.load(word_, o_.looksAgain);
                }
                if (seen != 0) {
                    co_await t.sleep(turn_, turn);
                }
            }
        }
        t.forget(here, 0);
    }
    Task<> unlock(Thread& t) {
        co_await t.swap(word_, 1, 0, o_.giveUp);
        Value asleep = co_await t.load(asleep_, seqCst);
        while (asleep > 0 && o_.wakes) {
            const Value seen = co_await t.swap(asleep_, asleep, asleep - 1, relaxed);
            if (seen == asleep) {
                co_await t.add(turn_, 1, release);
                co_await t.wakeOne(turn_);
                co_return;
            }
            asleep = seen;
        }
    }

private:
    Orders o_;
    Place word_, asleep_, turn_;
};

/** Three threads add to plain data under the lock. */
struct Locking {
    using Orders = Lock::Orders;
    Locking(World& w, const Orders& orders) : lock(w, orders), sum(w.data("sum")) {
        for (const char* name : {"first", "second", "third"}) {
            w.start(name, [this](Thread& t) { return adds(t); });
        }
    }
    Task<> adds(Thread& t) {
        co_await lock.lock(t);
        t.write(sum, t.read(sum) + 1);
        co_await lock.unlock(t);
    }
    void finish(World&) {}

    Lock lock;
    Data sum;
};

// Heads: what matters of them here.
constexpr Value none = 0, claimed = 1, inUse = 2, reached = 4, leafOfFreed = 8, dead = 16, held = 32;

/** Two threads free the same block. */
struct FreeingTwice {
    struct Orders {
        bool claims = true; // by compare and swap
    };
    FreeingTwice(World& w, const Orders& orders) : o(orders), head(w.place("head", inUse)), memory(w.data("memory")) {
        w.start("first", [this](Thread& t) { return frees(t); });
        w.start("second", [this](Thread& t) { return frees(t); });
    }
    Task<> frees(Thread& t) {
        const Value h = co_await t.load(head, relaxed);
        if (h != inUse) {
            co_return;
        }
        if (o.claims) {
            const Value seen = co_await t.swap(head, inUse, claimed, relaxed);
            if (seen != inUse) {
                co_return;
            }
        } else {
            co_await t.store(head, claimed, relaxed);
        }
        t.write(memory, 1); // the link of its thread's quick list
    }
    void finish(World& w) const { w.check(w.last(head) == claimed, "nobody has freed the block"); }

    Orders o;
    Place head;
    Data memory;
};

/** An old barrier block is freed by hand while a marker may be about to reach and to trace it. */
struct FreeingTraced {
    struct Orders {
        bool keepsMemory = true;   // Heap::freeTraced
        bool marksByStore = false; // in place of compare and swap
    };
    FreeingTraced(World& w, const Orders& orders) : o(orders), head(w.place("head", inUse)), memory(w.data("manager")) {
        w.start("mutator", [this](Thread& t) { return frees(t); });
        w.start("marker", [this](Thread& t) { return marks(t); });
    }
    Task<> frees(Thread& t) {
        if (o.keepsMemory) {
            co_await t.update(head, relaxed, relaxed, [](Value seen, Value, Value) {
                return Change{true, (seen & ~inUse) | leafOfFreed};
            });
            co_return;
        }
        co_await t.exchange(head, claimed, relaxed);
        t.write(memory, 1);
    }
    Task<> marks(Thread& t) {
        Value h = co_await t.load(head, relaxed);
        while (h == inUse) {
            if (o.marksByStore) {
                co_await t.store(head, h | reached, relaxed);
                t.read(memory);
                break;
            }
            const Value seen = co_await t.swap(head, h, h | reached, relaxed);
            if (seen == h) {
                t.read(memory); // its manager
                break;
            }
            h = seen;
        }
    }
    void finish(World& w) const { w.check((w.last(head) & inUse) == 0, "a block that was freed is in use again"); }

    Orders o;
    Place head;
    Data memory;
};

/**
    A block that was found dead is held; its hold ends, or it is freed, while the collector clears the dead from its
    span. That looks twice: at a word of the map for what is dead, then at the head for what is held.
*/
struct Releasing {
    struct Orders {
        bool excludes = true; // Heap::clearing_, of all of them
        bool frees = false;   // Heap::freeHeld in place of changeHead
    };
    Releasing(World& w, const Orders& orders)
        : o(orders), clearing(w, {}), head(w.place("head", inUse | dead | held)), memory(w.data("memory")) {
        w.start("mutator", [this](Thread& t) { return releases(t); });
        w.start("collector", [this](Thread& t) { return clears(t); });
    }
    Task<> releases(Thread& t) {
        if (o.excludes) {
            co_await clearing.lock(t);
        }
        if (o.frees) {
            const Value seen = co_await t.swap(head, inUse | dead | held, claimed, relaxed);
            t.check(seen == (inUse | dead | held), "a held block is cleared");
            t.write(memory, 1); // the links of a hole
            co_await t.store(head, none, relaxed);
        } else {
            co_await t.update(head, relaxed, relaxed, [](Value, Value, Value) { return Change{true, inUse}; });
        }
        if (o.excludes) {
            co_await clearing.unlock(t);
        }
        if (!o.frees) {
            t.write(memory, 1); // it may be used until its thread yields
        }
    }
    Task<> clears(Thread& t) {
        if (o.excludes) {
            co_await clearing.lock(t);
        }
        const Value word = co_await t.load(head, relaxed);
        if ((word & dead) != 0) {
            const Value h = co_await t.load(head, relaxed);
            if ((h & held) == 0) {
                co_await t.store(head, none, relaxed);
                t.write(memory, 2); // by the next owner
            }
        }
        if (o.excludes) {
            co_await clearing.unlock(t);
        }
    }
    void finish(World& w) const { w.check(w.last(head) == (o.frees ? none : inUse), "a live block is cleared"); }

    Orders o;
    Lock clearing;
    Place head;
    Data memory;
};

/**
    Permanent memory, which a manager has named, is freed by a thread that no rendezvous stops as a pause reaches it; the
    memory becomes a hole, and that another block.
 */
struct FreeingReached {
    struct Orders {
        bool marksByStore = false;
    };
    FreeingReached(World& w, const Orders& orders) : o(orders), head(w.place("head", inUse | held)) {
        w.start("unattached", [this](Thread& t) { return frees(t); });
        w.start("marker", [this](Thread& t) { return marks(t); });
    }
    Task<> frees(Thread& t) {
        co_await t.update(head, relaxed, relaxed, [](Value, Value, Value) { return Change{true, claimed}; });
        co_await t.store(head, none, relaxed);
    }
    Task<> marks(Thread& t) {
        Value h = co_await t.load(head, relaxed);
        while ((h & inUse) != 0) {
            if (o.marksByStore) {
                co_await t.store(head, h | reached, relaxed);
                break;
            }
            const Value seen = co_await t.swap(head, h, h | reached, relaxed);
            if (seen == h) {
                break;
            }
            h = seen;
        }
    }
    void finish(World& w) const { w.check(w.last(head) == none, "a block that was freed is in use again"); }

    Orders o;
    Place head;
};

/** A thread that is not stopped, because it has yielded, holds a block as a pause reaches it. */
struct HoldingReached {
    struct Orders {
        bool marksByStore = false;
    };
    HoldingReached(World& w, const Orders& orders) : o(orders), head(w.place("head", inUse)) {
        w.start("yielded", [this](Thread& t) { return holds(t); });
        w.start("marker", [this](Thread& t) { return marks(t); });
    }
    Task<> holds(Thread& t) {
        co_await t.update(head, relaxed, relaxed, [](Value seen, Value, Value) { return Change{true, seen | held}; });
    }
    Task<> marks(Thread& t) {
        if (o.marksByStore) {
            const Value h = co_await t.load(head, relaxed);
            co_await t.store(head, h | reached, relaxed);
        } else {
            co_await t.update(head, relaxed, relaxed, [](Value seen, Value, Value) {
                return Change{true, seen | reached};
            });
        }
    }
    void finish(World& w) const {
        w.check((w.last(head) & held) != 0, "a hold is lost");
        w.check((w.last(head) & reached) != 0, "a mark is lost");
    }

    Orders o;
    Place head;
};
} // namespace

TEST_CASE("model: the lock orders its holders, and nobody sleeps for ever") {
    checkMirrors("mpr/os/lock.hpp",
                 {"word_.compare_exchange_strong(expected, self, std::memory_order_acquire, std::memory_order_relaxed)",
                  "word_.compare_exchange_strong(expected, 0, std::memory_order_seq_cst, std::memory_order_relaxed)",
                  "if (waiting_.load(std::memory_order_seq_cst) >= asleep)"});
    checkMirrors("mpr/os/lock.cpp", {"while (!takeSpinning() && !takeInheriting()) { sleep(); }",
                                     "const std::uint32_t turn = turn_.load(std::memory_order_acquire); "
                                     "waiting_.fetch_add(asleep, std::memory_order_seq_cst); "
                                     "if (word_.load(std::memory_order_seq_cst) != 0) { wait(turn_, turn); }",
                                     "turn_.fetch_add(1, std::memory_order_release); wakeOne(turn_); return;"});
    checkShape<Locking>({
        {"taking it does not acquire", "data race", [](Lock::Orders& o) { o.take = relaxed; }},
        {"giving it up orders nothing", "nobody goes on", [](Lock::Orders& o) { o.giveUp = relaxed; }},
        {"giving it up is not ordered before the look at who sleeps", "nobody goes on",
         [](Lock::Orders& o) { o.giveUp = release; }},
        {"giving it up wakes nobody", "nobody goes on", [](Lock::Orders& o) { o.wakes = false; }},
        {"who goes to sleep does not look again", "nobody goes on", [](Lock::Orders& o) { o.looks = false; }},
        {"who goes to sleep may look before it has counted itself", "nobody goes on",
         [](Lock::Orders& o) { o.countsItself = Order::relaxed, o.looksAgain = Order::relaxed; }},
    });
}

TEST_CASE("model: of two threads that free a block one does") {
    checkMirrors("mpr/heap/map.hpp", {"first.compare_exchange_weak(h, mark::opaque, std::memory_order_relaxed)"});
    checkShape<FreeingTwice>({
        {"the head is claimed by a store", "data race", [](FreeingTwice::Orders& o) { o.claims = false; }},
    });
}

TEST_CASE("model: a block that is freed while a marker may trace it keeps its memory, and stays freed") {
    checkMirrors("mpr/heap/free.cpp", {"return traced ? static_cast<Byte>((h & ~clear) | colour) : Byte{0};"});
    checkShape<FreeingTraced>({
        {"its memory is used again", "data race", [](FreeingTraced::Orders& o) { o.keepsMemory = false; }},
        {"the marker stores the head", "a block that was freed",
         [](FreeingTraced::Orders& o) { o.marksByStore = true; }},
    });
}

TEST_CASE("model: a hold that ends beside the clearing of a span leaves the block alive") {
    checkMirrors("mpr/heap/span.cpp",
                 {"{ os::Locked clearing(clearing_); freed = clearSpan(region, i, swept, left); }"});
    checkMirrors("mpr/heap/free.cpp", {"os::Locked clearing(clearing_); os::Locked locked(lock_);"});
    checkShape<Releasing>({
        {"the hold ends without the lock", "data race", [](Releasing::Orders& o) { o.excludes = false; }},
        {"the block is freed without the lock", "data race",
         [](Releasing::Orders& o) {
             o.excludes = false;
             o.frees = true;
         }},
    });
    Releasing::Orders freeing;
    freeing.frees = true;
    CHECK(explore<Releasing>(freeing).failure == "");
}

TEST_CASE("model: a hold that begins beside a pause is not lost") {
    checkShape<HoldingReached>({
        {"the marker stores the head", "a hold is lost", [](HoldingReached::Orders& o) { o.marksByStore = true; }},
    });
}

TEST_CASE("model: permanent memory that is freed beside a pause stays freed") {
    checkMirrors("mpr/gc/marker.cpp",
                 {"contested_ = marking == Marking::concurrent ? head::inUse : head::held;",
                  "if (!os::cooperative && (h & contested_) != 0) {",
                  "compare_exchange_weak(h, reached, std::memory_order_relaxed)) { reached = this->reached(h); "
                  "if (reached == 0) { return; }"});
    checkShape<FreeingReached>({
        {"the marker stores the head", "a block that was freed",
         [](FreeingReached::Orders& o) { o.marksByStore = true; }},
    });
}
