// SPDX-License-Identifier: MIT
/*
    print.cpp - The C API of mpr/format.h over the formatter.
 */
#include "mpr/format.h"

#include <cstdio>

#include "mpr/base/format.hpp"

using namespace mpr::base;

namespace {

/** Text for a C stream, handed over whenever the buffer is full and at the end. */
class StreamSink : public Sink {
public:
    explicit StreamSink(std::FILE* stream) : Sink(flush, buffer_, sizeof(buffer_)), stream_(stream) {}

    /** @return Bytes written, or MPR_ERR_CANT_WRITE. */
    ssize finish() { return flush(*this, 0) && whole() ? static_cast<ssize>(written_) : MPR_ERR_CANT_WRITE; }

private:
    static bool flush(Sink& self, std::size_t) {
        auto& sink = static_cast<StreamSink&>(self);
        const auto count = static_cast<std::size_t>(sink.at() - sink.buffer_);
        sink.written_ += count;
        sink.setWindow(sink.buffer_, sink.buffer_ + sizeof(sink.buffer_));
        return std::fwrite(sink.buffer_, 1, count, sink.stream_) == count;
    }

    std::FILE* stream_;
    std::size_t written_ = 0;
    char buffer_[1024];
};

ssize printTo(std::FILE* stream, const char* text, std::va_list args, bool line) {
    StreamSink sink(stream);
    format(sink, text, args);
    if (line) {
        sink.put('\n');
    }
    return sink.finish();
}
} // namespace

char* sfmtv(cchar* fmt, va_list args) {
    StringSink sink;
    format(sink, fmt, args);
    return sink.finish();
}

char* sfmt(cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    char* text = sfmtv(fmt, args);
    va_end(args);
    return text;
}

namespace {
char* formatInto(char* buf, ssize maxSize, cchar* text, va_list args) {
    if (!buf || maxSize < 1) {
        return nullptr;
    }
    FixedSink sink(buf, static_cast<std::size_t>(maxSize));
    format(sink, text, args);
    sink.finish();
    return buf;
}
} // namespace

char* fmt(char* buf, ssize maxSize, cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    buf = formatInto(buf, maxSize, fmt, args);
    va_end(args);
    return buf;
}

__attribute__((alias("fmt"))) char* mprSprintf(char* buf, ssize maxSize, cchar* fmt, ...);

ssize mprPrintf(cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const ssize written = printTo(stdout, fmt, args, false);
    va_end(args);
    return written;
}

ssize print(cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const ssize written = printTo(stdout, fmt, args, true);
    va_end(args);
    return written;
}

ssize mprEprintf(cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const ssize written = printTo(stderr, fmt, args, false);
    va_end(args);
    return written;
}
