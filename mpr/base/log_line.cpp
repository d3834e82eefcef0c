// SPDX-License-Identifier: MIT
/*
    log_line.cpp - Messages as lines: escapes, times, JSON.
 */
#include "mpr/base/log_line.hpp"

#include <cstring>
#include <ctime>

#include "mpr/base/format.hpp"
#include "mpr/base/utf8.hpp"
#include "mpr/format.h"
#include "mpr/thread.h"

namespace mpr::base {

namespace {

constexpr std::size_t longestTags = 100, longestName = 60;

/** A line while it is made. */
class Line : public FixedSink {
public:
    Line(char (&line)[longestLine], LineForm form)
        : FixedSink(line, longestLine - reserve), json_(form == LineForm::json) {}

    [[gnu::format(printf, 2, 3)]] void add(const char* text, ...) {
        std::va_list args;
        va_start(args, text);
        format(*this, text, args);
        va_end(args);
    }

    /** Put text that may be anything; at most so many bytes of it. */
    void quote(const char* text, std::size_t most) {
        const char* const end = text + most;
        while (*text != '\0' && text < end) {
            const Utf8 next = decodeUtf8(text);
            char form[8];
            const char* shown = escape(next, *text, form);
            const std::size_t length = shown ? std::strlen(shown) : next.length;
            if (length > room()) {
                return; // no half of an escape
            }
            put(shown ? shown : text, length);
            text += next.length > 0 ? next.length : 1;
        }
    }

private:
    static constexpr std::size_t reserve = 4; // for what closes a line

    /** @return nullptr for a character that may stand as it is. */
    const char* escape(Utf8 next, char byte, char (&form)[8]) const {
        const auto code = next.length > 0 ? static_cast<unsigned>(next.code) : static_cast<unsigned char>(byte);
        switch (code) {
        case '\n': return "\\n";
        case '\r': return "\\r";
        case '\t': return json_ ? "\\t" : nullptr;
        case '"': return json_ ? "\\\"" : nullptr;
        case '\\': return json_ ? "\\\\" : nullptr;
        default: break;
        }
        // Control characters of ASCII and of ISO 6429, and what Unicode separates lines and paragraphs by.
        const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
        if (next.length > 0 && !control) {
            return nullptr;
        }
        if (json_) {
            fmt(form, sizeof(form), "\\u%04x", next.length > 0 ? code : 0xfffd);
        } else {
            fmt(form, sizeof(form), next.length < 2 ? "\\x%02x" : "\\u%04x", code);
        }
        return form;
    }

    bool json_;
};

void addTime(Line& line) {
    std::timespec now{};
    std::tm utc{};
    std::timespec_get(&now, TIME_UTC);
    gmtime_r(&now.tv_sec, &utc);
    line.add("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
             utc.tm_min, utc.tm_sec, static_cast<int>(now.tv_nsec / 1'000'000));
}

/** @return How much of a text is the message: not the newlines at its end, which the line has itself. */
std::size_t messageLength(const char* text) {
    std::size_t length = std::strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
        --length;
    }
    return length;
}

void addObject(Line& line, const char* tags, int level, const char* text) {
    line.add("{\"time\":\"");
    addTime(line);
    line.add("\",\"level\":%d,\"tags\":\"", level);
    line.quote(tags, longestTags);
    line.add("\",\"thread\":\"");
    line.quote(mprGetCurrentThreadName(), longestName);
    line.add("\",\"text\":\"");
    line.quote(text, messageLength(text));
}

void addText(Line& line, bool detailed, const char* tags, int level, const char* text) {
    if (detailed) {
        addTime(line);
        line.put(' ');
    }
    line.quote(tags, longestTags);
    if (detailed) {
        line.add("%s%d ", *tags ? " " : "", level);
        line.quote(mprGetCurrentThreadName(), longestName);
    }
    if (detailed || *tags) {
        line.add(": ");
    }
    line.quote(text, messageLength(text));
}
} // namespace

std::size_t makeLine(char (&line)[longestLine], LineForm form, const char* tags, int level, const char* text) {
    Line sink(line, form);
    if (form == LineForm::json) {
        addObject(sink, tags, level, text);
    } else {
        addText(sink, form == LineForm::detailed, tags, level, text);
    }
    std::size_t length = sink.finish();
    for (const char* close = form == LineForm::json ? "\"}\n" : "\n"; *close != '\0'; ++close) {
        line[length++] = *close;
    }
    return length;
}

} // namespace mpr::base
