// SPDX-License-Identifier: MIT
/*
    test/fault/flips/work.cpp - See work.hpp.
 */
#include "test/fault/flips/work.hpp"

#include <mutex>
#include <set>

namespace flips {

namespace {

constexpr size_t itemCount = 1500;
constexpr size_t word = sizeof(void *);

Work *work;

/* Blocks with managers that live: asked by the collector's thread, too. */
std::mutex liveMutex;
std::set<const void *> live;
const void *freedAlive; /* The first that a manager was told is dead */

void born(const void *block) {
    std::lock_guard guard(liveMutex);
    live.insert(block);
}
void dies(const void *block) {
    std::lock_guard guard(liveMutex);
    live.erase(block);
}
const void *firstFreedAlive() {
    std::lock_guard guard(liveMutex);
    return freedAlive;
}

void manage(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(ptr);
    }
    if (flags & MPR_MANAGE_FREE) {
        std::lock_guard guard(liveMutex);
        if (!freedAlive && live.count(ptr)) {
            freedAlive = ptr;
        }
    }
}

/* A type of its own for plain blocks: two managers are two numbers. */
void managePlain(void *ptr, int flags) {
    manage(ptr, flags);
}

void manageTable(void *, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        work->markAll();
    }
}
} // namespace

Work::Work(Random &random) : random(random), items(itemCount) {
    work = this;
    mprAddRoot(mprAllocManaged(8, manageTable, 0));
    for (Item &item : items) {
        make(item);
    }
}

void Work::markAll() const {
    for (const Item &item : items) {
        mprMark(item.ptr);
    }
}

bool Work::fail(const char *why, const void *ptr) {
    char text[100];
    snprintf(text, sizeof(text), "block %p: %s", ptr, why);
    problem = text;
    return false;
}

/* Note a block that came: no other may lie there. What the runtime says of it is asked at the end. */
bool Work::keep(void *ptr, size_t size, uint64_t seed, size_t from) {
    return shadow.insert(reinterpret_cast<uintptr_t>(ptr), size, seed, from) || fail("overlaps another block", ptr);
}

size_t Work::someSize() {
    switch (random.below(20)) {
    case 0: return 16 + random.below(4000);
    case 1: return random.chance(10) ? 4000 + random.below(40000) : 16 + random.below(1000);
    default: return 16 + random.below(200);
    }
}

bool Work::make(Item &item) {
    item = {};
    item.size = someSize();
    item.kind = static_cast<Kind>(random.below(3));
    switch (item.kind) {
    case Kind::leaf: item.ptr = mprAlloc(item.size); break;
    case Kind::plain: item.ptr = mprAllocManaged(item.size, managePlain, MPR_ALLOC_ZERO); break;
    case Kind::barrier: item.ptr = mprAllocManaged(item.size, manage, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER); break;
    }
    if (!item.ptr) {
        return fail("an allocation failed", nullptr);
    }
    const size_t from = item.kind == Kind::leaf ? 0 : word;
    const uint64_t seed = random.next();
    if (!keep(item.ptr, item.size, seed, from)) {
        return false;
    }
    test::fill(item.ptr, item.size, seed, from);
    if (item.kind == Kind::leaf) {
        return true;
    }
    born(item.ptr);
    return makeChild(item);
}

/* A new child in the place of the old one, which is dead then. */
bool Work::makeChild(Item &item) {
    const size_t size = 16 + random.below(100);
    void *child = mprAlloc(size);
    if (!child) {
        return fail("an allocation failed", nullptr);
    }
    const uint64_t seed = random.next();
    if (item.child) {
        shadow.remove(item.child);
    }
    if (!keep(child, size, seed)) {
        return false;
    }
    test::fill(child, size, seed);
    item.child = child;
    if (item.kind == Kind::barrier) {
        mprSetRef(item.ptr, item.ptr, child);
    } else {
        *static_cast<void **>(item.ptr) = child;
    }
    return true;
}

/* It is garbage from here on, and its child. */
void Work::drop(Item &item) {
    dies(item.ptr);
    shadow.remove(item.ptr);
    shadow.remove(item.child);
    item = {};
}

bool Work::freeByHand(Item &item) {
    void *ptr = item.ptr;
    void *child = item.child;
    drop(item);
    mprFree(ptr); // refused and named, maybe
    if (child && random.chance(50)) {
        mprFree(child);
    }
    return make(item);
}

bool Work::resize(Item &item) {
    if (item.kind != Kind::leaf) {
        return true;
    }
    if (!check(item)) {
        return false;
    }
    const size_t size = someSize();
    const auto known = shadow.of(item.ptr);
    void *ptr = mprRealloc(item.ptr, size);
    if (!ptr) {
        return true; // as it was, and named
    }
    shadow.remove(item.ptr);
    item.ptr = ptr;
    item.size = size;
    if (!test::filled(ptr, std::min(size, known.size), known.seed)) {
        return fail("not copied", ptr);
    }
    const uint64_t seed = random.next();
    test::fill(ptr, size, seed);
    return keep(ptr, size, seed);
}

bool Work::check(const Item &item) {
    if (const void *block = firstFreedAlive()) {
        return fail("its manager was told that it is dead", block);
    }
    if (item.child && *static_cast<void **>(item.ptr) != item.child) {
        return fail("a reference has changed", item.ptr);
    }
    return shadow.holds(item.ptr) && (!item.child || shadow.holds(item.child));
}

bool Work::step() {
    Item &item = any();
    const size_t what = random.below(20);
    if (what < 8) {
        drop(item);
        return make(item);
    }
    if (what < 12) {
        return freeByHand(item);
    }
    if (what < 13) {
        return resize(item);
    }
    if (what < 16) {
        return item.kind == Kind::leaf || makeChild(item);
    }
    return check(item);
}

bool Work::run(size_t operations) {
    for (size_t i = 0; i < operations; i++) {
        if (!step()) {
            return false;
        }
        if (i % 32 == 0) {
            mprYield(0);
        }
        if (i % 2000 == 1999) {
            mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        }
    }
    return true;
}

bool Work::checkAll() {
    for (const Item &item : items) {
        if (!check(item) || !shadow.check(item.ptr) || (item.child && !shadow.check(item.child))) {
            return false;
        }
    }
    return true;
}

Item &Work::anyOf(Kind kind) {
    for (;;) {
        if (Item &item = any(); item.kind == kind) {
            return item;
        }
    }
}

Item Work::freeOne() {
    Item &item = anyOf(Kind::leaf);
    const Item gone = item;
    shadow.remove(item.ptr);
    items.erase(items.begin() + (&item - items.data()));
    mprFree(gone.ptr);
    return gone;
}

} // namespace flips
