// SPDX-License-Identifier: MIT
/*
    handle_store.cpp - Places of handles are taken and given back.
 */
#include "mpr/gc/handle_store.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "mpr/gc/handle_tracing.hpp"
#include "mpr/gc/mutator.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::Region;
namespace head = heap::head;

constinit HandleStore handleStore;

/** Without pages: of segments in the next buffer, so that no handle is one of an earlier runtime. */
[[maybe_unused]] static constinit std::uintptr_t nextGeneration = 1;

void HandleStore::open(heap::Heap& heap, Roots& roots) {
    os::Locked locked(lock_);
    if (heap_ != &heap || !roots.handles()) {
        if constexpr (!os::hasPages) {
            embedHooks = nullptr; // they were of the program of an earlier runtime
        }
        heap_ = &heap;
        roots_ = &roots;
    }
    roots.setHandles(&handleHooks);
}

void HandleStore::close() {
    os::Locked locked(lock_);
    dirty_.store(nullptr, std::memory_order_relaxed);
    if constexpr (os::hasThreads) {
        index_.close();
    }
    for (HandleSegment* segment = all_.load(std::memory_order_relaxed); segment; segment = segment->next) {
        segment->dirty.store(false, std::memory_order_relaxed);
        segment->isUnindexed = false;
        for (auto& group : segment->groupStates) {
            group.store(0, std::memory_order_relaxed);
        }
        if (segment->kind() != HandleSegment::noType) {
            retire(segment);
        }
    }
    std::fill_n(empty_, MPR_HANDLE_TYPES, 0u);
    if constexpr (!os::hasPages) {
        all_.store(nullptr); // they are in the buffer
        spare_ = nullptr;
    }
    heap_ = nullptr;
    roots_->setHandles(nullptr);
    roots_ = nullptr;
}

std::size_t HandleStore::bytesOfSegments() {
    const os::Locked locked(lock_);
    std::size_t bytes = dependentRoom_ * sizeof(void*);
    for (const HandleSegment* segment = all_.load(); segment; segment = segment->next) {
        bytes += HandleSegment::size();
    }
    return bytes;
}

void HandleStore::giveSegments() {
    os::Locked locked(lock_);
    MPR_ASSERT(!heap_);
    HandleSegment* next = all_.exchange(nullptr);
    while (HandleSegment* segment = next) {
        next = segment->next;
        os::release(segment, HandleSegment::size());
    }
    spare_ = nullptr;
    if (dependents_) {
        os::release(dependents_, dependentRoom_ * sizeof(void*));
    }
    dependents_ = nullptr;
    dependentRoom_ = dependentCount_ = 0;
}

// ---- Segments -----------------------------------------------------------------------------------------------------

/** Zeroed memory for a segment, aligned as it wants to be; in a buffer a held block, or within one. */
void* HandleStore::allocate(std::size_t size) {
    if constexpr (os::hasPages) {
        return os::reserve(size, std::max(size, os::pageSize()));
    }
    heap::Shortage shortage = heap::Shortage::none;
    constexpr std::size_t more = HandleSegment::isAligned ? HandleSegment::bytes - heap::granuleSize : 0;
    void* block = heap_->allocateShared(heap::granulesFor(size + more), head::held, false, shortage);
    if (!block) {
        return nullptr;
    }
    const std::uintptr_t begin = heap::roundUp(reinterpret_cast<std::uintptr_t>(block), more + heap::granuleSize);
    return std::memset(reinterpret_cast<void*>(begin), 0, size);
}

/** Give a segment a type. Dependent handles' segments have a number. @return false when there is no memory for that. */
bool HandleStore::enlist(HandleSegment* segment, int type) {
    if (os::hasPages && type == MPR_HANDLE_DEPENDENT) {
        if (dependentCount_ == dependentRoom_) {
            const std::size_t bytes = std::max(os::pageSize(), 2 * dependentRoom_ * sizeof(void*));
            auto* grown = static_cast<HandleSegment**>(os::reserve(bytes, os::pageSize()));
            if (!grown) {
                return false;
            }
            if (dependents_) {
                std::memcpy(grown, dependents_, dependentCount_ * sizeof(void*));
                os::release(dependents_, dependentRoom_ * sizeof(void*));
            }
            dependents_ = grown;
            dependentRoom_ = bytes / sizeof(void*);
        }
        segment->number = dependentCount_;
        dependents_[dependentCount_++] = segment;
    }
    segment->type.store(static_cast<std::uint8_t>(type), std::memory_order_release);
    ++empty_[type];
    setRoomy(segment, type, true);
    return true;
}

