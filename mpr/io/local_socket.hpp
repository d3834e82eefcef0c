// SPDX-License-Identifier: MIT
/*
    local_socket.hpp - Sockets of the machine itself (AF_UNIX): addresses that are paths of files, "unix:/run/a.sock".

    A socket that listens makes its file, which only its own user may connect to (0600). A file at that path is
    replaced if it is a socket on which nobody listens, left behind by a process that was killed. A process locks the
    folder (flock) while it looks and binds, so that two processes which start at once do not replace each other's.
 */
#pragma once

#include <netdb.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace mpr::io {

/** Whether an address is one. */
bool isLocal(const char* address);

/** The system's form of an address. */
class LocalAddress {
public:
    explicit LocalAddress(const char* address);
    /** 0, or what is wrong with the path: ENAMETOOLONG, EINVAL. */
    int error() const { return error_; }
    const addrinfo& info() const { return info_; }

private:
    sockaddr_un name_{};
    addrinfo info_{};
    int error_ = 0;
};

/** The file of a socket that listens: another may stand at its path by now. Outside of the heap, for a finalizer finds no
    other block as it was. */
struct ListenerFile {
    dev_t device;
    ino_t number;
    char path[sizeof(sockaddr_un::sun_path)];
};

/** Bind a socket to a path, and listen. @return 0, or -1 with errno. */
int listenLocally(int fd, const addrinfo& address);
/** The file that was made for an address. @return nullptr when memory is short: it will not be removed. */
ListenerFile* noteFile(const char* address);
/** Remove a file, unless another stands there. */
void removeFile(ListenerFile* file);
/** Let a file stand. */
void leaveFile(ListenerFile* file);

} // namespace mpr::io
