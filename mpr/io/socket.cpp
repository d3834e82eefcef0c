// SPDX-License-Identifier: MIT
/*
    socket.cpp - Sockets: the C API of mpr/socket.h.

    Descriptors are always in non-blocking mode; blocking is waiting here, so that a call that need not wait does not
    yield. No call raises SIGPIPE.
 */
#include "mpr/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#if __has_include(<sys/sendfile.h>)
#include <sys/sendfile.h>
#endif
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "mpr/barrier.h"
#include "mpr/format.h"
#include "mpr/gc/census.hpp"
#include "mpr/io/address.hpp"
#include "mpr/io/local_socket.hpp"
#include "mpr/io/plain_file.hpp"
#include "mpr/io/wait.hpp"
#include "mpr/memory.h"
#include "mpr/os/broken_pipe.hpp"
#include "mpr/os/log.hpp"
#include "mpr/string.h"
#include "mpr/task/callback.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/thread.h"

using mpr::io::Address;
namespace os = mpr::os;
using mpr::base::Hold;
using mpr::base::Rooted;

namespace {

/** The private part of a socket. */
struct OwnSocket : MprSocket {
    MprDispatcher* dispatcher;         // reference: of handlers that are given none
    const MprSocketProvider* provider; // of a secure socket
    int error;                         // the system's, of the last call that failed
    bool counted;                      // among those accepted
    mpr::io::Tie* tie;                 // to the handler; nullptr: it has none
    mpr::io::ListenerFile* file;       // of a listener at a path; nullptr: none
};

OwnSocket* own(MprSocket* sp) {
    return static_cast<OwnSocket*>(sp);
}

// Numbers, which order nothing.
std::atomic<int> accepted{0}; // sockets that are open
std::atomic<int> mostAccepted{INT_MAX};
std::atomic<MprSocketPrebind> prebind{nullptr};
std::atomic<const MprSocketProvider*> newProvider{nullptr}; // of sockets that become secure

constexpr MprTicks connectTimeout = 10'000; // milliseconds: TCP tries again after 1, 3 and 7 seconds
constexpr int settable = MPR_SOCKET_BLOCK | MPR_SOCKET_BROADCAST | MPR_SOCKET_DATAGRAM | MPR_SOCKET_NOREUSE |
                         MPR_SOCKET_NODELAY | MPR_SOCKET_REUSE_PORT | MPR_SOCKET_THREAD;

/**
    Guards the descriptors of all sockets against mprDisconnectSocket of other threads: under it the number in a socket is
    that socket's. Held for one system call that does not wait.
 */
constinit os::Lock descriptors;

/** A socket's descriptor is no longer its own. */
int giveUp(MprSocket* sp) {
    if (mpr::io::ListenerFile* file = std::exchange(own(sp)->file, nullptr)) {
        mpr::io::leaveFile(file);
    }
    if (std::exchange(own(sp)->counted, false)) {
        accepted.fetch_sub(1, std::memory_order_relaxed);
    }
    os::Locked locked(descriptors);
    return __atomic_exchange_n(&sp->fd, INVALID_SOCKET, __ATOMIC_RELAXED);
}

void setDescriptor(MprSocket* sp, int fd) {
    os::Locked locked(descriptors);
    __atomic_store_n(&sp->fd, fd, __ATOMIC_RELAXED);
}

/** A descriptor is closed, and the file of a listener removed. */
void closeOwn(MprSocket* sp) {
    if (mpr::io::ListenerFile* file = std::exchange(own(sp)->file, nullptr)) {
        mpr::io::removeFile(file);
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
        mpr::io::drop(own(sp)->tie);
        if (sp->fd != INVALID_SOCKET) {
            if (sp->sslSocket) {
                own(sp)->provider->close(sp, false);
            }
            closeOwn(sp);
        }
    }
}
const mpr::gc::ManagerName namedSocket(manageSocket, "MprSocket");

bool isOpen(const MprSocket* sp) {
    return sp && sp->fd != INVALID_SOCKET;
}

bool isSecure(const MprSocket* sp) {
    return isOpen(sp) && sp->sslSocket;
}

/** The descriptor's end, or another's use of it, is near. */
void endSecure(MprSocket* sp, bool graceful) {
    if (isSecure(sp)) {
        own(sp)->provider->close(sp, graceful);
        mprSetRef(sp, &sp->sslSocket, nullptr);
    }
}

/** For wait.cpp: what a secure socket's handler waits for. */
int wants(void* owner, int mask) {
    auto* sp = static_cast<MprSocket*>(owner);
    return isSecure(sp) ? own(sp)->provider->wants(sp, mask) : mask;
}

void setOption(int fd, int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof(value));
}

