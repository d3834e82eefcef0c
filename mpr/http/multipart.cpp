// SPDX-License-Identifier: MIT
/*
    multipart.cpp - The parser of multipart/form-data. See multipart.hpp.

    A delimiter begins with CR, and none of its other bytes is one. So when a byte is not the one that would come
    next, only that byte can begin another: what was matched is data, and needs no second look.
 */
#include "mpr/http/multipart.hpp"

#include "mpr/http/grammar.hpp"

namespace mpr::http {

namespace {

/** Characters of boundaries: RFC 2046. */
bool isBoundary(std::string_view text) {
    for (char c : text) {
        if (!isDigit(c) && !base::isLetter(c) && std::string_view("'()+_,-./:=? ").find(c) == all) {
            return false;
        }
    }
    return !text.empty() && text.size() <= Multipart::maxBoundary && text.back() != ' ';
}

/** A parameter's value without quotes, as C string. @return Whether it fits, and has no zero in it. */
bool copyValue(std::string_view value, char (&out)[Multipart::maxName]) {
    if (value.size() >= sizeof(out) || value.find('\0') != all) {
        return false;
    }
    const std::string_view text = unquote(value, out);
    std::memmove(out, text.empty() ? "" : text.data(), text.size());
    out[text.size()] = '\0';
    return true;
}

/** Bytes of a text that are whole characters of UTF-8, at most so many. */
std::size_t wholeCharacters(std::string_view text, std::size_t most) {
    if (text.size() <= most) {
        return text.size();
    }
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) {
        --most;
    }
    return most;
}
} // namespace

// ---- Delimiters -------------------------------------------------------------------------------------------------

bool Multipart::begin(std::string_view contentType) {
    char room[maxHeader];
    std::string_view media = contentType;
    const std::string_view value = findParameter(contentType, "boundary");
    const bool form = same(trimmed(take(media, ';')), "multipart/form-data");
    const std::string_view boundary = form && value.size() <= sizeof(room) ? unquote(value, room) : "";
    if (!isBoundary(boundary)) {
        fail("no form, or no boundary");
        return false;
    }
    std::memcpy(delimiter_, "\r\n--", 4);
    std::memcpy(delimiter_ + 4, boundary.data(), boundary.size());
    delimiterSize_ = 4 + boundary.size();
    state_ = State::before;
    matched_ = 2; // the body begins as a line does
    assumed_ = true;
    why_ = nullptr;
    return true;
}

void Multipart::fail(const char* why) {
    why_ = why;
    state_ = State::malformed;
}

Multipart::Event Multipart::next(std::string_view& input) {
    Event event = Event::more;
    while (!look(input, event)) {}
    return event;
}

/** One step. @return Whether there is something to tell. */
bool Multipart::look(std::string_view& input, Event& event) {
    switch (state_) {
    case State::malformed: event = Event::malformed; return true;
    case State::delimiter:
        state_ = State::dash;
        event = Event::end;
        return !first_;
    case State::begun:
        beginData();
        event = Event::part;
        return true;
    case State::behind: input = {}; break;
    default: break;
    }
    if (input.empty()) {
        event = Event::more;
        return true;
    }
    if (state_ == State::before || state_ == State::data) {
        const bool dropped = state_ == State::before;
        search(input);
        event = Event::data;
        return !dropped && !data_.empty();
    }
    const char c = input.front();
    input.remove_prefix(1);
    state_ == State::header ? headerByte(c) : behindDelimiter(c);
    event = Event::done;
    return state_ == State::behind;
}

/** Go on with a delimiter. @return Where it ends, for now or because it is none. */
std::size_t Multipart::match(std::string_view input, std::size_t at) {
    while (at < input.size() && matched_ < delimiterSize_ && input[at] == delimiter_[matched_]) {
        ++at;
        ++matched_;
    }
    return at;
}

/** Look for a delimiter. What comes before it, or before what may become one, is data. */
void Multipart::search(std::string_view& input) {
    std::size_t start = 0, at = 0;
    if (matched_ > 0) {
        at = match(input, 0);
        if (at < input.size() && matched_ < delimiterSize_) {
            const std::size_t none = assumed_ ? 2 : 0;
            data_ = {delimiter_ + none, matched_ - none}; // some of it came before this input
            matched_ = 0;
            assumed_ = false;
            input.remove_prefix(at);
            return;
        }
    }
    while (matched_ < delimiterSize_ && at < input.size()) {
        const std::size_t found = input.find('\r', at);
        start = found == all ? input.size() : found;
        matched_ = 0;
        at = match(input, start);
    }
    data_ = cut(input, 0, start);
    input.remove_prefix(at);
    if (matched_ == delimiterSize_) {
        matched_ = 0;
        assumed_ = false;
        state_ = State::delimiter;
    }
}

