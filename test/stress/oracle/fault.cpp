// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/fault.cpp - Faults are printed with what is needed to see them again.
 */
#include "test/stress/oracle/fault.hpp"

#include "test/stress/oracle/ledger.hpp"

#include "mpr.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace oracle {

namespace {

constexpr size_t mostMessages = 40;

struct State {
    std::mutex mutex;
    std::string headline;
    std::vector<std::string> messages;
};

/* Never destroyed: threads may still run while the process ends. */
State &state() {
    static State &one = *new State;
    return one;
}

std::atomic<bool> isChild;

void keep(cchar *tags, int, cchar *msg) {
    noteMessage(msg);
    if (isChild) {
        return;
    }
    std::lock_guard guard(state().mutex);
    auto &messages = state().messages;
    if (messages.size() >= mostMessages && !strstr(msg, "no memory")) { // which programs ask for
        return;
    }
    std::string message = std::string(tags) + ": " + msg;
    if (messages.empty() || messages.back() != message) {
        messages.push_back(std::move(message));
    }
}

} // namespace

void fault(const char *format, ...) {
    static std::atomic<bool> begun;
    if (begun.exchange(true)) {
        for (;;) {
            pause(); // another thread reports and ends the process
        }
    }
    va_list args;
    va_start(args, format);
    if (isChild) {
        char text[500];
        vsnprintf(text, sizeof(text), format, args);
        dprintf(2, "FAULT %s\n", text);
        _exit(1); // its parent says more
    }
    std::lock_guard guard(state().mutex);
    fprintf(stderr, "FAULT ");
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n%s\n", state().headline.c_str());
    for (auto &message : state().messages) {
        fprintf(stderr, "    said: %s\n", message.c_str());
    }
    fflush(stderr);
    _exit(1);
}

void setHeadline(const std::string &headline) {
    std::lock_guard guard(state().mutex);
    state().headline = headline;
}

void captureMessages() {
    mprSetLogHandler(keep);
}

bool said(const char *part) {
    std::lock_guard guard(state().mutex);
    for (auto &message : state().messages) {
        if (message.find(part) != std::string::npos) {
            return true;
        }
    }
    return false;
}

void beChildOfFork() {
    isChild = true;
}

void forgetMessages() {
    std::lock_guard guard(state().mutex);
    state().messages.clear();
}

} // namespace oracle
