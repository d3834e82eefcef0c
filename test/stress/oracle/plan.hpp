// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/plan.hpp - What a program does, drawn from its seed: options of the runtime, limits, threads, sizes,
    and how often each kind of operation occurs.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oracle {

/* Asked for on the command line; what is not asked for follows from the seed. */
struct Wishes {
    uint64_t seed = 0;
    std::string profile; /* Empty: any */
    std::string options; /* In place of those drawn, if set */
    bool optionsSet = false;
    int threads = -1, ghosts = -1, lives = -1;
    long operations = -1;             /* Of each thread in a life */
    std::vector<std::string> without; /* Operations left out */
    int sabotage = -1;                /* Of sabotage.hpp */
    bool older = false;               /* The runtime knows neither check=fields nor poison */
    double seconds = 0;               /* Longer or shorter than the plan's */
};

struct Plan {
    uint64_t seed = 0;
    std::string profile, options;
    long limit = 0; /* Hard limit of memory in bytes; 0: none */
    int sabotage = -1;
    int threads = 1;          /* That run operations; the main thread is the first */
    int ghosts = 0;           /* Attached, yielded stickily: permanent memory, holds, events */
    int foreigners = 0;       /* Not attached: permanent memory, questions, events */
    int lives = 1;            /* Runtimes, one after the other */
    bool events = false;      /* The runtime's services run; ghosts and foreigners post events */
    size_t slots = 64;        /* Blocks that a graph's table keeps */
    long operations = 100000; /* At most, of each thread in a life */
    double seconds = 1;       /* At most, for all lives */
    int checkEvery = 5000;    /* Operations of the main thread between two checks */
    int settlePercent = 50;   /* Of the checks that collect and look at managers */
    int yieldPercent = 50;    /* Of the operations that are followed by a yield */
    int sharedPercent = 10;   /* Of the operations on a graph that all threads share */
    bool batches = false;     /* Most threads take back what they have made and not published: mprSetBatches */
    bool misuse = false;      /* Calls that must be refused are made on purpose */
    bool forks = false;       /* Some of them in children of fork */
    bool signals = false;     /* Signals come to the program's threads */
    bool hasty = false;       /* The end comes while a collection sweeps */
    std::vector<int> weights; /* One for each operation */

    std::string text() const;
};

Plan makePlan(const Wishes &wishes);

/* Names of profiles. */
std::vector<std::string> profiles();

} // namespace oracle
