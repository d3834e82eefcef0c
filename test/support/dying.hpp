// SPDX-License-Identifier: MIT
/*
    test/support/dying.hpp - A block that managers of others use in their MPR_MANAGE_FREE calls, and that dies with them. Small
    and larger ones lie before it and behind it, and one of its own size behind it, for which the heap has the same place: so
    its own manager is called after some of them and before others, mostly, whatever the order is. (In stress mode they may
    lie anywhere.)
 */
#pragma once

#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

#include <atomic>

namespace test {

struct Dying {
    static constexpr int users = 5; // how often it is used
    static constexpr size_t sizes[] = {16, 400};
    static inline void *block = nullptr;
    static inline void (*use)(void *block) = nullptr;
    static inline std::atomic<int> uses{0};

    static void manageUser(void *, int flags) {
        if (flags & MPR_MANAGE_FREE) {
            use(block);
            uses++;
        }
    }
    static void *makeUser(size_t size) {
        void *user = mprAllocManaged(size, manageUser, 0);
        REQUIRE(user);
        mprAddRoot(user);
        return user;
    }

    /* Make them all, as roots. */
    template <class Make>
    Dying(Make make, void (*what)(void *)) {
        use = what;
        uses = 0;
        all[0] = makeUser(sizes[0]);
        all[1] = makeUser(sizes[1]);
        all[2] = block = make();
        REQUIRE(block);
        mprAddRoot(block);
        all[3] = makeUser(sizes[0]);
        all[4] = makeUser(sizes[1]);
        all[5] = makeUser(mprGetBlockSize(block));
    }
    void *all[users + 1];
};

/* Make a block, have it die with its users, and wait for that. What use finds it notes: it runs on the collector's thread. */
template <class Make>
void useWhileDying(Make make, void (*use)(void *)) {
    const Dying dying(make, use);
    for (void *each : dying.all) {
        mprRemoveRoot(each);
    }
    CHECK(until([] {
        collect();
        return Dying::uses == Dying::users;
    }));
}

/* Have them die with the runtime. */
template <class Make>
void useAtEnd(Runtime &runtime, Make make, void (*use)(void *)) {
    Dying(make, use); // roots, until the end
    runtime.end();
    CHECK(Dying::uses == Dying::users);
}

} // namespace test
