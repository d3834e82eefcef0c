// SPDX-License-Identifier: MIT
/*
    pages.cpp - Pages: mmap.
 */
#include "mpr/os/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace mpr::os {

std::size_t pageSize() {
    // Not a guarded static: those need the C++ library. Relaxed: every thread that finds 0 finds the same size out.
    static constinit std::atomic<std::size_t> cached{0};
    std::size_t size = cached.load(std::memory_order_relaxed);
    if (size == 0) {
        size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        cached.store(size, std::memory_order_relaxed);
    }
    return size;
}

namespace system {

/** A kernel may not know an advice, or refuse it: who allocates or frees finds errno as it was all the same. */
static void advise(void* pages, std::size_t size, int advice) {
    const int before = errno;
    madvise(pages, size, advice);
    errno = before;
}

void* reserve(std::size_t size, std::size_t alignment, Access access) {
    // Without huge alignment most requests are met by the first mapping; else map more and trim both ends.
    const std::size_t slack = alignment > pageSize() ? alignment - pageSize() : 0;
    if (size > SIZE_MAX - slack) {
        return nullptr;
    }
    // Where the program locks what it maps (mlockall), pages are backed at once, but for those that nobody may touch.
    const int protection = access == Access::read ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* raw = mmap(nullptr, size + slack, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) {
        return nullptr;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(raw);
    const std::uintptr_t aligned = (begin + alignment - 1) & ~(alignment - 1);
    const std::size_t front = aligned - begin;
    if (front > 0) {
        munmap(raw, front);
    }
    if (slack > front) {
        munmap(reinterpret_cast<void*>(aligned + size), slack - front);
    }
    auto* pages = reinterpret_cast<void*>(aligned);
    advise(pages, size, MADV_NOHUGEPAGE);
    if (access == Access::read && mprotect(pages, size, PROT_READ) != 0) {
        munmap(pages, size);
        return nullptr;
    }
    return pages;
}

bool allowWrites(void* pages, std::size_t size) {
    return mprotect(pages, size, PROT_READ | PROT_WRITE) == 0;
}

void preferHuge(void* pages, std::size_t size) {
    advise(pages, size, MADV_HUGEPAGE);
}

void decommit(void* pages, std::size_t size) {
    advise(pages, size, MADV_DONTNEED);
}

void release(void* pages, std::size_t size) {
    munmap(pages, size);
}

void* map(std::size_t size, int mode) {
    const int protection = ((mode & 1) ? PROT_READ : 0) | ((mode & 2) ? PROT_WRITE : 0) | ((mode & 4) ? PROT_EXEC : 0);
    void* pages = mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}
} // namespace system

} // namespace mpr::os
