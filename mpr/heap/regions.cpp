// SPDX-License-Identifier: MIT
/*
    regions.cpp - Making, committing, listing and giving up regions. Opening and closing the heap.
*/
#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "mpr/heap/holes.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::heap {

namespace {

/** Touch every page, so that the system backs it. */
MPR_USES_FREE_MEMORY void backPages(void* memory, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += os::pageSize()) {
        auto* page = static_cast<volatile Byte*>(memory) + at;
        *page = *page;
    }
}

std::size_t lineBytesFor(std::size_t granules) {
    return LineSet::wordsFor(granules) * sizeof(LineSet::Word);
}

std::size_t firstGranuleOf(std::size_t granules) {
    return granulesFor(Region::mapOffset() + Region::mapBytesFor(granules) + 2 * lineBytesFor(granules));
}

/** Log2 of the granules in a chunk, which is no less than a word of the map. @param least Bytes. */
unsigned chunkShiftOf(std::size_t granules, std::size_t least) {
    unsigned shift = os::hasPages ? std::bit_width(swar::bytes) - 1u : 0; // boards have one chunk
    while ((granules - 1) >> shift >= Region::chunks || (granuleSize << shift) < least) {
        ++shift;
    }
    return shift;
}

/** The first chunks of an ordinary region, with its header, its map and the first two granules of a hole. */
std::size_t headBytes(std::size_t granules, std::size_t chunk) {
    return roundUp((firstGranuleOf(granules) + 2) << granuleShift, chunk);
}
} // namespace

Heap::Heap() = default;

bool Heap::open(const Options& options, void* buffer, std::size_t size) {
    regionShift_ = options.regionShift;
    reserve_ = options.reserve;
    if constexpr (os::hasPages) {
        hugePages_ = options.hugePages;
    }
    // Memory that is filled holds no address for check=fields to find, and is never allocated behind check=where's back.
    poison_ = os::hasThreads && (options.poison || (options.check & (Options::fields | Options::where)) != 0);
    os::Locked locked(lock_);
    if (poisons()) {
        quarantine_.open();
    }
    table_.open(regionShift_);
    if constexpr (FreeQueues::checksLinks) {
        regionMask_ = ~std::uintptr_t{0} << regionShift_;
        os::seed(&secret_, sizeof(secret_));
        for (FreeQueues& queues : queues_) {
            queues.open(secret_);
        }
    }
    if constexpr (!os::cooperative) {
        state_.setCareful(poisons());
        state_.refresh();
    }
    Shortage shortage = Shortage::none;
    if (buffer) {
        buffer_ = true;
        const auto begin = roundUp(reinterpret_cast<std::uintptr_t>(buffer), 16);
        const std::size_t lost = begin - reinterpret_cast<std::uintptr_t>(buffer);
        size = std::min((size - lost) & ~(granuleSize - 1), greatestGranules << granuleShift);
        auto* region = new (reinterpret_cast<void*>(begin)) Region;
        setHome(region);
        if constexpr (os::hasPages) {
            regionOrigin_ = begin;
            regionMask_ = 0;
        }
        setSort(region, Sort::small, queues_);
        prepare(region, size, Origin::buffer);
        greatestInRegion_ = region->endGranule - region->firstGranule;
        // A context may take only a small part of a small heap. A single thread without locks is better served without
        // one.
        contextGranules_ =
            os::hasThreads ? std::bit_floor(std::min(greatestInRegion_ / 64, std::size_t{64 * 1024 >> granuleShift}))
                           : 0;
        contextNow_ = contextGranules_;
        coldContexts_ = FreeQueues::coldWordsFrom(contextGranules_);
        limits_.set(Limits::none, Limits::none);
        table_.setOnly(region);
        if constexpr (os::hasPages) {
            commit(region, region->chunksTouched(0, region->firstGranule + 2), true);
        } else {
            limits_.commit(totals_.overheadBytes);
        }
        linkWhole(region);
        return true;
    }
    if constexpr (!os::hasPages) {
        return false;
    }
    greatestInRegion_ = std::size_t{1} << (regionShift_ - granuleShift - 1);
    // 64 KiB: `work_mpr alloc64` takes 6.8 ns an allocation, with 16 KiB 10.2, with 128 KiB 7.0. With 16 KiB `gc_mpr
    // service` serves a tenth of the requests.
    contextGranules_ = std::min(std::size_t{64 * 1024}, std::size_t{1} << (regionShift_ - 5)) >> granuleShift;
    contextNow_ = contextGranules_;
    coldContexts_ = FreeQueues::coldWordsFrom(contextGranules_);
    do {
        Region* region = addRegion(Sort::small, true, shortage);
        if (!region) {
            return false;
        }
        if (reserve_ > 0) {
            // Asked for from the start: back every page now, so that no allocation waits for the system.
            unlink(region, region->firstGranule, region->endGranule - region->firstGranule);
            if (!commit(region, region->chunksTouched(0, region->endGranule), true)) {
                return false;
            }
            backPages(region, region->length);
            linkWhole(region);
        }
    } while (limits_.committed() < reserve_);
    return true;
}

