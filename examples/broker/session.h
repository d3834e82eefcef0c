/* SPDX-License-Identifier: MIT */
/*
    session.h - A session: what a client has subscribed to, and the messages on their way to it. With a clean session it ends
    with the connection; others wait for their client to come back.

        send() -> queued_ -> (the window has room, and the connection) -> sent_ -> acknowledged

    A session is not to cost others their memory, or their time: there is a limit to its filters, to what waits in it, and to how
    long it waits; what is retained for a filter is looked for when the client has read what came before.
 */
#pragma once

#include "topics.h"

#include <mpr.hpp>

#include <bitset>
#include <cstdint>
#include <string_view>

namespace broker {

class Connection;

/** Whether what stores something may go on: see broker.h. */
inline bool isWell() {
    return mprGetMemState() == MPR_MEM_WELL;
}

class Session {
public:
    /** @param id Its client's; it stands behind the object: see make. */
    explicit Session(std::size_t idLength) noexcept : idLength_(idLength) {}
    static Session* make(std::string_view id);
    void trace(mpr::Marker& m) { m(connection, filters_, first_, last_, unsent_, backlog_, lastBacklog_, received_); }

    std::string_view id() const { return {mpr::roomBehind(this), idLength_}; }

    /** Subscribe, or change the quality; what is retained for the filter follows. @return Whether the session has it now. */
    [[nodiscard]] bool subscribe(Topics& topics, std::string_view filter, int qos);
    void unsubscribe(Topics& topics, std::string_view filter);
    void unsubscribeAll(Topics& topics);

    /** Give the client a message. With quality 0 it is sent now or never, with 1 it is kept until it is acknowledged. */
    void send(Message& message, int qos);
    /** There is room for more: send what waits. */
    void sendMore();
    /** Whether sendMore has to be called again, though the client has read all. */
    bool wantsMore() const { return connection && backlog_ && maySend(*backlog_); }
    /** The client has come back: send again what was not acknowledged, then what waits. */
    void sendAgain();
    void acknowledge(std::uint16_t id);

    /** Whether a packet of quality 2 has come before, and was not released. */
    bool hasReceived(std::uint16_t id) const { return received_ && received_->test(id); }
    /** Note one. @return false when memory is short. */
    [[nodiscard]] bool receive(std::uint16_t id);
    void release(std::uint16_t id);

    /** The client has gone. */
    void leave();

    mpr::Member<Connection> connection; // nullptr: the client is away
    MprTicks left = 0;                  // since then
    bool isClean = true;
    int bestQos = -1; // The broker's, while it delivers

private:
    static constexpr int window = 20; // messages that are sent and not acknowledged
    static constexpr std::size_t mostFilters = 1000;
    static constexpr std::size_t mostWaiting = std::size_t{1} << 20; // bytes of messages, and what they are kept in

    struct Delivery {
        mpr::Member<Message> message;
        mpr::Member<Delivery> next;
        std::uint16_t id; // 0: not sent yet
        bool retained;

        void trace(mpr::Marker& m) { m(message, next); }
        std::size_t size() const;
    };
    /** The retained messages of a filter that have not been sent yet. The filter stands behind the object. */
    struct Backlog {
        mpr::Member<mpr::Array<Message>> messages; // nullptr: they have not been looked for
        mpr::Member<Backlog> after;
        std::size_t length, next;
        int qos;

        void trace(mpr::Marker& m) { m(messages, after); }
        bool find(Topics& topics);
    };
    using Ids = std::bitset<65536>;

    void enqueue(Message& message, bool retained);
    void sendQueued();
    void sendRetained();
    bool maySend(const Backlog& backlog) const { return backlog.qos == 0 || (!unsent_ && sent_ < window); }
    std::uint16_t freeId();

    const std::size_t idLength_;
    mpr::TextMap<Subscription> filters_;
    mpr::Member<Delivery> first_, last_; // in order
    mpr::Member<Delivery> unsent_;       // the first that there was no room for; nullptr: none
    mpr::Member<Backlog> backlog_, lastBacklog_;
    mpr::Member<Ids> received_; // of quality 2, not released; made with the first
    int sent_ = 0;
    std::size_t waiting_ = 0; // bytes
    std::uint16_t lastId_ = 0;
};

} // namespace broker
