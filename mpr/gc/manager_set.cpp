// SPDX-License-Identifier: MIT
/*
    manager_set.cpp - The managers of a board.
 */
#include <new>

#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/gc/shortage.hpp"

namespace mpr::gc {

namespace {
constinit CountedPointers known;

bool include(MprManager manager) {
    heap::Shortage shortage = heap::Shortage::none;
    return known.add(runtime().heap, reinterpret_cast<const void*>(manager), shortage);
}
} // namespace

bool openManagerSet() {
    new (&known) CountedPointers;
    return include(manageOverwritten); // before memory may be short
}

bool isManager(MprManager manager) {
    return known.count(reinterpret_cast<const void*>(manager)) > 0;
}

bool addManager(MprManager manager) {
    Trying attempt(sizeof(manager), [=](heap::Shortage&) { return include(manager); });
    return isManager(manager) || attempt.again() || relieve(*current, attempt);
}

} // namespace mpr::gc