Heap::Heads Heap::heads() {
    if (!fixed()) {
        return {(std::uintptr_t{1} << regionShift_) - 1, Region::mapOffset()};
    }
    os::Locked locked(lock_);
    const auto base = reinterpret_cast<std::uintptr_t>(regions_);
    return {~std::uintptr_t{0}, base + Region::mapOffset() - (base >> granuleShift)};
}

void Heap::close() {
    os::Locked locked(lock_);
    while (Region* region = regions_) {
        regions_ = region->next;
        poison::allow(region, region->length);
        if (region->origin != Origin::buffer) {
            os::release(region, region->length);
        }
    }
    table_.close();
    quarantine_.close();
    gone_.releaseAll();
}

/** Header and map of a fresh region. The map's bytes are zero on pages from the system, not in a buffer. */
void Heap::prepare(Region* region, std::size_t length, Origin origin) {
    os::assertHeld(lock_);
    const std::size_t granules = length >> granuleShift;
    region->length = length;
    region->origin = origin;
    region->endGranule = static_cast<std::uint32_t>(granules);
    const std::size_t mapBytes = Region::mapBytesFor(granules);
    const std::size_t lineBytes = lineBytesFor(granules);
    Byte* lines = region->map().at(0) + mapBytes;
    region->firstGranule = static_cast<std::uint32_t>(firstGranuleOf(granules));
    if constexpr (os::hasPages) {
        divide(region, granules);
    }
    if (origin == Origin::buffer) {
        std::memset(region->map().at(0), 0, mapBytes + 2 * lineBytes);
    }
    openSpans(region);
    region->young.open(lines);
    region->sweepYoung.open(lines + lineBytes);
    region->map().set(granules, mark::opaque);
    totals_.overheadBytes += std::size_t{region->firstGranule} << granuleShift;
    enlist(region);
}

/**
    On 32-bit systems a span is 8 KiB. Large blocks would leave too much unused at its end, so only small ones have
    spans there.
 */
void Heap::openSpans(Region* region) const {
    const auto shift = static_cast<unsigned>(std::countr_zero(contextGranules_));
    const bool serves = sizeof(void*) == 8 || region->sort == Sort::small;
    if (region->origin == Origin::system && (region->endGranule >> shift) <= Spans::most) {
        region->spans.open(serves ? shift : Spans::none);
    }
}

/** Divide a region into chunks. */
void Heap::divide(Region* region, std::size_t granules) {
    const unsigned shift = chunkShiftOf(granules, region->origin == Origin::system ? os::pageSize() : 0);
    region->chunkShift = shift;
    region->lastChunk = std::uint64_t{1} << ((granules - 1) >> shift);
    region->lastMissing = (((granules - 1) >> shift) + 1) * region->chunkBytes() - region->length;
}

/** Addresses of a region, its first chunks usable. @return nullptr when the system or the host has none. */
void* Heap::reserveRegion(std::size_t size) {
    void* pages = os::mayGrow(size) ? os::reserveAddresses(size, size) : nullptr;
    if (pages && !os::commit(pages, headBytes(size >> granuleShift, chunkBytes()))) {
        os::release(pages, size);
        return nullptr;
    }
    if (pages && hugePages_) {
        os::preferHuge(pages, size);
    }
    return pages;
}

