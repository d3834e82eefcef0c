/* SPDX-License-Identifier: MIT */
/*
    lru.h - A hash table in managed memory that knows the order in which its entries were used.

    Sessions and pages stand in one each. Nothing in here allocates, so that an allocation cannot find a table half
    changed: the pruner of redline.cpp removes entries in the middle of an allocation made by somebody else.

    trace() may run while the application does, on the collector's thread: it reads Member fields and nothing else.
    An entry that leaves the table drops its links: a dead entry must not keep its former neighbours alive.
 */
#pragma once

#include "mpr.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace service {

/** Base of an entry. An Entry has `std::string_view key() const`. */
template <class Entry>
struct LruLink {
    mpr::Member<Entry> chain;        // The next entry of the same slot
    mpr::Member<Entry> newer, older; // By last use
    std::uint32_t hash = 0;

    void traceLink(mpr::Marker& m) { m(chain, newer, older); }
};

template <class Entry>
class LruTable {
public:
    void trace(mpr::Marker& m) {
        m(newest_, oldest_);
        for (auto& slot : slots_) {
            m(slot);
        }
    }

    std::size_t count() const { return count_; }
    Entry* oldest() const { return oldest_.get(); }

    Entry* find(std::string_view key) const {
        std::uint32_t hash = hashOf(key);
        Entry* entry = slots_[hash % slotCount].get();
        while (entry && (entry->hash != hash || entry->key() != key)) {
            entry = entry->chain.get();
        }
        return entry;
    }

    /** Add an entry whose key is not in the table. It becomes the newest. */
    void insert(Entry* entry) {
        entry->hash = hashOf(entry->key());
        auto& slot = slots_[entry->hash % slotCount];
        entry->chain = slot.get();
        slot = entry;
        linkNewest(entry);
        ++count_;
    }

    void remove(Entry* entry) {
        auto& slot = slots_[entry->hash % slotCount];
        if (slot.get() == entry) {
            slot = entry->chain.get();
        } else {
            Entry* before = slot.get();
            while (before->chain.get() != entry) {
                before = before->chain.get();
            }
            before->chain = entry->chain.get();
        }
        entry->chain = nullptr;
        unlink(entry);
        --count_;
    }

    /** Make an entry the newest. */
    void touch(Entry* entry) {
        if (newest_.get() != entry) {
            unlink(entry);
            linkNewest(entry);
        }
    }

private:
    static constexpr std::size_t slotCount = 8192;

    static std::uint32_t hashOf(std::string_view key) { // FNV-1a
        std::uint32_t hash = 2166136261u;
        for (char c : key) {
            hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
        }
        return hash;
    }

    void linkNewest(Entry* entry) {
        entry->older = newest_.get();
        if (Entry* second = newest_.get()) {
            second->newer = entry;
        } else {
            oldest_ = entry;
        }
        newest_ = entry;
    }

    void unlink(Entry* entry) {
        Entry* newer = entry->newer.get();
        Entry* older = entry->older.get();
        if (newer) {
            newer->older = older;
        } else {
            newest_ = older;
        }
        if (older) {
            older->newer = newer;
        } else {
            oldest_ = newer;
        }
        entry->newer = nullptr;
        entry->older = nullptr;
    }

    std::array<mpr::Member<Entry>, slotCount> slots_;
    mpr::Member<Entry> newest_, oldest_;
    std::size_t count_ = 0;
};

} // namespace service
