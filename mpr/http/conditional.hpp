// SPDX-License-Identifier: MIT
/*
    conditional.hpp - Conditions of a request, and what a response says of what it sends: condition.hpp applied to
    streams.
 */
#pragma once

#include "mpr/http.h"
#include "mpr/http/condition.hpp"

namespace mpr::http {

/** The If- fields of a request. */
Conditions conditionsOf(HttpStream* stream);

/** What tx says of what is sent: its tag, and when its file was changed. */
Representation representationOf(const HttpStream* stream);

} // namespace mpr::http
