// SPDX-License-Identifier: MIT
/*
    head.hpp - What a head says.
 */
#pragma once

#include "mpr/http/stream.hpp"

namespace mpr::http {

/** Parse a head, and look whether it is a request. Its bytes are in rx.head. @param why Receives what is wrong.
    @return 0, or the status with which it is refused. */
int readHead(Rx& rx, const HttpLimits& limits, const char*& why);

/** The path of a URI: decoded, without "." and "..". @return nullptr: it is none, or leads out of the root. */
char* pathOf(const char* uri);

} // namespace mpr::http
