// SPDX-License-Identifier: MIT
/*
    parser.cpp - See parser.hpp. The one file that knows the parser's library.

    Both libraries are descended from one, and differ in names. http-parser as Debian builds it is lenient, hence
    guard.hpp; what it says of lengths and codings is looked at again in head.cpp.
 */
#include "mpr/http/parser.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "mpr/http/grammar.hpp"
#include "mpr/http/stream.hpp"

#if MPR_HTTP_LLHTTP
#include <llhttp.h>
#else
#include <http_parser.h>
#include <pthread.h>
#endif

namespace mpr::http {

namespace {

#if MPR_HTTP_LLHTTP
using Machine = llhttp_t;
using Settings = llhttp_settings_t;

void start(Machine& machine, const Settings& settings) {
    llhttp_init(&machine, HTTP_REQUEST, &settings);
}
void execute(Machine& machine, const Settings&, const char* bytes, std::size_t length) {
    llhttp_execute(&machine, bytes, length);
}
enum class Fault { none, method, version, coding, other };
Fault faultOf(const Machine& machine) {
    if (machine.method == HTTP_PRI) { // the first line of HTTP/2
        return Fault::method;
    }
    switch (llhttp_get_errno(&machine)) {
    case HPE_OK:
    case HPE_PAUSED_UPGRADE: return Fault::none;
    case HPE_INVALID_METHOD: return Fault::method;
    case HPE_INVALID_VERSION: return Fault::version;
    case HPE_INVALID_TRANSFER_ENCODING: return Fault::coding;
    default: return Fault::other;
    }
}
const char* describe(const Machine& machine) {
    const char* reason = llhttp_get_error_reason(&machine);
    return reason && *reason ? reason : "no HTTP";
}
#else
using Machine = http_parser;
using Settings = http_parser_settings;

void start(Machine& machine, const Settings&) {
    // A variable of the library, for all threads: set before any of them reads it. HttpLimits has the size.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, [] { http_parser_set_max_header_size(UINT32_MAX); });
    http_parser_init(&machine, HTTP_REQUEST);
}
void execute(Machine& machine, const Settings& settings, const char* bytes, std::size_t length) {
    http_parser_execute(&machine, &settings, bytes, length);
}
enum class Fault { none, method, version, coding, other };
Fault faultOf(const Machine& machine) {
    switch (HTTP_PARSER_ERRNO(&machine)) {
    case HPE_OK: return Fault::none;
    case HPE_INVALID_METHOD: return Fault::method;
    case HPE_INVALID_VERSION: return Fault::version;
    case HPE_INVALID_TRANSFER_ENCODING: return Fault::coding;
    default: return Fault::other;
    }
}
const char* describe(const Machine& machine) {
    return http_errno_description(HTTP_PARSER_ERRNO(&machine));
}
#endif

/** What the parser calls with parts of a head. */
struct Reading {
    Rx& rx;
    int mostLines;
    std::uint32_t uri = 0, uriLength = 0;
    bool tooMany = false;
    bool complete = false;

    static Reading& of(Machine* machine) { return *static_cast<Reading*>(machine->data); }
    std::uint32_t offset(const char* at) const { return static_cast<std::uint32_t>(at - rx.head); }

    bool addLine(const char* at, std::size_t length);

