/*
    log.cpp - The C API of mpr/log.h: levels, and who a message goes to.
 */
#include "mpr/log.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>

#include "mpr/app.h"
#include "mpr/base/format.hpp"
#include "mpr/base/log_file.hpp"
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

void emit(cchar* tags, int level, cchar* text, va_list args) {
    char message[longestText + 1];
    FixedSink sink(message, sizeof(message));
    format(sink, text, args);
    sink.finish();
    if (!os::handOver(tags ? tags : "", level, message)) {
        writeLine(tags, message);
    }
}

[[gnu::format(printf, 1, 2)]] void emitConfig(cchar* text, ...) {
    va_list args;
    va_start(args, text);
    emit("mpr config", 0, text, args);
    va_end(args);
}

/** Take a level off the end of a specification. @return The length of the place, and level unchanged if there is none. */
std::size_t takeLevel(cchar* spec, int& level) {
    cchar* colon = std::strrchr(spec, ':');
    if (!colon || !snumber(colon + 1)) {
        return std::strlen(spec);
    }
    level = static_cast<int>(std::clamp<int64>(stoiradix(colon + 1, 10, nullptr), INT_MIN, INT_MAX));
    return static_cast<std::size_t>(colon - spec);
}
} // namespace

void mprLog(cchar* tags, int level, cchar* fmt, ...) {
    if (level > levelInForce.load(std::memory_order_relaxed)) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    emit(tags, level, fmt, args);
    va_end(args);
}

void mprDebug(cchar* tags, int level, cchar* fmt, ...) {
    if (level > levelInForce.load(std::memory_order_relaxed)) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    emit(tags, level, fmt, args);
    va_end(args);
}

void mprError(cchar* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    emit("error", 0, fmt, args);
    va_end(args);
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
    int level = mprGetLogLevel();
    logSpec = logSpec ? logSpec : "stderr";
    char place[longestPath + 1];
    const ssize length = sncopy(place, sizeof(place), logSpec, static_cast<ssize>(takeLevel(logSpec, level)));
    const int status = length < 1 ? MPR_ERR_BAD_ARGS : openLog(place, flags);
    if (status != 0) {
        mprError("mprStartLogging: cannot open the log \"%s\"", logSpec);
        return status;
    }
    mprSetLogLevel(level);
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
