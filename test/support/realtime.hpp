// SPDX-License-Identifier: MIT
/*
    test/support/realtime.hpp - Threads of real-time priority, and who has been lent it.
 */
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace test {

/* @return false where that is not allowed. */
inline bool becomeRealtime(int priority) {
    const sched_param wanted{priority};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted) == 0;
}

/* Field of /proc/self/task/N/stat, counted from 1, behind the name. */
inline long fieldOf(std::uint32_t thread, int field) {
    FILE *file = fopen(("/proc/self/task/" + std::to_string(thread) + "/stat").c_str(), "r");
    char text[1024] = {};
    const size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    const std::string all(text, length);
    size_t at = all.rfind(')');
    for (int i = 2; i < field && at != std::string::npos; i++) {
        at = all.find(' ', at + 1);
    }
    return at == std::string::npos ? 0 : atol(all.c_str() + at + 1);
}

/* The kernel's priority of a thread: 20 and its niceness, or negative for real time. */
inline long priorityOf(std::uint32_t thread) {
    return fieldOf(thread, 18);
}

} // namespace test
