// SPDX-License-Identifier: MIT
/*
    roots.cpp - Tables of roots and holds.
 */
#include "mpr/gc/roots.hpp"

#include <cstring>
#include <utility>

#include "mpr/gc/guard.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::gc {

/** Multiplicative hashing: the high bits of the product, which all bits of the address have a part in. */
MPR_INLINE CountedPointers::Entry*& CountedPointers::bucketOf(const void* key) const {
    constexpr int width = sizeof(std::uintptr_t) * 8;
    constexpr auto golden = static_cast<std::uintptr_t>(0x9E3779B97F4A7C15u >> (64 - width)) | 1;
    return buckets_[(reinterpret_cast<std::uintptr_t>(key) >> heap::granuleShift) * golden >> (width - bits_)];
}

MPR_INLINE void CountedPointers::chain(Entry& entry) {
    Entry*& bucket = bucketOf(entry.key);
    entry.next = bucket;
    bucket = &entry;
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
    return static_cast<Piece*>(heap.allocateShared(heap::granulesFor(sizeof(Piece)), heap::head::held, true, shortage));
}

void CountedPointers::provide(heap::Heap& heap) {
    heap::Shortage shortage = heap::Shortage::none;
    if (Piece* piece = spare_ ? nullptr : makePiece(heap, shortage)) {
        putBy(piece);
    }
}

void CountedPointers::putBy(Piece* piece) {
    piece->before = spare_;
    spare_ = piece;
}

bool CountedPointers::provideBeyond(const heap::Heap& heap) {
    static_assert(sizeof(Piece) <= pieceBytes);
    if (spare_) {
        return true;
    }
    void* memory = os::hasPages && !heap.fixed() ? os::map(beyondBytes, MPR_MAP_READ | MPR_MAP_WRITE) : nullptr;
    if (!memory) {
        return false;
    }
    auto* pieces = static_cast<Piece*>(memory);
    for (std::size_t i = beyondBytes / sizeof(Piece) - 1; i > 0; --i) {
        putBy(pieces + i);
    }
    pieces->before = std::exchange(beyond_, pieces);
    return true;
}

void CountedPointers::close() {
    while (beyond_) {
        void* memory = std::exchange(beyond_, beyond_->before);
        os::release(memory, beyondBytes);
    }
}

/** Twice as many buckets, or half as many; without memory for them they stay as they are. */
MPR_APART void CountedPointers::resize(heap::Heap& heap, unsigned bits) {
    heap::Shortage shortage = heap::Shortage::none;
    const std::size_t bytes = sizeof(void*) << bits;
    void* block =
        bits == leastBits ? few_ : heap.allocateShared(heap::granulesFor(bytes), heap::head::held, true, shortage);
    if (!block) {
        return;
    }
    Entry** old = buckets_;
    buckets_ = static_cast<Entry**>(std::memset(block, 0, bytes));
    bits_ = bits;
    forEachEntry([this](Entry& entry) { chain(entry); });
    if (old != few_) {
        heap.freeShared(heap.find(old), old);
    }
}

/** Add a piece. It has no entries yet. */
MPR_APART bool CountedPointers::extend(heap::Heap& heap, heap::Shortage& shortage) {
    Piece* piece = os::hasThreads && spare_ && spare_ != &own_ ? nullptr : makePiece(heap, shortage);
    if (!piece && !spare_) {
        return false;
    }
    piece = piece ? piece : std::exchange(spare_, spare_->before);
    if (used_ > buckets()) {
        resize(heap, bits_ + 1);
    }
    piece->before = last_;
    last_ = piece;
    inLast_ = 0;
    return true;
}

/** The last piece has no entry left. */
MPR_APART void CountedPointers::dropLast(heap::Heap& heap) {
    Piece* piece = std::exchange(last_, last_->before);
    inLast_ = perPiece;
    heap::Region* region = heap.find(piece);
    if (!region || (os::hasThreads && (!spare_ || spare_ == &own_))) {
        putBy(piece); // its own, one from beyond the heap, or the one that the next root is likely to need
    } else {
        heap.freeShared(region, piece);
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
    Entry& entry = last_->entries[inLast_++];
    entry.key = key;
    entry.count = 1;
    chain(entry);
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
        entry->key = other;
        chain(*entry);
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

bool Roots::remove(heap::Heap& heap, const void* block) {
    os::Locked locked(lock_);
    return table_.remove(heap, block) >= 0;
}

void Roots::move(heap::Heap& heap, heap::Place from, heap::Place to) {
    os::Locked locked(lock_);
    const heap::Byte kept =
        static_cast<heap::Byte>(heap.changeHead(from.region, from.address(), 0, heap::head::held) & counted);
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

bool Roots::provideBeyond(const heap::Heap& heap) {
    os::Locked locked(lock_);
    return table_.provideBeyond(heap) && holds_.provideBeyond(heap);
}

void Roots::close() {
    table_.close();
    holds_.close();
}

bool Roots::isRoot(const void* block) {
    os::Locked locked(lock_);
    return table_.count(block) > 0;
}

bool Roots::link(MprRootRef* ref) {
    os::Locked locked(lock_);
    if (os::hasThreads && refs_.next == ref) { // elsewhere the next collection finds it
        return false;
    }
    ref->next = refs_.next;
    ref->prev = &refs_;
    refs_.next->prev = ref;
    refs_.next = ref;
    return true;
}

void Roots::unlink(MprRootRef* ref) {
    os::Locked locked(lock_);
    if (os::hasThreads && !ref->next) {
        return;
    }
    // A neighbour that was linked twice, or overwritten, is left as it is: the next collection finds it.
    if (!os::hasThreads || ref->next->prev == ref) {
        ref->next->prev = ref->prev;
    }
    if (!os::hasThreads || ref->prev->next == ref) {
        __atomic_store_n(&ref->prev->next, ref->next, __ATOMIC_RELAXED); // mprUnlinkRootRef looks without the lock
    }
    ref->next = ref->prev = nullptr;
}

void Roots::unlinkAll() {
    forEachRef([](MprRootRef& ref) { ref = {}; }); // it may outlive the runtime
    refs_.next = refs_.prev = &refs_;
}

void Roots::loseRefs() {
    if (!incomplete()) {
        giveUp();
        misuse("mprLinkRootRef", nullptr,
               os::hasThreads ? "linked twice, or gone: nothing is freed from here on" : "linked twice or gone");
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

bool Roots::release(heap::Heap& heap, heap::Region* region, void* block) {
    os::Locked locked(lock_);
    return holds_.remove(heap, block) >= 0 ||
           (heap.changeHead(region, block, 0, heap::head::held) & heap::head::held) != 0;
}

} // namespace mpr::gc
