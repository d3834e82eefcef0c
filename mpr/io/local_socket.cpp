// SPDX-License-Identifier: MIT
/*
    local_socket.cpp - See local_socket.hpp.
 */
#include "mpr/io/local_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "mpr/io/descriptor.hpp"
#include "mpr/memory.h"

namespace mpr::io {

namespace {

constexpr std::string_view scheme = "unix:";

const char* pathOf(const char* address) {
    return address + scheme.size();
}

/** The folder of a path, open; -1: it cannot be read, and is not locked then. */
int openFolder(const char* path) {
    char folder[sizeof(sockaddr_un::sun_path)] = ".";
    if (const char* end = std::strrchr(path, '/')) {
        const auto length = end > path ? static_cast<std::size_t>(end - path) : 1;
        std::memcpy(folder, path, length);
        folder[length] = '\0';
    }
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/** Wait for the folder's lock, but not long: a well-behaved holder gives it up at once. */
void lockFolder(const Descriptor& folder) {
    constexpr int tries = 100;
    for (int i = 0; i < tries && flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++i) {
        poll(nullptr, 0, 1);
    }
}

/** Remove what stands at a path if it is a socket at which nobody listens. @return 0: the path is free, perhaps for another
    has removed it meanwhile. Else the system's number for why it is not. */
int makeFree(const addrinfo& address) {
    const auto& name = *reinterpret_cast<const sockaddr_un*>(address.ai_addr);
    struct stat info;
    if (lstat(name.sun_path, &info) != 0) {
        return errno == ENOENT ? 0 : EADDRINUSE;
    }
    const Descriptor asks(S_ISSOCK(info.st_mode) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1);
    if (asks.get() < 0 || connect(asks.get(), address.ai_addr, address.ai_addrlen) == 0) {
        return EADDRINUSE;
    }
    if (errno != ECONNREFUSED) {
        return errno == ENOENT ? 0 : EADDRINUSE;
    }
    return unlink(name.sun_path) == 0 || errno == ENOENT ? 0 : errno;
}
} // namespace

bool isLocal(const char* address) {
    return address && std::strncmp(address, scheme.data(), scheme.size()) == 0;
}

LocalAddress::LocalAddress(const char* address) {
    const std::size_t length = std::strlen(pathOf(address));
    error_ = length == 0 ? EINVAL : length >= sizeof(name_.sun_path) ? ENAMETOOLONG : 0;
    if (error_ == 0) {
        std::memcpy(name_.sun_path, pathOf(address), length);
    }
    name_.sun_family = AF_UNIX;
    info_.ai_family = AF_UNIX;
    info_.ai_socktype = SOCK_STREAM;
    info_.ai_addr = reinterpret_cast<sockaddr*>(&name_);
    info_.ai_addrlen = sizeof(name_);
}

int listenLocally(int fd, const addrinfo& address) {
    const char* path = reinterpret_cast<const sockaddr_un*>(address.ai_addr)->sun_path;
    const Descriptor folder(openFolder(path));
    lockFolder(folder);
    int result = bind(fd, address.ai_addr, address.ai_addrlen);
    if (result != 0 && errno == EADDRINUSE) {
        const int error = makeFree(address);
        if (error == 0) {
            result = bind(fd, address.ai_addr, address.ai_addrlen);
        } else {
            errno = error;
        }
    }
    if (result != 0) {
        return -1;
    }
    if (chmod(path, 0600) != 0 || listen(fd, SOMAXCONN) != 0) { // nobody connects before
        const int error = errno;
        unlink(path);
        errno = error;
        return -1;
    }
    return 0;
}

ListenerFile* noteFile(const char* address) {
    struct stat info;
    auto* file =
        lstat(pathOf(address), &info) == 0 ? static_cast<ListenerFile*>(palloc(sizeof(ListenerFile))) : nullptr;
    if (file) {
        file->device = info.st_dev;
        file->number = info.st_ino;
        std::strncpy(file->path, pathOf(address), sizeof(file->path) - 1); // it was bound, so it fits
        file->path[sizeof(file->path) - 1] = '\0';
    }
    return file;
}

void removeFile(ListenerFile* file) {
    const Descriptor folder(openFolder(file->path)); // else another could listen there between the two calls below
    lockFolder(folder);
    struct stat info;
    if (lstat(file->path, &info) == 0 && info.st_ino == file->number && info.st_dev == file->device) {
        unlink(file->path);
    }
    pfree(file);
}

void leaveFile(ListenerFile* file) {
    pfree(file);
}

} // namespace mpr::io
