// SPDX-License-Identifier: MIT
/*
    log.hpp - The access log; and what a tick of the clock does to sessions.
 */
#pragma once

#include "mpr/http/stream.hpp"

namespace mpr::http {

/** A request is complete. */
void logRequest(const Stream& stream);
/** Write what waits: a tick of the clock. @return Whether some has to wait longer. */
bool flushLog();
/** The runtime ends: what is not written yet is. */
void closeLog();
/** Forget sessions that were not used for their time. */
void forgetSessions(Http& http);

} // namespace mpr::http
