// SPDX-License-Identifier: MIT
/*
    retain.hpp - Blocks kept through a wait. A yield ends what keeps unrooted blocks alive, so a call that waits retains
    what it needs afterwards.
 */
#pragma once

#include "mpr/collect.h"
#include "mpr/gc/runtime.hpp"

namespace mpr::base {

/**
    Whether an address is the start of a block that was found dead, or that was not, as wanted; false where the calling
    thread may not ask. What is dead cannot be kept.
 */
bool isBlockFoundDead(const void* pointer, bool wanted);

/**
    Whether a block was found dead by the collection that calls the manager in which the calling thread is. Only the
    collector's thread meets such blocks. What lives on must not refer to one: its memory goes when all managers have run.
 */
inline bool isDying(const void* block) {
    return gc::current && gc::current->isCollector && isBlockFoundDead(block, true);
}

/** Refuse a dying block that a function would hand to what lives on, and name it. @return Whether the block is one. */
inline bool refuseDying(const char* function, const void* block) {
    const bool dying = isDying(block);
    if (dying) {
        gc::misuse(function, block, "a collection has found it dead: its memory goes when all managers have run");
    }
    return dying;
}

/**
    Holds a block while it exists, and only that block. The caller has to retain anything that is not the start of a block:
    locks, conditions and buffers may lie elsewhere. On a thread that is not attached this does nothing; on one that has
    yielded it works, too.
 */
class Hold {
public:
    explicit Hold(const void* pointer) : block_(isBlockFoundDead(pointer, false) ? pointer : nullptr) {
        mprHold(block_);
    }
    ~Hold() { mprRelease(block_); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

private:
    const void* block_;
};

/**
    Roots a block, and all that it references, while this object exists. For attached threads. nullptr is fine. A dead
    block gets no root: it stays readable until its manager's FREE call returns.
 */
class Rooted {
public:
    explicit Rooted(const void* block) : block_(isBlockFoundDead(block, true) ? nullptr : block) {
        if (block_) {
            mprAddRoot(block_);
        }
    }
    ~Rooted() {
        if (block_) {
            mprRemoveRoot(block_);
        }
    }
    Rooted(const Rooted&) = delete;
    Rooted& operator=(const Rooted&) = delete;

private:
    const void* block_;
};

} // namespace mpr::base
