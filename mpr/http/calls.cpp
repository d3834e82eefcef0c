// SPDX-License-Identifier: MIT
/*
    calls.cpp - See calls.hpp.
 */
#include "mpr/http/calls.hpp"

#include "mpr/os/os.hpp"

namespace mpr::http {

namespace {

/** Whether no request may begin: a procedure of the one before has not returned. */
bool isNested(const HttpNet& net) {
    return net.calls > 1;
}

/** Whether procedures of others on the thread's stack have left less than half of it. */
bool isCrowded(const HttpNet& net) {
    if (net.lane->calls < 2) {
        return false;
    }
    const os::Stack stack = os::stack();
    const auto* here = static_cast<const char*>(__builtin_frame_address(0));
    const bool isOurs = here >= stack.begin && here < stack.end; // or it is a fiber's
    return isOurs && here - static_cast<const char*>(stack.begin) < (static_cast<const char*>(stack.end) - here);
}
} // namespace

bool canBegin(const HttpNet& net) {
    return !isNested(net) && !isCrowded(net);
}

bool mayBegin(HttpNet& net) {
    if (canBegin(net)) {
        return true;
    }
    if (!isNested(net)) {
        beginLater(net);
    }
    return false;
}

bool mayEnd(const HttpNet& net) {
    if (isNested(net) || net.stream->waits) {
        net.stream->heldBack = net.stream->waits;
        return false;
    }
    return true;
}

} // namespace mpr::http
