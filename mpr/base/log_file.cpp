/*
    log_file.cpp - A log file and its backups. See mpr/log.h.

    One lock guards the file and what is set about it. Under it there are only writes and renames: no allocation from the
    heap, no messages.
 */
#include "mpr/base/log_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "mpr/base/format.hpp"
#include "mpr/log.h"
#include "mpr/os/lock.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"
#include "mpr/string.h"
#include "mpr/thread.h"

namespace mpr::base {

namespace {

constexpr std::size_t longestLine = 2200;
constexpr int mostBackups = 1000;

struct Log {
    os::Lock lock;
    std::FILE* file = nullptr; // nullptr: nothing is written
    bool named = false;        // a file of its own, not a standard stream
    std::size_t size = 0;      // of the file
    std::size_t limit = 0;     // of size; 0: none
    int backups = 0;
    bool anew = false;
    std::atomic<bool> detailed{false};
    char path[longestPath + 1] = {};
};

constinit Log theLog;

[[gnu::format(printf, 2, 3)]] void add(Sink& sink, const char* text, ...) {
    std::va_list args;
    va_start(args, text);
    format(sink, text, args);
    va_end(args);
}

void addTime(Sink& sink) {
    std::timespec now{};
    std::tm utc{};
    std::timespec_get(&now, TIME_UTC);
    gmtime_r(&now.tv_sec, &utc);
    add(sink, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
        utc.tm_min, utc.tm_sec, static_cast<int>(now.tv_nsec / 1'000'000));
}

/** @param line Room for a line. @return Its length, newline included. */
std::size_t makeLine(char (&line)[longestLine], const char* tags, int level, const char* text, bool detailed) {
    FixedSink sink(line, sizeof(line) - 1);
    if (detailed) {
        addTime(sink);
        add(sink, "%.100s%s%d %s: ", tags, *tags ? " " : "", level, mprGetCurrentThreadName());
    } else if (*tags) {
        add(sink, "%.100s: ", tags);
    }
    add(sink, "%s", text);
    const std::size_t length = sink.finish();
    line[length] = '\n';
    return length + 1;
}

/** A file that is written without a buffer, so that nothing is lost when the process dies. */
std::FILE* openFile(const char* path, bool anew, std::size_t& size) {
    std::FILE* file = std::fopen(path, anew ? "we" : "ae");
    if (file) {
        std::setvbuf(file, nullptr, _IONBF, 0);
        std::fseek(file, 0, SEEK_END);
        const long end = std::ftell(file);
        size = end > 0 ? static_cast<std::size_t>(end) : 0;
    }
    return file;
}

/** Keep the old file as a backup and start an empty one. */
void rotate(Log& log) {
    std::fclose(log.file);
    if (log.backups > 0) {
        mprBackupLog(log.path, log.backups);
    }
    log.file = openFile(log.path, true, log.size);
    if (!log.file) {
        log.file = stderr; // better there than lost
        log.named = false;
    }
}

/** The receiver of messages while a log is open. */
void take(const char* tags, int level, const char* text) {
    char line[longestLine];
    Log& log = theLog;
    const std::size_t length = makeLine(line, tags, level, text, log.detailed.load(std::memory_order_relaxed));
    const os::Locked guard(log.lock);
    if (log.named && log.limit > 0 && log.size > 0 && length > log.limit - std::min(log.size, log.limit)) {
        rotate(log);
    }
    if (log.file) {
        log.size += std::fwrite(line, 1, length, log.file);
        std::fflush(log.file);
    }
}

std::FILE* standardStream(const char* place) {
    return smatch(place, "stdout") ? stdout : smatch(place, "stderr") ? stderr : nullptr;
}
} // namespace

int openLog(const char* place, int flags) {
    Log& log = theLog;
    const os::Locked guard(log.lock);
    std::FILE* file = standardStream(place);
    const bool named = !file && !smatch(place, "none");
    std::size_t size = 0;
    if (named) {
        const bool anew = (flags & MPR_LOG_ANEW) || log.anew;
        if (anew && log.backups > 0) {
            mprBackupLog(place, log.backups);
        }
        file = openFile(place, anew, size);
        if (!file) {
            return MPR_ERR_CANT_OPEN;
        }
    }
    if (log.named) {
        std::fclose(log.file);
    }
    log.file = file;
    log.named = named;
    log.size = size;
    log.detailed.store((flags & MPR_LOG_DETAILED) != 0, std::memory_order_relaxed);
    scopy(log.path, sizeof(log.path), place);
    os::setLogSink(take);
    return 0;
}

void writeLine(const char* tags, const char* text) {
    char line[longestLine];
    os::write(line, makeLine(line, tags ? tags : "", 0, text, false));
}

} // namespace mpr::base

using namespace mpr::base;

void mprSetLogBackup(ssize logSize, int backupCount, int flags) {
    const mpr::os::Locked guard(theLog.lock);
    theLog.limit = logSize > 0 ? static_cast<std::size_t>(logSize) : 0;
    theLog.backups = backupCount > 0 ? backupCount : 0;
    theLog.anew = (flags & MPR_LOG_ANEW) != 0;
}

int mprBackupLog(cchar* path, int count) {
    constexpr ssize suffix = 16;
    char from[longestPath + suffix], to[longestPath + suffix];
    if (!path || *path == '\0' || slen(path) > static_cast<ssize>(longestPath) || count < 1) {
        return MPR_ERR_BAD_ARGS;
    }
    int status = 0;
    for (int i = std::min(count, mostBackups); i > 0; --i) {
        fmt(to, sizeof(to), "%s.%d", path, i);
        fmt(from, sizeof(from), i > 1 ? "%s.%d" : "%s", path, i - 1);
        // Most of them need not exist.
        if (std::rename(from, to) != 0 && errno != ENOENT) {
            status = MPR_ERR_CANT_WRITE;
        }
    }
    return status;
}
