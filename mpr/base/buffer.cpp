// SPDX-License-Identifier: MIT
/*
    buffer.cpp - Byte buffers. See mpr/buffer.h.

    The bytes stand in a leaf block of their own, one byte larger than the buffer's size so that a terminating zero
    always fits. data <= start <= end <= endbuf = data + size, size <= maxsize. When room is wanting, the contents
    move into a larger block, and the old one is left to the collector: the caller may hold pointers into it until
    it yields, and may be putting from it. When half of the room or more is in front of the contents, they are moved
    to the front instead.
 */
#include "mpr/buffer.h"

#include <algorithm>
#include <cstring>

#include "mpr/barrier.h"
#include "mpr/base/format.hpp"
#include "mpr/base/references.hpp"
#include "mpr/base/string.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"
#include "mpr/string.h"

using mpr::base::boundedLength;
using mpr::base::format;
using mpr::base::newString;
using mpr::base::StringSink;
using mpr::gc::misuse;

namespace {

constexpr std::size_t defaultSize = 1024;
constexpr ssize unlimited = PTRDIFF_MAX;

/** The bounds of a new or moved buffer, whose contents are at its start. */
void setRoom(MprBuf* buf, char* data, std::size_t length, std::size_t size) {
    mpr::base::setRef(buf, buf->data, data);
    buf->start = data;
    buf->end = data + length;
    buf->endbuf = data + size;
}

std::size_t sizeOf(const MprBuf* buf) {
    return static_cast<std::size_t>(buf->endbuf - buf->data);
}

std::size_t mostOf(const MprBuf* buf) {
    return static_cast<std::size_t>(buf->maxsize);
}

void manageBuf(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<MprBuf*>(ptr)->data);
    }
}
const mpr::gc::ManagerName namedBuf(manageBuf, "MprBuf");

MprBuf* makeBuf(std::size_t size, ssize maxSize) {
    auto* buf = mpr::base::makeReferring<MprBuf>(manageBuf);
    auto* data = buf ? static_cast<char*>(mprAlloc(size + 1)) : nullptr;
    if (!data) {
        return nullptr;
    }
    setRoom(buf, data, 0, size);
    buf->maxsize = maxSize;
    return buf;
}

std::size_t length(const MprBuf* buf) {
    return static_cast<std::size_t>(buf->end - buf->start);
}

std::size_t space(const MprBuf* buf) {
    return static_cast<std::size_t>(buf->endbuf - buf->end);
}

/** Move the contents to the front of the room. */
void compact(MprBuf* buf) {
    const std::size_t held = length(buf);
    std::memmove(buf->data, buf->start, held);
    buf->start = buf->data;
    buf->end = buf->data + held;
}

/** Put the contents at the start of a new block. Allocating may call a notifier of the program, which may use the buffer, too. */
int moveTo(MprBuf* buf, std::size_t size) {
    auto* const data = static_cast<char*>(mprAlloc(size + 1));
    const std::size_t held = length(buf);
    if (!data || held > size) {
        mprFree(data);
        return MPR_ERR_MEMORY;
    }
    std::memcpy(data, buf->start, held);
    setRoom(buf, data, held, size);
    return 0;
}

/**
    A size with room for so much more, or all that may be when it is not enough. The present one will do when that
    wins half of it at least, or else a put and a get by turns would move the contents every time.
 */
std::size_t sizeFor(const MprBuf* buf, std::size_t wanted) {
    const std::size_t held = length(buf);
    const std::size_t size = sizeOf(buf), most = mostOf(buf);
    if (wanted > most - held) {
        return most;
    }
    if (held + wanted <= size && (held <= size / 2 || size == most)) {
        return size;
    }
    const std::size_t step = buf->growBy > 0 ? static_cast<std::size_t>(buf->growBy) : size;
    return std::max(step > most - size ? most : size + step, held + wanted);
}

/** Whether bytes of the program are a buffer's own. */
bool isIn(const char* source, const MprBuf& buf) {
    const auto address = reinterpret_cast<std::uintptr_t>(source);
    const auto first = reinterpret_cast<std::uintptr_t>(buf.data);
    return address >= first && address <= first + sizeOf(&buf);
}

/**
    Make room behind the contents, for as much as wanted or else for as much as there can be.
    @param source What will be put: contents are not overwritten when they are that.
    @return 0 when there is room for all.
 */
int makeRoom(MprBuf* buf, std::size_t wanted, const char* source) {
    while (wanted > space(buf)) { // again when a notifier has used the buffer meanwhile
        const std::size_t size = sizeFor(buf, wanted);
        const bool isMost = size - length(buf) < wanted;
        if (size == sizeOf(buf) && (buf->start == buf->data || !isIn(source, *buf))) {
            compact(buf);
        } else if (moveTo(buf, size) != 0 && // twice the size may be too much where the least is not
                   (isMost || size == sizeOf(buf) || moveTo(buf, length(buf) + wanted) != 0)) {
            return MPR_ERR_MEMORY;
        }
        if (isMost) {
            return MPR_ERR_TOO_MANY;
        }
    }
    return 0;
}

