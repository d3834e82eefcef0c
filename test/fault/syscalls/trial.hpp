// SPDX-License-Identifier: MIT
/*
    test/fault/syscalls/trial.hpp - One run of a program in which a call fails, and what is to be said of it.
 */
#pragma once

#include "test/fault/syscalls/calls.hpp"

#include <string>
#include <vector>

namespace syscalls {

struct Program {
    const char *name;               // in the output
    std::vector<std::string> words; // the path and arguments
    const char *done;               // what its standard output has when its job is done
    int most = 3;                   // seconds of processor time
    bool ownsLoop = false;          // by libuv
    int longest = 25;               // seconds: some wait ten for what does not come
};

struct Fault {
    Call call = callCount;
    int error = 0;
    uint64_t nth = 0;
    bool on = false; // all that follow fail, too
};

/* From the best to the worst; all after `listed` are faults of the program. */
enum Verdict {
    unreached, // the program makes fewer such calls
    served,    // did its job
    said,      // did not, and said why
    listed,    // libuv aborted where mpr/event.h says that it does
    silent,    // did not, and said nothing that names the trouble
    lied,      // did not, and its status is 0
    crash,     // ended by a signal: an abort, say
    spin,      // used up its processor time
    hang,      // did not end
    verdicts
};
inline constexpr const char *verdictNames[verdicts] = {"unreached", "served", "said", "listed", "silent",
                                                       "lied",      "crash",  "spin", "hang"};

struct Outcome {
    Verdict verdict = unreached;
    int status = 0; // as of waitpid
    uint64_t calls[callCount] = {};
    bool abortedByLibuv = false;
    std::string output, errors; // what it wrote
};

/* Run a program. Any thread. @param library To be preloaded. */
Outcome run(const Program &program, const Fault &fault, const std::string &library, const std::string &folder);

const char *errorName(int error);

} // namespace syscalls
