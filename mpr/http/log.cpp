// SPDX-License-Identifier: MIT
/*
    log.cpp - The access log: a line a request, in the common form or as JSON.

    Lines are collected in memory outside of the heap and written when the clock ticks, or when there are many: a
    request costs no call of the system. What a client has sent is escaped: nobody can make a second line.
 */
#include "mpr/http/log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "mpr/log.h"
#include "mpr/os/broken_pipe.hpp"
#include "mpr/os/lock.hpp"
#include "mpr/shutdown.h"
#include "mpr/string.h"
#include "mpr/time.h"

namespace mpr::http {

namespace {

/** The file, and what is to be written to it. */
struct AccessLog {
    os::Lock lock;
    std::atomic<int> fd{-1}; // any thread asks whether there is a log; the rest is guarded by the lock
    std::atomic<int> format{HTTP_LOG_COMMON};
    MprOff most = 0;
    int backup = 0;
    char path[1024] = "";
    std::size_t used = 0;
    char text[16 * 1024] = {};
};
constinit AccessLog accessLog;

constexpr std::size_t mostLine = 4096, mostUri = 2048, mostText = 256;

/** A line in the making. Its fields are cut rather than it, so that it stays what it is. */
class Line {
public:
    void put(std::string_view text) {
        const std::size_t count = text.size() < room() ? text.size() : room();
        std::memcpy(text_ + length_, text.data(), count);
        length_ += count;
    }
    void put(long long number) {
        char digits[24];
        put({digits, static_cast<std::size_t>(std::snprintf(digits, sizeof(digits), "%lld", number))});
    }
    /** Text that a client has sent. @param most Bytes of the line that it may take. */
    void putForeign(const char* text, std::size_t most) {
        for (std::size_t taken = 0; text && *text; ++text) {
            const auto byte = static_cast<unsigned char>(*text);
            const bool plain = byte >= ' ' && byte < 0x7F && byte != '"' && byte != '\\';
            char escaped[8];
            const std::size_t length =
                plain ? 1 : static_cast<std::size_t>(std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte));
            taken += length;
            if (taken > most) {
                return;
            }
            put({plain ? text : escaped, length});
        }
    }
    void end() { text_[length_++] = '\n'; }
    std::string_view text() const { return {text_, length_}; }

private:
    std::size_t room() const { return sizeof(text_) - length_ - 1; }