/** Have the host commit chunks, unless they are the first: see reserveRegion. @return false: none of them is. */
bool Heap::commitChunks(Region* region, std::uint64_t fresh) {
    os::assertHeld(lock_);
    if (region->origin != Origin::system) {
        return true;
    }
    if (region->committed == 0) {
        fresh &= ~region->chunksTouched(0, region->firstGranule + 2);
    }
    auto* const base = reinterpret_cast<Byte*>(region);
    const auto bytesOf = [&](unsigned first, unsigned count) {
        const std::size_t begin = first * region->chunkBytes();
        return std::min(count * region->chunkBytes(), region->length - begin);
    };
    std::uint64_t done = 0;
    bool granted = true;
    forRuns(fresh, [&](unsigned first, unsigned count) {
        granted = granted && os::commit(base + first * region->chunkBytes(), bytesOf(first, count));
        done |= granted ? fresh & (~std::uint64_t{0} >> (64 - count) << first) : 0;
    });
    if (!granted) {
        forRuns(done, [&](unsigned first, unsigned count) {
            os::decommit(base + first * region->chunkBytes(), bytesOf(first, count));
        });
    }
    return granted;
}

/** Make an empty region one hole. */
void Heap::linkWhole(Region* region) {
    os::assertHeld(lock_);
    const Place all{region, region->firstGranule};
    const std::size_t n = region->endGranule - region->firstGranule;
    if constexpr (!os::hasPages) {
        return giveBack(all, n); // has no neighbours, and is compiled already
    }
    link(all, n, isBacked(all, n));
}

/** Change an empty region of another sort to this sort. @return false when there is none. */
bool Heap::changeSort(Sort sort) {
    os::assertHeld(lock_);
    const std::size_t size = std::size_t{1} << (regionShift_ - granuleShift);
    const auto other = (1 - static_cast<unsigned>(sort)) % sorts;
    for (const bool warm : {true, false}) {
        Hole* hole = queues_[other].largest(warm);
        Region* region = hole ? table_.find(hole) : nullptr;
        const std::size_t whole = region ? region->endGranule - region->firstGranule : size;
        if (region && region->holeSize(region->granuleOf(hole)) == whole) {
            unlink(region, region->firstGranule, whole);
            setSort(region, sort, queues_);
            openSpans(region);
            linkWhole(region);
            return true;
        }
    }
    return false;
}

/** @return nullptr when the heap may not or cannot grow. */
Region* Heap::addRegion(Sort sort, bool privileged, Shortage& shortage) {
    const std::size_t size = std::size_t{1} << regionShift_;
    void* pages = limits_.allows(size / 8, privileged) ? reserveRegion(size) : nullptr;
    if (!pages) {
        shortage = limits_.allows(size / 8, privileged) ? Shortage::system : Shortage::limit;
        return nullptr;
    }
    auto* region = new (pages) Region;
    setHome(region);
    setSort(region, sort, queues_);
    prepare(region, size, Origin::system);
    const bool listed = table_.add(region);
    if (!listed || !commit(region, region->chunksTouched(0, region->firstGranule + 2), privileged)) {
        shortage = listed ? Shortage::limit : Shortage::system;
        if (listed) {
            table_.remove(region);
        }
        delist(region);
        os::release(region, size);
        return nullptr;
    }
    ordinary_.shape = *region;
    linkWhole(region);
    return region;
}

/**
    Whether a block exceeds what the machine could ever back. The system would grant the addresses all the same, and the
    region table takes an 8192nd of them in memory.
 */
static bool isBeyondMachine(std::size_t length) {
    constexpr std::size_t least = std::size_t{1} << 30; // below it the question costs more than the table
    return length > least && os::ram() > 0 && length / 4 > os::ram();
}

