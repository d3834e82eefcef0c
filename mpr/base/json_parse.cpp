// SPDX-License-Identifier: MIT
/*
    json_parse.cpp - Texts of JSON made into trees. See mpr/json.h.

    A loop and a stack of open objects and arrays, no recursion. Values complete one after the other, the innermost
    first, and each is handed to the object or array around it. Nothing yields, so what has been made needs no root,
    and stores into it no barrier; the last step, which may change a tree that exists, is done by json.cpp.

    Names, and values of a few bytes, repeat: the block of one that was met before is shared, if a small table still
    knows it. Whether a name stands twice is asked at each property. A set of 64 bits says no for most; else siblings
    are looked at, and beyond a few dozen of them the object's index.
 */
#include <climits>

#include "mpr/base/ascii.hpp"
#include "mpr/base/format.hpp"
#include "mpr/base/json.hpp"
#include "mpr/base/string.hpp"
#include "mpr/base/utf8.hpp"
#include "mpr/log.h"

using namespace mpr::base;
using namespace mpr::base::json;

namespace {

constexpr int defaultDepth = 512;
constexpr const char* refused = "refused by the program";

MprJsonRules inForce; // set before there are threads that parse

using Word = std::size_t;
constexpr Word everyByte = ~Word{0} / 255;

/**
    The high bit of each byte that ends a run of a string: controls, " \ and what is not ASCII. It may be set behind such
    a byte, too.
 */
constexpr Word endsOfRun(Word w) {
    constexpr Word high = everyByte * 0x80;
    const auto zero = [](Word v) { return v - everyByte; };
    return ((w - everyByte * 0x20) | zero(w ^ (everyByte * '"')) | zero(w ^ (everyByte * '\\')) | w) & high;
}

constexpr bool isControl(char c) {
    return static_cast<unsigned char>(c) < 0x20;
}

/** Behind the bytes of a string that mean themselves: at a control, a quote of any kind, \ or what is not ASCII. */
const char* skipPlain(const char* at, const char* end) {
    for (; end - at >= static_cast<ssize>(sizeof(Word)); at += sizeof(Word)) {
        Word word;
        std::memcpy(&word, at, sizeof(word));
        if (endsOfRun(word) != 0) {
            break;
        }
    }
    while (at != end && !isControl(*at) && *at != '"' && *at != '\\' && (*at & 0x80) == 0) {
        ++at;
    }
    return at;
}

/** What four hexadecimal digits stand for; none when there are none. */
constexpr char32_t none = ~char32_t{0};

char32_t fourDigits(const char* at, const char* end) {
    char32_t code = 0;
    for (int i = 0; i < 4; ++i) {
        const int digit = at + i < end ? digitValue(at[i]) : 16;
        if (digit >= 16) {
            return none;
        }
        code = code * 16 + static_cast<char32_t>(digit);
    }
    return code;
}

/** What an escape stands for, and the bytes that it takes; without any it is none, and `wrong` would say why. */
struct Escape {
    char32_t code;
    std::size_t length;
    const char* wrong;
};

Escape unicode(const char* at, const char* end) {
    const char32_t code = fourDigits(at + 2, end), high = code - 0xd800;
    if (code != none && high >= 0x800) {
        return {code, 6, nullptr};
    }
    const bool second = high < 0x400 && end - at >= 12 && at[6] == '\\' && at[7] == 'u';
    const char32_t low = second ? fourDigits(at + 8, end) - 0xdc00 : none;
    return {0x10000 + (high << 10) + low, low < 0x400 ? std::size_t{12} : 0,
            code == none ? "\\u wants four hexadecimal digits" : "half of a surrogate pair"};
}

/** @param at At a backslash. */
Escape escapeAt(const char* at, const char* end, bool relaxed) {
    static constexpr char letters[] = "\"\\/bfnrt'`", meant[] = "\"\\/\b\f\n\r\t'`";
    constexpr std::size_t strict = 8, all = sizeof(letters) - 1;
    const char c = end - at >= 2 ? at[1] : '\0';
    if (c == 'u') {
        return unicode(at, end);
    }
    const void* known = std::memchr(letters, c, relaxed ? all : strict);
    if (!known) {
        return {none, 0, "no such escape"};
    }
    return {static_cast<char32_t>(meant[static_cast<const char*>(known) - letters]), 2, nullptr};
}

/** As encodeUtf8, but that U+0000 is two bytes. */
std::size_t encode(char32_t code, char* out) {
    if (code == 0) {
        out[0] = static_cast<char>(0xc0);
        out[1] = static_cast<char>(0x80);
        return 2;
    }
    return encodeUtf8(code, out);
}

/** A string in the text: what stands between quotes, which is known to be good, and its length without escapes. */
struct Quoted {
    const char* begin;
    const char* end;
    std::size_t length;

