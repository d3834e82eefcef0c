// SPDX-License-Identifier: MIT
/*
    manager.cpp - The table of managers, and what becomes of a block whose manager was overwritten.
 */
#include "mpr/gc/manager.hpp"

#include "mpr/collect.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

constinit Managers managers;

void Managers::open() {
    os::seed(&secret_, sizeof(secret_));
    // Some bits of a sealed code are those of the secret: neither all zero nor all one, as they are in zero, in all ones and
    // in small numbers, negative ones included. On 64-bit these are the highest byte, which is zero in an address. On 32-bit
    // they are where seal() rotates the lowest bits of a block's address to, which are zero.
    constexpr unsigned at = sizeof(Word) == 8 ? 56 : 16;
    constexpr Word bits = sizeof(Word) == 8 ? 0xFF : heap::granuleSize - 1;
    secret_ &= ~(bits << at);
    secret_ |= Word{5} << at;
    numberOf(manageOverwritten); // before others can take up all numbers
}

/** The place of a manager that is not at its home: beside it. */
Managers::Word Managers::findPlace(MprManager manager) {
    for (Word i = 0; i < most; ++i) {
        const Word number = (homeOf(manager) + i) % most;
        MprManager there = nullptr;
        if (number != none && (places_[number].compare_exchange_strong(there, manager) || there == manager)) {
            return number;
        }
    }
    os::Message message;
    message << "there are more than " << std::uint64_t{most - 1} << " managers: no number for "
            << reinterpret_cast<const void*>(manager) << "; a manager for many types takes one";
    writeMisuse(this, message);
    return none;
}

namespace {

void nameOverwritten(const void* block, std::size_t n) {
    runtime().misuses.fetch_add(1, std::memory_order_relaxed);
    heap::Region* region = runtime().heap.find(block);
    const std::size_t g = region->granuleOf(block);
    os::Message message;
    message << "the manager word of block " << block << " of " << std::uint64_t{n << heap::granuleShift}
            << " bytes was overwritten: this block";
    const std::size_t before = region->map().headBefore(g - 1, region->firstGranule);
    if (!region->isLarge() && before < g && region->isBlock(region->address(before))) {
        message << ", or the block before it, " << static_cast<const void*>(region->address(before)) << " of "
                << std::uint64_t{region->blockSize(before) << heap::granuleShift} << " bytes,";
    }
    os::log(os::Level::error, message << " has overflowed; its manager is not called any more");
}
} // namespace

void manageOverwritten(void* block, int flags) {
    if ((flags & MPR_MANAGE_MARK) == 0) {
        return;
    }
    heap::Heap& heap = runtime().heap;
    heap::Region* region = heap.find(block);
    auto* fields = static_cast<void* const*>(block);
    const auto* end = reinterpret_cast<void* const*>(managerWord(block, region->blockSize(region->granuleOf(block))));
    for (; fields != end; ++fields) {
        const void* ref = __atomic_load_n(fields, __ATOMIC_ACQUIRE);
        heap::Region* target = heap.find(ref);
        if (target && target->isBlock(ref)) {
            mprMark(ref);
        }
    }
}

[[gnu::cold, gnu::noinline]] MprManager replaceOverwritten(void* block, std::size_t n) {
    nameOverwritten(block, n);
    setManager(block, n, codeOf(manageOverwritten));
    return manageOverwritten;
}

} // namespace mpr::gc
