/*
    region_table.hpp - From any address to the region that holds it, or to nothing, in two loads.

    The address space is cut in slots of the region size; a slot belongs to one region at most. Roots cover 16 GiB each
    (32-bit: 2 GiB); a leaf, reserved when first needed and never given back before the heap closes, has an entry a slot.
    A heap over a buffer has one region and no table.

    Any thread may look up at any time. Changes are made under the heap's lock.
 */
#pragma once

#include <atomic>
#include <cstdint>

#include "mpr/heap/region.hpp"
#include "mpr/os/os.hpp"

namespace mpr::heap {

class RegionTable {
public:
    /** @param shift log2 of the region size. */
    void open(unsigned shift) { shift_ = shift; }

    void close() {
        for (auto& root : roots_) {
            if (Leaf* leaf = root.exchange(nullptr, std::memory_order_relaxed)) {
                os::release(leaf, leafBytes());
            }
        }
        only_ = nullptr;
    }

    /** The one region of a heap over a buffer. */
    void setOnly(Region* region) { only_ = region; }

    /** @return false when there is no memory for the table, or the address is beyond it. */
    bool add(Region* region) {
        const auto begin = reinterpret_cast<std::uintptr_t>(region);
        for (std::uintptr_t at = begin; at - begin < region->span; at += std::uintptr_t{1} << shift_) {
            Leaf* leaf = leafFor(at);
            if (!leaf) {
                remove(region);
                return false;
            }
            leaf[slotOf(at)].store(region, std::memory_order_release);
        }
        return true;
    }

    void remove(Region* region) {
        const auto begin = reinterpret_cast<std::uintptr_t>(region);
        for (std::uintptr_t at = begin; at - begin < region->span; at += std::uintptr_t{1} << shift_) {
            if ((at >> rootShift) < rootCount) {
                if (Leaf* leaf = roots_[at >> rootShift].load(std::memory_order_relaxed)) {
                    leaf[slotOf(at)].store(nullptr, std::memory_order_release);
                }
            }
        }
    }

    Region* find(const void* address) const {
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        Region* region = only_;
        if (!region) {
            if ((at >> rootShift) >= rootCount) {
                return nullptr;
            }
            const Leaf* leaf = roots_[at >> rootShift].load(std::memory_order_acquire);
            if (!leaf) {
                return nullptr;
            }
            region = leaf[slotOf(at)].load(std::memory_order_acquire);
        }
        return region && region->contains(address) ? region : nullptr;
    }

private:
    using Leaf = std::atomic<Region*>;

    static constexpr unsigned rootShift = sizeof(void*) == 8 ? 34 : 31;
    static constexpr std::size_t rootCount = sizeof(void*) == 8 ? std::size_t{1} << 14 : 2;

    std::size_t slotOf(std::uintptr_t at) const {
        return (at >> shift_) & ((std::uintptr_t{1} << (rootShift - shift_)) - 1);
    }
    std::size_t leafBytes() const {
        return roundUp(sizeof(Leaf) << (rootShift - shift_), os::pageSize());
    }

    Leaf* leafFor(std::uintptr_t at) {
        if ((at >> rootShift) >= rootCount) {
            return nullptr;
        }
        auto& root = roots_[at >> rootShift];
        Leaf* leaf = root.load(std::memory_order_relaxed);
        if (!leaf) {
            // Fresh pages are zeros, which are null entries.
            leaf = static_cast<Leaf*>(os::reserve(leafBytes(), os::pageSize()));
            root.store(leaf, std::memory_order_release);
        }
        return leaf;
    }

    unsigned shift_ = defaultRegionShift;
    Region* only_ = nullptr;
    std::atomic<Leaf*> roots_[rootCount] = {};
};

} // namespace mpr::heap