void Multipart::behindDelimiter(char c) {
    switch (state_) {
    case State::dash:
        if (c == '-') {
            state_ = State::lastDash;
            return;
        }
        state_ = State::padding;
        [[fallthrough]];
    case State::padding:
        if (!isSpace(c)) {
            c == '\r' ? static_cast<void>(state_ = State::lineEnd) : fail("a delimiter does not end");
        }
        return;
    case State::lastDash:
        c == '-' ? static_cast<void>(state_ = State::behind) : fail("a delimiter does not end");
        return;
    default: c == '\n' ? beginHeader() : fail("a line does not end in CR LF"); return;
    }
}

// ---- Headers of parts -------------------------------------------------------------------------------------------

void Multipart::beginHeader() {
    state_ = State::header;
    isFile_ = named_ = typed_ = false;
    lineSize_ = headerSize_ = 0;
    name_[0] = filename_[0] = type_[0] = '\0';
}

void Multipart::beginData() {
    state_ = State::data;
    first_ = false;
    matched_ = 2; // a delimiter may follow at once
    assumed_ = true;
}

void Multipart::headerByte(char c) {
    const bool afterReturn = lineSize_ > 0 && line_[lineSize_ - 1] == '\r';
    if ((c == '\n') != afterReturn) {
        fail("a line does not end in CR LF");
    } else if (c == '\n') {
        const std::string_view line(line_, lineSize_ - 1);
        lineSize_ = 0;
        headerLine(line);
    } else if (++headerSize_ > maxHeader) {
        fail("a part's header is too large");
    } else {
        line_[lineSize_++] = c;
    }
}

void Multipart::headerLine(std::string_view line) {
    if (line.empty()) {
        named_ ? static_cast<void>(state_ = State::begun) : fail("a part has no name");
        return;
    }
    for (char c : line) {
        if (isControl(c) && c != '\t') {
            return fail("a part's header has a control character");
        }
    }
    const bool complete = line.find(':') != all;
    const std::string_view name = take(line, ':');
    if (!complete || !isToken(name)) {
        return fail("a line of a part's header is none");
    }
    if (same(name, "Content-Disposition")) {
        disposition(trimmed(line));
    } else if (same(name, "Content-Type")) {
        if (typed_ || !copyValue(trimmed(line), type_)) {
            return fail("a part's type comes twice, or is too long");
        }
        typed_ = true;
    }
}

void Multipart::disposition(std::string_view value) {
    Pieces pieces(value, ';');
    std::string_view piece;
    if (named_ || isFile_ || !pieces.next(piece) || !same(piece, "form-data")) {
        return fail("a part's disposition comes twice, or is not form-data");
    }
    while (pieces.next(piece)) {
        const Parameter parameter = parameterOf(piece);
        if (same(parameter.name, "name")) {
            if (named_ || !copyValue(parameter.value, name_)) {
                return fail("a part's name comes twice, or is too long");
            }
            named_ = true;
        } else if (same(parameter.name, "filename")) {
            char room[maxHeader];
            const std::string_view filename = unquote(parameter.value, room);
            if (isFile_) {
                return fail("a part has two file names");
            }
            isFile_ = true;
            if (!filename.empty()) {
                baseNameOf(filename, filename_);
            }
        }
    }
}

void baseNameOf(std::string_view filename, char (&out)[Multipart::maxName]) {
    const std::size_t slash = filename.find_last_of("/\\");
    filename = slash == all ? filename : cut(filename, slash + 1);
    const auto drops = [](char c) { return c == '.' || c == ' ' || isControl(c); };
    while (!filename.empty() && drops(filename.front())) {
        filename.remove_prefix(1);
    }
    std::size_t size = 0;
    for (char c : cut(filename, 0, wholeCharacters(filename, sizeof(out) - 1))) {
        out[size] = c;
        size += !isControl(c);
    }
    while (size > 0 && drops(out[size - 1])) {
        --size;
    }
    if (size == 0) {
        std::memcpy(out, "file", size = 4);
    }
    out[size] = '\0';
}

} // namespace mpr::http
