/* SPDX-License-Identifier: MIT */
/*
    broker.h - The broker: its clients, and what it does with each packet.

    Clients, sessions, topics and messages hang from one object, which main roots. A connection that has broken is taken off
    it; then it is garbage, and so is everything that nobody else refers to.
    When memory is short (mprGetMemState), what would store more is refused: sessions that outlive their connection,
    subscriptions, retained messages, messages for clients that are away. Messages go on to those who are there, and what
    deletes something works.
 */
#pragma once

#include "connection.h"
#include "packet.h"
#include "session.h"
#include "topics.h"

#include <mpr.hpp>

#include <string_view>
#include <utility>

namespace broker {

class Broker {
public:
    explicit Broker(std::size_t mostBytesOfPackets) : mostBytes(mostBytesOfPackets) {}
    void trace(mpr::Marker& m) { m(listener_, sessions_, topics_, connections_, unwritten_); }

    /** Listen, and look after connections. @return Whether that could be. @param ip nullptr: any address. */
    bool start(const char* ip, int port);
    int port() const { return listener_->port; }

    // ---- For connections ----
    Topics& topics() { return topics_; }
    /** @return false: the client does not keep to the protocol. */
    bool handle(Connection& from, const Packet& packet);
    /** A connection has been closed. */
    void leave(Connection& connection, bool regular);
    /** A connection has something to write. */
    void wantFlush(Connection& connection);
    /** Have all connections write what has gathered. */
    void flush();

    const std::size_t mostBytes; // of a packet

private:
    static constexpr MprTicks longestAbsence = 24 * 3'600'000; // Milliseconds after which a session ends

    void accept();
    void look();
    void endAbsent();
    bool connect(Connection& from, std::string_view body);
    std::pair<Session*, bool> sessionOf(std::string_view id, bool clean);
    bool publish(Connection& from, const Packet& packet);
    bool subscribe(Connection& from, Fields fields);
    bool unsubscribe(Connection& from, Fields fields);
    void deliver(Message& message, bool retain);
    void end(Session& session);

    mpr::Member<MprSocket> listener_;
    mpr::TextMap<Session> sessions_;
    Topics topics_;
    mpr::Member<Connection> connections_; // All, linked
    mpr::Member<Connection> unwritten_;
    unsigned looks_ = 0;
    unsigned long long lastNumber_ = 0; // Of ids that are given to clients without one
};

} // namespace broker
