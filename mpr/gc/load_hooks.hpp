// SPDX-License-Identifier: MIT
/*
    load_hooks.hpp - What the collector and allocation ask of who knows how much memory there is: room host.
*/
#pragma once

#include "mpr/gc/mutator.hpp"

namespace mpr::gc {

struct LoadHooks {
    /** A collection has swept: look. On duty, so nobody of the program's is called. */
    void (*look)();
    /** A thread has allocated, and may be told: do what is due. */
    void (*attend)(Mutator& m);
};

/** nullptr: nobody asks. It outlives runtimes. Stored with release. */
extern constinit os::Shared<const LoadHooks*> loadHooks;

} // namespace mpr::gc
