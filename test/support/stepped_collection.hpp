// SPDX-License-Identifier: MIT
/*
    test/support/stepped_collection.hpp - Collections by hand, on a heap without threads: the calling thread has the duty, nobody
    runs, and each phase is left when the test says so. No runtime exists meanwhile.
 */
#pragma once

#include "mpr/gc/collection.hpp"
#include "mpr/gc/manager.hpp"
#include "test/support/stepped_heap.hpp"

#include <memory>
#include <vector>

namespace test {

/* A block of references, and of a manager that marks them and counts what dies. */
struct Refs {
    static constexpr size_t most = 4;
    Refs *refs[most];

    static void manage(void *block, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMarkRefs(static_cast<Refs *>(block)->refs, most);
        } else {
            freed.push_back(block);
        }
    }
    static inline std::vector<void *> freed;
};

/* A block of references, all of them nullptr. */
inline Refs *makeRefs(SteppedHeap &stepped, mpr::heap::Kind kind = mpr::heap::Kind::barrier) {
    constexpr size_t n = mpr::heap::granulesFor(sizeof(Refs) + sizeof(MprManager));
    auto refs = static_cast<Refs *>(stepped.make(n, static_cast<mpr::heap::Byte>(kind)));
    *refs = {};
    mpr::gc::setManager(refs, n, mpr::gc::codeOf(Refs::manage));
    return refs;
}

class SteppedCollection {
    using Cycle = mpr::gc::Cycle;
    using Wish = mpr::gc::Wish;

public:
    /* Whether the pacer learns from pauses, whose length depends on what else the machine does. */
    enum class Pace { learned, fixed };

    explicit SteppedCollection(size_t young = 1 << 20, mpr::heap::Byte check = 0, Pace pace = Pace::learned) {
        stepped.options.young = young;
        stepped.options.check = check;
        if (pace == Pace::fixed) {
            // Any share of the processor and any pause will do, so the young budget stays what it is.
            stepped.options.cpuPercent = 100;
            stepped.options.pauseBudget = 3'600'000'000'000;
        }
        stepped.options.markers = 1; // no helpers
        Refs::freed.clear();
        budget.open(stepped.options, 0, false);
        budget.pacer().setCache(0);
        REQUIRE(collection.open(stepped.options, 0, 1, false));
        budget.repace();
        cycle.takeDuty();
        roots.provide(stepped.heap());
    }
    ~SteppedCollection() {
        cycle.giveUpDuty();
        cycle.rendezvous().setWanted(false);
        collection.tracing().leave(writer);
        collection.close();
    }

    /* From the request to the end of the pause. */
    void pause(Wish wish = Wish::minor) {
        cycle.request(wish);
        REQUIRE(cycle.closeGate());
        collection.pause();
    }
    /* All that follows. @return blocks freed. */
    size_t reclaim() {
        const size_t before = cycle.freedBlocks();
        CHECK(collection.reclaim());
        return cycle.freedBlocks() - before;
    }
    size_t collect(Wish wish = Wish::minor) {
        pause(wish);
        return reclaim();
    }

    Refs *make(mpr::heap::Kind kind = mpr::heap::Kind::barrier, bool root = false) {
        Refs *const refs = makeRefs(stepped, kind);
        if (root) {
            addRoot(refs);
        }
        return refs;
    }
    void addRoot(void *block) {
        mpr::heap::Shortage shortage = mpr::heap::Shortage::none;
        REQUIRE(roots.add(stepped.heap(), stepped.regionOf(block), block, shortage));
    }
    void removeRoot(void *block) { REQUIRE(roots.remove(stepped.heap(), block)); }
    /* As the write barrier does it, of a store into an old block. */
    void store(Refs *owner, size_t i, Refs *value) {
        owner->refs[i] = value;
        collection.tracing().remember(writer, mpr::gc::RememberedSet::ofField(&owner->refs[i]));
    }
    bool lives(const void *block) { return stepped.isBlock(block); }

    SteppedHeap stepped;
    mpr::gc::Roots roots;
    Cycle cycle;
    mpr::gc::CollectorStats stats;
    mpr::gc::MutatorList mutators;
    mpr::gc::Mutator writer; // whose log the collector looks at
    mpr::gc::Budget budget{stepped.heap(), cycle, stats};
    mpr::gc::Late late{stepped.heap(), cycle, budget, mutators, stats};
    mpr::gc::Collection collection{stepped.heap(), roots, cycle, budget, late, writer, stats};
};

} // namespace test
