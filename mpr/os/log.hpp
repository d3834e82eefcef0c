// SPDX-License-Identifier: MIT
/*
    log.hpp - Messages that must get out when memory is short: built in a fixed buffer on the stack, handed to one
    handler. No printf here: it is larger than the collector on a small board, and may allocate.
 */
#pragma once

#include <cstddef>
#include <string_view>

#include "mpr/os/target.hpp"

namespace mpr::os {

/** Same type as the public MprLogHandler. */
using LogHandler = void (*)(const char* tags, int level, const char* text);

/** Text of at most messageLength characters; what does not fit is cut. */
class Message {
public:
    Message& operator<<(std::string_view text);
    Message& operator<<(const char* text) { return *this << std::string_view(text); }
    Message& operator<<(const void* address);
    Message& operator<<(unsigned long number);
    Message& operator<<(unsigned long long number);
    Message& operator<<(unsigned number) { return *this << static_cast<unsigned long>(number); }
    Message& operator<<(int number);
    /** A code address: its name where the system knows one, else the number. */
    Message& code(const void* address);

    const char* text();
    std::size_t length() const { return length_; }
    std::string_view view() const { return {text_, length_}; }

private:
    char text_[messageLength + 1];
    std::size_t length_ = 0;
};

enum class Level { error = 0, warning = 1, info = 2 };

/**
    Hand a message to the handler, or write it to the console as "mpr error: text". Any thread. The handler is the program's:
    the caller holds no lock (assertUnlocked), but may be on duty for the collector. A message that the handler itself
    causes goes to the console.
 */
void log(Level level, Message& message);
/**
    Whether the process ends when a mistake of the program has been named: option check=abort. Set before there are threads
    that name any.
 */
void endAtMistake(bool on);
[[gnu::cold]] void endIfSo();
/** A mistake of the program has been named. Any state. */
inline void afterMistake() {
    if constexpr (hasThreads) {
        endIfSo();
    }
}
/** Deliver the last message of the process: like log(), whatever the caller holds. */
void deliver(Level level, Message& message);
/**
    Hand text to the handler, or else to the sink. @return false when there is neither, or the calling thread is inside of one:
    the text is for the console.
 */
bool handOver(const char* tags, int level, const char* text);
/** Who gets messages now: the handler, else the sink, else nullptr for the console. */
LogHandler logReceiver();
/** Whether the calling thread is inside the handler, in a call of handOver. */
extern constinit MPR_PER_THREAD bool inLogHandler;
inline bool isLogging() {
    return inLogHandler;
}

/** @return The previous handler. nullptr: the sink. */
LogHandler setLogHandler(LogHandler handler);

/** Who gets messages while there is no handler. nullptr: the console. */
void setLogSink(LogHandler sink);

} // namespace mpr::os
