// SPDX-License-Identifier: MIT
/*
    check.cpp - The marking verifier's trace.
 */
#include "mpr/gc/check.hpp"

#include <bit>
#include <cstring>

#include "mpr/gc/manager.hpp"
#include "mpr/gc/naming.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::Region;

Check::Check(heap::Heap& heap, std::size_t blocks)
    : Watch{[](Watch& self, Byte, const void* block) {
          static_cast<Check&>(self).see(block);
          return true;
      }},
      heap_(heap), capacity_(std::bit_ceil(2 * blocks + 16)) {
    // The tables come from the system, not from the heap that is checked. Without memory nothing is checked.
    seen_ = static_cast<const void**>(os::map(capacity_ * sizeof(void*), MPR_MAP_READ | MPR_MAP_WRITE));
    queue_ = static_cast<const void**>(os::map(capacity_ * sizeof(void*), MPR_MAP_READ | MPR_MAP_WRITE));
}

Check::~Check() {
    if (seen_) {
        os::release(seen_, capacity_ * sizeof(void*));
    }
    if (queue_) {
        os::release(queue_, capacity_ * sizeof(void*));
    }
}

/** The slot that has a block, or else that is free for it. */
const void*& Check::slotOf(const void* block) const {
    std::size_t i = (reinterpret_cast<std::uintptr_t>(block) >> heap::granuleShift) * 0x9E3779B1u >> 8;
    while (seen_[i & (capacity_ - 1)] && seen_[i & (capacity_ - 1)] != block) {
        ++i;
    }
    return seen_[i & (capacity_ - 1)];
}

/** Add a block to the set. @return false when it was there already. */
bool Check::remember(const void* block) {
    const void*& slot = slotOf(block);
    if (slot) {
        return false;
    }
    slot = block;
    queue_[queued_++] = block;
    return true;
}

bool Check::saw(const void* block) const {
    return seen_ && queue_ && slotOf(block);
}

void Check::see(const void* pointer) {
    if (!pointer || !seen_ || !queue_) {
        return;
    }
    Region* region = heap_.find(pointer);
    if (!region) {
        return seePinned(pointer);
    }
    if (heap::head::isDiscarded(region->headAt(pointer)) && queued_ < capacity_ / 2) {
        report(pointer); // a block without references
        return;
    }
    if (!region->isBlock(pointer) || queued_ >= capacity_ / 2 || !remember(pointer)) {
        return; // what is no block is the marker's to report
    }
    const Byte h = region->map().get(region->granuleOf(pointer));
    if (heap_.dead(h)) {
        report(pointer);
    }
}

/** A pinned block in memory of the program's references nothing. */
void Check::seePinned(const void* pointer) {
    const heap::Annex* annex = heap_.annex();
    const heap::Place at = annex ? annex->find(pointer) : heap::Place{};
    if (at.region && heap_.dead(at.head())) {
        report(pointer);
    }
}

std::uint64_t Check::trace() {
    for (; traced_ < queued_; ++traced_) {
        parent_ = queue_[traced_];
        Region* region = heap_.find(parent_);
        const std::size_t g = region->granuleOf(parent_);
        if (heap::head::isLeaf(region->map().get(g))) {
            continue;
        }
        auto* block = region->address(g);
        if (const MprManager manager = managerOf(block, region->blockSize(g))) {
            manager(block, MPR_MANAGE_MARK);
        }
    }
    parent_ = nullptr;
    for (; said_ < most && said_ < defects_; ++said_) {
        say(defective_[said_], parents_[said_]);
    }
    return defects_;
}

void Check::report(const void* block) {
    if (defects_ < most) {
        defective_[defects_] = block;
        parents_[defects_] = parent_;
    }
    ++defects_;
}

void Check::say(const void* block, const void* parent) const {
    os::Message message;
    Region* of = heap_.find(block);
    const bool discarded = of && heap::head::isDiscarded(of->headAt(block));
    message << "check: block " << block << " can be reached and "
            << (discarded ? "would have been taken back by the yield of its thread, since nothing had published it"
                          : "is not marked")
            << "; referenced by ";
    if (!parent) {
        os::log(os::Level::error, message << "a root");
        return os::afterMistake();
    }
    Region* region = heap_.find(parent);
    const std::size_t g = region->granuleOf(parent);
    const std::size_t words = (region->blockSize(g) << heap::granuleShift) / sizeof(void*);
    auto* fields = static_cast<const void* const*>(parent);
    message << parent;
    for (std::size_t i = 0; i + 1 < words; ++i) {
        if (fields[i] == block) {
            message << " at offset " << std::uint64_t{i * sizeof(void*)};
            break;
        }
    }
    if (heap::head::isBarrier(region->map().get(g))) {
        message << ", which promised the barrier";
    }
    message << ", ";
    nameManager(message, managerOf(region->address(g), region->blockSize(g)));
    os::log(os::Level::error, message);
    os::afterMistake();
}

} // namespace mpr::gc
