// SPDX-License-Identifier: MIT
/*
    net_output.cpp - What a connection has to send: a list of packets, written by gathering, or from a file by the system.
 */
#include <algorithm>
#include <cstring>

#include "mpr/http/net.hpp"
#include "mpr/http/packet.hpp"

namespace mpr::http {

namespace {

constexpr int mostPieces = 32; // of a gathering write

ssize sizeOf(const MprBuf* buf) {
    return buf ? buf->end - buf->start : 0;
}

ssize sizeOf(const HttpPacket* packet) {
    return sizeOf(packet->prefix) + sizeOf(packet->content) + static_cast<ssize>(packet->esize);
}

/** Bytes of the first packets have been written. */
void written(HttpNet& net, ssize count) {
    net.outCount -= count;
    while (HttpPacket* packet = net.firstOut) {
        for (MprBuf* buf : {packet->prefix, packet->content}) {
            const ssize part = std::min(count, sizeOf(buf));
            if (part > 0) {
                buf->start += part;
                count -= part;
            }
        }
        if (packet->esize > 0) {
            httpAdjustPacketStart(packet, std::min<MprOff>(count, packet->esize));
            count = 0;
        }
        if (sizeOf(packet) > 0) {
            return;
        }
        uncount(net.outMemory, packet);
        setRef(&net, net.firstOut, packet->next);
        if (!packet->next) {
            setRef(&net, net.lastOut, nullptr);
        }
    }
}

/** Pieces of the first packets, up to one whose bytes are in a file. @param stretch Receives that one, or nullptr. */
int gather(const HttpNet& net, MprIOVec* pieces, const HttpPacket*& stretch) {
    int count = 0;
    const HttpPacket* packet = net.firstOut;
    for (; packet && packet->esize == 0 && count + 2 <= mostPieces; packet = packet->next) {
        for (const MprBuf* buf : {packet->prefix, packet->content}) {
            if (sizeOf(buf) > 0) {
                pieces[count++] = {buf->start, static_cast<std::size_t>(sizeOf(buf))};
            }
        }
    }
    stretch = packet && packet->esize > 0 ? packet : nullptr;
    return count;
}

/** How much of a stretch of a file is written at once. */
MprOff sizeOfTurn(const HttpNet& net, const HttpPacket* stretch) {
    return std::min<MprOff>(stretch->esize, net.turn);
}

/** Write some pieces and some of a stretch of the stream's file. */
ssize writeFile(const HttpNet& net, const HttpPacket* stretch, MprIOVec* pieces, int count) {
    MprFile* file = net.stream ? net.stream->tx->file : nullptr;
    if (!file) {
        return MPR_ERR_CANT_READ;
    }
    const MprOff sent =
        mprSendFileToSocket(net.sock, file, stretch->epos, sizeOfTurn(net, stretch), pieces, count, nullptr, 0);
    // Nothing goes where the socket is full, and where the file has become shorter.
    return sent == 0 && mprGetFileSize(file) <= stretch->epos ? MPR_ERR_CANT_READ : static_cast<ssize>(sent);
}

/** Write pieces in one record of TLS, which each of them would be alone. */
ssize writeRecord(const HttpNet& net, const MprIOVec* pieces, int count, ssize& wanted) {
    constexpr std::size_t most = 16384;
    char record[most];
    std::size_t length = 0;
    for (int i = 0; i < count && length < most; ++i) {
        const std::size_t part = std::min(pieces[i].len, most - length);
        std::memcpy(record + length, pieces[i].start, part);
        length += part;
    }
    wanted = static_cast<ssize>(length);
    return mprWriteSocket(net.sock, record, wanted);
}

/** Write some of what is to be sent. @param wanted Receives how much was tried. */
ssize writeSome(HttpNet& net, ssize& wanted) {
    const HttpPacket* stretch = nullptr;
    MprIOVec pieces[mostPieces];
    const int count = gather(net, pieces, stretch);
    if (count > 1 && mprIsSocketSecure(net.sock)) { // which has no stretches
        return writeRecord(net, pieces, count, wanted);
    }
    wanted = stretch ? static_cast<ssize>(sizeOfTurn(net, stretch)) : 0;
    for (int i = 0; i < count; ++i) {
        wanted += static_cast<ssize>(pieces[i].len);
    }
    return stretch ? writeFile(net, stretch, pieces, count) : mprWriteSocketVector(net.sock, pieces, count);
}

void freeWaiting(HttpNet& net) {
    if (net.waitingQueue && net.outCount <= net.waitingQueue->low) {
        HttpQueue* q = net.waitingQueue;
        setRef(&net, net.waitingQueue, nullptr);
        httpResumeQueue(q, false);
    }
    if (HttpQueue* q = net.stream ? net.stream->outputq : nullptr) {
        holdsLess(*q);
    }
}
} // namespace

void send(HttpNet& net, HttpPacket* packet) {
    setRef(packet, packet->next, nullptr);
    if (net.lastOut) {
        setRef(net.lastOut, net.lastOut->next, packet);
    } else {
        setRef(&net, net.firstOut, packet);
    }
    setRef(&net, net.lastOut, packet);
    net.outCount += sizeOf(packet);
    count(net.outMemory, packet);
}

bool flush(HttpNet& net) {
    assertHere(net);
    while (net.outCount > 0 && net.turn > 0 && !net.failed && net.phase != HttpNet::Phase::closed) {
        ssize length = 0;
        const ssize sent = writeSome(net, length);
        if (sent < 0) {
            net.failed = true;
            return false;
        }
        if (sent > 0) {
            net.lastActivity = now();
            if (net.stream) {
                net.stream->lastActivity = net.lastActivity;
            }
            net.turn -= sent;
            written(net, sent);
        }
        if (sent < length) {
            break;
        }
    }
    freeWaiting(net);
    return !net.failed;
}

} // namespace mpr::http
