// SPDX-License-Identifier: MIT
/*
    socket.cpp - Sockets: how they are made and closed, their handlers and properties. See socket.hpp for the other files.
 */
#include "mpr/base/references.hpp"
#include "mpr/io/socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "mpr/barrier.h"
#include "mpr/base/retain.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/gc/keepers.hpp"
#include "mpr/io/address.hpp"
#include "mpr/memory.h"
#include "mpr/os/lock.hpp"
#include "mpr/string.h"

namespace base = mpr::base;
namespace os = mpr::os;
using namespace mpr::io;
using mpr::base::Rooted;

namespace {

/**
    Guards the descriptors of all sockets against mprDisconnectSocket of other threads: under it the number in a socket is
    that socket's. Held for one system call that does not wait.
 */
constinit os::Lock descriptors;
} // namespace

namespace mpr::io {

int giveUp(MprSocket* sp) {
    if (ListenerFile* file = std::exchange(own(sp)->file, nullptr)) {
        leaveFile(file);
    }
    leaveAccepted(sp);
    os::Locked locked(descriptors);
    return __atomic_exchange_n(&sp->fd, INVALID_SOCKET, __ATOMIC_RELAXED);
}

void setDescriptor(MprSocket* sp, int fd) {
    os::Locked locked(descriptors);
    __atomic_store_n(&sp->fd, fd, __ATOMIC_RELAXED);
    __atomic_store_n(&own(sp)->disconnected, false, __ATOMIC_RELAXED);
}

int makeDescriptor(int family, bool datagram) {
    return socket(family, (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void noteError(MprSocket* sp, int error) {
    own(sp)->error = error;
    base::setRef(sp, sp->errorMsg, sclone(strerror(error)));
    errno = error;
}

bool waitUntil(MprSocket* sp, int mask) {
    const Rooted rooted(sp);
    return mprWaitForSingleIO(sp->fd, mask, -1) >= 0;
}

} // namespace mpr::io

// ---- Made and closed --------------------------------------------------------------------------------------------

namespace {

/** A descriptor is closed, and the file of a listener removed. */
void closeOwn(MprSocket* sp) {
    if (ListenerFile* file = std::exchange(own(sp)->file, nullptr)) {
        removeFile(file);
    }
    close(giveUp(sp));
}

void manageSocket(void* ptr, int flags) {
    auto* sp = static_cast<MprSocket*>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&sp->ip);
        mprMarkRef(&sp->acceptIp);
        mprMarkRef(&sp->handler);
        mprMarkRef(&sp->listenSock);
        mprMarkRef(&sp->errorMsg);
        mprMarkRef(&sp->ssl);
        for (char** field :
             {&sp->protocol, &sp->cipher, &sp->session, &sp->peerName, &sp->peerCert, &sp->peerCertIssuer}) {
            mprMarkRef(field);
        }
        mprMarkRef(&sp->sslSocket);
        mprMarkRef(&own(sp)->dispatcher);
    } else if (flags & MPR_MANAGE_FREE) {
        if (mpr::gc::isFreedByHand(sp)) {
            mprDestroyWaitHandler(sp->handler); // which may be about to call the program
        }
        drop(own(sp)->tie);
        if (sp->fd != INVALID_SOCKET) {
            if (sp->sslSocket) {
                own(sp)->provider->close(sp, false);
            }
            closeOwn(sp);
        }
    }
}
const mpr::gc::ManagerName namedSocket(manageSocket, "MprSocket");
} // namespace

MprSocket* mprCreateSocket(void) {
    auto* sp = static_cast<MprSocket*>(
        mprAllocManaged(sizeof(OwnSocket), manageSocket, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    if (sp) {
        sp->fd = INVALID_SOCKET;
    }
    return sp;
}

void mprCloseSocket(MprSocket* sp, bool graceful) {
    if (!isOpen(sp)) {
        return;
    }
    mprRemoveSocketHandler(sp);
    endSecure(sp, graceful);
    if (!graceful) {
        const linger reset{1, 0};
        setsockopt(sp->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    }
    closeOwn(sp);
    sp->flags |= MPR_SOCKET_CLOSED | MPR_SOCKET_EOF;
}

void mprDisconnectSocket(MprSocket* sp) {
    if (!sp) {
        return;
    }
    os::Locked locked(descriptors);
    if (const int fd = __atomic_load_n(&sp->fd, __ATOMIC_RELAXED); fd != INVALID_SOCKET) {
        shutdown(fd, SHUT_RDWR);
        __atomic_store_n(&own(sp)->disconnected, true, __ATOMIC_RELAXED);
    }
}

Socket mprStealSocketHandle(MprSocket* sp) {
    if (!isOpen(sp)) {
        return INVALID_SOCKET;
    }
    mprRemoveSocketHandler(sp);
    endSecure(sp, false);
    const Socket fd = giveUp(sp);
    sp->flags |= MPR_SOCKET_CLOSED | MPR_SOCKET_EOF;
    return fd;
}

// ---- Events -----------------------------------------------------------------------------------------------------

MprWaitHandler* mprAddSocketHandler(MprSocket* sp, int mask, MprDispatcher* dispatcher, void* proc, void* data,
                                    int flags) {
    if (!isOpen(sp) || !mpr::gc::mayMake("mprAddSocketHandler", sp, dispatcher, data)) {
        return nullptr;
    }
    mprRemoveSocketHandler(sp);
    flags |= ((flags | sp->flags) & MPR_SOCKET_THREAD) ? MPR_WAIT_NEW_DISPATCHER : 0;
    MprWaitHandler* handler =
        mprCreateWaitHandler(sp->fd, 0, dispatcher ? dispatcher : own(sp)->dispatcher, proc, data, flags);
    if (handler) {
        if ((sp->flags & MPR_SOCKET_LISTENER) && !prepareToPause(*handler)) {
            mprDestroyWaitHandler(handler);
            return nullptr;
        }
        own(sp)->tie = setOwner(*handler, sp);
        base::setRef(sp, sp->handler, handler);
        if (isSecure(sp)) {
            setWants(*handler, wants);
        }
        mprWaitOn(handler, mask);
    }
    return handler;
}

void mprEnableSocketEvents(MprSocket* sp, int mask) {
    if (sp) {
        mprWaitOn(sp->handler, mask);
    }
}

void mprRemoveSocketHandler(MprSocket* sp) {
    if (sp && sp->handler) {
        mprDestroyWaitHandler(sp->handler);
        base::setRef(sp, sp->handler, nullptr);
        drop(own(sp)->tie);
    }
}

void mprSetSocketDispatcher(MprSocket* sp, MprDispatcher* dispatcher) {
    if (sp) {
        base::setRef(sp, own(sp)->dispatcher, dispatcher);
    }
}

// ---- Properties -------------------------------------------------------------------------------------------------

int mprSetSocketBlockingMode(MprSocket* sp, bool on) {
    if (!sp) {
        return MPR_ERR_BAD_ARGS;
    }
    const int was = sp->flags & MPR_SOCKET_BLOCK;
    sp->flags = on ? sp->flags | MPR_SOCKET_BLOCK : sp->flags & ~MPR_SOCKET_BLOCK;
    return was;
}

bool mprGetSocketBlockingMode(MprSocket* sp) {
    return sp && (sp->flags & MPR_SOCKET_BLOCK);
}

MprSocket* mprCloneSocket(MprSocket* sp) {
    const int fd = isOpen(sp) && !isSecure(sp) ? fcntl(sp->fd, F_DUPFD_CLOEXEC, 0) : -1;
    MprSocket* clone = fd >= 0 ? mprCreateSocket() : nullptr;
    if (!clone) {
        if (fd >= 0) {
            close(fd);
        }
        return nullptr;
    }
    // New: plain stores.
    *clone = *sp;
    clone->fd = fd;
    clone->handler = nullptr;
    own(clone)->file = nullptr;
    own(clone)->tie = nullptr;
    clone->errorMsg = nullptr;
    return clone;
}

int mprGetSocketError(MprSocket* sp) {
    int error = 0;
    socklen_t length = sizeof(error);
    if (isOpen(sp) && getsockopt(sp->fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error != 0) {
        noteError(sp, error); // the system tells it once
    }
    return sp ? own(sp)->error : EBADF;
}

void mprSetSocketEof(MprSocket* sp, bool eof) {
    if (sp) {
        sp->flags = eof ? sp->flags | MPR_SOCKET_EOF : sp->flags & ~MPR_SOCKET_EOF;
    }
}

bool mprSetSocketNoDelay(MprSocket* sp, bool on) {
    if (!isOpen(sp)) {
        return false;
    }
    const bool was = (sp->flags & MPR_SOCKET_NODELAY) != 0;
    setOption(sp->fd, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
    sp->flags = on ? sp->flags | MPR_SOCKET_NODELAY : sp->flags & ~MPR_SOCKET_NODELAY;
    return was;
}

bool mprIsSocketEof(MprSocket* sp) {
    return !isOpen(sp) || (sp->flags & MPR_SOCKET_EOF);
}

Socket mprGetSocketHandle(MprSocket* sp) {
    return sp ? sp->fd : INVALID_SOCKET;
}

int mprGetSocketPort(MprSocket* sp) {
    return sp ? sp->port : 0;
}

bool mprIsSocketV6(MprSocket* sp) {
    Address here;
    if (!isOpen(sp) || getsockname(sp->fd, here.get(), &here.length) != 0 || here.family() != AF_INET6) {
        return false;
    }
    return !IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<sockaddr_in6*>(here.get())->sin6_addr);
}
