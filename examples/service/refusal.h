/* SPDX-License-Identifier: MIT */
/*
    refusal.h - How a connection is turned away when no Connection object can be had for it.

    Answered 503 and closed in order, with static text and without any allocation: there are a few of these in the
    server's block from the start. While all are busy, newcomers wait in the kernel's queue.
 */
#pragma once

#include <cstdint>
#include <uv.h>

namespace service {

class Server;

class Refusal {
public:
    bool busy() const { return busy_; }
    void open(Server& server, uv_stream_t* listener);
    void tick(std::uint64_t now);
    void close();

private:
    uv_tcp_t tcp_;
    uv_write_t write_;
    uv_shutdown_t shutdown_;
    Server* server_ = nullptr; // A root while its loop runs, and this a part of it
    std::uint64_t deadline_ = 0;
    bool busy_ = false;
};

/** The answer of those who have no memory for an answer. */
uv_buf_t outOfMemoryAnswer();
/** Where bytes go that nobody wants. Written by the loop thread, read by nobody. */
uv_buf_t rubbishBin();

} // namespace service
