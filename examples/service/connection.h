/* SPDX-License-Identifier: MIT */
/*
    connection.h - One client's connection: reads, parses, answers, waits, closes.

    The object is one managed block, and libuv's handle and requests lie inside it. That works because a block never
    moves. libuv's own pointers to them mean nothing to the collector, so the server keeps a list of the connections:
    one is on it from before uv_tcp_init until its close callback has run, whatever happens in between. Responses that
    libuv writes hang on the connection in the same way, until their write callback has run.

    States:  open -> draining -> lingering -> closing.
      open       requests are read and answered, pipelined ones in order
      draining   nothing is read any more; what was answered is being written
      lingering  all is written and shut down; what the client still sends is thrown away, because closing a socket
                 with unread bytes resets it, and the reset may overtake the answer
      closing    uv_close was called
 */
#pragma once

#include "message.h"

namespace service {

class Server;

class Connection {
public:
    explicit Connection(Server& server) : server_(server) {}
    void trace(mpr::Marker& m) { m(newer, older, input_, request_, firstPending_, lastPending_); }

    /** Get the memory that every connection needs. @return false when there is none. */
    bool prepare();
    /** Take the connection that waits at the listener. The server has listed this object before. */
    void open(uv_stream_t* listener);
    /** Look at the deadline. Called every tick. */
    void tick(std::uint64_t now);
    /** End in order: soon if idle, after the exchange in progress if not. */
    void stop();
    void close();

    mpr::Member<Connection> newer, older; // The server's list

private:
    enum class State : std::uint8_t { open, draining, lingering, closing };

    struct Parsing; // Callbacks of http-parser
    static const http_parser_settings parserSettings;

    static Connection& of(const void* data) { return *static_cast<Connection*>(const_cast<void*>(data)); }
    static void onAlloc(uv_handle_t* handle, std::size_t suggested, uv_buf_t* buffer);
    static void onRead(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer);
    static void onWritten(uv_write_t* write, int status);
    static void onFarewell(uv_write_t* write, int status);
    static void onShutdown(uv_shutdown_t* shutdown, int status);
    static void onClosed(uv_handle_t* handle);

    uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&tcp_); }
    void read(std::size_t count);
    void parse();
    int take(Took took, int tooLongStatus);
    int headComplete();
    void requestComplete();
    void send(Response* response);
    void answer(const Answer& answer, bool keepAlive, bool headOnly);
    void refuse(int status);
    void farewell();
    void drain();
    void drained();
    void startReading();
    void stopReading();
    void deadlineIn(std::uint64_t milliseconds);
    void deadlineBetween();
    bool pending() const { return firstPending_.get() || farewelling_; }

    Server& server_; // A root for as long as its loop runs
    uv_tcp_t tcp_;
    uv_shutdown_t shutdown_;
    uv_write_t farewell_; // Kept ready for the answer that is sent when nothing can be allocated
    http_parser parser_;

    mpr::Member<char> input_; // Bytes inputBegin_ to inputEnd_ are not parsed yet
    mpr::Member<Request> request_;
    mpr::Member<Response> firstPending_, lastPending_; // In the order of libuv's writing
    std::size_t inputBegin_ = 0, inputEnd_ = 0;
    std::size_t pendingBytes_ = 0;
    std::size_t queueSeen_ = 0; // libuv's write queue at the last tick
    std::uint64_t deadline_ = 0;
    int refusal_ = 0; // Status that a callback of the parser wants to be sent
    State state_ = State::open;
    bool choked_ = false; // The client reads too slowly: no more requests until it has caught up
    bool reading_ = false;
    bool farewelling_ = false;
    bool ended_ = false; // The client will send no more
};

} // namespace service
