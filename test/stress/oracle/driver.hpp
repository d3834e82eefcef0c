// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/driver.hpp - Runs programs in child processes, and shortens those that fail.
 */
#pragma once

#include "test/stress/oracle/plan.hpp"

#include <string>

namespace oracle {

/* How one child ended. */
struct Outcome {
    bool failed = false;
    std::string what;   /* Exit status, signal, or that it hangs */
    std::string output; /* Its last words */
    uint64_t operations = 0, collections = 0, checks = 0, nulls = 0;
};

/* Run one program in a child process. */
Outcome runInChild(const Wishes &wishes, int secondsAtMost);

/* Run one program in this process; ends it on a fault. Prints counts. */
void runHere(const Wishes &wishes, bool verbose);

/*
    The smallest program found that still fails: fewer threads, operations and kinds of these.
    @param outcome What is known of the failure, overwritten by that of the smallest.
 */
Wishes shorten(Wishes wishes, Outcome &outcome, double seconds);

/* The command line that repeats a program. */
std::string commandLine(const Wishes &wishes);

/* Programs with faults made on purpose. @return How many of them were not noticed, or called something else. */
int detect();

/* How far to go: for a time, or so many programs. */
struct Extent {
    double seconds = 20;
    int programs = 0; /* Not 0: whatever time they take */
};

/* Programs of consecutive seeds. @return Faults. */
int drive(Wishes first, Extent extent, bool keepGoing);

} // namespace oracle
