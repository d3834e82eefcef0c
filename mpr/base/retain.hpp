// SPDX-License-Identifier: MIT
/*
    retain.hpp - Blocks kept through a wait. A yield ends what keeps unrooted blocks alive, so a call that waits retains
    what it needs afterwards.
 */
#pragma once

#include "mpr/collect.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"

namespace mpr::base {

/**
    Holds a block while it exists, and only that block. What is not the start of a block the caller has to retain:
    locks, conditions and buffers may lie elsewhere. On a thread that is not attached this does nothing; on one that has
    yielded it works, too.
 */
class Hold {
public:
    explicit Hold(const void* pointer) : block_(gc::attached && mprIsValid(pointer) ? pointer : nullptr) {
        mprHold(block_);
    }
    ~Hold() { mprRelease(block_); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

private:
    const void* block_;
};

/** Roots a block while it exists: it and all that it references. For attached threads. nullptr is fine. */
class Rooted {
public:
    explicit Rooted(const void* block) : block_(block) {
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
