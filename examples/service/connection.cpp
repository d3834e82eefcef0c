// SPDX-License-Identifier: MIT
/*
    connection.cpp - See connection.h.

    Every callback that libuv makes while it polls begins with server.wake(): see server.h.
 */
#include "connection.h"

#include "refusal.h"
#include "routes.h"
#include "server.h"

#include <algorithm>

namespace service {
namespace {

constexpr std::size_t inputRoom = 16 * 1024;
constexpr std::size_t chokeAbove = 512 * 1024; // Bytes of answers not yet written
constexpr std::size_t resumeBelow = 128 * 1024;
constexpr std::size_t responseCost = 1024; // Counted for each answer beside its bytes: many small ones choke, too

constexpr std::uint64_t idleTime = 15000;    // Between requests
constexpr std::uint64_t receiveTime = 10000; // For a head; for each piece of a body
constexpr std::uint64_t writeTime = 10000;   // Without any progress
constexpr std::uint64_t lingerTime = 2000;
constexpr std::uint64_t stopTime = 200; // For idle connections when the service stops

std::string_view refusalText(int status) {
    switch (status) {
    case 405: return "405 No tunnels here\n";
    case 408: return "408 The request took too long to arrive\n";
    case 413: return "413 A body has at most 1048576 bytes\n";
    case 414: return "414 A target has at most 2048 bytes\n";
    case 417: return "417 Only Expect: 100-continue is understood\n";
    case 431: return "431 A head has at most 48 fields and 8192 bytes\n";
    case 501: return "501 Unknown method\n";
    case 505: return "505 Only HTTP/1.0 and HTTP/1.1 are spoken here\n";
    default: return "400 That is not HTTP\n";
    }
}

int statusOf(http_errno error) {
    switch (error) {
    case HPE_HEADER_OVERFLOW: return 431;
    case HPE_INVALID_METHOD: return 501;
    case HPE_INVALID_VERSION: return 505;
    default: return 400;
    }
}

} // namespace

/** http-parser calls these inside http_parser_execute; other than 0 ends the parsing with an error. */
struct Connection::Parsing {
    static Connection& of(http_parser* parser) { return Connection::of(parser->data); }

