// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/sabotage.hpp - Faults made on purpose, to see that the oracle notices each kind.
 */
#pragma once

#include "test/stress/oracle/graph.hpp"

namespace oracle {

struct Sabotage {
    const char *name;
    void (*commit)(Graph &graph, Random &random);
    const char *noticed; /* What the oracle is to say */
};

extern const Sabotage sabotages[];
extern const size_t sabotageCount;

} // namespace oracle
