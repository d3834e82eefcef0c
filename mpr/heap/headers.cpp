// SPDX-License-Identifier: MIT
/*
    headers.cpp - The check of the list of regions and of ordinary regions' headers, before a collection walks them.
    Damage by a stray pointer or faulty memory is named, and repaired where the right value can be told from elsewhere.

    The check takes some loads per region. The region table holds every region, too; all ordinary regions have one
    shape; and a region's sort tells where its holes stand.
 */
#include <cstring>

#include "mpr/heap/heap.hpp"

namespace mpr::heap {

namespace {

/** Check a region's sort and queues. @return false when something was repaired. */
bool checkSort(Region* region, FreeQueues* queues, void (*setSort)(Region*, Sort, FreeQueues*)) {
    const auto sort = static_cast<unsigned>(region->sort);
    if (sort < sorts && region->queues == queues + sort) {
        return true;
    }
    unsigned right = sort < sorts ? sort : 0;
    for (unsigned other = 0; other < sorts; ++other) {
        right = region->queues == queues + other ? other : right;
    }
    setSort(region, static_cast<Sort>(right), queues);
    return false;
}

/** Check where the two sets of lines lie: behind the map, swapped at each collection. @return false when repaired. */
bool checkLines(Region* region) {
    Byte* lines = region->lines();
    Byte* more = lines + region->lineWords() * sizeof(LineSet::Word);
    if ((region->young.isAt(lines) && region->sweepYoung.isAt(more)) ||
        (region->young.isAt(more) && region->sweepYoung.isAt(lines))) {
        return true;
    }
    // Lines that were noted elsewhere are lost, so any line may be young.
    region->young.open(lines);
    region->sweepYoung.open(more);
    std::memset(lines, 0xFF, 2 * static_cast<std::size_t>(more - lines));
    return false;
}
} // namespace

bool Heap::checkHeader(Region* region) {
    os::assertHeld(lock_);
    // Two of three must agree, since one of them may be what was changed.
    const int votes = (region->origin == Origin::system) + (region->length == ordinary_.shape.length) +
                      (region->endGranule == ordinary_.shape.endGranule);
    const Origin origin = votes >= 2 ? Origin::system : Origin::large;
    bool sound = true;
    if (region->apart != (origin == Origin::large) || region->home.heap()) {
        region->apart = origin == Origin::large;
        region->home.set(nullptr);
        sound = false;
    }
    // Only wrong values are overwritten: threads that are not attached read headers meanwhile.
    if (region->origin != origin) {
        region->origin = origin;
        sound = false;
    }
    if (origin == Origin::system) {
        if (Shape& shape = *region; shape != ordinary_.shape) {
            shape = ordinary_.shape;
            sound = false;
        }
        sound &= checkSort(region, queues_, setSort);
        sound &= checkLines(region);
    }
    return sound;
}

/** Whether all regions are in the list, linked both ways. */
bool Heap::isListed() const {
    os::assertHeld(lock_);
    std::size_t count = 0;
    const Region* before = nullptr;
    for (Region* region = regions_; region; before = region, region = region->next) {
        if (table_.candidate(region) != region || region->previous != before) {
            return false;
        }
        ++count;
    }
    return count == totals_.regions;
}

/** Threads are stopped, and the heap's memory is the system's. */
void Heap::checkHeaders() {
    os::assertHeld(lock_);
    if (!isListed()) {
        nameDamage(regions_, "the list of regions was overwritten, and is made anew, which began");
        regions_ = nullptr;
        totals_.regions = 0;
        table_.forEach([this](Region* region) {
            os::assertHeld(lock_);
            if (!region->home.heap()) { // else it is another heap's
                enlist(region);
            }
        });
    }
    for (Region* region = regions_; region; region = region->next) {
        if (!checkHeader(region)) {
            nameDamage(region, "a region's header was overwritten, and is made good,");
        }
    }
}

} // namespace mpr::heap
