/* SPDX-License-Identifier: MIT */
/*
    connection.h - A client's connection: bytes in, packets out.

    The handler of its socket retains a connection. Packets gather in one buffer until the event that is running has been
    handled: ten messages for a client cost one system call.
 */
#pragma once

#include "packet.h"
#include "session.h"

#include <mpr.hpp>

#include <string_view>

namespace broker {

class Broker;

class Connection {
public:
    Connection(Broker& server, MprSocket* sp) noexcept : broker(server), socket(sp) {}
    void trace(mpr::Marker& m) { m(socket, session, will, next, previous, nextUnwritten, in_, out_); }

    /** Read what has come and handle it, write what can be written. */
    void serve(int mask);
    /** Write what has gathered. */
    void flush();
    /** Whether more may gather that the client need not have at once. */
    bool hasRoom() const { return out_.view().size() < std::size_t{64} << 10; }
    void publish(const Message& message, int qos, std::uint16_t id, bool retained, bool again);
    /** Have an answer written, soon. */
    void write(std::string_view bytes);
    /** It cannot be served any more: close it, soon. */
    void fail();
    /** End it, not while messages are delivered. @param regular The client has said goodbye: its last will is not published. */
    void close(bool regular);
    /** Whether it has failed. */
    bool isBroken() const { return broken_ && !closed_; }

    Broker& broker;
    mpr::Member<MprSocket> socket;
    mpr::Member<Session> session; // nullptr: the client has not said who it is
    mpr::Member<Message> will;    // Published when the connection breaks
    bool willRetained = false;
    MprTicks heard = mprGetTicks();         // When the last whole packet came, or the client
    MprTicks longestSilence = 10'000;       // Milliseconds; 0: any
    mpr::Member<Connection> next, previous; // In the broker's list
    mpr::Member<Connection> nextUnwritten;  // In its list of those that have something to write
    bool isUnwritten = false;

private:
    static constexpr std::size_t mostUnwritten = std::size_t{1} << 20;  // Bytes that a client may leave unread
    static constexpr std::size_t mostOfStranger = std::size_t{4} << 10; // And of a packet, before it is known who it is

    /** Bytes in a managed block that grows. */
    struct Buffer {
        mpr::Member<char> block;
        std::size_t begin = 0, end = 0, size = 0;

        void trace(mpr::Marker& m) { m(block); }
        std::string_view view() const { return {block + begin, end - begin}; }
        [[nodiscard]] bool append(std::string_view bytes);
        void drop(std::size_t bytes) { begin += bytes; }
        /** A client that rests has no buffer. */
        void rest();
    };

    bool read();
    std::size_t handleAll(std::string_view bytes);
    std::size_t mostBytes() const;
    [[nodiscard]] bool keep(std::string_view bytes);
    void put(std::string_view bytes);

    Buffer in_;  // The part of a packet that has come
    Buffer out_; // Bytes that the system has not taken yet
    bool broken_ = false, closed_ = false;
};

} // namespace broker