    bool isPlain() const { return length == static_cast<std::size_t>(end - begin); }
};

char* decoded(const Quoted& quoted) {
    char* string = newString(quoted.length);
    char* to = string;
    for (const char* at = quoted.begin; string && at != quoted.end;) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        const Escape escape = escapeAt(at, quoted.end, true);
        to += encode(escape.code, to);
        at += escape.length;
    }
    return string;
}

/** Strings met before in this text, some of them: a table without chains, in which the last comer stays. */
class Met {
public:
    static constexpr std::size_t places = 64;

    static unsigned placeOf(std::string_view text) {
        const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
        const std::size_t n = text.size();
        return n == 0 ? 0u : static_cast<unsigned>((n * 29 + at(0) * 7u + at(n / 2) * 3u + at(n - 1)) % places);
    }

    /** The block of a text, made if it is not known; nullptr when memory is short. */
    const char* operator()(std::string_view text, unsigned place) {
        Known& known = known_[place];
        if (!known.text || known.length != text.size() || std::memcmp(known.text, text.data(), text.size()) != 0) {
            known = {newString(text.data(), text.size()), text.size()};
        }
        return known.text;
    }

private:
    struct Known {
        const char* text;
        std::size_t length;
    };
    Known known_[places] = {};
};

class Parser : public MprJsonParser {
public:
    Parser(std::string_view text, const MprJsonRules& rules, const MprJsonCallback* callbacks = nullptr,
           void* argument = nullptr, MprJson* into = nullptr)
        : MprJsonParser{argument, callbacks, 0, 0}, begin_(text.data()), at_(begin_), end_(begin_ + text.size()),
          relaxed_((rules.flags & MPR_JSON_RELAXED) != 0), maxDepth_(static_cast<std::size_t>(rules.maxDepth)),
          into_(into) {
        if (rules.maxLength < static_cast<ssize>(text.size())) {
            fail("longer than the rules allow");
        }
    }
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    /** @return The tree; nullptr: message() says why, or memory was short. */
    MprJson* run();
    /** Empty when memory was short. */
    const char* message() const { return message_; }
    void complain(const char* fmt, std::va_list args);

private:
    struct Open {
        MprJson* node;
        bool object;         // by its bracket; with setValue the program's node may be anything
        MprJson* last;       // child
        const char* name;    // of the property that is read
        unsigned place;      // of that name in met_
        std::uint64_t names; // places of names so far
    };

    MprJson* value();
    MprJson* simple(int kind, const Quoted& quoted);
    MprJson* string();
    MprJson* number();
    MprJson* word();
    MprJson* enter(int type);
    MprJson* leave();
    bool tell(bool leaves);
    MprJson* next();
    bool name();
    bool bareName(Quoted& quoted);
    const char* textOf(const Quoted& quoted, std::size_t shared, unsigned& place);
    bool hand(MprJson* child);
    void handProperty(Open& around, MprJson* child);
    MprJson* twin(Open& around);
    void link(Open& around, MprJson* child);
    bool scan(Quoted& quoted);
    bool special(const char*& at, char quote, std::size_t& saved);
    void skipSpace();
    bool skipComment();
    bool isNext(char c) const { return at_ != end_ && *at_ == c; }
    bool isQuote() const { return at_ != end_ && (*at_ == '"' || (relaxed_ && (*at_ == '\'' || *at_ == '`'))); }

