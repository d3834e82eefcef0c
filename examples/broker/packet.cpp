// SPDX-License-Identifier: MIT
/*
    packet.cpp - See packet.h.
 */
#include "packet.h"

#include <algorithm>

namespace broker {

Frame frame(std::string_view bytes, std::size_t most, Packet& packet) {
    std::size_t length = 0;
    std::size_t at = 1;
    for (unsigned shift = 0;; shift += 7) { // Seven bits a byte, the lowest first; the eighth says that more follow
        if (at >= bytes.size()) {
            return Frame::part;
        }
        if (at > 4) {
            return Frame::wrong;
        }
        const auto byte = static_cast<std::uint8_t>(bytes[at++]);
        length |= std::size_t{byte & 0x7Fu} << shift;
        if ((byte & 0x80) == 0) {
            break;
        }
    }
    if (length > most) {
        return Frame::tooLong;
    }
    if (bytes.size() - at < length) {
        return Frame::part;
    }
    const auto first = static_cast<std::uint8_t>(bytes[0]);
    packet = {static_cast<Type>(first >> 4), static_cast<std::uint8_t>(first & 0xF), bytes.substr(at, length),
              at + length};
    return Frame::whole;
}

std::string_view Fields::take(std::size_t length) {
    if (length > rest_.size()) {
        ok_ = false;
        rest_ = {};
        return {};
    }
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
}

std::uint8_t Fields::byte() {
    const std::string_view one = take(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
}

std::uint16_t Fields::number() {
    const unsigned high = byte();
    return static_cast<std::uint16_t>(high << 8 | byte());
}

std::string_view Fields::text() {
    return take(number());
}

bool Connect::parse(std::string_view body) {
    Fields fields(body);
    const std::string_view name = fields.text();
    version = fields.byte();
    if (!fields.ok() || (name != "MQTT" && name != "MQIsdp") || !isKnownVersion()) {
        return fields.ok() && name == "MQTT";
    }
    const unsigned flags = fields.byte();
    const unsigned hasName = flags & 0x80, hasPassword = flags & 0x40;
    clean = flags & 0x02;
    hasWill = flags & 0x04;
    willQos = static_cast<int>(flags >> 3 & 3);
    willRetained = flags & 0x20;
    if ((flags & 1) || willQos == 3 || (!hasWill && (willQos > 0 || willRetained)) || (hasPassword && !hasName)) {
        return false;
    }
    keepAlive = fields.number();
    id = fields.text();
    if (hasWill) {
        willTopic = fields.text();
        willText = fields.text();
    }
    for (const unsigned given : {hasName, hasPassword}) {
        if (given) {
            fields.text(); // They are not looked at: anyone may come
        }
    }
    return fields.ok() && fields.atEnd() && isText(id) && (!hasWill || isTopic(willTopic));
}

Bytes::Bytes(Type type, std::uint8_t flags, std::size_t bodyLength) {
    byte(static_cast<std::uint8_t>(static_cast<unsigned>(type) << 4 | flags));
    for (; bodyLength > 0x7F; bodyLength >>= 7) {
        byte(static_cast<std::uint8_t>(0x80 | (bodyLength & 0x7F)));
    }
    byte(static_cast<std::uint8_t>(bodyLength));
}

Bytes& Bytes::byte(std::uint8_t value) {
    bytes_[size_++] = value;
    return *this;
}

Bytes& Bytes::number(std::uint16_t value) {
    return byte(static_cast<std::uint8_t>(value >> 8)).byte(static_cast<std::uint8_t>(value));
}

std::uint8_t flagsOf(Type type) {
    return type == Type::pubrel || type == Type::subscribe || type == Type::unsubscribe ? 2 : 0;
}

bool isText(std::string_view text) {
    while (!text.empty()) {
        const auto first = static_cast<std::uint8_t>(text[0]);
        const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        if (first == 0 || (first >= 0x80 && first < 0xC2) || first > 0xF4 || length > text.size()) {
            return false;
        }
        std::uint32_t code = length == 1 ? first : first & (0xFFu >> (length + 1));
        for (std::size_t i = 1; i < length; ++i) {
            const auto next = static_cast<std::uint8_t>(text[i]);
            if ((next & 0xC0) != 0x80) {
                return false;
            }
            code = code << 6 | (next & 0x3Fu);
        }
        const bool tooLong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
        if (tooLong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

namespace {

constexpr std::size_t mostLevels = 64; // Those who walk the tree of topics recur as deep

bool isPath(std::string_view text) {
    return !text.empty() && isText(text) &&
           static_cast<std::size_t>(std::count(text.begin(), text.end(), '/')) < mostLevels;
}

} // namespace

bool isTopic(std::string_view text) {
    return isPath(text) && text.find_first_of("+#") == std::string_view::npos;
}

bool isFilter(std::string_view text) {
    if (!isPath(text)) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '+' && text[i] != '#') {
            continue;
        }
        const bool begins = i == 0 || text[i - 1] == '/';
        const bool last = i + 1 == text.size();
        if (!begins || (!last && (text[i] == '#' || text[i + 1] != '/'))) {
            return false;
        }
    }
    return true;
}

} // namespace broker
