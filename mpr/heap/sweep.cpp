/*
    sweep.cpp - The heap's part in a collection: contexts closed, colours flipped, dead blocks turned into holes.

    The sweep reads the map only, a word at a time, in slices under the lock, while mutators run. It finds runs of dead
    blocks and holes; a run becomes one hole. What mutators do meanwhile cannot confuse it: new blocks have the newborn
    colour, which is live; a block freed by hand becomes a hole (under the lock) or 7D, both of which end a run.
*/
#include <algorithm>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

void Heap::beginMarking() {
    os::Locked locked(lock_);
    colours_.youngParity ^= 1;
    colours_.oldParity ^= 1;
    for (Local* local = locals_; local; local = local->next) {
        closeContexts(*local);
        local->newborn = colours_.newborn();
        totals_.blocksAllocated += local->blocks.take();
        totals_.blocksFreed += local->freedBlocks.take();
        totals_.granulesFreed += local->freedGranules.take();
        totals_.granulesAllocated += local->takenGranules.take();
    }
    since_ = 0;
    budgetSpent_ = false;
    for (Region* region = regions_; region; region = region->next) {
        region->scanForFree = region->wantsFree.exchange(0, std::memory_order_relaxed);
    }
}

Region* Heap::firstRegion() {
    os::Locked locked(lock_);
    return regions_;
}

Region* Heap::nextRegion(Region* region) {
    os::Locked locked(lock_);
    return region->next;
}

namespace {

/** All bits of bytes at index i and above. */
swar::Word from(std::size_t i) {
    return ~swar::Word{0} << (8 * i);
}

/** Where to look on after a word with nothing dead in it: behind the last hole that begins there. */
std::size_t afterHoles(GranuleMap map, std::size_t at, swar::Word word) {
    const swar::Word marks = swar::boundaries(word) & ~swar::heads(word);
    if (marks != 0) {
        const std::size_t g = at + swar::last(marks);
        if (map.get(g) == mark::hole) {
            return std::max(at + swar::bytes, (g + map.holeSize(g)) & ~std::size_t{swar::bytes - 1});
        }
    }
    return at + swar::bytes;
}

/** A held block that was not reached stays, as if newborn; its old colour would mean "marked" next time. */
void recolourHeld(GranuleMap map, std::size_t at, swar::Word held, Colours colours) {
    for (; held != 0; held &= held - 1) {
        const std::size_t g = at + swar::first(held);
        map.set(g, static_cast<Byte>((map.get(g) & ~head::colourMask) | colours.newborn()));
    }
}
} // namespace

/**
    A dead block begins at g, or else a boundary is there: clear the map of it and of the dead blocks behind it, jumping from
    the last one that begins in a word to its end. @return where that stops: at another boundary, or past sliceEnd.
 */
std::size_t Heap::clearDead(GranuleMap map, std::size_t g, std::size_t sliceEnd, Swept& swept) const {
    while (g < sliceEnd) {
        const std::size_t at = g & ~std::size_t{swar::bytes - 1};
        const swar::Word word = map.word(at);
        swar::Word dead = swar::unmarked(word, colours_) & ~swar::held(word) & from(g - at);
        const swar::Word other = swar::boundaries(word) & from(g - at) & ~dead;
        if (other != 0) {
            dead &= (other & (~other + 1)) - 1; // those before it
        }
        // Dead, and right here: behind a hole may lie the unused part of a context, and dead blocks only behind that.
        if ((dead >> (8 * (g - at)) & 1) == 0) {
            return g;
        }
        // The map was written by another core: ask for what comes next while this word is worked on.
        __builtin_prefetch(map.at(g) + 2 * os::cacheLine, 1);
        swept.blocks += swar::count(dead);
        const std::size_t last = at + swar::last(dead);
        const std::size_t next = last + map.blockSize(last);
        if (other == 0 && g == at) {
            map.clearWord(at);
            map.clearSizeBeyond(last, next - last, at + swar::bytes);
        } else {
            // A mutator may be writing to the rest of this word.
            map.clearBlock(last, next - last);
            for (; g < last; ++g) {
                map.set(g, 0);
            }
        }
        g = next;
        if (other != 0) {
            return g;
        }
    }
    return g;
}

/**
    A dead block begins at g: make the run of dead blocks and holes from here on one hole.
    Goes on past sliceEnd only to the end of the block or hole that lies there. @return the run's end.
 */
std::size_t Heap::sweepRun(Region* region, std::size_t g, std::size_t sliceEnd, Swept& swept) {
    const GranuleMap map = region->map();
    std::size_t end = g;
    std::size_t holes = 0;
    for (bool more = true; more;) {
        end = clearDead(map, end, sliceEnd, swept);
        more = false;
        if (GranuleMap::beginsHole(map.get(end))) {
            const std::size_t size = map.holeSize(end);
            unlink(region, end, size);
            holes += size;
            end += size;
            more = end < sliceEnd;
        }
    }
    totals_.granulesFreed += end - g - holes;
    giveBack(region, g, end - g);
    return end;
}

std::size_t Heap::sweepSlice(Region* region, std::size_t start, Swept& swept) {
    os::Locked locked(lock_);
    const GranuleMap map = region->map();
    const std::size_t before = swept.blocks;
    // Slices are whole words, so that what is dead in a word belongs to one slice.
    std::size_t at = start & ~std::size_t{swar::bytes - 1};
    const std::size_t sliceEnd = std::min(at + sliceGranules, std::size_t{region->endGranule});
    while ((at = map.skipZeros(at, sliceEnd)) < sliceEnd) {
        const swar::Word word = map.word(at);
        swar::Word dead = swar::unmarked(word, colours_);
        const swar::Word held = dead & swar::held(word);
        if (held != 0) {
            recolourHeld(map, at, held, colours_);
            dead &= ~held;
        }
        if (dead == 0) {
            at = afterHoles(map, at, word);
            continue;
        }
        const std::size_t end = sweepRun(region, at + swar::first(dead), sliceEnd, swept);
        at = end & ~std::size_t{swar::bytes - 1};
    }
    totals_.blocksFreed += swept.blocks - before;
    return at;
}

void Heap::sweepLarge(Region* region, Swept& swept) {
    os::Locked locked(lock_);
    const std::size_t g = region->firstGranule;
    const Byte h = region->map().get(g);
    if ((h & head::inUse) == 0 || colours_.live(h)) {
        return;
    }
    if (h & head::held) {
        recolourHeld(region->map(), g, 1, colours_);
        return;
    }
    ++swept.blocks;
    ++totals_.blocksFreed;
    totals_.granulesFreed += region->largeGranules;
    retire(region);
}

} // namespace mpr::heap
