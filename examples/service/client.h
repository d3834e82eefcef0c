/* SPDX-License-Identifier: MIT */
/*
    client.h - A plain HTTP client on a blocking socket. Its memory is not managed, its thread need not be attached.
 */
#pragma once

#include <string>
#include <string_view>

namespace service {

struct Reply {
    int status = 0;
    std::string body;
    std::string session;   // Of Set-Cookie: sid=
    bool tryAgain = false; // It has Retry-After
};

class Client {
public:
    explicit Client(int port) : port_(port) {}
    ~Client() { disconnect(); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /**
        Send bytes of one or more requests, and receive the first reply. Connects when it is not connected, and once more
        when the service has closed a connection at rest, which it may: then it has not read what was sent.
        @return As receive.
     */
    bool ask(std::string_view bytes, Reply& reply);
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
    bool send(std::string_view bytes);
    bool more();
    bool fail(const char* what);
    bool refused(const char* what);

    int port_;
    int socket_ = -1;
    bool begun_ = false; // Some of a reply had come when it failed
    std::string input_;  // Received and not yet handed out
    std::string problem_;
};

} // namespace service
