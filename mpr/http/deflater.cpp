// SPDX-License-Identifier: MIT
/*
    deflater.cpp - A compressor over zlib. See deflater.hpp.

    zlib frames a body in its own format alone once a state is made. So the state is that of a bare stream (RFC 1951),
    and the ten bytes before it and the eight behind it of gzip (RFC 1952), or the two and four of zlib (RFC 1950),
    are written here. One state then serves both codings.
 */
#include "mpr/http/deflater.hpp"

#include <zlib.h>

#include <cstdint>
#include <iterator>

#include "mpr/barrier.h"
#include "mpr/http/references.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/memory.h"

namespace mpr::http {

struct Deflater {
    void* blocks[8]; // references: zlib's
    z_stream zlib;
    int level;
    bool made;
    bool finished;           // by zlib: the trailer is left
    Coding coding;           // of the body
    std::uint32_t check;     // CRC-32, or Adler-32
    std::uint32_t length;    // of the input, modulo 2^32
    unsigned char frame[10]; // what goes out before or behind the compressed bytes
    std::uint8_t frameSize, frameAt;
};

namespace {

void manageDeflater(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* deflater = static_cast<Deflater*>(ptr);
        mprMarkRefs(deflater->blocks, std::size(deflater->blocks));
    }
}
const gc::ManagerName named(manageDeflater, "mpr::http::Deflater");

void* allocate(void* arg, uInt items, uInt size) {
    auto* deflater = static_cast<Deflater*>(arg);
    for (void*& block : deflater->blocks) {
        if (!block) {
            std::size_t bytes = 0;
            void* made =
                __builtin_mul_overflow(std::size_t{items}, std::size_t{size}, &bytes) ? nullptr : mprAlloc(bytes);
            setRef(deflater, block, made);
            return made;
        }
    }
    return nullptr;
}

void release(void* arg, void* ptr) {
    auto* deflater = static_cast<Deflater*>(arg);
    for (void*& block : deflater->blocks) {
        if (block == ptr) {
            setRef(deflater, block, nullptr);
            mprFree(ptr);
            return;
        }
    }
}

bool reset(Deflater* deflater) {
    if (deflater->made) {
        return deflateReset(&deflater->zlib) == Z_OK;
    }
    constexpr int bareWindow = -15, memory = 8;
    deflater->zlib.zalloc = allocate;
    deflater->zlib.zfree = release;
    deflater->zlib.opaque = deflater;
    deflater->made =
        deflateInit2(&deflater->zlib, deflater->level, Z_DEFLATED, bareWindow, memory, Z_DEFAULT_STRATEGY) == Z_OK;
    return deflater->made;
}

void setFrame(Deflater* deflater, const unsigned char* bytes, std::size_t size) {
    std::memcpy(deflater->frame, bytes, size);
    deflater->frameSize = static_cast<std::uint8_t>(size);
    deflater->frameAt = 0;
}

void putLittle(unsigned char* at, std::uint32_t number) {
    for (int i = 0; i < 4; ++i) {
        at[i] = static_cast<unsigned char>(number >> (8 * i));
    }
}

void setHeader(Deflater* deflater) {
    constexpr unsigned char unknownSystem = 255;
    constexpr unsigned char gzip[] = {0x1F, 0x8B, Z_DEFLATED, 0, 0, 0, 0, 0, 0, unknownSystem};
    constexpr unsigned char zlib[] = {0x78, 0x9C};
    deflater->coding == Coding::gzip ? setFrame(deflater, gzip, sizeof(gzip)) : setFrame(deflater, zlib, sizeof(zlib));
}

void setTrailer(Deflater* deflater) {
    unsigned char trailer[8];
    if (deflater->coding == Coding::gzip) {
        putLittle(trailer, deflater->check);
        putLittle(trailer + 4, deflater->length);
        setFrame(deflater, trailer, 8);
    } else {
        putLittle(trailer, __builtin_bswap32(deflater->check));
        setFrame(deflater, trailer, 4);
    }
}

std::size_t putFrame(Deflater* deflater, char* output, std::size_t room) {
    const std::size_t left = deflater->frameSize - deflater->frameAt;
    const std::size_t count = left < room ? left : room;
    std::memcpy(output, deflater->frame + deflater->frameAt, count);
    deflater->frameAt = static_cast<std::uint8_t>(deflater->frameAt + count);
    return count;
}

/** zlib's sizes are of 32 bits. */
uInt sizeFor(std::size_t size) {
    constexpr std::size_t most = 0x7FFFFFFF;
    return static_cast<uInt>(size < most ? size : most);
}

void count(Deflater* deflater, const char* input, uInt taken) {
    const auto* bytes = reinterpret_cast<const Bytef*>(input);
    const uLong check = deflater->coding == Coding::gzip ? crc32(deflater->check, bytes, taken)
                                                         : adler32(deflater->check, bytes, taken);
    deflater->check = static_cast<std::uint32_t>(check);
    deflater->length += taken;
}
} // namespace

Deflater* makeDeflater(int level) {
    auto* deflater = base::makeReferring<Deflater>(manageDeflater);
    if (deflater) {
        deflater->level = level;
    }
    return deflater;
}

bool beginBody(Deflater* deflater, Coding coding) {
    deflater->coding = coding;
    deflater->check = coding == Coding::gzip ? 0 : 1;
    deflater->length = 0;
    deflater->finished = false;
    setHeader(deflater);
    return reset(deflater);
}

Deflated deflateSome(Deflater* deflater, const char* input, std::size_t size, char* output, std::size_t room,
                     Flush flush) {
    Deflated result = {0, putFrame(deflater, output, room), false};
    if (!deflater->finished) {
        z_stream& zlib = deflater->zlib;
        zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input));
        zlib.avail_in = sizeFor(size);
        zlib.next_out = reinterpret_cast<Bytef*>(output + result.given);
        zlib.avail_out = sizeFor(room - result.given);
        const uInt in = zlib.avail_in, out = zlib.avail_out;
        const bool whole = in == size;
        const int how = !whole || flush == Flush::no ? Z_NO_FLUSH : flush == Flush::all ? Z_SYNC_FLUSH : Z_FINISH;
        const int code = out > 0 ? deflate(&zlib, how) : Z_BUF_ERROR;
        result.taken = in - zlib.avail_in;
        result.given += out - zlib.avail_out;
        zlib.next_in = zlib.next_out = nullptr; // they may be collected before the next call
        count(deflater, input, in - zlib.avail_in);
        result.done = whole && zlib.avail_in == 0 && zlib.avail_out > 0 && how != Z_FINISH;
        if (code == Z_STREAM_END) {
            deflater->finished = true;
            setTrailer(deflater);
        }
    }
    if (deflater->finished) {
        result.given += putFrame(deflater, output + result.given, room - result.given);
        result.done = deflater->frameAt == deflater->frameSize;
    }
    return result;
}

} // namespace mpr::http
