// SPDX-License-Identifier: MIT
/*
    test/support/runtime.hpp - A runtime for one test case: made with options, its messages captured, its heap verified
    and everything given back at the end. A case that hangs is ended by the watchdog.
 */
#pragma once

#include "test/catch.hpp"

#include "mpr.h"
#include "mpr/os/target.hpp"
#include "test/support/log.hpp"
#include "test/support/watchdog.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace test {

/*
    A test's options, behind those that MPR_TEST_OPTIONS gives to all. A thread that gets no processor for a while is not
    late, nor stuck in a manager's call: only tests of lateness set a deadline that a busy machine can pass.
 */
inline std::string withCommon(cchar *options) {
    const std::string common = getenv("MPR_TEST_OPTIONS") ? getenv("MPR_TEST_OPTIONS") : "";
    return "deadline=60000" + (common.empty() ? "" : "," + common) + (*options ? "," : "") + options;
}

class Runtime {
public:
    explicit Runtime(cchar *options = "", int flags = 0, int seconds = 60) : watchdog(seconds) {
        if constexpr (!mpr::os::hasPages) { // test_board: a board's buffer, and a board's options
            alignas(16) static char buffer[1024 * 1024];
            mpr = mprConfigure(options) == 0 ? mprCreateInBuffer(buffer, sizeof(buffer), flags) : nullptr;
        } else if (mprConfigure(withCommon(options).c_str()) == 0) {
            mpr = mprCreate(0, nullptr, flags);
        }
        INFO("options: " << options << "\n" << Log::text());
        REQUIRE(mpr);
    }
    Runtime(void *buffer, size_t size, int flags = 0) : watchdog(60) {
        mprConfigure(nullptr);
        mpr = mprCreateInBuffer(buffer, size, flags);
        INFO(Log::text());
        REQUIRE(mpr);
    }
    ~Runtime() { end(); }
    Runtime(const Runtime &) = delete;
    Runtime &operator=(const Runtime &) = delete;

    /* Verify the heap and end the runtime before the object's own end. */
    void end() {
        if (mpr) {
            mprResetYield();
            int defects = mprVerifyHeap();
            MprMemStats last;
            mprReadMemStats(&last);
            bool destroyed = mprDestroy();
            INFO(Log::text());
            CHECK(defects == 0);
            CHECK(last.checkDefects == expectedDefects);
            CHECK(destroyed);
            mpr = nullptr;
            mprConfigure(nullptr);
        }
    }

    Log log;
    Mpr *mpr = nullptr;
    uint64 expectedDefects = 0; /* Of option check=1, which the environment may add to any test's. */

private:
    Watchdog watchdog;
};

/* Collect and wait until the memory is free. The caller's unrooted blocks go. */
inline int collect() {
    return mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}

inline MprMemStats stats() {
    MprMemStats snapshot;
    mprReadMemStats(&snapshot);
    return snapshot;
}

} // namespace test