    std::size_t length_ = 0;
    char text_[mostLine];
};
static_assert(mostUri + 5 * mostText + 512 <= mostLine, "fields, their names, numbers and a date fit into a line");

const char* orDash(const char* text) {
    return text && *text ? text : "-";
}

void writeCommon(const Stream& stream, Line& line) {
    struct tm parts;
    mprDecodeLocalTime(&parts, mprGetTime());
    char date[40];
    const std::size_t length = strftime(date, sizeof(date), "%d/%b/%Y:%H:%M:%S %z", &parts);
    line.putForeign(orDash(stream.ip), mostText);
    line.put(" - ");
    line.putForeign(orDash(stream.username), mostText);
    line.put(" [");
    line.put({date, length});
    line.put("] \"");
    line.putForeign(orDash(stream.rx->method), mostText);
    line.put(" ");
    line.putForeign(orDash(stream.rx->originalUri), mostUri);
    line.put(stream.in().versionMinor > 0 ? " HTTP/1.1\" " : " HTTP/1.0\" ");
    line.put(stream.tx->status);
    line.put(" ");
    line.put(stream.tx->bytesWritten);
}

void writeJson(const Stream& stream, Line& line) {
    struct tm parts;
    const MprTime time = mprGetTime();
    mprDecodeUniversalTime(&parts, time);
    char date[40];
    const std::size_t length = strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
    const auto text = [&line](const char* name, const char* value, std::size_t most) {
        line.put(name);
        line.putForeign(value, most);
        line.put("\"");
    };
    line.put("{\"time\":\"");
    line.put({date, length});
    text("\",\"client\":\"", stream.ip, mostText);
    text(",\"method\":\"", stream.rx->method, mostText);
    text(",\"uri\":\"", stream.rx->originalUri, mostUri);
    line.put(",\"status\":");
    line.put(stream.tx->status);
    line.put(",\"received\":");
    line.put(stream.rx->bytesRead);
    line.put(",\"sent\":");
    line.put(stream.tx->bytesWritten);
    line.put(",\"ms\":");
    line.put(now() - stream.started);
    text(",\"agent\":\"", stream.rx->userAgent, mostText);
    if (stream.errorMsg) {
        text(",\"error\":\"", stream.errorMsg, mostText);
    }
    line.put("}");
}

int openFile(const char* path) {
    // Not to wait for the reader of a named pipe, now or later.
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
}

/** A new file in place of one that is long. If it cannot be opened the old one goes on, under its new name. */
void rotate(AccessLog& log) {
    if (access(log.path, F_OK) == 0) { // else it was renamed before
        mprBackupLog(log.path, log.backup > 0 ? log.backup : 1);
    }
    if (const int fd = openFile(log.path); fd >= 0) {
        ::close(log.fd);
        log.fd = fd;
    }
}

/** Whether so many bytes can be written without waiting: a pipe's reader may have paused. */
bool takes(int fd) {
    pollfd wanted{fd, POLLOUT, 0};
    return poll(&wanted, 1, 0) > 0;
}

/** With the lock. What cannot be written now, on a full disk, say, or to a reader who has paused, waits in memory. */
void writeOut(AccessLog& log) {
    constexpr std::size_t most = PIPE_BUF; // poll(2) speaks for no more
    std::size_t at = 0;
    mpr::os::BrokenPipe broken;
    while (log.fd >= 0 && at < log.used && takes(log.fd)) {
        const ssize count = write(log.fd, log.text + at, std::min(log.used - at, most));
        if (count <= 0) {
            broken.set(count < 0 ? errno : 0, true);
            break;
        }
        at += static_cast<std::size_t>(count);
    }
    log.used -= at;
    std::memmove(log.text, log.text + at, log.used);
    struct stat info;
    if (log.most > 0 && log.fd > 2 && fstat(log.fd, &info) == 0 && info.st_size >= log.most) {
        rotate(log);
    }
}

void shut(AccessLog& log) {
    writeOut(log);
    if (log.fd > 2) {
        ::close(log.fd);
    }
    log.fd = -1;
    log.used = 0;
}
} // namespace

void logRequest(const Stream& stream) {
    const bool isRequest = stream.rx->method || (stream.tx->flags & HTTP_TX_HEADERS_CREATED); // else a part of a head
    if (accessLog.fd < 0 || stream.state < HTTP_STATE_CONNECTED || !isRequest) {
        return;
    }
    Line line;
    if (accessLog.format == HTTP_LOG_JSON) {
        writeJson(stream, line);
    } else {
        writeCommon(stream, line);
    }
    line.end();
    const os::Locked locked(accessLog.lock);
    if (accessLog.used + line.text().size() > sizeof(accessLog.text)) {
        writeOut(accessLog);
    }
    if (accessLog.used + line.text().size() <= sizeof(accessLog.text)) { // else it is lost, and the service goes on
        std::memcpy(accessLog.text + accessLog.used, line.text().data(), line.text().size());
        accessLog.used += line.text().size();
    }
}

void flushLog() {
    const os::Locked locked(accessLog.lock);
    if (accessLog.used > 0) {
        writeOut(accessLog);
    }
}

void closeLog() {
    const os::Locked locked(accessLog.lock);
    shut(accessLog);
}

} // namespace mpr::http

using namespace mpr::http;

int httpSetAccessLog(cchar* path, int format, ssize size, int backup) {
    if (!httpCreate(HTTP_SERVER_SIDE)) {
        return MPR_ERR_MEMORY;
    }
    int fd = -1;
    if (path) {
        fd = smatch(path, "stdout")                       ? 1
             : smatch(path, "stderr")                     ? 2
             : slen(path) < ssize{sizeof(accessLog.path)} ? openFile(path)
                                                          : -1;
        if (fd < 0) {
            mprLog("error http", 0, "the access log %s cannot be opened: %s", path, std::strerror(mprGetOsError()));
            return MPR_ERR_CANT_OPEN;
        }
    }
    const mpr::os::Locked locked(accessLog.lock);
    shut(accessLog);
    accessLog.fd = fd;
    accessLog.format = format;
    accessLog.most = size;
    accessLog.backup = backup;
    scopy(accessLog.path, sizeof(accessLog.path), path ? path : "");
    return 0;
}
