/* SPDX-License-Identifier: MIT */
/*
    packet.h - Packets of MQTT 3.1.1 (OASIS standard, 2014): their frames and fields, and which texts are topics.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace broker {

/** The upper four bits of a packet's first byte. */
enum class Type : std::uint8_t {
    connect = 1,
    connack,
    publish,
    puback,
    pubrec,
    pubrel,
    pubcomp,
    subscribe,
    suback,
    unsubscribe,
    unsuback,
    pingreq,
    pingresp,
    disconnect,
};

/** Answers to CONNECT. */
enum class Connack : std::uint8_t { accepted, wrongVersion, wrongId, unavailable };

constexpr std::uint8_t subackRefused = 0x80;

struct Packet {
    Type type;
    std::uint8_t flags;    // The lower four bits of the first byte
    std::string_view body; // After the length
    std::size_t size;      // With all that is before it
};

enum class Frame { whole, part, wrong, tooLong };

/** Find the packet at the beginning of bytes. @param most Bytes that it may have. */
Frame frame(std::string_view bytes, std::size_t most, Packet& packet);

/** Takes fields off a packet. A field that is missing is 0 or empty, and ok() is false from then on. */
class Fields {
public:
    explicit Fields(std::string_view body) : rest_(body) {}

    std::uint8_t byte();
    std::uint16_t number();
    /** A text, or other bytes, with its length before it. */
    std::string_view text();
    std::string_view rest() { return take(rest_.size()); }

    bool ok() const { return ok_; }
    bool atEnd() const { return rest_.empty(); }

private:
    std::string_view take(std::size_t length);

    std::string_view rest_;
    bool ok_ = true;
};

/** The contents of CONNECT, the first packet of a client. */
struct Connect {
    std::uint8_t version = 0;
    bool clean = false;
    bool hasWill = false, willRetained = false;
    int willQos = 0;
    int keepAlive = 0; // Seconds; 0: it may be silent for ever
    std::string_view id, willTopic, willText;

    /** @return Whether that is how it should be. If the version is another one, nothing else is known. */
    bool parse(std::string_view body);
    bool isKnownVersion() const { return version == 3 || version == 4; }
};

/** A packet of fixed size, or the beginning of a larger one. */
class Bytes {
public:
    Bytes(Type type, std::uint8_t flags, std::size_t bodyLength);
    Bytes& byte(std::uint8_t value);
    Bytes& number(std::uint16_t value);

    std::string_view view() const { return {reinterpret_cast<const char*>(bytes_), size_}; }

private:
    std::uint8_t bytes_[16];
    std::size_t size_ = 0;
};

/** The flags that a packet has to have; those of PUBLISH say something. */
std::uint8_t flagsOf(Type type);

/** Whether these are characters in UTF-8, without NUL [MQTT-1.5.3-1, MQTT-1.5.3-2]. */
bool isText(std::string_view text);
/** Whether a text may be published to. */
bool isTopic(std::string_view text);
/** Whether a text may be subscribed to: + and # stand alone between slashes, # at the end. */
bool isFilter(std::string_view text);

} // namespace broker
