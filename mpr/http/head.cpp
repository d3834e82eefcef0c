// SPDX-License-Identifier: MIT
/*
    head.cpp - What a head says, and whether it may say so: framing, Host, target (RFC 9110, RFC 9112).

    Whatever two programs on the way could read differently is refused: see guard.hpp for what is below lines.
 */
#include "mpr/http/head.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include "mpr/http/grammar.hpp"
#include "mpr/http/parser.hpp"
#include "mpr/string.h"

namespace mpr::http {

bool hasWord(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (same(trimmed(cut(list, 0, comma)), word)) {
            return true;
        }
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return false;
}

std::string_view header(const Stream& stream, std::string_view name) {
    const Rx& rx = stream.in();
    for (int i = 0; i < rx.lineCount; ++i) {
        if (same(rx.nameOf(rx.lines[i]), name)) {
            return rx.valueOf(rx.lines[i]);
        }
    }
    return {};
}

namespace {

/** Characters of a target: only printable ones, none at which other programs cut or complete it. */
bool isTarget(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F && c != '#' && c != '\\'; });
}

constexpr Bytes hostChars([](char c) {
    return isDigit(c) || base::isLetter(c) || (c != '\0' && std::string_view("-._~!$&'()*+;=%").find(c) != all);
});

/** host [":" port] of RFC 9112, 3.2: a name, an address, no userinfo, no path, no list. */
bool isHost(std::string_view text) {
    std::string_view port;
    if (!text.empty() && text.front() == '[') {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos || end < 2) {
            return false;
        }
        const std::string_view address = cut(text, 1, end - 1);
        if (!std::all_of(address.begin(), address.end(),
                         [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) || c == ':' || c == '.'; })) {
            return false;
        }
        port = cut(text, end + 1);
        if (!port.empty() && port.front() != ':') {
            return false;
        }
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        const std::string_view name = cut(text, 0, colon);
        if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return hostChars.has(c); })) {
            return false;
        }
        port = cut(text, colon);
    }
    if (port.empty()) {
        return true;
    }
    port.remove_prefix(1);
    unsigned number = 0;
    return port.size() <= 5 &&
           std::all_of(port.begin(), port.end(),
                       [&number](char c) {
                           number = number * 10 + static_cast<unsigned>(c - '0');
                           return c >= '0' && c <= '9';
                       }) &&
           number <= 65535;
}

/** Reads the lines of a head, once. */
class HeadReader {
public:
    explicit HeadReader(Rx& rx) : rx_(rx) {}

    int read(const char*& why);

private:
    void readLine(const HeaderLine& line);
    void readLength(std::string_view value);
    void readCoding(std::string_view value);
    void readHost(char* value, std::size_t length);
    void readConnection(std::string_view value);
    void set(char*& field, const HeaderLine& line) { setText(field, rx_.head + line.value); }
    void refuse(int status, const char* why) {
        if (!status_) {
            status_ = status;
            why_ = why;
        }
    }
    int check();
    int checkTarget();
    int absoluteTarget();

    Rx& rx_;
    int status_ = 0;
    const char* why_ = nullptr;
    bool hasLength_ = false;
    bool saysClose_ = false;
    bool saysKeep_ = false;
};

void HeadReader::readLength(std::string_view value) {
    MprOff length = 0;
    const char* end = value.data() + value.size();
    const bool digits = !value.empty() && value.size() <= 18 &&
                        std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || std::from_chars(value.data(), end, length).ptr != end) {
        refuse(HTTP_CODE_BAD_REQUEST, "Content-Length is no number");
    } else if (hasLength_) {
        refuse(HTTP_CODE_BAD_REQUEST, "Content-Length twice");
    }
    hasLength_ = true;
    rx_.length = length;
}

void HeadReader::readCoding(std::string_view value) {
    if (rx_.chunked) {
        refuse(HTTP_CODE_BAD_REQUEST, "Transfer-Encoding twice");
    } else if (!same(value, "chunked")) {
        refuse(HTTP_CODE_NOT_IMPLEMENTED, "a Transfer-Encoding that is not known");
    }
    rx_.chunked = true;
}

void HeadReader::readHost(char* value, std::size_t length) {
    if (rx_.hostHeader) {
        refuse(HTTP_CODE_BAD_REQUEST, "Host twice");
    } else if (!isHost({value, length})) {
        refuse(HTTP_CODE_BAD_REQUEST, "Host is no host");
    }
    setText(rx_.hostHeader, value);
}

void HeadReader::readConnection(std::string_view value) {
    saysClose_ = saysClose_ || hasWord(value, "close");
    saysKeep_ = saysKeep_ || hasWord(value, "keep-alive");
}

