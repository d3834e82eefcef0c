/* SPDX-License-Identifier: MIT */
/*
    text.h - Text put together in a fixed array, without allocation: heads, JSON, table cells.

    What does not fit is cut off and remembered: full() tells. No pointers inside, so that it can be copied.
 */
#pragma once

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace service {

template <std::size_t Capacity>
class FixedText {
public:
    std::string_view view() const { return {bytes_.data(), used_}; }
    bool full() const { return full_; }
    bool empty() const { return used_ == 0; }

    FixedText& add(std::string_view text) {
        std::size_t room = Capacity - used_;
        if (text.size() > room) {
            text = text.substr(0, room);
            full_ = true;
        }
        if (!text.empty()) {
            std::memcpy(bytes_.data() + used_, text.data(), text.size());
            used_ += text.size();
        }
        return *this;
    }

    __attribute__((format(printf, 2, 3))) FixedText& format(const char* pattern, ...) {
        std::array<char, 512> piece;
        va_list args;
        va_start(args, pattern);
        int length = std::vsnprintf(piece.data(), piece.size(), pattern, args);
        va_end(args);
        if (length < 0 || static_cast<std::size_t>(length) >= piece.size()) {
            full_ = true;
            return *this;
        }
        return add({piece.data(), static_cast<std::size_t>(length)});
    }

    /** Add a JSON string, quotes included. */
    FixedText& json(std::string_view text) {
        add("\"");
        for (char c : text) {
            if (c == '"' || c == '\\') {
                add("\\").add({&c, 1});
            } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
                format("\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
            } else {
                add({&c, 1});
            }
        }
        return add("\"");
    }

private:
    std::array<char, Capacity> bytes_;
    std::size_t used_ = 0;
    bool full_ = false;
};

/** Decimal digits only. @return false when there are none, something else is among them, or the value passes limit. */
inline bool parseNumber(std::string_view text, std::uint64_t limit, std::uint64_t& value) {
    if (text.empty()) {
        return false;
    }
    std::uint64_t sum = 0;
    for (char c : text) {
        if (c < '0' || c > '9') {
            return false;
        }
        auto digit = static_cast<std::uint64_t>(c - '0');
        if (digit > limit || sum > (limit - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    value = sum;
    return true;
}

} // namespace service
