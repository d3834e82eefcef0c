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
    Holds a block while it exists, and only that block. The caller has to retain anything that is not the start of a block:
    locks, conditions and buffers may lie elsewhere. On a thread that is not attached this does nothing; on one that has
    yielded it works, too.
 */
class Hold {
public:
    explicit Hold(const void* pointer) : block_(gc::isBlockFoundDead(pointer, false) ? pointer : nullptr) {
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
    explicit Rooted(const void* block) : block_(gc::isBlockFoundDead(block, true) ? nullptr : block) {
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