void HeadReader::readLine(const HeaderLine& line) {
    const std::string_view name = rx_.nameOf(line);
    const std::string_view value = rx_.valueOf(line);
    if (!isToken(name)) {
        refuse(HTTP_CODE_BAD_REQUEST, "the name of a header is none");
        return;
    }
    const auto is = [name](std::string_view other) { return same(name, other); };
    switch (name.size()) {
    case 4:
        if (is("host")) {
            readHost(rx_.head + line.value, value.size());
        }
        break;
    case 6:
        if (is("accept")) {
            set(rx_.accept, line);
        } else if (is("cookie")) {
            set(rx_.cookie, line);
        } else if (is("origin")) {
            set(rx_.origin, line);
        } else if (is("pragma")) {
            set(rx_.pragma, line);
        } else if (is("expect")) {
            rx_.expects = same(value, "100-continue");
            if (!rx_.expects) {
                refuse(HTTP_CODE_EXPECTATION_FAILED, "an Expect that is not known");
            }
        }
        break;
    case 7:
        if (is("referer")) {
            set(rx_.referrer, line);
        }
        break;
    case 10:
        if (is("connection")) {
            set(rx_.connection, line);
            readConnection(value);
        } else if (is("user-agent")) {
            set(rx_.userAgent, line);
        }
        break;
    case 12:
        if (is("content-type")) {
            set(rx_.mimeType, line);
        }
        break;
    case 13:
        if (is("authorization")) {
            const std::size_t end = std::min(value.find(' '), value.size());
            setRef(&rx_, rx_.authType, slower(snclone(value.data(), static_cast<ssize>(end))));
        }
        break;
    case 14:
        if (is("content-length")) {
            readLength(value);
        }
        break;
    case 15:
        if (is("accept-encoding")) {
            set(rx_.acceptEncoding, line);
        } else if (is("accept-language")) {
            set(rx_.acceptLanguage, line);
        }
        break;
    case 17:
        if (is("transfer-encoding")) {
            readCoding(value);
        }
        break;
    default: break;
    }
}

/** http://host/path: the host counts, and what follows is the URI. */
int HeadReader::absoluteTarget() {
    const std::string_view uri = rx_.uri;
    const std::size_t scheme = same(cut(uri, 0, 7), "http://") ? 7 : same(cut(uri, 0, 8), "https://") ? 8 : 0;
    if (scheme == 0) {
        refuse(HTTP_CODE_BAD_REQUEST, "a target that is no path");
        return status_;
    }
    const std::size_t end = std::min(uri.find_first_of("/?", scheme), uri.size());
    const std::string_view host = cut(uri, scheme, end - scheme);
    if (!isHost(host)) {
        refuse(HTTP_CODE_BAD_REQUEST, "the host of a target is none");
        return status_;
    }
    setRef(&rx_, rx_.hostHeader, snclone(host.data(), static_cast<ssize>(host.size())));
    if (rx_.uri[end] == '/') {
        setText(rx_.uri, rx_.uri + end);
    } else if (char* path = sjoin("/", rx_.uri + end, nullptr)) {
        setRef(&rx_, rx_.uri, path);
    }
    if (!rx_.hostHeader || *rx_.uri != '/') {
        refuse(HTTP_CODE_SERVICE_UNAVAILABLE, "no memory for a target");
        return status_;
    }
    return 0;
}

int HeadReader::checkTarget() {
    const std::string_view uri = rx_.uri;
    if (!isTarget(uri)) {
        refuse(HTTP_CODE_BAD_REQUEST, "a target with characters that it must not have");
    } else if (std::strcmp(rx_.method, "CONNECT") == 0) {
        refuse(HTTP_CODE_BAD_METHOD, "no tunnels");
    } else if (uri == "*") {
        if (std::strcmp(rx_.method, "OPTIONS") != 0) {
            refuse(HTTP_CODE_BAD_REQUEST, "a target of * is for OPTIONS");
        }
    } else if (uri.front() != '/') {
        return absoluteTarget();
    }
    return status_;
}

int HeadReader::check() {
    if (rx_.chunked && hasLength_) {
        refuse(HTTP_CODE_BAD_REQUEST, "Content-Length with Transfer-Encoding");
    } else if (rx_.chunked && rx_.versionMinor == 0) {
        refuse(HTTP_CODE_BAD_REQUEST, "Transfer-Encoding in HTTP/1.0");
    } else if (!rx_.hostHeader && rx_.versionMinor > 0) {
        refuse(HTTP_CODE_BAD_REQUEST, "no Host");
    }
    if (!status_) {
        checkTarget();
    }
    if (!hasLength_) {
        rx_.length = rx_.chunked ? -1 : 0;
    }
    rx_.expects = rx_.expects && rx_.versionMinor > 0;
    rx_.keepsAlive = !saysClose_ && (rx_.versionMinor > 0 || saysKeep_);
    return status_;
}

int HeadReader::read(const char*& why) {
    for (int i = 0; i < rx_.lineCount; ++i) {
        readLine(rx_.lines[i]);
    }
    const int status = check();
    why = why_;
    return status;
}

bool isSimplePath(std::string_view path) {
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] == '%' || (path[i] == '/' && i + 1 < path.size() && (path[i + 1] == '/' || path[i + 1] == '.'))) {
            return false;
        }
    }
    return true;
}

} // namespace

int readHead(Rx& rx, const HttpLimits& limits, const char*& why) {
    if (const int status = parseHead(rx, limits.headerMax, why)) {
        return status;
    }
    const int status = HeadReader(rx).read(why);
    if (!status && static_cast<ssize>(std::strlen(rx.originalUri)) > limits.uriSize) {
        why = "the URI is too long";
        return HTTP_CODE_REQUEST_URL_TOO_LARGE;
    }
    return status;
}

char* pathOf(const char* uri) {
    if (std::strcmp(uri, "*") == 0) {
        return sclone("*");
    }
    const std::size_t length = std::strcspn(uri, "?#");
    char* path = snclone(uri, static_cast<ssize>(length));
    if (!path || path[0] != '/') {
        return nullptr;
    }
    if (isSimplePath({path, length})) {
        return path;
    }
    return httpValidateUriPath(path);
}

} // namespace mpr::http