    std::nullptr_t fail(const char* what);
    std::nullptr_t failAt(const char* at, const char* what) {
        at_ = at;
        return fail(what);
    }
    [[gnu::format(printf, 2, 3)]] void say(const char* fmt, ...);
    void locate();
    bool failed() const { return failed_; }
    std::nullptr_t noMemory() {
        failed_ = true;
        return nullptr;
    }

    const char* const begin_;
    const char* at_;
    const char* const end_;
    const bool relaxed_;
    bool failed_ = false;
    const std::size_t maxDepth_;
    MprJson* into_;
    Stack<Open, 12> open_;
    Met met_;
    char message_[200] = "";
};

// ---- Mistakes ---------------------------------------------------------------------------------------------------

void Parser::locate() {
    line = column = 1;
    for (const char* c = begin_; c != at_; ++c) {
        if (*c == '\n') {
            ++line;
            column = 1;
        } else if ((*c & 0xc0) != 0x80) {
            ++column;
        }
    }
}

void Parser::complain(const char* fmt, std::va_list args) {
    if (failed_) {
        return;
    }
    failed_ = true;
    locate();
    char what[160];
    FixedSink sink(what, sizeof(what));
    format(sink, fmt, args);
    sink.finish();
    ::fmt(message_, sizeof(message_), "line %d, column %d: %s", line, column, what);
    if (callback && callback->parseError) {
        callback->parseError(this, message_);
    }
}

void Parser::say(const char* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    complain(fmt, args);
    va_end(args);
}

std::nullptr_t Parser::fail(const char* what) {
    say(at_ == end_ ? "%s; the text ends here" : "%s", what);
    return nullptr;
}

// ---- What stands between values ---------------------------------------------------------------------------------

void Parser::skipSpace() {
    for (;;) {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
            ++at_;
        }
        if (!relaxed_ || !isNext('/') || !skipComment()) {
            return;
        }
    }
}

/** @return Whether there was one. */
bool Parser::skipComment() {
    const char kind = end_ - at_ >= 2 ? at_[1] : '\0';
    if (kind != '/' && kind != '*') {
        return false;
    }
    const char last = kind == '/' ? '\n' : '/';
    for (at_ += kind == '/' || end_ - at_ < 3 ? 2 : 3; at_ < end_ && !(*at_ == last && (kind == '/' || at_[-1] == '*'));
         ++at_) {}
    if (at_ < end_) {
        ++at_;
    } else if (at_ = end_; kind == '*') {
        fail("a comment has no end");
    }
    return true;
}

// ---- Strings and names ------------------------------------------------------------------------------------------

/** Step over one byte or more that end a run. @param saved Bytes that escapes take more than what they stand for. */
bool Parser::special(const char*& at, char quote, std::size_t& saved) {
    if (*at == '\\') {
        const Escape escape = escapeAt(at, end_, relaxed_);
        if (escape.length == 0) {
            failAt(at, escape.wrong);
            return false;
        }
        char bytes[4];
        saved += escape.length - encode(escape.code, bytes);
        at += escape.length;
        return true;
    }
    if (isControl(*at) && quote != '`') {
        failAt(at, "a control character in a string");
        return false;
    }
    const std::size_t length = characterAt(at, end_);
    at += length;
    return length > 0 && at[-1] != '\0' ? true : (failAt(at - length, "not UTF-8"), false);
}

/** Read a string, and step behind it. at_ is at its first quote. */
bool Parser::scan(Quoted& quoted) {
    const char quote = *at_;
    const char* const begin = at_ + 1;
    const char* at = begin;
    std::size_t saved = 0;
    for (;;) {
        if (quote == '"') [[likely]] {
            at = skipPlain(at, end_);
        }
        if (at == end_) {
            return failAt(at, "a string has no end"), false;
        }
        if (*at == quote) {
            break;
        }
        if (!special(at, quote, saved)) {
            return false;
        }
    }
    at_ = at + 1;
    quoted = {begin, at, static_cast<std::size_t>(at - begin) - saved};
    return true;
}

