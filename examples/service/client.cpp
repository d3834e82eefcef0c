// SPDX-License-Identifier: MIT
/*
    client.cpp - See client.h.
 */
#include "client.h"

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

namespace service {

bool Client::fail(const char* what) {
    int error = errno;
    problem_ = what;
    if (error != 0) {
        problem_ += ": ";
        problem_ += std::strerror(error);
    }
    begun_ = !input_.empty();
    disconnect();
    return false;
}

bool Client::connect() {
    errno = 0;
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) {
        return refused("socket");
    }
    timeval patience{5, 0}; // of which the demo may need three, one a phase
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        return refused("connect");
    }
    return true;
}

/* A client that asked again at once would take the processor from those that give sockets back. */
bool Client::refused(const char* what) {
    fail(what);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return false;
}

void Client::disconnect() {
    if (socket_ >= 0) {
        ::close(socket_);
        socket_ = -1;
    }
    input_.clear();
}

bool Client::send(std::string_view bytes) {
    if (socket_ < 0 && !connect()) {
        return false;
    }
    while (!bytes.empty()) {
        ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return true; // A refusal may have come before the request was whole: see what is to be received
        }
        bytes.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
    }
    return true;
}

bool Client::more() {
    char bytes[16384];
    for (;;) {
        errno = 0;
        ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
        if (count > 0) {
            input_.append(bytes, static_cast<std::size_t>(count));
            return true;
        }
        if (count == 0) {
            return fail("the service closed the connection within a reply");
        }
        if (errno != EINTR) {
            return fail("recv");
        }
    }
}

bool Client::receive(Reply& reply) {
    errno = 0;
    if (socket_ < 0) {
        return fail("not connected");
    }
    std::size_t headEnd;
    while ((headEnd = input_.find("\r\n\r\n")) == std::string::npos) {
        if (!more()) {
            return false;
        }
    }
    std::string_view head = std::string_view(input_).substr(0, headEnd + 2);
    auto field = [head](std::string_view name) { // "\r\nName: "
        std::size_t at = head.find(name);
        at = at == std::string_view::npos ? head.size() : at + name.size();
        return head.substr(at, head.find("\r\n", at) - at);
    };
    auto number = [](std::string_view digits, auto& value) {
        return std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc();
    };
    std::size_t length = 0;
    if (head.substr(0, 9) != "HTTP/1.1 " || !number(head.substr(9, 3), reply.status)) {
        return fail("that is no HTTP reply");
    }
    if (reply.status != 204 && !number(field("\r\nContent-Length: "), length)) {
        return fail("a reply without Content-Length");
    }
    bool last = field("\r\nConnection: ") == "close";
    std::string_view cookie = field("\r\nSet-Cookie: sid=");
    reply.session = cookie.substr(0, cookie.find(';'));
    reply.tryAgain = !field("\r\nRetry-After: ").empty();

    std::size_t end = headEnd + 4 + length;
    while (input_.size() < end) {
        if (!more()) {
            return false;
        }
    }
    reply.body.assign(input_, headEnd + 4, length);
    input_.erase(0, end);
    if (last) {
        disconnect();
    }
    return true;
}

bool Client::ask(std::string_view bytes, Reply& reply) {
    const bool kept = socket_ >= 0;
    if (send(bytes) && receive(reply)) {
        return true;
    }
    return kept && !begun_ && send(bytes) && receive(reply);
}

} // namespace service
