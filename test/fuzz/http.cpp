// SPDX-License-Identifier: MIT
/*
    test/fuzz/http.cpp - Any bytes as what clients send on several connections, through all of a server: parser, routes,
    every filter, handlers that stream and suspend, documents, sessions, forms. Built with libFuzzer by clang
    (fuzz_http), and with a driver that mutates a corpus (test/fuzz/corpus.cpp) for the tests.

    Bytes are sent as they are; 0xFF and a byte say what is done between them (Steps). Connections are pairs of sockets
    that are given to the server as accepted ones. What comes back is looked at by Answers. In the end all clients have
    sent all, and have read all, and every suspended stream was woken: then no connection or request is left, no
    temporary file, each stream was told of its end once, and the access log is lines of JSON.
*/
#include "test/fuzz/http_site.hpp"

#include "mpr/http/log.hpp"
#include "mpr/http/net.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <ftw.h>
#include <set>

using namespace fuzz;

namespace {

HttpEndpoint *endpoint;
std::string folder;
int logFile;

struct Connection {
    int fd = -1;
    MprSocket *sock = nullptr; /* The server's, which knows its streams by it */
    std::string output;
    std::vector<Ended> ended;
    bool finished = false; /* The server has closed */
    bool shut = false;     /* Nothing more is sent */
};
Connection connections[3];
std::set<uint64> alive; /* Streams that were told of something, and not of their end */

void onStream(HttpStream *stream, int event, int) {
    if (event != HTTP_EVENT_DESTROY) {
        alive.insert(stream->seqno);
    }
    if (event == HTTP_EVENT_DONE) {
        const mpr::http::Stream &own = *mpr::http::own(stream);
        for (Connection &each : connections) {
            if (each.sock == stream->sock) {
                const bool head = own.in().head && strcmp(own.in().head, "HEAD") == 0;
                const auto found = documents.find(stream->tx->filename ? stream->tx->filename : "");
                const bool isDocument = found != documents.end() && !stream->error;
                each.ended.push_back(
                    {head, stream->disconnect || own.error, isDocument ? found->second : "", isDocument});
            }
        }
    } else if (event == HTTP_EVENT_DESTROY) {
        expect(alive.erase(stream->seqno) == 1, "a stream ends twice");
        HttpUploadFile *file;
        int next;
        for (MPR_ITERATE_ITEMS(stream->rx->files, file, next)) {
            expect(access(file->filename, F_OK) != 0, "a temporary file is left", file->filename);
        }
    }
}

/* What the server sees to now. @return Whether there was anything. */
bool turn() {
    return mprServiceEvents(0, MPR_SERVICE_NO_BLOCK) > 0;
}

bool readSome(Connection &connection) {
    char bytes[16384];
    if (connection.fd < 0 || connection.finished) {
        return false;
    }
    const ssize_t count = recv(connection.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count > 0) {
        connection.output.append(bytes, static_cast<size_t>(count));
        return true;
    }
    connection.finished = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return false;
}

void settle() {
    for (int quiet = 0, turns = 0; quiet < 2 && turns < 1000; turns++) {
        quiet = turn() ? 0 : quiet + 1;
    }
}

void connectTo(Connection &connection) {
    int pair[2];
    expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0, "no sockets");
    const int small = 4096; /* So that it is full soon */
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    MprSocket *sock = mprCreateSocket();
    sock->fd = pair[1];
    sock->ip = sclone("127.0.0.1");
    connection = {};
    connection.fd = pair[0];
    connection.sock = sock;
    mpr::http::accept(*endpoint, sock);
}

/* @param closed By the server. */
void leaveTo(Connection &connection, bool closed) {
    if (connection.fd >= 0) {
        close(connection.fd);
        settle(); /* Streams end that had not */
        Answers(connection.output, connection.ended, closed).check();
        connection = {};
    }
}

void sendAll(Connection &connection, const std::string &bytes) {
    size_t at = 0;
    for (int idle = 0; at < bytes.size() && idle < 3 && !connection.shut;) {
        const ssize_t count = send(connection.fd, bytes.data() + at, bytes.size() - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) {
            at += static_cast<size_t>(count);
            idle = 0;
        } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
            return;
        } else {
            const bool any = turn();
            idle = any || readSome(connection) ? 0 : idle + 1;
        }
    }
    connection.shut = connection.shut || at < bytes.size(); /* A server that waits: the rest would be another request */
}

void finish(Connection &connection) {
    if (connection.fd >= 0) {
        shutdown(connection.fd, SHUT_WR);
        connection.shut = true;
    }
}

/* Reads the input: runs of bytes, and what 0xFF says between them. */
class Steps {
public:
    Steps(const uint8_t *data, size_t size) : at_(data), end_(data + size) {}

