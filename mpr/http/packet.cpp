// SPDX-License-Identifier: MIT
/*
    packet.cpp - Packets: the C API of mpr/http/packet.h.

    A packet has its bytes in its content, or stands for bytes that its fill procedure gets: never both. Cutting moves
    the smaller part only; who joins a packet to an empty one takes its buffer.
 */
#include "mpr/http/packet.hpp"

#include <algorithm>
#include <limits>

#include "mpr/gc/census.hpp"
#include "mpr/http/references.hpp"

namespace http = mpr::http;

namespace {

void managePacket(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* packet = static_cast<HttpPacket*>(ptr);
        http::markAll(packet->next, packet->content, packet->prefix, packet->stream, packet->data);
    }
}
const mpr::gc::ManagerName namedPacket(managePacket, "HttpPacket");

ssize contents(const HttpPacket* packet) {
    return packet && packet->content ? packet->content->end - packet->content->start : 0;
}

HttpPacket* create(int flags, ssize size) {
    auto* packet = mpr::base::makeReferring<http::Packet>(managePacket);
    if (packet) {
        packet->flags = flags;
        if (size > 0) {
            packet->content = mprCreateBuf(size, 0);
        }
    }
    return packet && (size <= 0 || packet->content) ? packet : nullptr;
}

/** Cut bytes that are elsewhere. */
void splitElsewhere(HttpPacket* packet, HttpPacket* rest, MprOff offset) {
    rest->esize = packet->esize - offset;
    rest->epos = packet->epos + offset;
    rest->fill = packet->fill;
    packet->esize = offset;
}

/** Cut bytes, of which the smaller part is copied. */
bool splitContent(HttpPacket* packet, HttpPacket* rest, ssize offset) {
    MprBuf* whole = packet->content;
    const ssize behind = contents(packet) - offset;
    MprBuf* copy = mprCreateBuf(std::min(offset, behind), 0);
    if (!copy) {
        return false;
    }
    if (behind <= offset) {
        mprPutBlockToBuf(copy, whole->start + offset, behind);
        mprAdjustBufEnd(whole, -behind);
        rest->content = copy;
        return true;
    }
    mprPutBlockToBuf(copy, whole->start, offset);
    mprAdjustBufStart(whole, offset);
    rest->content = whole;
    http::setRef(packet, packet->content, copy);
    return true;
}
} // namespace

MprOff http::bytesOf(const HttpPacket* packet) {
    return packet && packet->esize > 0 ? packet->esize : contents(packet);
}

ssize http::lengthOf(const HttpPacket* packet) {
    constexpr MprOff most = std::numeric_limits<ssize>::max();
    return static_cast<ssize>(std::min(bytesOf(packet), most));
}

ptrdiff_t http::memoryOf(const HttpPacket* packet) {
    ptrdiff_t size = sizeof(Packet);
    for (const MprBuf* buf : {packet->content, packet->prefix}) {
        size += buf ? ptrdiff_t{sizeof(MprBuf)} + (buf->endbuf - buf->data) : 0;
    }
    return size;
}

bool http::putAll(MprBuf* buf, const char* bytes, ssize size) {
    const ssize put = mprPutBlockToBuf(buf, bytes, size);
    if (put < size) {
        mprAdjustBufEnd(buf, -put);
    }
    return put == size;
}

void http::publish(HttpPacket* packet) {
    constexpr int kinds = HTTP_PACKET_HEADER | HTTP_PACKET_RANGE | HTTP_PACKET_DATA | HTTP_PACKET_END;
    if ((packet->flags & kinds) == 0) {
        packet->flags |= HTTP_PACKET_DATA;
    }
    const bool isNew =
        mprMayBePrivate(packet->content) || mprMayBePrivate(packet->prefix) || mprMayBePrivate(packet->data);
    if (isNew || !mprBarrierDone(packet)) {
        setRef(packet, packet->content, packet->content);
        setRef(packet, packet->prefix, packet->prefix);
        setRef(packet, packet->data, packet->data);
    }
}

// ---- Make -------------------------------------------------------------------------------------------------------

HttpPacket* httpCreatePacket(ssize size) {
    return create(0, size);
}

