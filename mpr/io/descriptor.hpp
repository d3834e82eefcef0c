// SPDX-License-Identifier: MIT
/*
    descriptor.hpp - A descriptor for the length of a function, most of which say by errno why they have failed.
 */
#pragma once

#include <unistd.h>

#include <cerrno>

namespace mpr::io {

/** A descriptor, or -1. It is closed in the end, and errno stays. */
class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        const int error = errno;
        if (fd_ >= 0) {
            ::close(fd_);
        }
        errno = error;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

private:
    int fd_;
};

} // namespace mpr::io