/** @return nullptr when the system has no addresses left, for the region or the table. */
Region* Heap::mapLarge(std::size_t n, std::size_t header, std::size_t length) {
    void* pages = os::mayGrow(length) ? os::reserve(length, std::size_t{1} << regionShift_) : nullptr;
    if (!pages) {
        return nullptr;
    }
    if (hugePages_) {
        os::preferHuge(pages, length);
    }
    auto* region = new (pages) Region;
    setHome(region);
    region->apart = true;
    region->pristine = true;
    region->length = length;
    region->origin = Origin::large;
    region->firstGranule = static_cast<std::uint32_t>(header >> granuleShift);
    region->endGranule = region->firstGranule + 1;
    region->largeGranules = n;
    if (!table_.add(region)) {
        os::release(region, length);
        return nullptr;
    }
    return region;
}

Region* Heap::addLarge(std::size_t n, bool privileged, Shortage& shortage) {
    if (retired_.bytes() > retiredGreatest) {
        decommitRetiredLocked(); // this allocation asks the system for memory anyway
    }
    // The page before the block holds the header, a map of that page, and the few map bytes of the block behind it.
    const std::size_t header = os::pageSize();
    constexpr std::size_t leastPage = 4096;
    static_assert(Region::mapOffset() + (leastPage >> granuleShift) + swar::bytes <= leastPage);
    // Whoever looks by a stale address while the page is given up may find a head and then zeros, such as shift_ 0.
    static_assert(sizeof(Region) + sizeof(std::uint32_t) * ((leastPage >> granuleShift) - Spans::most) <= leastPage,
                  "isUncleared reads in the page whatever the shift");
    const std::size_t length = roundUp(header + (n << granuleShift), os::pageSize());
    if (!limits_.allows(length, privileged)) {
        shortage = Shortage::limit;
        return nullptr;
    }
    if (isBeyondMachine(length)) {
        shortage = Shortage::system;
        return nullptr;
    }
    if (!charge(length, privileged)) {
        shortage = Shortage::limit;
        return nullptr;
    }
    Region* region = mapLarge(n, header, length);
    if (!region && releaseGoneBlocks()) {
        region = mapLarge(n, header, length);
    }
    if (!region) {
        discharge(length);
        shortage = Shortage::system;
        return nullptr;
    }
    totals_.overheadBytes += header;
    noteCommitted(length);
    enlist(region);
    return region;
}

void Heap::enlist(Region* region) {
    os::assertHeld(lock_);
    region->next = regions_;
    region->previous = nullptr;
    if (regions_) {
        regions_->previous = region;
    }
    regions_ = region;
    ++totals_.regions;
    if (LinkRange::suffices && !region->isLarge()) {
        linkRange_.include(region, region->length);
    }
}

void Heap::delist(Region* region) {
    os::assertHeld(lock_);
    (region->previous ? region->previous->next : regions_) = region->next;
    if (region->next) {
        region->next->previous = region->previous;
    }
    --totals_.regions;
    totals_.overheadBytes -= std::size_t{region->firstGranule} << granuleShift;
}

/** The lowest or highest region was given up: no link leads there, be it one that a program has kept and writes back. */
void Heap::fitLinkRange() {
    os::assertHeld(lock_);
    linkRange_ = {};
    for (const Region* region = regions_; region; region = region->next) {
        if (!region->isLarge()) {
            linkRange_.include(region, region->length);
        }
    }
}

// ---- Slack behind large blocks ----------------------------------------------------------------------------------

std::size_t Heap::slackFor(std::size_t n) {
    constexpr std::size_t share = 4; // growing to any size copies five times that size at most
    const std::size_t all = n + n / share;
    if (!os::hasPages || n <= greatestInRegion_ || all > greatestRequest >> granuleShift || fixed() || poisons()) {
        return 0;
    }
    const std::size_t bytes = (all << granuleShift) + 2 * os::pageSize();
    os::Locked locked(lock_);
    const bool fits = limits_.allows(bytes, false) && limits_.counted() + bytes <= limits_.warn();
    return fits && !isBeyondMachine(bytes) ? all - n : 0;
}

void Heap::keepSlack(Local& local, void* block, std::size_t n) {
    os::Locked locked(lock_);
    Region* region = table_.find(block);
    const std::size_t slack = region->largeGranules - n;
    region->largeGranules = n;
    totals_.granulesAllocated -= slack; // as if it had never been the block's
    local.counts.unmade(slack);
    trigger_.giveBack(slack);
    hasSlack_ = true;
}

