// SPDX-License-Identifier: MIT
/*
    client.cpp - See client.h.
 */
#include "client.h"

#include "text.h"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace service {

bool Client::fail(const char* what) {
    int error = errno;
    problem_ = what;
    if (error != 0) {
        problem_ += ": ";
        problem_ += std::strerror(error);
    }
    disconnect();
    return false;
}

bool Client::connect() {
    errno = 0;
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) {
        return fail("socket");
    }
    timeval patience{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        return fail("connect");
    }
    return true;
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
        errno = 0;
        ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return fail("send");
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
    std::uint64_t status = 0;
    if (head.substr(0, 9) != "HTTP/1.1 " || !parseNumber(head.substr(9, 3), 999, status)) {
        return fail("that is no HTTP reply");
    }
    auto field = [&](std::string_view name) { // "\r\nName: "
        std::size_t at = head.find(name);
        if (at == std::string_view::npos) {
            return std::string_view();
        }
        at += name.size();
        return head.substr(at, head.find("\r\n", at) - at);
    };
    std::uint64_t length = 0;
    std::string_view lengthText = field("\r\nContent-Length: ");
    if (status != 204 && !parseNumber(lengthText, std::uint64_t{1} << 30, length)) {
        return fail("a reply without Content-Length");
    }
    bool last = field("\r\nConnection: ") == "close";
    std::string_view cookie = field("\r\nSet-Cookie: sid=");
    reply.status = static_cast<int>(status);
    reply.session = cookie.substr(0, cookie.find(';'));

    std::size_t end = headEnd + 4 + static_cast<std::size_t>(length);
    while (input_.size() < end) {
        if (!more()) {
            return false;
        }
    }
    reply.body.assign(input_, headEnd + 4, static_cast<std::size_t>(length));
    input_.erase(0, end);
    if (last) {
        disconnect();
    }
    return true;
}

} // namespace service
