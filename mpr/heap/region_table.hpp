// SPDX-License-Identifier: MIT
/*
    region_table.hpp - From any address to the region that holds it, or to nothing, in two loads.

    The address space is cut into slots of the least region size. A slot belongs to at most one region. Each root covers
    64 GiB (2 GiB on 32-bit). A leaf is reserved when it is first needed, stays until the heap closes, and has one entry
    per slot; only the pages in use are ever backed, or count. A heap over a buffer has one region and no table.

    Any thread may look up at any time. Changes are made under the heap's lock; a heap of pinned blocks enters its
    regions under its own, into slots that are its regions' alone. Storing an entry releases the region's
    header, storing a root releases the zeros of its leaf, and a look-up acquires. Whoever has a block's address finds
    its region, which was entered before.
 */
#pragma once

#include <atomic>
#include <cstdint>

#include "mpr/heap/region.hpp"
#include "mpr/os/os.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::heap {

class RegionTable {
public:
    void close() {
        if constexpr (os::hasPages) {   // else there is one region, and no leaf
            for (auto& root : roots_) { // nearly all are null, and an exchange takes its time
                if (Leaf* leaf = root.load(std::memory_order_relaxed)) {
                    root.store(nullptr, std::memory_order_relaxed);
                    os::releaseSparse(leaf, leafBytes());
                }
            }
        }
        only_ = nullptr;
    }

    /** Before any region is added. */
    void open(unsigned regionShift) { regionSize_ = std::uintptr_t{1} << regionShift; }
    /** Before any region is added: enter each into another heap's table, too, whose look-ups shall find it. */
    void enterInto(RegionTable& other) { other_ = &other; }
    /** The one region of a heap over a buffer. */
    void setOnly(Region* region) { only_ = region; }

    /** @return false when there is no memory for the table. */
    bool add(Region* region) {
        if (enter(region) && (!other_ || other_->add(region))) {
            return true;
        }
        clear(region);
        return false;
    }

    void remove(const Region* region) {
        if (other_) {
            other_->remove(region);
        }
        clear(region);
    }

    /** A large region is about to be so many bytes long, and was longer. */
    void shorten(const Region* region, std::size_t length) {
        if (other_) {
            other_->shorten(region, length);
        }
        const auto begin = reinterpret_cast<std::uintptr_t>(region);
        for (std::size_t at = roundUp(length, regionSize_); at < region->length; at += regionSize_) {
            clearRow(begin + at, 1);
        }
    }

    /**
        Call f(region) for each region. Takes time in proportion to the address space in use. The heap's lock is held.
     */
    template <typename F>
    void forEach(F&& f) const {
        for (const auto& root : roots_) {
            const Leaf* leaf = root.load(std::memory_order_relaxed);
            for (std::size_t slot = 0; leaf && slot < slots; ++slot) {
                Region* region = leaf[slot].load(std::memory_order_relaxed);
                const auto at = static_cast<std::uintptr_t>(&root - roots_) << rootShift | slot * slotSize;
                if (region && reinterpret_cast<std::uintptr_t>(region) == at) { // not its second slot, or its third
                    f(region);
                }
            }
        }
    }

    /** The region whose slot the address is in. It may end before the address. */
    Region* candidate(const void* address) const {
        if constexpr (!os::hasPages) {
            return only_;
        }
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        // Addresses beyond the table fold onto others. The region found for one does not contain it.
        const Leaf* leaf = roots_[(at >> rootShift) % rootCount].load(std::memory_order_acquire);
        if (leaf) [[likely]] {
            return leaf[slotOf(at)].load(std::memory_order_acquire);
        }
        return only_;
    }

    Region* find(const void* address) const {
        Region* region = candidate(address);
        return region && region->contains(address) ? region : nullptr;
    }

    /** From an address that no region contains: so many bytes on, one may begin. */
    std::size_t gapAt(std::uintptr_t at) const {
        const bool none = os::hasPages && !roots_[(at >> rootShift) % rootCount].load(std::memory_order_acquire);
        const std::uintptr_t step = none ? std::uintptr_t{1} << rootShift : slotSize;
        return step - (at & (step - 1));
    }

