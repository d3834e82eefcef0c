// SPDX-License-Identifier: MIT
/*
    keepers.hpp - The runtime's own blocks that are in use by it when a program frees one.

    Where that is a mistake, as with events that are queued and handlers of signals, option poison, which looks for such,
    names it, and it does nothing. In any case mprFree ends what such a block stands for, and where another thread of the
    runtime may have the block in hands at that moment, its memory is left to the collector.
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

/** For managers with MPR_MANAGE_FREE: whether the calling thread is in mprFree of a block. */
bool isFreedByHand(const void* block);

/** Such a manager, which does nothing after this, leaves the block to the collector: it is called once more when nothing leads
    to the block. */
void leaveToCollector(void* block);

} // namespace mpr::gc
