// SPDX-License-Identifier: MIT
/*
    net_input.hpp - What a connection reads: heads, which are parsed in one piece, and bodies, which are handed on as they
    come.

    A connection stores what it has read and not used before it calls a handler, because its next event may come while
    that handler waits. A connection at rest stores nothing.
 */
#pragma once

#include "mpr/http/net.hpp"

namespace mpr::http {

/** Bytes that were read and are not used yet. */
inline std::uint32_t pending(const HttpNet& net) {
    return net.inputEnd - net.inputBegin;
}
/** Forget them. */
void dropInput(HttpNet& net);
/** Whether more is to be read now. */
bool wantsInput(const HttpNet& net);
/** Read what has arrived and is wanted, and use what can be used. */
void read(HttpNet& net);
/** Use what is in the input. @return Whether anything was used. */
bool takeInput(HttpNet& net);
/** The peer has sent all, perhaps while the request before was answered, and no whole head, or not all of a body, is left
    of it. @return Whether that was news. */
bool noMoreComes(HttpNet& net);
/** No head comes that can be served: its stream is answered with an error, and the connection ends. */
void refuseHead(HttpNet& net, int status, const char* why);
/** Send 100 Continue if the client waits for it. */
void sayContinue(Stream& stream);

} // namespace mpr::http
