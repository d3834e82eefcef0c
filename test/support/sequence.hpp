// SPDX-License-Identifier: MIT
/*
    test/support/sequence.hpp - Random sequences of heap operations, checked against a model.

    A sequence follows from its seed alone. Each operation says whether heap and model still agree; why not is in what().
 */
#pragma once

#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/shadow.hpp"

#include <atomic>
#include <string>
#include <unordered_set>
#include <vector>

namespace test {

/* Distributions of block sizes. */
using Sizes = size_t (*)(Random &);

inline size_t tinySizes(Random &random) {
    return random.below(130);
}
inline size_t smallSizes(Random &random) {
    return random.below(4096);
}
inline size_t mixedSizes(Random &random) {
    size_t kind = random.below(1000);
    return kind < 900 ? random.below(500) : kind < 985 ? random.below(20000) : random.below((1 << 20) + 1);
}
inline size_t powerSizes(Random &random) {
    size_t power = size_t(1) << random.below(17);
    return power + random.below(33) - (power > 16 ? 16 : 0);
}
inline size_t largeSizes(Random &random) {
    return random.below((1 << 20) + 1);
}
inline constexpr Sizes allSizes[] = {tinySizes, smallSizes, mixedSizes, powerSizes, largeSizes};

/* Managed blocks of all sequences: given up, FREE calls, and those that found their contents overwritten. */
inline std::atomic<long> managedGone, managedFreed, managedBroken;

inline void resetManaged() {
    managedGone = managedFreed = managedBroken = 0;
}

/* The head of a managed block says what its contents must be. */
struct Label {
    uint64_t seed;
    uint64_t size;
};

inline void manageLabelled(void *ptr, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        auto label = static_cast<Label *>(ptr);
        managedFreed++;
        managedBroken += !filled(ptr, label->size, label->seed, sizeof(Label));
    }
}

class Sequence {
public:
    /* @param alone No other thread allocates: then what is gone stays invalid. */
    Sequence(uint64_t seed, Sizes sizeOf, size_t maxLive, size_t slots, bool single = true)
        : random(seed), sizes(sizeOf), limit(maxLive), alone(single), root(makeTable(slots)), entries(slots) {}

    bool step() {
        size_t at = random.below(entries.size());
        Entry &entry = entries[at];
        if (!entry.ptr) {
            return shadow.bytes > limit || allocate(at);
        }
        if (shadow.bytes > limit) {
            return discard(at);
        }
        switch (random.below(20)) {
        case 0:
        case 1:
        case 2:
        case 3: return resize(at);
        case 4:
            mprHold(entry.ptr);
            entry.holds++;
            return true;
        case 5:
            if (entry.holds) {
                mprRelease(entry.ptr);
                entry.holds--;
            }
            return true;
        case 6: return !entry.holds || mprFree(entry.ptr) != 0 || fail("mprFree freed a held block");
        case 7: mprYield(0); return verify(entry);
        case 8: return random.below(20) || sweep();
        case 9:
        case 10: return verify(entry);
        default: return discard(at);
        }
    }

    /* Collect: what was dropped must be gone, what is kept must be whole. */
    bool sweep() {
        collect();
        for (void *ptr : dropped) {
            taken += alone && mprIsValid(ptr);
        }
        if (taken > mostTaken) {
            return fail("dropped blocks are still there after a collection");
        }
        dropped.clear();
        if (alone && managedFreed != managedGone) {
            return fail("managers of dropped blocks were not called once each");
        }
        return whole();
    }

    bool whole() {
        if (!shadow.checkAll()) {
            return fail(shadow.what());
        }
        return managedBroken == 0 || fail("a manager found contents overwritten at MPR_MANAGE_FREE");
    }

    /* Give everything back. */
    bool clear() {
        for (size_t at = 0; at < entries.size(); at++) {
            if (entries[at].ptr && !discard(at)) {
                return false;
            }
        }
        root.set(nullptr);
        return sweep();
    }

    const std::string &what() const { return problem; }

private:
    struct Entry {
        void *ptr = nullptr;
        int holds = 0;
        bool managed = false;
    };

    bool allocate(size_t at) {
        Entry &entry = entries[at];
        size_t size = sizes(random);
        bool zero = random.chance(30);
        entry.managed = random.chance(30);
        if (entry.managed) {
            size = size < sizeof(Label) ? sizeof(Label) : size;
            entry.ptr = mprAllocManaged(size, manageLabelled, zero ? MPR_ALLOC_ZERO : 0);
        } else if (zero) {
            entry.ptr = mprAllocZeroed(size);
        } else {
            entry.ptr = mprAlloc(size);
        }
        if (!entry.ptr) {
            return fail("an allocation returned NULL");
        }
        if (zero && !zeros(entry.ptr, size)) {
            return fail("a zeroed block is not zero");
        }
        return enter(at, size);
    }

    bool resize(size_t at) {
        Entry &entry = entries[at];
        auto [old, seed, from] = shadow.of(entry.ptr);
        size_t size = random.chance(50) ? old + random.below(100) : sizes(random);
        if (entry.managed && size < sizeof(Label)) {
            size = sizeof(Label);
        }
        if (!verify(entry)) {
            return false;
        }
        shadow.remove(entry.ptr);
        entry.ptr = mprRealloc(entry.ptr, size);
        if (!entry.ptr) {
            return fail("mprRealloc returned NULL");
        }
        if (!filled(entry.ptr, old < size ? old : size, seed, from)) {
            return fail("mprRealloc lost contents");
        }
        return enter(at, size);
    }

    /* Put a block into the model and the table, and fill it. */
    bool enter(size_t at, size_t size) {
        Entry &entry = entries[at];
        uint64_t seed = ++counter;
        size_t from = entry.managed ? sizeof(Label) : 0;
        dropped.erase(entry.ptr);
        if (!shadow.add(entry.ptr, size, seed, from)) {
            return fail(shadow.what());
        }
        if (entry.managed) {
            *static_cast<Label *>(entry.ptr) = {seed, size};
        }
        fill(entry.ptr, size, seed, from);
        root.as<Table>()->items[at] = entry.ptr;
        return true;
    }

    bool verify(const Entry &entry) { return shadow.check(entry.ptr) || fail(shadow.what()); }

    /* A block goes: freed by hand at once, or dropped for the collector. */
    bool discard(size_t at) {
        Entry entry = entries[at];
        if (!verify(entry)) {
            return false;
        }
        for (; entry.holds; entry.holds--) {
            mprRelease(entry.ptr);
        }
        shadow.remove(entry.ptr);
        root.as<Table>()->items[at] = nullptr;
        entries[at] = Entry();
        managedGone += entry.managed;
        if (random.chance(60)) {
            if (mprFree(entry.ptr) != 0 || (alone && mprIsValid(entry.ptr))) {
                return fail("mprFree did not free");
            }
        } else {
            dropped.insert(entry.ptr);
        }
        return true;
    }

    bool fail(const std::string &why) {
        problem = why;
        return false;
    }

    Random random;
    const Sizes sizes;
    const size_t limit;
    const bool alone;
    Root root;
    std::vector<Entry> entries;
    std::unordered_set<void *> dropped;
    Shadow shadow;
    uint64_t counter = 0;
    std::string problem;

    /* Addresses of dropped blocks that are in use: a few may be, by tables of the runtime (of holds, say) that grew. */
    static constexpr int mostTaken = 4;
    int taken = 0;
};

} // namespace test
