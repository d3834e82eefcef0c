// SPDX-License-Identifier: MIT
/*
    message.cpp - See message.h.
 */
#include "message.h"

#include <algorithm>

namespace service {
namespace {

constexpr std::size_t firstHeadRoom = 512;
constexpr std::size_t atOnceBodyRoom = 64 * 1024; // Announced bodies up to this size get their block at once

bool sameName(std::string_view name, std::string_view lowerName) {
    return std::equal(name.begin(), name.end(), lowerName.begin(), lowerName.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

} // namespace

Took Request::addHead(std::string_view piece) {
    std::size_t needed = headUsed_ + piece.size();
    if (needed > longestHead) {
        return Took::tooLong;
    }
    if (needed > headRoom_) {
        std::size_t room = std::max(headRoom_ * 2, firstHeadRoom);
        while (room < needed) {
            room *= 2;
        }
        auto* moved = static_cast<char*>(mprRealloc(head_.get(), room));
        if (!moved) {
            return Took::noMemory;
        }
        head_ = moved;
        headRoom_ = room;
    }
    std::copy(piece.begin(), piece.end(), head_.get() + headUsed_);
    headUsed_ = needed;
    return Took::yes;
}

Took Request::addTarget(std::string_view piece) {
    if (targetLength_ + piece.size() > longestTarget) {
        return Took::tooLong;
    }
    Took took = addHead(piece);
    if (took == Took::yes) {
        targetLength_ += piece.size();
    }
    return took;
}

Took Request::addName(std::string_view piece) {
    if (!inName_) {
        if (fieldCount_ == mostFields) {
            return Took::tooLong;
        }
        fields_[fieldCount_++] = {static_cast<std::uint16_t>(headUsed_), 0, 0, 0};
        inName_ = true;
    }
    Took took = addHead(piece);
    if (took == Took::yes) {
        Field& field = fields_[fieldCount_ - 1];
        field.nameLength = static_cast<std::uint16_t>(field.nameLength + piece.size());
    }
    return took;
}

Took Request::addValue(std::string_view piece) {
    if (fieldCount_ == 0) {
        return Took::tooLong; // The parser gives no value before a name
    }
    Field& field = fields_[fieldCount_ - 1];
    if (inName_) {
        field.value = static_cast<std::uint16_t>(headUsed_);
        inName_ = false;
    }
    Took took = addHead(piece);
    if (took == Took::yes) {
        field.valueLength = static_cast<std::uint16_t>(field.valueLength + piece.size());
    }
    return took;
}

std::string_view Request::field(std::string_view lowerName) const {
    for (std::size_t i = 0; i < fieldCount_; ++i) {
        const Field& field = fields_[i];
        if (sameName(text(field.name, field.nameLength), lowerName)) {
            return text(field.value, field.valueLength);
        }
    }
    return {};
}

Took Request::expectBody(std::uint64_t length) {
    if (length > largestBody) {
        return Took::tooLong;
    }
    bodyExpected_ = static_cast<std::size_t>(length);
    return Took::yes;
}

Took Request::addBody(std::string_view piece) {
    std::size_t needed = bodyLength_ + piece.size();
    if (needed > largestBody) {
        return Took::tooLong;
    }
    if (needed > bodyRoom_) {
        std::size_t room = bodyExpected_ != 0 && bodyExpected_ <= atOnceBodyRoom
                               ? bodyExpected_
                               : std::max({needed, 2 * bodyRoom_, std::min<std::size_t>(4096, largestBody)});
        if (bodyExpected_ >= needed) {
            room = std::min(room, bodyExpected_);
        }
        room = std::min(room, largestBody);
        auto* moved = static_cast<char*>(mprRealloc(body_.get(), room));
        if (!moved) {
            return Took::noMemory;
        }
        body_ = moved;
        bodyRoom_ = room;
    }
    std::copy(piece.begin(), piece.end(), body_.get() + bodyLength_);
    bodyLength_ = needed;
    return Took::yes;
}

char* Request::takeBody() {
    if (bodyLength_ < bodyRoom_) { // Chunked: the room was guessed
        if (auto* trimmed = static_cast<char*>(mprRealloc(body_.get(), bodyLength_))) {
            body_ = trimmed;
            bodyRoom_ = bodyLength_;
        }
    }
    return body_.get();
}

Response* Response::make(const Answer& answer, std::string_view date, bool keepAlive, bool headOnly) {
    FixedText<1024> head;
    head.format("HTTP/1.1 %d %s\r\n", answer.status, http_status_str(static_cast<http_status>(answer.status)));
    head.add("Date: ").add(date).add("\r\n");
    if (answer.status != 204) {
        head.format("Content-Type: %s\r\nContent-Length: %zu\r\n", answer.type, answer.body.size());
    }
    head.add(keepAlive ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
    head.add(answer.fields.view()).add("\r\n");

    char* text = mpr::clone(head.view());
    auto* response = text ? mpr::make<Response>() : nullptr;
    if (response) {
        response->head_ = text;
        response->body_ = answer.owner;
        response->point({text, head.view().size()}, headOnly ? std::string_view() : answer.body);
    }
    return response;
}

Response* Response::makeContinue() {
    auto* response = mpr::make<Response>();
    if (response) {
        response->point("HTTP/1.1 100 Continue\r\n\r\n", {});
    }
    return response;
}

void Response::point(std::string_view head, std::string_view body) {
    // libuv takes char* but only reads.
    buffers[0] = uv_buf_init(const_cast<char*>(head.data()), static_cast<unsigned>(head.size()));
    buffers[1] = uv_buf_init(const_cast<char*>(body.data()), static_cast<unsigned>(body.size()));
    bufferCount = body.empty() ? 1 : 2;
    write.data = this;
}

} // namespace service
