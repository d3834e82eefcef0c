/*
    damage.cpp - What a program has overwritten in free memory: named, and made good from the map, which it cannot reach by
    writing to what it has freed.
*/
#include "mpr/heap/holes.hpp"
#include "mpr/os/log.hpp"

namespace mpr::heap {

bool Heap::isHoleElsewhere(const void* address) const {
    Region* region = table_.candidate(address);
    const std::size_t g = region ? region->indexOf(address) : 0;
    return region && g < region->endGranule && GranuleMap::beginsHole(region->map().get(g));
}

namespace {

/** Call f(region, g, n) for each hole in the map of these regions whose ends agree. */
template <typename F>
void forHoles(Region* regions, F&& f) {
    for (Region* region = regions; region; region = region->next) {
        const GranuleMap map = region->map();
        for (std::size_t g = region->firstGranule; !region->isLarge() && g < region->endGranule; ++g) {
            if (GranuleMap::beginsHole(map.get(g))) {
                const std::size_t n = region->holeSize(g);
                if (g + n <= region->endGranule && map.holeSizeBefore(g + n - 1) == n) {
                    f(region, g, n);
                }
            }
        }
    }
}
} // namespace

/**
    A link does not lead where it should: name the holes that were written to, and make all queues anew from the map.
    It takes as long as there is memory, and happens in a program that has gone wrong.
    @param without A hole that the caller is about to take, or nullptr.
 */
[[gnu::cold, gnu::noinline]] void Heap::requeue(const Hole* without) {
    os::assertHeld(lock_);
    if constexpr (FreeQueues::checksLinks) {
        bool named = false;
        forHoles(regions_, [&](Region* region, std::size_t g, std::size_t) {
            const auto* hole = reinterpret_cast<const Hole*>(region->address(g));
            if (!queuesOf(region).linksLead(hole, IsHole{*this, region})) {
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
        forHoles(regions_, [&](Region* region, std::size_t g, std::size_t n) {
            auto* hole = reinterpret_cast<Hole*>(region->address(g));
            if (hole != without) {
                queuesOf(region).push(hole, n, isBacked(region, g, n));
            }
        });
    }
}

void Heap::nameDamage(const Hole* hole) {
    damages_.fetch_add(1, std::memory_order_relaxed);
    Region* region = regionOf(hole);
    os::Message message;
    os::log(os::Level::error, message << "write after free: " << static_cast<const void*>(hole) << ", in "
                                      << std::uint64_t{region->holeSize(region->granuleOf(hole)) << granuleShift}
                                      << " bytes of free memory, was written to");
}

[[gnu::cold, gnu::noinline]] void Heap::nameMapDamage(const void* where) {
    damages_.fetch_add(1, std::memory_order_relaxed);
    os::Message message;
    os::log(os::Level::error, message << "heap defect: the two ends of the free memory at " << where
                                      << " disagree; it is not joined with its neighbour");
}

/**
    If the next block of a list was written to: whoever did may do so again, so nobody gets the block any more.
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
    region->nurseries.pierce(region->granuleOf(block));
    os::Message message;
    os::log(os::Level::error, message << "write after free: block " << static_cast<const void*>(block) << " of "
                                      << std::uint64_t{n << granuleShift} << " bytes; it is not used again");
    return true;
}

} // namespace mpr::heap
