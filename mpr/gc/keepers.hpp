// SPDX-License-Identifier: MIT
/*
    keepers.hpp - Which of the runtime's own blocks are in use by it, so that a program's mprFree of one is a mistake: events
    that are queued, signal handlers. With option poison, which looks for such, it is named and does nothing.
 */
#pragma once

#include "mpr/gc/declared.hpp"
#include "mpr/memory.h"

namespace mpr::gc {

/** Declares a function that knows of blocks with a manager whether they may be freed by hand. */
class Keeper : public Declared<Keeper> {
public:
    /** @return Why a block may not be freed by hand, or nullptr. Any attached thread that runs. */
    using Why = const char* (*) (const void* block);

    Keeper(MprManager manager, Why why) : manager_(manager), why_(why) {}

    /** Ask those who are declared for a manager. */
    static const char* askAll(MprManager manager, const void* block);

private:
    const MprManager manager_;
    const Why why_;
};

} // namespace mpr::gc
