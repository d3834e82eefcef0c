// SPDX-License-Identifier: MIT
/*
    test/support/watchdog.hpp - Ends the process with a message when a test hangs: a deadlock is a failure, not a wait.
 */
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "test/support/log.hpp"
#include "test/support/sanitizer.hpp"

namespace test {

class Watchdog {
public:
    /* Five minutes at least: a machine that is busy with other things is no fault of the test's. */
    explicit Watchdog(int seconds) : limit((slow() ? 6 : 1) * std::max(seconds, 300)), guard([this] { watch(); }) {}
    ~Watchdog() {
        {
            std::lock_guard lock(mutex);
            done = true;
        }
        changed.notify_all();
        guard.join();
    }
    Watchdog(const Watchdog &) = delete;
    Watchdog &operator=(const Watchdog &) = delete;

private:
    void watch() {
        std::unique_lock lock(mutex);
        int second = 0; // counted, so that time in which the process was stopped does not count
        while (second < limit && !changed.wait_for(lock, std::chrono::seconds(1), [this] { return done; })) {
            second++;
        }
        if (second == limit) {
            fprintf(stderr, "test hangs: no end after %d s. Messages so far:\n%s", limit, Log::text().c_str());
            abort();
        }
    }

    const int limit;
    bool done = false;
    std::mutex mutex;
    std::condition_variable changed;
    std::thread guard;
};

} // namespace test
