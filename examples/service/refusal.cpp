// SPDX-License-Identifier: MIT
/*
    refusal.cpp - See refusal.h. Static memory only.
 */
#include "refusal.h"

#include "server.h"

namespace service {
namespace {

constexpr std::uint64_t refusalTime = 1000; // Until the client has to be gone

#define OUT_OF_MEMORY "503 Out of memory; try again in a while\n"
static_assert(sizeof OUT_OF_MEMORY - 1 == 40, "the Content-Length below");
constexpr char answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
                          "Content-Type: text/plain; charset=utf-8\r\n"
                          "Content-Length: 40\r\n"
                          "Retry-After: 1\r\n"
                          "Connection: close\r\n"
                          "\r\n" OUT_OF_MEMORY;

char rubbish[64 * 1024];

} // namespace

uv_buf_t outOfMemoryAnswer() {
    return uv_buf_init(const_cast<char*>(answer), sizeof answer - 1);
}

uv_buf_t rubbishBin() {
    return uv_buf_init(rubbish, sizeof rubbish);
}

void Refusal::open(Server& server, uv_stream_t* listener) {
    server_ = &server;
    busy_ = true;
    deadline_ = server.now() + refusalTime;
    uv_tcp_init(server.loop(), &tcp_);
    tcp_.data = this;
    auto* stream = reinterpret_cast<uv_stream_t*>(&tcp_);
    uv_buf_t buffer = outOfMemoryAnswer();
    auto written = [](uv_write_t* write, int) { static_cast<Refusal*>(write->handle->data)->server_->wake(); };
    auto shut = [](uv_shutdown_t* shutdown, int) { static_cast<Refusal*>(shutdown->handle->data)->server_->wake(); };
    auto bin = [](uv_handle_t* handle, std::size_t, uv_buf_t* where) {
        static_cast<Refusal*>(handle->data)->server_->wake();
        *where = rubbishBin();
    };
    auto ended = [](uv_stream_t* from, ssize_t count, const uv_buf_t*) {
        auto* self = static_cast<Refusal*>(from->data);
        self->server_->wake();
        if (count < 0) {
            self->close();
        }
    };
    if (uv_accept(listener, stream) != 0 || uv_write(&write_, stream, &buffer, 1, written) != 0 ||
        uv_shutdown(&shutdown_, stream, shut) != 0 || uv_read_start(stream, bin, ended) != 0) {
        close();
    }
}

void Refusal::tick(std::uint64_t now) {
    if (busy_ && now >= deadline_) {
        close();
    }
}

void Refusal::close() {
    auto* handle = reinterpret_cast<uv_handle_t*>(&tcp_);
    if (busy_ && !uv_is_closing(handle)) {
        uv_close(handle, [](uv_handle_t* closed) {
            auto* self = static_cast<Refusal*>(closed->data);
            self->server_->wake();
            self->busy_ = false;
            self->server_->refusalFree();
        });
    }
}

} // namespace service
