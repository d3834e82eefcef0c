// SPDX-License-Identifier: MIT
/*
    manager.hpp - Where a block keeps its manager: in its last word, which an overflow of the block, or of the one
    before it, reaches first.

    So that word holds no address of code. Managers have numbers, places in a table outside all blocks. A number and a
    secret make the manager's *code*, and the word is the code exclusive-or the block's address. A comparison tells such a
    word from one that was overwritten: always if that is zero, all ones, a small number or another block's, and nearly
    always otherwise. With k managers, k + 1 words are sealed codes. So one random word in 2^64 / (k + 1) is taken for one;
    on 32-bit one in 2^32 / (k + 1), and a 32-bit word cannot promise more. A block whose word was overwritten is named, and
    gets a manager that calls nobody (manageOverwritten).

    Most blocks that are made, or traced, one after the other have one of a few managers. So a thread keeps the codes of
    those for which it has made blocks (KnownManagers), and a marker that of the last block (LastManager): a code that was
    found valid once is compared, and not taken apart again.

    On a board without threads, where memory is scarce, a manager's code is its address, and there is no table of 2048
    places but a set of those addresses (manager_set.cpp).
 */
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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
    static constexpr Word noCode = 0;      // the code of none and of nobody

    /** Choose the secret. No block has a manager yet. */
    void open();

    /** @return Its number, the same at every call; `none` when there are too many, which the log says. */
    Word numberOf(MprManager manager) {
        const Word number = numberAtHome(manager);
        return number != none ? number : findPlace(manager);
    }
    /** @return The number of a manager that stands at its home, as nearly all do; `none` for another. It calls nothing. */
    Word numberAtHome(MprManager manager) const {
        const Word home = homeOf(manager);
        return places_[home].load(std::memory_order_relaxed) == manager ? home : none;
    }

    /** The code of a manager, by its number; never noCode. */
    Word code(Word number) const { return secret_ ^ number << numberAt; }
    /** The last word of a block whose manager has this code; and back. */
    static Word seal(const void* block, Word codeOrWord) {
        constexpr int half = 4 * sizeof(Word);
        const Word address = reinterpret_cast<Word>(block);
        return codeOrWord ^ (sizeof(Word) == 8 ? address : std::rotl(address, half));
    }
    /** The manager that has a code, or nullptr for that of `none`. @return false when it is no code. */
    bool find(Word code, MprManager& manager) const {
        const Word number = std::rotr(code ^ secret_, numberAt);
        if (number >= most) [[unlikely]] {
            return false;
        }
        // Relaxed: the block was handed over, in order, by a thread that has stored the place or seen it.
        manager = places_[number].load(std::memory_order_relaxed);
        return manager || number == none;
    }
    /** The manager that a block's word stands for. @return false when the word was overwritten. */
    bool unseal(const void* block, Word word, MprManager& manager) const { return find(seal(block, word), manager); }

    /** Whether there is, or was, a manager in a range of addresses. */
    bool hasAnyIn(Word begin, Word end) const;

private:
    /**
        The lowest bit of the number in a code. On 64-bit no part of it is a byte at an end of the word, so whatever writes
        over one byte there writes over other bits, too.
     */
    static constexpr int numberAt = sizeof(Word) == 8 ? 45 : 0;

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

// The managers of a board: a set of addresses, of any size. It is a block of the heap, since most boards have few managers
// and little memory.

/** A runtime has begun. @return false: there is no memory for the set. */
bool openManagerSet();
/** Include a manager; the calling thread runs. @return false: there is no memory for one more. */
bool addManager(MprManager manager);
/** Whether it has been included. */
bool isManager(MprManager manager);

/** The manager that has a code, or nullptr for that of no manager. @return false when it is no code. */
inline bool findManager(Managers::Word code, MprManager& manager) {
    if constexpr (!os::hasThreads) {
        manager = reinterpret_cast<MprManager>(code);
        return !manager || isManager(manager);
    }
    return managers.find(code, manager);
}

inline Managers::Word codeOfNone() {
    return os::hasThreads ? managers.code(Managers::none) : 0;
}

/** The kind of a block with a manager. Flags have the bits of the head; without any promise the block is plain. */
constexpr heap::Byte kindOf(int flags) {
    const int promised = flags >> 2 & heap::head::kindMask;
    return static_cast<heap::Byte>(promised != 0 ? promised : static_cast<int>(heap::Kind::plain));
}
static_assert(kindOf(MPR_ALLOC_BARRIER) == static_cast<heap::Byte>(heap::Kind::barrier));
static_assert(kindOf(MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE) == static_cast<heap::Byte>(heap::Kind::barrierNoFree));
static_assert(kindOf(MPR_ALLOC_NO_FREE) == static_cast<heap::Byte>(heap::Kind::plain));

