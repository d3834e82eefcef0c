// SPDX-License-Identifier: MIT
/*
    broker.cpp - See broker.h. Numbers in brackets are those of statements in the standard.
 */
#include "broker.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace broker {

bool Broker::start(const char* ip, int port) {
    listener_ = mprCreateSocket();
    if (!listener_ || mprListenOnSocket(listener_, ip, port, 0) < 0) {
        return false;
    }
    // A lambda that captures nothing is a procedure. The runtime marks its data, the object that it works on.
    const auto onClient = +[](Broker* self, MprEvent*) { self->accept(); };
    const auto onTime = +[](Broker* self, MprEvent*) { self->look(); };
    return mprAddSocketHandler(listener_, MPR_READABLE, nullptr, MPR_PROC(onClient), this, 0) &&
           mprCreateTimerEvent(nullptr, "look", 1000, onTime, this, 0);
}

void Broker::accept() {
    while (MprSocket* const sp = mprAcceptSocket(listener_)) {
        const auto onEvent = +[](Connection* self, MprEvent* event) { self->serve(event->mask); };
        Connection* const fresh = mpr::make<Connection>(*this, sp);
        if (!fresh || !mprAddSocketHandler(sp, MPR_READABLE, nullptr, MPR_PROC(onEvent), fresh, 0)) {
            mprCloseSocket(sp, false);
            continue;
        }
        mprSetSocketNoDelay(sp, true);
        fresh->next = connections_;
        if (connections_) {
            connections_->previous = fresh;
        }
        connections_ = fresh;
    }
    mprEnableSocketEvents(listener_, MPR_READABLE);
}

/** Once a second: close connections that have been silent for too long, end sessions whose clients do not come back. */
void Broker::look() {
    const MprTicks now = mprGetTicks();
    for (Connection* each = connections_; each;) {
        Connection* const next = each->next;
        if (each->longestSilence > 0 && now - each->heard > each->longestSilence) {
            each->close(false);
        }
        each = next;
    }
    flush();
    if (++looks_ % 60 == 0) {
        endAbsent();
    }
    if (!isWell()) { // While everything is refused nothing is allocated, and nothing else would start a collection
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    }
}

void Broker::endAbsent() {
    const MprTicks now = mprGetTicks();
    std::vector<Session*> absent; // Plain pointers are safe: nothing below yields
    sessions_.forEach([&](std::string_view, Session* each) {
        if (!each->connection && now - each->left > longestAbsence) {
            absent.push_back(each);
        }
    });
    for (Session* const each : absent) {
        end(*each);
    }
}

void Broker::leave(Connection& connection, bool regular) {
    (connection.previous ? connection.previous->next : connections_) = connection.next;
    if (connection.next) {
        connection.next->previous = connection.previous;
    }
    if (Session* const session = std::exchange(connection.session, nullptr)) {
        session->leave();
        if (session->isClean) {
            end(*session);
        }
    }
    if (Message* const will = std::exchange(connection.will, nullptr); will && !regular) {
        deliver(*will, connection.willRetained);
    }
}

void Broker::end(Session& session) {
    session.unsubscribeAll(topics_);
    sessions_.remove(session.id());
}

void Broker::wantFlush(Connection& connection) {
    if (!connection.isUnwritten) {
        connection.isUnwritten = true;
        connection.nextUnwritten = unwritten_;
        unwritten_ = &connection;
    }
}

void Broker::flush() {
    while (Connection* const connection = unwritten_) {
        unwritten_ = std::exchange(connection->nextUnwritten, nullptr);
        connection->isUnwritten = false;
        connection->flush();
        if (connection->isBroken()) {
            connection->close(false);
        }
    }
}

bool Broker::handle(Connection& from, const Packet& packet) {
    Fields fields(packet.body);
    if ((packet.type == Type::connect) != !from.session) {
        return false; // Once, and first [MQTT-3.1.0-1, MQTT-3.1.0-2]
    }
    if (packet.type != Type::publish && packet.flags != flagsOf(packet.type)) {
        return false; // [MQTT-2.2.2-2]
    }
    switch (packet.type) {
    case Type::connect: return connect(from, packet.body);
    case Type::publish: return publish(from, packet);
    case Type::puback: from.session->acknowledge(fields.number()); return fields.ok() && fields.atEnd();
    case Type::pubrel: {
        const std::uint16_t id = fields.number();
        from.session->release(id);
        from.write(Bytes(Type::pubcomp, 0, 2).number(id).view());
        return fields.ok() && fields.atEnd();
    }
    case Type::subscribe: return subscribe(from, fields);
    case Type::unsubscribe: return unsubscribe(from, fields);
    case Type::pingreq: from.write(Bytes(Type::pingresp, 0, 0).view()); return fields.atEnd();
    case Type::disconnect:
        if (fields.atEnd()) {
            from.close(true);
        }
        return fields.atEnd();
    default: return false;
    }
}

/** Answer a CONNECT. */
static void answer(Connection& to, Connack code, bool present = false) {
    to.write(Bytes(Type::connack, 0, 2).byte(present).byte(static_cast<std::uint8_t>(code)).view());
    if (code != Connack::accepted) {
        to.close(true);
    }
}

