// SPDX-License-Identifier: MIT
/*
    keepers.cpp - See keepers.hpp.
 */
#include "mpr/gc/keepers.hpp"

namespace mpr::gc {

const char* Keeper::askAll(MprManager manager, const void* block) {
    const char* reason = nullptr;
    find([&](const Keeper& keeper) {
        reason = keeper.manager_ == manager ? keeper.why_(block) : nullptr;
        return reason != nullptr;
    });
    return reason;
}

} // namespace mpr::gc
