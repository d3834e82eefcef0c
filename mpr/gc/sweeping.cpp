// SPDX-License-Identifier: MIT
/*
    sweeping.cpp - Managers free, and the heap is swept.
 */
#include "mpr/gc/sweeping.hpp"

#include <bit>

#include "mpr/gc/guard.hpp"
#include "mpr/gc/manager.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::Region;
namespace swar = heap::swar;

namespace {
/** How many chunks are looked through, at most, for a manager to call: a thread that stops does this in its pause. */
constexpr unsigned mostLooks = 32;
} // namespace

bool Sweeping::hasFinalizers() const {
    cycle_.assertOnDuty();
    unsigned looks = 0;
    for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
        for (std::uint64_t chunks = region->scanForFree; chunks != 0; chunks &= chunks - 1) {
            swar::Row found{};
            const auto doomed = [&found, dead = heap::Heap::DeadHeads(heap_)](std::size_t, auto words) {
                found |= swar::wantFree(words) & dead(words);
                return words ^ words;
            };
            region->forEach(static_cast<unsigned>(std::countr_zero(chunks)), doomed, [](std::size_t) {});
            if (swar::any(found) || ++looks > mostLooks) {
                return true;
            }
        }
    }
    return false;
}

std::uint64_t Sweeping::finalize(bool everything) {
    const os::Total calls = stats_.freeCalls.load(std::memory_order_relaxed);
    std::uint64_t took = 0;
    for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
        for (std::uint64_t chunks = region->scanForFree; chunks != 0; chunks &= chunks - 1) {
            took += finalizeIn(region, static_cast<unsigned>(std::countr_zero(chunks)), everything);
        }
    }
    if constexpr (os::hasThreads) {
        if (stats_.freeCalls.load(std::memory_order_relaxed) != calls && os::takeNoSignals()) {
            misuse("MPR_MANAGE_FREE", nullptr,
                   "a manager has left signals unblocked on the collector's thread; they are blocked again");
        }
    }
    return took;
}

/**
    Call the managers of dead blocks in a chunk. The map is read without the lock: dead blocks do not change, except by a
    manager that is called before theirs, which may resize or free them. So a head is looked at once more.
    @return Nanoseconds from the first call to the last.
 */
std::uint64_t Sweeping::finalizeIn(Region* region, unsigned chunk, bool everything) {
    swar::Row survivors{};
    const auto doomed = [&survivors, everything, dead = heap::Heap::DeadHeads(heap_)](std::size_t, auto words) {
        const auto wanting = swar::wantFree(words);
        const auto found = everything ? wanting : wanting & dead(words) & ~swar::held(words);
        survivors |= wanting ^ found;
        return found;
    };
    LastManager seen;
    std::uint64_t first = 0;
    region->forEach(chunk, doomed, [&](std::size_t g) {
        Byte* block = region->address(g);
        os::assertUnlocked();
        if (const Byte h = region->headAt(block); !Region::isBlock(h) || !heap::head::wantsFree(h)) [[unlikely]] {
            return;
        }
        if (const MprManager manager = seen.of(block, region->blockSize(g))) {
            first = first == 0 ? os::now() : first;
            stats_.freeCalls.fetch_add(1, std::memory_order_relaxed);
            manager(block, MPR_MANAGE_FREE);
            stats_.freeCalls.fetch_add(1, std::memory_order_relaxed);
        }
    });
    if (swar::any(survivors)) {
        region->noteWantsFree(std::size_t{chunk} << region->chunkShift);
    }
    return first == 0 ? 0 : os::now() - first;
}

void Sweeping::begin() {
    cycle_.assertOnDuty();
    stage_ = dead;
    region_ = heap_.firstRegion();
    at_ = 0;
    swept_ = {};
}

bool Sweeping::advance(std::uint64_t until) {
    cycle_.assertOnDuty();
    while (step()) {
        if (until != os::forever && os::now() >= until) {
            return false;
        }
    }
    return true;
}

/** Sweep for some ten microseconds. @return false when nothing is left. */
bool Sweeping::step() {
    cycle_.assertOnDuty();
    if (stage_ == leftOver) {
        if (heap_.reclaimSpan(false)) {
            return true;
        }
    } else if (region_) {
        if (!sweepRegion(region_)) {
            region_ = heap_.nextRegion(region_);
            at_ = 0;
        }
        return true;
    }
    if (stage_ == lines) {
        const heap::Annex* annex = cycle_.isMinor() ? nullptr : heap_.annex();
        return annex && annex->sweepSome(swept_.blocks);
    }
    stage_ = static_cast<Stage>(stage_ + 1);
    region_ = heap_.firstRegion();
    return true;
}

/** Sweep in a region. @return Whether something is left to do there at this stage. */
bool Sweeping::sweepRegion(Region* region) {
    constexpr unsigned fewSpans = 8;
    MPR_ASSERT(cycle_.phase() == Phase::sweeping);
    switch (stage_) {
    case dead: heap_.releaseDeadSpans(region, swept_); return false;
    case kept: return heap_.releaseKeptSpans(region, swept_, fewSpans);
    default: break;
    }
    if (region->isLarge()) {
        heap_.sweepLarge(region, swept_);
        return false;
    }
    if (at_ == 0) {
        for (std::size_t i = 0; i < region->lineWords(); ++i) {
            if (cycle_.isMinor()) {
                heap_.sweepYoungLines(region, i, swept_);
            }
            region->sweepYoung.clear(i);
        }
        at_ = region->firstGranule;
    }
    if (cycle_.isMinor() || at_ >= region->endGranule) {
        return false;
    }
    at_ = heap_.sweepSlice(region, at_, swept_);
    return true;
}

std::size_t Sweeping::end() {
    cycle_.assertOnDuty();
    heap_.endSweep();
    return swept_.blocks;
}

} // namespace mpr::gc
