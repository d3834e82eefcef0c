// SPDX-License-Identifier: MIT
/*
    random.cpp - Random bytes: getrandom, or the device.
 */
#include "mpr/os/os.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace mpr::os {

void seed(void* out, std::size_t size) {
    constexpr unsigned flags[] = {GRND_NONBLOCK, 4 /* GRND_INSECURE, Linux 5.6 */};
    for (const unsigned flag : flags) {
        if (getrandom(out, size, flag) == static_cast<ssize_t>(size)) {
            return;
        }
    }
    // An old kernel before its pool is filled: what differs between machines and starts.
    std::uint64_t state = now() ^ static_cast<std::uint64_t>(wallTime()) << 20 ^
                          reinterpret_cast<std::uintptr_t>(&out) ^ static_cast<std::uint64_t>(getpid()) << 48;
    for (std::size_t i = 0; i < size; ++i) {
        state = state * 6364136223846793005u + now();
        static_cast<unsigned char*>(out)[i] = static_cast<unsigned char>(state >> 56);
    }
}

namespace {

/** The device gives bytes at any time, and where the kernel has no getrandom (before 3.17). */
bool readDevice(char* out, std::size_t size) {
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && size > 0) {
        const ssize_t got = read(file, out, size);
        if (got <= 0 && errno != EINTR) {
            break;
        }
        if (got > 0) {
            out += got;
            size -= static_cast<std::size_t>(got);
        }
    }
    if (file >= 0) {
        close(file);
    }
    return file >= 0 && size == 0;
}
} // namespace

bool random(void* out, std::size_t size, Entropy entropy) {
    auto* at = static_cast<char*>(out);
    while (size > 0) {
        const ssize_t got = getrandom(at, size, entropy == Entropy::wait ? 0 : GRND_NONBLOCK);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return (errno == ENOSYS || entropy == Entropy::any) && readDevice(at, size);
        }
        at += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

} // namespace mpr::os
