// SPDX-License-Identifier: MIT
/*
    purge.cpp - Giving memory back to the system: retired large regions, empty regions, chunks inside holes.

    The holder of the collector's duty does this after a sweep, when idle, and at the redline. It never happens inside a
    free, and inside an allocation only when that would fail. The lock is not held across a system call: what is being
    purged is out of its queue and marked 7D.
*/
#include <algorithm>

#include "mpr/heap/holes.hpp"

namespace mpr::heap {

void Heap::purge(std::size_t keep) {
    if constexpr (!os::hasPages) {
        return;
    }
    const Telling telling(*this);
    endQuarantine(keep == 0);
    while (reclaimSpan(true)) {}
    for (const bool wholeRegions : {true, false}) {
        Region* next = nullptr;
        for (Region* region = firstRegion(); region; region = next) {
            next = nextRegion(region);
            if (wholeRegions) {
                releaseIfEmpty(region, keep);
            } else if (!region->isLarge()) {
                purgeRegion(region, keep);
            }
        }
    }
}

/** Give up a large region whose block is gone, or an ordinary one that is a single hole. */
bool Heap::releaseIfEmpty(Region* region, std::size_t keep) {
    const bool large = region->isLarge();
    {
        os::Locked locked(lock_);
        const std::size_t first = region->firstGranule;
        const Byte b = region->map().get(first);
        if (large) {
            if (b != 0) {
                if (Region::isBlock(b) && freeBytesLocked() >= keep + slackOf(region)) {
                    releaseSlack(region);
                }
                return false;
            }
            forgetCommitted(region);
        } else {
            const std::size_t all = region->endGranule - first;
            const std::size_t bytes = region->bytesOf(region->committed);
            const bool only = regions_ == region && !region->next;
            if (region->origin == Origin::buffer || only || !GranuleMap::beginsHole(b) ||
                region->holeSize(first) != all || limits_.committed() - bytes < reserve_ ||
                freeBytesLocked() < keep + bytes) {
                return false;
            }
            unlink(region, first, all);
            limits_.uncommit(bytes);
            discharge(bytes);
            forgetSpans(region);
        }
        totals_.purgedBytes += region->length;
        table_.remove(region);
        delist(region);
        if (LinkRange::suffices && !large && linkRange_.endsWith(region, region->length)) {
            fitLinkRange();
        }
    }
    poison::allow(region, region->length);
    // A large region stays readable in its first page, which has the map; others as a whole, so that no address is
    // reused.
    gone_.add(region, large ? os::pageSize() : region->length, region->length);
    return true;
}

/** Decommit chunks inside the holes of a region until little enough is kept. */
void Heap::purgeRegion(Region* region, std::size_t keep) {
    const GranuleMap map = region->map();
    std::size_t at = region->firstGranule & ~std::size_t{swar::bytes - 1};
    while (at < region->endGranule) {
        std::size_t g = 0;
        std::size_t n = 0;
        std::uint64_t chunks = 0;
        {
            os::Locked locked(lock_);
            const std::size_t sliceEnd = std::min(at + sliceGranules, std::size_t{region->endGranule});
            while (at < sliceEnd && chunks == 0) {
                // Holes are boundaries that are not heads.
                const swar::Word word = map.word(at);
                swar::Word marks = swar::boundaries(word) & ~swar::heads(word);
                std::size_t next = at + swar::bytes;
                for (; marks != 0 && chunks == 0; marks &= marks - 1) {
                    g = at + swar::first(marks);
                    if (map.get(g) != mark::hole || g >= region->endGranule || !region->agreedHoleSize(g, n)) {
                        continue;
                    }
                    // The first two granules stay: see Region.
                    chunks = region->chunksInside(g + 2, g + n) & region->committed;
                    next = (g + n) & ~std::size_t{swar::bytes - 1};
                    if (next <= at) {
                        next = at + swar::bytes;
                    }
                }
                at = next;
            }
            if (chunks == 0) {
                continue;
            }
            if (freeBytesLocked() <= keep || limits_.committed() <= reserve_) {
                return;
            }
            unlink(region, g, n);
            map.setBlockSize(g, n);
            map.set(g, mark::opaque);
        }
        const std::size_t bytes = region->bytesOf(chunks);
        if (region->origin == Origin::system) {
            forRuns(chunks, [&](unsigned first, unsigned count) {
                os::decommit(reinterpret_cast<Byte*>(region) + first * region->chunkBytes(),
                             count * region->chunkBytes());
            });
        }
        os::Locked locked(lock_);
        totals_.purgedBytes += region->origin == Origin::system ? bytes : 0;
        map.clearBlock(g, n);
        region->committed &= ~chunks;
        limits_.uncommit(bytes);
        discharge(bytes);
        giveBackAnyhow(region, g, n); // what is rare takes no code of its own
    }
}

} // namespace mpr::heap
