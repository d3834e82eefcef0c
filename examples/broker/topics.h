/* SPDX-License-Identifier: MIT */
/*
    topics.h - The tree of topics: who has subscribed to what, and what is retained.

    A node for each level of each topic or filter that somebody needs; + and # are levels like others. Nodes that nobody
    needs any more are cut off, and with them goes all that hangs from them: nobody frees anything here.
 */
#pragma once

#include <mpr.hpp>

#include <string_view>
#include <vector>

namespace broker {

class Session;

/** What was published: one block, which all who are to have it refer to. Topic and payload stand behind the object. */
struct Message {
    std::size_t topicLength, payloadLength;
    int qos; // With which it was published: nobody gets it with a better one

    std::string_view topic() const { return {mpr::roomBehind(this), topicLength}; }
    std::string_view payload() const { return {mpr::roomBehind(this) + topicLength, payloadLength}; }
};

/** @return nullptr when memory is short. */
Message* makeMessage(std::string_view topic, std::string_view payload, int qos);

/** A session wants what is published to a filter. */
struct Subscription {
    mpr::Member<Session> session;
    mpr::Member<Subscription> next, previous; // Of the same filter
    int qos;

    void trace(mpr::Marker& m) { m(session, next, previous); }
};

class Topics {
public:
    void trace(mpr::Marker& m) { m(root_); }

    /** @return The subscription; nullptr when memory is short. */
    Subscription* subscribe(std::string_view filter, Session& session, int qos);
    void unsubscribe(std::string_view filter, Subscription& subscription);

    /** Retain a message for its topic. @return false when memory is short; nothing has changed. */
    [[nodiscard]] bool retain(Message& message);
    void forget(std::string_view topic);

    struct Match {
        Session* session;
        int qos;
    };
    /** Whoever is to have what is published to a topic. A session may be in it more than once. Valid until the next call. */
    const std::vector<Match>& subscribers(std::string_view topic);
    /** The retained messages of a filter. Valid until the next call. */
    const std::vector<Message*>& retained(std::string_view filter);

private:
    /** One level. */
    struct Node {
        mpr::TextMap<Node> below;       // By name
        mpr::Member<Node> anyOne, rest; // Of filters: what stands below a +, and a #
        mpr::Member<Subscription> subscriptions;
        mpr::Member<Message> message;

        void trace(mpr::Marker& m) { m(below, anyOne, rest, subscriptions, message); }
        bool isNeeded() const { return subscriptions || message || anyOne || rest || !below.empty(); }
        Node* find(std::string_view level) const {
            return level == "+" ? anyOne.get() : level == "#" ? rest.get() : below.find(level);
        }
        [[nodiscard]] bool set(std::string_view level, Node* node);
        void remove(std::string_view level);
    };

    Node* need(std::string_view path);
    void trim(std::string_view path);
    template <class Change>
    static void change(Node& node, std::string_view rest, const Change& change);
    void findSubscribers(const Node& node, std::string_view rest, bool wild);
    void addAll(const Node* node);
    void findRetained(const Node& node, std::string_view rest, bool wild);
    void findRetainedBelow(const Node& node, bool wild);

    mpr::Member<Node> root_;
    // Of plain pointers: no event yields between the search and the use.
    std::vector<Match> matches_;
    std::vector<Message*> messages_;
};

} // namespace broker
