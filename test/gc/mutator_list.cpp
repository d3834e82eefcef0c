// SPDX-License-Identifier: MIT
/*
    test/gc/mutator_list.cpp - Threads come to a list and leave it, from any place.
 */
#include "mpr/gc/mutator_list.hpp"

#include "test/catch.hpp"

#include <algorithm>
#include <vector>

using mpr::gc::Mutator;
using mpr::gc::MutatorList;

namespace {

std::vector<Mutator *> all(MutatorList &list) {
    std::vector<Mutator *> found;
    for (Mutator &m : MutatorList::Locked(list)) {
        found.push_back(&m);
    }
    return found;
}

} // namespace

TEST_CASE("a thread leaves a list from the front, the middle and the end", "[gc][mutators]") {
    std::vector<size_t> order = {0, 1, 2};
    do {
        MutatorList list;
        Mutator mutators[3];
        std::vector<Mutator *> left;
        for (Mutator &m : mutators) {
            MutatorList::Locked(list).add(m);
            left.insert(left.begin(), &m);
        }
        CHECK(all(list) == left);
        for (const size_t i : order) {
            MutatorList::Locked(list).remove(mutators[i]);
            left.erase(std::find(left.begin(), left.end(), &mutators[i]));
            CHECK(all(list) == left);
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a thread may come when all others have gone", "[gc][mutators]") {
    MutatorList list;
    Mutator first, second;
    MutatorList::Locked(list).add(first);
    MutatorList::Locked(list).remove(first);
    CHECK(all(list).empty());
    MutatorList::Locked(list).add(second);
    CHECK(all(list) == std::vector<Mutator *>{&second});
}