/** A new descriptor: not inherited, not blocking. */
int makeDescriptor(int family, bool datagram) {
    return socket(family, (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/** Remember why a call has failed. errno stays. */
void noteError(MprSocket* sp, int error) {
    own(sp)->error = error;
    mprSetRef(sp, &sp->errorMsg, sclone(strerror(error)));
    errno = error;
}

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
    mprSetRef(sp, &sp->ip, copy);
    sp->port = port;
    return copy || !ip || !*ip;
}

/** What is to be retained while a secure socket is read or written: it may wait in blocking mode, and yield. */
const MprSocket* whereBlocking(const MprSocket* sp) {
    return sp->flags & MPR_SOCKET_BLOCK ? sp : nullptr;
}

ssize writeSecure(MprSocket* sp, const void* buf, ssize size) {
    const Rooted rooted(whereBlocking(sp));
    return own(sp)->provider->write(sp, buf, size);
}

/** Wait in blocking mode. @return false when waiting makes no sense. */
bool waitUntil(MprSocket* sp, int mask) {
    const Rooted rooted(sp);
    return mprWaitForSingleIO(sp->fd, mask, -1) >= 0;
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
        return mpr::io::listenLocally(fd, address);
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
    if ((flags & MPR_SOCKET_NOREUSE) == 0) {
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
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/** Connect to one address, and wait for it. @return 0 or the system's error. */
int connectOne(MprSocket* sp, const addrinfo& address) {
    const int fd = sp->fd;
    if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS && errno != EINTR) {
        return errno;
    }
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

/**
    Connections cannot be accepted, and the listener stays readable: a handler that is told at once would do nothing else.
    So the handler, or a blocking caller, pauses.
 */
void pauseAccepting(MprSocket* listen, int error, const char* why) {
    constexpr MprTicks rest = 50; // milliseconds: twenty looks a second cost nothing
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
        mpr::io::pauseHandler(*listen->handler, rest);
    }
    errno = error;
}

/** How a transfer ended: the number of bytes, 0 for not now, negative for never. */
ssize outcome(MprSocket* sp, ssize count) {
    if (count >= 0) {
        return count;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return 0;
    }
    // A datagram that is refused or too large ends nothing, nor does a moment without memory.
    if (!(sp->flags & MPR_SOCKET_DATAGRAM) && errno != ENOBUFS && errno != ENOMEM) {
        sp->flags |= MPR_SOCKET_EOF;
    }
    noteError(sp, errno);
    return MPR_ERR;
}

#ifdef MSG_MORE
constexpr int moreFollows = MSG_MORE; // the system may wait for what is written next, to send both in one segment
#else
constexpr int moreFollows = 0;
#endif

/** @param flags 0, or moreFollows. */
ssize send(MprSocket* sp, iovec* pieces, std::size_t count, int flags) {
    msghdr header{};
    header.msg_iov = pieces;
    header.msg_iovlen = count < IOV_MAX ? count : IOV_MAX;
    ssize sent = 0;
    do {
        sent = count == 1 ? ::send(sp->fd, pieces->iov_base, pieces->iov_len, MSG_NOSIGNAL | flags) // costs less
                          : sendmsg(sp->fd, &header, MSG_NOSIGNAL | flags);
    } while (sent < 0 && errno == EINTR);
    return outcome(sp, sent);
}
} // namespace

MprSocket* mprCreateSocket(void) {
    auto* sp = static_cast<MprSocket*>(
        mprAllocManaged(sizeof(OwnSocket), manageSocket, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    if (sp) {
        sp->fd = INVALID_SOCKET;
    }
    return sp;
}

// ---- Opening ----------------------------------------------------------------------------------------------------

namespace {

/** At a path. @return The descriptor or -1. */
int listenAtPath(MprSocket* sp, const char* ip, int flags) {
    const mpr::io::LocalAddress address(ip);
    const int error = (flags & MPR_SOCKET_DATAGRAM) ? EPROTONOSUPPORT : address.error();
    const int fd = error == 0 ? bindOne(sp, address.info(), flags) : -1;
    errno = error == 0 ? errno : error;
    return fd;
}

/** Connect to one of some addresses. @return 0, or the last error. */
int connectFirst(MprSocket* sp, const addrinfo* found, int flags) {
    int error = 0;
    for (const addrinfo* each = found; each && sp->fd == INVALID_SOCKET; each = each->ai_next) {
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

Socket mprListenOnSocket(MprSocket* sp, cchar* ip, int port, int flags) {
    if (!sp || isOpen(sp)) {
        errno = sp ? EISCONN : EINVAL;
        return SOCKET_ERROR;
    }
    const bool local = mpr::io::isLocal(ip);
    const char* host = ip && *ip && std::strcmp(ip, "*") != 0 ? ip : mprHasDualNetworkStack() ? "::" : "0.0.0.0";
    addrinfo* found = nullptr;
    if (!local && mpr::io::resolve(host, port, (flags & MPR_SOCKET_DATAGRAM) != 0, true, found, nullptr) != 0) {
        noteError(sp, errno);
        return SOCKET_ERROR;
    }
    int fd = local ? listenAtPath(sp, ip, flags) : -1;
    for (const addrinfo* each = found; each && fd < 0; each = each->ai_next) {
        fd = bindOne(sp, *each, flags);
    }
    const int error = errno;
    if (found) {
        freeaddrinfo(found);
    }
    setAddress(sp, host == ip ? ip : nullptr, local ? 0 : port);
    if (fd < 0) {
        logFailure("mprListenOnSocket", sp, error);
        return SOCKET_ERROR;
    }
    adopt(sp, fd, (flags & settable) | MPR_SOCKET_LISTENER);
    if (local) {
        own(sp)->file = mpr::io::noteFile(ip);
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
    if (mpr::io::isLocal(host)) {
        const mpr::io::LocalAddress address(host);
        error = address.error() ? address.error() : connectFirst(sp, &address.info(), flags & ~MPR_SOCKET_DATAGRAM);
    } else {
        addrinfo* found = nullptr;
        const bool datagram = (flags & MPR_SOCKET_DATAGRAM) != 0;
        if (const int result = mpr::io::resolve(host, port, datagram, false, found, __builtin_return_address(0))) {
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
    int fd = -1;
    for (;;) {
        peer.length = sizeof(peer.storage);
        fd = accept4(listen->fd, peer.get(), &peer.length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            break;
        }
        const bool none = errno == EAGAIN || errno == EWOULDBLOCK;
        if (errno == EINTR || errno == ECONNABORTED) {
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pauseAccepting(listen, errno, strerror(errno));
            return nullptr;
        }
        if (!none || !(listen->flags & MPR_SOCKET_BLOCK) || !waitUntil(listen, MPR_READABLE)) {
            return nullptr;
        }
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
    return sp->ip && sp->acceptIp ? sp : nullptr;
}

// ---- Reading and writing ----------------------------------------------------------------------------------------

ssize mprReadSocketDirect(MprSocket* sp, void* buf, ssize size) {
    if (!isOpen(sp)) {
        return MPR_ERR_BAD_HANDLE;
    }
    if (!buf || size <= 0) {
        return MPR_ERR_BAD_ARGS;
    }
    ssize count = 0;
    do {
        count = recv(sp->fd, buf, static_cast<std::size_t>(size), 0);
    } while (count < 0 && errno == EINTR);
    if (count == 0 && !(sp->flags & MPR_SOCKET_DATAGRAM)) {
        sp->flags |= MPR_SOCKET_EOF;
        return MPR_ERR;
    }
    return outcome(sp, count);
}

ssize mprWriteSocketDirect(MprSocket* sp, cvoid* buf, ssize len) {
    if (!isOpen(sp)) {
        return MPR_ERR_BAD_HANDLE;
    }
    if (!buf || len <= 0) {
        return MPR_ERR_BAD_ARGS;
    }
    iovec piece{const_cast<void*>(buf), static_cast<std::size_t>(len)};
    return send(sp, &piece, 1, 0);
}

ssize mprReadSocket(MprSocket* sp, void* buf, ssize size) {
    if (isSecure(sp) && buf && size > 0) {
        const Rooted rooted(whereBlocking(sp));
        return own(sp)->provider->read(sp, buf, size);
    }
    for (;;) {
        const ssize count = mprReadSocketDirect(sp, buf, size);
        if (count != 0 || !(sp->flags & MPR_SOCKET_BLOCK) || !waitUntil(sp, MPR_READABLE)) {
            return count;
        }
    }
}

namespace {

/** Write pieces one by one, as far as it goes. */
ssize writeEach(MprSocket* sp, const MprIOVec* pieces, int count) {
    const Rooted rooted(sp);
    ssize total = 0;
    for (int i = 0; i < count; ++i) {
        const auto length = static_cast<ssize>(pieces[i].len);
        const ssize written = mprWriteSocket(sp, pieces[i].start, length);
        if (written < 0) {
            return total > 0 ? total : written;
        }
        total += written;
        if (written < length) {
            break;
        }
    }
    return total;
}
/** Write pieces. @param flags 0, or moreFollows. */
ssize writePieces(MprSocket* sp, MprIOVec* iovec, int count, int flags) {
    static_assert(sizeof(MprIOVec) == sizeof(struct iovec) &&
                  offsetof(MprIOVec, len) == offsetof(struct iovec, iov_len));
    if (isSecure(sp)) {
        return writeEach(sp, iovec, count);
    }
    ssize total = 0;
    int first = 0;
    while (first < count) {
        // A piece that is partly sent goes alone: the caller's vector stays as it is.
        ssize sent =
            send(sp, reinterpret_cast<struct iovec*>(iovec + first), static_cast<std::size_t>(count - first), flags);
        if (sent < 0) {
            return total > 0 ? total : sent;
        }
        total += sent;
        for (; first < count && static_cast<std::size_t>(sent) >= iovec[first].len; ++first) {
            sent -= static_cast<ssize>(iovec[first].len);
        }
        if (first < count && sent > 0) {
            const MprIOVec& piece = iovec[first];
            const ssize rest = static_cast<ssize>(piece.len) - sent;
            const ssize more = mprWriteSocket(sp, piece.start + sent, rest);
            total += more > 0 ? more : 0;
            if (more != rest) {
                return total;
            }
            ++first;
        } else if (first < count && (!(sp->flags & MPR_SOCKET_BLOCK) || !waitUntil(sp, MPR_WRITABLE))) {
            return total;
        }
    }
    return total;
}
} // namespace

ssize mprWriteSocketVector(MprSocket* sp, MprIOVec* iovec, int count) {
    if (!isOpen(sp)) {
        return MPR_ERR_BAD_HANDLE;
    }
    if (count < 0 || (count > 0 && !iovec)) {
        return MPR_ERR_BAD_ARGS;
    }
    return writePieces(sp, iovec, count, 0);
}

ssize mprWriteSocket(MprSocket* sp, cvoid* buf, ssize len) {
    if (!isOpen(sp)) {
        return MPR_ERR_BAD_HANDLE;
    }
    if (len < 0 || (len > 0 && !buf)) {
        return MPR_ERR_BAD_ARGS;
    }
    if (isSecure(sp) && len > 0) {
        return writeSecure(sp, buf, len);
    }
    ssize total = 0;
    while (total < len) {
        iovec piece{static_cast<char*>(const_cast<void*>(buf)) + total, static_cast<std::size_t>(len - total)};
        const ssize sent = send(sp, &piece, 1, 0);
        if (sent < 0) {
            return total > 0 ? total : sent;
        }
        total += sent;
        if (total < len && (!(sp->flags & MPR_SOCKET_BLOCK) || (sent == 0 && !waitUntil(sp, MPR_WRITABLE)))) {
            break;
        }
    }
    return total;
}

ssize mprWriteSocketString(MprSocket* sp, cchar* str) {
    return str ? mprWriteSocket(sp, str, static_cast<ssize>(std::strlen(str))) : MPR_ERR_BAD_ARGS;
}

namespace {

/** Have the system send bytes straight from a file. @return Bytes written, or -1 with errno; ENOSYS: it cannot. */
ssize sendDirectly(Socket fd, int file, MprOff offset, MprOff bytes) {
    ssize count = -1;
#if __has_include(<sys/sendfile.h>)
    constexpr MprOff most = 1 << 30;
    auto from = static_cast<off_t>(offset);
    os::BrokenPipe broken; // there is no flag for it
    if (from != offset) {
        broken.set(ENOSYS, false); // further than this system's numbers go
        return -1;
    }
    do {
        count = sendfile(fd, file, &from, static_cast<std::size_t>(std::min(bytes, most)));
    } while (count < 0 && errno == EINTR);
    broken.set(count < 0 ? errno : 0, count < std::min(bytes, most));
#else
    errno = ENOSYS;
#endif
    return count;
}

/** Send a file straight from the system, on a socket that does not block. @return Bytes written; negative: send piece by piece instead. */
ssize sendQuickly(MprSocket* sp, MprFile* file, MprOff offset, MprOff bytes) {
    const int fd = mprGetFileFd(file);
    if (bytes == 0 || fd < 0 || isSecure(sp) || (sp->flags & MPR_SOCKET_BLOCK) || mprFlushFile(file) < 0) {
        return -1;
    }
    const ssize sent = sendDirectly(sp->fd, fd, offset, bytes);
    if (sent > 0) {
        mprSeekFile(file, SEEK_SET, offset + sent);
    }
    return sent < 0 && errno == EAGAIN ? 0 : sent;
}

/** Write a stretch of a file, read piece by piece if the system does no better. @return Bytes written, or what the write
    or the read gave. */
ssize sendStretch(MprSocket* sp, MprFile* file, MprOff offset, MprOff bytes) {
    if (const ssize sent = sendQuickly(sp, file, offset, bytes); sent >= 0) {
        return sent;
    }
    char piece[4096];
    ssize total = 0;
    while (bytes > 0) {
        const auto most = static_cast<ssize>(std::min(bytes, static_cast<MprOff>(sizeof(piece))));
        const MprOff at = mprSeekFile(file, SEEK_SET, offset);
        const ssize count = at < 0 ? static_cast<ssize>(at) : mprReadFile(file, piece, most);
        const ssize sent = count > 0 ? mprWriteSocket(sp, piece, count) : count;
        total += sent > 0 ? sent : 0;
        if (sent < 0 || sent < count || count == 0) {
            return sent < 0 && total == 0 ? sent : total;
        }
        offset += sent;
        bytes -= sent;
    }
    return total;
}

ssize lengthOf(const MprIOVec* pieces, int count) {
    ssize length = 0;
    for (int i = 0; i < count; ++i) {
        length += static_cast<ssize>(pieces[i].len);
    }
    return length;
}

constexpr MprOff mostCopied = 8 * 1024; // measured: to copy more costs as much as the calls that save it
constexpr int mostBefore = 32;          // pieces

/** Whether some pieces and a stretch of a file go out in one call. */
bool goesCopied(MprSocket* sp, MprOff bytes, int count) {
    return bytes > 0 && bytes <= mostCopied && count >= 0 && count <= mostBefore && isOpen(sp) && !isSecure(sp) &&
           !(sp->flags & MPR_SOCKET_BLOCK);
}

/** Write pieces, and a copy of a stretch of a file behind them. @param sent Receives what the write gave.
    @return false: the file gives nothing, and nothing was written. */
bool sendCopied(MprSocket* sp, const MprIOVec* before, int count, MprFile* file, MprOff offset, MprOff bytes,
                ssize& sent) {
    char copy[mostCopied];
    const bool there = mprSeekFile(file, SEEK_SET, offset) == offset;
    const ssize size = there ? mprReadFile(file, copy, static_cast<ssize>(bytes)) : 0;
    if (size <= 0) {
        return false;
    }
    MprIOVec pieces[mostBefore + 1];
    std::copy_n(before, count, pieces);
    pieces[count] = {copy, static_cast<std::size_t>(size)};
    sent = writePieces(sp, pieces, count + 1, 0);
    const ssize left = lengthOf(pieces, count + 1) - sent;
    if (left > 0) {
        mprSeekFile(file, SEEK_SET, offset + std::max(size - left, ssize{0}));
    }
    return true;
}
} // namespace

MprOff mprSendFileToSocket(MprSocket* sock, MprFile* file, MprOff offset, MprOff bytes, MprIOVec* beforeVec,
                           int beforeCount, MprIOVec* afterVec, int afterCount) {
    if (offset < 0 || bytes < 0 || (bytes > 0 && !file) || (beforeCount > 0 && !beforeVec) ||
        (afterCount > 0 && !afterVec)) {
        return MPR_ERR_BAD_ARGS;
    }
    const bool waits = (sock && (sock->flags & MPR_SOCKET_BLOCK)) || mpr::io::mayWait(file);
    const Rooted rooted(waits ? sock : nullptr);
    const Hold held(waits ? file : nullptr);
    MprOff total = 0;
    bool whole = true;
    const auto add = [&](ssize sent, MprOff wanted) {
        total = sent >= 0 || total > 0 ? total + std::max(sent, ssize{0}) : sent;
        whole = sent == wanted;
    };
    const ssize before = lengthOf(beforeVec, beforeCount);
    ssize both = 0;
    if (goesCopied(sock, bytes, beforeCount) && sendCopied(sock, beforeVec, beforeCount, file, offset, bytes, both)) {
        add(both, before + bytes);
    } else {
        if (beforeCount > 0) {
            const int flags = bytes > 0 ? moreFollows : 0;
            add(isOpen(sock) ? writePieces(sock, beforeVec, beforeCount, flags) : ssize{MPR_ERR_BAD_HANDLE}, before);
        }
        if (whole) {
            add(isOpen(sock) ? sendStretch(sock, file, offset, bytes) : ssize{MPR_ERR_BAD_HANDLE}, bytes);
        }
    }
    if (whole && afterCount > 0) {
        add(mprWriteSocketVector(sock, afterVec, afterCount), lengthOf(afterVec, afterCount));
    }
    return total;
}

ssize mprFlushSocket(MprSocket* sp) {
    if (isSecure(sp)) {
        return writeSecure(sp, nullptr, 0);
    }
    return isOpen(sp) ? 0 : MPR_ERR_BAD_HANDLE;
}

// ---- Closing ----------------------------------------------------------------------------------------------------

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
        if ((sp->flags & MPR_SOCKET_LISTENER) && !mpr::io::prepareToPause(*handler)) {
            mprDestroyWaitHandler(handler);
            return nullptr;
        }
        own(sp)->tie = mpr::io::setOwner(*handler, sp);
        mprSetRef(sp, &sp->handler, handler);
        if (isSecure(sp)) {
            mpr::io::setWants(*handler, wants);
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
        mprSetRef(sp, &sp->handler, nullptr);
        mpr::io::drop(own(sp)->tie);
    }
}

void mprSetSocketDispatcher(MprSocket* sp, MprDispatcher* dispatcher) {
    if (sp) {
        mprSetRef(sp, &own(sp)->dispatcher, dispatcher);
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

int mprSetMaxSocketAccept(int max) {
    const int most = max > 0 ? max : INT_MAX;
    const int before = mostAccepted.exchange(most, std::memory_order_relaxed);
    return before == INT_MAX ? 0 : before;
}

void mprSetSocketPrebindCallback(MprSocketPrebind callback) {
    prebind.store(callback, std::memory_order_relaxed);
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

int mprGetSocketInfo(cchar* ip, int port, int* family, int* protocol, struct sockaddr** addr, socklen_t* addrlen) {
    addrinfo* found = nullptr;
    if (!addr || !addrlen) {
        return MPR_ERR_BAD_ARGS;
    }
    const bool passive = !ip || !*ip;
    if (const int result =
            mpr::io::resolve(passive ? nullptr : ip, port, false, passive, found, __builtin_return_address(0))) {
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

// ---- TLS --------------------------------------------------------------------------------------------------------

void mprSetSslProvider(MprSocketProvider* provider) {
    newProvider.store(provider, std::memory_order_release);
}

bool mprHasSecureSockets(void) {
    return newProvider.load(std::memory_order_relaxed) != nullptr;
}

void mprSetSocketError(MprSocket* sp, cchar* fmt, ...) {
    if (!sp) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    mprSetRef(sp, &sp->errorMsg, sfmtv(fmt, args));
    va_end(args);
}

int mprUpgradeSocket(MprSocket* sp, struct MprSsl* ssl, cchar* peerName) {
    const MprSocketProvider* provider = newProvider.load(std::memory_order_acquire);
    os::Message message;
    if (!provider) {
        os::log(os::Level::error,
                message << "mprUpgradeSocket: there is no TLS in this program, and the connection stays as it is: "
                           "link libmpr_tls and use a function of mpr/tls.h");
        return MPR_ERR_BAD_STATE;
    }
    if (!sp) {
        return MPR_ERR_BAD_ARGS;
    }
    if (!isOpen(sp) || isSecure(sp) || (sp->flags & (MPR_SOCKET_LISTENER | MPR_SOCKET_DATAGRAM))) {
        os::log(os::Level::error,
                message << "mprUpgradeSocket: only a connection that is not secure can be made secure");
        return MPR_ERR_BAD_STATE;
    }
    const Rooted rooted(sp);
    own(sp)->provider = provider;
    const int result = provider->upgrade(sp, ssl, peerName);
    if (sp->handler) {
        mpr::io::setWants(*sp->handler, wants);
    }
    return result;
}

bool mprSocketHandshaking(MprSocket* sp) {
    return isSecure(sp) && own(sp)->provider->handshaking(sp);
}

namespace {
bool holdsBack(MprSocket* sp, int mask) {
    return isSecure(sp) && (own(sp)->provider->buffered(sp) & mask) != 0;
}
} // namespace

bool mprSocketHasBuffered(MprSocket* sp) {
    return holdsBack(sp, MPR_READABLE | MPR_WRITABLE);
}

bool mprSocketHasBufferedRead(MprSocket* sp) {
    return holdsBack(sp, MPR_READABLE);
}

bool mprSocketHasBufferedWrite(MprSocket* sp) {
    return holdsBack(sp, MPR_WRITABLE);
}

bool mprIsSocketSecure(MprSocket* sp) {
    return isSecure(sp);
}

char* mprGetSocketState(MprSocket* sp) {
    return isSecure(sp) ? own(sp)->provider->state(sp) : nullptr;
}
