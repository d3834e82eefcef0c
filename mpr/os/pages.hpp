// SPDX-License-Identifier: MIT
/*
    pages.hpp - Where pages come from: from the host if the program has named one (mprSetHost), else from the system.

    All pages go through reserve(), decommit(), release() and map() of os.hpp and through what is declared here; nothing
    else asks the system for memory. A host distinguishes addresses from memory: what is reserved can be read, as zeros, and
    not written before it has been committed. So whoever wants addresses first calls reserveAddresses() and commit(), and
    commits again what it has given back by decommit(). No page is committed twice. Without a host commit() does nothing,
    for the system backs pages when they are touched.

    A host is set before the first page is asked for, and stays as long as one of its pages is reserved. So a page goes back to
    whom it came from.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/host.h"
#include "mpr/os/os.hpp"

namespace mpr::os {

/** What may be done with pages that are reserved. */
enum class Access : std::uint8_t { read, readWrite };

/** The port's own, without a host: see os.hpp. */
namespace system {
void* reserve(std::size_t size, std::size_t alignment, Access access);
/** Pages that were reserved to be read. @return false when the system has no memory that it could promise. */
bool allowWrites(void* pages, std::size_t size);
void preferHuge(void* pages, std::size_t size);
void decommit(void* pages, std::size_t size);
void release(void* pages, std::size_t size);
void* map(std::size_t size, int mode);
} // namespace system

// ---- The host ---------------------------------------------------------------------------------------------------

/**
    nullptr: the system. Relaxed: it is written while no page is reserved and no other thread asks for one, which the program
    sees to (mprSetHost).
 */
extern constinit Shared<const MprHost*> pageHost;

inline bool isHosted() {
    if constexpr (!hasPages) {
        return false;
    }
    return pageHost.load(std::memory_order_relaxed) != nullptr;
}

/** @return false while pages are reserved. */
bool setPageHost(const MprHost* set);

/** Who ends if a request is refused. The numbers are MPR_CRITICAL_*. */
enum class Critical : std::uint8_t {
    task = MPR_CRITICAL_TASK,
    domain = MPR_CRITICAL_DOMAIN,
    process = MPR_CRITICAL_PROCESS
};

#ifdef MPR_COOPERATIVE
class AsCritical {
public:
    explicit AsCritical(Critical) {}
};
inline unsigned refusals() {
    return 0;
}
#else
extern constinit MPR_PER_THREAD Critical criticalNow;
extern constinit MPR_PER_THREAD unsigned refusalsOfThread;

/** How critical requests of the calling thread are while this exists: what else it asks for is a task's. */
class AsCritical {
public:
    explicit AsCritical(Critical level) : before_(criticalNow) { criticalNow = level; }
    ~AsCritical() { criticalNow = before_; }
    AsCritical(const AsCritical&) = delete;
    AsCritical& operator=(const AsCritical&) = delete;

private:
    const Critical before_;
};

/** How often the host has refused the calling thread: whoever compares two looks knows why there was no memory. */
inline unsigned refusals() {
    return refusalsOfThread;
}
/** The host has said that there is no memory, without having been asked for some. */
inline void countRefusal() {
    ++refusalsOfThread;
}
#endif

/**
    Asked before a heap grows by so many bytes; nullptr: nobody. With a heap's lock held, by any thread. Acquired, so that what
    it is about is seen.
 */
extern constinit Shared<bool (*)(std::size_t)> growthAsked;

inline bool mayGrow(std::size_t size) {
    if constexpr (!hasPages) {
        return true;
    }
    bool (*const ask)(std::size_t) = growthAsked.load(std::memory_order_acquire);
    return !ask || ask(size);
}

/** Bytes of the pages that hold so many; 0 when there are no such. */
std::size_t roundToPages(std::size_t size);

/** Addresses only, where there is a host: see above. @return nullptr when there are none. */
void* reserveAddresses(std::size_t size, std::size_t alignment);

/** Pages that were reserved may be huge; a host's are what it wants. */
inline void preferHuge(void* pages, std::size_t size) {
    if constexpr (hasPages) {
        if (!isHosted()) {
            system::preferHuge(pages, size);
        }
    }
}

/** See commit(). */
bool commitHosted(void* pages, std::size_t size);

/** Make pages that are reserved and not committed usable. @return false when the host refuses: they are as they were. */
inline bool commit(void* pages, std::size_t size) {
    return !isHosted() || commitHosted(pages, size);
}

/** Let nobody touch pages of the host's, which are reserved. @return false when it refuses. */
bool forbid(void* pages, std::size_t size);

/** What the host says of the pages that hold an address. @return false without a host, or when it does not know. */
bool queryPages(const void* address, MprPages& pages);

// ---- Tables of which little is used -----------------------------------------------------------------------------

/**
    Zeroed pages that can be read; backSparse() comes before a write. So only what is used of a large table counts, with a host
    that commits it, with a system that promises no more memory than it has (strict overcommit), and where all memory is
    locked when it is reserved (mlockall). Given back by releaseSparse() as a whole.
 */
void* reserveSparse(std::size_t size);
void releaseSparse(void* table, std::size_t size);

/** Make bytes of a table writable. Any thread. @param size Of the table. @return false when the system or the host refuses. */
bool backSparse(void* table, std::size_t size, const void* at, std::size_t bytes);

// ---- The end ----------------------------------------------------------------------------------------------------

/**
    Pages are kept for the next runtime: `give` gives them back. It is called whenever pages are asked back, from now on, and
    does nothing when it has none. A second registration of the same function changes nothing.
    @param kept Programs may still ask for what lies in these pages, and be told that it has gone: how many bytes they are.
    nullptr: nobody does.
 */
void givesAtEnd(void (*give)(), std::size_t (*kept)() = nullptr);

/** The runtime has ended, or there is none: what was kept goes back to a host. */
void endPages();
/** There is no runtime: all that was kept goes back, to the system, too. @return false when more pages than that are in
    use: then programs still find what they may ask for. */
bool giveAllPages();

/** Wait for threads that are ending, as long as it is sensible, and give their stacks back to the host. The port's. */
void giveStacks();

/** Counts since the host was set. */
void readPageCounts(MprHostStats& stats);

} // namespace mpr::os
