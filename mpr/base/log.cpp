// SPDX-License-Identifier: MIT
/*
    log.cpp - The C API of mpr/log.h: levels, and who a message goes to.
 */
#include "mpr/base/references.hpp"
#include "mpr/log.h"

#include <syslog.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "mpr/app.h"
#include "mpr/barrier.h"
#include "mpr/base/format.hpp"
#include "mpr/base/log_file.hpp"
#include "mpr/base/utf8.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"
#include "mpr/stats.h"
#include "mpr/string.h"

using namespace mpr::base;
namespace os = mpr::os;

namespace {

constexpr std::size_t longestText = 2000;

std::atomic<int> levelInForce{0};
std::atomic<bool> fromCommandLine{false};

/** @return The length of text that was cut at a length, without the part of a character that may be left at its end. */
std::size_t wholeCharacters(cchar* text, std::size_t length) {
    for (std::size_t back = 1; back <= 3 && back <= length; ++back) {
        const auto byte = static_cast<uchar>(text[length - back]);
        if (byte >= 0xc0) {
            return decodeUtf8(text + length - back).length == 0 ? length - back : length;
        }
        if (byte < 0x80) {
            break;
        }
    }
    return length;
}

void emit(cchar* tags, int level, cchar* text, va_list args) {
    char message[longestText + 1];
    FixedSink sink(message, sizeof(message));
    format(sink, text, args);
    const std::size_t length = sink.finish();
    if (!sink.whole()) {
        message[wholeCharacters(message, length)] = '\0';
    }
    if (!os::handOver(tags ? tags : "", level, message)) {
        writeLine(tags, message);
    }
}

/** Emit a message, unless its level is above that in force. */
void emitIfWanted(cchar* tags, int level, cchar* text, va_list args) {
    if (level <= levelInForce.load(std::memory_order_relaxed)) {
        emit(tags, level, text, args);
    }
}

[[gnu::format(printf, 1, 2)]] void emitConfig(cchar* text, ...) {
    va_list args;
    va_start(args, text);
    emit("mpr config", 0, text, args);
    va_end(args);
}

/** What mprStartLogging is told. */
struct Spec {
    char place[longestPath + 1];
    int level;
    bool json;
};

/** Take what follows the last colon off a place, if it is a level or "json", each once. @return false when nothing is. */
bool takeWord(Spec& spec, bool& hasLevel) {
    char* colon = std::strrchr(spec.place, ':');
    if (colon && smatch(colon + 1, "json") && !spec.json) {
        spec.json = true;
    } else if (colon && snumber(colon + 1) && !hasLevel) {
        spec.level = static_cast<int>(std::clamp<int64>(stoiradix(colon + 1, 10, nullptr), INT_MIN, INT_MAX));
        hasLevel = true;
    } else {
        return false;
    }
    *colon = '\0';
    return true;
}

/** @return false when there is no place, or its name is too long. */
bool parse(cchar* text, Spec& spec) {
    if (scopy(spec.place, sizeof(spec.place), text) < 0) {
        return false;
    }
    bool hasLevel = false;
    while (takeWord(spec, hasLevel)) {}
    return spec.place[0] != '\0';
}
} // namespace

void mprLog(cchar* tags, int level, cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    emitIfWanted(tags, level, fmt, args);
    va_end(args);
}

void mprRawLog(int level, cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    emitIfWanted(nullptr, level, fmt, args);
    va_end(args);
}

void mprDebug(cchar* tags, int level, cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    emitIfWanted(tags, level, fmt, args);
    va_end(args);
}

void mprError(cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    emit("error", 0, fmt, args);
    va_end(args);
}

MprLogHandler mprGetLogHandler(void) {
    const os::LogHandler receiver = os::logReceiver();
    return receiver && !isLogFile(receiver) ? receiver : mprDefaultLogHandler;
}

int mprUsingDefaultLogHandler(void) {
    return mprGetLogHandler() == mprDefaultLogHandler ? 1 : 0;
}

void mprDefaultLogHandler(cchar* tags, int level, cchar* msg) {
    writeMessage(tags ? tags : "", level, msg ? msg : "");
}

void mprWriteToOsLog(cchar* msg, int level) {
    syslog(level <= 0 ? LOG_ERR : level == 1 ? LOG_WARNING : LOG_INFO, "%s", msg ? msg : "");
}

void mprAssert(cchar* loc, cchar* msg) {
    mprError("%s: assertion failed: %s", loc ? loc : "", msg ? msg : "");
    if (mprGetDebugMode()) {
        std::abort();
    }
}

int mprGetLogLevel(void) {
    return levelInForce.load(std::memory_order_relaxed);
}

void mprSetLogLevel(int level) {
    levelInForce.store(level, std::memory_order_relaxed);
}

bool mprGetCmdlineLogging(void) {
    return fromCommandLine.load(std::memory_order_relaxed);
}

void mprSetCmdlineLogging(bool on) {
    fromCommandLine.store(on, std::memory_order_relaxed);
}

int mprStartLogging(cchar* logSpec, int flags) {
    Spec spec;
    spec.level = mprGetLogLevel();
    spec.json = (flags & MPR_LOG_JSON) != 0;
    logSpec = logSpec ? logSpec : "stderr";
    if (!parse(logSpec, spec)) {
        mprError("mprStartLogging: \"%s\" names no log, or its name is too long", logSpec);
        return MPR_ERR_BAD_ARGS;
    }
    const LineForm form = spec.json                    ? LineForm::json
                          : (flags & MPR_LOG_DETAILED) ? LineForm::detailed
                                                       : LineForm::common;
    if (const int error = openLog(spec.place, form, (flags & MPR_LOG_ANEW) != 0); error != 0) {
        mprError("mprStartLogging: cannot open the log \"%s\": %s", logSpec, reason(error));
        return MPR_ERR_CANT_OPEN;
    }
    mprSetLogLevel(spec.level);
    if (mpr::gc::running() && mpr::gc::current) {
        Mpr* mpr = mprGetMpr();
        setRef(mpr, mpr->logPath, sclone(spec.place));
    }
    if (flags & MPR_LOG_CMDLINE) {
        mprSetCmdlineLogging(true);
    }
    if (flags & MPR_LOG_CONFIG) {
        mprLogConfig();
    }
    return 0;
}

void mprLogConfig(void) {
    if (mpr::gc::running() && mpr::gc::current) {
        emitConfig("Program: %s, %s, version \"%s\"", mprGetAppName(), mprGetAppTitle(), mprGetAppVersion());
        emitConfig("Path: %s", mprGetAppPath());
        MprMemStats stats;
        mprReadMemStats(&stats);
        emitConfig("Memory: redline %llu, limit %llu, cache %llu bytes",
                   static_cast<unsigned long long>(stats.warnHeap), static_cast<unsigned long long>(stats.maxHeap),
                   static_cast<unsigned long long>(stats.cacheHeap));
    }
    emitConfig("Machine: %d processors, %llu bytes of memory, pages of %d", os::processors(),
               static_cast<unsigned long long>(os::ram()), mprGetPageSize());
}