    void take() {
        while (at_ < end_) {
            const uint8_t byte = *at_++;
            if (byte != 0xFF || at_ == end_ || *at_ == 0xFF) {
                at_ += byte == 0xFF && at_ < end_;
                run_ += static_cast<char>(byte);
            } else {
                sendRun();
                step(*at_++);
            }
        }
        sendRun();
    }

private:
    Connection &current() {
        if (connections[chosen_].fd < 0) {
            connectTo(connections[chosen_]);
        }
        return connections[chosen_];
    }

    void sendRun() {
        if (!run_.empty()) {
            sendAll(current(), run_);
            last_.swap(run_);
            run_.clear();
        }
    }

    /* The last run again, doubled so many times. */
    void again(int times) {
        std::string bytes = last_;
        while (times-- > 1 && bytes.size() < 50000) {
            bytes += bytes;
        }
        sendAll(current(), bytes);
    }

    void step(uint8_t byte) {
        chosen_ = byte % 4 % 3;
        switch (byte / 4 % 8) {
        case 0: again(byte / 32); break;
        case 1: settle(); break;
        case 2: turn(); break;
        case 3: finish(current()); break;
        case 4: leaveTo(connections[chosen_], false); break;
        case 5: readSome(current()); break;
        case 6: wakeAll(); break;
        default: mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE); break;
        }
    }

    const uint8_t *at_, *end_;
    std::string run_, last_;
    size_t chosen_ = 0;
};

/* All clients send no more, and read until the server closes. */
void finishAll() {
    for (Connection &each : connections) {
        finish(each);
    }
    bool open = true;
    for (int idle = 0; open;) {
        bool any = turn();
        any = wakeAll() || any;
        open = false;
        for (Connection &each : connections) {
            any = readSome(each) || any;
            open = open || (each.fd >= 0 && !each.finished);
        }
        idle = any ? 0 : idle + 1;
        expect(idle < 20, "a connection stays open", connections[0].output + connections[1].output);
    }
    for (Connection &each : connections) {
        leaveTo(each, true);
    }
    settle();
}

void checkLog() {
    mpr::http::flushLog();
    std::string text(65536, '\0');
    const ssize_t count = pread(logFile, text.data(), text.size(), 0);
    text.resize(count > 0 ? static_cast<size_t>(count) : 0);
    expect(text.empty() || text.back() == '\n', "a line of the log does not end");
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at);
        expect(mprParseJson(text.substr(at, end - at).c_str()) != nullptr, "a line of the log is no JSON",
               text.substr(at, end - at));
        at = end + 1;
    }
    expect(ftruncate(logFile, 0) == 0, "the log cannot be cut");
}

void checkNothingLeft() {
    HttpStats stats{};
    httpGetStats(&stats);
    expect(stats.activeConnections == 0 && stats.activeRequests == 0 && stats.activeClients == 0, "something is left");
    expect(alive.empty(), "a stream does not end");
    checkLog();
}

void removeFolder() {
    nftw(
        folder.c_str(), +[](const char *path, const struct stat *, int, FTW *) { return remove(path); }, 8,
        FTW_DEPTH | FTW_PHYS);
}

/* Of a server that answers nobody nothing would be found. */
void checkAnswered() {
    connectTo(connections[0]);
    sendAll(connections[0], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    settle();
    readSome(connections[0]);
    const std::string output = connections[0].output;
    expect(output.starts_with("HTTP/1.1 ") && !output.starts_with("HTTP/1.1 503"), "the server does not answer",
           output);
    finishAll();
    checkNothingLeft();
}

bool setUp() {
    char name[] = "/tmp/fuzz-http-XXXXXX";
    mprConfigure(getenv("MPR_TEST_OPTIONS"));
    if (!mkdtemp(name) || !mprCreate(0, nullptr, 0) || !httpCreate(HTTP_SERVER_SIDE)) {
        return false;
    }
    folder = name;
    atexit(removeFolder);
    mprSetLogLevel(-1);
    endpoint = httpCreateEndpoint("127.0.0.1", 0, nullptr);
    httpSetEndpointNotifier(endpoint, onStream);
    makeSite(folder);
    if (httpStartEndpoint(endpoint) != 0) { /* Nobody connects, but one that does not listen serves nobody */
        return false;
    }
    const std::string log = folder + "/access.log";
    const bool logs = httpSetAccessLog(log.c_str(), HTTP_LOG_JSON, 0, 0) == 0;
    logFile = open(log.c_str(), O_RDWR | O_CLOEXEC);
    checkAnswered();
    return logs && logFile >= 0;
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const bool ready = setUp();
    if (!ready || size > 1 << 15) {
        return ready ? 0 : -1;
    }
    Steps(data, size).take();
    finishAll();
    checkNothingLeft();
    mprYield(MPR_YIELD_DEFAULT);
    return 0;
}
