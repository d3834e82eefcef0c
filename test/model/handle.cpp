// SPDX-License-Identifier: MIT
/*
    handle.cpp - A long weak handle ends to die (mpr/gc/handle_store.hpp) when the managers have returned, while a thread
    reads it, and another destroys it and has its place for the next handle.
 */
#include "test/model/shapes.hpp"

using namespace model;

namespace {
constexpr Order relaxed = Order::relaxed, acquire = Order::acquire, release = Order::release, acqRel = Order::acqRel;

/* What `self` says, and which block there is. */
constexpr Value dying = 10, live = 11, gone = 20, liveAgain = 21;
constexpr Value deadBlock = 5, nextBlock = 7;

struct EndOfDying {
    struct Orders {
        bool locks = true;
        bool blockFirst = true;
        bool again = true;
        Order self = release, read = acquire, readBlock = acquire;
    };
    EndOfDying(World& w, const Orders& orders)
        : o(orders), self(w.place("self", dying)), block(w.place("block", deadBlock)), lock(w.place("lock")) {
        w.start("collector", [this](Thread& t) { return endsAnyhow(t); });
        w.start("owner", [this](Thread& t) { return destroysAndCreates(t); });
        w.start("reader", [this](Thread& t) { return reads(t); });
    }
    /** HandleStore::endDying */
    Task<> ends(Thread& t) {
        co_await t.swapUntil(lock, 0, 1, acquire);
        const Value seen = co_await t.load(self, acquire);
        if (seen == dying) {
            if (o.blockFirst) {
                co_await t.store(block, 0, release);
                co_await t.store(self, live, o.self);
            } else {
                co_await t.store(self, live, o.self);
                co_await t.store(block, 0, release);
            }
        }
        co_await t.store(lock, 0, release);
    }
    Task<> endsAnyhow(Thread& t) { return o.locks ? ends(t) : endsUnlocked(t); }
    /** What may come between its two exchanges is what the lock is for. */
    Task<> endsUnlocked(Thread& t) {
        const Value before = co_await t.load(self, acquire);
        if (before == dying) {
            const Value seen = co_await t.load(block, acquire);
            const Value found = co_await t.swap(block, seen, 0, acqRel, acquire);
            if (found == seen) {
                co_await t.swap(self, dying, live, acqRel, acquire);
            }
        }
    }
    /** HandleStore::destroy, then create. */
    Task<> destroysAndCreates(Thread& t) {
        for (;;) {
            const Value seen = co_await t.swap(self, live, gone, acqRel, acquire);
            if (seen == live) {
                break;
            }
            co_await endsAnyhow(t);
        }
        co_await t.store(block, 0, release);
        co_await t.store(block, nextBlock, release);
        co_await t.store(self, liveAgain, release);
    }
    /** mprGetHandle with the first handle. */
    Task<> reads(Thread& t) {
        const Value of = co_await t.load(self, o.read);
        if (of == live) {
            const Value seen = co_await t.load(block, o.readBlock);
            const Value still = o.again ? co_await t.load(self, relaxed) : of;
            if (still == live) {
                t.check(seen != deadBlock, "a dead block is read");
                t.check(seen != nextBlock, "the next handle's block is read");
            }
        }
    }
    void finish(World& w) { w.check(w.last(block) == nextBlock, "the next handle has lost its block"); }

    Orders o;
    Place self, block, lock;
};
} // namespace

TEST_CASE("model: a handle ends to die once, and takes nothing from the next in its place") {
    using Orders = EndOfDying::Orders;
    checkShape<EndOfDying>({
        {"without a lock", "the next handle has lost its block", [](Orders& o) { o.locks = false; }},
        {"self before the block", "a dead block is read", [](Orders& o) { o.blockFirst = false; }},
        {"self is stored relaxed", "a dead block is read", [](Orders& o) { o.self = relaxed; }},
        {"self is loaded relaxed", "a dead block is read", [](Orders& o) { o.read = relaxed; }},
        {"self is not looked at again", "the next handle's block is read", [](Orders& o) { o.again = false; }},
        {"the block is loaded relaxed", "the next handle's block is read", [](Orders& o) { o.readBlock = relaxed; }},
    });
    checkMirrors("mpr/gc/handle_store.cpp",
                 {"os::Locked locked(handleStore.lock_);"
                  "if (const std::uintptr_t dies = word::load(slot->self); self::isDying(dies)) {"
                  "word::store(slot->block, static_cast<void*>(nullptr));"
                  "word::store(slot->self, dies & ~self::dying);"});
    checkMirrors("mpr/gc/handle_store.hpp",
                 {"while (!word::change(slot->self, seen, gone)) {", "endDying(slot);",
                  "word::store(slot->block, const_cast<void*>(block)); // before the value: see forgetValue"
                  "word::store(slot->extra, traits.extra);"});
    checkMirrors("include/mpr/handle.h", {"__atomic_load_n(&slot->self, __ATOMIC_ACQUIRE) == MPR_HANDLE_SELF(handle)",
                                          "void *block = __atomic_load_n(&slot->block, __ATOMIC_ACQUIRE);",
                                          "__atomic_load_n(&slot->self, __ATOMIC_RELAXED) == MPR_HANDLE_SELF(handle)"});
}
