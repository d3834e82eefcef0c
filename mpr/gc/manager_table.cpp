// SPDX-License-Identifier: MIT
/*
    manager_table.cpp - The managers of a process, where there are threads.
 */
#include "mpr/gc/guard.hpp"
#include "mpr/gc/manager.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"

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

} // namespace mpr::gc
