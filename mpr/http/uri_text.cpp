// SPDX-License-Identifier: MIT
/*
    uri_text.cpp - The text of a URI taken apart, and paths made safe, without memory. RFC 3986 (2005), 3 and 5.2.4.

    Each part is looked at once, and paths shrink in place.
 */
#include "mpr/http/uri.hpp"

#include "mpr/http/grammar.hpp"

namespace mpr::http {

namespace {

constexpr int maxPort = 65535;

constexpr bool isHexDigit(char c) {
    return base::digitValue(c) < 16;
}

/** Characters that a URI has, and the % before two digits. */
constexpr Bytes uriChars([](char c) { return !isControl(c) && std::string_view(" \"<>\\^`{|}").find(c) == all; });

bool areUriChars(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!isUriChar(text, i)) {
            return false;
        }
    }
    return true;
}

bool isScheme(std::string_view text) {
    for (char c : text) {
        if (!base::isLetter(c) && !isDigit(c) && c != '+' && c != '-' && c != '.') {
            return false;
        }
    }
    return !text.empty() && base::isLetter(text.front());
}

bool isNumber(std::string_view text) {
    for (char c : text) {
        if (!isDigit(c)) {
            return false;
        }
    }
    return !text.empty();
}

bool readPort(std::string_view text, int& port) {
    long long number = 0;
    if (text.empty()) {
        return true; // "host:" is one without a port
    }
    if (!readNumber(text, number) || number > maxPort) {
        return false;
    }
    port = static_cast<int>(number);
    return true;
}

/** What stands in brackets: addresses of IPv6, with a zone perhaps. */
bool isAddress(std::string_view text) {
    for (char c : text) {
        if (!isHexDigit(c) && c != ':' && c != '.') {
            return false;
        }
    }
    return text.find(':') != all;
}

bool isHost(std::string_view text) {
    for (char c : text) {
        if (std::string_view("@/?#[]:,").find(c) != all) {
            return false;
        }
    }
    return true;
}

/** [address]:port, host:port */
bool parseAuthority(std::string_view text, UriParts& parts) {
    if (begins(text, "[")) {
        const std::size_t end = text.find(']');
        const std::string_view behind = end == all ? std::string_view() : cut(text, end + 1);
        parts.host = cut(text, 1, end == all ? 0 : end - 1);
        return end != all && isAddress(parts.host) && (behind.empty() || behind.front() == ':') &&
               readPort(cut(behind, 1), parts.port);
    }
    const std::size_t colon = text.rfind(':');
    parts.host = cut(text, 0, colon);
    return isHost(parts.host) && (colon == all || readPort(cut(text, colon + 1), parts.port));
}

/** Whether a text begins with a host and a port, or a port alone, and no scheme: "host:80/path", ":80". */
bool beginsWithPort(std::string_view text) {
    const std::size_t colon = text.find(':');
    return colon != all && isNumber(cut(text, colon + 1));
}

bool parseHierarchy(std::string_view text, UriParts& parts) {
    const std::size_t slash = text.find('/');
    const std::string_view first = cut(text, 0, slash);
    if (beginsWithPort(first) || (begins(first, "[") && slash != 0)) {
        parts.path = slash == all ? std::string_view() : cut(text, slash);
        const bool good = parseAuthority(first, parts);
        parts.host = parts.host.empty() ? std::string_view() : parts.host;
        return good;
    }
    if (const std::size_t colon = first.find(':'); colon != all) {
        parts.scheme = cut(text, 0, colon);
        if (!isScheme(parts.scheme)) {
            return false;
        }
        text = cut(text, colon + 1);
    }
    if (begins(text, "//")) {
        text = cut(text, 2);
        const std::size_t end = text.find('/');
        parts.path = end == all ? std::string_view() : cut(text, end);
        return parseAuthority(cut(text, 0, end), parts) && !parts.host.empty();
    }
    parts.path = text.empty() ? std::string_view() : text;
    return true;
}
} // namespace

