// SPDX-License-Identifier: MIT
/*
    log_file.cpp - A log file and its backups. See mpr/log.h.

    One lock guards the file and what is set about it. Under it there are only writes and renames: no allocation from the
    heap, no messages. What goes wrong with the log itself is said on the console, once until it goes well again.
 */
#include "mpr/base/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "mpr/base/replacing.hpp"
#include "mpr/log.h"
#include "mpr/os/broken_pipe.hpp"
#include "mpr/os/lock.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"
#include "mpr/string.h"

namespace mpr::base {

namespace {

constexpr int mostBackups = 1000;
constexpr mode_t privately = 0600; // messages may tell what is nobody else's business

struct Log {
    os::Lock lock;
    int file = -1;               // a file of its own,
    std::FILE* stream = nullptr; // or a standard stream; neither: nothing is written
    std::size_t size = 0;        // of the file
    std::size_t limit = 0;       // of size; 0: none
    std::size_t rotateAt = 0;    // the size before which no backup is tried again
    int backups = 0;
    bool anew = false;
    bool rotates = false;   // it is a file, not a pipe or a device, whose name is no log's to change
    bool stuck = false;     // the last backup was refused
    bool cut = false;       // the last line is not whole
    unsigned long lost = 0; // lines since the log could be written
    std::atomic<LineForm> form{LineForm::common};
    std::atomic<bool> opened{false};
    char path[longestPath + 1] = {};
};

constinit Log theLog;

/** Say on the console what is wrong with a log. */
void complain(const char* path, const char* what, const char* why) {
    char text[longestPath + 200];
    fmt(text, sizeof(text), "the log \"%s\" %s: %s", path, what, why);
    writeLine("mpr error", text);
}

/**
    Open a file to append to; if it is made, for its owner alone. Where a program with rights writes into a folder of others,
    what they put in place of the log is not followed.
    @return The descriptor; or -1, and errno is set.
 */
int openFile(const char* path) {
    // Not to wait for the reader of a named pipe, now or later.
    constexpr int how = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
    int file;
    do {
        file = open(path, how, privately);
    } while (file < 0 && errno == EINTR);
    return file;
}

std::size_t sizeOf(int file) {
    struct stat status;
    return fstat(file, &status) == 0 && status.st_size > 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

/** @param file -1: none. */
void setFile(Log& log, int file) {
    struct stat status {};
    log.file = file;
    log.rotates = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    log.size = log.rotates ? static_cast<std::size_t>(status.st_size) : 0;
}

bool hasBackup(const Log& log, const char* path) {
    return log.backups == 0 || mprBackupLog(path, log.backups) == 0;
}

/** Empty an opened file. A pipe, or anything else that is no file, is empty anyway. */
void empty(int file) {
    if (sizeOf(file) > 0 && ftruncate(file, 0) != 0) {
        return; // appended to, then
    }
}

/** Put a new, empty file in place of the log's, with its owner and permissions. @return 0 or an error: the log is as it was. */
int startFile(Log& log) {
    const int file = openFile(log.path);
    if (file < 0) {
        return errno;
    }
    struct stat old;
    if (fstat(log.file, &old) == 0) {
        takeOver(file, old);
    }
    empty(file);
    if (close(log.file) != 0 && errno != EINTR) {
        complain(log.path, "may not be whole", reason(errno));
    }
    setFile(log, file);
    return 0;
}

/** Keep the old file as a backup and start an empty one. If that is refused, go on with the old one. */
void rotate(Log& log) {
    const int error = hasBackup(log, log.path) ? startFile(log) : errno;
    if (error != 0 && !log.stuck) {
        complain(log.path, "grows past its limit, it cannot become a backup", reason(error));
    }
    log.stuck = error != 0;
    log.rotateAt = log.stuck ? log.size + log.limit : 0;
}

/** @return 0 or an error; the line may be written in part, then. */
int writeFile(Log& log, const char* text, std::size_t length) {
    while (length > 0) {
        const ssize_t written = write(log.file, text, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? errno : EIO;
        }
        const auto count = static_cast<std::size_t>(written);
        log.cut = count < length;
        log.size += count;
        text += count;
        length -= count;
    }
    return 0;
}

int writeStream(Log& log, const char* text, std::size_t length) {
    errno = 0;
    if (std::fwrite(text, 1, length, log.stream) == length && std::fflush(log.stream) == 0) {
        return 0;
    }
    std::clearerr(log.stream);
    return errno != 0 ? errno : EIO;
}

int writeText(Log& log, const char* text, std::size_t length) {
    os::BrokenPipe broken; // nobody reads any more: an error of the log, and no signal for the program
    const int error = log.file >= 0 ? writeFile(log, text, length) : log.stream ? writeStream(log, text, length) : 0;
    broken.set(error, error != 0);
    return error;
}

/** Once a log can be written again: end the line that was cut, and say how many were lost. @return 0 or an error. */
int resume(Log& log) {
    if (log.cut) {
        if (const int error = writeText(log, "\n", 1); error != 0) {
            return error;
        }
        log.cut = false;
    }
    if (log.lost == 0) {
        return 0;
    }
    char text[80], line[longestLine];
    fmt(text, sizeof(text), "the log: %lu %s lost here", log.lost, log.lost == 1 ? "line was" : "lines were");
    const LineForm form = log.form.load(std::memory_order_relaxed);
    const int error = writeText(log, line, makeLine(line, form, "mpr error", 0, text));
    if (error == 0) {
        log.lost = 0;
    }
    return error;
}

/** The receiver of messages while a log is open. */
void take(const char* tags, int level, const char* text) {
    char line[longestLine];
    Log& log = theLog;
    const std::size_t length = makeLine(line, log.form.load(std::memory_order_relaxed), tags, level, text);
    const os::Locked guard(log.lock);
    const bool full = log.limit > 0 && log.size > 0 && length > log.limit - std::min(log.size, log.limit);
    if (log.rotates && full && log.size >= log.rotateAt) {
        rotate(log);
    }
    int error = resume(log);
    error = error == 0 ? writeText(log, line, length) : error;
    if (error != 0 && log.lost++ == 0 && log.stream != stderr) {
        complain(log.path, "cannot be written, lines are lost until it can", reason(error));
    }
}

std::FILE* standardStream(const char* place) {
    return smatch(place, "stdout") || smatch(place, "/dev/stdout")   ? stdout
           : smatch(place, "stderr") || smatch(place, "/dev/stderr") ? stderr
                                                                     : nullptr;
}

/** The file of a place, started anew if that was asked for. @return A descriptor; or -1, and errno is set. */
int openPlace(const Log& log, const char* place, bool anew) {
    const int file = openFile(place);
    if (file < 0 || !anew || sizeOf(file) == 0) {
        return file;
    }
    if (log.backups == 0) {
        empty(file);
        return file;
    }
    if (!hasBackup(log, place)) {
        complain(place, "is appended to, it cannot become a backup", reason(errno));
        return file;
    }
    close(file); // nothing was written
    return openFile(place);
}

void closeFile(Log& log) {
    if (log.lost > 0 && log.stream != stderr) {
        char count[40];
        fmt(count, sizeof(count), "%lu lines were lost", log.lost);
        complain(log.path, "is closed", count);
    }
    if (log.file >= 0 && close(log.file) != 0 && errno != EINTR) {
        complain(log.path, "may not be whole", reason(errno));
    }
    log.lost = 0;
    log.cut = log.stuck = false;
    log.rotateAt = 0;
}

/** Put a log in place of the present one. @param file,stream One of them, or none. */
void install(Log& log, int file, std::FILE* stream, const char* place, LineForm form) {
    os::assertHeld(log.lock);
    closeFile(log);
    setFile(log, file);
    log.stream = stream;
    log.form.store(form, std::memory_order_relaxed);
    scopy(log.path, sizeof(log.path), place);
    log.opened.store(true, std::memory_order_release);
    os::setLogSink(take);
}
} // namespace

const char* reason(int error) {
    return error == ELOOP ? "symbolic links are not followed" : std::strerror(error);
}

int openLog(const char* place, LineForm form, bool anew) {
    Log& log = theLog;
    const os::Locked guard(log.lock);
    std::FILE* stream = standardStream(place);
    int file = -1;
    if (!stream && !smatch(place, "none")) {
        file = openPlace(log, place, anew || log.anew);
        if (file < 0) {
            return errno;
        }
    }
    install(log, file, stream, place, form);
    return 0;
}

void openLog(int file, const char* name) {
    // Other writers of the same file may have another position.
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_APPEND);
    const os::Locked guard(theLog.lock);
    install(theLog, file, nullptr, name, LineForm::common);
    theLog.rotates = false; // its name is the program's
}

void writeLine(const char* tags, const char* text) {
    char line[longestLine];
    os::write(line, makeLine(line, LineForm::common, tags ? tags : "", 0, text));
}

void writeMessage(const char* tags, int level, const char* text) {
    if (theLog.opened.load(std::memory_order_acquire)) {
        take(tags, level, text);
    } else {
        writeLine(tags, text);
    }
}

bool isLogFile(os::LogHandler receiver) {
    return receiver == take;
}

} // namespace mpr::base

using namespace mpr::base;

void mprSetLogBackup(ssize logSize, int backupCount, int flags) {
    const mpr::os::Locked guard(theLog.lock);
    theLog.limit = logSize > 0 ? static_cast<std::size_t>(logSize) : 0;
    theLog.backups = backupCount > 0 ? backupCount : 0;
    theLog.anew = (flags & MPR_LOG_ANEW) != 0;
    theLog.rotateAt = 0;
}

int mprBackupLog(cchar* path, int count) {
    constexpr ssize suffix = 16;
    char from[longestPath + suffix], to[longestPath + suffix];
    if (!path || *path == '\0' || slen(path) > static_cast<ssize>(longestPath) || count < 1) {
        return MPR_ERR_BAD_ARGS;
    }
    for (int i = std::min(count, mostBackups); i > 0; --i) {
        fmt(to, sizeof(to), "%s.%d", path, i);
        fmt(from, sizeof(from), i > 1 ? "%s.%d" : "%s", path, i - 1);
        // Most of them need not exist. If one stays where it is, the next must not take its place.
        if (std::rename(from, to) != 0 && errno != ENOENT) {
            return MPR_ERR_CANT_WRITE;
        }
    }
    return 0;
}
