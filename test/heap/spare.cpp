// SPDX-License-Identifier: MIT
/*
    test/heap/spare.cpp - Lists of nurseries that may be filled again.
 */
#include "mpr/heap/spare.hpp"

#include "test/catch.hpp"

#include <vector>

using namespace mpr::heap;
using mpr::os::Lock;
using mpr::os::Locked;

namespace {

/* All that a list has, in its order; the list is empty then. */
template <typename List>
std::vector<Nursery *> emptied(List &list) {
    std::vector<Nursery *> all;
    while (list) {
        all.push_back(list.pop());
    }
    return all;
}
} // namespace

TEST_CASE("spare nurseries: the last of a list comes first, and one may stand in a list of either kind",
          "[heap][nursery]") {
    Nursery a{}, b{};
    StaleNurseries stale;
    SparseNurseries sparse;
    CHECK_FALSE(stale);
    stale.push(&a);
    stale.push(&b);
    sparse.push(&b);
    sparse.push(&a);
    CHECK(emptied(stale) == std::vector<Nursery *>{&b, &a});
    CHECK(emptied(sparse) == std::vector<Nursery *>{&a, &b});
}

TEST_CASE("spare nurseries: what is gone is taken out of a list wherever it stands", "[heap][nursery]") {
    Nursery all[6] = {};
    SparseNurseries list;
    for (Nursery &nursery : all) {
        list.push(&nursery);
    }
    // The first, the last, and two in a row.
    list.removeIf([&](const Nursery *n) { return n == &all[5] || n == &all[0] || n == &all[2] || n == &all[3]; });
    CHECK(emptied(list) == std::vector<Nursery *>{&all[4], &all[1]});
}

TEST_CASE("spare nurseries: what a thread leaves, others find in its lane", "[heap][nursery]") {
    Lock lock;
    const Locked locked(lock);
    SpareNurseries spare(lock);
    Nursery a{}, b{}, c{};
    StaleNurseries stale;
    SparseNurseries sparse;
    stale.push(&a);
    sparse.push(&b);
    sparse.push(&c);
    spare.leave(stale, sparse, Lane::big);
    CHECK_FALSE(stale);
    CHECK_FALSE(sparse);
    CHECK_FALSE(spare.hasRoomy(Lane::passing));
    CHECK(spare.hasRoomy(Lane::big));
    spare.scanty(Lane::passing).push(&a);
    spare.removeSparseIf([&](const Nursery *n) { return n == &b || n == &a; });
    CHECK_FALSE(spare.scanty(Lane::passing));
    CHECK(emptied(spare.roomy(Lane::big)) == std::vector<Nursery *>{&c});
    CHECK(emptied(spare.leftOver()) == std::vector<Nursery *>{&a});
}
