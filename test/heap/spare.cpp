// SPDX-License-Identifier: MIT
/*
    test/heap/spare.cpp - Lists of spans that may be filled again.
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
std::vector<Span *> emptied(List &list) {
    std::vector<Span *> all;
    while (list) {
        all.push_back(list.pop());
    }
    return all;
}
} // namespace

TEST_CASE("spare spans: the last of a list comes first, and one may stand in a list of either kind", "[heap][span]") {
    Span a{}, b{};
    StaleSpans stale;
    SparseSpans sparse;
    CHECK_FALSE(stale);
    stale.push(&a);
    stale.push(&b);
    sparse.push(&b);
    sparse.push(&a);
    CHECK(emptied(stale) == std::vector<Span *>{&b, &a});
    CHECK(emptied(sparse) == std::vector<Span *>{&a, &b});
}

TEST_CASE("spare spans: what is gone is taken out of a list wherever it stands", "[heap][span]") {
    Span all[6] = {};
    SparseSpans list;
    for (Span &span : all) {
        list.push(&span);
    }
    // The first, the last, and two in a row.
    list.removeIf([&](const Span *n) { return n == &all[5] || n == &all[0] || n == &all[2] || n == &all[3]; });
    CHECK(emptied(list) == std::vector<Span *>{&all[4], &all[1]});
}

TEST_CASE("spare spans: what a thread leaves, others find in its lane", "[heap][span]") {
    Lock lock;
    const Locked locked(lock);
    SpareSpans spare(lock);
    Span a{}, b{}, c{};
    StaleSpans stale;
    SparseSpans sparse;
    stale.push(&a);
    sparse.push(&b);
    sparse.push(&c);
    spare.leave(stale, sparse, Lane::big);
    CHECK_FALSE(stale);
    CHECK_FALSE(sparse);
    CHECK_FALSE(spare.hasRoomy(Lane::passing));
    CHECK(spare.hasRoomy(Lane::big));
    spare.scanty(Lane::passing).push(&a);
    spare.removeSparseIf([&](const Span *n) { return n == &b || n == &a; });
    CHECK_FALSE(spare.scanty(Lane::passing));
    CHECK(emptied(spare.roomy(Lane::big)) == std::vector<Span *>{&c});
    CHECK(emptied(spare.leftOver()) == std::vector<Span *>{&a});
}
