// SPDX-License-Identifier: MIT
/*
    manager.hpp - Where a block keeps its manager: in its last word, which an overflow of the block, or of the one
    before it, reaches first.

    So that word holds no address of code. Managers have numbers, places in a table outside all blocks. The word holds a
    number, sealed with a secret and the block's address. A comparison tells such a word from one that was overwritten:
    always if that is zero, all ones or a small number, and nearly always otherwise. With k managers, k + 1 words are
    sealed numbers. So one random word in 2^64 / (k + 1) is taken for one; on 32-bit one in 2^32 / (k + 1), and a 32-bit
    word cannot promise more. A block whose word was overwritten is named, and gets a manager that calls nobody
    (manageOverwritten).

    On a board without threads, where memory for code is scarce, the word holds the manager's address.
 */
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "mpr/heap/region.hpp"
#include "mpr/memory.h"

namespace mpr::gc {

/**
    The manager of a block whose own was overwritten. Nobody can tell any more what the block references, so it keeps
    every block whose address is one of its words.
 */
void manageOverwritten(void* block, int flags);

/** The managers of the process and their numbers. A manager never loses its number. */
class Managers {
public:
    using Word = std::uintptr_t;
    static constexpr Word none = 0;        // the number of no manager
    static constexpr Word most = 1u << 11; // all numbers are less

    /** Choose the secret. No block has a manager yet. */
    void open();

    /** @return Its number, the same at every call; `none` when there are too many, which the log says. */
    Word numberOf(MprManager manager) {
        const Word home = homeOf(manager);
        return places_[home].load(std::memory_order_relaxed) == manager ? home : findPlace(manager);
    }

    /** The last word of a block whose manager has this number. */
    Word seal(const void* block, Word number) const {
        return number ^ secret_ ^ std::rotl(reinterpret_cast<Word>(block), 4 * sizeof(Word));
    }
    /** The manager that a block's word stands for. @return false when the word was overwritten. */
    bool unseal(const void* block, Word word, MprManager& manager) const {
        const Word number = seal(block, word);
        if (number >= most) [[unlikely]] {
            return false;
        }
        // Relaxed: the block was handed over, in order, by a thread that has stored the place or seen it.
        manager = places_[number].load(std::memory_order_relaxed);
        return manager || number == none;
    }

    /** Whether there is, or was, a manager in a range of addresses. */
    bool hasAnyIn(Word begin, Word end) const;

private:
    /** Odd, so that no manager's home is `none` and there is room beside each. */
    static Word homeOf(MprManager manager) {
        constexpr Word golden = sizeof(Word) == 8 ? static_cast<Word>(0x9E37'79B9'7F4A'7C15) : Word{0x9E37'79B9};
        return (reinterpret_cast<Word>(manager) * golden >> (8 * sizeof(Word) - std::countr_zero(most))) | 1;
    }
    Word findPlace(MprManager manager);

    os::Shared<MprManager> places_[most] = {}; // each is stored once
    Word secret_ = 0;                          // before there are threads
};

extern constinit Managers managers;

/** The last word of a block of n granules that was allocated with room for a manager. */
inline std::uintptr_t* managerWord(void* block, std::size_t n) {
    return reinterpret_cast<std::uintptr_t*>(static_cast<heap::Byte*>(block) + (n << heap::granuleShift)) - 1;
}

/** Name the block, and give it the manager manageOverwritten. @return that manager */
MprManager replaceOverwritten(void* block, std::size_t n);

/**
    Look at a block's manager without a word, for who holds a lock; there are threads. @param manager Set to it, or nullptr.
    @return false when its word was overwritten.
 */
inline bool peekManager(void* block, std::size_t n, MprManager& manager) {
    return managers.unseal(block, __atomic_load_n(managerWord(block, n), __ATOMIC_RELAXED), manager);
}

/** The manager of a block, or nullptr. While threads run, others may be setting it. */
inline MprManager managerOf(void* block, std::size_t n) {
    if constexpr (!os::hasThreads) {
        return reinterpret_cast<MprManager>(__atomic_load_n(managerWord(block, n), __ATOMIC_RELAXED));
    }
    MprManager manager = nullptr;
    if (!peekManager(block, n, manager)) [[unlikely]] {
        manager = replaceOverwritten(block, n);
    }
    return manager;
}

/** Whether a block's last word holds a manager, or something that was written over it. */
inline bool isManaged(void* block, std::size_t n) {
    return *managerWord(block, n) != (os::hasThreads ? managers.seal(block, Managers::none) : 0);
}

/** The number of a manager, to be given to setManager; without threads the manager itself. */
inline std::uintptr_t numberOf(MprManager manager) {
    if constexpr (!os::hasThreads) {
        return reinterpret_cast<std::uintptr_t>(manager);
    }
    return manager ? managers.numberOf(manager) : Managers::none;
}

/** Write a manager, by its number, into a block. Others may be asking for it. */
inline void setManager(void* block, std::size_t n, std::uintptr_t number) {
    const std::uintptr_t word = os::hasThreads ? managers.seal(block, number) : number;
    __atomic_store_n(managerWord(block, n), word, __ATOMIC_RELEASE);
}

} // namespace mpr::gc