void putBigEndian(MprBuf* buf, uint32 num, std::size_t bytes) {
    char out[sizeof(num)];
    for (std::size_t i = 0; i < bytes; ++i) {
        out[i] = static_cast<char>(num >> (8 * (bytes - 1 - i)));
    }
    if (buf && makeRoom(buf, bytes, nullptr) == 0) {
        std::memcpy(buf->end, out, bytes);
        buf->end += bytes;
    }
}

/** The number in the first bytes held, in network byte order; 0 when there are fewer. */
uint32 peekBigEndian(const MprBuf* buf, std::size_t bytes) {
    uint32 num = 0;
    for (std::size_t i = 0; buf && length(buf) >= bytes && i < bytes; ++i) {
        num = num << 8 | static_cast<uchar>(buf->start[i]);
    }
    return num;
}

uint32 getBigEndian(MprBuf* buf, std::size_t bytes) {
    const uint32 num = peekBigEndian(buf, bytes);
    if (buf && length(buf) >= bytes) {
        buf->start += bytes;
    }
    return num;
}
} // namespace

MprBuf* mprCreateBuf(ssize initialSize, ssize maxSize) {
    const ssize most = maxSize > 0 ? maxSize : unlimited;
    const std::size_t size = initialSize > 0 ? static_cast<std::size_t>(initialSize) : defaultSize;
    return makeBuf(std::min(size, static_cast<std::size_t>(most)), most);
}

MprBuf* mprCloneBuf(MprBuf* orig) {
    MprBuf* buf = orig ? makeBuf(sizeOf(orig), orig->maxsize) : nullptr;
    if (buf) {
        mprPutBlockToBuf(buf, orig->start, mprGetBufLength(orig));
    }
    return buf;
}

int mprSetBufSize(MprBuf* buf, ssize size, ssize maxSize) {
    if (!buf) {
        return MPR_ERR_BAD_ARGS;
    }
    if (size > static_cast<ssize>(sizeOf(buf)) && moveTo(buf, static_cast<std::size_t>(size)) != 0) {
        return MPR_ERR_MEMORY;
    }
    mprSetBufMax(buf, maxSize);
    return 0;
}

void mprSetBufMax(MprBuf* buf, ssize maxSize) {
    if (buf) {
        buf->maxsize = std::max(maxSize > 0 ? maxSize : unlimited, static_cast<ssize>(sizeOf(buf)));
    }
}

void mprSetBufRefillProc(MprBuf* buf, MprBufProc proc, void* arg) {
    if (buf) {
        buf->refillProc = proc;
        buf->refillArg = arg;
    }
}

MprBufProc mprGetBufRefillProc(MprBuf* buf) {
    return buf ? buf->refillProc : nullptr;
}

int mprRefillBuf(MprBuf* buf) {
    return buf && buf->refillProc ? buf->refillProc(buf, buf->refillArg) : 0;
}

// ---- What it holds ----------------------------------------------------------------------------------------------

ssize mprGetBufLength(MprBuf* buf) {
    return buf ? static_cast<ssize>(length(buf)) : 0;
}

ssize mprGetBufSize(MprBuf* buf) {
    return buf ? static_cast<ssize>(sizeOf(buf)) : 0;
}

ssize mprGetBufSpace(MprBuf* buf) {
    return buf ? static_cast<ssize>(space(buf)) : 0;
}

char* mprGetBufStart(MprBuf* buf) {
    return buf ? buf->start : nullptr;
}

char* mprGetBufEnd(MprBuf* buf) {
    return buf ? buf->end : nullptr;
}

char* mprGetBuf(MprBuf* buf) {
    return buf ? buf->data : nullptr;
}

char* mprBufToString(MprBuf* buf) {
    return buf ? newString(buf->start, length(buf)) : nullptr;
}

char* mprCloneBufAsString(MprBuf* buf) {
    return mprBufToString(buf);
}

char* mprCloneBufMem(MprBuf* buf) {
    return mprBufToString(buf);
}

void mprFlushBuf(MprBuf* buf) {
    if (buf) {
        buf->start = buf->end = buf->data;
    }
}

void mprResetBufIfEmpty(MprBuf* buf) {
    if (buf && length(buf) == 0) {
        mprFlushBuf(buf);
    }
}

void mprCompactBuf(MprBuf* buf) {
    if (buf) {
        compact(buf);
    }
}

void mprAdjustBufEnd(MprBuf* buf, ssize count) {
    if (!buf) {
        return;
    }
    if (count > mprGetBufSpace(buf) || count < -mprGetBufLength(buf)) {
        misuse("mprAdjustBufEnd", buf, "the end would leave the buffer or come before the start");
        return;
    }
    buf->end += count;
}

void mprAdjustBufStart(MprBuf* buf, ssize count) {
    if (!buf) {
        return;
    }
    if (count > mprGetBufLength(buf) || count < buf->data - buf->start) {
        misuse("mprAdjustBufStart", buf, "the start would leave the buffer or come behind the end");
        return;
    }
    buf->start += count;
}