constexpr bool isOfBareName(char c) {
    return isDigit(c) || isLetter(c) || c == '_' || c == '$' || c == '-' || c == '.';
}

/** Read a name without quotes. */
bool Parser::bareName(Quoted& quoted) {
    quoted.begin = at_;
    while (at_ != end_ && (isOfBareName(*at_) || (*at_ & 0x80) != 0)) {
        const std::size_t length = characterAt(at_, end_);
        if (length == 0) {
            return fail("not UTF-8"), false;
        }
        at_ += length;
    }
    quoted.end = at_;
    quoted.length = static_cast<std::size_t>(at_ - quoted.begin);
    return quoted.length > 0 || (fail("expected a name"), false);
}

/** Read a name and the colon behind it. */
bool Parser::name() {
    Quoted quoted;
    if (!relaxed_ && !isNext('"')) {
        return fail("expected a name in double quotes"), false;
    }
    if (!(isQuote() ? scan(quoted) : bareName(quoted))) {
        return false;
    }
    Open& around = open_.top();
    around.name = textOf(quoted, SIZE_MAX, around.place);
    if (!around.name) {
        return noMemory(), false;
    }
    skipSpace();
    if (!isNext(':')) {
        return fail("expected a colon behind a name"), false;
    }
    ++at_;
    return true;
}

// ---- Values -----------------------------------------------------------------------------------------------------

/**
    A block with a text. @param shared Up to which length it is shared. @param place Is set to that of the text in met_.
 */
const char* Parser::textOf(const Quoted& quoted, std::size_t shared, unsigned& place) {
    const std::string_view raw(quoted.begin, quoted.length);
    if (!quoted.isPlain()) {
        const char* text = decoded(quoted);
        place = text ? Met::placeOf({text, quoted.length}) : 0;
        return text;
    }
    place = 0;
    if (raw.size() > shared) {
        return newString(raw.data(), raw.size());
    }
    place = Met::placeOf(raw);
    return met_(raw, place);
}

MprJson* Parser::simple(int kind, const Quoted& quoted) {
    constexpr std::size_t fewBytes = 8;
    unsigned place;
    const char* block = textOf(quoted, fewBytes, place);
    MprJson* node = block ? makeNode(MPR_JSON_VALUE | kind, nullptr, block) : nullptr;
    return node ? node : noMemory();
}

MprJson* Parser::string() {
    Quoted quoted;
    return scan(quoted) ? simple(MPR_JSON_STRING, quoted) : nullptr;
}

MprJson* Parser::number() {
    const char* const from = at_;
    const char* const behind = skipNumber(from, end_);
    if (behind == from) {
        return fail("not a number of JSON");
    }
    at_ = behind;
    return simple(MPR_JSON_NUMBER, {from, behind, static_cast<std::size_t>(behind - from)});
}

/** true, false, null; relaxed, also undefined. */
MprJson* Parser::word() {
    const char* behind = at_;
    while (behind != end_ && isLetter(*behind)) {
        ++behind;
    }
    const std::string_view text(at_, static_cast<std::size_t>(behind - at_));
    const int kind = kindOf(text);
    if (kind == MPR_JSON_STRING || (kind == MPR_JSON_UNDEFINED && !relaxed_)) {
        return fail("expected a value");
    }
    at_ = behind;
    return simple(kind, {text.data(), behind, text.size()});
}

/** Read a value, or the start of one. @return It, if it is complete. */
MprJson* Parser::value() {
    skipSpace();
    if (at_ == end_) {
        return fail("expected a value");
    }
    switch (*at_) {
    case '{': return enter(MPR_JSON_OBJ);
    case '[': return enter(MPR_JSON_ARRAY);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': return number();
    default: return isQuote() ? string() : word();
    }
}

// ---- Objects and arrays -----------------------------------------------------------------------------------------

/** Tell the program that an object or array begins or ends. @return Whether it wants to go on. */
bool Parser::tell(bool leaves) {
    if (callback && callback->checkBlock) {
        const char* name = open_.empty() ? nullptr : open_.top().name;
        return callback->checkBlock(this, name, leaves) >= 0 || (fail(refused), false);
    }
    return true;
}

