// SPDX-License-Identifier: MIT
/*
    verify.cpp - The heap walk: every invariant of map.hpp, region.hpp and queues.hpp, checked against the memory.
*/
#include <algorithm>

#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"
#include "mpr/os/pages.hpp"

namespace mpr::heap {

/** A friend of the heap that looks at everything and changes nothing. */
class Verifier {
public:
    explicit Verifier(Heap& heap) : heap_(heap) {}

    int run() MPR_REQUIRES(heap_.lock_) {
        for (Region* region = heap_.regions_; region; region = region->next) {
            if (region->isLarge()) {
                const Byte b = region->map().get(region->firstGranule);
                granulesInUse_ += (b & head::inUse) ? region->largeGranules : 0;
                committed_ += (b & head::inUse) || region->largeGranules > 0 ? region->length : 0;
            } else {
                walk(*region);
                committed_ += os::hasPages ? region->bytesOf(region->committed) : 0;
            }
            if (os::isHosted() && region->origin != Origin::buffer) {
                askHost(*region);
            }
        }
        if constexpr (!os::hasPages) {
            committed_ = heap_.totals_.overheadBytes + (granulesInUse_ << granuleShift);
        }
        for (unsigned sort = 0; sort < sorts; ++sort) {
            checkQueues(heap_.queues_[sort], static_cast<Sort>(sort));
        }
        check(queued_ == holes_, "holes in the map and holes in the queues differ in number", nullptr);
        check(committed_ + heap_.serving_.lent == heap_.limits_.committed(), "committed chunks and the account differ",
              nullptr);
        if constexpr (!os::hasPages) {
            return defects_; // one account for both
        }
        std::size_t accounted = heap_.totals_.granulesInUse();
        for (const Local* local = heap_.locals_; local; local = local->next) {
            accounted += local->takenGranules.get();
            accounted -= local->freedGranules.get();
        }
        check(accounted == granulesInUse_, "granules in use and the account differ", nullptr);
        return defects_;
    }

    /** Whether the queues are intact: neither a hole's link nor a bit of the bitmaps was overwritten. */
    bool queuesAgree() const { return queuesAgree_; }

private:
    friend class Heap;

    void check(bool right, const char* what, const void* where) {
        if (!right) {
            ++defects_;
            heap_.nameDefect(what, where);
        }
    }

    /** What is committed for the heap is it for the host, too. */
    void askHost(const Region& region) {
        const auto* const base = reinterpret_cast<const Byte*>(&region);
        if (region.isLarge()) {
            const bool whole = region.largeGranules > 0;
            return askHost(base, whole ? region.length : os::pageSize());
        }
        forRuns(region.committed, [&](unsigned first, unsigned count) {
            const std::size_t begin = first * region.chunkBytes();
            askHost(base + begin, std::min(count * region.chunkBytes(), region.length - begin));
        });
    }
    void askHost(const Byte* at, std::size_t size) {
        if constexpr (!os::hasPages) {
            return;
        }
        for (const Byte* const end = at + size; at < end;) {
            constexpr int usable = MPR_MAP_READ | MPR_MAP_WRITE;
            MprPages pages;
            if (!os::queryPages(at, pages)) {
                return; // it does not know
            }
            const Byte* const next = static_cast<const Byte*>(pages.base) + pages.size;
            const bool agrees = pages.reserved && pages.committed && (pages.mode & usable) == usable && next > at;
            check(agrees, "the host says of committed pages that they are not", at);
            if (!agrees) {
                return;
            }
            at = next;
        }
    }

    /** Granules from g to the end of the context that begins or continues there, 0 if none does. */
    std::size_t contextRoom(Region& region, std::size_t g) const {
        os::assertHeld(heap_.lock_);
        for (const Local* local = heap_.locals_; local; local = local->next) {
            for (const AllocationContext& c : local->contexts) {
                if (c.region == &region && c.bump == region.address(g) && c.rest() > 0) {
                    return c.rest();
                }
            }
            for (unsigned i = 0; i < local->remainderCount; ++i) {
                const Remainder& r = local->remainders[i];
                if (r.begin == region.address(g)) {
                    return static_cast<std::size_t>(r.end - r.begin) >> granuleShift;
                }
            }
        }
        return 0;
    }

    /** Granules from g on in a span that are in no block; 0 if none. @param counts Set when they count as in use. */
    static std::size_t spanRoom(Region& region, std::size_t g, bool& counts) {
        if constexpr (os::hasPages) {
            const Spans& spans = region.spans;
            const std::uint64_t bit = std::uint64_t{1} << (spans.indexOf(g) & 63);
            counts = (spans.sparse & bit) == 0;
            if (((spans.filling | spans.judged | spans.sparse | spans.retiring) & bit) != 0) {
                return region.map().zerosEnd(g, spans.cleared(spans.indexOf(g))) - g;
            }
        }
        return 0;
    }

