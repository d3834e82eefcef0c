/*
    buffer.cpp - Byte buffers. See mpr/buffer.h.

    The bytes stand in a leaf block of their own, one byte larger than the buffer's size so that a terminating zero always
    fits. start <= end <= size <= maxSize. When room is wanting, the contents move into a larger block, and the old one is
    left to the collector: the caller may hold pointers into it until it yields, and may be putting from it. When half of the
    room or more is in front of the contents, they are moved to the front instead.
 */
#include "mpr/buffer.h"

#include <algorithm>
#include <cstring>

#include "mpr/barrier.h"
#include "mpr/base/format.hpp"
#include "mpr/base/references.hpp"
#include "mpr/base/string.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"
#include "mpr/string.h"

using mpr::base::boundedLength;
using mpr::base::format;
using mpr::base::newString;
using mpr::base::StringSink;
using mpr::gc::misuse;

struct MprBuf {
    char* data; // managed
    std::size_t start, end, size, maxSize;
};

namespace {

constexpr std::size_t defaultSize = 1024;
constexpr std::size_t unlimited = PTRDIFF_MAX;

void manageBuf(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<MprBuf*>(ptr)->data);
    }
}

MprBuf* makeBuf(std::size_t size, std::size_t maxSize) {
    auto* buf = mpr::base::makeReferring<MprBuf>(manageBuf);
    auto* data = buf ? static_cast<char*>(mprAlloc(size + 1)) : nullptr;
    if (!data) {
        return nullptr;
    }
    mprSetRef(buf, &buf->data, data);
    buf->size = size;
    buf->maxSize = maxSize;
    return buf;
}

std::size_t length(const MprBuf* buf) {
    return buf->end - buf->start;
}

std::size_t space(const MprBuf* buf) {
    return buf->size - buf->end;
}

/** Put the contents at the start of a new block. */
int moveTo(MprBuf* buf, std::size_t size) {
    auto* const data = static_cast<char*>(mprAlloc(size + 1));
    if (!data) {
        return MPR_ERR_MEMORY;
    }
    std::memcpy(data, buf->data + buf->start, length(buf));
    mprSetRef(buf, &buf->data, data);
    buf->end = length(buf);
    buf->start = 0;
    buf->size = size;
    return 0;
}

/**
    A size with room for so much more, or all that may be when it is not enough. The present one will do when that wins half
    of it at least, or else a put and a get by turns would move the contents every time.
 */
std::size_t sizeFor(const MprBuf* buf, std::size_t wanted) {
    const std::size_t held = length(buf);
    if (wanted > buf->maxSize - held) {
        return buf->maxSize;
    }
    if (held + wanted <= buf->size && (held <= buf->size / 2 || buf->size == buf->maxSize)) {
        return buf->size;
    }
    const std::size_t doubled = buf->size > buf->maxSize / 2 ? buf->maxSize : 2 * buf->size;
    return std::max(doubled, held + wanted);
}

/**
    Make room behind the contents, for as much as wanted or else for as much as there can be.
    @param source What will be put: contents are not overwritten when they are that.
    @return 0 when there is room for all.
 */
int makeRoom(MprBuf* buf, std::size_t wanted, const char* source) {
    if (wanted <= space(buf)) {
        return 0;
    }
    const std::size_t size = sizeFor(buf, wanted);
    const int status = size - length(buf) < wanted ? MPR_ERR_TOO_MANY : 0;
    if (size == buf->size) {
        const auto address = reinterpret_cast<std::uintptr_t>(source);
        const auto first = reinterpret_cast<std::uintptr_t>(buf->data);
        if (address >= first && address <= first + size) {
            return buf->start == 0 || moveTo(buf, size) == 0 ? status : MPR_ERR_MEMORY;
        }
        std::memmove(buf->data, buf->data + buf->start, length(buf));
        buf->end = length(buf);
        buf->start = 0;
        return status;
    }
    // Twice the size may be too much where the least is not.
    if (moveTo(buf, size) == 0 || (status == 0 && moveTo(buf, length(buf) + wanted) == 0)) {
        return status;
    }
    return MPR_ERR_MEMORY;
}