/** Begin an object or array. @return It, if it is empty. */
MprJson* Parser::enter(int type) {
    if (open_.size() == maxDepth_) {
        return fail("deeper than the rules allow");
    }
    if (!tell(false)) {
        return nullptr;
    }
    MprJson* node = into_ && open_.empty()            ? into_
                    : callback && callback->createObj ? callback->createObj(this, type)
                                                      : makeNode(type);
    const bool object = type == MPR_JSON_OBJ;
    if (node && !(callback && callback->setValue) && (!isContainer(node) || isObject(node) != object)) {
        return fail("it is to be put into a value of another kind");
    }
    if (!node || !open_.push({node, object, nullptr, nullptr, 0, 0})) {
        return noMemory();
    }
    ++at_;
    skipSpace();
    if (isNext(object ? '}' : ']')) {
        return leave();
    }
    if (object) {
        name();
    }
    return nullptr;
}

/** End an object or array. @return It. */
MprJson* Parser::leave() {
    ++at_;
    Open& done = open_.top();
    if (done.last) {
        done.node->children->prev = done.last;
    }
    MprJson* node = done.node;
    open_.pop();
    return tell(true) ? node : nullptr;
}

/**
    Read what follows a value in an object or array. @return That object or array, if it ends here; nullptr: another value
    follows, or a mistake.
 */
MprJson* Parser::next() {
    const bool object = open_.top().object;
    const char end = object ? '}' : ']';
    skipSpace();
    if (isNext(',')) {
        ++at_;
        skipSpace();
        if (!(relaxed_ && isNext(end))) {
            if (object) {
                name();
            }
            return nullptr;
        }
    }
    if (!isNext(end)) {
        return fail(object ? "expected a comma or }" : "expected a comma or ]");
    }
    return leave();
}

void Parser::link(Open& around, MprJson* child) {
    if (around.last) {
        around.last->next = child;
    } else {
        around.node->children = child;
    }
    child->prev = around.last ? around.last : child;
    around.last = child;
    ++around.node->length;
}

/** The property that has the name of the one that is read. */
MprJson* Parser::twin(Open& around) {
    if (around.node->length > manyChildren) {
        return find(around.node, around.name);
    }
    MprJson* child = around.node->children;
    while (child && child->name != around.name && std::strcmp(child->name, around.name) != 0) {
        child = child->next;
    }
    return child;
}

void Parser::handProperty(Open& around, MprJson* child) {
    const std::uint64_t place = std::uint64_t{1} << around.place;
    child->name = around.name;
    if (MprJson* before = (around.names & place) != 0 ? twin(around) : nullptr) {
        become(before, child);
        return;
    }
    around.names |= place;
    link(around, child);
    indexAppended(around.node, child);
}

/** Give a value that is complete to what is around it. */
bool Parser::hand(MprJson* child) {
    Open& around = open_.top();
    if (around.node->length == INT_MAX) {
        return fail("too many values"), false;
    }
    if (callback && (callback->setValue || callback->createObj || around.node == into_)) [[unlikely]] {
        const int error = callback->setValue ? callback->setValue(this, around.node, around.name, child)
                                             : mprWriteJsonObj(around.node, around.name, child);
        return error >= 0 || (fail(refused), false);
    }
    if (isArray(around.node)) {
        link(around, child);
    } else {
        handProperty(around, child);
    }
    return true;
}

MprJson* Parser::run() {
    constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
    if (relaxed_ && end_ - at_ >= 3 && std::memcmp(at_, byteOrderMark.data(), 3) == 0) {
        at_ += 3;
    }
    while (!failed_) {
        MprJson* done = value();
        while (done && !failed_) {
            if (!open_.empty()) {
                done = hand(done) ? next() : nullptr;
                continue;
            }
            skipSpace();
            if (!failed_ && at_ == end_) {
                return done;
            }
            fail("something follows the value");
        }
    }
    return nullptr;
}

// ---- The API ----------------------------------------------------------------------------------

