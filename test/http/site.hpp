// SPDX-License-Identifier: MIT
/*
    test/http/site.hpp - A server in the test's process, and a client on a thread of its own that sends bytes and reads
    what comes until the server closes.
 */
#pragma once

#include "test/support/folder.hpp"
#include "test/support/runtime.hpp"
#include "test/support/service.hpp"
#include "test/support/spread.hpp"

#include "mpr/http.h"

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace test {

/* A response, taken apart. */
struct Reply {
    int status = 0;
    std::string head, body;

    explicit Reply(const std::string &bytes) {
        const size_t end = bytes.find("\r\n\r\n");
        head = bytes.substr(0, end == std::string::npos ? bytes.size() : end + 2);
        body = end == std::string::npos ? "" : bytes.substr(end + 4);
        status = head.size() > 12 ? atoi(head.c_str() + 9) : 0;
        if (header("Transfer-Encoding") == "chunked") {
            body = joined(body);
        }
    }

    /* The value of a header; "" when it is not there. */
    std::string header(const std::string &name) const {
        const size_t at = head.find("\r\n" + name + ": ");
        if (at == std::string::npos) {
            return "";
        }
        const size_t begin = at + name.size() + 4;
        return head.substr(begin, head.find("\r\n", begin) - begin);
    }

private:
    /* The data of chunks; "(cut)" where they do not end. */
    static std::string joined(const std::string &chunks) {
        std::string text;
        for (size_t at = 0; at < chunks.size();) {
            const size_t size = strtoul(chunks.c_str() + at, nullptr, 16);
            at = chunks.find("\r\n", at) + 2;
            if (size == 0) {
                return text;
            }
            text += chunks.substr(at, size);
            at += size + 2;
        }
        return text + "(cut)";
    }
};

class Site {
public:
    Site() {
        http = httpCreate(HTTP_SERVER_SIDE);
        REQUIRE(http);
        endpoint = httpCreateEndpoint("127.0.0.1", 0, nullptr);
        REQUIRE(endpoint);
        spread(endpoint);
        route = httpGetDefaultRoute(nullptr);
        REQUIRE(route);
        httpSetRouteDocuments(route, folder.root.c_str());
    }

    /* Send bytes and read all that comes. The server's events are serviced meanwhile. @param piece Bytes to be sent
       at a time; 0: all. */
    std::string exchange(const std::string &bytes, size_t piece = 0) {
        if (!started) {
            REQUIRE(httpStartEndpoint(endpoint) == 0);
            started = true;
        }
        const int port = httpGetEndpointPort(endpoint);
        std::string reply;
        std::atomic<bool> done{false};
        std::thread client([&] {
            reply = talk(port, bytes, piece);
            done = true;
        });
        const bool serviced = serviceUntil([&] {
            if (asked.exchange(false)) {
                collect();
                liveMeanwhile = stats().bytesLive;
                measured = true;
            }
            return done.load();
        });
        client.join();
        CHECK(serviced);
        return reply;
    }

    Reply request(const std::string &method, const std::string &path, const std::string &headers = "",
                  const std::string &body = "", size_t piece = 0) {
        const std::string length = body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
        return Reply(exchange(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers +
                                  length + "\r\n" + body,
                              piece));
    }
    Reply get(const std::string &path, const std::string &headers = "") { return request("GET", path, headers); }

    Runtime runtime;
    Folder folder;
    Http *http = nullptr;
    HttpEndpoint *endpoint = nullptr;
    HttpRoute *route = nullptr;
    bool measures = false;           /* Look how much memory is in use when the server can send no more: */
    uint64 liveMeanwhile = 0;        /* that */
    bool leaves = false;             /* The client closes after the first bytes that it has read */
    std::function<void()> meanwhile; /* What the client does when the server can send no more, before it reads */

private:
    /* Until no more comes to a client that does not read. */
    static void waitUntilFull(int fd) {
        int before = -1, waiting = 0;
        for (int same = 0; same < 20; same = waiting == before && waiting > 0 ? same + 1 : 0) {
            before = waiting;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            ioctl(fd, FIONREAD, &waiting);
        }
    }

    std::string talk(int port, const std::string &bytes, size_t piece) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<uint16_t>(port));
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
        timeval patience = {20, 0}; // with which a wait is not begun again when the process was stopped
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        std::string reply;
        if (connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0) {
            piece = piece ? piece : bytes.size();
            for (size_t at = 0; at < bytes.size();) {
                const ssize_t sent = send(fd, bytes.data() + at, std::min(piece, bytes.size() - at), MSG_NOSIGNAL);
                if (sent <= 0) {
                    break;
                }
                at += static_cast<size_t>(sent);
            }
            if (meanwhile || measures) {
                waitUntilFull(fd);
            }
            if (meanwhile) {
                meanwhile();
            }
            if (measures) {
                asked = true;
                for (int i = 0; i < 4000 && !measured; ++i) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                }
            }
            char buffer[65536];
            for (ssize_t count; (count = TEMP_FAILURE_RETRY(recv(fd, buffer, sizeof(buffer), 0))) > 0;) {
                reply.append(buffer, static_cast<size_t>(count));
                if (leaves) {
                    break;
                }
            }
        }
        ::close(fd);
        return reply;
    }

    bool started = false;
    std::atomic<bool> asked{false}, measured{false};
};

} // namespace test
