// SPDX-License-Identifier: MIT
/*
    cache.hpp - A cache's items and where they stand: in a table by key, in the order of use, and in a wheel by when
    they expire. All under the cache's lock.

    Only the table retains items: dense arrays of references have them all, in no order. Everything else that links
    items (buckets, the order of use, the wheel) is pointers that no manager marks, of items that are in those arrays.
    So the collector hears of one store for each item that is added or removed, and of none when the table grows.

    To be found, items stand in a linear hash table (W. Litwin, "Linear Hashing", VLDB 1980; P.-A. Larson, "Dynamic
    Hash Tables", CACM 1988): it grows by one bucket at a time, which takes its items from one other, and shrinks
    likewise. Both the arrays and the buckets come in segments, of a size from which on the collector logs stores one
    by one. So neither a call nor a pause goes through a table of a million.

    The wheel has three levels of 64 slots (G. Varghese, T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987,
    scheme 7). An item beyond its horizon stands in the last slot, and comes by again. A step takes out one item,
    moves one down, or goes on by one tick.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/cache.h"
#include "mpr/os/check.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::task {

/** An item: a barrier block with its key behind it. */
struct Item {
    char* value; // references
    void* link;

    Item* next;          // of its bucket
    Item *newer, *older; // in the order of use
    Item* nextDue;       // in its slot of the wheel
    Item** due;          // what leads to it there; nullptr: it stands in none
    long long version;
    MprTime modified;
    MprTicks expires; // 0: never
    std::size_t hash;
    std::size_t length;   // of the value
    std::size_t position; // in the arrays of references
    char key[1];
};

class ItemTable {
public:
    /** What is allocated for more items, without the cache's lock. */
    struct Room {
        void** items = nullptr; // references
        void** buckets = nullptr;
        void** directory = nullptr; // if a larger one is needed
        std::size_t pairs = 0;      // it has room for
    };
    /** @param pairs As directoryRoom() said; 0: the directory is large enough. @return false when memory is short. */
    static bool allocate(Room& room, std::size_t pairs);

    /** Mark what the table refers to: it stands in a block that is marked. */
    void mark();
    /** Be empty. @param owner The block that this stands in. @param room With a directory. */
    void reset(void* owner, const Room& room);

    std::size_t count() const { return count_; }
    /** Whether another item has room. If not, take() gives some. */
    bool hasRoom() const { return segmentAt(2 * (count_ / segment)) != nullptr; }
    /** How large a directory is wanted for more room; 0: there is one. */
    std::size_t directoryRoom() const { return count_ / segment < pairs_ ? 0 : 2 * pairs_; }
    /** Use what was allocated, if it is needed still. */
    void take(void* owner, const Room& room);

    /** What leads to the item of a key, or to where one would be put. */
    Item** find(std::size_t hash, const char* key) const;
    /** Insert an item, for which there is room. @param place As find() says of its key. */
    void insert(Item** place, Item* item);
    void remove(Item** place);

private:
    /** References in a block that is larger than 64 granules. */
    static constexpr std::size_t segment = 256;

    void** segmentAt(std::size_t i) const { return i < 2 * pairs_ ? static_cast<void**>(directory_[i]) : nullptr; }
    void** entry(std::size_t position) const { return segmentAt(2 * (position / segment)) + position % segment; }
    Item** bucket(std::size_t i) const;
    void put(std::size_t position, Item* item);
    void split();
    void merge();

    void** directory_ = nullptr;    // reference: to a segment of references and one of buckets, and so on
    std::size_t pairs_ = 0;         // it has room for
    std::size_t buckets_ = segment; // never more than there are segments for
    std::size_t level_ = segment;   // the greatest power of two of them
    std::size_t count_ = 0;         // items
};

class ItemWheel {
public:
    /** @param item In no slot. */
    void insert(Item* item, MprTicks expires, MprTicks now);
    void remove(Item* item);
    bool empty() const { return count_ == 0; }
    /** Do one step. @param expired Set to an item whose time has come, and which stays. @return Whether there is more. */
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
