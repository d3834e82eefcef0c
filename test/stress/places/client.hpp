// SPDX-License-Identifier: MIT
/*
    test/stress/places/client.hpp - A client, in a thread that knows nothing of the runtime.
 */
#pragma once

#include "test/stress/places/script.hpp"

namespace places {

/* Connect, ask, read, and hold what has come against the ledger. */
void visit(int port, const Visit &visit);

} // namespace places
