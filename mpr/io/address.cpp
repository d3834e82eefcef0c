// SPDX-License-Identifier: MIT
/*
    address.cpp - Addresses of sockets.
 */
#include "mpr/io/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "mpr/base/ascii.hpp"
#include "mpr/base/part.hpp"
#include "mpr/base/string.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/socket.h"
#include "mpr/base/retain.hpp"
#include "mpr/task/waiting.hpp"

namespace mpr::io {

int Address::port() const {
    if (family() == AF_INET6) {
        return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
    }
    return family() == AF_INET ? ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port) : 0;
}

char* Address::text() const {
    char out[sizeof("unix:") + sizeof(sockaddr_un::sun_path)] = "";
    const auto& six = reinterpret_cast<const sockaddr_in6&>(storage);
    if (family() == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
        inet_ntop(AF_INET, &six.sin6_addr.s6_addr[12], out, sizeof(out));
    } else if (family() == AF_INET6) {
        inet_ntop(AF_INET6, &six.sin6_addr, out, sizeof(out));
    } else if (family() == AF_UNIX) { // of a client: without a path
        constexpr std::size_t begin = offsetof(sockaddr_un, sun_path);
        const auto& name = reinterpret_cast<const sockaddr_un&>(storage);
        const std::size_t size = length > begin ? std::min(length - begin, sizeof(name.sun_path)) : 0;
        std::memcpy(out, "unix:", 5);
        std::memcpy(out + 5, name.sun_path, size);
    } else if (family() == AF_INET) {
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(storage).sin_addr, out, sizeof(out));
    }
    return static_cast<char*>(mprMemdup(out, std::strlen(out) + 1));
}

int resolve(const char* host, int port, bool datagram, bool passive, addrinfo*& found, const void* site) {
    if (port < 0 || port > 65535) {
        os::Message message;
        os::log(os::Level::error, message << "socket: " << port << " is not a port");
        errno = EINVAL;
        return MPR_ERR_BAD_ARGS;
    }
    char service[8];
    std::size_t at = sizeof(service);
    service[--at] = '\0';
    for (int rest = port; at == sizeof(service) - 1 || rest > 0; rest /= 10) {
        service[--at] = static_cast<char>('0' + rest % 10);
    }
    addrinfo hints{};
    hints.ai_socktype = datagram ? SOCK_DGRAM : SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST | (passive ? AI_PASSIVE : 0);
    int result = getaddrinfo(host, service + at, &hints, &found);
    if (result == EAI_NONAME && !passive) {
        hints.ai_flags &= ~AI_NUMERICHOST;
        // The caller's text may be a block.
        const mpr::base::Hold held(host);
        const task::Waiting waiting(site);
        result = getaddrinfo(host, service + at, &hints, &found);
    }
    if (result != 0) {
        const int error = errno;
        os::Message message;
        os::log(os::Level::error, message << "socket: address \"" << std::string_view(host ? host : "")
                                          << "\": " << gai_strerror(result));
        errno = result == EAI_SYSTEM ? error : result == EAI_MEMORY ? ENOMEM : EADDRNOTAVAIL;
        return result == EAI_MEMORY ? MPR_ERR_MEMORY : MPR_ERR_CANT_FIND;
    }
    return 0;
}
} // namespace mpr::io

// ---- Taking an address apart ------------------------------------------------------------------------------------

namespace {

using mpr::base::part;
using std::string_view;

bool parsePort(string_view text, int& port) {
    int value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9' || (value = value * 10 + (c - '0')) > 65535) {
            return false;
        }
    }
    port = value;
    return !text.empty();
}

/** An address of a link may name the interface behind a %. */
bool isIPv6(string_view text) {
    text = part(text, 0, text.find('%'));
    char address[INET6_ADDRSTRLEN] = "";
    in6_addr parsed;
    if (text.size() >= sizeof(address)) {
        return false;
    }
    std::memcpy(address, text.data(), text.size());
    return inet_pton(AF_INET6, address, &parsed) == 1;
}

/**
    Where a host has the percent sign of its interface encoded, %25, as URIs have to (RFC 6874). Without a scheme what begins
    with 25 may be an interface's number.
 */
std::size_t encodedSign(string_view host, bool isUri) {
    const std::size_t at = host.find("%25");
    const bool more = at != string_view::npos && at + 3 < host.size();
    return more && (isUri || !mpr::base::isDigit(host[at + 3])) ? at : string_view::npos;
}

bool isNumber(string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == string_view::npos;
}

/** @return false when it is malformed. */
bool split(string_view text, string_view& host, string_view& port) {
    if (!text.empty() && text[0] == '[') {
        const std::size_t end = text.find(']');
        if (end == string_view::npos || (end + 1 < text.size() && text[end + 1] != ':')) {
            return false;
        }
        host = part(text, 1, end - 1);
        port = end + 1 < text.size() ? part(text, end + 2) : string_view();
        return isIPv6(host) && (end + 1 == text.size() || !port.empty());
    }
    const std::size_t colon = text.find(':');
    if (colon == string_view::npos) {
        (isNumber(text) ? port : host) = text;
        return true;
    }
    if (text.find(':', colon + 1) != string_view::npos) {
        host = text; // an IPv6 address without brackets has no port
        return isIPv6(host);
    }
    host = part(text, 0, colon);
    port = part(text, colon + 1);
    return !port.empty();
}
} // namespace

int mprParseSocketAddress(cchar* address, cchar** ip, int* port, int* secure, int defaultPort) {
    if (ip) {
        *ip = nullptr;
    }
    if (!address) {
        return MPR_ERR_BAD_ARGS;
    }
    string_view text(address);
    string_view scheme;
    // A path may contain an address of its own.
    if (const std::size_t end = text.find("://"); end != string_view::npos && text.find_first_of("/?#") == end + 1) {
        scheme = part(text, 0, end);
        text.remove_prefix(end + 3);
    }
    text = part(text, 0, text.find_first_of("/?#"));
    string_view host;
    string_view service;
    int number = defaultPort;
    if (!split(text, host, service) || host.find_first_of(" \t\r\n[]") != string_view::npos ||
        (!service.empty() && !parsePort(service, number))) {
        mpr::os::Message message;
        mpr::os::log(mpr::os::Level::error,
                     message << "mprParseSocketAddress: \"" << string_view(address) << "\" is malformed");
        return MPR_ERR_BAD_ARGS;
    }
    if (port) {
        *port = number;
    }
    if (secure) {
        *secure = mpr::base::same(scheme, "https") || mpr::base::same(scheme, "wss");
    }
    if (ip && !host.empty() && host != "*") {
        char* copy = mpr::base::newString(host.data(), host.size());
        if (!copy) {
            return MPR_ERR_MEMORY;
        }
        if (const std::size_t sign = encodedSign(host, !scheme.empty()); sign != string_view::npos) {
            std::memmove(copy + sign + 1, copy + sign + 3, host.size() - sign - 2);
        }
        *ip = copy;
    }
    return 0;
}

bool mprIsIPv6(cchar* ip) {
    string_view text(ip ? ip : "");
    if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
        text = part(text, 1, text.size() - 2);
    }
    return isIPv6(text);
}
