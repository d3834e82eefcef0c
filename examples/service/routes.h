/* SPDX-License-Identifier: MIT */
/*
    routes.h - Which request gets which answer. No sockets here, no libuv.
 */
#pragma once

#include "content.h"
#include "message.h"
#include "sessions.h"

namespace service {

/** All that the service knows: one managed block, reachable from the server, which is a root. */
class Store {
public:
    Store(Board& b) : board(b), sessions(b), content(b) {}
    void trace(mpr::Marker& m) {
        sessions.trace(m);
        content.trace(m);
    }

    Board& board;
    Sessions sessions;
    Content content;
};

/**
    Answer a complete request. @param now Milliseconds of a monotonic clock.
    Status 503 means that an allocation returned NULL.
 */
Answer route(Store& store, Request& request, std::uint64_t now);

} // namespace service
