// SPDX-License-Identifier: MIT
/*
    topics.cpp - See topics.h. A path is taken apart level by level: `rest` is what is left of it, and none when it has no
    data, since an empty level is one, too.
 */
#include "topics.h"

#include <cstring>

namespace broker {
namespace {

/** Take the first level off. */
std::string_view takeLevel(std::string_view& rest) {
    const std::size_t slash = rest.find('/');
    const std::string_view level = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
    if (slash != std::string_view::npos && rest.empty()) {
        rest = std::string_view("", 0); // A level without a character
    }
    return level;
}

bool isOver(std::string_view rest) {
    return rest.data() == nullptr;
}

} // namespace

Message* makeMessage(std::string_view topic, std::string_view payload, int qos) {
    Message* const message =
        mpr::makeWithRoom<Message>(topic.size() + payload.size(), topic.size(), payload.size(), qos);
    if (message) {
        std::memcpy(mpr::roomBehind(message), topic.data(), topic.size());
        if (!payload.empty()) {
            std::memcpy(mpr::roomBehind(message) + topic.size(), payload.data(), payload.size());
        }
    }
    return message;
}

bool Topics::Node::set(std::string_view level, Node* node) {
    if (level != "+" && level != "#") {
        return below.set(level, node);
    }
    (level == "+" ? anyOne : rest) = node;
    return true;
}

void Topics::Node::remove(std::string_view level) {
    if (level == "+" || level == "#") {
        (level == "+" ? anyOne : rest) = nullptr;
    } else {
        below.remove(level);
    }
}

/** The node of a path, made if it is not there; nullptr when memory is short. */
Topics::Node* Topics::need(std::string_view path) {
    if (!root_) {
        root_ = mpr::make<Node>();
    }
    Node* node = root_;
    for (std::string_view rest = path; node && !isOver(rest);) {
        const std::string_view level = takeLevel(rest);
        Node* next = node->find(level);
        if (!next) {
            next = mpr::make<Node>();
            next = next && node->set(level, next) ? next : nullptr;
        }
        node = next;
    }
    return node;
}

/** Change the node of a path, if there is one; then cut off what is not needed any more. */
template <class Change>
void Topics::change(Node& node, std::string_view rest, const Change& what) {
    if (isOver(rest)) {
        return what(node);
    }
    const std::string_view level = takeLevel(rest);
    if (Node* const next = node.find(level)) {
        change(*next, rest, what);
        if (!next->isNeeded()) {
            node.remove(level);
        }
    }
}

/** Cut off what nobody needs of a path. */
void Topics::trim(std::string_view path) {
    if (root_) {
        change(*root_, path, [](Node&) {});
    }
}

Subscription* Topics::subscribe(std::string_view filter, Session& session, int qos) {
    Node* const node = need(filter);
    Subscription* const fresh = node ? mpr::make<Subscription>(&session, node->subscriptions, nullptr, qos) : nullptr;
    if (!fresh) {
        trim(filter); // Nodes that were made for it
        return nullptr;
    }
    if (fresh->next) {
        fresh->next->previous = fresh;
    }
    node->subscriptions = fresh;
    return fresh;
}

void Topics::unsubscribe(std::string_view filter, Subscription& subscription) {
    change(*root_, filter, [&subscription](Node& node) {
        (subscription.previous ? subscription.previous->next : node.subscriptions) = subscription.next;
        if (subscription.next) {
            subscription.next->previous = subscription.previous;
        }
    });
}

bool Topics::retain(Message& message) {
    Node* const node = need(message.topic());
    if (!node) {
        trim(message.topic());
        return false;
    }
    node->message = &message;
    return true;
}

void Topics::forget(std::string_view topic) {
    if (root_) {
        change(*root_, topic, [](Node& node) { node.message = nullptr; });
    }
}

void Topics::addAll(const Node* node) {
    for (const Subscription* each = node ? node->subscriptions.get() : nullptr; each; each = each->next) {
        matches_.push_back({each->session, each->qos});
    }
}

/** @param wild + and # stand for this level. */
void Topics::findSubscribers(const Node& node, std::string_view rest, bool wild) {
    if (wild) {
        addAll(node.rest); // This level, and any below it
    }
    if (isOver(rest)) {
        return addAll(&node);
    }
    const std::string_view level = takeLevel(rest);
    if (const Node* const next = node.below.find(level)) {
        findSubscribers(*next, rest, true);
    }
    if (wild && node.anyOne) {
        findSubscribers(*node.anyOne, rest, true);
    }
}

const std::vector<Topics::Match>& Topics::subscribers(std::string_view topic) {
    matches_.clear();
    if (root_) {
        findSubscribers(*root_, topic, topic[0] != '$'); // Topics of the server's own are asked for by name
    }
    return matches_;
}

void Topics::findRetainedBelow(const Node& node, bool wild) {
    if (node.message) {
        messages_.push_back(node.message);
    }
    node.below.forEach([&](std::string_view level, const Node* next) {
        if (wild || level.empty() || level[0] != '$') {
            findRetainedBelow(*next, true);
        }
    });
}

/** @param wild + and # stand for the level below, also for one that begins with a $. */
void Topics::findRetained(const Node& node, std::string_view rest, bool wild) {
    if (isOver(rest)) {
        if (node.message) {
            messages_.push_back(node.message);
        }
        return;
    }
    const std::string_view level = takeLevel(rest);
    if (level == "#") {
        return findRetainedBelow(node, wild);
    }
    if (level != "+") {
        const Node* const next = node.below.find(level);
        return next ? findRetained(*next, rest, true) : void();
    }
    node.below.forEach([&](std::string_view name, const Node* next) {
        if (wild || name.empty() || name[0] != '$') {
            findRetained(*next, rest, true);
        }
    });
}

const std::vector<Message*>& Topics::retained(std::string_view filter) {
    messages_.clear();
    if (root_) {
        findRetained(*root_, filter, false);
    }
    return messages_;
}

} // namespace broker