/** Move the children of one tree to another of the same kind. */
void moveChildren(MprJson* to, MprJson* from) {
    dropIndex(from);
    while (MprJson* child = from->children) {
        unlink(from, child);
        if (MprJson* old = isObject(to) ? find(to, child->name) : nullptr) {
            become(old, child);
        } else {
            append(to, child);
        }
    }
}

/** What the calls of the API ask for. */
struct Request {
    const char* text;
    ssize length; // -1: up to the zero
    const MprJsonRules* rules = nullptr;
    const MprJsonCallback* callback = nullptr;
    void* data = nullptr;
    MprJson* into = nullptr;
    const char** message = nullptr;
};

MprJson* parse(const char* function, const Request& request) {
    if (request.message) {
        *request.message = nullptr;
    }
    if (!mayUse(request.text, function) || request.length < -1) {
        return nullptr;
    }
    const std::size_t length =
        request.length < 0 ? std::strlen(request.text) : static_cast<std::size_t>(request.length);
    MprJson* const into = request.into;
    Parser parser({request.text, length}, effective(request.rules), request.callback, request.data,
                  request.callback ? into : nullptr);
    MprJson* tree = parser.run();
    if (!tree && *parser.message() != '\0') {
        mprLog("json", 2, "%s: %s", function, parser.message());
        if (request.message) {
            *request.message = sclone(parser.message());
        }
    }
    if (!tree || !into || request.callback) {
        return tree;
    }
    const bool fits = isContainer(into) && (into->type & tree->type & MPR_JSON_OBJ_TYPE) != 0;
    if (fits) {
        moveChildren(into, tree);
    }
    return fits ? into : nullptr;
}
} // namespace

namespace mpr::base::json {

MprJsonRules effective(const MprJsonRules* rules) {
    MprJsonRules all = rules ? *rules : inForce;
    all.maxDepth = all.maxDepth > 0 ? all.maxDepth : defaultDepth;
    all.maxLength = all.maxLength > 0 ? all.maxLength : PTRDIFF_MAX;
    return all;
}

const char* skipNumber(const char* at, const char* end) {
    const char* const begin = at;
    const auto digits = [end](const char* from) {
        while (from != end && isDigit(*from)) {
            ++from;
        }
        return from;
    };
    at += at != end && *at == '-';
    const char* whole = at;
    at = digits(at);
    if (at == whole || (*whole == '0' && at - whole > 1)) {
        return begin;
    }
    if (at != end && *at == '.') {
        const char* fraction = at + 1;
        at = digits(fraction);
        if (at == fraction) {
            return begin;
        }
    }
    if (at != end && (*at == 'e' || *at == 'E')) {
        const char* power = at + 1;
        power += power != end && (*power == '+' || *power == '-');
        at = digits(power);
        if (at == power) {
            return begin;
        }
    }
    return at;
}

bool isNumber(std::string_view text) {
    const char* end = text.data() + text.size();
    return !text.empty() && skipNumber(text.data(), end) == end;
}

} // namespace mpr::base::json

void mprSetJsonRules(const MprJsonRules* rules) {
    inForce = rules ? *rules : MprJsonRules{};
}

MprJson* mprParseJson(cchar* str) {
    return parse("mprParseJson", {str, -1});
}

MprJson* mprParseJsonText(cchar* text, ssize length, const MprJsonRules* rules, cchar** errorMsg) {
    return parse("mprParseJsonText", {text, length, rules, nullptr, nullptr, nullptr, errorMsg});
}

MprJson* mprParseJsonInto(cchar* str, MprJson* obj) {
    return obj ? parse("mprParseJsonInto", {str, -1, nullptr, nullptr, nullptr, obj}) : nullptr;
}

MprJson* mprParseJsonEx(cchar* str, MprJsonCallback* callback, void* data, MprJson* obj, cchar** errorMsg) {
    return parse("mprParseJsonEx", {str, -1, nullptr, callback, data, obj, errorMsg});
}

void mprSetJsonError(MprJsonParser* jp, cchar* fmt, ...) {
    if (jp) {
        va_list args;
        va_start(args, fmt);
        static_cast<Parser*>(jp)->complain(fmt, args);
        va_end(args);
    }
}
