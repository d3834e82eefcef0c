/* SPDX-License-Identifier: MIT */
/*
    service.h - The service: what it knows, which request gets which answer, and how it begins and ends.
 */
#pragma once

#include "content.h"
#include "sessions.h"

#include "mpr/http.h"

namespace service {

/** All that the service knows: one managed block. Who calls serve has it rooted. */
struct Store {
    explicit Store(Board& b) : board(b), sessions(b), content(b) {}
    void trace(mpr::Marker& m) {
        sessions.trace(m);
        content.trace(m);
    }

    Board& board;
    Sessions sessions;
    Content content;
};

/** Have requests at an endpoint answered from a store: routes.cpp. @return false when there is no memory. */
bool addRoutes(Store& store, HttpEndpoint* endpoint);
/** Listen on 127.0.0.1. @param port 0: a free one; the board tells. @return false: the log says why not. */
bool listen(Store& store, int port);
/** Serve until a signal comes or the board asks to stop, and the requests that run have been answered. */
void serve();

} // namespace service
