// SPDX-License-Identifier: MIT
/*
    socket_open.cpp - How a socket gets its descriptor: it listens, connects, or is accepted.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/io/address.hpp"
#include "mpr/io/descriptor.hpp"
#include "mpr/io/socket.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/task/callback.hpp"
#include "mpr/thread.h"
#include "mpr/time.h"

namespace base = mpr::base;
namespace os = mpr::os;
using namespace mpr::io;
using mpr::base::Rooted;

namespace {

// Numbers, which order nothing.
std::atomic<int> accepted{0}; // sockets that are open
std::atomic<int> mostAccepted{INT_MAX};
std::atomic<MprSocketPrebind> prebind{nullptr};

constexpr MprTicks connectTimeout = 10'000; // milliseconds: TCP tries again after 1, 3 and 7 seconds
constexpr MprTicks rest = 50;               // milliseconds: twenty looks a second cost nothing
constexpr int settable = MPR_SOCKET_BLOCK | MPR_SOCKET_BROADCAST | MPR_SOCKET_DATAGRAM | MPR_SOCKET_NOREUSE |
                         MPR_SOCKET_NODELAY | MPR_SOCKET_REUSE_PORT | MPR_SOCKET_THREAD;

void logFailure(const char* function, MprSocket* sp, int error) {
    os::Message message;
    message << function << ": " << std::string_view(sp->ip ? sp->ip : "*") << " port " << sp->port << ": ";
    os::log(os::Level::error, message << strerror(error));
    noteError(sp, error);
}

void adopt(MprSocket* sp, int fd, int flags) {
    setDescriptor(sp, fd);
    sp->flags = flags;
    if ((flags & MPR_SOCKET_NODELAY) && !(flags & MPR_SOCKET_DATAGRAM)) {
        setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    }
    if (flags & MPR_SOCKET_BROADCAST) {
        setOption(fd, SOL_SOCKET, SO_BROADCAST, 1);
    }
}

/** Remember where a socket belongs. */
bool setAddress(MprSocket* sp, const char* ip, int port) {
    char* copy = ip && *ip ? static_cast<char*>(mprMemdup(ip, std::strlen(ip) + 1)) : nullptr;
    base::setRef(sp, sp->ip, copy);
    sp->port = port;
    return copy || !ip || !*ip;
}

/** Let the program set options of a descriptor before it is bound. @return false when it wants no socket. */
bool askProgram(MprSocket* sp, int fd) {
    const MprSocketPrebind ask = prebind.load(std::memory_order_relaxed);
    if (!ask) {
        return true;
    }
    setDescriptor(sp, fd);
    bool wanted = false;
    mpr::task::callProgram({"prebind callback"}, [&] { wanted = ask(sp) >= 0; });
    setDescriptor(sp, INVALID_SOCKET);
    errno = wanted ? 0 : ECANCELED;
    return wanted;
}

int listenAt(int fd, const addrinfo& address, int flags) {
    if (address.ai_family == AF_UNIX) {
        return listenLocally(fd, address);
    }
    const bool bound = bind(fd, address.ai_addr, address.ai_addrlen) == 0;
    return bound && ((flags & MPR_SOCKET_DATAGRAM) || listen(fd, SOMAXCONN) == 0) ? 0 : -1;
}

/** Bind one address. @return The descriptor or -1. */
int bindOne(MprSocket* sp, const addrinfo& address, int flags) {
    const int fd = makeDescriptor(address.ai_family, (flags & MPR_SOCKET_DATAGRAM) != 0);
    if (fd < 0) {
        return fd;
    }
    // Of datagrams a socket of any user would take a port that is in use.
    if ((flags & (MPR_SOCKET_NOREUSE | MPR_SOCKET_DATAGRAM)) == 0) {
        setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    }
    if (flags & MPR_SOCKET_REUSE_PORT) {
        setOption(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    }
    if (address.ai_family == AF_INET6) {
        const bool all = IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<sockaddr_in6*>(address.ai_addr)->sin6_addr);
        setOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, all ? 0 : 1);
    }
    if (askProgram(sp, fd) && listenAt(fd, address, flags) == 0) {
        return fd;
    }
    const Descriptor failed(fd);
    return -1;
}

/** @return 0 or the system's error. */
int awaitConnected(MprSocket* sp) {
    const int fd = sp->fd;
    sp->flags |= MPR_SOCKET_CONNECTING;
    const int ready = mprWaitForSingleIO(fd, MPR_WRITABLE, connectTimeout);
    sp->flags &= ~MPR_SOCKET_CONNECTING;
    int error = 0;
    socklen_t length = sizeof(error);
    if (ready < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
        return errno;
    }
    return ready == 0 ? ETIMEDOUT : error;
}

