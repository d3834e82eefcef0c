// SPDX-License-Identifier: MIT
/*
    roots.cpp - Tables of roots and holds.
 */
#include "mpr/gc/roots.hpp"

#include <cstring>
#include <utility>

namespace mpr::gc {

/** Multiplicative hashing: the high bits of the product, which all bits of the address have a part in. */
MPR_INLINE CountedPointers::Entry*& CountedPointers::bucketOf(const void* key) const {
    constexpr int width = sizeof(std::uintptr_t) * 8;
    constexpr auto golden = static_cast<std::uintptr_t>(0x9E3779B97F4A7C15u >> (64 - width)) | 1;
    return buckets_[(reinterpret_cast<std::uintptr_t>(key) >> heap::granuleShift) * golden >> (width - bits_)];
}

CountedPointers::Entry** CountedPointers::find(const void* key) const {
    Entry** link = &bucketOf(key);
    while (*link && (*link)->key != key) {
        link = &(*link)->next;
    }
    return link;
}

void CountedPointers::check() const {
    std::size_t used = 0;
    forEach([&](const void* key) {
        const Entry* entry = *find(key);
        MPR_ASSERT(entry && entry->count > 0);
        ++used;
    });
    MPR_ASSERT(used == used_ && inLast_ > 0 && inLast_ <= perPiece);
}

namespace {
/** Tables up to here are checked at each change: larger ones are no different. */
constexpr std::size_t greatestChecked = 64;
} // namespace

CountedPointers::Piece* CountedPointers::makePiece(heap::Heap& heap, heap::Shortage& shortage) {
    return static_cast<Piece*>(
        heap.allocateShared(heap::granulesFor(sizeof(Piece)), heap::head::held, true, shortage));
}

void CountedPointers::provide(heap::Heap& heap) {
    heap::Shortage shortage = heap::Shortage::none;
    if (os::hasThreads && !spare_ && !heap.fixed()) {
        spare_ = makePiece(heap, shortage);
    }
}

/** Twice as many buckets, or half as many; without memory for them they stay as they are. */
MPR_APART void CountedPointers::resize(heap::Heap& heap, unsigned bits) {
    heap::Shortage shortage = heap::Shortage::none;
    const std::size_t bytes = sizeof(Entry*) << bits;
    void* block = bits == leastBits ? few_
                                    : heap.allocateShared(heap::granulesFor(bytes), heap::head::held, true, shortage);
    if (!block) {
        return;
    }
    Entry** old = buckets_;
    buckets_ = static_cast<Entry**>(std::memset(block, 0, bytes));
    bits_ = bits;
    std::size_t n = inLast_;
    for (Piece* piece = last_; piece; piece = piece->before, n = perPiece) {
        for (Entry* entry = piece->entries; entry < piece->entries + n; ++entry) {
            Entry*& bucket = bucketOf(entry->key);
            entry->next = bucket;
            bucket = entry;
        }
    }
    if (old != few_) {
        heap.freeShared(heap.find(old), old);
    }
}

/** Add a piece. It has no entries yet. */
MPR_APART bool CountedPointers::extend(heap::Heap& heap, heap::Shortage& shortage) {
    Piece* piece = spare_ ? std::exchange(spare_, nullptr) : makePiece(heap, shortage);
    if (!piece) {
        return false;
    }
    if (used_ > buckets()) {
        resize(heap, bits_ + 1);
    }
    piece->before = last_;
    last_ = piece;
    inLast_ = 0;
    provide(heap);
    return true;
}

/** The last piece has no entry left. */
MPR_APART void CountedPointers::dropLast(heap::Heap& heap) {
    Piece* piece = std::exchange(last_, last_->before);
    inLast_ = perPiece;
    if (os::hasThreads && !spare_ && !heap.fixed()) {
        spare_ = piece;
    } else {
        heap.freeShared(heap.find(piece), piece);
    }
    if (bits_ > leastBits && used_ * 8 < buckets()) {
        resize(heap, used_ == 0 ? leastBits : bits_ - 1);
    }
}

bool CountedPointers::add(heap::Heap& heap, const void* key, heap::Shortage& shortage) {
    if (Entry* entry = *find(key)) {
        ++entry->count;
        return true;
    }
    if (inLast_ == perPiece && !extend(heap, shortage)) [[unlikely]] {
        return false;
    }
    Entry*& bucket = bucketOf(key);
    Entry* entry = &last_->entries[inLast_++];
    *entry = {key, bucket, 1};
    bucket = entry;
    ++used_;
    if (os::checked && used_ <= greatestChecked) {
        check();
    }
    return true;
}

std::uint32_t CountedPointers::count(const void* key) const {
    const Entry* entry = *find(key);
    return entry ? entry->count : 0;
}

MPR_INLINE int CountedPointers::remove(heap::Heap& heap, const void* key) {
    Entry** link = find(key);
    Entry* entry = *link;
    if (!entry) {
        return -1;
    }
    if (--entry->count > 0) {
        return static_cast<int>(entry->count);
    }
    *link = entry->next;
    const Entry* moved = &last_->entries[--inLast_];
    if (moved != entry) {
        *find(moved->key) = entry;
        *entry = *moved;
    }
    --used_;
    if (inLast_ == 0) {
        dropLast(heap);
    }
    if (os::checked && used_ <= greatestChecked) {
        check();
    }
    return 0;
}

void CountedPointers::rename(const void* key, const void* other) {
    if (Entry** link = find(key); *link) {
        Entry* entry = std::exchange(*link, (*link)->next);
        Entry*& bucket = bucketOf(other);
        entry->key = other;
        entry->next = bucket;
        bucket = entry;
    }
}

bool Roots::add(heap::Heap& heap, heap::Region* region, const void* block, heap::Shortage& shortage) {
    const bool elsewhere = os::hasPages && region->home.heap();
    if (elsewhere || (region->map().get(region->granuleOf(block)) & heap::head::referenced) == 0) {
        heap.changeHead(region, block, heap::head::referenced, 0);
    }
    os::Locked locked(lock_);
    return table_.add(heap, block, shortage);
}

bool Roots::addAsHold(heap::Heap& heap, heap::Region* region, void* block) {
    os::Locked locked(lock_);
    if ((heap.changeHead(region, block, counted, 0) & heap::head::held) != 0) {
        return false;
    }
    asHolds_.store(asHolds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
}

bool Roots::remove(heap::Heap& heap, const void* block) {
    os::Locked locked(lock_);
    return table_.remove(heap, block) >= 0;
}

bool Roots::removeHold(heap::Heap& heap, heap::Region* region, void* block) {
    os::Locked locked(lock_);
    const std::size_t left = asHolds_.load(std::memory_order_relaxed);
    if ((left == 0 && !uncounted()) || !endHold(heap, region, block)) {
        return false;
    }
    asHolds_.store(left - (left > 0), std::memory_order_relaxed);
    return true;
}

void Roots::move(heap::Heap& heap, heap::Place from, heap::Place to) {
    os::Locked locked(lock_);
    const heap::Byte kept = static_cast<heap::Byte>(heap.changeHead(from.region, from.address(), 0, heap::head::held) & counted);
    if (kept == 0) {
        return;
    }
    heap.changeHead(to.region, to.address(), kept, 0);
    table_.rename(from.address(), to.address());
    holds_.rename(from.address(), to.address());
}

void Roots::provide(heap::Heap& heap) {
    os::Locked locked(lock_);
    table_.provide(heap);
    holds_.provide(heap);
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

bool Roots::hold(heap::Heap& heap, heap::Region* region, void* block, heap::Shortage& shortage) {
    if (os::hasThreads && (heap.changeHead(region, block, heap::head::held, 0) & heap::head::held) == 0) [[likely]] {
        return true;
    }
    // It was held already, and may not be any more.
    os::Locked locked(lock_);
    return (heap.changeHead(region, block, counted, 0) & heap::head::held) == 0 || holds_.add(heap, block, shortage);
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

/** End a hold: a further one, or the first. */
MPR_INLINE bool Roots::endHold(heap::Heap& heap, heap::Region* region, void* block) {
    if (holds_.remove(heap, block) >= 0) {
        return true;
    }
    const bool isLast = !uncounted() || !mayBeCounted(region->map().get(region->granuleOf(block)));
    return !isLast || (heap.changeHead(region, block, 0, heap::head::held) & heap::head::held) != 0;
}

bool Roots::release(heap::Heap& heap, heap::Region* region, void* block) {
    os::Locked locked(lock_);
    return endHold(heap, region, block);
}

} // namespace mpr::gc
