// SPDX-License-Identifier: MIT
/*
    weak.hpp - Every execution of a small concurrent program under the C11 memory orders.

    A *shape* mirrors one of the runtime's lock-free protocols: some places (atomic), some data (plain), and threads
    that are coroutines, each of a dozen operations. `explore` runs a shape once for every order in which the threads
    can take their steps and for every value that a load may return, and reports the first execution that breaks a
    rule: a failed check, two unordered accesses to plain data of which one writes (a data race), or threads that wait
    for ever.

    The memory
      - A place is a row of messages in modification order. A thread has a *view*: for each place the oldest message
        that it may still read. A load may return any message from there on, so it may be as stale as coherence
        permits.
      - A store may put its message anywhere behind the view, also before messages that other threads have stored: that
        is how stores to different places become visible in another order. A read-modify-write stands directly behind
        the message that it has read, and nothing comes between.
      - A release attaches the thread's view to the message; an acquire that reads the message joins it to its own.
        Fences do the same for the relaxed operations behind and before them. Read-modify-writes hand on what they
        have read.
      - A sequentially consistent access neither reads nor stores before the last sequentially consistent store to its
        place.
      - Loads whose value is not needed at once may be performed after later stores (`loadLater`): processors do that,
        while the rules above do not (promising semantics: J. Kang et al., "A Promising Semantics for Relaxed-Memory
        Concurrency", POPL 2017, of which this is the part without promises). No processor performs a load after a store
        that depends on it or that releases: in the shapes these are all others.
    What ARMv7, ARMv8, x86 and RISC-V do with the code that compilers make of these orders is among the executions.
    What only processors do whose stores reach others at different times (POWER), where one place is accessed by
    seq_cst and by weaker orders at once, is not.

    The search is stateless: each execution runs from the start with a list of choices. A state that was seen before is
    left at once. The state of a coroutine is the row of values that it was given; of the memory, what can still be
    read.
*/
#pragma once

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace model {

using Value = std::uint32_t;

enum class Order : std::uint8_t { relaxed, acquire, release, acqRel, seqCst };

constexpr bool acquires(Order o) {
    return o == Order::acquire || o >= Order::acqRel;
}
constexpr bool releases(Order o) {
    return o == Order::release || o >= Order::acqRel;
}

/** An atomic variable, and a plain one. */
struct Place {
    unsigned index = 0;
};
struct Data {
    unsigned index = 0;
};

// ---- Coroutines ----------------------------------------------------------------------------------------------------

struct PromiseBase {
    std::coroutine_handle<> caller = std::noop_coroutine();

    struct Return {
        bool await_ready() noexcept { return false; }
        template <typename Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
            return ended.promise().caller;
        }
        void await_resume() noexcept {}
    };
    std::suspend_always initial_suspend() noexcept { return {}; }
    Return final_suspend() noexcept { return {}; }
    void unhandled_exception() { std::abort(); }
};

/** What a thread does, or a part of it that another awaits. */
template <typename T = void>
class Task;

template <typename T>
struct Promise : PromiseBase {
    T value{};
    Task<T> get_return_object();
    void return_value(T result) { value = result; }
};
template <>
struct Promise<void> : PromiseBase {
    Task<void> get_return_object();
    void return_void() {}
};

template <typename T>
class Task {
public:
    using promise_type = Promise<T>;
    using Handle = std::coroutine_handle<promise_type>;

    Task() = default;
    explicit Task(Handle handle) : handle_(handle) {}
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() {
        if (handle_) {
            handle_.destroy();
        }
    }
    Handle handle() const { return handle_; }

    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
        handle_.promise().caller = caller;
        return handle_;
    }
    T await_resume() {
        if constexpr (!std::is_void_v<T>) {
            return handle_.promise().value;
        }
    }

private:
    Handle handle_;
};