    /** The region of an address that may lie anywhere in a large region's block; find() sees only its start. */
    Region* findField(const void* address) const {
        Region* region = candidate(address);
        if (!region) {
            const auto at = reinterpret_cast<std::uintptr_t>(address) & ~(regionSize_ - 1);
            region = candidate(reinterpret_cast<const void*>(at));
        }
        return region && region->contains(address) ? region : nullptr;
    }

private:
    using Leaf = os::Shared<Region*>;

    static constexpr unsigned rootShift = sizeof(void*) == 8 ? 36 : 31;
    static constexpr std::uintptr_t slotSize = std::uintptr_t{1} << leastRegionShift;
    static constexpr std::size_t slots = (std::size_t{1} << rootShift) / slotSize;
    static constexpr std::size_t rootCount = !os::hasPages ? 1 : sizeof(void*) == 8 ? std::size_t{1} << 12 : 2;

    static std::size_t slotOf(std::uintptr_t at) { return (at / slotSize) % slots; }
    static std::size_t leafBytes() { return roundUp(sizeof(Leaf) * slots, os::pageSize()); }

    /**
        Call visit(at, count) for each row of slots that a region has, as long as that is true: every slot of an ordinary region;
        of a large one that of its block, which begins with the second page, and each where a region could begin, for
        findField. A slot may come twice.
     */
    template <typename Visit>
    bool visitRows(const Region* region, Visit visit) const {
        const auto begin = reinterpret_cast<std::uintptr_t>(region);
        if (!region->isLarge()) {
            return visit(begin, region->length / slotSize);
        }
        bool going = visit(begin + (std::uintptr_t{region->firstGranule} << granuleShift), std::size_t{1});
        for (std::size_t offset = 0; going && offset < region->length; offset += regionSize_) {
            going = visit(begin + offset, std::size_t{1});
        }
        return going;
    }

    bool enter(Region* region) {
        return visitRows(region,
                         [=, this](std::uintptr_t at, std::size_t count) { return fillRow(at, count, region); });
    }

    void clear(const Region* region) {
        visitRows(region, [this](std::uintptr_t at, std::size_t count) {
            clearRow(at, count);
            return true;
        });
    }

    /** Slots of one leaf: a region is aligned to its size. */
    bool fillRow(std::uintptr_t at, std::size_t count, Region* region) {
        if constexpr (!os::hasPages) {
            return false; // there is one region, and no leaf
        }
        Leaf* const leaf = leafFor(at);
        if (!leaf || !os::backSparse(leaf, leafBytes(), leaf + slotOf(at), count * sizeof(Leaf))) {
            return false;
        }
        store(leaf + slotOf(at), count, region);
        return true;
    }

    /** Slots that were never filled, or are clear already, may not be writable. */
    void clearRow(std::uintptr_t at, std::size_t count) {
        Leaf* const leaf =
            (at >> rootShift) < rootCount ? roots_[at >> rootShift].load(std::memory_order_acquire) : nullptr;
        if (leaf && leaf[slotOf(at)].load(std::memory_order_relaxed)) {
            store(leaf + slotOf(at), count, nullptr);
        }
    }

    static void store(Leaf* slot, std::size_t count, Region* value) {
        for (Leaf* const end = slot + count; slot != end; ++slot) {
            slot->store(value, std::memory_order_release);
        }
    }

    Leaf* leafFor(std::uintptr_t at) {
        if ((at >> rootShift) >= rootCount) {
            return nullptr;
        }
        auto& root = roots_[at >> rootShift];
        Leaf* leaf = root.load(std::memory_order_acquire);
        if (!leaf) {
            // Fresh pages are zeros, which are null entries. Another heap may enter a leaf here, under its own lock.
            auto* fresh = static_cast<Leaf*>(os::reserveSparse(leafBytes()));
            if (root.compare_exchange_strong(leaf, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
                return fresh;
            }
            if (fresh) {
                os::releaseSparse(fresh, leafBytes());
            }
        }
        return leaf;
    }

    Region* only_ = nullptr;
    RegionTable* other_ = nullptr;
    std::uintptr_t regionSize_ = slotSize;
    os::Shared<Leaf*> roots_[rootCount] = {};
};

} // namespace mpr::heap
