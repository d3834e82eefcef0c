// SPDX-License-Identifier: MIT
/*
    test/support/mutator.hpp - Application threads of a test, and ways to wait for one another.

    Catch assertions belong to the main thread: a mutator leaves what it saw in atomics, and the test case checks them.
 */
#pragma once

#include "mpr.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "test/support/sanitizer.hpp"

namespace test {

inline void pause(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

/* Sleep as a blocking call does: yielded. */
inline void sleepYielded(int ms) {
    mprYield(MPR_YIELD_STICKY);
    pause(ms);
    mprResetYield();
}

/*
    Wait for a condition, yielded meanwhile. @return Whether it came true. Milliseconds are counted as sleeps: time in which
    this process does not run does not count.
 */
template <class Condition>
bool until(Condition condition, int ms = 60000, void (*sleep)(int) = sleepYielded) {
    for (; !condition(); ms--) {
        if (ms == 0) {
            return false;
        }
        sleep(1);
    }
    return true;
}

/*
    The same without a yield or its end: for a thread that must not yield, or that is yielded stickily and must not wait
    for a collection.
 */
template <class Condition>
bool untilUnyielded(Condition condition, int ms = 60000) {
    return until(condition, ms, pause);
}

/*
    How long a test goes on: for a time, a quarter of it under an emulator; and on a machine that gets little done in it
    until that is enough, or a minute more.
 */
class Stretch {
public:
    explicit Stretch(int ms)
        : end(std::chrono::steady_clock::now() + std::chrono::milliseconds(emulator() ? ms / 4 : ms)) {}
    template <class Condition>
    bool lasts(Condition enough) const {
        const auto now = std::chrono::steady_clock::now();
        return now < end || (now < end + std::chrono::minutes(1) && !enough());
    }

private:
    const std::chrono::steady_clock::time_point end;
};

/* Where threads wait for one another. */
class Gate {
public:
    void open() { opened.store(true); }
    void close() { opened.store(false); }
    bool isOpen() const { return opened.load(); }

private:
    std::atomic<bool> opened{false};
};

/* A std::thread, attached while its body runs. Stopped and joined at its end, with the caller yielded. */
class Mutator {
public:
    template <class Body>
    Mutator(cchar *name, Body body)
        : thread([this, name, body = std::move(body)]() mutable {
              if (mprAttachThread(name) == 0) {
                  state.store(Running);
                  body(*this);
                  mprDetachThread();
              }
              state.store(Ended);
          }) {
        until([this] { return state.load() != Starting; });
    }
    ~Mutator() { end(); }
    Mutator(const Mutator &) = delete;
    Mutator &operator=(const Mutator &) = delete;

    /* For the body's loop. */
    bool go() const { return !stopped.load(std::memory_order_relaxed); }

    void stop() { stopped.store(true); }
    bool ended() const { return state.load() == Ended; }

    /* Wait for the body to finish by itself. */
    void join() {
        if (thread.joinable()) {
            mprYield(MPR_YIELD_STICKY);
            thread.join();
            mprResetYield();
        }
    }
    void end() {
        stop();
        join();
    }

private:
    enum State { Starting, Running, Ended };

    std::atomic<State> state{Starting};
    std::atomic<bool> stopped{false};
    std::thread thread;
};

/* Three mutators do the same thing, to its end. */
template <class Body>
void doInThreeThreads(Body body) {
    Mutator a("a", body), b("b", body), c("c", body);
    a.join();
    b.join();
    c.join();
}

} // namespace test
