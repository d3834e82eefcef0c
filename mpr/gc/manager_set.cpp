// SPDX-License-Identifier: MIT
/*
    manager_set.cpp - The managers of a board.
 */
#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"

namespace mpr::gc {

namespace {
constinit CountedPointers known;

bool include(MprManager manager) {
    heap::Shortage shortage = heap::Shortage::none;
    return known.add(runtime().heap, reinterpret_cast<const void*>(manager), shortage);
}
} // namespace

bool openManagerSet() {
    known = {};
    return include(manageOverwritten); // before memory may be short
}

bool isManager(MprManager manager) {
    return known.count(reinterpret_cast<const void*>(manager)) > 0;
}

bool addManager(MprManager manager) {
    if (isManager(manager) || include(manager)) {
        return true;
    }
    Depletion& depletion = runtime().depletion;
    if (depletion.raise(*current, MPR_MEM_LIMIT, sizeof(manager)) && include(manager)) {
        return true;
    }
    depletion.countError();
    return false;
}

} // namespace mpr::gc