/** A client says who it is. */
bool Broker::connect(Connection& from, std::string_view body) {
    Connect asked;
    if (!asked.parse(body)) {
        return false;
    }
    if (!asked.isKnownVersion() || (asked.id.empty() && !asked.clean)) {
        answer(from, asked.isKnownVersion() ? Connack::wrongId : Connack::wrongVersion);
        return true;
    }
    if (asked.hasWill) {
        from.will = makeMessage(asked.willTopic, asked.willText, std::min(asked.willQos, 1));
        from.willRetained = asked.willRetained;
        if (!from.will) {
            answer(from, Connack::unavailable);
            return true;
        }
    }
    char given[32] = "";
    while (asked.id.empty() && (*given == '\0' || sessions_.find(given))) { // Not one that a client has chosen
        std::snprintf(given, sizeof(given), "auto-%llu", ++lastNumber_);
    }
    const auto [session, present] = sessionOf(asked.id.empty() ? given : asked.id, asked.clean);
    if (!session) {
        answer(from, Connack::unavailable);
        return true;
    }
    from.session = session;
    session->connection = &from;
    from.longestSilence = asked.keepAlive * MprTicks{1500}; // Half as much again [MQTT-3.1.2-24]
    answer(from, Connack::accepted, present);
    session->sendAgain();
    return true;
}

/** The session of an id, a new one if there is none, or there should be none. @return nullptr when memory is short. */
std::pair<Session*, bool> Broker::sessionOf(std::string_view id, bool clean) {
    if (Session* const before = sessions_.find(id)) {
        if (before->connection) {
            before->connection->close(false); // [MQTT-3.1.4-2]
        }
        if (clean && sessions_.find(id)) {
            end(*before);
        }
    }
    if (Session* const present = sessions_.find(id)) {
        return {present, true};
    }
    // Who only looks, or deletes, is let in as long as there is anything left.
    const bool may = clean ? mprGetMemState() != MPR_MEM_LIMIT : isWell();
    Session* const fresh = may ? Session::make(id) : nullptr;
    if (!fresh || !sessions_.set(id, fresh)) {
        return {nullptr, false};
    }
    fresh->isClean = clean;
    return {fresh, false};
}

bool Broker::publish(Connection& from, const Packet& packet) {
    Fields fields(packet.body);
    const int qos = packet.flags >> 1 & 3;
    const std::string_view topic = fields.text();
    const std::uint16_t id = qos > 0 ? fields.number() : std::uint16_t{0};
    const std::string_view payload = fields.rest();
    const bool again = packet.flags & 8;
    if (!fields.ok() || qos == 3 || (qos > 0 ? id == 0 : again) || !isTopic(topic)) {
        return false;
    }
    if (qos < 2 || !from.session->hasReceived(id)) {
        Message* const message = makeMessage(topic, payload, std::min(qos, 1));
        if (!message || (qos == 2 && !from.session->receive(id))) {
            return false; // There is no word for it in this version. The client comes again, and so does the message
        }
        deliver(*message, packet.flags & 1);
    }
    if (qos > 0) {
        from.write(Bytes(qos == 1 ? Type::puback : Type::pubrec, 0, 2).number(id).view());
    }
    return true;
}

/** Give a message to all who want it. @param retain Keep it for those who will. */
void Broker::deliver(Message& message, bool retain) {
    if (retain && (message.payload().empty() || !isWell() || !topics_.retain(message))) {
        topics_.forget(message.topic()); // Also when it cannot be kept: better nothing than what is not true any more
    }
    // A session that has subscribed to it by several filters is to have it once, with the best quality.
    const auto& matches = topics_.subscribers(message.topic());
    for (const Topics::Match& match : matches) {
        match.session->bestQos = std::max(match.session->bestQos, std::min(match.qos, message.qos));
    }
    for (const Topics::Match& match : matches) {
        if (const int qos = std::exchange(match.session->bestQos, -1); qos >= 0) {
            match.session->send(message, qos);
        }
    }
}

bool Broker::subscribe(Connection& from, Fields fields) {
    const std::uint16_t id = fields.number();
    const Fields begin = fields;
    std::size_t count = 0;
    for (; fields.ok() && !fields.atEnd(); ++count) {
        const std::string_view filter = fields.text();
        if (fields.byte() > 2 || !fields.ok() || !isFilter(filter)) {
            return false;
        }
    }
    if (id == 0 || count == 0 || !fields.ok()) {
        return false;
    }
    from.write(Bytes(Type::suback, 0, 2 + count).number(id).view());
    for (fields = begin; !fields.atEnd();) {
        const std::string_view filter = fields.text();
        const std::uint8_t qos = std::min<std::uint8_t>(fields.byte(), 1);
        const char code = static_cast<char>(from.session->subscribe(topics_, filter, qos) ? qos : subackRefused);
        from.write({&code, 1});
    }
    from.session->sendMore(); // The retained messages of these filters
    return true;
}

bool Broker::unsubscribe(Connection& from, Fields fields) {
    const std::uint16_t id = fields.number();
    if (id == 0 || fields.atEnd()) {
        return false;
    }
    while (fields.ok() && !fields.atEnd()) {
        from.session->unsubscribe(topics_, fields.text());
    }
    from.write(Bytes(Type::unsuback, 0, 2).number(id).view());
    return fields.ok();
}

} // namespace broker