    static int onUri(Machine* machine, const char* at, std::size_t length) {
        Reading& reading = of(machine);
        reading.uri = reading.offset(at);
        reading.uriLength = static_cast<std::uint32_t>(length);
        return 0;
    }
    static int onName(Machine* machine, const char* at, std::size_t length) {
        return of(machine).addLine(at, length) ? 0 : -1;
    }
    static int onValue(Machine* machine, const char* at, std::size_t length) {
        Rx& rx = of(machine).rx;
        HeaderLine& line = rx.lines[rx.lineCount - 1];
        line.value = of(machine).offset(at);
        line.valueLength = static_cast<std::uint32_t>(length);
        return 0;
    }
    static int onHead(Machine* machine) {
        of(machine).complete = true;
        return 0;
    }
};

const Settings& headSettings() {
    static constexpr Settings settings = [] {
        Settings made{};
        made.on_url = Reading::onUri;
        made.on_header_field = Reading::onName;
        made.on_header_value = Reading::onValue;
        made.on_headers_complete = Reading::onHead;
        return made;
    }();
    return settings;
}

/** Make room for one more line. */
bool grow(Rx& rx) {
    const int room = 2 * rx.lineRoom;
    const auto size = static_cast<std::size_t>(room) * sizeof(HeaderLine);
    auto* lines = static_cast<HeaderLine*>(mprAlloc(size));
    if (!lines) {
        return false;
    }
    std::memcpy(lines, rx.lines, static_cast<std::size_t>(rx.lineCount) * sizeof(HeaderLine));
    if (rx.lines == rx.own) {
        setRef(&rx, rx.lines, lines);
    } else {
        setRef(&rx, rx.lines, lines);
    }
    rx.lineRoom = room;
    return true;
}

bool Reading::addLine(const char* at, std::size_t length) {
    tooMany = tooMany || rx.lineCount >= mostLines;
    if (tooMany || (rx.lineCount == rx.lineRoom && !grow(rx))) {
        return false;
    }
    rx.lines[rx.lineCount++] = {offset(at), static_cast<std::uint32_t>(length), offset(at + length), 0};
    return true;
}

/** The version as it stands behind the URI: " HTTP/1.1\r\n" and nothing else. @return 0 or a status. */
int readVersion(Rx& rx, const char* at, const char*& why) {
    const bool isVersion = std::strncmp(at, " HTTP/", 6) == 0 && at[6] >= '0' && at[6] <= '9' && at[7] == '.' &&
                           at[8] >= '0' && at[8] <= '9' && at[9] == '\r';
    if (!isVersion) {
        why = "no version of HTTP";
        return HTTP_CODE_BAD_REQUEST;
    }
    rx.versionMinor = at[8] - '0';
    if (at[6] != '1' || rx.versionMinor > 1) {
        why = "a version of HTTP that is not spoken here";
        return HTTP_CODE_BAD_VERSION;
    }
    return 0;
}

/** The parser reads no further than a version that it does not know; which is it? @return A status. */
int refuseVersion(const Rx& rx, const char*& why) {
    const char* line = rx.head;
    const auto* end = static_cast<const char*>(std::memchr(line, '\r', rx.headLength));
    const char* blank = end;
    while (blank > line && *blank != ' ') {
        --blank;
    }
    Rx scratch;
    const int status = readVersion(scratch, blank, why);
    why = status ? why : "no HTTP";
    return status ? status : HTTP_CODE_BAD_REQUEST;
}

/** Whether a request begins with what may be a method, though none that the parser knows. */
bool hasMethod(const Rx& rx) {
    const std::string_view line = viewOf(rx.head);
    return isToken(cut(line, 0, std::min(line.find(' '), line.find('\r')))) && line.find(' ') < line.find('\r');
}

/** Whether a coding of the body is named on two lines. One of the parsers refuses the second as a coding. */
bool isCodedTwice(const Rx& rx) {
    int count = 0;
    for (int i = 0; i < rx.lineCount; ++i) {
        count += same(rx.nameOf(rx.lines[i]), "transfer-encoding");
    }
    return count > 1;
}

/** What the parser says of a head that it has refused. */
int statusOf(const Reading& reading, const Machine& machine, const char*& why) {
    if (reading.tooMany) {
        why = "too many header lines";
        return HTTP_CODE_REQUEST_HEADERS_TOO_LARGE;
    }
    why = describe(machine);
    switch (faultOf(machine)) {
    case Fault::method: return hasMethod(reading.rx) ? HTTP_CODE_NOT_IMPLEMENTED : HTTP_CODE_BAD_REQUEST;
    case Fault::coding: return isCodedTwice(reading.rx) ? HTTP_CODE_BAD_REQUEST : HTTP_CODE_NOT_IMPLEMENTED;
    case Fault::version: return refuseVersion(reading.rx, why);
    default: return HTTP_CODE_BAD_REQUEST;
    }
}

/** Put zeros behind the texts of a head. They take the places of what separates them. */
void terminate(Rx& rx, const Reading& reading) {
    rx.head[reading.uri - 1] = '\0';
    rx.head[reading.uri + reading.uriLength] = '\0';
    setText(rx.method, rx.head);
    setText(rx.uri, rx.head + reading.uri);
    setText(rx.originalUri, rx.uri);
    for (int i = 0; i < rx.lineCount; ++i) {
        HeaderLine& line = rx.lines[i];
        const auto isBlank = [&rx](std::uint32_t at) { return rx.head[at] == ' ' || rx.head[at] == '\t'; };
        while (line.valueLength > 0 && isBlank(line.value + line.valueLength - 1)) {
            --line.valueLength;
        }
        rx.head[line.name + line.nameLength] = '\0';
        if (line.valueLength > 0) {
            rx.head[line.value + line.valueLength] = '\0';
        } else { // where the parser puts an empty value is its own affair
            line.value = line.name + line.nameLength;
        }
    }
}

int readHead(Rx& rx, int mostLines, const char*& why) {
    Reading reading{rx, mostLines};
    Machine machine;
    start(machine, headSettings());
    machine.data = &reading;
    execute(machine, headSettings(), rx.head, rx.headLength);
    if (faultOf(machine) != Fault::none || !reading.complete || reading.uriLength == 0) {
        return statusOf(reading, machine, why);
    }
    if (rx.head[reading.uri - 2] == ' ') {
        why = "a blank too many";
        return HTTP_CODE_BAD_REQUEST;
    }
    if (const int status = readVersion(rx, rx.head + reading.uri + reading.uriLength, why)) {
        return status;
    }
    terminate(rx, reading);
    return 0;
}
} // namespace

int parseHead(Rx& rx, int mostLines, const char*& why) {
    const int status = readHead(rx, mostLines, why);
    if (status != 0) {
        rx.lineCount = 0; // they end nowhere: what asks for one would get all that follows
    }
    return status;
}

// ---- Bodies in chunks -------------------------------------------------------------------------------------------

/** http-parser is a machine for messages: it is given a head first. */
struct ChunkParser::Calls {
    static ChunkParser& of(Machine* machine) { return *static_cast<ChunkParser*>(machine->data); }
    static int onBody(Machine* machine, const char* at, std::size_t length) {
        of(machine).sink_(of(machine).data_, at, length);
        return 0;
    }
    static int onEnd(Machine* machine) {
        of(machine).over_ = true;
        return 0;
    }
    static const Settings& settings() {
        static constexpr Settings made = [] {
            Settings calls{};
            calls.on_body = onBody;
            calls.on_message_complete = onEnd;
            return calls;
        }();
        return made;
    }
};

void ChunkParser::begin() {
    static_assert(sizeof(Machine) <= sizeof(state_));
    constexpr char head[] = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    auto& machine = *new (state_) Machine;
    over_ = false;
    start(machine, Calls::settings());
    machine.data = this;
    execute(machine, Calls::settings(), head, sizeof(head) - 1);
}

bool ChunkParser::parse(const char* bytes, std::size_t length, Sink sink, void* data) {
    auto& machine = *reinterpret_cast<Machine*>(state_);
    sink_ = sink;
    data_ = data;
    execute(machine, Calls::settings(), bytes, length);
    return faultOf(machine) == Fault::none;
}

} // namespace mpr::http
