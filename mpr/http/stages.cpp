// SPDX-License-Identifier: MIT
/*
    stages.cpp - The stages in the box, made with the service, and those that a default route has.
 */
#include "mpr/http/stages.hpp"

#include "mpr/http/references.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/service.hpp"

namespace mpr::http {

bool defineStages(Http& http) {
    setRef(&http, http.fileHandler, defineFileHandler(http));
    return http.fileHandler && defineGzipFilter(http) && defineRangeFilter(http) && defineRateFilter(http) &&
           defineUploadFilter(http);
}

bool addDefaultFilters(const Http& http, HttpRoute* route) {
    return addFilter(http, route, "rangeFilter", nullptr, HTTP_STAGE_TX) == 0 &&
           addFilter(http, route, "uploadFilter", nullptr, HTTP_STAGE_RX) == 0;
}

HttpPacket* loadSome(HttpQueue* q, HttpPacket* packet) {
    const MprOff size = packet->esize < q->packetSize ? packet->esize : q->packetSize;
    HttpPacket* piece = httpCreateDataPacket(static_cast<ssize>(size));
    if (!piece) {
        httpMemoryError(q->stream);
        return nullptr;
    }
    piece->data = packet->data;
    const ssize count =
        packet->fill ? packet->fill(q, piece, packet->epos, static_cast<ssize>(size)) : MPR_ERR_BAD_STATE;
    if (count <= 0) {
        httpError(q->stream, HTTP_ABORT | HTTP_CODE_INTERNAL_SERVER_ERROR, "what is to be sent cannot be read");
        return nullptr;
    }
    httpAdjustPacketStart(packet, count);
    return piece;
}

} // namespace mpr::http