/** The last word of a block of n granules that was allocated with room for a manager. */
inline std::uintptr_t* managerWord(void* block, std::size_t n) {
    return reinterpret_cast<std::uintptr_t*>(static_cast<heap::Byte*>(block) + (n << heap::granuleShift)) - 1;
}

/** Name the block, and give it the manager manageOverwritten. @return that manager */
MprManager replaceOverwritten(void* block, std::size_t n);

/**
    Look at a block's manager without a message, for callers that hold the heap's lock. Another thread may be freeing the
    block, or using its memory anew: sanitizers are not to tell, since that memory is there until the lock is released.
    @param manager Set to it, or nullptr. @return false when its word was overwritten.
 */
__attribute__((no_sanitize("address"), no_sanitize("thread"))) inline bool peekManager(void* block, std::size_t n,
                                                                                       MprManager& manager) {
    const auto word = *static_cast<const volatile std::uintptr_t*>(managerWord(block, n));
    return findManager(Managers::seal(block, word), manager);
}

/** The manager of a block, or nullptr. While threads run, others may be setting it. */
inline MprManager managerOf(void* block, std::size_t n) {
    const Managers::Word code = Managers::seal(block, __atomic_load_n(managerWord(block, n), __ATOMIC_RELAXED));
    MprManager manager = nullptr;
    if (!findManager(code, manager)) [[unlikely]] {
        manager = replaceOverwritten(block, n);
    }
    return manager;
}

/** The manager of the last block at which somebody has looked, for who looks at many. */
class LastManager {
public:
    /** See gc::managerOf. */
    MPR_INLINE MprManager of(void* block, std::size_t n) {
        const Managers::Word code = Managers::seal(block, __atomic_load_n(managerWord(block, n), __ATOMIC_RELAXED));
        if (code != code_) [[unlikely]] {
            MprManager manager = nullptr;
            if (!findManager(code, manager)) [[unlikely]] {
                return replaceOverwritten(block, n);
            }
            code_ = code;
            manager_ = manager;
        }
        return manager_;
    }
    /** Another runtime has begun, perhaps, which has another secret. */
    void forget() { *this = {}; }

private:
    Managers::Word code_ = codeOfNone();
    MprManager manager_ = nullptr;
};

/** Whether a block's last word holds a manager, or something that was written over it. */
inline bool isManaged(void* block, std::size_t n) {
    return *managerWord(block, n) != Managers::seal(block, codeOfNone());
}

/**
    The code of a manager or of nullptr, to be given to setManager.
    @return Managers::noCode, for a manager, when there are too many, which the log says, or on a board no memory for it.
 */
inline std::uintptr_t codeOf(MprManager manager) {
    if constexpr (!os::hasThreads) {
        return !manager || addManager(manager) ? reinterpret_cast<std::uintptr_t>(manager) : Managers::noCode;
    }
    const Managers::Word number = manager ? managers.numberOf(manager) : Managers::none;
    return manager && number == Managers::none ? Managers::noCode : managers.code(number);
}

/** Managers for which a thread has made blocks, and their codes. Its own. */
class KnownManagers {
public:
    /** @return Where the code of a manager stands; nullptr for no manager, and for one that is not at its home, until it
        is learnt. */
    MPR_INLINE const Managers::Word* codeOf(MprManager manager) {
        Known& known = knownOf(manager);
        if (known.manager != manager) [[unlikely]] {
            const Managers::Word number = manager ? managers.numberAtHome(manager) : Managers::none;
            if (number == Managers::none) [[unlikely]] {
                return nullptr;
            }
            known = {manager, managers.code(number)};
        }
        return &known.code;
    }
    /** Keep the code of a manager, wherever that stands. */
    void learn(MprManager manager, Managers::Word code) { knownOf(manager) = {manager, code}; }

private:
    static constexpr unsigned few = 16; // of the runtime's own a request of HTTP has a dozen

    static void nobody(void*, int) {}
    struct Known {
        MprManager manager = nobody; // of no block
        Managers::Word code = Managers::noCode;
    };
    // Functions are aligned, so these bits differ most between neighbours.
    Known& knownOf(MprManager manager) { return known_[reinterpret_cast<Managers::Word>(manager) / 16 % few]; }

    Known known_[few];
};
struct NoKnownManagers {
    static const Managers::Word* codeOf(MprManager) { return nullptr; }
    static void learn(MprManager, Managers::Word) {}
};
using OwnManagers = std::conditional_t<os::hasThreads, KnownManagers, NoKnownManagers>;

/** Write a manager, by its code, into a block. Others may be asking for it. */
inline void setManager(void* block, std::size_t n, std::uintptr_t code) {
    __atomic_store_n(managerWord(block, n), Managers::seal(block, code), __ATOMIC_RELEASE);
}

} // namespace mpr::gc
