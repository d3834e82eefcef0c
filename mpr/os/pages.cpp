// SPDX-License-Identifier: MIT
/*
    pages.cpp - Requests for pages, to the host or to the system. See pages.hpp.
 */
#include "mpr/os/pages.hpp"

#include <algorithm>

#include "mpr/memory.h"
#include "mpr/os/lock.hpp"

namespace mpr::os {

constinit Shared<const MprHost*> pageHost{nullptr};
constinit Shared<bool (*)(std::size_t)> growthAsked{nullptr};
constinit MPR_PER_THREAD Critical criticalNow = Critical::task;
constinit MPR_PER_THREAD unsigned refusalsOfThread = 0;

namespace {

/** Numbers, which order nothing; but for `reserved`, by which the host is told from nobody's. */
struct Counts {
    std::atomic<std::size_t> reserved{0}, mostReserved{0};
    std::atomic<std::uint64_t> requests[MPR_PAGES_REQUESTS] = {};
    std::atomic<std::uint64_t> refused[MPR_CRITICAL_PROCESS + 1] = {};
    // The last refusal, by whoever was last: a field may be another's.
    std::atomic<int> lastRequest{MPR_PAGES_NONE}, lastLevel{0}, lastError{0};
    std::atomic<std::size_t> lastSize{0};
};
constinit Counts counts;

const MprHost& host() {
    return *pageHost.load(std::memory_order_relaxed);
}

int level() {
    return static_cast<int>(criticalNow);
}

void count(int request) {
    counts.requests[request].fetch_add(1, std::memory_order_relaxed);
}

void countReserved(std::size_t size) {
    const std::size_t now = counts.reserved.fetch_add(size, std::memory_order_relaxed) + size;
    std::size_t most = counts.mostReserved.load(std::memory_order_relaxed);
    while (most < now && !counts.mostReserved.compare_exchange_weak(most, now, std::memory_order_relaxed)) {}
}

[[gnu::cold]] void noteRefusal(int request, std::size_t size, int error) {
    ++refusalsOfThread;
    counts.refused[level()].fetch_add(1, std::memory_order_relaxed);
    counts.lastRequest.store(request, std::memory_order_relaxed);
    counts.lastLevel.store(level(), std::memory_order_relaxed);
    counts.lastError.store(error, std::memory_order_relaxed);
    counts.lastSize.store(size, std::memory_order_relaxed);
}

bool protect(void* pages, std::size_t size, int mode) {
    count(MPR_PAGES_PROTECT);
    const int error = host().protect(host().data, pages, size, mode);
    if (error != 0) {
        noteRefusal(MPR_PAGES_PROTECT, size, error);
    }
    return error == 0;
}
} // namespace

std::size_t roundToPages(std::size_t size) {
    return (size + pageSize() - 1) & ~(pageSize() - 1);
}

bool setPageHost(const MprHost* set) {
    if (counts.reserved.load(std::memory_order_relaxed) != 0) {
        return false;
    }
    pageHost.store(set, std::memory_order_relaxed);
    counts.mostReserved.store(0, std::memory_order_relaxed);
    for (auto& each : counts.requests) {
        each.store(0, std::memory_order_relaxed);
    }
    for (auto& each : counts.refused) {
        each.store(0, std::memory_order_relaxed);
    }
    counts.lastRequest.store(MPR_PAGES_NONE, std::memory_order_relaxed);
    return true;
}

// ---- Requests ---------------------------------------------------------------------------------------------------

/** Addresses for whole pages. Access is the system's: of a host's pages see pages.hpp. */
static void* reserveCounted(std::size_t size, std::size_t alignment, Access access) {
    void* pages = nullptr;
    if (size == 0) {
        return nullptr; // it was more than there are addresses
    }
    if (!isHosted()) {
        pages = system::reserve(size, alignment, access);
    } else {
        count(MPR_PAGES_RESERVE);
        pages = host().reserve(host().data, size, alignment, level());
        if (pages && (reinterpret_cast<std::uintptr_t>(pages) & (alignment - 1)) != 0) {
            host().release(host().data, pages, size); // of no use
            pages = nullptr;
        }
        if (!pages) {
            noteRefusal(MPR_PAGES_RESERVE, size, MPR_ERR_MEMORY);
        }
    }
    if (pages) {
        countReserved(size);
    }
    return pages;
}

void* reserveAddresses(std::size_t size, std::size_t alignment) {
    return reserveCounted(roundToPages(size), alignment, Access::readWrite);
}

bool commitHosted(void* pages, std::size_t size) {
    count(MPR_PAGES_COMMIT);
    const int error = host().commit(host().data, pages, size, level());
    if (error != 0) {
        noteRefusal(MPR_PAGES_COMMIT, size, error);
    }
    return error == 0;
}

void* reserve(std::size_t size, std::size_t alignment) {
    size = roundToPages(size);
    void* pages = reserveCounted(size, alignment, Access::readWrite);
    if (pages && !commit(pages, size)) {
        release(pages, size);
        return nullptr;
    }
    return pages;
}

void decommit(void* pages, std::size_t size) {
    if (!isHosted()) {
        return system::decommit(pages, size);
    }
    count(MPR_PAGES_DECOMMIT);
    host().decommit(host().data, pages, size);
}

void release(void* pages, std::size_t size) {
    size = roundToPages(size);
    if (!isHosted()) {
        system::release(pages, size);
    } else {
        count(MPR_PAGES_RELEASE);
        host().release(host().data, pages, size);
    }
    counts.reserved.fetch_sub(size, std::memory_order_relaxed);
}

void* map(std::size_t size, int mode) {
    constexpr int usual = MPR_MAP_READ | MPR_MAP_WRITE;
    if (size == 0 || size > SIZE_MAX - pageSize()) {
        return nullptr;
    }
    size = roundToPages(size);
    if (!isHosted()) {
        void* pages = system::map(size, mode);
        if (pages) {
            countReserved(size);
        }
        return pages;
    }
    void* pages = reserve(size, pageSize());
    if (pages && mode != usual && !protect(pages, size, mode)) {
        release(pages, size);
        return nullptr;
    }
    return pages;
}

bool forbid(void* pages, std::size_t size) {
    return protect(pages, size, 0);
}

bool queryPages(const void* address, MprPages& pages) {
    if (!isHosted()) {
        return false;
    }
    count(MPR_PAGES_QUERY);
    pages = {};
    return host().query(host().data, address, &pages) == 0;
}

// ---- Sparse tables ----------------------------------------------------------------------------------------------

namespace {

/** A table of whole pages, and behind them a byte for each: whether it has been backed. */
struct Sparse {
    Sparse(void* table, std::size_t bytes) : base(static_cast<char*>(table)), size(roundToPages(bytes)) {}

