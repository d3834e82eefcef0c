// SPDX-License-Identifier: MIT
/*
    roots.cpp - Tables of roots and holds.
 */
#include "mpr/gc/roots.hpp"

#include <algorithm>
#include <cstring>

namespace mpr::gc {

std::size_t CountedPointers::find(const void* key) const {
    std::size_t i = slotOf(key);
    while (entries_[i].key && entries_[i].key != key) {
        i = (i + 1) & (capacity_ - 1);
    }
    return i;
}

void CountedPointers::check() const {
    std::size_t used = 0;
    for (std::size_t i = 0; i < capacity_; ++i) {
        MPR_ASSERT(!entries_[i].key || (entries_[i].count > 0 && find(entries_[i].key) == i));
        used += entries_[i].key != nullptr;
    }
    MPR_ASSERT(used == used_ && (capacity_ == 0 || used < capacity_));
}

namespace {
/** Tables up to here are checked at each change: larger ones are no different. */
constexpr std::size_t greatestChecked = 64;
} // namespace

bool CountedPointers::resize(heap::Heap& heap, std::size_t capacity, heap::Shortage& shortage) {
    const std::size_t bytes = capacity * sizeof(Entry);
    void* block = heap.allocateShared(heap::granulesFor(bytes), heap::head::held, true, shortage);
    if (!block) {
        return false;
    }
    Entry* old = entries_;
    const std::size_t oldCapacity = capacity_;
    entries_ = static_cast<Entry*>(block);
    capacity_ = capacity;
    std::memset(block, 0, bytes);
    for (std::size_t i = 0; i < oldCapacity; ++i) {
        if (old[i].key) {
            entries_[find(old[i].key)] = old[i];
        }
    }
    if (old) {
        heap.freeShared(heap.find(old), old);
    }
    return true;
}

/** @return Whether there is room for another. */
MPR_APART bool CountedPointers::grow(heap::Heap& heap, heap::Shortage& shortage) {
    return resize(heap, std::max(capacity_ * 2, leastCapacity), shortage) || used_ + 1 < capacity_;
}

MPR_INLINE bool CountedPointers::add(heap::Heap& heap, const void* key, heap::Shortage& shortage) {
    if ((used_ + 1) * 4 > capacity_ * 3 && !grow(heap, shortage)) [[unlikely]] {
        return false;
    }
    Entry& entry = entries_[find(key)];
    if (!entry.key) {
        entry.key = key;
        entry.count = 0;
        ++used_;
    }
    ++entry.count;
    if (os::checked && capacity_ <= greatestChecked) {
        check();
    }
    return true;
}

std::uint32_t CountedPointers::count(const void* key) const {
    return capacity_ ? entries_[find(key)].count : 0;
}

MPR_INLINE int CountedPointers::remove(heap::Heap& heap, const void* key) {
    if (capacity_ == 0) {
        return -1;
    }
    std::size_t hole = find(key);
    if (!entries_[hole].key) {
        return -1;
    }
    if (--entries_[hole].count > 0) {
        return static_cast<int>(entries_[hole].count);
    }
    // Move back what would no longer be found across the gap.
    for (std::size_t i = (hole + 1) & (capacity_ - 1); entries_[i].key; i = (i + 1) & (capacity_ - 1)) {
        const std::size_t home = slotOf(entries_[i].key);
        if (((i - home) & (capacity_ - 1)) >= ((i - hole) & (capacity_ - 1))) {
            entries_[hole] = entries_[i];
            hole = i;
        }
    }
    entries_[hole] = {};
    --used_;
    if (os::hasThreads && capacity_ > leastCapacity && used_ * 8 < capacity_) {
        shrink(heap);
    }
    if (os::checked && capacity_ <= greatestChecked) {
        check();
    }
    return 0;
}

/** Each pause walks the whole table. Without memory for a smaller one it stays as it is. */
MPR_APART void CountedPointers::shrink(heap::Heap& heap) {
    heap::Shortage shortage = heap::Shortage::none;
    resize(heap, capacity_ / 2, shortage);
}

bool Roots::add(heap::Heap& heap, heap::Region* region, const void* block, heap::Shortage& shortage) {
    if (os::hasThreads &&
        (region->home.heap() || (region->map().get(region->granuleOf(block)) & heap::head::referenced) == 0)) {
        heap.changeHead(region, block, heap::head::referenced, 0);
    }
    os::Locked locked(lock_);
    return table_.add(heap, block, shortage);
}

bool Roots::remove(heap::Heap& heap, const void* block) {
    os::Locked locked(lock_);
    return table_.remove(heap, block) >= 0;
}

bool Roots::isRoot(const void* block) {
    os::Locked locked(lock_);
    return table_.count(block) > 0;
}

void Roots::link(MprRootRef* ref) {
    os::Locked locked(lock_);
    ref->next = refs_.next;
    ref->prev = &refs_;
    refs_.next->prev = ref;
    refs_.next = ref;
}

void Roots::unlink(MprRootRef* ref) {
    os::Locked locked(lock_);
    if (!os::hasThreads || ref->next) {
        ref->next->prev = ref->prev;
        __atomic_store_n(&ref->prev->next, ref->next, __ATOMIC_RELAXED); // mprUnlinkRootRef looks without the lock
        ref->next = ref->prev = nullptr;
    }
}

void Roots::unlinkAll() {
    while (refs_.next != &refs_) {
        unlink(refs_.next);
    }
}

bool Roots::hold(heap::Heap& heap, heap::Region* region, void* block) {
    if (os::hasThreads && (heap.changeHead(region, block, heap::head::held, 0) & heap::head::held) == 0) [[likely]] {
        return true;
    }
    // It was held already, and may not be any more.
    constexpr heap::Byte counted = os::hasThreads ? heap::head::held | heap::head::referenced : heap::head::held;
    os::Locked locked(lock_);
    const heap::Byte before = heap.changeHead(region, block, counted, 0);
    heap::Shortage shortage = heap::Shortage::none;
    return (before & heap::head::held) == 0 || holds_.add(heap, block, shortage);
}

bool Roots::isHeldFurther(const void* block) {
    os::Locked locked(lock_);
    return holds_.count(block) > 0;
}

bool Roots::endHolds(heap::Heap& heap, const void* block) {
    os::Locked locked(lock_);
    const bool any = holds_.count(block) > 0;
    while (holds_.remove(heap, block) > 0) {}
    return any;
}

bool Roots::release(heap::Heap& heap, heap::Region* region, void* block) {
    os::Locked locked(lock_);
    return holds_.remove(heap, block) >= 0 ||
           (heap.changeHead(region, block, 0, heap::head::held) & heap::head::held) != 0;
}

} // namespace mpr::gc