/** Connect to one address, and wait for it. @return As awaitConnected(). */
int connectOne(MprSocket* sp, const addrinfo& address) {
    const int fd = sp->fd;
    const MprTicks begun = mprGetTicks();
    while (connect(fd, address.ai_addr, address.ai_addrlen) != 0) {
        // A local listener has as many as it may, and nothing tells when it accepts one.
        const bool isFull = errno == EAGAIN && address.ai_family == AF_UNIX;
        if (!isFull) {
            return errno == EINPROGRESS || errno == EINTR ? awaitConnected(sp) : errno;
        }
        if (mprGetElapsedTicks(begun) >= connectTimeout) {
            return ETIMEDOUT;
        }
        mprSleep(rest);
        if (sp->fd != fd || __atomic_load_n(&own(sp)->disconnected, __ATOMIC_RELAXED)) {
            return ECANCELED;
        }
    }
    return 0;
}

/**
    Connections cannot be accepted, and the listener stays readable: a handler that is told at once would do nothing else.
    So the handler, or a blocking caller, pauses.
 */
void pauseAccepting(MprSocket* listen, int error, const char* why) {
    if (!(listen->flags & MPR_SOCKET_EXHAUSTED)) {
        listen->flags |= MPR_SOCKET_EXHAUSTED;
        os::Message message;
        message << "mprAcceptSocket: port " << listen->port << ": " << why;
        os::log(os::Level::error, message << "; connections wait until that is over");
    }
    if (listen->flags & MPR_SOCKET_BLOCK) {
        const Rooted rooted(listen);
        mprSleep(rest);
    } else if (listen->handler) {
        pauseHandler(*listen->handler, rest);
    }
    errno = error;
}

/** Accept the next connection; wait for it in blocking mode. @return Its descriptor or -1. */
int acceptNext(MprSocket* listen, Address& peer) {
    for (;;) {
        peer.length = sizeof(peer.storage);
        const int fd = accept4(listen->fd, peer.get(), &peer.length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            return fd;
        }
        if (errno == EINTR || errno == ECONNABORTED) {
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pauseAccepting(listen, errno, strerror(errno));
            return -1;
        }
        const bool none = errno == EAGAIN || errno == EWOULDBLOCK;
        if (!none || !(listen->flags & MPR_SOCKET_BLOCK) || !waitUntil(listen, MPR_READABLE)) {
            return -1;
        }
    }
}

/** At a path. @return The descriptor or -1. */
int listenAtPath(MprSocket* sp, const char* ip, int flags) {
    const LocalAddress address(ip);
    const int error = (flags & MPR_SOCKET_DATAGRAM) ? EPROTONOSUPPORT : address.error();
    const int fd = error == 0 ? bindOne(sp, address.info(), flags) : -1;
    errno = error == 0 ? errno : error;
    return fd;
}

/** Connect to one of some addresses. @return 0, or the last error. */
int connectFirst(MprSocket* sp, const addrinfo* found, int flags) {
    int error = 0;
    for (const addrinfo* each = found; each && sp->fd == INVALID_SOCKET && error != ECANCELED; each = each->ai_next) {
        const int fd = makeDescriptor(each->ai_family, (flags & MPR_SOCKET_DATAGRAM) != 0);
        if (fd < 0) {
            error = errno;
            continue;
        }
        adopt(sp, fd, flags & settable);
        error = connectOne(sp, *each);
        if (error != 0) {
            close(giveUp(sp));
        }
    }
    return error;
}
} // namespace

void mpr::io::leaveAccepted(MprSocket* sp) {
    if (std::exchange(own(sp)->counted, false)) {
        accepted.fetch_sub(1, std::memory_order_relaxed);
    }
}

Socket mprListenOnSocket(MprSocket* sp, cchar* ip, int port, int flags) {
    if (!sp || isOpen(sp)) {
        errno = sp ? EISCONN : EINVAL;
        return SOCKET_ERROR;
    }
    const Rooted rooted(sp); // the prebind callback may yield
    const bool local = isLocal(ip), anywhere = !ip || !*ip || std::strcmp(ip, "*") == 0;
    if (!setAddress(sp, anywhere ? nullptr : ip, local ? 0 : port)) {
        noteError(sp, ENOMEM);
        return SOCKET_ERROR;
    }
    const char* host = !anywhere ? sp->ip : mprHasDualNetworkStack() ? "::" : "0.0.0.0";
    addrinfo* found = nullptr;
    if (!local && resolve(host, port, (flags & MPR_SOCKET_DATAGRAM) != 0, true, found, nullptr) != 0) {
        noteError(sp, errno);
        return SOCKET_ERROR;
    }
    int fd = local ? listenAtPath(sp, host, flags) : -1;
    for (const addrinfo* each = found; each && fd < 0; each = each->ai_next) {
        fd = bindOne(sp, *each, flags);
    }
    const int error = errno;
    if (found) {
        freeaddrinfo(found);
    }
    if (fd < 0) {
        logFailure("mprListenOnSocket", sp, error);
        return SOCKET_ERROR;
    }
    adopt(sp, fd, (flags & settable) | MPR_SOCKET_LISTENER);
    if (local) {
        own(sp)->file = noteFile(host);
        return fd;
    }
    Address here;
    if (getsockname(fd, here.get(), &here.length) == 0) {
        sp->port = here.port();
    } else if (port == 0) { // nobody would know where it listens
        logFailure("mprListenOnSocket", sp, errno);
        mprCloseSocket(sp, true);
        return SOCKET_ERROR;
    }
    return fd;
}