    std::size_t marksBytes() const { return roundToPages(size / pageSize()); }
    char* marks() const { return base + size; }

    static bool back(char* pages, std::size_t bytes) {
        return isHosted() ? commitHosted(pages, bytes) : system::allowWrites(pages, bytes);
    }
    /** Back a row of pages. */
    bool backPages(std::size_t first, std::size_t count) {
        if (!back(base + first * pageSize(), count * pageSize())) {
            return false;
        }
        std::fill_n(marks() + first, count, char{1});
        return true;
    }

    char* base;
    std::size_t size;
};

constinit Lock sparseLock; // also of the marks of all tables
} // namespace

void* reserveSparse(std::size_t size) {
    const Sparse sparse(nullptr, size);
    const std::size_t whole = sparse.size + sparse.marksBytes();
    auto* table = static_cast<char*>(reserveCounted(whole, pageSize(), Access::read));
    if (table && !Sparse::back(table + sparse.size, sparse.marksBytes())) {
        release(table, whole);
        return nullptr;
    }
    return table;
}

void releaseSparse(void* table, std::size_t size) {
    const Sparse sparse(table, size);
    release(table, sparse.size + sparse.marksBytes());
}

bool backSparse(void* table, std::size_t size, const void* at, std::size_t bytes) {
    Sparse sparse(table, size);
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(at) - sparse.base);
    const std::size_t end = (offset + bytes - 1) / pageSize() + 1;
    const Locked locked(sparseLock);
    const char* const marks = sparse.marks();
    for (std::size_t page = offset / pageSize(); page < end; ++page) {
        const auto* const backed = std::find(marks + page, marks + end, char{1});
        const auto count = static_cast<std::size_t>(backed - (marks + page));
        if (count > 0 && !sparse.backPages(page, count)) {
            return false;
        }
        page += count; // and what follows is backed
    }
    return true;
}

// ---- The end ----------------------------------------------------------------------------------------------------

namespace {
struct Giver {
    void (*give)();
    std::size_t (*kept)();
};
constexpr int mostGivers = 8;
constinit Lock giversLock;
constinit Giver givers[mostGivers] MPR_GUARDED_BY(giversLock) = {};

/** Have all that was kept given back. @param certain With what programs may ask for. @return Bytes of that, if it was not. */
std::size_t giveKept(bool certain) {
    Giver now[mostGivers];
    {
        const Locked locked(giversLock);
        std::copy(givers, givers + mostGivers, now);
    }
    std::size_t kept = 0;
    for (const Giver& each : now) {
        if (each.kept && !certain) {
            kept += each.kept();
        } else if (each.give) {
            each.give();
        }
    }
    return kept;
}
} // namespace

void givesAtEnd(void (*give)(), std::size_t (*kept)()) {
    const Locked locked(giversLock);
    Giver* place =
        std::find_if(givers, givers + mostGivers, [=](const Giver& each) { return !each.give || each.give == give; });
    MPR_ASSERT(place != givers + mostGivers);
    *place = {give, kept};
}

void endPages() {
    if (isHosted()) {
        giveKept(true);
        giveStacks();
    }
}

bool giveAllPages() {
    const std::size_t kept = giveKept(false);
    giveStacks();
    if (counts.reserved.load(std::memory_order_relaxed) != kept) {
        return false;
    }
    giveKept(true);
    return true;
}

void readPageCounts(MprHostStats& stats) {
    const auto get = [](const auto& number) { return number.load(std::memory_order_relaxed); };
    stats = {};
    stats.reserved = get(counts.reserved);
    stats.peak = get(counts.mostReserved);
    for (int i = 0; i < MPR_PAGES_REQUESTS; ++i) {
        stats.requests[i] = get(counts.requests[i]);
    }
    for (int i = 0; i <= MPR_CRITICAL_PROCESS; ++i) {
        stats.refused[i] = get(counts.refused[i]);
    }
    stats.lastRequest = get(counts.lastRequest);
    stats.lastLevel = get(counts.lastLevel);
    stats.lastError = get(counts.lastError);
    stats.lastSize = get(counts.lastSize);
}

} // namespace mpr::os
