// SPDX-License-Identifier: MIT
/*
    keepers.hpp - Which of the runtime's own blocks are in use by it, so that a program's mprFree of one is a mistake: events
    that are queued, signal handlers. With option poison, which looks for such, it is named and does nothing.

    These are static objects, which link themselves when the program starts, before there are threads.
 */
#pragma once

#include "mpr/memory.h"

namespace mpr::gc {

/** Declares who is to be asked about all blocks of a manager. */
class Keeper {
public:
    /** @return Why a block may not be freed by hand, or nullptr. Any attached thread that runs. */
    using Why = const char* (*) (const void* block);

    Keeper(MprManager manager, Why why);
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    /** Ask those who are declared for a manager. */
    static const char* askAll(MprManager manager, const void* block);

private:
    const MprManager manager_;
    const Why why_;
    const Keeper* const next_;
};

} // namespace mpr::gc
