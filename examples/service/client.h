/* SPDX-License-Identifier: MIT */
/*
    client.h - A plain HTTP client on a blocking socket. Its memory is not managed, its thread need not be attached.
 */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace service {

struct Reply {
    int status = 0;
    std::string body;
    std::string session; // Of Set-Cookie: sid=
};

class Client {
public:
    explicit Client(int port) : port_(port) {}
    ~Client() { disconnect(); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /** Send bytes of one or more requests; connects when it is not connected. @return false: see problem(). */
    bool send(std::string_view bytes);
    /**
        Receive the next reply, then leave the connection if it says so. Waits ten seconds at most.
        @return false when there came no complete reply: see problem(). The connection is gone then.
     */
    bool receive(Reply& reply);
    void disconnect();
    bool connected() const { return socket_ >= 0; }
    /** What went wrong last. */
    const std::string& problem() const { return problem_; }

private:
    bool connect();
    bool more();
    bool fail(const char* what);

    int port_;
    int socket_ = -1;
    std::string input_; // Received and not yet handed out
    std::string problem_;
};

} // namespace service
