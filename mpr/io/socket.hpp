// SPDX-License-Identifier: MIT
/*
    socket.hpp - The private part of a socket, and what the files of sockets ask of each other.

    socket.cpp has the socket as a block: how it is made and closed, its handler and its properties. socket_open.cpp is
    how it gets its descriptor, socket_transfer.cpp what goes through it, socket_secure.cpp what TLS adds.

    Descriptors are always in non-blocking mode; blocking is waiting here, so that a call that need not wait does not
    yield. No call raises SIGPIPE.
 */
#pragma once

#include <sys/socket.h>

#include "mpr/io/local_socket.hpp"
#include "mpr/io/wait.hpp"
#include "mpr/socket.h"

namespace mpr::io {

/** The private part of a socket. */
struct OwnSocket : MprSocket {
    MprDispatcher* dispatcher;         // reference: of handlers that are given none
    const MprSocketProvider* provider; // of a secure socket
    int error;                         // the system's, of the last call that failed
    bool counted;                      // among those accepted
    bool disconnected;                 // by any thread, also while it connects
    Tie* tie;                          // to the handler; nullptr: it has none
    ListenerFile* file;                // of a listener at a path; nullptr: none
};

inline OwnSocket* own(MprSocket* sp) {
    return static_cast<OwnSocket*>(sp);
}

inline bool isOpen(const MprSocket* sp) {
    return sp && sp->fd != INVALID_SOCKET;
}

inline bool isSecure(const MprSocket* sp) {
    return isOpen(sp) && sp->sslSocket;
}

inline void setOption(int fd, int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof(value));
}

/** Remember why a call has failed. errno stays. */
void noteError(MprSocket* sp, int error);

// ---- Descriptors ------------------------------------------------------------------------------------------------

/** A new descriptor: not inherited, not blocking. */
int makeDescriptor(int family, bool datagram);
void setDescriptor(MprSocket* sp, int fd);
/** A socket's descriptor is no longer its own. */
int giveUp(MprSocket* sp);
/** If it was accepted it counts no more. */
void leaveAccepted(MprSocket* sp);

/** Wait in blocking mode. @return false when waiting makes no sense. */
bool waitUntil(MprSocket* sp, int mask);

// ---- TLS --------------------------------------------------------------------------------------------------------

/** For wait.cpp: what a secure socket's handler waits for. */
int wants(void* owner, int mask);
/** The descriptor's end, or another's use of it, is near. */
void endSecure(MprSocket* sp, bool graceful);

} // namespace mpr::io
