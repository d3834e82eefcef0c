// SPDX-License-Identifier: MIT
/*
    test/fault/pages/preload.cpp - A library to be preloaded: pages are as large as TEST_PAGE in the environment says, a multiple
    of the system's, such as the 16 KiB or 64 KiB of some 64-bit boards.

    It rounds as such a system does. An address that is not that of a page ends the process, where the system would refuse
    it. Huge pages are unknown, as to kernels that are built for small boards. Like all such libraries it sees the calls
    by dynamic symbols, not those that the C library makes for itself.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

std::size_t pageSize() {
    static const std::size_t size = std::strtoul(std::getenv("TEST_PAGE"), nullptr, 0);
    return size;
}

std::size_t roundUp(std::size_t size) {
    return (size + pageSize() - 1) & ~(pageSize() - 1);
}

void checkPage(const char* call, const void* address) {
    if (reinterpret_cast<std::uintptr_t>(address) % pageSize() != 0) {
        char text[100];
        const int length = std::snprintf(text, sizeof(text), "%s: %p is not the address of a page\n", call, address);
        const ssize_t written = write(2, text, static_cast<std::size_t>(length));
        std::exit(written > 0 ? 99 : 98);
    }
}

void* mapAnywhere(std::size_t size, int protection, int flags) {
    size = roundUp(size);
    const long raw = syscall(SYS_mmap, nullptr, size + pageSize(), protection, flags, -1, 0);
    if (raw == -1) {
        return MAP_FAILED;
    }
    const auto begin = static_cast<std::size_t>(raw), aligned = roundUp(begin);
    if (aligned > begin) {
        syscall(SYS_munmap, begin, aligned - begin);
    }
    syscall(SYS_munmap, aligned + size, begin + pageSize() - aligned);
    return reinterpret_cast<void*>(aligned);
}

} // namespace

extern "C" {

long sysconf(int name) noexcept {
    static const auto next = reinterpret_cast<long (*)(int)>(dlsym(RTLD_NEXT, "sysconf"));
    return name == _SC_PAGESIZE ? static_cast<long>(pageSize()) : next(name);
}

void* mmap(void* address, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
    if (!address && size > 0 && (flags & MAP_ANONYMOUS)) {
        return mapAnywhere(size, protection, flags);
    }
    if (flags & MAP_FIXED) {
        checkPage("mmap", address);
    }
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}

int munmap(void* address, std::size_t size) noexcept {
    checkPage("munmap", address);
    return static_cast<int>(syscall(SYS_munmap, address, roundUp(size)));
}

int mprotect(void* address, std::size_t size, int protection) noexcept {
    checkPage("mprotect", address);
    return static_cast<int>(syscall(SYS_mprotect, address, roundUp(size), protection));
}

int madvise(void* address, std::size_t size, int advice) noexcept {
    checkPage("madvise", address);
    if (advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE) {
        errno = EINVAL;
        return -1;
    }
    return static_cast<int>(syscall(SYS_madvise, address, roundUp(size), advice));
}
}
