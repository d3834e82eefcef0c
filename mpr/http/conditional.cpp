// SPDX-License-Identifier: MIT
/*
    conditional.cpp - Conditions of a request. See conditional.hpp.
 */
#include "mpr/http/conditional.hpp"

#include "mpr/http/grammar.hpp"
#include "mpr/string.h"
#include "mpr/time.h"

namespace mpr::http {

Conditions conditionsOf(HttpStream* stream) {
    const auto field = [stream](const char* name) { return viewOf(httpGetHeader(stream, name)); };
    const char* method = stream->rx->method;
    return {field("if-match"),          field("if-none-match"),
            field("if-modified-since"), field("if-unmodified-since"),
            field("if-range"),          smatch(method, "GET") || smatch(method, "HEAD")};
}

Representation representationOf(const HttpStream* stream) {
    const HttpTx* tx = stream->tx;
    return {true, viewOf(tx->etag), tx->fileInfo.mtime * 1000, mprGetTime()};
}

} // namespace mpr::http