void mprAddNullToBuf(MprBuf* buf) {
    if (buf) {
        *buf->end = '\0';
    }
}

int mprGrowBuf(MprBuf* buf, ssize count) {
    if (!buf) {
        return MPR_ERR_BAD_ARGS;
    }
    const std::size_t size = sizeOf(buf), more = count > 0 ? static_cast<std::size_t>(count) : size;
    return more > mostOf(buf) - size ? MPR_ERR_TOO_MANY : moveTo(buf, size + more);
}

// ---- Put --------------------------------------------------------------------------------------------------------

ssize mprPutBlockToBuf(MprBuf* buf, cchar* ptr, ssize size) {
    if (!buf || !ptr || size < 1) {
        return 0;
    }
    makeRoom(buf, static_cast<std::size_t>(size), ptr);
    const std::size_t count = std::min(static_cast<std::size_t>(size), space(buf));
    std::memmove(buf->end, ptr, count);
    buf->end += count;
    return static_cast<ssize>(count);
}

ssize mprPutStringToBuf(MprBuf* buf, cchar* str) {
    return mprPutBlockToBuf(buf, str, slen(str));
}

ssize mprPutSubStringToBuf(MprBuf* buf, cchar* str, ssize count) {
    if (!str || count < 1) {
        return 0;
    }
    return mprPutBlockToBuf(buf, str, static_cast<ssize>(boundedLength(str, static_cast<std::size_t>(count))));
}

ssize mprPutToBuf(MprBuf* buf, cchar* fmt, ...) {
    if (!buf) {
        return 0;
    }
    // Not straight into the buffer: an argument may be what it holds.
    StringSink sink(mostOf(buf) - length(buf));
    va_list args;
    va_start(args, fmt);
    format(sink, fmt, args);
    va_end(args);
    return mprPutBlockToBuf(buf, sink.text(), static_cast<ssize>(sink.length()));
}

ssize mprPutIntToBuf(MprBuf* buf, int64 i) {
    char digits[24];
    return mprPutStringToBuf(buf, itosbuf(digits, sizeof(digits), i, 10));
}

int mprPutCharToBuf(MprBuf* buf, int c) {
    const int status = buf ? makeRoom(buf, 1, nullptr) : MPR_ERR_BAD_ARGS;
    if (status == 0) {
        *buf->end++ = static_cast<char>(c);
    }
    return status;
}

ssize mprPutPadToBuf(MprBuf* buf, int c, ssize count) {
    if (!buf || count < 1) {
        return 0;
    }
    makeRoom(buf, static_cast<std::size_t>(count), nullptr);
    const std::size_t stored = std::min(static_cast<std::size_t>(count), space(buf));
    std::memset(buf->end, c, stored);
    buf->end += stored;
    return static_cast<ssize>(stored);
}

int mprInsertCharToBuf(MprBuf* buf, int c) {
    if (!buf) {
        return MPR_ERR_BAD_ARGS;
    }
    if (buf->start == buf->data) {
        if (const int status = makeRoom(buf, 1, nullptr); status != 0) {
            return status;
        }
        // The gap is as long as what is moved, or half of the room: so many more bytes need no move.
        const std::size_t gap = std::min((space(buf) + 1) / 2, length(buf) + 1);
        std::memmove(buf->data + gap, buf->data, length(buf));
        buf->start += gap;
        buf->end += gap;
    }
    *--buf->start = static_cast<char>(c);
    return 0;
}

void mprPutUint16ToBuf(MprBuf* buf, uint16 num) {
    putBigEndian(buf, num, sizeof(num));
}

void mprPutUint32ToBuf(MprBuf* buf, uint32 num) {
    putBigEndian(buf, num, sizeof(num));
}

// ---- Get --------------------------------------------------------------------------------------------------------

ssize mprGetBlockFromBuf(MprBuf* buf, char* blk, ssize count) {
    if (!buf || !blk || count < 1) {
        return 0;
    }
    const std::size_t taken = std::min(static_cast<std::size_t>(count), length(buf));
    std::memcpy(blk, buf->start, taken);
    buf->start += taken;
    return static_cast<ssize>(taken);
}

int mprLookAtNextCharInBuf(MprBuf* buf) {
    return buf && length(buf) > 0 ? static_cast<uchar>(*buf->start) : -1;
}

int mprLookAtLastCharInBuf(MprBuf* buf) {
    return buf && length(buf) > 0 ? static_cast<uchar>(buf->end[-1]) : -1;
}

int mprGetCharFromBuf(MprBuf* buf) {
    const int c = mprLookAtNextCharInBuf(buf);
    if (c >= 0) {
        ++buf->start;
    }
    return c;
}

uint mprGetUint16FromBuf(MprBuf* buf) {
    return getBigEndian(buf, sizeof(uint16));
}

uint mprGetUint32FromBuf(MprBuf* buf) {
    return getBigEndian(buf, sizeof(uint32));
}

uint mprPeekUint32FromBuf(MprBuf* buf) {
    return peekBigEndian(buf, sizeof(uint32));
}