template <typename T>
Task<T> Promise<T>::get_return_object() {
    return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
    return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

// ---- Threads -------------------------------------------------------------------------------------------------------

inline constexpr unsigned mostPlaces = 12;
inline constexpr unsigned mostThreads = 4;

/** By place, the oldest message that may still be read; by thread, how much of what it did came before. */
struct View {
    std::array<std::uint8_t, mostPlaces> at{};
    std::array<std::uint8_t, mostThreads> clock{};

    void join(const View& other) {
        for (unsigned i = 0; i < mostPlaces; ++i) {
            at[i] = std::max(at[i], other.at[i]);
        }
        for (unsigned i = 0; i < mostThreads; ++i) {
            clock[i] = std::max(clock[i], other.clock[i]);
        }
    }
};

/** What a read-modify-write stores, or that it stores nothing. */
struct Change {
    bool stores = false;
    Value value = 0;
};
using Rule = Change (*)(Value seen, Value a, Value b);

/** The next operation of a thread. */
struct Operation {
    enum Kind : std::uint8_t { load, store, update, fence, finishLoad, sleep, wake } kind = load;
    unsigned place = 0;
    Order order = Order::relaxed;
    Order failure = Order::relaxed; // of an update that stores nothing
    Rule rule = nullptr;            // of an update, or which values a load waits for
    Value a = 0, b = 0;
    bool waits = false; // not performed before the rule is met
};

/** A load that has begun; see Thread::loadLater. */
struct Later {
    unsigned index;
};

class World;

/** Its functions are the operations that a body may co_await. */
class Thread {
public:
    struct Awaited {
        Thread& thread;
        bool await_ready() { return false; }
        void await_suspend(std::coroutine_handle<> leaf) { thread.leaf_ = leaf; }
        Value await_resume() { return thread.result_; }
    };

    Awaited load(Place p, Order o) { return next({Operation::load, p.index, o, o, nullptr, 0, 0, false}); }
    Awaited store(Place p, Value v, Order o) { return next({Operation::store, p.index, o, o, nullptr, v, 0, false}); }
    /** @return The value before. */
    Awaited update(Place p, Order o, Order failure, Rule rule, Value a = 0, Value b = 0) {
        return next({Operation::update, p.index, o, failure, rule, a, b, false});
    }
    Awaited exchange(Place p, Value v, Order o) {
        return update(
            p, o, o,
            [](Value, Value a, Value) {
                return Change{true, a};
            },
            v);
    }
    Awaited add(Place p, Value v, Order o) {
        return update(
            p, o, o,
            [](Value seen, Value a, Value) {
                return Change{true, seen + a};
            },
            v);
    }
    /** Compare and swap, strong. @return The value before: `expected` if it was swapped. */
    Awaited swap(Place p, Value expected, Value v, Order o, Order failure = Order::relaxed) {
        return update(
            p, o, failure,
            [](Value seen, Value a, Value b) {
                return Change{seen == a, b};
            },
            expected, v);
    }
    /** Load again and again until the value is, or is not, v. */
    Awaited loadUntil(Place p, Value v, Order o) {
        return next({Operation::load, p.index, o, o,
                     [](Value seen, Value a, Value) {
                         return Change{seen == a, 0};
                     },
                     v, 0, true});
    }
    Awaited loadWhile(Place p, Value v, Order o) {
        return next({Operation::load, p.index, o, o,
                     [](Value seen, Value a, Value) {
                         return Change{seen != a, 0};
                     },
                     v, 0, true});
    }
    /** Swap again and again until it succeeds. */
    Awaited swapUntil(Place p, Value expected, Value v, Order o) {
        return next({Operation::update, p.index, o, o,
                     [](Value seen, Value a, Value b) {
                         return Change{seen == a, b};
                     },
                     expected, v, true});
    }
    Awaited fence(Order o) { return next({Operation::fence, 0, o, o, nullptr, 0, 0, false}); }

    /** Begin a relaxed load that may be performed at any time until `finish` asks for its value. */
    Later loadLater(Place p);
    Awaited finish(Later later) {
        return next({Operation::finishLoad, 0, Order::relaxed, Order::relaxed, nullptr, later.index, 0, false});
    }

    /** A futex: sleep if the place holds `expected`, which is looked at in one step with falling asleep. */
    Awaited sleep(Place p, Value expected) {
        return next({Operation::sleep, p.index, Order::relaxed, Order::relaxed, nullptr, expected, 0, false});
    }
    Awaited wakeOne(Place p) {
        return next({Operation::wake, p.index, Order::relaxed, Order::relaxed, nullptr, 1, 0, false});
    }
    Awaited wakeAll(Place p) {
        return next({Operation::wake, p.index, Order::relaxed, Order::relaxed, nullptr, 0, 0, false});
    }

    // Plain data needs no turn of its own: whether two accesses are ordered does not depend on which came first.
    Value read(Data d);
    void write(Data d, Value v);

    void check(bool right, const char* what);

    /** A result that counts at the end: threads that have ended with the same ones are alike. */
    void keep(Value v);
    /**
        What is known here: later `forget(here)` says that all values since then have served, and only `what` is left of
        them.
     */
    std::uint64_t here() const { return history_; }
    void forget(std::uint64_t here, Value what);

private:
    friend class World;
    struct Pending {
        unsigned place;
        unsigned oldest; // message that it may return
        bool done;
        Value value;
    };

    Thread(World& world, const char* name, unsigned index) : world_(world), name_(name), index_(index) {}
    Awaited next(const Operation& operation) {
        operation_ = operation;
        return {*this};
    }
    bool hasPending(unsigned place) const;
    bool hasPending() const;

    World& world_;
    const char* name_;
    unsigned index_;
    Task<> body_;
    std::coroutine_handle<> leaf_; // where it waits for operation_
    Operation operation_;
    Value result_ = 0;
    bool ended_ = false;
    bool asleep_ = false;
    std::uint64_t history_ = 0; // of all results
    std::uint64_t kept_ = 0;
    View now_, acquired_, released_;
    std::vector<Pending> pending_;
};

// ---- The memory ----------------------------------------------------------------------------------------------------

class World {
public:
    Place place(const char* name, Value initial = 0);
    Data data(const char* name, Value initial = 0);
    template <typename Body>
    void start(const char* name, Body body) {
        Thread& thread = threads_.emplace_back(Thread(*this, name, static_cast<unsigned>(threads_.size())));
        thread.now_.clock[thread.index_] = 1;
        thread.body_ = body(thread);
        thread.leaf_ = thread.body_.handle();
    }

    /** The value that is last in modification order: for when all threads have ended. */
    Value last(Place p) const { return places_[p.index].messages.back().value; }
    /** That an outcome can be had. For when all threads have ended. */
    void note(Value outcome) { outcome_ = outcome; }
    void check(bool right, const char* what) {
        if (!right && failure_.empty()) {
            failure_ = what;
        }
    }

private:
    friend class Thread;
    template <typename Shape, typename... Args>
    friend struct Search;

    struct Message {
        Value value = 0;
        bool attached = false; // to the one before, which an update has read
        View view;
    };
    struct PlaceState {
        const char* name;
        std::vector<Message> messages;
        unsigned strong = 0; // the last message that a sequentially consistent store has put here
    };
    struct DataState {
        const char* name;
        Value value = 0;
        unsigned writer = 0;
        std::uint8_t written = 0;                       // the writer's clock then
        std::array<std::uint8_t, mostThreads> readAt{}; // by thread
    };
    struct Step {
        const Thread* thread;
        Operation operation;
        Value value;
        unsigned message, of;
    };

    void begin();
    bool ended() const;
    std::string sleepers() const;
    unsigned choices();
    void take(unsigned choice);
    unsigned firstOf(unsigned place) const;
    std::uint64_t hash() const;
    std::string trace() const;

    unsigned choicesOf(const Thread& t) const;
    unsigned oldest(const Thread& t, const Operation& o) const;
    bool mayRead(const Operation& o, unsigned message) const;
    bool mayPut(const PlaceState& p, unsigned at) const { return at == p.messages.size() || !p.messages[at].attached; }
    unsigned nth(const Thread& t, const Operation& o, unsigned choice) const;
    void perform(Thread& t, unsigned choice);
    void see(Thread& t, unsigned place, unsigned message, Order o);
    void put(Thread& t, unsigned place, unsigned at, Value v, Order o, const View* handsOn);
    void shift(unsigned place, unsigned from);
    void wake(Thread& t, unsigned choice);
    void fence(Thread& t, Order o);
    void resume(Thread& t, Value result);

    std::vector<PlaceState> places_;
    std::vector<DataState> data_;
    std::deque<Thread> threads_;
    View strongView_; // of sequentially consistent fences
    std::string failure_;
    Value outcome_ = 0;
    std::vector<Step> steps_;
};

// ---- Asking --------------------------------------------------------------------------------------------------------

struct Report {
    std::string failure; // empty: none
    std::string trace;   // the execution that fails
    std::set<Value> outcomes;
    std::size_t states = 0;
};

/** All executions of the shape that Shape(world, args...) makes; it has a function finish(world). */
template <typename Shape, typename... Args>
struct Search {
    static Report run(const Args&... args) {
        Report report;
        std::unordered_set<std::uint64_t> seen;
        std::vector<std::pair<unsigned, unsigned>> path; // chosen, of how many
        do {
            World world;
            Shape shape(world, args...);
            world.begin();
            for (std::size_t depth = 0; world.failure_.empty(); ++depth) {
                const unsigned choices = world.choices();
                if (depth == path.size()) {
                    if (!seen.insert(world.hash()).second) {
                        break;
                    }
                    if (choices == 0) {
                        end(world, shape, report);
                        break;
                    }
                    path.emplace_back(0, choices);
                }
                world.take(path[depth].first);
            }
            if (!world.failure_.empty()) {
                report.failure = world.failure_;
                report.trace = world.trace();
                break;
            }
            while (!path.empty() && ++path.back().first == path.back().second) {
                path.pop_back();
            }
        } while (!path.empty());
        report.states = seen.size();
        return report;
    }

private:
    static void end(World& world, Shape& shape, Report& report) {
        if (!world.ended()) {
            world.failure_ = "nobody goes on:" + world.sleepers();
            return;
        }
        shape.finish(world);
        report.outcomes.insert(world.outcome_);
    }
};

template <typename Shape, typename... Args>
Report explore(const Args&... args) {
    return Search<Shape, Args...>::run(args...);
}

} // namespace model
