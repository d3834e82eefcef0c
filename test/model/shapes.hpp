// SPDX-License-Identifier: MIT
/*
    shapes.hpp - What the shapes have in common: the rendezvous, orders that a seeded mistake weakens, and the lines
    of the source that a shape mirrors.

    A shape takes its orders, and the order of its steps, from a struct whose initial values are the source's. It must
    be sound with these, and each seeded mistake, which changes one of them, must be found. A shape says which lines it
    mirrors; when one of them is no longer in the source, the shape has to follow.
 */
#pragma once

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>

#include "test/catch.hpp"
#include "test/model/weak.hpp"

namespace model {

template <typename Orders>
struct Mistake {
    const char* name;
    const char* found; // how the failure begins
    void (*make)(Orders&);
};

template <typename Shape, typename Orders = typename Shape::Orders>
void checkShape(std::initializer_list<Mistake<Orders>> mistakes) {
    const Report sound = explore<Shape>(Orders{});
    INFO(sound.states << " states\n" << sound.trace);
    CHECK(sound.failure == "");
    for (const Mistake<Orders>& mistake : mistakes) {
        Orders wrong;
        mistake.make(wrong);
        const std::string failure = explore<Shape>(wrong).failure;
        INFO(mistake.name << ": " << (failure.empty() ? "not found" : failure));
        CHECK((!failure.empty() && failure.compare(0, std::string(mistake.found).size(), mistake.found) == 0));
    }
}

/** The lines are in the file, whatever their layout. @param file From the root of the sources. */
inline void checkMirrors(const char* file, std::initializer_list<const char*> lines) {
    const auto packed = [](const std::string& text) {
        std::string result;
        std::copy_if(text.begin(), text.end(), std::back_inserter(result),
                     [](char c) { return c != ' ' && c != '\n'; });
        return result;
    };
    std::ifstream in(std::string(MPR_SOURCES "/") + file);
    const std::string source = packed({std::istreambuf_iterator<char>(in), {}});
    for (const char* line : lines) {
        INFO(file << ": a shape mirrors \"" << line << "\"");
        CHECK(source.find(packed(line)) != std::string::npos);
    }
}

/** mpr/gc/rendezvous.hpp, function for function. */
class Gate {
public:
    struct Orders {
        Order leave = Order::acqRel, enter = Order::acqRel, stopped = Order::acquire, open = Order::acqRel;
        Order ringing = Order::release, hearing = Order::acquire; // openings_
        bool ringsFirst = false;                                  // and opens the gate then
        bool entersInTwoSteps = false;                            // looks at the gate, then counts itself in
        Order giveUp = Order::acqRel;
        bool leavesOpenGate = false; // an open gate is given up without a write
    };

    Gate(World& w, const Orders& orders, Value running)
        : o_(orders), word_(w.place("word", running * step)), openings_(w.place("openings")) {}

    /** @return Whether nobody runs now. */
    Task<bool> leave(Thread& t) {
        const Value before = co_await t.add(word_, 0u - step, o_.leave);
        co_return (before & ~closedBit) == step;
    }
    Task<> enter(Thread& t) {
        const std::uint64_t here = t.here();
        for (;;) {
            t.forget(here, 0);
            const Value opened = co_await t.load(openings_, o_.hearing);
            Value word = co_await t.load(word_, Order::relaxed);
            while ((word & closedBit) == 0) {
                if (o_.entersInTwoSteps) {
                    co_await t.add(word_, step, o_.enter);
                    t.forget(here, 1);
                    co_return;
                }
                const Value seen = co_await t.swap(word_, word, word + step, o_.enter);
                if (seen == word) {
                    t.forget(here, 1);
                    co_return;
                }
                word = seen;
            }
            co_await t.sleep(openings_, opened);
        }
    }
    Task<> close(Thread& t) {
        co_await t.update(word_, Order::acqRel, Order::relaxed, [](Value seen, Value, Value) {
            return Change{true, seen | closedBit};
        });
    }
    Task<bool> stopped(Thread& t) { co_return co_await t.load(word_, o_.stopped) == closedBit; }
    Task<> awaitStopped(Thread& t) { co_await t.loadUntil(word_, closedBit, o_.stopped); }
    Task<Value> running(Thread& t) { co_return co_await t.load(word_, o_.stopped) / step; }
    Task<bool> empty(Thread& t) { co_return (co_await t.load(word_, Order::acquire) & ~closedBit) == 0; }
    Task<> open(Thread& t) {
        if (o_.ringsFirst) {
            co_await t.add(openings_, 1, o_.ringing);
        }
        co_await t.update(word_, o_.open, Order::relaxed, [](Value seen, Value, Value) {
            return Change{true, seen & ~closedBit};
        });
        if (!o_.ringsFirst) {
            co_await t.add(openings_, 1, o_.ringing);
        }
        co_await t.wakeAll(openings_);
    }
    Task<bool> giveUp(Thread& t) {
        Value word = co_await t.load(word_, Order::relaxed);
        while (!o_.leavesOpenGate || (word & closedBit) != 0) {
            if (word == closedBit) {
                co_return false;
            }
            const Value seen = co_await t.swap(word_, word, word & ~closedBit, o_.giveUp);
            if (seen == word) {
                break;
            }
            word = seen;
        }
        co_await t.add(openings_, 1, o_.ringing);
        co_await t.wakeAll(openings_);
        co_return true;
    }

private:
    static constexpr Value closedBit = 1;
    static constexpr Value step = 2;

    Orders o_;
    Place word_, openings_;
};

} // namespace model
