// SPDX-License-Identifier: MIT
/*
    calls.hpp - Procedures of streams that have begun and not returned, one on top of the other on a dispatcher's stack.

    A handler that waits in a call has the events of others run above it on its thread's stack, and these may wait, too. So
    no request begins above others when half of the stack is used: it does when one of them has returned. And none begins
    above the one before on its own connection, else a client could nest as many as it sends.
 */
#pragma once

#include <utility>

#include "mpr/http/net.hpp"

namespace mpr::http {

/** The next request may begin when a procedure of another connection's stream has returned. */
void beginLater(HttpNet& net);
/** Such a procedure has returned: see to those that wait for it. */
void beginNow(Lane& lane);

/**
    Procedures of a connection's stream may be called while it exists: a stream that ends meanwhile, because one of them
    waits or flushes, stays until the last of them has returned. Others retain the connection itself.
 */
class Calls {
public:
    explicit Calls(HttpNet& net) : net_(net), below_(std::exchange(net.lane->top, &net)), begun_(now()) {
        ++net.calls;
        ++net.lane->calls;
    }
    ~Calls() {
        if (--net_.calls == 0 && net_.keepsGone) {
            dropGone(net_);
        }
        Lane& lane = *net_.lane;
        --lane.calls;
        lane.top = below_;
        if (below_ && below_ != &net_ && now() - begun_ >= noticeable) {
            lane.returned = now();
        }
        if (lane.firstLater) {
            beginNow(lane);
        }
    }
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;

private:
    HttpNet& net_;
    static constexpr MprTicks noticeable = 1000; // time in which another could do nothing
    const HttpNet* below_;                       // whose procedure waits under this one; to be compared only
    const MprTicks begun_;
};

/** Whether the next request can begin: no procedure of the one before runs, and those of others leave enough stack. */
bool canBegin(const HttpNet& net);
/** As canBegin(). When others are in the way, the connection is seen to as soon as one of them has returned. */
bool mayBegin(HttpNet& net);
/** Whether its stream may be told of its end: no procedure of it has begun and not returned. Else it is, when that has. */
bool mayEnd(const HttpNet& net);

} // namespace mpr::http
