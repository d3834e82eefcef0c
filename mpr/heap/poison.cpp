// SPDX-License-Identifier: MIT
/*
    poison.cpp - Filling free memory, checking that it has not changed, and the quarantine.
 */
#include "mpr/heap/poison.hpp"

#include <algorithm>

#include "mpr/heap/holes.hpp"
#include "mpr/os/os.hpp"

#ifdef MPR_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace mpr::heap {

namespace poison {

namespace {
using Word = std::uintptr_t;
constexpr Word patternWord = swar::spread(pattern);
} // namespace

MPR_USES_FREE_MEMORY void fill(void* memory, std::size_t bytes) {
    // Volatile, so that this does not become a call of memset, which the sanitizer checks.
    auto* word = static_cast<volatile Word*>(memory);
    for (volatile Word* end = word + bytes / sizeof(Word); word != end; ++word) {
        *word = patternWord;
    }
#ifdef MPR_ADDRESS_SANITIZER
    __asan_poison_memory_region(memory, bytes);
#endif
}

MPR_USES_FREE_MEMORY const void* firstChanged(const void* memory, std::size_t bytes) {
    auto* word = static_cast<const Word*>(memory);
    for (const Word* end = word + bytes / sizeof(Word); word != end; ++word) {
        if (*word != patternWord) {
            return word;
        }
    }
    return nullptr;
}

void allow([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MPR_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(memory, bytes);
#endif
}

} // namespace poison

void Quarantine::open() {
    blocks_ = static_cast<void**>(os::map(places * sizeof(void*), MPR_MAP_READ | MPR_MAP_WRITE));
}

void Quarantine::close() {
    if (blocks_) {
        os::release(blocks_, places * sizeof(void*));
    }
    *this = {};
}

void Heap::fillFree(Place at, std::size_t n) {
    if (poisons()) {
        poison::fill(at.address(), n << granuleShift);
    }
}

/** Fill chunks that have just been committed, except for the region's header. */
void Heap::fillChunks(Region* region, std::uint64_t chunks) {
    forRuns(chunks, [&](unsigned first, unsigned count) {
        const std::size_t from = region->chunkBegin(first);
        fillFree({region, from}, region->chunkEnd(first + count - 1) - from);
    });
}

/** Look at n granules of free memory, and name them when they are not as they were filled. */
void Heap::look(const void* memory, std::size_t n) {
    if (const void* changed = poison::firstChanged(memory, n << granuleShift)) {
        damages_.fetch_add(1, std::memory_order_relaxed);
        note({.kind = Finding::Kind::freeBlock, .where = changed, .block = memory, .bytes = n << granuleShift});
    }
}

void Heap::unearth(void* block, std::size_t n) {
    if (poisons() && block) {
        poison::allow(block, n << granuleShift);
        // Memory fresh from the system is not filled; see reuseRetired.
        if (n <= greatestInRegion_) {
            look(block, n);
        }
    }
}

/** Put a claimed block to rest. It is accounted for. Those that have rested long enough become holes. */
void Heap::bury(Place at, std::size_t n) {
    os::assertHeld(lock_);
    fillFree(at, n);
    at.region->spans.pierce(at.granule);
    if (n > greatestSmall || !quarantine_.add(at.address(), n << granuleShift)) {
        at.region->map().clearBlock(at.granule, n);
        giveBackAnyhow(at.region, at.granule, n);
        return;
    }
    // A small share of the heap: what was written to a block that rests is named when it leaves.
    while (quarantine_.isFull(std::min(limits_.committed() / 128, Quarantine::mostBytes))) {
        endOldest();
    }
}

/** A block that the sweep has found dead begins at a place. @return false when its size cannot be believed: it is as it was. */
bool Heap::buryDead(Place at, Swept& swept) {
    const auto [region, g] = at;
    const std::size_t n = region->map().blockSize(g);
    if (!region->begins(g + n)) {
        return false;
    }
    region->map().set(g, mark::opaque);
    ++swept.blocks;
    gave(n);
    bury(at, n);
    return true;
}

/** The oldest block of the quarantine becomes a hole. */
void Heap::endOldest() {
    os::assertHeld(lock_);
    void* const block = quarantine_.oldest();
    const Place at = Place::of(table_.find(block), block);
    const auto [region, g] = at;
    const std::size_t n = region->blockSize(g);
    quarantine_.takeOldest(n << granuleShift);
    look(block, n);
    fillFree(at, n);
    region->map().clearBlock(g, n);
    region->spans.pierce(g);
    giveBackAnyhow(region, g, n);
}

void Heap::endQuarantine(bool all) {
    const Telling telling(*this);
    os::Locked locked(lock_);
    const unsigned old = quarantine_.purge();
    for (unsigned left = all ? quarantine_.count() : old; left > 0; --left) {
        endOldest();
    }
}

} // namespace mpr::heap
