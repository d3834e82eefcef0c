// SPDX-License-Identifier: MIT
/*
    histogram.cpp - The compressed encoding V2 of a histogram, as text.

    Compressed: a cookie, the length of what follows, a stream of zlib. In that: a cookie, the length of the counts, an
    offset (0), digits, lowest and greatest value, a ratio (1.0), the counts. Numbers of the heads have the high byte
    first. A count is a number of variable length (LEB128, in nine bytes at most) whose sign is the lowest bit; a
    negative one stands for so many zeros. What follows the last count is left out.
 */
#include "mpr/host/histogram.hpp"

#include <cstring>

#include "mpr/base/base64.hpp"

namespace mpr::host {

namespace {
constexpr std::uint32_t cookie = 0x1C84'9303 | 0x10, compressedCookie = 0x1C84'9304 | 0x10;
constexpr std::uint64_t one = 0x3FF0'0000'0000'0000; // 1.0

std::uint32_t adler32(const unsigned char* bytes, std::size_t length) {
    constexpr std::uint32_t prime = 65521;
    std::uint32_t low = 1, high = 0;
    for (std::size_t i = 0; i < length; ++i) {
        low = (low + bytes[i]) % prime;
        high = (high + low) % prime;
    }
    return high << 16 | low;
}
} // namespace

void Encoded::putNumber(unsigned char* to, std::uint64_t number, unsigned size) {
    for (unsigned i = 0; i < size; ++i) {
        to[i] = static_cast<unsigned char>(number >> 8 * (size - 1 - i));
    }
}

void Encoded::clear() {
    length_ = headSize;
    place_ = 0;
    zeros_ = 0;
    greatest_ = total_ = 0;
}

void Encoded::put(std::int64_t number) {
    auto rest = static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
    for (unsigned i = 0; i < 8 && rest > 0x7F; ++i) {
        bytes_[length_++] = static_cast<unsigned char>(rest | 0x80);
        rest >>= 7;
    }
    bytes_[length_++] = static_cast<unsigned char>(rest); // the ninth has eight bits
}

void Encoded::putZeros() {
    if (zeros_ > 0) {
        put(zeros_ == 1 ? 0 : -zeros_);
        zeros_ = 0;
    }
}

void Encoded::add(std::uint64_t count) {
    if (count == 0) {
        ++zeros_;
    } else {
        putZeros();
        put(static_cast<std::int64_t>(count));
        total_ += count;
        greatest_ = Histogram::upperBound(place_);
    }
    ++place_;
}

/** @return The length of the compressed form. */
std::size_t Encoded::wrap() {
    putNumber(bytes_, cookie, 4);
    putNumber(bytes_ + 4, length_ - headSize, 4);
    putNumber(bytes_ + 8, 0, 4);
    putNumber(bytes_ + 12, Histogram::digits, 4);
    putNumber(bytes_ + 16, 1, 8);
    putNumber(bytes_ + 24, Histogram::greatest, 8);
    putNumber(bytes_ + 32, one, 8);
    unsigned char* to = wrapped_ + 8;
    *to++ = 0x78; // deflate, with a window of 32 KiB
    *to++ = 0x01;
    for (std::size_t done = 0; done < length_;) {
        const std::size_t size = length_ - done < longestBlock ? length_ - done : longestBlock;
        *to++ = done + size == length_; // the last block, or not; stored
        for (const std::size_t number : {size, ~size}) {
            *to++ = static_cast<unsigned char>(number);
            *to++ = static_cast<unsigned char>(number >> 8);
        }
        std::memcpy(to, bytes_ + done, size);
        to += size;
        done += size;
    }
    putNumber(to, adler32(bytes_, length_), 4);
    to += 4;
    putNumber(wrapped_, compressedCookie, 4);
    putNumber(wrapped_ + 4, static_cast<std::uint64_t>(to - wrapped_) - 8, 4);
    return static_cast<std::size_t>(to - wrapped_);
}

const char* Encoded::text() {
    *base::writeBase64(text_, wrapped_, wrap()) = '\0';
    return text_;
}

} // namespace mpr::host
