// SPDX-License-Identifier: MIT
/*
    cache.hpp - A cache's items and where they stand: in a table by key, in the order of use, and in a wheel by when they
    expire. All under the cache's lock.

    Only the table's references retain an item: a bucket refers to its first, each to the next. The other two orders link
    items that are in the table, by pointers that no manager marks; who takes an item out of the table takes it out of them.

    The table is a linear hash table (W. Litwin, "Linear Hashing", VLDB 1980; P.-A. Larson, "Dynamic Hash Tables", CACM
    1988): it grows by one bucket at a time, which takes its items from one other, and shrinks likewise. Buckets stand in
    segments of a size from which on the collector logs stores one by one. So neither a call nor a pause of the collector
    goes through a table of a million.

    The wheel has three levels of 64 slots (G. Varghese, T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme
    7). An item beyond its horizon stands in the last slot, and comes by again. A step takes out one item, moves one down, or
    goes on by one tick.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/cache.h"
#include "mpr/os/lock.hpp"

namespace mpr::task {

/** An item: a barrier block with its key behind it. */
struct Item {
    Item* next; // references: of its bucket
    char* value;
    void* link;

    Item *newer, *older; // in the order of use
    Item* nextDue;       // in its slot of the wheel
    Item** due;          // what leads to it there; nullptr: it stands in none
    long long version;
    MprTime modified;
    MprTicks expires; // 0: never
    std::size_t hash;
    std::size_t length; // of the value
    char key[1];
};

/** A reference that leads to an item, and the block that it stands in. */
struct ItemPlace {
    void* owner;
    Item** field;

    Item* item() const { return *field; }
    void set(Item* item) const;
};

class ItemTable {
public:
    /** Buckets of a segment: more than 64 granules, from which on each store is logged for itself. */
    static constexpr std::size_t segment = 256;

    /** The arrays to begin with. @return false when memory is short. */
    static bool allocate(ItemTable& table);
    /** Mark what the table refers to: it stands in a block that is marked. */
    void mark();
    /** Take over the arrays of another. @param owner The block that this stands in. */
    void become(void* owner, const ItemTable& other);

    void** directory() const { return directory_; }
    std::size_t count() const { return count_; }

    /** What leads to the item of a key; at the end of its bucket when there is none. */
    ItemPlace find(std::size_t hash, const char* key) const;
    /** @param place As find() says of its key. */
    void insert(ItemPlace place, Item* item);
    void remove(ItemPlace place);

    bool wantsToGrow() const { return count_ > buckets_; }
    /** Whether growth needs a segment, and perhaps a larger directory, which the caller allocates without the lock. */
    bool needsSegment() const { return buckets_ % segment == 0 && !segmentAt(buckets_ / segment); }
    std::size_t segments() const { return buckets_ / segment; }
    std::size_t room() const { return room_; }
    /** Take what was allocated meanwhile, as far as it is needed still. @param directory nullptr: none was needed. */
    void take(void* owner, void** directory, std::size_t room, void** segment);
    /** Grow by one bucket, for which there is a segment. */
    void split();

private:
    void** segmentAt(std::size_t i) const { return i < room_ ? static_cast<void**>(directory_[i]) : nullptr; }
    ItemPlace bucket(std::size_t i) const;
    void merge();

    void** directory_ = nullptr; // reference: to segments
    std::size_t room_ = 0;       // of it
    std::size_t buckets_ = segment;
    std::size_t level_ = segment; // the greatest power of two of them
    std::size_t count_ = 0;       // items
};

class ItemWheel {
public:
    /** @param item In no slot. */
    void insert(Item* item, MprTicks expires, MprTicks now);
    void remove(Item* item);
    bool empty() const { return count_ == 0; }
    /** Do one step. @param expired Set to an item whose time has come, which is left where it is. @return Whether there is more. */
    bool step(MprTicks now, Item*& expired);

private:
    static constexpr unsigned digit = 6, levels = 3;
    static constexpr std::uint64_t slots = 1u << digit;
    static constexpr std::uint64_t horizon = std::uint64_t{1} << (digit * levels);

    static std::uint64_t tickOf(MprTicks time);
    void put(Item* item);

    Item* slots_[levels][slots] = {};
    std::uint64_t tick_ = 0; // what stands before it has been taken out
    std::size_t count_ = 0;
};

class ItemOrder {
public:
    Item* oldest() const { return oldest_; }
    void add(Item* item);
    void remove(Item* item);
    void use(Item* item) {
        if (item != newest_) {
            remove(item);
            add(item);
        }
    }

private:
    Item *newest_ = nullptr, *oldest_ = nullptr;
};

} // namespace mpr::task