void putBigEndian(MprBuf* buf, uint32 num, std::size_t bytes) {
    char out[sizeof(num)];
    for (std::size_t i = 0; i < bytes; ++i) {
        out[i] = static_cast<char>(num >> (8 * (bytes - 1 - i)));
    }
    if (buf && makeRoom(buf, bytes, nullptr) == 0) {
        std::memcpy(buf->data + buf->end, out, bytes);
        buf->end += bytes;
    }
}
} // namespace

MprBuf* mprCreateBuf(ssize initialSize, ssize maxSize) {
    const std::size_t most = maxSize > 0 ? static_cast<std::size_t>(maxSize) : unlimited;
    const std::size_t size = initialSize > 0 ? static_cast<std::size_t>(initialSize) : defaultSize;
    return makeBuf(std::min(size, most), most);
}

MprBuf* mprCloneBuf(MprBuf* orig) {
    MprBuf* buf = orig ? makeBuf(orig->size, orig->maxSize) : nullptr;
    if (buf) {
        mprPutBlockToBuf(buf, orig->data + orig->start, mprGetBufLength(orig));
    }
    return buf;
}

// ---- What it holds ----------------------------------------------------------------------------------------------

ssize mprGetBufLength(MprBuf* buf) {
    return buf ? static_cast<ssize>(length(buf)) : 0;
}

ssize mprGetBufSize(MprBuf* buf) {
    return buf ? static_cast<ssize>(buf->size) : 0;
}

ssize mprGetBufSpace(MprBuf* buf) {
    return buf ? static_cast<ssize>(space(buf)) : 0;
}

char* mprGetBufStart(MprBuf* buf) {
    return buf ? buf->data + buf->start : nullptr;
}

char* mprGetBufEnd(MprBuf* buf) {
    return buf ? buf->data + buf->end : nullptr;
}

char* mprBufToString(MprBuf* buf) {
    return buf ? newString(buf->data + buf->start, length(buf)) : nullptr;
}

void mprFlushBuf(MprBuf* buf) {
    if (buf) {
        buf->start = buf->end = 0;
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
    buf->end += static_cast<std::size_t>(count);
}

void mprAdjustBufStart(MprBuf* buf, ssize count) {
    if (!buf) {
        return;
    }
    if (count > mprGetBufLength(buf) || count < -static_cast<ssize>(buf->start)) {
        misuse("mprAdjustBufStart", buf, "the start would leave the buffer or come behind the end");
        return;
    }
    buf->start += static_cast<std::size_t>(count);
}

void mprAddNullToBuf(MprBuf* buf) {
    if (buf) {
        buf->data[buf->end] = '\0';
    }
}

int mprGrowBuf(MprBuf* buf, ssize count) {
    if (!buf) {
        return MPR_ERR_BAD_ARGS;
    }
    const std::size_t more = count > 0 ? static_cast<std::size_t>(count) : buf->size;
    return more > buf->maxSize - buf->size ? MPR_ERR_TOO_MANY : moveTo(buf, buf->size + more);
}

// ---- Put --------------------------------------------------------------------------------------------------------

ssize mprPutBlockToBuf(MprBuf* buf, cchar* ptr, ssize size) {
    if (!buf || !ptr || size < 1) {
        return 0;
    }
    makeRoom(buf, static_cast<std::size_t>(size), ptr);
    const std::size_t count = std::min(static_cast<std::size_t>(size), space(buf));
    std::memmove(buf->data + buf->end, ptr, count);
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
    StringSink sink(buf->maxSize - length(buf));
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
        buf->data[buf->end++] = static_cast<char>(c);
    }
    return status;
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
    std::memcpy(blk, buf->data + buf->start, taken);
    buf->start += taken;
    return static_cast<ssize>(taken);
}

int mprLookAtNextCharInBuf(MprBuf* buf) {
    return buf && length(buf) > 0 ? static_cast<uchar>(buf->data[buf->start]) : -1;
}

int mprGetCharFromBuf(MprBuf* buf) {
    const int c = mprLookAtNextCharInBuf(buf);
    if (c >= 0) {
        ++buf->start;
    }
    return c;
}

uint mprGetUint32FromBuf(MprBuf* buf) {
    char in[sizeof(uint32)];
    if (mprGetBufLength(buf) < static_cast<ssize>(sizeof(in))) {
        return 0;
    }
    mprGetBlockFromBuf(buf, in, sizeof(in));
    uint32 num = 0;
    for (const char byte : in) {
        num = num << 8 | static_cast<uchar>(byte);
    }
    return num;
}
