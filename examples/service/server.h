/* SPDX-License-Identifier: MIT */
/*
    server.h - The event loop and what is bound to it: listener, live connections, clock, signals; and the treaty
    between libuv and the collector.

    A thread that waits must have yielded, or every collection waits with it. uv_prepare handles run just before libuv
    polls and uv_check handles just after, so the loop yields stickily in the one and ends that in the other. But libuv
    calls back about sockets in between, still inside its poll: as soon as epoll has returned, uv_check comes last. So
    each callback that can come from there begins with wake(), which ends the sticky yield, waits if a collection is
    marking, and costs one test when the thread is awake already.

    What is touched before that is sound while the collector works: libuv reads and writes its handles and sends bytes
    of responses, all in blocks that are reachable from this server, which is a root. They do not move; and of these
    objects the marker reads the Member fields only, which libuv does not know.
 */
#pragma once

#include "connection.h"
#include "redline.h"
#include "refusal.h"
#include "routes.h"

#include <array>

namespace service {

class Server {
public:
    explicit Server(Board& board) : board_(board) {}
    void trace(mpr::Marker& m) { m(store_, newest_); }

    /** Bind to 127.0.0.1. @param port 0: a free one; the board tells. @return 0 or an error of libuv. */
    int listen(int port);
    /** Serve until a signal or the board asks to stop, and all is closed. The caller has this object rooted. */
    void run();

    uv_loop_t* loop() { return &loop_; }
    Store& store() { return *store_; }
    Board& board() { return board_; }
    std::uint64_t now() const { return uv_now(&loop_); }
    std::string_view date() const { return date_.view(); }
    bool stopping() const { return stopping_; }

    /** First call of every callback from libuv. */
    void wake() {
        if (asleep_) {
            asleep_ = false;
            mprResetYield();
        }
    }

    /** A connection has been closed. */
    void forget(Connection& connection);
    /** A refusal has been closed. */
    void refusalFree();

private:
    static constexpr std::size_t mostConnections = 1000;
    static constexpr std::uint64_t tickTime = 100;
    static constexpr std::uint64_t stopTime = 3000; // For clients to take their last answers

    static Server& of(const void* data) { return *static_cast<Server*>(const_cast<void*>(data)); }

    int open(int port);
    void accept();
    void cannotAccept(int error);
    void tick();
    void stop();
    void finish();
    void closeHandle(uv_handle_t* handle);

    Board& board_;
    uv_loop_t loop_;
    uv_tcp_t listener_;
    uv_prepare_t beforePoll_;
    uv_check_t afterPoll_;
    uv_timer_t clock_;
    std::array<uv_signal_t, 2> signals_;
    std::array<Refusal, 4> refusals_;
    Redline redline_;
    FixedText<40> date_;
    std::uint64_t dateAt_ = 0;
    std::uint64_t stopBy_ = 0;
    std::size_t connections_ = 0;
    bool asleep_ = false;        // Yielded for the poll
    bool acceptWaiting_ = false; // A newcomer waits for a refusal
    bool stopping_ = false;
    bool finished_ = false;

    mpr::Member<Store> store_;
    mpr::Member<Connection> newest_; // Live connections: see connection.h
};

} // namespace service
