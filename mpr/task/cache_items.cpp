// SPDX-License-Identifier: MIT
/*
    cache_items.cpp - The table, the wheel and the order of a cache's items.
 */
#include <algorithm>
#include <cstring>

#include "mpr/base/references.hpp"
#include "mpr/task/cache.hpp"

namespace mpr::task {

void ItemPlace::set(Item* item) const {
    if (item) {
        mprSetRef(owner, field, item);
    } else {
        __atomic_store_n(field, nullptr, __ATOMIC_RELEASE); // makes nothing reachable
    }
}

// ---- The table --------------------------------------------------------------------------------------------------

bool ItemTable::allocate(ItemTable& table) {
    constexpr int few = 4;
    const base::References directory = base::allocateReferences(few, true);
    const base::References first = base::allocateReferences(segment, true);
    if (!directory.items || !first.items) {
        return false;
    }
    directory.items[0] = first.items; // no yield has come since
    table.directory_ = directory.items;
    table.room_ = static_cast<std::size_t>(directory.capacity);
    return true;
}

void ItemTable::mark() {
    mprMarkRef(&directory_);
}

void ItemTable::become(void* owner, const ItemTable& other) {
    mprSetRef(owner, &directory_, other.directory_);
    room_ = other.room_;
    buckets_ = other.buckets_;
    level_ = other.level_;
    count_ = other.count_;
}

ItemPlace ItemTable::bucket(std::size_t i) const {
    void** items = segmentAt(i / segment);
    return {items, reinterpret_cast<Item**>(items + i % segment)};
}

ItemPlace ItemTable::find(std::size_t hash, const char* key) const {
    const std::size_t i = hash & (2 * level_ - 1);
    ItemPlace place = bucket(i < buckets_ ? i : i - level_);
    while (Item* item = place.item()) {
        if (item->hash == hash && std::strcmp(item->key, key) == 0) {
            break;
        }
        place = {item, &item->next};
    }
    return place;
}

void ItemTable::insert(ItemPlace place, Item* item) {
    item->next = nullptr;
    place.set(item);
    ++count_;
}

void ItemTable::remove(ItemPlace place) {
    Item* item = place.item();
    place.set(item->next);
    ItemPlace{item, &item->next}.set(nullptr);
    --count_;
    if (count_ < buckets_ / 2) {
        merge();
        merge(); // or a table that empties would stay too large
    }
}

void ItemTable::take(void* owner, void** directory, std::size_t room, void** fresh) {
    if (!needsSegment()) {
        return; // another thread was first
    }
    const std::size_t at = buckets_ / segment;
    if (at >= room_) {
        if (!directory || room <= room_) {
            return;
        }
        std::memcpy(directory, directory_, room_ * sizeof(void*)); // made after the last yield
        mprSetRef(owner, &directory_, directory);
        room_ = room;
    }
    mprSetRef(directory_, directory_ + at, fresh);
}

void ItemTable::split() {
    const std::size_t mask = 2 * level_ - 1;
    const std::size_t fresh = buckets_++;
    ItemPlace from = bucket(fresh - level_);
    ItemPlace to = bucket(fresh);
    while (Item* item = from.item()) {
        if ((item->hash & mask) == fresh) {
            Item* next = item->next;
            to.set(item);
            to = {item, &item->next};
            from.set(next);
        } else {
            from = {item, &item->next};
        }
    }
    to.set(nullptr);
    if (buckets_ == 2 * level_) {
        level_ = buckets_;
    }
}

/** Shrink by one bucket, if there are enough. */
void ItemTable::merge() {
    if (buckets_ == segment) {
        return;
    }
    if (buckets_ == level_) {
        level_ /= 2;
    }
    const std::size_t last = --buckets_;
    ItemPlace to = bucket(last - level_);
    while (Item* item = to.item()) {
        to = {item, &item->next};
    }
    const ItemPlace from = bucket(last);
    to.set(from.item());
    from.set(nullptr);
    if (last % segment == 0) {
        base::storeReference(directory_ + last / segment, nullptr);
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
