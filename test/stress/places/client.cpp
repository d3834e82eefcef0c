// SPDX-License-Identifier: MIT
/*
    test/stress/places/client.cpp - Sends a visit's requests, and checks the answers: as many as requests, each whole, of the
    bytes that were written, unless the program of the request has altered or broken it.
 */
#include "test/stress/places/client.hpp"

#include "test/support/http_answers.hpp"
#include "test/stress/places/ledger.hpp"

#include <arpa/inet.h>
#include <chrono>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace places {

namespace {

constexpr int patience = 100; // seconds: longer than any limit of the server

std::string requestOf(const Script &script) {
    std::string text =
        script.method + " " + script.path() + (script.old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\nHost: a\r\n");
    std::string body(script.bodySize, ' ');
    for (size_t i = 0; i < body.size(); i++) {
        body[i] = bodyByte(i);
    }
    text += script.zips ? "Accept-Encoding: gzip\r\n" : "";
    text += script.closes && !script.old ? "Connection: close\r\n" : "";
    text += script.form ? "Content-Type: application/x-www-form-urlencoded\r\n" : "";
    if (script.method[0] != 'P') {
        return text + "\r\n";
    }
    if (!script.chunked) {
        return text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    text += "Transfer-Encoding: chunked\r\n\r\n";
    for (size_t at = 0; at < body.size(); at += 3000) {
        const std::string piece = body.substr(at, 3000);
        char size[20];
        snprintf(size, sizeof(size), "%zx\r\n", piece.size());
        text += size + piece + "\r\n";
    }
    return text + "0\r\n\r\n";
}

class Visitor {
public:
    Visitor(int port, const Visit &visit) : visit_(visit), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (visit.slow) {
            const int small = 4096;
            setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ended_ = connect(fd_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0;
        if (ended_ && !endsEarly()) {
            fault("a client cannot connect");
        }
    }
    ~Visitor() { close(fd_); }
    Visitor(const Visitor &) = delete;
    Visitor &operator=(const Visitor &) = delete;

    void run() {
        for (const Script &script : visit_.scripts) {
            const std::string request = requestOf(script);
            send(request);
            while (visit_.waits && !gone() && !recordOf(script.id).over) {
                step("", 0);
            }
        }
        if (visit_.finishes) {
            shutdown(fd_, SHUT_WR);
        }
        while (!gone()) {
            step("", 0);
        }
        if (visit_.stays()) {
            check();
        } else {
            const linger now{1, 0};
            setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        }
    }

private:
    bool gone() const { return ended_ || (visit_.leaves >= 0 && static_cast<long>(input_.size()) >= visit_.leaves); }

    void send(const std::string &bytes) {
        for (size_t at = 0; at < bytes.size() && !gone() && !deaf_;) {
            at += step(bytes.data() + at, visit_.piece ? std::min(visit_.piece, bytes.size() - at) : bytes.size() - at);
        }
    }

    /* Send or read what can be. @return Bytes sent. */
    size_t step(const char *bytes, size_t size) {
        if (visit_.slow) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        pollfd ready{fd_, static_cast<short>(POLLIN | (size ? POLLOUT : 0)), 0};
        if (poll(&ready, 1, visit_.waits ? 20 : 1000) == 0) {
            idle_ += visit_.waits ? 20 : 1000;
            if (idle_ > patience * 1000) {
                reportOpen();
                fault("%d to %d: no answer; so far:\n%s", visit_.scripts.front().id, visit_.scripts.back().id,
                      input_.substr(0, 2000).c_str());
            }
            return 0;
        }
        idle_ = 0;
        if (ready.revents & (POLLIN | POLLHUP | POLLERR)) {
            char some[16384];
            const ssize_t count = recv(fd_, some, visit_.slow ? 2000 : sizeof(some), MSG_DONTWAIT);
            ended_ = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
            reset_ = reset_ || (count < 0 && ended_);
            input_.append(some, count > 0 ? static_cast<size_t>(count) : 0);
        }
        if (size && (ready.revents & POLLOUT)) {
            const ssize_t count = ::send(fd_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
            deaf_ = count < 0 && errno != EAGAIN && errno != EINTR; // it has closed, and may have said why
            return count > 0 ? static_cast<size_t>(count) : 0;
        }
        return 0;
    }

    /* @return Whether a request has begun. When it has, it ends. */
    static bool awaitEnd(const Record &record) {
        for (int tries = 0; record.seqno && !record.over; tries++) {
            if (tries > patience * 100) {
                fault("%d: has been answered, and does not end", record.script->id);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return record.seqno;
    }

    void check() {
        std::vector<const Record *> begun; // others came behind one that closed the connection
        bool cut = reset_;                 // a reset destroys earlier answers that are on their way
        for (const Script &script : visit_.scripts) {
            const Record &record = recordOf(script.id);
            if (!awaitEnd(record)) {
                break;
            }
            begun.push_back(&record);
            cut = cut || record.breaks() || record.failed;
        }
        std::vector<test::Ended> ended;
        for (const Record *record : begun) {
            std::string body(record->accepted, ' ');
            for (size_t i = 0; i < body.size(); i++) {
                body[i] = answerByte(i);
            }
            const bool known = !record->altered && !record->failed && !record->breaks();
            ended.push_back({record->head, cut, known ? body : "", known});
        }
        fprintf(stderr, "answers of %d to %d, %zu bytes\n", visit_.scripts.front().id, visit_.scripts.back().id,
                input_.size()); // read by nobody unless the check below fails
        test::Answers(input_, ended, true).check();
    }

    const Visit &visit_;
    int fd_;
    int idle_ = 0;
    bool ended_ = false, reset_ = false, deaf_ = false;
    std::string input_;
};

} // namespace

void visit(int port, const Visit &visit) {
    Visitor(port, visit).run();
}

} // namespace places