/** Pages behind a large block go back to the system. @return Bytes. */
std::size_t Heap::slackOf(const Region* region) {
    const std::size_t used = (region->firstGranule + region->largeGranules) << granuleShift;
    return region->length - roundUp(used, os::pageSize());
}

void Heap::releaseSlack(Region* region) {
    os::assertHeld(lock_);
    const std::size_t slack = slackOf(region);
    if (slack == 0) {
        return;
    }
    const std::size_t length = region->length - slack;
    table_.shorten(region, length);
    __atomic_store_n(&region->length, length, __ATOMIC_RELAXED); // see Region::contains
    poison::allow(reinterpret_cast<Byte*>(region) + length, slack);
    os::release(reinterpret_cast<Byte*>(region) + length, slack);
    limits_.uncommit(slack);
    discharge(slack);
    totals_.purgedBytes += slack;
}

/** Memory is short. */
void Heap::releaseAllSlack() {
    os::assertHeld(lock_);
    if (!std::exchange(hasSlack_, false)) {
        return;
    }
    for (Region* region = regions_; region; region = region->next) {
        if (region->isLarge() && Region::isBlock(region->map().get(region->firstGranule))) {
            releaseSlack(region);
        }
    }
}

// ---- Large regions whose block is gone --------------------------------------------------------------------------

/** The block was freed: keep the region for the next block of about its size, until a purge. */
void Heap::retire(Region* region) {
    os::assertHeld(lock_);
    region->map().set(region->firstGranule, 0);
    fillFree({region, region->firstGranule}, (region->length >> granuleShift) - region->firstGranule);
    retired_.add(region);
}

Region* Heap::reuseRetired(std::size_t n) {
    const std::size_t length = roundUp(os::pageSize() + (n << granuleShift), os::pageSize());
    Region* region = retired_.take(length);
    if (region) {
        region->largeGranules = n;
        region->pristine = false;
        hasSlack_ = true; // perhaps
        if (poisons()) {
            look(region->address(region->firstGranule), n);
        }
    }
    return region;
}

bool Heap::isPristine(const void* block) const {
    const Region* region = table_.find(block);
    return region && region->pristine;
}

/**
    The system has no addresses left: give back those of large regions whose block is gone, except headers. @return
    Whether any.
 */
bool Heap::releaseGoneBlocks() {
    os::assertHeld(lock_);
    bool any = false;
    for (Region* region = regions_; region; region = region->next) {
        const std::size_t header = os::pageSize();
        if (!region->isLarge() || region->map().get(region->firstGranule) != 0 || region->length == header) {
            continue;
        }
        forgetCommitted(region);
        table_.remove(region);
        poison::allow(region, region->length);
        os::release(reinterpret_cast<Byte*>(region) + header, region->length - header);
        totals_.purgedBytes += region->length - header;
        region->length = header;
        any = table_.add(region); // its first slot, which exists
    }
    return any;
}

std::size_t Heap::retiredBytes() {
    os::Locked locked(lock_);
    return retired_.bytes();
}

void Heap::decommitRetired() {
    if constexpr (!os::hasPages) {
        return;
    }
    os::Locked locked(lock_);
    decommitRetiredLocked();
    releaseAllSlack();
}

void Heap::decommitRetiredLocked() {
    os::assertHeld(lock_);
    for (Region* region = regions_; region && retired_.bytes() > 0; region = region->next) {
        const bool gone = region->isLarge() && region->map().get(region->firstGranule) == 0;
        if (gone && region->largeGranules > 0) {
            os::decommit(region->address(region->firstGranule), region->length - os::pageSize());
            forgetCommitted(region);
        }
    }
}

/** A region whose block is gone has nothing committed any more; its largeGranules says so. */
void Heap::forgetCommitted(Region* region) {
    os::assertHeld(lock_);
    if (region->largeGranules > 0) {
        limits_.uncommit(region->length);
        discharge(region->length);
        retired_.remove(region);
        region->largeGranules = 0;
    }
}

} // namespace mpr::heap
