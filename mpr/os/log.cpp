/*
    log.cpp - Building messages and handing them over.
 */
#include "mpr/os/log.hpp"

#include <atomic>
#include <cstring>

#include "mpr/os/os.hpp"

namespace mpr::os {

namespace {
std::atomic<LogHandler> handlerInForce{nullptr};
std::atomic<LogHandler> sinkInForce{nullptr};

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

/** number /= 10. @return The remainder. In four steps of 16 bits: a division of 64 bits is a large function on small processors. */
unsigned takeDigit(std::uint64_t& number) {
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
} // namespace

Message& Message::operator<<(std::uint64_t number) {
    char digits[20];
    std::size_t at = sizeof(digits);
    do {
        digits[--at] = static_cast<char>('0' + takeDigit(number));
    } while (number != 0);
    return *this << std::string_view(digits + at, sizeof(digits) - at);
}

Message& Message::operator<<(int number) {
    if (number < 0) {
        *this << std::string_view("-");
        return *this << (std::uint64_t{0} - static_cast<std::uint64_t>(std::int64_t{number}));
    }
    return *this << static_cast<std::uint64_t>(number);
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
    length_ += describeCode(address, text_ + length_, sizeof(text_) - 1 - length_);
    return *this;
}

const char* Message::text() {
    text_[length_] = '\0';
    return text_;
}

void log(Level level, Message& message) {
    const auto which = static_cast<int>(level);
    if (LogHandler receiver = logReceiver()) {
        receiver(names[which].data(), which, message.text());
        return;
    }
    Message line;
    line << names[which] << ": " << std::string_view(message.text(), message.length());
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

LogHandler logReceiver() {
    const LogHandler handler = handlerInForce.load(std::memory_order_acquire);
    return handler ? handler : sinkInForce.load(std::memory_order_acquire);
}

} // namespace mpr::os
