// SPDX-License-Identifier: MIT
/*
    mark_stack.hpp - A stack of blocks that have been reached and wait to be traced. Its size is fixed, its memory may have
    to be backed as it is used.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mpr/heap/granule.hpp"
#include "mpr/os/check.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::gc {

/**
    A block, with its size in granules in the bits that alignment leaves; 0 when the size does not fit. It is one word:
    as two it would be stored in halves and loaded whole, which stalls the processor.
 */
class MarkEntry {
public:
    MarkEntry() = default;
    MarkEntry(const void* block, std::size_t granules) : bits_(reinterpret_cast<std::uintptr_t>(block) | granules) {}
    /** A block of so many granules, however many. */
    static MarkEntry of(const void* block, std::size_t granules) {
        return MarkEntry(block, granules < heap::granuleSize ? granules : 0);
    }
    explicit operator bool() const { return bits_ != 0; }
    heap::Byte* block() const { return reinterpret_cast<heap::Byte*>(bits_ & ~(heap::granuleSize - 1)); }
    /** Size of the block; 0 means that the map has to be asked. */
    std::size_t granules() const { return bits_ & (heap::granuleSize - 1); }

    /** The entry above the words of a row (see Row). No block has address 0. */
    static MarkEntry row() { return MarkEntry(nullptr, 1); }
    /** The entry with these bits(). */
    static MarkEntry word(std::uintptr_t bits) { return MarkEntry(reinterpret_cast<const void*>(bits), 0); }
    bool isRow() const { return bits_ == 1; }
    std::uintptr_t bits() const { return bits_; }

private:
    std::uintptr_t bits_ = 0;
};

/**
    References side by side that a manager named by mprMarkRefs, as far as they still wait to be marked. A plain block
    may keep them anywhere, and running threads may move them, so `fields` is valid during one pause only. After that
    the manager is asked again for the references at these positions.
 */
struct Row {
    const void* const* fields;
    std::size_t count;
    const void* owner;    // the block whose manager named them
    std::size_t position; // of the first, among all references that the manager names in rows
    std::size_t pause;    // in which it named them

    Row from(std::size_t i) const { return {fields + i, count - i, owner, position + i, pause}; }
};

/** An area from os::reserveSparse, in which stacks lie. */
struct MarkArea {
    void* pages = nullptr;
    std::size_t size = 0;
};

/** How far a stack may reach when its memory lies in an area, and has to be backed before it is written. */
class GrowingReach {
public:
    /** @param area nullptr: the memory is backed. @param limit How far it is then. @return false: the system has no memory. */
    bool open(MarkEntry* base, MarkEntry* end, const MarkArea* area, MarkEntry*& limit) {
        constexpr std::ptrdiff_t least = 4096 / sizeof(MarkEntry);
        end_ = end;
        area_ = area;
        limit = area ? base : end;
        return !area || back(limit, least);
    }
    MarkEntry* end(MarkEntry*) const { return end_; }
    /** @param limit How far memory is backed. @return false: that is all, or the system has no memory. */
    bool extend(MarkEntry*& limit) {
        constexpr std::ptrdiff_t step = 64 * 1024 / sizeof(MarkEntry);
        return limit != end_ && back(limit, step);
    }

private:
    [[gnu::cold, gnu::noinline]] bool back(MarkEntry*& limit, std::ptrdiff_t entries) {
        entries = std::min(entries, end_ - limit);
        if (!os::backSparse(area_->pages, area_->size, limit, static_cast<std::size_t>(entries) * sizeof(MarkEntry))) {
            end_ = limit; // and nobody asks again
            return false;
        }
        limit += entries;
        return true;
    }

    MarkEntry* end_ = nullptr;
    const MarkArea* area_ = nullptr;
};

/** The same where there are no pages. */
class FixedReach {
public:
    static bool open(MarkEntry*, MarkEntry* end, const MarkArea*, MarkEntry*& limit) {
        limit = end;
        return true;
    }
    static MarkEntry* end(MarkEntry* limit) { return limit; }
    static bool extend(MarkEntry*&) { return false; }
};

class MarkStack {
public:
    /**
        @param area Where the memory lies if it has to be backed before it is written; nullptr: it has not.
        @return false: there is no memory to begin with.
     */
    bool open(void* memory, std::size_t bytes, const MarkArea* area = nullptr) {
        base_ = top_ = static_cast<MarkEntry*>(memory);
        return reach_.open(base_, base_ + bytes / sizeof(MarkEntry), area, limit_);
    }
    bool empty() const {
        check();
        return top_ == base_;
    }
    void clear() { top_ = base_; }
    /** @return false when full. */
    bool push(MarkEntry entry) {
        if (top_ == limit_ && !reach_.extend(limit_)) [[unlikely]] {
            return false;
        }
        *top_++ = entry;
        return true;
    }
    bool pushRow(const Row& row) {
        if (!hasRoom(rowEntries)) {
            return false;
        }
        const std::uintptr_t words[] = {reinterpret_cast<std::uintptr_t>(row.fields), row.count,
                                        reinterpret_cast<std::uintptr_t>(row.owner), row.position, row.pause};
        for (const std::uintptr_t word : words) {
            *top_++ = MarkEntry::word(word);
        }
        *top_++ = MarkEntry::row();
        return true;
    }
    /** Whether a row is on top of a stack that is not empty. */
    bool isRowOnTop() const {
        MPR_ASSERT(!empty());
        return top_[-1].isRow();
    }
    /** Take the top of a stack that is not empty. */
    MarkEntry pop() {
        MPR_ASSERT(!empty());
        return *--top_;
    }
    /** Take the row on top. */
    Row popRow() {
        MPR_ASSERT(isRowOnTop() && top_ - base_ >= rowEntries);
        top_ -= rowEntries;
        return {reinterpret_cast<const void* const*>(top_[0].bits()), top_[1].bits(),
                reinterpret_cast<const void*>(top_[2].bits()), top_[3].bits(), top_[4].bits()};
    }
    std::size_t size() const { return static_cast<std::size_t>(top_ - base_); }
    /** Entries that can still be pushed, if there is memory. */
    std::size_t room() const { return static_cast<std::size_t>(reach_.end(limit_) - top_); }
    /** Move the top, a block or a row, to another stack. @return false when that is full. */
    bool moveTo(MarkStack& other) {
        const std::ptrdiff_t entries = isRowOnTop() ? rowEntries : 1;
        if (!other.hasRoom(entries)) {
            return false;
        }
        other.top_ = std::copy_n(top_ -= entries, entries, other.top_);
        return true;
    }

    static constexpr std::ptrdiff_t rowEntries = 6;

    /** The top is within the stack. */
    void check() const { MPR_ASSERT(base_ <= top_ && top_ <= limit_ && limit_ <= reach_.end(limit_)); }

private:
    bool hasRoom(std::ptrdiff_t entries) {
        while (limit_ - top_ < entries) {
            if (!reach_.extend(limit_)) {
                return false;
            }
        }
        return true;
    }

    MarkEntry* base_ = nullptr;
    MarkEntry* top_ = nullptr;   // one past the last entry
    MarkEntry* limit_ = nullptr; // of what is backed
    [[no_unique_address]] std::conditional_t<os::hasPages, GrowingReach, FixedReach> reach_;
};

} // namespace mpr::gc
