// SPDX-License-Identifier: MIT
/*
    test/fault/flips/damage.cpp - See damage.hpp. It looks into the heap, as a stray pointer does.
 */
#include "test/fault/flips/damage.hpp"

#include "mpr/gc/manager.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/heap/region.hpp"

#include <optional>

namespace flips {

using namespace mpr::heap;

namespace {

Heap &heap() {
    return mpr::gc::runtime().heap;
}

std::string hex(const void *at, uint64_t before, uint64_t after) {
    char text[100];
    snprintf(text, sizeof(text), "%p: %llx -> %llx", at, static_cast<unsigned long long>(before),
             static_cast<unsigned long long>(after));
    return text;
}

std::string flip(void *at, unsigned bit) {
    auto *byte = static_cast<unsigned char *>(at) + bit / 8;
    const unsigned char before = *byte;
    *byte = static_cast<unsigned char>(before ^ 1u << bit % 8);
    return hex(byte, before, *byte);
}

std::string flipByte(Byte *at, Random &random) {
    return flip(at, static_cast<unsigned>(random.below(8)));
}

std::string write(void *at, uintptr_t value) {
    uintptr_t before = 0;
    memcpy(&before, at, sizeof(before));
    memcpy(at, &value, sizeof(value));
    return hex(at, before, value);
}

/* What a program may write anywhere: zero, text, a small number, an address of its own, anything. */
uintptr_t wild(Random &random, const void *near) {
    switch (random.below(5)) {
    case 0: return 0;
    case 1: return static_cast<uintptr_t>(0x2064'6c72'6f77'206f);
    case 2: return random.below(1000);
    case 3: return reinterpret_cast<uintptr_t>(near) + 8 * random.below(64);
    default: return static_cast<uintptr_t>(random.next());
    }
}

struct Place {
    Region *region;
    size_t g, n;
};

/* The granules of a block in use that has so many. */
Place placeOf(const void *block) {
    Region *region = heap().find(block);
    const size_t g = region->granuleOf(block);
    return {region, g, region->blockSize(g)};
}

Place anyBlock(Work &work, size_t least) {
    for (;;) {
        Item &item = work.any();
        const Place place = placeOf(item.child && least < 3 ? item.child : item.ptr);
        if (place.n >= least && !place.region->isLarge()) {
            return place;
        }
    }
}

/* Where the size of a block or, seen from behind, of a hole stands: a byte, or eight more with digits. */
constexpr size_t digitBytes = 8;
Byte *anySizeByte(Byte *first, Random &random) {
    if (first[1] != 1 || random.below(digitBytes + 1) == 0) {
        return first + 1;
    }
    auto at = (reinterpret_cast<uintptr_t>(first) + 5) & ~uintptr_t(3);
    return reinterpret_cast<Byte *>(at) + random.below(digitBytes);
}
Byte *anySizeByteBefore(Byte *last, Random &random) {
    if (last[-1] != 1 || random.below(digitBytes + 1) == 0) {
        return last - 1;
    }
    auto at = (reinterpret_cast<uintptr_t>(last) - 9) & ~uintptr_t(3);
    return reinterpret_cast<Byte *>(at) + random.below(digitBytes);
}

/* One of the places of which `is` says so, all of them alike likely. */
template <typename Is>
std::optional<Place> anyWhere(Random &random, Is is) {
    std::optional<Place> chosen;
    size_t seen = 0;
    for (Region *region = heap().firstRegion(); region; region = heap().nextRegion(region)) {
        for (size_t g = region->firstGranule; !region->isLarge() && g < region->endGranule; g++) {
            if (!region->spans.isUncleared(g) && is(region, g) && random.below(++seen) == 0) {
                chosen = Place{region, g, 0};
            }
        }
    }
    return chosen;
}

std::optional<Place> anyHole(Random &random) {
    auto hole = anyWhere(random, [](Region *region, size_t g) { return GranuleMap::beginsHole(region->map().get(g)); });
    if (hole) {
        hole->n = hole->region->holeSize(hole->g);
    }
    return hole;
}

std::string flipHead(Work &work, Random &random) {
    const Place at = anyBlock(work, 1);
    return flipByte(at.region->map().at(at.g), random);
}

std::string flipSize(Work &work, Random &random) {
    const Place at = anyBlock(work, 2);
    return flipByte(anySizeByte(at.region->map().at(at.g), random), random);
}

std::string flipInside(Work &work, Random &random) {
    const Place at = anyBlock(work, 5);
    for (;;) {
        Byte *byte = at.region->map().at(at.g + 2 + random.below(at.n - 2));
        if (*byte == 0) {
            return flipByte(byte, random);
        }
    }
}

std::string flipHoleMark(Work &, Random &random) {
    const auto hole = anyHole(random);
    if (!hole) {
        return "";
    }
    Byte *first = hole->region->map().at(hole->g);
    Byte *last = first + hole->n - 1;
    if (hole->n < 3) {
        return flipByte(random.chance(50) ? first : last, random);
    }
    switch (random.below(4)) {
    case 0: return flipByte(first, random);
    case 1: return flipByte(anySizeByte(first, random), random);
    case 2: return flipByte(anySizeByteBefore(last, random), random);
    default: return flipByte(last, random);
    }
}

std::string flipInsideHole(Work &, Random &random) {
    for (int tries = 0; tries < 100; tries++) {
        const auto hole = anyHole(random);
        if (!hole) {
            break;
        }
        Byte *byte = hole->region->map().at(hole->g + random.below(hole->n));
        if (*byte == 0) {
            return flipByte(byte, random);
        }
    }
    return "";
}

/* Free memory of a span, or in a context: zero in the map, behind a block's end. */
std::string flipGap(Work &, Random &random) {
    const auto gap = anyWhere(random, [](Region *region, size_t g) {
        if (region->map().get(g) != 0 || !region->spans.isWalked(g)) {
            return false;
        }
        const size_t head = region->map().headBefore(g, region->firstGranule);
        return region->spans.beginOf(g) > head || head + region->map().blockSize(head) <= g;
    });
    return gap ? flipByte(gap->region->map().at(gap->g), random) : "";
}

/* One of the blocks that stand in the thread's quick lists. */
const QuickLists::Slot *anySlot(Random &random) {
    const QuickLists::Slot *chosen = nullptr;
    size_t seen = 0;
    mpr::gc::current->local.quick.forEach([&](const QuickLists::Slot &slot) {
        if (random.below(++seen) == 0) {
            chosen = &slot;
        }
    });
    return chosen;
}

std::string flipListedMark(Work &, Random &random) {
    const auto *slot = anySlot(random);
    return slot ? flipByte(slot->map + random.below(2), random) : "";
}

std::string flipSlot(Work &, Random &random) {
    const auto *slot = anySlot(random);
    return slot ? flip(const_cast<QuickLists::Slot *>(slot), static_cast<unsigned>(random.below(8 * sizeof(*slot))))
                : "";
}

/* A region that is not large. */
Region *anyRegion(Random &random) {
    Region *chosen = nullptr;
    size_t seen = 0;
    for (Region *region = heap().firstRegion(); region; region = heap().nextRegion(region)) {
        if (!region->isLarge() && random.below(++seen) == 0) {
            chosen = region;
        }
    }
    return chosen;
}

/* Of a region's header what stands before its spans. */
size_t headerBytes(const Region *region) {
    return static_cast<size_t>(reinterpret_cast<const char *>(&region->spans) - reinterpret_cast<const char *>(region));
}

std::string flipHeader(Work &, Random &random) {
    Region *region = anyRegion(random);
    const size_t bit = random.below(8 * headerBytes(region));
    return "+" + std::to_string(bit / 8) + " " + flip(region, static_cast<unsigned>(bit));
}

std::string flipSpans(Work &, Random &random) {
    Region *region = anyRegion(random);
    const size_t bit = 8 * headerBytes(region) + random.below(8 * (sizeof(Region) - headerBytes(region)));
    return "+" + std::to_string(bit / 8) + " " + flip(region, static_cast<unsigned>(bit));
}

std::string flipQueues(Work &, Random &random) {
    FreeQueues *queues = anyRegion(random)->queues;
    return flip(queues, static_cast<unsigned>(random.below(8 * sizeof(FreeQueues))));
}

std::string flipLink(Work &, Random &random) {
    const auto hole = anyHole(random);
    return hole ? flip(hole->region->address(hole->g), static_cast<unsigned>(random.below(8 * sizeof(Hole)))) : "";
}

std::string flipManager(Work &work, Random &random) {
    Item &item = work.anyOf(random.chance(50) ? Kind::plain : Kind::barrier);
    const Place at = placeOf(item.ptr);
    return flip(mpr::gc::managerWord(item.ptr, at.n), static_cast<unsigned>(random.below(8 * sizeof(void *))));
}

std::string overflow(Work &work, Random &random) {
    Item &item = work.any();
    void *end = static_cast<char *>(item.ptr) + mprGetBlockSize(item.ptr);
    return write(end, wild(random, item.ptr));
}

std::string writeAfterFree(Work &work, Random &random) {
    const Item gone = work.freeOne();
    const size_t word = random.below(gone.size / sizeof(uintptr_t));
    return write(static_cast<char *>(gone.ptr) + word * sizeof(uintptr_t), wild(random, gone.ptr));
}

} // namespace

const Damage damages[] = {
    {"none", "nothing is done", [](Work &, Random &) { return std::string("nothing"); }},
    {"head", "map: the head of a block in use", flipHead},
    {"size", "map: the size of a block in use", flipSize},
    {"inside", "map: inside a block in use", flipInside},
    {"hole", "map: the ends of a hole", flipHoleMark},
    {"insidehole", "map: inside a hole", flipInsideHole},
    {"gap", "map: free memory of a span", flipGap},
    {"listed", "map: a block in a quick list", flipListedMark},
    {"slot", "a quick list", flipSlot},
    {"header", "a region's header", flipHeader},
    {"spans", "a region's spans", flipSpans},
    {"queues", "the fronts and bitmaps of free queues", flipQueues},
    {"link", "a link of a hole", flipLink},
    {"manager", "the manager word of a block", flipManager},
    {"overflow", "a word behind a block's end is written", overflow},
    {"afterfree", "a word of a freed block is written", writeAfterFree},
};
const size_t damageCount = std::size(damages);

} // namespace flips
