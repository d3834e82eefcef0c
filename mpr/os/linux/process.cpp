// SPDX-License-Identifier: MIT
/*
    process.cpp - The machine and the process: /proc, the environment, the console; its end.
 */
#include "mpr/os/broken_pipe.hpp"
#include "mpr/os/linux/signals.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace mpr::os {

int processors() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
        return CPU_COUNT(&allowed);
    }
    return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); // more than a set can hold
}

std::uint64_t ram() {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * pageSize();
}

std::size_t privateCache() {
#ifdef _SC_LEVEL2_CACHE_SIZE
    const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return size > 0 ? static_cast<std::size_t>(size) : 0;
#else
    return 0;
#endif
}

namespace {
/** Read the beginning of a file of /proc. The thread cannot be cancelled meanwhile. @return false when it cannot be read. */
template <std::size_t n>
bool readProc(const char* path, char (&text)[n]) {
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const long length = syscall(SYS_read, file, text, n - 1);
    syscall(SYS_close, file);
    text[std::max(length, 0L)] = '\0';
    return length > 0;
}
} // namespace

std::size_t resident() {
    char text[128];
    const char* second = readProc("/proc/self/statm", text) ? std::strchr(text, ' ') : nullptr;
    return second ? std::strtoul(second, nullptr, 10) * pageSize() : 0;
}

bool isReady(std::uint32_t number) {
    Message path;
    path << "/proc/self/task/" << number << "/stat";
    char text[64];
    const char* const behindName = readProc(path.text(), text) ? std::strrchr(text, ')') : nullptr;
    return behindName && behindName[1] == ' ' && behindName[2] == 'R';
}

const char* environment(const char* name) {
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
}

std::size_t programPath(char* out, std::size_t room) {
    const ssize_t length = readlink("/proc/self/exe", out, room);
    return length > 0 && static_cast<std::size_t>(length) < room ? static_cast<std::size_t>(length) : 0;
}

/** A pipe that nobody reads any more is an error, and no signal. */
static ssize_t writeQuietly(int fd, const char* text, std::size_t length) {
    BrokenPipe broken;
    const ssize_t written = ::write(fd, text, length);
    broken.set(written < 0 ? errno : 0, written < static_cast<ssize_t>(length));
    return written;
}

void write(const char* text, std::size_t length) {
    while (length > 0) {
        const ssize_t written = writeQuietly(STDERR_FILENO, text, length);
        if (written <= 0 && errno != EINTR) {
            return;
        }
        if (written > 0) {
            text += written;
            length -= static_cast<std::size_t>(written);
        }
    }
}

void restart(char** argv) {
    // Descriptors above standard error would keep ports and locks from the new program.
    if (DIR* open = opendir("/proc/self/fd")) {
        while (const dirent* entry = readdir(open)) {
            const int number = std::atoi(entry->d_name);
            if (number > STDERR_FILENO) {
                fcntl(number, F_SETFD, FD_CLOEXEC);
            }
        }
        closedir(open);
    }
    const MaskOfProgram mask; // a program keeps that of the thread that executes it
    execv("/proc/self/exe", argv);
}

void exit(int status) {
    std::exit(status);
}

void abort() {
    std::abort();
}

} // namespace mpr::os