namespace {
/** The pages of a segment behind the one, mostly, in which it begins. */
struct Rest {
    explicit Rest(HandleSegment* segment)
        : kept(std::min(heap::roundUp(sizeof(HandleSegment), os::pageSize()), HandleSegment::bytes)),
          begin(reinterpret_cast<std::byte*>(segment) + kept), size(HandleSegment::bytes - kept) {}
    std::size_t kept;
    std::byte* begin;
    std::size_t size;
};

void decommit(HandleSegment* segment) {
    if constexpr (os::hasPages) {
        if (const Rest rest(segment); rest.size > 0) {
            os::decommit(rest.begin, rest.size);
        }
    }
}

/** @return false when the host refuses. */
bool recommit(HandleSegment* segment) {
    if constexpr (os::hasPages) {
        const Rest rest(segment);
        return rest.size == 0 || os::commit(rest.begin, rest.size);
    }
    return true;
}
} // namespace

HandleSegment* HandleStore::addSegment(int type) {
    if constexpr (os::hasPages) {
        const bool privileged = current && current->local.privileged();
        if (!heap_->lend(HandleSegment::size(), privileged)) {
            return nullptr;
        }
    }
    HandleSegment* segment = takeSegment(type);
    if (os::hasPages && !segment) {
        heap_->endLoan(HandleSegment::size());
    }
    return segment;
}

HandleSegment* HandleStore::takeSegment(int type) {
    if (HandleSegment* segment = spare_) {
        HandleSegment* const rest = segment->nextRoomy;
        if (!recommit(segment)) {
            return nullptr;
        }
        if (!enlist(segment, type)) {
            decommit(segment);
            return nullptr;
        }
        spare_ = rest;
        return segment;
    }
    void* memory = allocate(HandleSegment::size());
    if (!memory) {
        return nullptr;
    }
    auto* segment = new (memory) HandleSegment;
    if constexpr (!os::hasPages) {
        segment->generation = nextGeneration;
    }
    if (!enlist(segment, type)) {
        os::release(memory, HandleSegment::size());
        return nullptr;
    }
    if constexpr (os::hasPages) {
        os::givesAtEnd([] { handleStore.giveSegments(); }, [] { return handleStore.bytesOfSegments(); });
    }
    segment->next = all_.load(std::memory_order_relaxed);
    all_.store(segment, std::memory_order_release);
    return segment;
}

/** Give back the memory of a segment whose places are all free, except the page in which it begins. */
void HandleStore::retire(HandleSegment* segment) {
    os::assertHeld(lock_);
    const int type = segment->kind();
    setRoomy(segment, type, false);
    Slot* const slots = segment->slots();
    const std::uint32_t used = segment->used.load(std::memory_order_relaxed);
    std::uintptr_t had = 0; // generations, by any place, since the segment was first used
    for (std::uint32_t i = 0; i < used; ++i) {
        had = std::max(had, (self::generation(slots[i].self) - segment->generation) & self::generations);
        word::store(slots[i].self, std::uintptr_t{0}); // where memory stays
    }
    segment->generation = (segment->generation + had + 1) & self::generations;
    segment->generation += segment->generation == 0; // see self::next
    if constexpr (!os::hasPages) {
        nextGeneration = std::max(nextGeneration, segment->generation);
    }
    segment->used.store(0, std::memory_order_release);
    segment->free = nullptr;
    segment->freeCount = 0;
    segment->type.store(HandleSegment::noType, std::memory_order_release);
    if (type == MPR_HANDLE_DEPENDENT && os::hasPages) {
        HandleSegment* const last = dependents_[--dependentCount_];
        last->number = segment->number;
        dependents_[last->number] = last;
    }
    decommit(segment);
    if constexpr (os::hasPages) {
        heap_->endLoan(HandleSegment::size());
    }
    segment->nextRoomy = spare_;
    spare_ = segment;
}

void HandleStore::setRoomy(HandleSegment* segment, int type, bool on) {
    if (segment->roomy == on) {
        return;
    }
    segment->roomy = on;
    if (on) {
        segment->previousRoomy = nullptr;
        segment->nextRoomy = roomy_[type];
        if (segment->nextRoomy) {
            segment->nextRoomy->previousRoomy = segment;
        }
        roomy_[type] = segment;
        return;
    }
    (segment->previousRoomy ? segment->previousRoomy->nextRoomy : roomy_[type]) = segment->nextRoomy;
    if (segment->nextRoomy) {
        segment->nextRoomy->previousRoomy = segment->previousRoomy;
    }
}

// ---- Places -------------------------------------------------------------------------------------------------------

Slot* HandleStore::takeLocked(int type) {
    HandleSegment* segment = roomy_[type];
    if (!segment && !(segment = addSegment(type))) {
        return nullptr;
    }
    const std::uint32_t used = segment->used.load(std::memory_order_relaxed);
    empty_[type] -= segment->freeCount == used;
    Slot* slot = segment->free;
    if (slot) {
        segment->free = nextFree(slot);
        --segment->freeCount;
    } else {
        slot = segment->slots() + used;
#if UINTPTR_MAX <= 0xFFFFFFFFu
        slot->index = static_cast<std::uint16_t>(used);
#endif
        word::store(slot->block, static_cast<void*>(nullptr));
        word::store(slot->self, self::make(slot, segment->generation) | self::free);
        segment->used.store(used + 1, std::memory_order_release);
    }
    if (!segment->free && segment->used.load(std::memory_order_relaxed) == HandleSegment::capacity(type)) {
        setRoomy(segment, type, false);
    }
    return slot;
}

