// SPDX-License-Identifier: MIT
/*
    keepers.cpp - See keepers.hpp.
 */
#include "mpr/gc/keepers.hpp"

#include <utility>

namespace mpr::gc {

namespace {
constinit const Keeper* firstKeeper = nullptr;
} // namespace

Keeper::Keeper(MprManager manager, Why why) : manager_(manager), why_(why), next_(std::exchange(firstKeeper, this)) {}

const char* Keeper::askAll(MprManager manager, const void* block) {
    const char* reason = nullptr;
    for (const Keeper* keeper = firstKeeper; keeper && !reason; keeper = keeper->next_) {
        reason = keeper->manager_ == manager ? keeper->why_(block) : nullptr;
    }
    return reason;
}

} // namespace mpr::gc
