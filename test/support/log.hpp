// SPDX-License-Identifier: MIT
/*
    test/support/log.hpp - Captures the runtime's messages.

    One Log exists at a time. Messages arrive from any thread. With MPR_TEST_LOG in the environment they are also
    written to standard error.
 */
#pragma once

#include "mpr.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace test {

class Log {
public:
    Log() {
        clear();
        previous = mprSetLogHandler(take);
    }
    ~Log() { mprSetLogHandler(previous); }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;

    /* Messages that contain a text. */
    static int count(const std::string &part) {
        std::lock_guard guard(store().mutex);
        int found = 0;
        for (auto &line : store().lines) {
            found += line.find(part) != std::string::npos;
        }
        return found;
    }
    static bool has(const std::string &part) { return count(part) > 0; }

    /* Messages that name an address. */
    static int names(const void *ptr) {
        char hex[32];
        snprintf(hex, sizeof(hex), "%llx", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(ptr)));
        return count(hex);
    }

    static int size() {
        std::lock_guard guard(store().mutex);
        return static_cast<int>(store().lines.size());
    }

    static void clear() {
        std::lock_guard guard(store().mutex);
        store().lines.clear();
    }

    static std::string text() {
        std::lock_guard guard(store().mutex);
        std::string all;
        for (auto &line : store().lines) {
            all += line + "\n";
        }
        return all;
    }

private:
    struct Store {
        std::mutex mutex;
        std::vector<std::string> lines;
    };

    /* Never destroyed: a message may come while the process ends. */
    static Store &store() {
        static Store *only = new Store;
        return *only;
    }

    static void take(cchar *tags, int level, cchar *msg) {
        static const bool echo = getenv("MPR_TEST_LOG") != nullptr;
        if (echo) {
            fprintf(stderr, "[%s %d] %s\n", tags, level, msg);
        }
        std::lock_guard guard(store().mutex);
        store().lines.push_back(std::string(tags) + ": " + msg);
    }

    MprLogHandler previous;
};

} // namespace test
