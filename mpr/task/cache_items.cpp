// SPDX-License-Identifier: MIT
/*
    cache_items.cpp - The table, the wheel and the order of a cache's items.
 */
#include <algorithm>
#include <cstring>

#include "mpr/base/references.hpp"
#include "mpr/task/cache.hpp"

namespace mpr::task {

// ---- The table --------------------------------------------------------------------------------------------------

bool ItemTable::allocate(Room& room, std::size_t pairs) {
    room.items = base::allocateReferences(segment, true).items;
    room.buckets = base::allocateReferences(segment, false).items;
    if (pairs > 0) {
        const base::References directory = base::allocateReferences(static_cast<int>(2 * pairs), true);
        room.directory = directory.items;
        room.pairs = static_cast<std::size_t>(directory.capacity) / 2;
    }
    return room.items && room.buckets && (pairs == 0 || room.directory);
}

void ItemTable::mark() {
    mprMarkRef(&directory_);
}

void ItemTable::reset(void* owner, const Room& room) {
    *room.directory = room.items; // no yield has come since these were made
    room.directory[1] = room.buckets;
    base::setRef(owner, directory_, room.directory);
    pairs_ = room.pairs;
    buckets_ = level_ = segment;
    count_ = 0;
}

void ItemTable::take(void* owner, const Room& room) {
    if (hasRoom()) {
        return; // another thread was first
    }
    if (const std::size_t wanted = directoryRoom(); wanted > 0) {
        if (room.pairs < wanted) {
            return; // it was made for a smaller table: others have added meanwhile, perhaps by the hundred
        }
        std::memcpy(room.directory, directory_, 2 * pairs_ * sizeof(void*)); // made after the last yield, not yet seen
        base::setRef(owner, directory_, room.directory);
        pairs_ = room.pairs;
    }
    const std::size_t at = 2 * (count_ / segment);
    base::setRef(directory_, directory_[at], room.items);
    base::setRef(directory_, directory_[at + 1], room.buckets);
}

Item** ItemTable::bucket(std::size_t i) const {
    return reinterpret_cast<Item**>(segmentAt(2 * (i / segment) + 1) + i % segment);
}

Item** ItemTable::find(std::size_t hash, const char* key) const {
    const std::size_t i = hash & (2 * level_ - 1);
    Item** place = bucket(i < buckets_ ? i : i - level_);
    for (Item* item; (item = *place) && (item->hash != hash || std::strcmp(item->key, key) != 0);) {
        place = &item->next;
    }
    return place;
}

void ItemTable::put(std::size_t position, Item* item) {
    void** items = segmentAt(2 * (position / segment));
    base::setRef(items, items[position % segment], item);
    item->position = position;
}

void ItemTable::insert(Item** place, Item* item) {
    MPR_ASSERT(hasRoom() && !*place);
    put(count_, item);
    *place = item;
    item->next = nullptr;
    if (++count_ > buckets_) {
        split();
    }
}

void ItemTable::remove(Item** place) {
    Item* item = *place;
    *place = item->next;
    item->next = nullptr;
    void** last = entry(--count_);
    if (*last != item) {
        put(item->position, static_cast<Item*>(*last));
    }
    base::storeReference(last, nullptr); // makes nothing reachable
    if (count_ < buckets_ / 2) {
        merge();
        merge(); // or a table that empties would stay too large
    }
}

/** Grow by one bucket. There is a segment for it, because there is one for as many items. */
void ItemTable::split() {
    const std::size_t mask = 2 * level_ - 1;
    const std::size_t fresh = buckets_++;
    Item** from = bucket(fresh - level_);
    Item** to = bucket(fresh);
    while (Item* item = *from) {
        if ((item->hash & mask) == fresh) {
            *from = item->next;
            *to = item;
            to = &item->next;
        } else {
            from = &item->next;
        }
    }
    *to = nullptr;
    level_ = buckets_ == 2 * level_ ? buckets_ : level_;
}

/** Shrink by one bucket, if there are enough. */
void ItemTable::merge() {
    if (buckets_ == segment) {
        return;
    }
    level_ = buckets_ == level_ ? level_ / 2 : level_;
    const std::size_t last = --buckets_;
    Item** to = bucket(last - level_);
    while (*to) {
        to = &(*to)->next;
    }
    Item** from = bucket(last);
    *to = *from;
    *from = nullptr;
    if (last % segment == 0) {
        const std::size_t at = 2 * (last / segment);
        MPR_ASSERT(count_ <= last);
        base::storeReference(directory_ + at, nullptr);
        base::storeReference(directory_ + at + 1, nullptr);
    }
}

// ---- The wheel --------------------------------------------------------------------------------------------------

/** The first tick at which a time has passed: 32 milliseconds each. */
std::uint64_t ItemWheel::tickOf(MprTicks time) {
    constexpr unsigned shift = 5;
    return (static_cast<std::uint64_t>(time) >> shift) + 1;
}

void ItemWheel::put(Item* item) {
    std::uint64_t due = std::clamp(tickOf(item->expires), tick_, tick_ + horizon - 1);
    unsigned level = 0;
    while ((due - tick_) >> (digit * (level + 1)) != 0) {
        ++level;
    }
    Item*& first = slots_[level][(due >> (digit * level)) % slots];
    item->nextDue = first;
    item->due = &first;
    if (first) {
        first->due = &item->nextDue;
    }
    first = item;
}

void ItemWheel::insert(Item* item, MprTicks expires, MprTicks now) {
    item->expires = expires;
    if (expires == 0) {
        return;
    }
    if (count_++ == 0) {
        tick_ = tickOf(now) - 1;
    }
    put(item);
}

void ItemWheel::remove(Item* item) {
    if (!item->due) {
        return;
    }
    *item->due = item->nextDue;
    if (item->nextDue) {
        item->nextDue->due = item->due;
    }
    item->nextDue = nullptr;
    item->due = nullptr;
    --count_;
}

bool ItemWheel::step(MprTicks now, Item*& expired) {
    const std::uint64_t last = tickOf(now) - 1;
    if (count_ == 0 || tick_ > last) {
        return false;
    }
    for (unsigned level = levels - 1; level > 0; --level) {
        const bool comesDown = tick_ % (std::uint64_t{1} << (digit * level)) == 0;
        if (Item* item = comesDown ? slots_[level][(tick_ >> (digit * level)) % slots] : nullptr) {
            remove(item);
            ++count_;
            put(item);
            return true;
        }
    }
    expired = slots_[0][tick_ % slots];
    return expired || ++tick_ <= last;
}

// ---- The order of use -------------------------------------------------------------------------------------------

void ItemOrder::add(Item* item) {
    item->newer = nullptr;
    item->older = newest_;
    (newest_ ? newest_->newer : oldest_) = item;
    newest_ = item;
}

void ItemOrder::remove(Item* item) {
    (item->newer ? item->newer->older : newest_) = item->older;
    (item->older ? item->older->newer : oldest_) = item->newer;
    item->newer = item->older = nullptr;
}

} // namespace mpr::task