void HandleStore::put(Slot* slot, bool mayRetire) {
    HandleSegment* segment = HandleSegment::of(slot);
    const int type = segment->kind();
    setNextFree(slot, segment->free);
    segment->free = slot;
    ++segment->freeCount;
    setRoomy(segment, type, true);
    if (segment->freeCount == segment->used.load(std::memory_order_relaxed)) {
        ++empty_[type];
        // A host's pages may not be written to when it has them back, and who destroys a stale handle tries.
        if (os::hasPages && mayRetire && empty_[type] > 1 && !os::isHosted()) {
            --empty_[type];
            retire(segment);
        }
    }
}

Slot* HandleStore::takeMany(HandleCache& cache, int type) {
    os::Locked locked(lock_);
    while (Slot* slot = cache.count(type) < batch ? takeLocked(type) : nullptr) {
        cache.put(type, slot);
    }
    return cache.take(type);
}

void HandleStore::giveMany(HandleCache& cache, int type, unsigned keep) {
    os::Locked locked(lock_);
    while (cache.count(type) > keep) {
        put(cache.take(type), true);
    }
}

void HandleStore::leave(HandleCache& cache) {
    for (int type = 0; type < MPR_HANDLE_TYPES; ++type) {
        giveMany(cache, type, 0);
    }
}

Slot* HandleStore::takeShared(int type) {
    os::Locked locked(lock_);
    return takeLocked(type);
}

void HandleStore::putShared(Slot* slot) {
    os::Locked locked(lock_);
    put(slot, !os::hasThreads);
}

// ---- Handles ------------------------------------------------------------------------------------------------------

void HandleStore::addStored(HandleSegment* segment, std::size_t group) {
    const std::uint8_t before = word::setBits(segment->groupStates[group], HandleSegment::dirtyGroup);
    if (os::hasThreads && (before & HandleSegment::unindexed) == 0) {
        index_.noteStored(*segment, group);
    }
    if (!segment->dirty.exchange(true, std::memory_order_relaxed)) {
        segment->nextDirty = dirty_.load(std::memory_order_relaxed);
        while (!dirty_.compare_exchange_weak(segment->nextDirty, segment, std::memory_order_acq_rel)) {}
    }
}

Slot* HandleStore::findDying(MprHandle handle) {
    // One load: dying may end between two.
    Slot* slot = MPR_HANDLE_SLOT(handle);
    return slot && self::isOf(word::load(slot->self), MPR_HANDLE_SELF(handle)) ? slot : nullptr;
}

void HandleStore::awaitChange(const Slot* slot, std::uintptr_t changing) {
    constexpr unsigned spins = 200;
    constexpr std::uint64_t rest = 20'000; // nanoseconds: who changes it may need this processor
    os::Word nobodyWakes{0};
    for (unsigned i = 0; os::hasThreads && word::load(slot->self) == changing; ++i) {
        if (i < spins) {
            os::relax();
        } else {
            os::wait(nobodyWakes, 0, rest);
        }
    }
}

bool HandleStore::refersElsewhere(const void* block) {
    const heap::Annex* annex = heap_->annex();
    const heap::Place at = annex ? annex->find(block) : heap::Place{};
    if (!at.region || (heap_->dead(at.head()) && (at.head() & heap::head::held) == 0)) {
        return false;
    }
    heap_->changeHead(at.region, block, heap::head::referenced, 0);
    return true;
}

bool HandleStore::isDying(MprHandle handle) {
    Slot* slot = MPR_HANDLE_SLOT(handle);
    return slot && word::load(slot->self) == (MPR_HANDLE_SELF(handle) | self::dying);
}

void HandleStore::endDyingSlow(Slot* slot) {
    os::Locked locked(handleStore.lock_);
    if (const std::uintptr_t dies = word::load(slot->self); self::isDying(dies)) {
        word::store(slot->block, static_cast<void*>(nullptr));
        word::store(slot->self, dies & ~self::dying);
    }
}

void HandleStore::forgetValue(Slot* slot) {
    // The value first: one that another thread sets comes behind a key, so either the key is seen or the value changes.
    void* value = word::load(slot->extra);
    if (value && !word::load(slot->block)) {
        word::change(slot->extra, value, static_cast<void*>(nullptr));
    }
}

bool HandleStore::contains(MprHandle handle) {
    Slot* slot = MPR_HANDLE_SLOT(handle);
    for (HandleSegment* segment = all_.load(std::memory_order_acquire); slot && segment; segment = segment->next) {
        const auto offset = reinterpret_cast<std::uintptr_t>(slot) - reinterpret_cast<std::uintptr_t>(segment->slots());
        if (offset % sizeof(Slot) == 0 && offset / sizeof(Slot) < segment->used.load(std::memory_order_acquire)) {
            return self::isOf(word::load(slot->self), MPR_HANDLE_SELF(handle));
        }
    }
    return false;
}

} // namespace mpr::gc
