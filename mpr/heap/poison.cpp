// SPDX-License-Identifier: MIT
/*
    poison.cpp - Filling free memory, checking that it has not changed, and the quarantine.
 */
#include "mpr/heap/poison.hpp"

#include "mpr/heap/holes.hpp"

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

/**
    Put a claimed block that was freed by hand to rest. It is accounted for. One that has rested long enough becomes a
    hole.
 */
void Heap::bury(Place at, std::size_t n) {
    os::assertHeld(lock_);
    fillFree(at, n);
    at.region->spans.pierce(at.granule);
    if (n > greatestSmall) {
        at.region->map().clearBlock(at.granule, n);
        giveBack(at, n);
    } else if (void* oldest = quarantine_.add(at.address())) {
        endQuarantine(oldest);
    }
}

void Heap::endQuarantine(void* block) {
    os::assertHeld(lock_);
    const Place at = Place::of(table_.find(block), block);
    const auto [region, g] = at;
    const std::size_t n = region->blockSize(g);
    look(block, n);
    fillFree(at, n);
    region->map().clearBlock(g, n);
    region->spans.pierce(g);
    giveBack(at, n);
}

void Heap::endQuarantine() {
    const Telling telling(*this);
    os::Locked locked(lock_);
    while (void* block = quarantine_.take()) {
        endQuarantine(block);
    }
}

} // namespace mpr::heap