HttpPacket* httpCreateDataPacket(ssize size) {
    return create(HTTP_PACKET_DATA, size);
}

HttpPacket* httpCreateEndPacket(void) {
    return create(HTTP_PACKET_END, 0);
}

HttpPacket* httpCreateHeaderPacket(void) {
    constexpr ssize room = 512;
    return create(HTTP_PACKET_HEADER, room);
}

HttpPacket* httpClonePacket(HttpPacket* orig) {
    HttpPacket* packet = orig ? create(orig->flags, 0) : nullptr;
    if (!packet) {
        return nullptr;
    }
    packet->last = orig->last;
    packet->type = orig->type;
    packet->fin = orig->fin;
    packet->esize = orig->esize;
    packet->epos = orig->epos;
    packet->fill = orig->fill;
    packet->data = orig->data;
    packet->content = orig->content ? mprCloneBuf(orig->content) : nullptr;
    packet->prefix = orig->prefix ? mprCloneBuf(orig->prefix) : nullptr;
    return (packet->content || !orig->content) && (packet->prefix || !orig->prefix) ? packet : nullptr;
}

// ---- Join and split ---------------------------------------------------------------------------------------------

int httpJoinPacket(HttpPacket* packet, HttpPacket* other) {
    if (!packet || !other) {
        return MPR_ERR_BAD_ARGS;
    }
    if (packet->esize > 0 || other->esize > 0) {
        const bool continues = packet->fill == other->fill && packet->epos + packet->esize == other->epos;
        if (contents(packet) > 0 || contents(other) > 0 || (packet->esize > 0 && other->esize > 0 && !continues)) {
            return MPR_ERR_BAD_STATE;
        }
        if (packet->esize == 0) {
            packet->epos = other->epos;
            packet->fill = other->fill;
        }
        packet->esize += other->esize;
        return 0;
    }
    if (contents(other) == 0) {
        return 0;
    }
    if (contents(packet) == 0) {
        http::setRef(packet, packet->content, other->content);
        return 0;
    }
    return http::putAll(packet->content, other->content->start, contents(other)) ? 0 : MPR_ERR_MEMORY;
}

HttpPacket* http::split(HttpPacket* packet, MprOff offset) {
    if (offset < 0 || offset >= bytesOf(packet)) {
        return nullptr;
    }
    HttpPacket* rest = create(packet->flags, 0);
    if (!rest) {
        return nullptr;
    }
    rest->last = packet->last;
    rest->type = packet->type;
    rest->fin = packet->fin;
    rest->data = packet->data;
    if (packet->esize > 0) {
        splitElsewhere(packet, rest, offset);
    } else if (!splitContent(packet, rest, static_cast<ssize>(offset))) {
        return nullptr;
    }
    packet->last = false;
    return rest;
}

HttpPacket* httpSplitPacket(HttpPacket* packet, ssize offset) {
    return http::split(packet, offset);
}

void httpAdjustPacketStart(HttpPacket* packet, MprOff size) {
    if (packet && packet->esize > 0) {
        packet->epos += size;
        packet->esize -= size;
    } else if (packet && packet->content) {
        mprAdjustBufStart(packet->content, static_cast<ssize>(size));
    }
}

void httpAdjustPacketEnd(HttpPacket* packet, MprOff size) {
    if (packet && packet->esize > 0) {
        packet->esize += size;
    } else if (packet && packet->content) {
        mprAdjustBufEnd(packet->content, static_cast<ssize>(size));
    }
}

// ---- What it holds ----------------------------------------------------------------------------------------------

ssize httpGetPacketLength(HttpPacket* packet) {
    return http::lengthOf(packet);
}

char* httpGetPacketStart(HttpPacket* packet) {
    return packet && packet->content ? packet->content->start : nullptr;
}

ssize httpGetPacketContents(HttpPacket* packet) {
    return contents(packet);
}

char* httpGetPacketString(HttpPacket* packet) {
    static char nothing[1];
    if (!packet || !packet->content) {
        nothing[0] = '\0';
        return nothing;
    }
    mprAddNullToBuf(packet->content);
    return packet->content->start;
}

bool httpIsLastPacket(HttpPacket* packet) {
    return packet && packet->last;
}
