// SPDX-License-Identifier: MIT
/*
    test/stress/places/acts.hpp - What a program may do with a stream, each by a letter.
 */
#pragma once

#include "test/stress/places/ledger.hpp"

#include <cstdint>
#include <string>

namespace places {

/* An act that makes sense at a place. @param only Not "": one of these. @return "" when there is none. */
std::string pickAct(Place place, uint64_t random, const std::string &only);

/* Do what the stream's script says for a place. @param q The queue there; NULL: the handler's. */
void perform(HttpStream *stream, HttpQueue *q, Place place);

/* Have a queue go on soon. */
void resumeSoon(HttpQueue *q);

/* Begin and end the foreign thread that makes events. */
void startForeigner();
void stopForeigner();

/* Read what has come of a body, and look whether it is what the client has sent. */
void readBody(HttpStream *stream, ssize most, MprTicks wait);

} // namespace places
