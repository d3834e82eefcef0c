// SPDX-License-Identifier: MIT
/*
    json_print.cpp - Trees of JSON made into texts. See mpr/json.h.

    A loop and a stack of the objects and arrays that are open. A text is always JSON, whatever bytes a program has put
    into names and values.
 */
#include "mpr/base/ascii.hpp"
#include "mpr/base/format.hpp"
#include "mpr/base/json_print.hpp"
#include "mpr/base/utf8.hpp"
#include "mpr/buffer.h"
#include "mpr/log.h"

namespace mpr::base::json {

namespace {

/** What a byte of a string is printed as: 0: itself; u: \\u and its number; m: part of a character that is not
    ASCII. */
constexpr char escapeOf(char c) {
    constexpr std::string_view meant = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    const std::size_t at = meant.find(c);
    return at != std::string_view::npos           ? letters[at]
           : static_cast<unsigned char>(c) < 0x20 ? 'u'
           : (c & 0x80) != 0                      ? 'm'
                                                  : '\0';
}

constexpr struct Escapes {
    char of[256] = {};
    constexpr Escapes() {
        for (int c = 0; c < 256; ++c) {
            of[c] = escapeOf(static_cast<char>(c));
        }
    }
    constexpr char operator[](char c) const { return of[static_cast<unsigned char>(c)]; }
} escapes;

/** Put a character that is not ASCII. @return Behind it. */
const char* putCharacter(Sink& out, const char* at, const char* end) {
    if (const std::size_t length = characterAt(at, end)) {
        out.put(at, length);
        return at + length;
    }
    const bool zero = end - at >= 2 && at[0] == '\xc0' && at[1] == '\x80';
    out.put(zero ? "\\u0000" : "\\ufffd", 6);
    return at + (zero ? 2 : 1);
}

void putEscape(Sink& out, char c, char escape) {
    const char code[6] = {'\\', escape, '0', '0', static_cast<char>('0' + (c >> 4)), "0123456789abcdef"[c & 15]};
    out.put(code, escape == 'u' ? 6 : 2);
}

/** Whether a name needs no quotes where the rules are relaxed. */
bool isBare(std::string_view name) {
    if (name.empty() || isDigit(name[0])) {
        return false;
    }
    for (char c : name) {
        if (!isDigit(c) && !isLetter(c) && c != '_' && c != '$') {
            return false;
        }
    }
    return true;
}
} // namespace

void putString(Sink& out, std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    out.put('"');
    while (at != end) {
        const char* run = at;
        while (at != end && escapes[*at] == '\0') {
            ++at;
        }
        out.put(run, static_cast<std::size_t>(at - run));
        if (at != end) {
            if (const char escape = escapes[*at]; escape == 'm') {
                at = putCharacter(out, at, end);
            } else {
                putEscape(out, *at++, escape);
            }
        }
    }
    out.put('"');
}

Printer::Printer(Sink& out, int flags)
    : out_(out), flags_(flags),
      bare_((flags & MPR_JSON_QUOTES) == 0 && (effective(nullptr).flags & MPR_JSON_RELAXED) != 0) {}

void Printer::name(std::string_view name) {
    if (bare_ && isBare(name)) {
        out_.put(name.data(), name.size());
    } else {
        putString(out_, name);
    }
}

void Printer::simple(int type, const char* value) {
    const std::string_view text = value ? value : "null";
    const bool null = !value || (type & (MPR_JSON_NULL | MPR_JSON_UNDEFINED)) != 0;
    const bool word = null || (type & (MPR_JSON_TRUE | MPR_JSON_FALSE)) != 0;
    if ((flags_ & MPR_JSON_STRINGS) != 0 || !(word || (type & MPR_JSON_NUMBER) != 0)) {
        return null && !value ? out_.put("null", 4) : putString(out_, text);
    }
    if (null) {
        out_.put("null", 4);
    } else if (word) {
        out_.put((type & MPR_JSON_TRUE) != 0 ? "true" : "false", (type & MPR_JSON_TRUE) != 0 ? 4 : 5);
    } else {
        out_.put(text.data(), text.size());
    }
}

void Printer::newLine(std::size_t level) {
    if ((flags_ & MPR_JSON_PRETTY) != 0) {
        out_.put('\n');
        out_.fill(' ', 4 * level);
    }
}

/** What stands before a value. */
void Printer::begin(const MprJson* node, std::size_t level, bool named) {
    if (level > 0) {
        newLine(level);
    }
    if (named) {
        name(node->name ? node->name : "");
        out_.put(": ", (flags_ & MPR_JSON_PRETTY) != 0 ? 2 : 1);
    }
}

bool Printer::operator()(MprJson* tree) {
    Walk walk(tree);
    for (;;) {
        MprJson* at = walk.at();
        begin(at, walk.level(), walk.level() > 0 && isObject(walk.around()));
        if (!isContainer(at)) {
            simple(at->type, at->value);
        } else {
            out_.put(isObject(at) ? '{' : '[');
        }
        const bool more = walk.next();
        if (isContainer(at) && !walk.entered()) {
            out_.put(isObject(at) ? '}' : ']');
        }
        for (std::size_t i = 0; i < walk.left(); ++i) {
            newLine(walk.level() + walk.left() - 1 - i);
            out_.put(isObject(walk.leftNode(i)) ? '}' : ']');
        }
        if (!more) {
            return out_.whole() && !walk.failed();
        }
        if (!walk.entered()) {
            out_.put(',');
        }
    }
}

} // namespace mpr::base::json

using namespace mpr::base;
using namespace mpr::base::json;

namespace {

/** Print a name, or else a value, into a buffer. */
void putTo(MprBuf* buf, bool name, int type, const char* text, int flags, const char* function = __builtin_FUNCTION()) {
    if (mayUse(buf, function)) {
        StringSink out;
        Printer print(out, flags);
        if (name) {
            print.name(text ? text : "");
        } else {
            print.simple(type, text);
        }
        if (out.whole()) {
            mprPutBlockToBuf(buf, out.text(), static_cast<ssize>(out.length()));
        }
    }
}
} // namespace

char* mprJsonToString(MprJson* obj, int flags) {
    if (!mayUse(obj)) {
        return nullptr;
    }
    StringSink out;
    return Printer(out, flags)(obj) ? out.finish() : nullptr;
}

void mprFormatJsonName(MprBuf* buf, cchar* name, int flags) {
    putTo(buf, true, 0, name, flags);
}

void mprFormatJsonString(MprBuf* buf, cchar* value) {
    putTo(buf, false, MPR_JSON_STRING, value, 0);
}

void mprFormatJsonValue(MprBuf* buf, int type, cchar* value, int flags) {
    const bool quoted = (type & MPR_JSON_NUMBER) != 0 && !(value && isNumber(value));
    putTo(buf, false, quoted ? MPR_JSON_STRING : type, value, flags);
}

void mprLogJson(int level, MprJson* obj, cchar* fmt, ...) {
    if (level > mprGetLogLevel() || !mayUse(obj)) {
        return;
    }
    StringSink out;
    if (fmt) {
        va_list args;
        va_start(args, fmt);
        format(out, fmt, args);
        va_end(args);
        out.put('\n');
    }
    if (!Printer(out, MPR_JSON_PRETTY)(obj)) {
        return;
    }
    const char* const end = out.text() + out.length();
    for (const char* line = out.text(); line < end;) {
        const void* found = std::memchr(line, '\n', static_cast<std::size_t>(end - line));
        const char* behind = found ? static_cast<const char*>(found) : end;
        mprLog("json", level, "%.*s", static_cast<int>(behind - line), line);
        line = behind + 1;
    }
}
