// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/fault.hpp - How a program of the oracle says that the runtime did something wrong: at once, and last.

    After a fault the heap cannot be trusted, so the process ends with status 1; the driver reads what was printed.
 */
#pragma once

#include <string>

namespace oracle {

/* Print what is wrong, and the runtime's messages so far, and end the process. Any thread. */
[[noreturn]] void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What fault prints first: seed, profile, options. */
void setHeadline(const std::string &headline);

/* Keep the runtime's messages for fault instead of printing them. */
void captureMessages();

/* Whether the runtime has said this since the last forgetMessages. */
bool said(const char *part);
void forgetMessages();

/* This process is a child of fork: locks are not to be trusted. */
void beChildOfFork();

} // namespace oracle
