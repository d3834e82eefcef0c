// SPDX-License-Identifier: MIT
/*
    server.cpp - See server.h.
 */
#include "server.h"

#include <csignal>
#include <cstdio>
#include <ctime>

namespace service {

int Server::listen(int port) {
    store_ = mpr::make<Store>(board_);
    if (!store_.get() || !redline_.watch(store_->content, board_)) {
        return UV_ENOMEM;
    }
    if (int error = uv_loop_init(&loop_); error != 0) {
        redline_.unwatch();
        return error;
    }
    listener_.data = beforePoll_.data = afterPoll_.data = clock_.data = this;
    uv_tcp_init(&loop_, &listener_);
    uv_prepare_init(&loop_, &beforePoll_);
    uv_check_init(&loop_, &afterPoll_);
    uv_timer_init(&loop_, &clock_);
    for (uv_signal_t& signal : signals_) {
        uv_signal_init(&loop_, &signal);
        signal.data = this;
    }
    int error = open(port);
    if (error != 0) {
        finish();
        run();
    }
    return error;
}

int Server::open(int port) {
    sockaddr_in address;
    uv_ip4_addr("127.0.0.1", port, &address);
    auto* listener = reinterpret_cast<uv_stream_t*>(&listener_);
    if (int error = uv_tcp_bind(&listener_, reinterpret_cast<const sockaddr*>(&address), 0); error != 0) {
        return error;
    }
    if (int error = uv_listen(listener, 128,
                              [](uv_stream_t* stream, int status) {
                                  of(stream->data).wake();
                                  if (status == 0) {
                                      of(stream->data).accept();
                                  } else {
                                      of(stream->data).cannotAccept(status);
                                  }
                              });
        error != 0) {
        return error;
    }
    int length = sizeof address;
    if (int error = uv_tcp_getsockname(&listener_, reinterpret_cast<sockaddr*>(&address), &length); error != 0) {
        return error;
    }
    uv_prepare_start(&beforePoll_, [](uv_prepare_t* handle) {
        Server& self = of(handle->data);
        self.asleep_ = true;
        mprYield(MPR_YIELD_STICKY); // All that this thread needs hangs on the server: see server.h
    });
    uv_check_start(&afterPoll_, [](uv_check_t* handle) { of(handle->data).wake(); });
    uv_timer_start(
        &clock_, [](uv_timer_t* handle) { of(handle->data).tick(); }, 0, tickTime);
    auto stopBySignal = [](uv_signal_t* handle, int) {
        of(handle->data).wake();
        of(handle->data).stop();
    };
    uv_signal_start(&signals_[0], stopBySignal, SIGINT);
    uv_signal_start(&signals_[1], stopBySignal, SIGTERM);
    board_.port = ntohs(address.sin_port);
    board_.listening = true;
    return 0;
}

void Server::run() {
    tick();
    uv_run(&loop_, UV_RUN_DEFAULT);
    wake();
    redline_.unwatch();
    uv_loop_close(&loop_);
    board_.ended = true;
}

void Server::accept() {
    auto* listener = reinterpret_cast<uv_stream_t*>(&listener_);
    if (connections_ < mostConnections) {
        auto* connection = mpr::make<Connection>(*this);
        if (connection && connection->prepare()) {
            connection->older = newest_.get();
            if (newest_.get()) {
                newest_->newer = connection;
            }
            newest_ = connection;
            ++connections_;
            bump(board_.accepted);
            board_.connections = connections_;
            connection->open(listener);
            return;
        }
        bump(board_.outOfMemory);
    }
    for (Refusal& refusal : refusals_) {
        if (!refusal.busy()) {
            bump(board_.refused);
            refusal.open(*this, listener);
            return;
        }
    }
    acceptWaiting_ = true; // Not accepted: libuv listens no more until we do
}

/** Without descriptors libuv has dropped the clients that wait. If it cannot even do that, it asks again at once, for ever. */
void Server::cannotAccept(int error) {
    if (!stopping_) {
        std::fprintf(stderr, "service: no more connections can be accepted: %s\n", uv_strerror(error));
        stop();
    }
}

void Server::refusalFree() {
    if (stopping_) {
        finish();
    } else if (acceptWaiting_) {
        acceptWaiting_ = false;
        accept();
    }
}

void Server::forget(Connection& connection) {
    Connection* newer = connection.newer.get();
    Connection* older = connection.older.get();
    if (newer) {
        newer->older = older;
    } else {
        newest_ = older;
    }
    if (older) {
        older->newer = newer;
    }
    connection.newer = nullptr;
    connection.older = nullptr;
    --connections_;
    board_.connections = connections_;
    if (stopping_) {
        finish();
    }
}

void Server::tick() {
    if (now() >= dateAt_) {
        dateAt_ = now() + 1000;
        std::time_t seconds = std::time(nullptr);
        std::tm utc;
        gmtime_r(&seconds, &utc);
        std::array<char, 40> text;
        date_ = {};
        date_.add({text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc)});
        store_->sessions.expire(now());
    }
    redline_.tick();
    for (Connection* connection = newest_.get(); connection; connection = connection->older.get()) {
        connection->tick(now()); // Closes at most; the list changes later, in the close callback
    }
    for (Refusal& refusal : refusals_) {
        refusal.tick(now());
    }
    if (board_.stopWanted && !stopping_) {
        stop();
    }
    if (stopping_ && now() >= stopBy_) {
        for (Connection* connection = newest_.get(); connection; connection = connection->older.get()) {
            connection->close();
        }
        for (Refusal& refusal : refusals_) {
            refusal.close();
        }
    }
}

/** Close the door, let those inside finish. A second signal does not wait for them. */
void Server::stop() {
    if (stopping_) {
        stopBy_ = now();
        return;
    }
    stopping_ = true;
    stopBy_ = now() + stopTime;
    closeHandle(reinterpret_cast<uv_handle_t*>(&listener_));
    for (Connection* connection = newest_.get(); connection; connection = connection->older.get()) {
        connection->stop();
    }
    finish();
}

/** Once nobody is left, close what keeps the loop running. */
void Server::finish() {
    for (Refusal& refusal : refusals_) {
        if (refusal.busy()) {
            return;
        }
    }
    if (connections_ != 0 || finished_) {
        return;
    }
    finished_ = true;
    closeHandle(reinterpret_cast<uv_handle_t*>(&listener_));
    closeHandle(reinterpret_cast<uv_handle_t*>(&beforePoll_));
    closeHandle(reinterpret_cast<uv_handle_t*>(&afterPoll_));
    closeHandle(reinterpret_cast<uv_handle_t*>(&clock_));
    for (uv_signal_t& signal : signals_) {
        closeHandle(reinterpret_cast<uv_handle_t*>(&signal));
    }
}

void Server::closeHandle(uv_handle_t* handle) {
    if (!uv_is_closing(handle)) {
        uv_close(handle, nullptr);
    }
}

} // namespace service
