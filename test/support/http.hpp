/* SPDX-License-Identifier: MIT */
/*
    test/support/http.hpp - A server in the process, and a client that sends and reads bytes as they are.

    The server's events are those of a thread that mprStart makes. The client is the test's thread, yielded while it
    waits.
 */
#pragma once

#include "mpr/http.h"
#include "test/support/runtime.hpp"
#include "test/support/spread.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace test {

/* What a server has answered. */
struct Answer {
    int status = 0;
    std::string head, body;
    bool whole = false; /* The body has the length that the head announces */

    /* A header's value; "" when there is none. */
    std::string operator[](const std::string &name) const {
        const std::string line = "\r\n" + name + ": ";
        const size_t at = head.find(line);
        return at == std::string::npos ? ""
                                       : head.substr(at + line.size(), head.find("\r\n", at + 2) - at - line.size());
    }
    bool has(const std::string &name) const { return head.find("\r\n" + name + ": ") != std::string::npos; }
};

/* One connection. */
class Client {
public:
    enum Mode { mustConnect, mayFail };
    /*
        @param room Bytes that the system is to keep of what has not been read; 0: as it likes.
        @param host Its own address is 127.0.0.host.
     */
    explicit Client(int port, Mode mode = mustConnect, int room = 0, unsigned host = 1)
        : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (room > 0) {
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        if (host != 1) {
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
            REQUIRE(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
        }
        address.sin_port = htons(static_cast<uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const bool connected = connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
        REQUIRE((connected || mode == mayFail));
        ended = !connected;
    }
    ~Client() { close(); }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;

    void close() {
        if (fd >= 0) {
            ::close(fd);
            fd = -1;
        }
    }
    /* End without a word: the server learns of it at once. */
    void reset() {
        const linger now{1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        close();
    }
    /* Nothing more is sent. */
    void finish() const { shutdown(fd, SHUT_WR); }

    bool send(const std::string &bytes) const {
        size_t at = 0;
        while (at < bytes.size()) {
            const ssize count = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
            if (count <= 0) {
                return false;
            }
            at += static_cast<size_t>(count);
        }
        return true;
    }

    /* Read more. @return false at the end, or when nothing comes. */
    bool read(int ms = 20000) {
        char bytes[16384];
        mprYield(MPR_YIELD_STICKY);
        pollfd descriptor{fd, POLLIN, 0};
        const bool ready = poll(&descriptor, 1, ms) > 0;
        const ssize count = ready ? recv(fd, bytes, sizeof(bytes), 0) : 0;
        mprResetYield();
        if (count <= 0) {
            ended = ready;
            return false;
        }
        input.append(bytes, static_cast<size_t>(count));
        return true;
    }

    /* Whether the server has closed the connection, or does. */
    bool isClosed(int ms = 20000) {
        while (!ended && read(ms)) {} /* false also when nothing comes */
        return ended;
    }

    /* The next answer. @param head Of a HEAD request: without a body. */
    Answer receive(bool head = false) {
        Answer answer;
        size_t end = 0;
        while ((end = input.find("\r\n\r\n")) == std::string::npos && read()) {}
        if (end == std::string::npos) {
            return answer;
        }
        answer.head = input.substr(0, end + 2);
        input.erase(0, end + 4);
        answer.status = atoi(answer.head.c_str() + 9);
        if (answer["Transfer-Encoding"] == "chunked") {
            answer.whole = takeChunks(answer.body);
        } else if (head || answer.status < 200 || answer.status == 204 || answer.status == 304) {
            answer.whole = true;
        } else if (answer.has("Content-Length")) {
            const size_t length = strtoul(answer["Content-Length"].c_str(), nullptr, 10);
            while (input.size() < length && read()) {}
            answer.whole = input.size() >= length;
            answer.body = input.substr(0, length);
            input.erase(0, answer.body.size());
        } else {
            while (read()) {}
            answer.whole = true;
            answer.body.swap(input);
        }
        return answer;
    }
    Answer ask(const std::string &request) {
        send(request);
        return receive(request.compare(0, 5, "HEAD ") == 0);
    }

    std::string input; /* Read, and not yet part of an answer */

private:
    bool takeChunks(std::string &body) {
        for (;;) {
            size_t end = 0;
            while ((end = input.find("\r\n")) == std::string::npos) {
                if (!read()) {
                    return false;
                }
            }
            const size_t size = strtoul(input.c_str(), nullptr, 16);
            while (input.size() < end + 2 + size + 2) {
                if (!read()) {
                    return false;
                }
            }
            body += input.substr(end + 2, size);
            input.erase(0, end + 2 + size + 2);
            if (size == 0) {
                return true;
            }
        }
    }

    int fd;
    bool ended = false;
};

/* A server on a port of its own. Set it up between the constructor and start(). */
class Server {
public:
    explicit Server(cchar *options = "") : runtime(options) {
        mprSetLogLevel(0);
        REQUIRE(httpCreate(HTTP_SERVER_SIDE));
        endpoint = httpCreateEndpoint("127.0.0.1", 0, nullptr);
        REQUIRE(endpoint);
        spread(endpoint);
    }
    ~Server() { stop(); }

    Server &start() {
        REQUIRE(httpStartEndpoints() == 0);
        port = httpGetEndpointPort(endpoint);
        REQUIRE(mprStart() == 0);
        return *this;
    }
    void stop() {
        if (port) {
            port = 0;
            mprShutdown(MPR_EXIT_NORMAL, 0, -1);
        }
    }
    /* One request on a connection of its own. */
    Answer ask(const std::string &request) const { return Client(port).ask(request); }
    Answer get(const std::string &path, const std::string &headers = "") const {
        return ask("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
    }

    Runtime runtime;
    HttpEndpoint *endpoint = nullptr;
    int port = 0;
};

/* A request without a body. */
inline std::string get(const std::string &path) {
    return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n";
}
/* A request with a body. */
inline std::string post(const std::string &path, const std::string &body, const std::string &headers = "") {
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           headers + "\r\n" + body;
}

/* Wait until something is so that the server's thread does. It is asked once each time: what is so for a moment only
   (no request runs) was so. */
inline void eventually(const std::function<bool()> &condition) {
    bool isSo = condition();
    for (int i = 0; i < 2000 && !isSo; i++) {
        mprSleep(10);
        isSo = condition();
    }
    CHECK(isSo);
}

/* Actions that many tests use. */
inline void answerHello(HttpStream *stream) {
    httpWriteString(stream->writeq, "hello");
    httpFinalize(stream);
}
inline void answerBody(HttpStream *stream) {
    const ssize length = httpGetReadCount(stream);
    httpWriteBlock(stream->writeq, httpGetBodyInput(stream), length, 0);
    httpFinalize(stream);
}

} // namespace test
