// SPDX-License-Identifier: MIT
/*
    test/stress/places/site.hpp - A server whose stages do at every place what the script of the request says.
 */
#pragma once

#include "test/stress/places/script.hpp"

namespace places {

/* Make a runtime and a server for a plan. @return Its port. */
int startSite(const Plan &plan);

/* Service events until that is so. */
template <typename Condition>
void serveUntil(Condition condition) {
    while (!condition()) {
        mprServiceEvents(20, MPR_SERVICE_ONE_THING);
    }
}

/* All clients have gone: all connections and requests end. */
void awaitRest();
/* The runtime ends, with what is under way. */
void stopSite();

} // namespace places
