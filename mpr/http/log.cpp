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
#include <utility>

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
    bool owns = false;   // it closes the file
    bool isFile = false; // not a pipe, a terminal or a socket
    bool waits = false;  // not all could be written
    MprTicks tried = 0;  // when that was last tried
    bool cut = false;    // a part of a line was
    long long lost = 0;  // lines that found no room
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

/** Not to wait for the reader of a named pipe, now or later. */
constexpr int how = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

int openFile(const char* path) {
    return open(path, how | O_CREAT | O_NOFOLLOW, 0600);
}

bool isRegular(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

/** An end of its own of what a standard descriptor is, as others want theirs to wait. But a file has one place to write at. */
int openStandard(int fd) {
    const int own = isRegular(fd) ? -1 : open(fd == 1 ? "/proc/self/fd/1" : "/proc/self/fd/2", how);
    return own >= 0 ? own : fd;
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

/** Whether a piece can be written without waiting: where a socket is the standard output it has to be asked. */
bool takes(int fd) {
    pollfd wanted{fd, POLLOUT, 0};
    return poll(&wanted, 1, 0) > 0;
}

static_assert(mostLine <= PIPE_BUF);

/** The bytes to be written at once, which others who write to the same place do not tear: all to a file, else some lines. */
std::size_t pieceOf(const AccessLog& log, std::size_t from) {
    const std::string_view rest(log.text + from, log.used - from);
    return log.isFile || rest.size() <= PIPE_BUF ? rest.size() : rest.rfind('\n', PIPE_BUF - 1) + 1;
}

void drop(AccessLog& log, std::size_t count) {
    log.used -= count;
    std::memmove(log.text, log.text + count, log.used);
}

/** With the lock. Bytes that cannot be written now wait in memory: the disk is full, say, or a reader has paused. */
void writeOut(AccessLog& log) {
    std::size_t at = 0;
    mpr::os::BrokenPipe broken;
    while (log.fd >= 0 && at < log.used && takes(log.fd)) {
        const ssize count = write(log.fd, log.text + at, pieceOf(log, at));
        if (count <= 0) {
            broken.set(count < 0 ? errno : 0, true);
            break;
        }
        at += static_cast<std::size_t>(count);
    }
    if (at > 0) {
        log.cut = log.text[at - 1] != '\n';
        drop(log, at);
    }
    log.tried = now();
    struct stat info;
    const bool isLong = log.isFile && log.owns && log.most > 0 && fstat(log.fd, &info) == 0 && info.st_size >= log.most;
    if (isLong && log.cut && at == 0) { // for the rest of a line there is no room any more
        drop(log, std::string_view(log.text, log.used).find('\n') + 1);
        log.cut = false;
        ++log.lost;
    }
    if (isLong && !log.cut) {
        rotate(log);
    }
    log.waits = log.used > 0;
}

void shut(AccessLog& log) {
    writeOut(log);
    if (log.owns) {
        ::close(log.fd);
    }
    log.fd = -1;
    log.owns = false;
    log.used = 0;
    log.waits = log.cut = false;
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
    const auto fits = [&line] { return accessLog.used + line.text().size() <= sizeof(accessLog.text); };
    if (!fits() &&
        (!accessLog.waits || accessLog.tried != now())) { // a reader who goes on is looked for once a millisecond
        writeOut(accessLog);
    }
    if (fits()) {
        std::memcpy(accessLog.text + accessLog.used, line.text().data(), line.text().size());
        accessLog.used += line.text().size();
    } else {
        ++accessLog.lost;
    }
}

bool flushLog() {
    long long lost = 0;
    bool waits = false;
    {
        const os::Locked locked(accessLog.lock);
        if (accessLog.used > 0) {
            writeOut(accessLog);
        }
        waits = accessLog.waits;
        lost = waits ? 0 : std::exchange(accessLog.lost, 0);
    }
    if (lost > 0) {
        mprLog("error http", 0, "%lld lines of the access log are lost: it could not be written", lost);
    }
    return waits;
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
    const int standard = smatch(path, "stdout") ? 1 : smatch(path, "stderr") ? 2 : -1;
    int fd = -1;
    if (path) {
        fd = standard > 0 ? openStandard(standard) : slen(path) < ssize{sizeof(accessLog.path)} ? openFile(path) : -1;
        if (fd < 0) {
            mprLog("error http", 0, "the access log %s cannot be opened: %s", path, std::strerror(mprGetOsError()));
            return MPR_ERR_CANT_OPEN;
        }
    }
    const mpr::os::Locked locked(accessLog.lock);
    shut(accessLog);
    accessLog.fd = fd;
    accessLog.owns = fd != standard;
    accessLog.isFile = isRegular(fd);
    accessLog.format = format;
    accessLog.most = size;
    accessLog.backup = backup;
    scopy(accessLog.path, sizeof(accessLog.path), path ? path : "");
    return 0;
}
