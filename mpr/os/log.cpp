// SPDX-License-Identifier: MIT
/*
    log.cpp - Building messages and handing them over.
 */
#include "mpr/os/log.hpp"

#include <cstdint>
#include <cstring>

#include "mpr/os/check.hpp"
#include "mpr/os/os.hpp"

namespace mpr::os {

constinit MPR_PER_THREAD unsigned locksHeld = 0;
constinit MPR_PER_THREAD bool inLogHandler = false;

namespace {
constinit Shared<LogHandler> handlerInForce{nullptr};
constinit Shared<LogHandler> sinkInForce{nullptr};

constinit Shared<bool> endsAtMistake{false}; // relaxed: it does not change while there are threads that read it

constexpr std::string_view names[] = {"mpr error", "mpr warning", "mpr info"};
} // namespace

Message& Message::operator<<(std::string_view text) {
    const std::size_t room = sizeof(text_) - 1 - length_;
    const std::size_t count = text.size() < room ? text.size() : room;
    std::memcpy(text_ + length_, text.data(), count);
    length_ += count;
    return *this;
}

namespace {

/** number /= 10. @return The remainder. */
unsigned takeDigit(unsigned long& number) {
    const unsigned long before = number;
    number /= 10;
    return static_cast<unsigned>(before - 10 * number);
}

/** Divides in four steps of 16 bits: a division of 64 bits is a large function on small processors. */
unsigned takeDigit(unsigned long long& number) {
    std::uint32_t rest = 0;
    std::uint64_t quotient = 0;
    for (int shift = 48; shift >= 0; shift -= 16) {
        const std::uint32_t part = rest << 16 | static_cast<std::uint32_t>(number >> shift & 0xFFFF);
        quotient = quotient << 16 | part / 10;
        rest = part % 10;
    }
    number = quotient;
    return rest;
}

template <typename Number>
void append(Message& message, Number number) {
    char digits[20];
    std::size_t at = sizeof(digits);
    do {
        digits[--at] = static_cast<char>('0' + takeDigit(number));
    } while (number != 0);
    message << std::string_view(digits + at, sizeof(digits) - at);
}
} // namespace

Message& Message::operator<<(unsigned long number) {
    append(*this, number);
    return *this;
}

Message& Message::operator<<(unsigned long long number) {
    append(*this, number);
    return *this;
}

Message& Message::operator<<(int number) {
    if (number < 0) {
        return *this << std::string_view("-") << -static_cast<unsigned>(number);
    }
    return *this << static_cast<unsigned>(number);
}

Message& Message::operator<<(const void* address) {
    char digits[2 + 2 * sizeof(void*)];
    auto value = reinterpret_cast<std::uintptr_t>(address);
    std::size_t at = sizeof(digits);
    do {
        digits[--at] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value != 0);
    digits[--at] = 'x';
    digits[--at] = '0';
    return *this << std::string_view(digits + at, sizeof(digits) - at);
}

Message& Message::code(const void* address) {
    const std::size_t known = describeCode(address, text_ + length_, sizeof(text_) - 1 - length_);
    length_ += known;
    return known > 0 ? *this : *this << address;
}

const char* Message::text() {
    text_[length_] = '\0';
    return text_;
}

void log(Level level, Message& message) {
    assertUnlocked();
    deliver(level, message);
}

void endAtMistake(bool on) {
    endsAtMistake.store(on, std::memory_order_relaxed);
}

void endIfSo() {
    if (endsAtMistake.load(std::memory_order_relaxed)) {
        abort();
    }
}

LogHandler logReceiver() {
    const LogHandler handler = handlerInForce.load(std::memory_order_acquire);
    return handler ? handler : sinkInForce.load(std::memory_order_acquire);
}

bool handOver(const char* tags, int level, const char* text) {
    const LogHandler receiver = isLogging() ? nullptr : logReceiver();
    if (!receiver) {
        return false;
    }
    inLogHandler = true;
    receiver(tags, level, text);
    inLogHandler = false;
    return true;
}

namespace {

/** Text of strangers may be in a message. The console gets no control character but a tab, so a message is one line, and
    commands no terminal. */
void addLine(Message& line, std::string_view text) {
    if constexpr (!hasThreads) { // boards have only texts of their own
        line << text;
    } else {
        for (const char& each : text) {
            const auto code = static_cast<unsigned char>(each);
            if (each == '\n') {
                line << "\\n";
            } else if ((code < 0x20 && each != '\t') || code == 0x7f) {
                const char escape[] = {'\\', 'x', "0123456789abcdef"[code >> 4], "0123456789abcdef"[code & 15]};
                line << std::string_view(escape, sizeof(escape));
            } else {
                line << std::string_view(&each, 1);
            }
        }
    }
}
} // namespace

void deliver(Level level, Message& message) {
    const auto which = static_cast<int>(level);
    if (handOver(names[which].data(), which, message.text())) {
        return;
    }
    Message line;
    line << names[which] << ": ";
    addLine(line, {message.text(), message.length()});
    char out[sizeof(Message) + 1];
    std::memcpy(out, line.text(), line.length());
    out[line.length()] = '\n';
    write(out, line.length() + 1);
}

LogHandler setLogHandler(LogHandler handler) {
    return handlerInForce.exchange(handler, std::memory_order_acq_rel);
}

void setLogSink(LogHandler sink) {
    sinkInForce.store(sink, std::memory_order_release);
}

} // namespace mpr::os
