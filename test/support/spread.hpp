/* SPDX-License-Identifier: MIT */
/*
    test/support/spread.hpp - Serves the connections of a test's endpoint by as many threads as MPR_TEST_WORKERS says, so
    that the tests of one dispatcher are those of many.
 */
#pragma once

#include "test/catch.hpp"

#include "mpr/http.h"

#include <cstdlib>

namespace test {

inline int workersWanted() {
    const char *text = getenv("MPR_TEST_WORKERS");
    return text ? atoi(text) : 0;
}

inline void spread(HttpEndpoint *endpoint) {
    if (const int workers = workersWanted()) {
        REQUIRE(httpSetEndpointWorkers(endpoint, workers) == 0);
    }
}

} // namespace test
