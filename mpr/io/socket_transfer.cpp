// SPDX-License-Identifier: MIT
/*
    socket_transfer.cpp - Bytes in and out of a socket: buffers, vectors, stretches of files.
 */
#if __has_include(<sys/sendfile.h>)
#include <sys/sendfile.h>
#endif
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>

#include "mpr/base/retain.hpp"
#include "mpr/io/plain_file.hpp"
#include "mpr/io/socket.hpp"
#include "mpr/os/broken_pipe.hpp"

namespace os = mpr::os;
using namespace mpr::io;
using mpr::base::Hold;
using mpr::base::Rooted;

namespace {

/** The socket, if a read or write over TLS may wait, and so yield: it is retained then. */
const MprSocket* whereBlocking(const MprSocket* sp) {
    return sp->flags & MPR_SOCKET_BLOCK ? sp : nullptr;
}

ssize writeSecure(MprSocket* sp, const void* buf, ssize size) {
    const Rooted rooted(whereBlocking(sp));
    return own(sp)->provider->write(sp, buf, size);
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
    const bool waits = (sock && (sock->flags & MPR_SOCKET_BLOCK)) || mayWait(file);
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
