// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ledger.hpp - The account of misuse: what programs did wrong on purpose, and what the runtime says of it.

    Each wrong call is entered before it is made. The runtime must have counted exactly these, must have named each of the
    first ones (later ones it may leave out, see mpr/runtime.h), and must have named no function that was used rightly.
 */
#pragma once

#include <cstdint>
#include <string>

namespace oracle {

/* Enter a wrong call that is about to be made. @param function As the log is to name it. Any thread, no lock. */
void enterMisuse(const char *function);

/* Enter what the log says, if it names a function. Any thread, no lock. */
void noteMessage(const char *message);

/* A runtime begins. */
void openLedger();

/* In a child of fork: what the parent did is not asked for any more. */
void continueLedger();

/* What does not agree; empty: all does. @param counted MprMemStats.misuses, or what stands for it. */
std::string disagreement(uint64_t counted);
/* What does not agree, apart from that count. */
std::string disagreement();

/* Wrong calls so far. */
uint64_t misuses();

} // namespace oracle
