// SPDX-License-Identifier: MIT
/*
    session.cpp - See session.h.
 */
#include "session.h"

#include "broker.h"
#include "connection.h"

#include <algorithm>
#include <cstring>

namespace broker {

Session* Session::make(std::string_view id) {
    Session* const session = mpr::makeWithRoom<Session>(id.size(), id.size());
    if (session && !id.empty()) {
        std::memcpy(mpr::roomBehind(session), id.data(), id.size());
    }
    return session;
}

bool Session::subscribe(Topics& topics, std::string_view filter, int qos) {
    Subscription* known = filters_.find(filter);
    if (!known && (filters_.size() == mostFilters || !isWell())) {
        return false;
    }
    Backlog* const fresh =
        mpr::makeWithRoom<Backlog>(filter.size(), nullptr, nullptr, filter.size(), std::size_t{0}, qos);
    if (!known && fresh) {
        known = topics.subscribe(filter, *this, qos);
        if (known && !filters_.set(filter, known)) {
            topics.unsubscribe(filter, *known);
            known = nullptr;
        }
    }
    if (!known || !fresh) {
        return false;
    }
    known->qos = qos;
    std::memcpy(mpr::roomBehind(fresh), filter.data(), filter.size());
    (backlog_ ? lastBacklog_->after : backlog_) = fresh;
    lastBacklog_ = fresh;
    return true;
}

void Session::unsubscribe(Topics& topics, std::string_view filter) {
    if (Subscription* const known = filters_.remove(filter)) {
        topics.unsubscribe(filter, *known);
    }
}

void Session::unsubscribeAll(Topics& topics) {
    filters_.forEach([&](std::string_view filter, Subscription* each) { topics.unsubscribe(filter, *each); });
}

std::size_t Session::Delivery::size() const {
    return message->topicLength + message->payloadLength + 128;
}

void Session::send(Message& message, int qos) {
    if (qos > 0) {
        enqueue(message, false);
    } else if (connection) {
        connection->publish(message, 0, 0, false, false);
    }
}

void Session::enqueue(Message& message, bool retained) {
    const bool waits = !connection || unsent_ || sent_ == window || !connection->hasRoom();
    if (waits && (waiting_ >= mostWaiting || !isWell())) {
        return; // A client that is away, or too slow, is not to cost the others their memory
    }
    Delivery* const fresh = mpr::make<Delivery>(&message, nullptr, std::uint16_t{0}, retained);
    if (!fresh) {
        return;
    }
    (last_ ? last_->next : first_) = fresh;
    last_ = fresh;
    unsent_ = unsent_ ? unsent_.get() : fresh;
    waiting_ += fresh->size();
    sendQueued();
}

void Session::sendQueued() {
    while (connection && unsent_ && sent_ < window && connection->hasRoom()) {
        const bool again = unsent_->id != 0;
        unsent_->id = again ? unsent_->id : freeId();
        connection->publish(*unsent_->message, 1, unsent_->id, unsent_->retained, again);
        unsent_ = unsent_->next;
        ++sent_;
    }
}

/** An id that no message has which is on its way. */
std::uint16_t Session::freeId() {
    for (;;) {
        lastId_ = lastId_ == 0xFFFF ? std::uint16_t{1} : static_cast<std::uint16_t>(lastId_ + 1);
        const Delivery* each = first_;
        for (int i = 0; each && i < window && each->id != lastId_; ++i) {
            each = each->next;
        }
        if (!each || each->id != lastId_) {
            return lastId_;
        }
    }
}

void Session::sendMore() {
    sendQueued();
    sendRetained();
}

/** Look for the messages. @return false when memory is short. */
bool Session::Backlog::find(Topics& topics) {
    const auto& found = topics.retained({mpr::roomBehind(this), length});
    messages = mpr::Array<Message>::make(found.size());
    for (std::size_t i = 0; messages && i < found.size(); ++i) {
        messages->set(i, found[i]);
    }
    return messages;
}

/** Send what is retained as fast as it is read. One search at a time: others want to be served, too. */
void Session::sendRetained() {
    for (bool searched = false; wantsMore() && connection->hasRoom();) {
        Backlog& backlog = *backlog_;
        if (!backlog.messages) {
            if (searched) {
                return;
            }
            searched = true;
            if (!backlog.find(connection->broker.topics())) {
                return connection->fail();
            }
        }
        if (backlog.next == backlog.messages->size()) {
            backlog_ = backlog.after;
            lastBacklog_ = backlog_ ? lastBacklog_.get() : nullptr;
            continue;
        }
        Message* const message = backlog.messages->get(backlog.next);
        backlog.messages->set(backlog.next++, nullptr); // It may be deleted before the others have been sent
        if (std::min(backlog.qos, message->qos) == 0) {
            connection->publish(*message, 0, 0, true, false);
        } else {
            enqueue(*message, true);
        }
    }
}

void Session::leave() {
    connection = nullptr;
    backlog_ = lastBacklog_ = nullptr;
    left = mprGetTicks();
}

void Session::sendAgain() {
    unsent_ = first_;
    sent_ = 0;
    sendQueued();
}

void Session::acknowledge(std::uint16_t id) {
    Delivery* before = nullptr;
    for (Delivery* each = first_; each != unsent_; before = each, each = each->next) {
        if (each->id == id) {
            (before ? before->next : first_) = each->next;
            last_ = last_ == each ? before : last_.get();
            --sent_;
            waiting_ -= each->size();
            return sendMore();
        }
    }
}

bool Session::receive(std::uint16_t id) {
    if (!received_) {
        received_ = mpr::make<Ids>();
    }
    if (received_) {
        received_->set(id);
    }
    return received_;
}

void Session::release(std::uint16_t id) {
    if (received_) {
        received_->reset(id);
    }
}

} // namespace broker