    void walk(Region& region) {
        const GranuleMap map = region.map();
        bool afterHole = false;
        check(map.get(region.endGranule) == mark::opaque, "a region's end is not marked", region.address(0));
        for (std::size_t g = region.firstGranule; g < region.endGranule;) {
            if (region.spans.isUncleared(g)) {
                const std::size_t end = region.spans.endOf(g);
                granulesInUse_ += region.spans.isStale(region.spans.indexOf(g)) ? 0 : end - g;
                g = end;
                afterHole = false;
                continue;
            }
            const Byte b = map.get(g);
            std::size_t n = 0; // damage may have it lead out of the region
            const auto within = [&] { return n > 0 && n <= region.endGranule - g; };
            bool hole = false;
            if (b & head::inUse) {
                n = map.blockSize(g);
                granulesInUse_ += n;
                checkInterior(region, g, n, GranuleMap::byteOfBlock);
                check(!within() || (region.chunksTouched(g, g + n) & ~region.committed) == 0,
                      "a block's chunk is not committed", region.address(g));
            } else if (b == mark::opaque && region.spans.isWalked(g) && g == region.spans.beginOf(g)) {
                n = 1; // a span's fence
                ++granulesInUse_;
            } else if (b == mark::opaque) {
                n = map.blockSize(g); // quick-listed: free in the account
                checkInterior(region, g, n, GranuleMap::byteOfBlock);
            } else if (GranuleMap::beginsHole(b)) {
                hole = true;
                n = region.holeSize(g);
                ++holes_;
                check(!afterHole, "two holes are neighbours", region.address(g));
                check(within() && map.holeSizeBefore(g + n - 1) == n, "a hole's two ends disagree", region.address(g));
                if constexpr (GranuleMap::sizesInMap) {
                    checkInterior(region, g, n, GranuleMap::byteOfHole);
                }
            } else {
                n = contextRoom(region, g);
                bool counts = true;
                n = n > 0 ? n : spanRoom(region, g, counts);
                granulesInUse_ += counts ? n : 0;
                check(n > 0, "a granule belongs to nothing", region.address(g));
            }
            afterHole = hole;
            if (!within()) {
                check(false, "a size leads out of the region", region.address(g));
                return;
            }
            g += n;
        }
    }

    /**
        Check the map bytes inside a block or hole. @param expected The function of GranuleMap that says what stands
        where.
     */
    void checkInterior(Region& region, std::size_t g, std::size_t n,
                       Byte (*expected)(Byte*, std::size_t, std::size_t)) {
        const GranuleMap map = region.map();
        const std::size_t end = std::min(g + n, std::size_t{region.endGranule});
        for (std::size_t at = g; (at = map.zerosEnd(at + 1, end)) < end;) {
            const Byte b = map.get(at);
            if (os::hasThreads ? b != expected(map.at(g), n, at - g) : b >= mark::hole) {
                check(false,
                      b >= mark::hole ? "a boundary inside something else" : "the map was overwritten inside something",
                      region.address(at));
                return;
            }
        }
    }

    void checkQueues(FreeQueues& queues, Sort sort) {
        const bool bitsAgree = queues.bitsAgree();
        check(bitsAgree, "a queue's bitmap disagrees with its lists", nullptr);
        const auto isHole = [this](const void* address) { return heap_.isHole(address); };
        const auto look = [&](const Hole* hole, unsigned queue) {
            ++queued_;
            Region* region = heap_.table_.find(hole);
            const std::size_t g = region->granuleOf(hole);
            const std::size_t n = region->holeSize(g);
            check(FreeQueues::inRange(n, queue), "a hole stands in the wrong queue", hole);
            const bool backed = (region->chunksTouched(g, g + n) & ~region->committed) == 0;
            check(region->sort == sort, "a hole stands in the queue of another sort", hole);
            check(backed == FreeQueues::isWarm(queue), "a hole is warm or cold in the wrong queue", hole);
            check(region->allCommitted(g, g + std::min<std::size_t>(n, 2)), "a hole's links are not committed", hole);
        };
        const bool linksAgree = queues.forEach(look, isHole);
        check(linksAgree, "a hole in a queue is none in the map, or not linked both ways", nullptr);
        queuesAgree_ &= bitsAgree && linksAgree;
    }

    Heap& heap_;
    std::size_t granulesInUse_ = 0;
    std::size_t committed_ = 0;
    std::size_t holes_ = 0;
    std::size_t queued_ = 0;
    int defects_ = 0;
    bool queuesAgree_ = true;
};

int Heap::verify() {
    os::Locked clearing(clearing_);
    os::Locked locked(lock_);
    Verifier verifier(*this);
    os::assertHeld(verifier.heap_.lock_); // which the analysis does not know by that name
    const int defects = verifier.run();
    if (!verifier.queuesAgree()) {
        requeue(nullptr);
    }
    return defects;
}

void Heap::forEachBlock(void (*visit)(void* context, Byte* block, std::size_t n, Byte h), void* context) {
    if (const Annex* others = annex(); os::hasPages && others) {
        others->forEachBlock(visit, context);
    }
    os::Locked clearing(clearing_); // both, for threads that are not attached and free permanent memory
    os::Locked locked(lock_);
    const auto heads = [](std::size_t, auto words) { return swar::heads(words); };
    for (Region* region = regions_; region; region = region->next) {
        for (unsigned chunk = 0; chunk < region->chunkCount(); ++chunk) {
            region->forEach(chunk, heads, [&](std::size_t g) {
                visit(context, region->address(g), region->blockSize(g), region->map().get(g));
            });
        }
    }
}

} // namespace mpr::heap
