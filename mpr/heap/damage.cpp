// SPDX-License-Identifier: MIT
/*
    damage.cpp - Naming what a program has overwritten in free memory, and repairing it from the map, which writes to
    freed memory cannot reach.
*/
#include "mpr/heap/holes.hpp"
#include "mpr/os/log.hpp"

namespace mpr::heap {

bool Heap::isHole(const void* address) const {
    Region* region = table_.candidate(address);
    const std::size_t g = region ? region->indexOf(address) : 0;
    return region && g < region->endGranule && GranuleMap::beginsHole(region->map().get(g));
}

namespace {

/** Call f(hole), an Extent, for each hole in the map of these regions whose ends agree. */
template <typename F>
void forHoles(Region* regions, F&& f) {
    for (Region* region = regions; region; region = region->next) {
        const GranuleMap map = region->map();
        for (std::size_t g = region->firstGranule; !region->isLarge() && g < region->endGranule; ++g) {
            if (region->spans.isUncleared(g)) { // what stands there is of an earlier life
                g = region->spans.endOf(g) - 1;
                continue;
            }
            if (GranuleMap::beginsHole(map.get(g))) {
                std::size_t n = 0;
                if (region->agreedHoleSize(g, n)) {
                    f(Extent{{region, g}, n});
                }
            }
        }
    }
}
} // namespace

/**
    A link does not lead where it should: name the holes that were written to, and rebuild all queues from the map. This
    takes time in proportion to the heap, and happens only in a program that has gone wrong.
    @param without A hole that the caller is about to take, or nullptr.
 */
[[gnu::cold, gnu::noinline]] void Heap::requeue(const Hole* without) {
    os::assertHeld(lock_);
    if constexpr (FreeQueues::checksLinks) {
        const auto isHoleAt = [this](const void* address) { return isHole(address); };
        bool named = false;
        forHoles(regions_, [&](Extent there) {
            const Hole* hole = holeAt(there.at);
            if (!queuesOf(there.at.region).linksLead(hole, isHoleAt)) {
                nameDamage(hole);
                named = true;
            }
        });
        if (!named && without) {
            nameDamage(without);
        }
        for (FreeQueues& queues : queues_) {
            queues.open(secret_);
        }
        forHoles(regions_, [&](Extent there) {
            Hole* hole = holeAt(there.at);
            if (hole != without) {
                queuesOf(there.at.region).push(hole, there.size, isBacked(there.at, there.size));
            }
        });
    }
}

[[gnu::cold, gnu::noinline]] void Heap::requeueWithoutUnsound(const void* hole) {
    os::assertHeld(lock_);
    nameDamage(hole, "a queue does not begin with free memory whose two ends agree, but");
    requeue(nullptr);
}

void Heap::nameDamage(const Hole* hole) {
    damages_.fetch_add(1, std::memory_order_relaxed);
    Region* region = regionOf(hole);
    note({.kind = Finding::Kind::hole,
          .where = hole,
          .bytes = region->holeSize(region->granuleOf(hole)) << granuleShift});
}

/** Name damage of the heap's own data, by a stray pointer or faulty memory. */
[[gnu::cold, gnu::noinline]] void Heap::nameDamage(const void* where, const char* what) {
    damages_.fetch_add(1, std::memory_order_relaxed);
    note({.where = where, .what = what});
}

[[gnu::cold, gnu::noinline]] void Heap::nameMapDamage(const void* where) {
    damages_.fetch_add(1, std::memory_order_relaxed);
    note({.kind = Finding::Kind::ends, .where = where});
}

/**
    Note a finding. It is said when the lock is released (findings.hpp), or else by the next allocation that is not
    quick.
 */
void Heap::note(const Finding& finding) {
    findings_.add(finding);
    wantAttention();
}

/** Name a defect that a verification finds. Without threads only those are looked for, and they are said at once. */
void Heap::nameDefect(const char* what, const void* where) {
    if constexpr (os::hasThreads) {
        return note({.where = where, .what = what});
    }
    os::Message message;
    os::log(os::Level::error, message << "heap defect: " << what << " at " << where);
}

void Heap::say(const Finding& finding) {
    os::Message message;
    switch (finding.kind) {
    case Finding::Kind::hole:
        message << "write after free: " << finding.where << ", in " << std::uint64_t{finding.bytes}
                << " bytes of free memory, was written to";
        break;
    case Finding::Kind::ends:
        message << "heap defect: the two ends of the free memory at " << finding.where
                << " disagree; it is not joined with its neighbour";
        break;
    case Finding::Kind::freeBlock:
        message << "write after free: " << finding.where << ", in a block " << finding.block << " of "
                << std::uint64_t{finding.bytes} << " bytes that is free, was written to";
        break;
    case Finding::Kind::listedBlock:
        message << "write after free: block " << finding.where << " of " << std::uint64_t{finding.bytes}
                << " bytes; it is not used again";
        break;
    case Finding::Kind::defect: message << "heap defect: " << finding.what << " at " << finding.where; break;
    }
    os::log(os::Level::error, message);
    os::afterMistake();
}

void Heap::tell() {
    if constexpr (os::hasThreads) {
        if (os::isLogging()) {
            return; // the caller of the handler continues when it returns
        }
        Finding finding;
        unsigned missed = 0;
        while (findings_.take(finding, missed)) {
            say(finding);
        }
        if (missed > 0) {
            os::Message message;
            os::log(os::Level::error, message << "heap: " << missed << " more findings of this kind");
        }
    }
}

/**
    If the next block of a quick list was written to, set it aside for ever: whoever wrote there may do so again.
    @return Whether it was.
 */
[[gnu::cold, gnu::noinline]] bool Heap::setDamagedAside(Local& local, std::size_t n) {
    void* block = local.quick.front(n);
    if (QuickLists::isIntact(block, secret_)) {
        return false;
    }
    local.quick.pop(n);
    damages_.fetch_add(1, std::memory_order_relaxed);
    Region* region = table_.find(block);
    region->spans.pierce(region->granuleOf(block));
    note({.kind = Finding::Kind::listedBlock, .where = block, .bytes = n << granuleShift});
    return true;
}

} // namespace mpr::heap
