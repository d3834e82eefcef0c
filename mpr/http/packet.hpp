// SPDX-License-Identifier: MIT
/*
    packet.hpp - Packets, for the files of this room.
 */
#pragma once

#include "mpr/http.h"

namespace mpr::http {

struct Packet : HttpPacket {
    ptrdiff_t counted; // bytes of memory that the sum of a stream or connection has of it
};

/** Bytes, those that a packet stands for too: of a file more than memory has addresses, on 32 bit. nullptr has none. */
MprOff bytesOf(const HttpPacket* packet);
/** The same, as many as a ssize can count. */
ssize lengthOf(const HttpPacket* packet);
/** Cut a packet as httpSplitPacket does, where a ssize may not be able to say. */
HttpPacket* split(HttpPacket* packet, MprOff offset);
/** Whether a packet and the one behind it may become one. */
inline bool mayJoinNext(const HttpPacket* packet) {
    const HttpPacket* next = packet->next;
    return next && (packet->flags & next->flags & HTTP_PACKET_DATA) &&
           !((packet->flags | next->flags) & HTTP_PACKET_SOLO);
}

/** Bytes of memory of a packet, including those of its buffers that are its own. */
ptrdiff_t memoryOf(const HttpPacket* packet);

/** Put bytes behind those that a buffer has: all, or none where memory is short. @return Whether it has them. */
bool putAll(MprBuf* buf, const char* bytes, ssize size);

/** A packet has come, or has grown: a sum has what it takes now. */
inline void count(ptrdiff_t& sum, HttpPacket* packet) {
    const ptrdiff_t memory = memoryOf(packet);
    ptrdiff_t& counted = static_cast<Packet*>(packet)->counted;
    sum += memory - counted;
    counted = memory;
}
/** A packet has gone. */
inline void uncount(ptrdiff_t& sum, HttpPacket* packet) {
    ptrdiff_t& counted = static_cast<Packet*>(packet)->counted;
    sum -= counted;
    counted = 0;
}

/** Where a packet enters a queue: a program may have stored into it by plain assignment, of which the collector is told. One
    that does not say what it is has a piece of the body. */
void publish(HttpPacket* packet);
/** A flag of packets in the queue of a handler, or of a filter that is not open: its stage has not been given it. None that
    it has been given is behind one. */
constexpr int heldPacket = 0x10000;

} // namespace mpr::http
