// SPDX-License-Identifier: MIT
/*
    retain.hpp - Blocks kept through a wait. A yield ends what keeps unrooted blocks alive, so a call that waits retains
    what it needs afterwards.
 */
#pragma once

#include "mpr/collect.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"

namespace mpr::task {

/**
    Holds a block while it exists: that block alone. What is not the start of a block is the caller's to retain: locks,
    conditions and buffers may stand elsewhere. Nothing happens on a thread that is not attached; on one that has
    yielded before it is kept all the same.
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

} // namespace mpr::task
