/* SPDX-License-Identifier: MIT */
/*
    freed_by_hand.h - What policies of worst_path.h have in common whose blocks nobody collects: see policy_malloc.h.
 */
#ifndef FREED_BY_HAND_H
#define FREED_BY_HAND_H

#include "bench.h"

struct FreedByHand {
    static constexpr bool collects = false;

    static uint64_t allocFlags(unsigned) { return 0; }
    static void **allocTable(size_t count) { return bench::sideTable<void *>(count); }
    static void dropTable(void **table, size_t count) { bench::freeSideTable(table, count); }
    static void tick() {}
    static void attach() {}
    static void detach() {}
    static void block() {}
    static void unblock() {}
    static void collect(bool) {}
    static void enable(bool) {}
};

#endif /* FREED_BY_HAND_H */
