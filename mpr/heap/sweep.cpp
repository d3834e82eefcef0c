// SPDX-License-Identifier: MIT
/*
    sweep.cpp - The heap's part in a collection: contexts closed, colours flipped, dead blocks turned into holes.

    The sweep of a minor collection looks only at lines where something was allocated since the previous rendezvous.

    The sweep reads only the map, a word at a time, in slices under the lock, while mutators run. It finds runs of dead
    blocks and holes, and makes each run one hole. Mutators cannot confuse it meanwhile: new blocks have the newborn
    colour, which is live, and a block freed by hand becomes a hole (under the lock) or 7D, both of which end a run.
*/
#include <algorithm>
#include <utility>

#include "mpr/heap/holes.hpp"

namespace mpr::heap {

void Heap::check() {
    os::assertHeld(lock_);
    for (const FreeQueues& queues : queues_) {
        queues.check();
    }
    for (const Local* local = locals_; local; local = local->next) {
        MPR_ASSERT((local->previous ? local->previous->next : locals_) == local);
        local->quick.check();
    }
    for (Region* region = regions_; region; region = region->next) {
        region->check();
    }
}

void Heap::beginMarking() {
    const Telling telling(*this);
    os::Locked locked(lock_);
    if constexpr (os::hasPages) {
        if (!fixed()) {
            checkHeaders();
        }
    }
    if constexpr (os::checked) {
        static unsigned turn; // under the lock
        if (turn++ % 16 == 0) {
            check();
        }
    }
    state_.unmarkYoung();
    if constexpr (os::hasThreads) {
        allocating_ = 0;
    }
    for (Local* local = locals_; os::hasThreads && local; local = local->next) {
        allocating_ += closeContexts(*local);
        local->newborn = state_.colours().newborn();
        takeCounts(*local);
    }
    gone_.seal();
    if constexpr (!os::hasPages) {
        totals_.granulesAllocated += trigger_.since();
    }
    trigger_.begin();
    if constexpr (!os::hasThreads) {
        return; // no lines, no quick lists
    }
    fitContexts();
    lifetimes_.judge();
    for (Region* region = regions_; region; region = region->next) {
        std::swap(region->young, region->sweepYoung); // the other was emptied by the last sweep
        if constexpr (os::hasPages) {
            region->spans.judged = std::exchange(region->spans.filling, 0);
        }
    }
    // Blocks in quick lists will be reused where they lie.
    for (Local* local = locals_; local; local = local->next) {
        local->quick.forEach([this](const QuickLists::Slot& slot) {
            Region* region = table_.find(slot.block);
            region->young.add(region->granuleOf(slot.block));
            region->spans.keep(region->granuleOf(slot.block));
        });
        leaveOver(*local);
    }
}

void Heap::unmarkOld() {
    os::Locked locked(lock_);
    state_.unmarkOld();
}

void Heap::unmarkAll() {
    beginMarking();
    const os::Locked locked(lock_);
    endLives();
    const auto parity = static_cast<Byte>(state_.colours().oldParity ^ head::parity);
    for (Region* region = regions_; region; region = region->next) {
        for (unsigned chunk = 0; chunk < region->chunkCount(); ++chunk) {
            const auto answer = [](std::size_t, auto words) { return swar::old(words); };
            region->forEach(chunk, answer, [&](std::size_t g) {
                const GranuleMap map = region->map();
                map.set(g, static_cast<Byte>((map.get(g) & ~head::parity) | parity));
            });
        }
    }
}

/** The chunks with young lines. */
static std::uint64_t youngChunks(const Region* region) {
    if (region->isLarge()) {
        return 1;
    }
    std::uint64_t chunks = 0;
    for (std::size_t i = 0; i < region->lineWords(); ++i) {
        LineSet::forRanges(i, region->sweepYoung.word(i), [&](std::size_t from, std::size_t to) {
            chunks |= region->chunksTouched(from, std::min(to, std::size_t{region->endGranule}));
        });
    }
    return chunks;
}

void Heap::beginSweep(Sweep sweep) {
    os::Locked locked(lock_);
    state_.setSweep(sweep);
    for (Region* region = regions_; os::hasThreads && region; region = region->next) {
        if constexpr (os::hasPages) {
            judgeSparse(region);
        }
        region->scanForFree = sweep == Sweep::all ? region->wantsFree.take() : region->wantsFree.get();
        if (sweep == Sweep::young && region->scanForFree != 0) {
            region->scanForFree &= youngChunks(region);
        }
    }
    state_.refresh();
}

void Heap::retainDead() {
    os::Locked locked(lock_);
    for (Region* region = regions_; region; region = region->next) {
        for (unsigned chunk = 0; chunk < region->chunkCount(); ++chunk) {
            const auto answer = [dead = DeadHeads(*this)](std::size_t, auto words) { return dead(words); };
            region->forEach(chunk, answer, [&](std::size_t g) {
                const Byte h = region->map().get(g);
                if (Region::isBlock(h)) {
                    region->map().set(g, state_.colours().survivor(h));
                    region->spans.keep(g);
                }
            });
        }
    }
}

void Heap::endSweep() {
    if constexpr (!os::hasPages) {
        if (const Annex* others = annex()) {
            others->sweep();
        }
    }
    {
        os::Locked locked(lock_);
        const bool all = state_.sweep() == Sweep::all;
        scattered_.setSweptAll(all);
        if constexpr (os::hasPages) {
            limits_.swept(freeBytesLocked(), all);
        }
        haveTold();
        state_.setSweep(Sweep::none);
        state_.refresh();
    }
    gone_.releaseSealed();
}

void Heap::setTracing(bool on) {
    os::Locked locked(lock_);
    state_.setTracing(on);
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

/** Where to continue after a word with nothing dead in it: behind the last hole that begins there, if it is long. */
std::size_t afterHoles(Region* region, std::size_t at, swar::Word word) {
    const swar::Word marks = swar::boundaries(word) & ~swar::heads(word);
    if (marks != 0) {
        const std::size_t g = at + swar::last(marks);
        std::size_t n = 0;
        if (region->map().isLongHole(g) && region->agreedHoleSize(g, n)) {
            return (g + n) & ~std::size_t{swar::bytes - 1};
        }
    }
    return at + swar::bytes;
}

} // namespace

/**
    Keep held blocks that were not reached. A leaf grows old, so that it need not be looked at again. Any other block
    stays young, since an old block is one whose references have been traced.
 */
void Heap::keepHeld(Region* region, std::size_t at, swar::Word held) const {
    for (; held != 0; held &= held - 1) {
        const std::size_t g = at + swar::first(held);
        const Byte h = region->map().get(g);
        if (!os::hasGenerations || head::isLeaf(h)) {
            region->map().set(g, state_.colours().survivor(h));
        } else {
            region->map().set(g, static_cast<Byte>((h & ~head::colourMask) | state_.colours().newborn()));
            region->noteYoung(g);
        }
    }
}

/**
    If a dead block begins at g, clear it and the dead blocks behind it from the map. The walk jumps from the last block
    that begins in a word to its end. @return Where it stops: at another boundary, or past sliceEnd.
 */
std::size_t Heap::clearDead(GranuleMap map, std::size_t g, std::size_t sliceEnd, Swept& swept) const {
    const DeadHeads deadHeads(*this);
    while (g < sliceEnd) {
        const std::size_t at = g & ~std::size_t{swar::bytes - 1};
        const swar::Word word = map.word(at);
        swar::Word dead = deadHeads(word) & ~swar::held(word) & from(g - at);
        const swar::Word other = swar::boundaries(word) & from(g - at) & ~dead;
        if (other != 0) {
            dead &= (other & (~other + 1)) - 1; // those before it
        }
        // A dead block must begin right here: behind a hole an unused part of a context may precede the next dead
        // block.
        if ((dead >> (8 * (g - at)) & 1) == 0) {
            return g;
        }
        // The map was written by another core: prefetch the next part of it while this word is worked on.
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
    A dead block begins at a place: make the run of dead blocks and holes from there on one hole. The run continues past
    sliceEnd only to the end of the block or hole that lies there. @return The run's end.
 */
std::size_t Heap::sweepRun(Place at, std::size_t sliceEnd, Swept& swept) {
    os::assertHeld(lock_);
    const auto [region, g] = at;
    const GranuleMap map = region->map();
    std::size_t end = g;
    std::size_t holes = 0;
    std::size_t lost = 0;
    for (bool more = true; more;) {
        const std::size_t dead = end;
        end = clearDead(map, end, sliceEnd, swept);
        // Something begins behind every dead block. If not, its head or its size is damaged, and the memory may be
        // anybody's.
        if (FreeQueues::checksLinks && !region->begins(end) && (end != dead || dead == g)) [[unlikely]] {
            nameDamage(region->address(dead), "a dead block ends where nothing begins; its memory is not used again:");
            lost = end - dead;
            break;
        }
        fillFree({region, dead}, end - dead);
        more = false;
        std::size_t size = 0;
        if (GranuleMap::beginsHole(map.get(end)) && region->agreedHoleSize(end, size)) { // else giveBack names it
            unlink(region, end, size);
            holes += size;
            end += size;
            more = end < sliceEnd;
        }
    }
    if (const std::size_t n = end - lost - g; !FreeQueues::checksLinks || n > 0) [[likely]] {
        gave(n - holes);
        giveBack(at, n);
    }
    return end;
}

/** Free what is dead in [at, to). Both are multiples of a word, so each word is looked at once. */
void Heap::sweepRange(Region* region, std::size_t at, std::size_t to, Swept& swept) {
    os::assertHeld(lock_);
    const GranuleMap map = region->map();
    const DeadHeads deadHeads(*this);
    while ((at = map.skipZeros(at, to)) < to) {
        const swar::Word word = map.word(at);
        swar::Word dead = deadHeads(word);
        const swar::Word held = dead & swar::held(word);
        if (held != 0) {
            keepHeld(region, at, held);
            dead &= ~held;
        }
        if (dead == 0) {
            at = afterHoles(region, at, word);
            continue;
        }
        const Place first{region, at + swar::first(dead)};
        if (poisons() && buryDead(first, swept)) [[unlikely]] {
            continue; // the rest of this word
        }
        at = sweepRun(first, to, swept) & ~std::size_t{swar::bytes - 1};
    }
}

std::size_t Heap::sweepSlice(Region* region, std::size_t start, Swept& swept) {
    const Telling telling(*this);
    os::LockedFairly locked(lock_);
    const std::size_t end = std::min(region->spans.endOf(start), std::size_t{region->endGranule});
    if (region->spans.isPassedOver(start)) {
        return end;
    }
    const std::size_t before = swept.blocks;
    const std::size_t from = start & ~std::size_t{swar::bytes - 1};
    const std::size_t to = os::hasThreads ? std::min(from + sliceGranules, end) : end;
    sweepRange(region, from, to, swept);
    totals_.blocksFreed += swept.blocks - before;
    return to;
}

void Heap::sweepYoungLines(Region* region, std::size_t i, Swept& swept) {
    const Telling telling(*this);
    constexpr unsigned linesInSlice = sliceGranules >> LineSet::lineShift;
    constexpr LineSet::Word slice = ~LineSet::Word{0} >> (LineSet::wordBits - linesInSlice);
    const LineSet::Word all = region->sweepYoung.word(i);
    for (unsigned at = 0; at < LineSet::wordBits; at += linesInSlice) {
        const LineSet::Word lines = all & (slice << at);
        if (lines == 0) {
            continue;
        }
        os::LockedFairly locked(lock_);
        const std::size_t before = swept.blocks;
        LineSet::forRanges(i, lines, [&](std::size_t from, std::size_t to) {
            os::assertHeld(lock_);
            // A span has been swept already, or is being filled.
            const std::size_t end = std::min(to, std::size_t{region->endGranule});
            for (std::size_t next = 0; from < end; from = next) {
                next = std::min(end, region->spans.endOf(from));
                if (!region->spans.isPassedOver(from)) {
                    sweepRange(region, from, next, swept);
                }
            }
        });
        totals_.blocksFreed += swept.blocks - before;
    }
}

void Heap::sweepLarge(Region* region, Swept& swept) {
    os::Locked locked(lock_);
    const std::size_t g = region->firstGranule;
    const Byte h = region->map().get(g);
    if ((h & head::inUse) == 0 || !dead(h)) {
        return;
    }
    if (h & head::held) {
        keepHeld(region, g, 1);
        return;
    }
    ++swept.blocks;
    ++totals_.blocksFreed;
    gave(region->largeGranules);
    retire(region);
}

} // namespace mpr::heap