int decoded(std::string_view text, std::size_t at) {
    const std::string_view digits = cut(text, at, 3);
    if (digits.size() < 3 || !isHexDigit(digits[1]) || !isHexDigit(digits[2])) {
        return -1;
    }
    return 16 * base::digitValue(digits[1]) + base::digitValue(digits[2]);
}

bool isUriChar(std::string_view text, std::size_t at) {
    return uriChars.has(text[at]) && (text[at] != '%' || decoded(text, at) >= 0);
}

bool parseHost(std::string_view text, UriParts& parts) {
    if (text.find(':') != text.rfind(':') && !begins(text, "[")) {
        parts.host = text;
        return isAddress(text);
    }
    return areUriChars(text) && parseAuthority(text, parts);
}

bool isUri(const UriParts& parts) {
    return (!parts.scheme.data() || isScheme(parts.scheme)) && areUriChars(parts.path) && areUriChars(parts.query) &&
           areUriChars(parts.reference) && parts.port >= 0 && parts.port <= maxPort;
}

bool parseUri(std::string_view text, UriParts& parts) {
    parts = {};
    if (!areUriChars(text)) {
        return false;
    }
    if (const std::size_t hash = text.find('#'); hash != all) {
        parts.reference = cut(text, hash + 1);
        text = cut(text, 0, hash);
    }
    if (const std::size_t mark = text.find('?'); mark != all) {
        parts.query = cut(text, mark + 1);
        text = cut(text, 0, mark);
    }
    return parseHierarchy(text, parts);
}

std::size_t normalizePath(char* path, std::size_t size, bool& left) {
    const bool absolute = size > 0 && path[0] == '/';
    std::size_t to = absolute, from = absolute;
    std::size_t kept = to; // behind leading parts ".."
    left = false;
    while (from < size) {
        std::size_t end = from;
        while (end < size && path[end] != '/') {
            ++end;
        }
        const std::string_view part(path + from, end - from);
        const bool slash = end < size;
        from = end + slash;
        if (part.empty() || part == ".") {
            continue;
        }
        if (part != "..") {
            std::memmove(path + to, part.data(), part.size());
            to += part.size();
        } else if (to > kept) {
            for (--to; to > kept && path[to - 1] != '/'; --to) {}
            continue;
        } else if (absolute) {
            left = true;
            continue;
        } else {
            std::memcpy(path + to, "..", 2);
            to += 2;
            kept = to + slash;
        }
        if (slash) {
            path[to++] = '/';
        }
    }
    return to;
}

std::ptrdiff_t validatePath(char* path, std::size_t size) {
    if (size == 0 || path[0] != '/') {
        return -1;
    }
    std::size_t to = 0;
    for (std::size_t from = 0; from < size; ++from) {
        int c = static_cast<unsigned char>(path[from]);
        if (c == '%') {
            c = decoded({path, size}, from);
            from += 2;
            if (c == '/' || c < 0) {
                return -1;
            }
        }
        if (c == '\\' || isControl(static_cast<char>(c))) {
            return -1;
        }
        path[to++] = static_cast<char>(c);
    }
    bool left = false;
    to = normalizePath(path, to, left);
    return left ? -1 : static_cast<std::ptrdiff_t>(to);
}

std::string_view extensionOf(std::string_view path) {
    std::size_t point = all;
    std::size_t end = 0;
    for (; end < path.size() && path[end] != '?' && path[end] != '#'; ++end) {
        point = path[end] == '/' ? all : path[end] == '.' ? end : point;
    }
    const std::string_view ext = point == all ? std::string_view() : cut(path, point + 1, end - point - 1);
    for (char c : ext) {
        if (!base::isLetter(c) && !isDigit(c) && c != '-' && c != '_') {
            return {};
        }
    }
    return ext;
}

} // namespace mpr::http