    static int onBegin(http_parser* parser) {
        Connection& self = of(parser);
        self.request_ = mpr::make<Request>();
        self.deadlineIn(receiveTime);
        return self.take(self.request_.get() ? Took::yes : Took::noMemory, 0);
    }
    static int onTarget(http_parser* parser, const char* at, std::size_t length) {
        return of(parser).take(of(parser).request_->addTarget({at, length}), 414);
    }
    static int onName(http_parser* parser, const char* at, std::size_t length) {
        return of(parser).take(of(parser).request_->addName({at, length}), 431);
    }
    static int onValue(http_parser* parser, const char* at, std::size_t length) {
        return of(parser).take(of(parser).request_->addValue({at, length}), 431);
    }
    static int onHead(http_parser* parser) { return of(parser).headComplete(); }
    static int onBody(http_parser* parser, const char* at, std::size_t length) {
        Connection& self = of(parser);
        self.deadlineIn(receiveTime);
        return self.take(self.request_->addBody({at, length}), 413);
    }
    static int onComplete(http_parser* parser) {
        Connection& self = of(parser);
        self.requestComplete();
        if (self.choked_ || self.state_ != State::open) {
            http_parser_pause(parser, 1); // The rest of the input waits, or is of no interest any more
        }
        return 0;
    }
};

const http_parser_settings Connection::parserSettings = [] {
    http_parser_settings settings;
    http_parser_settings_init(&settings);
    settings.on_message_begin = Parsing::onBegin;
    settings.on_url = Parsing::onTarget;
    settings.on_header_field = Parsing::onName;
    settings.on_header_value = Parsing::onValue;
    settings.on_headers_complete = Parsing::onHead;
    settings.on_body = Parsing::onBody;
    settings.on_message_complete = Parsing::onComplete;
    return settings;
}();

bool Connection::prepare() {
    input_ = static_cast<char*>(mprAlloc(inputRoom));
    return input_.get() != nullptr;
}

void Connection::open(uv_stream_t* listener) {
    uv_tcp_init(server_.loop(), &tcp_);
    tcp_.data = this;
    farewell_.data = this;
    shutdown_.data = this;
    http_parser_init(&parser_, HTTP_REQUEST);
    parser_.data = this;
    deadlineIn(idleTime);
    if (uv_accept(listener, stream()) != 0) {
        close();
        return;
    }
    uv_tcp_nodelay(&tcp_, 1);
    startReading();
}

void Connection::onAlloc(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
    Connection& self = of(handle->data);
    self.server_.wake();
    *buffer = self.state_ == State::lingering ? rubbishBin() : uv_buf_init(self.input_.get(), inputRoom);
}

void Connection::onRead(uv_stream_t* stream, ssize_t count, const uv_buf_t*) {
    Connection& self = of(stream->data);
    self.server_.wake();
    if (self.state_ == State::lingering) {
        if (count < 0) {
            self.close();
        }
    } else if (count > 0) {
        self.read(static_cast<std::size_t>(count));
    } else if (count < 0) {
        self.ended_ = true;
        if (count == UV_EOF && self.pending()) {
            self.drain(); // Half closed: it still wants its answers
        } else {
            self.close();
        }
    }
    // All that this thread needs hangs on the server: let the collector have its turn between two reads, and wait here
    // if we make garbage faster than it can be swept. libuv is in the middle of its loop over the sockets that are
    // ready; it holds pointers to handles, and those are in blocks on the server's list.
    mpr::yield();
}

void Connection::read(std::size_t count) {
    inputBegin_ = 0;
    inputEnd_ = count;
    parse();
}

void Connection::parse() {
    while (state_ == State::open && !choked_ && inputBegin_ < inputEnd_) {
        inputBegin_ +=
            http_parser_execute(&parser_, &parserSettings, input_.get() + inputBegin_, inputEnd_ - inputBegin_);
        http_errno error = HTTP_PARSER_ERRNO(&parser_);
        if (error == HPE_PAUSED) {
            http_parser_pause(&parser_, 0);
        } else if (error != HPE_OK) {
            refuse(refusal_ != 0 ? refusal_ : statusOf(error));
        }
    }
    if (state_ == State::open) {
        if (choked_) {
            stopReading(); // uv_read_start would overwrite the rest of the input
        } else {
            startReading();
        }
    }
}

/** The result of a parser's callback: 0 goes on. */
int Connection::take(Took took, int tooLongStatus) {
    if (took == Took::yes) {
        return 0;
    }
    refusal_ = took == Took::noMemory ? 503 : tooLongStatus;
    return -1;
}

int Connection::headComplete() {
    Request& request = *request_;
    request.method = static_cast<http_method>(parser_.method);
    std::string_view expect = request.field("expect");
    bool hasLength = parser_.content_length != 0 && parser_.content_length != UINT64_MAX; // All ones: not announced
    if (parser_.http_major != 1) {
        refusal_ = 505;
    } else if (request.method == HTTP_CONNECT) {
        refusal_ = 405;
    } else if (parser_.http_minor >= 1 && !request.hasField("host")) {
        refusal_ = 400;
    } else if (!expect.empty() && expect != "100-continue") {
        refusal_ = 417;
    } else if (hasLength) {
        take(request.expectBody(parser_.content_length), 413);
    }
    if (refusal_ != 0) {
        return -1;
    }
    parser_.upgrade = 0; // We may ignore a wish to upgrade, and do
    if (!expect.empty() && parser_.http_minor >= 1) {
        Response* interim = Response::makeContinue();
        if (!interim) {
            return take(Took::noMemory, 0);
        }
        send(interim);
    }
    return 0;
}

void Connection::requestComplete() {
    Request& request = *request_;
    request.keepAlive = http_should_keep_alive(&parser_) != 0 && !server_.stopping();
    Answer reply = route(server_.store(), request, server_.now());
    bump(server_.board().requests);
    if (reply.status == 503) {
        farewell();
    } else {
        answer(reply, request.keepAlive, request.method == HTTP_HEAD);
    }
    request_ = nullptr;
    if (state_ == State::open) {
        deadlineBetween();
    }
}

void Connection::answer(const Answer& answer, bool keepAlive, bool headOnly) {
    Response* response = Response::make(answer, server_.date(), keepAlive, headOnly);
    if (!response) {
        farewell();
        return;
    }
    bump(server_.board().answers[static_cast<std::size_t>(answer.status / 100)]);
    send(response);
    if (!keepAlive) {
        drain();
    }
}

void Connection::send(Response* response) {
    if (state_ != State::open) {
        return;
    }
    if (Response* last = lastPending_.get()) {
        last->next = response;
    } else {
        firstPending_ = response;
    }
    lastPending_ = response;
    pendingBytes_ += response->bytes() + responseCost;
    choked_ = choked_ || pendingBytes_ > chokeAbove;
    if (uv_write(&response->write, stream(), response->buffers.data(), response->bufferCount, onWritten) != 0) {
        close();
    }
}

/** Answer an error and read no further. */
void Connection::refuse(int status) {
    bump(server_.board().requests);
    request_ = nullptr;
    if (status == 503) {
        farewell();
        return;
    }
    Answer reply = Answer::of(status, refusalText(status));
    if (status == 405) {
        reply.fields.add("Allow: GET, HEAD, PUT, POST, DELETE\r\n");
    }
    answer(reply, false, false);
}

/** Nothing could be allocated: say so from static memory, behind the answers that wait already, and close. */
void Connection::farewell() {
    if (state_ != State::open) {
        return;
    }
    bump(server_.board().outOfMemory);
    bump(server_.board().answers[5]);
    uv_buf_t buffer = outOfMemoryAnswer();
    farewelling_ = true;
    if (uv_write(&farewell_, stream(), &buffer, 1, onFarewell) != 0) {
        farewelling_ = false;
        close();
        return;
    }
    drain();
}

void Connection::onWritten(uv_write_t* write, int status) {
    Connection& self = of(write->handle->data);
    self.server_.wake();
    auto* response = static_cast<Response*>(write->data);
    self.pendingBytes_ -= response->bytes() + responseCost;
    self.firstPending_ = response->next.get(); // libuv writes and reports in order: it is the first
    response->next = nullptr;
    if (!self.firstPending_.get()) {
        self.lastPending_ = nullptr;
    }
    if (status < 0) {
        self.close();
    } else {
        self.drained();
    }
}

void Connection::onFarewell(uv_write_t* write, int status) {
    Connection& self = of(write->data);
    self.server_.wake();
    self.farewelling_ = false;
    if (status < 0) {
        self.close();
    } else {
        self.drained();
    }
}

/** Read no more; close when everything is written. */
void Connection::drain() {
    if (state_ == State::open) {
        state_ = State::draining;
        stopReading();
        deadlineIn(writeTime);
        drained();
    }
}

/** Something was written: go on with what waited for that. */
void Connection::drained() {
    if (state_ == State::open) {
        if (!request_.get()) {
            deadlineBetween();
        }
        if (choked_ && pendingBytes_ < resumeBelow) {
            choked_ = false;
            parse();
        }
    } else if (state_ == State::draining && !pending()) {
        if (ended_ || uv_shutdown(&shutdown_, stream(), onShutdown) != 0) {
            close();
        }
    }
}

void Connection::onShutdown(uv_shutdown_t* shutdown, int status) {
    Connection& self = of(shutdown->data);
    self.server_.wake();
    if (status < 0) {
        self.close();
    } else if (self.state_ == State::draining) {
        self.state_ = State::lingering;
        self.deadlineIn(lingerTime);
        self.startReading();
    }
}

void Connection::tick(std::uint64_t now) {
    std::size_t queue = uv_stream_get_write_queue_size(stream());
    if (queue != queueSeen_) { // A slow reader is not a dead one
        queueSeen_ = queue;
        if (pending() && !request_.get()) {
            deadlineIn(writeTime);
        }
    }
    if (now < deadline_ || state_ == State::closing) {
        return;
    }
    if (!server_.stopping()) {
        bump(server_.board().timeouts);
    }
    if (state_ == State::open && request_.get() && !pending()) {
        refuse(408);
    } else {
        close();
    }
}

void Connection::stop() {
    if (state_ == State::open && !request_.get()) {
        deadlineBetween(); // A request may be under way: it still gets its answer, the last one
    }
}

void Connection::close() {
    if (state_ != State::closing) {
        state_ = State::closing;
        uv_close(reinterpret_cast<uv_handle_t*>(&tcp_), onClosed);
    }
}

void Connection::onClosed(uv_handle_t* handle) {
    Connection& self = of(handle->data);
    self.server_.wake();
    self.server_.forget(self); // From here on it is garbage
}

void Connection::startReading() {
    if (!reading_) {
        reading_ = true;
        if (uv_read_start(stream(), onAlloc, onRead) != 0) {
            close();
        }
    }
}

void Connection::stopReading() {
    if (reading_) {
        reading_ = false;
        uv_read_stop(stream());
    }
}

/** The deadline when no request is being received. */
void Connection::deadlineBetween() {
    deadlineIn(pending() ? writeTime : server_.stopping() ? stopTime : idleTime);
}

void Connection::deadlineIn(std::uint64_t milliseconds) {
    deadline_ = server_.now() + milliseconds;
}

} // namespace service