int mprConnectSocket(MprSocket* sp, cchar* ip, int port, int flags) {
    if (!sp || !ip || !*ip) {
        return MPR_ERR_BAD_ARGS;
    }
    if (isOpen(sp)) {
        return MPR_ERR_BAD_STATE;
    }
    const Rooted rooted(sp);
    if (!setAddress(sp, ip, port)) {
        return MPR_ERR_MEMORY;
    }
    const char* host = sp->ip;
    int error = 0;
    if (isLocal(host)) {
        const LocalAddress address(host);
        error = address.error() ? address.error() : connectFirst(sp, &address.info(), flags & ~MPR_SOCKET_DATAGRAM);
    } else {
        addrinfo* found = nullptr;
        const bool datagram = (flags & MPR_SOCKET_DATAGRAM) != 0;
        if (const int result = resolve(host, port, datagram, false, found, __builtin_return_address(0))) {
            noteError(sp, errno);
            return result;
        }
        error = connectFirst(sp, found, flags);
        freeaddrinfo(found);
    }
    if (error != 0) {
        logFailure("mprConnectSocket", sp, error);
    }
    return sp->fd != INVALID_SOCKET             ? 0
           : error == ETIMEDOUT                 ? MPR_ERR_TIMEOUT
           : error == EMFILE || error == ENFILE ? MPR_ERR_CANT_OPEN
                                                : MPR_ERR_CANT_CONNECT;
}

MprSocket* mprAcceptSocket(MprSocket* listen) {
    if (!isOpen(listen)) {
        return nullptr;
    }
    if (accepted.load(std::memory_order_relaxed) >= mostAccepted.load(std::memory_order_relaxed)) {
        pauseAccepting(listen, EMFILE, "as many connections as mprSetMaxSocketAccept allows");
        return nullptr;
    }
    Address peer;
    const int fd = acceptNext(listen, peer);
    if (fd < 0) {
        return nullptr;
    }
    listen->flags &= ~MPR_SOCKET_EXHAUSTED;
    MprSocket* sp = mprCreateSocket();
    Address here;
    if (!sp || getsockname(fd, here.get(), &here.length) != 0) {
        logFailure("mprAcceptSocket", listen, sp ? errno : ENOMEM);
        close(fd);
        return nullptr;
    }
    adopt(sp, fd, listen->flags & (MPR_SOCKET_BLOCK | MPR_SOCKET_NODELAY | MPR_SOCKET_THREAD));
    own(sp)->counted = true;
    accepted.fetch_add(1, std::memory_order_relaxed);
    sp->ip = peer.text();
    sp->port = peer.port();
    sp->acceptIp = here.text();
    sp->acceptPort = here.port();
    sp->listenSock = listen;
    if (!sp->ip || !sp->acceptIp) {
        mprCloseSocket(sp, false);
        return nullptr;
    }
    return sp;
}

int mprSetMaxSocketAccept(int max) {
    const int most = max > 0 ? max : INT_MAX;
    const int before = mostAccepted.exchange(most, std::memory_order_relaxed);
    return before == INT_MAX ? 0 : before;
}

void mprSetSocketPrebindCallback(MprSocketPrebind callback) {
    prebind.store(callback, std::memory_order_relaxed);
}

// ---- Addresses, and what this machine has -----------------------------------------------------------------------

int mprGetSocketInfo(cchar* ip, int port, int* family, int* protocol, struct sockaddr** addr, socklen_t* addrlen) {
    addrinfo* found = nullptr;
    if (!addr || !addrlen) {
        return MPR_ERR_BAD_ARGS;
    }
    const bool passive = !ip || !*ip;
    if (const int result = resolve(passive ? nullptr : ip, port, false, passive, found, __builtin_return_address(0))) {
        return result;
    }
    if (family) {
        *family = found->ai_family;
    }
    if (protocol) {
        *protocol = found->ai_protocol;
    }
    *addr = static_cast<sockaddr*>(mprMemdup(found->ai_addr, found->ai_addrlen));
    *addrlen = found->ai_addrlen;
    freeaddrinfo(found);
    return *addr ? 0 : MPR_ERR_MEMORY;
}

bool mprHasIPv6(void) {
    const int fd = makeDescriptor(AF_INET6, false);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

bool mprHasDualNetworkStack(void) {
    const int fd = makeDescriptor(AF_INET6, false);
    if (fd < 0) {
        return false;
    }
    const int off = 0;
    const bool dual = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0;
    close(fd);
    return dual;
}
