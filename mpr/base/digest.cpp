// SPDX-License-Identifier: MIT
/*
    digest.cpp - Digests of strings and buffers, as text. See mpr/digest.h.
 */
#include "mpr/base/digest.hpp"

#include <algorithm>
#include <cstring>

#include "mpr/base/string.hpp"
#include "mpr/digest.h"
#include "mpr/string.h"

using namespace mpr::base;
using mpr::base::digest::Kind;

namespace mpr::base::digest {

namespace {
constexpr std::size_t lengthSize = 8;

void load(const Kind& kind, const unsigned char* block, Work& work) {
    for (std::size_t i = 0; i < blockSize / 4; ++i) {
        std::memcpy(&work.schedule[i], block + 4 * i, 4);
        if (kind.bigEndian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)) {
            work.schedule[i] = __builtin_bswap32(work.schedule[i]);
        }
    }
}

/**
    The bytes that are left, a one, zeros, and the length in bits at the end. @return Of tail, bytes that are to be
    digested.
 */
std::size_t pad(const Kind& kind, const unsigned char* rest, std::size_t length, unsigned char (&tail)[2 * blockSize]) {
    const std::size_t left = length % blockSize;
    const std::size_t size = left + 1 + lengthSize > blockSize ? 2 * blockSize : blockSize;
    std::memset(tail, 0, sizeof(tail));
    if (left) {
        std::memcpy(tail, rest, left);
    }
    tail[left] = 0x80;
    for (unsigned i = 0; i < lengthSize; ++i) {
        const auto byte = static_cast<unsigned char>(static_cast<std::uint64_t>(length) * 8 >> (8 * i));
        tail[kind.bigEndian ? size - 1 - i : size - lengthSize + i] = byte;
    }
    return size;
}
} // namespace

void compute(const Kind& kind, const void* data, std::size_t length, unsigned char* out) {
    struct {
        Work work;
        unsigned char tail[2 * blockSize];
    } secret;
    auto& [work, tail] = secret;
    std::memcpy(work.state, kind.initial, sizeof(work.state));
    const auto* block = static_cast<const unsigned char*>(data);
    const unsigned char* end = block + length / blockSize * blockSize;
    const std::size_t padded = pad(kind, end, length, tail);
    for (int part = 0; part < 2; ++part, block = tail, end = tail + padded) {
        for (; block != end; block += blockSize) {
            load(kind, block, work);
            kind.change(work);
        }
    }
    for (std::size_t i = 0; i < kind.size; ++i) {
        out[i] = static_cast<unsigned char>(work.state[i / 4] >> (8 * (kind.bigEndian ? 3 - i % 4 : i % 4)));
    }
    wipe(&secret, sizeof(secret));
}

} // namespace mpr::base::digest

namespace {

/** @return false for no bytes of which there are to be some. */
bool measured(cchar*& bytes, ssize& length) {
    if (length < 0) {
        length = slen(bytes);
    }
    bytes = bytes || length > 0 ? bytes : "";
    return bytes;
}

char* hexadecimal(const Kind& kind, cchar* bytes, ssize length, cchar* prefix) {
    if (!measured(bytes, length)) {
        return nullptr;
    }
    const auto before = static_cast<std::size_t>(slen(prefix));
    char* const out = newString(before + 2 * kind.size);
    if (!out) {
        return nullptr;
    }
    std::copy_n(prefix, before, out);
    unsigned char digest[digest::longest];
    digest::compute(kind, bytes, static_cast<std::size_t>(length), digest);
    char* to = out + before;
    for (std::size_t i = 0; i < kind.size; ++i) {
        *to++ = "0123456789abcdef"[digest[i] >> 4];
        *to++ = "0123456789abcdef"[digest[i] & 15];
    }
    wipe(digest, sizeof(digest));
    return out;
}

char* inBase64(const Kind& kind, cchar* string) {
    unsigned char digest[digest::longest];
    digest::compute(kind, string ? string : "", static_cast<std::size_t>(slen(string)), digest);
    char* const out = encode64(digest, kind.size);
    wipe(digest, sizeof(digest));
    return out;
}
} // namespace

char* mprGetMD5(cchar* str) {
    return hexadecimal(digest::md5, str, -1, nullptr);
}

char* mprGetMD5WithPrefix(cchar* buf, ssize len, cchar* prefix) {
    return hexadecimal(digest::md5, buf, len, prefix);
}

char* mprGetSHA(cchar* str) {
    return hexadecimal(digest::sha1, str, -1, nullptr);
}

char* mprGetSHABase64(cchar* str) {
    return inBase64(digest::sha1, str);
}

char* mprGetSHAWithPrefix(cchar* buf, ssize len, cchar* prefix) {
    return hexadecimal(digest::sha1, buf, len, prefix);
}

char* mprGetSHA256(cchar* str) {
    return hexadecimal(digest::sha256, str, -1, nullptr);
}

char* mprGetSHA256Base64(cchar* str) {
    return inBase64(digest::sha256, str);
}

char* mprGetSHA256WithPrefix(cchar* buf, ssize len, cchar* prefix) {
    return hexadecimal(digest::sha256, buf, len, prefix);
}
