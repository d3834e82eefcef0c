// SPDX-License-Identifier: MIT
/*
    handle_index.hpp - Which handles refer to a block: for a free by hand, and a realloc.

    Whoever stores into a handle does nothing for it but what the remembered groups ask for anyway: the group of 64 places
    is *unindexed* from then on. A lookup visits the places of unindexed groups, and uses a hash table of places by block
    for all others. If there are more than 64 such groups, it enters what is in them into the table first. So a call takes
    time in proportion to the handles that were stored into since the last, each of which costs 64 places at most; in the
    long run that is constant for each store, and for each call. A program that asks for no block has no table.

    A thread that stores into a place and finds its group unindexed already leaves that as it is. When the group is entered
    into the table meanwhile, either that thread must see that the group is unindexed no more, or the store has to be seen.
    That takes a fence between store and load on the one side, and one between the other store and load here. The frequent
    side has one for the compiler only: this one has the system give all threads a fence (membarrier(2)). Where the system has none, and
    where there is no memory for the table, all handles are looked at.

    Entries may be stale, so the place that one names is always checked. Stale entries are dropped when the table is
    rebuilt, which happens when it is full.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/handle_cache.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::gc {

class HandleStore;
struct HandleSegment;

struct HandleVisitor {
    void (*visit)(HandleVisitor& self, HandleSegment& segment, Slot* slot);
};

class HandleIndex {
public:
    /**
        Visit each handle that refers to a block, or has it as its value; some twice. No code of the program's is called.
        @return false when all handles have to be looked at.
     */
    bool visit(HandleStore& store, const void* block, HandleVisitor& visitor) MPR_EXCLUDES(lock_);
    /** A thread has stored into a place of a group that it has found indexed. */
    void noteStored(HandleSegment& segment, std::size_t group) MPR_EXCLUDES(lock_);
    void close() MPR_EXCLUDES(lock_);

private:
    struct Entry {
        Slot* slot;
        std::uint32_t next; // 0: none
    };
    static constexpr unsigned mostUnindexed = 64; // groups
    static constexpr unsigned mostCompared = 4;   // entries of a bucket, for one that is there already

    bool update(HandleStore& store) MPR_REQUIRES(lock_);
    MPR_APART bool enter(HandleStore& store) MPR_REQUIRES(lock_);
    MPR_APART bool makeAnew(HandleStore& store) MPR_REQUIRES(lock_);
    bool makeRoom(std::size_t entries) MPR_REQUIRES(lock_);
    void drop() MPR_REQUIRES(lock_);
    void add(HandleSegment& segment, Slot* slot) MPR_REQUIRES(lock_);
    void add(const void* block, Slot* slot) MPR_REQUIRES(lock_);
    void visitUnindexed(const void* block, HandleVisitor& visitor) MPR_REQUIRES(lock_);
    std::uint32_t& bucketOf(const void* block) const MPR_REQUIRES(lock_);

    os::Lock lock_;
    HandleSegment* unindexed_ MPR_GUARDED_BY(lock_) = nullptr; // those with such groups, and maybe others
    Entry* entries_ MPR_GUARDED_BY(lock_) = nullptr;           // from 1 on
    std::uint32_t* buckets_ MPR_GUARDED_BY(lock_) = nullptr;
    std::size_t room_ MPR_GUARDED_BY(lock_) = 0; // for entries; a power of two, and so many buckets there are
    std::size_t used_ MPR_GUARDED_BY(lock_) = 0;
    bool complete_ MPR_GUARDED_BY(lock_) = false; // all that is not unindexed is in the table
};

} // namespace mpr::gc
