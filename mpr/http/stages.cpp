// SPDX-License-Identifier: MIT
/*
    stages.cpp - The stages in the box, made with the service, and those that a default route has.
 */
#include "mpr/http/stages.hpp"

#include "mpr/base/retain.hpp"
#include "mpr/http/references.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/service.hpp"
#include "mpr/http/stream.hpp"

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

ssize callFill(HttpQueue* q, HttpPacket* packet, HttpFillProc fill, MprOff at, ssize size) {
    if (!fill) {
        return MPR_ERR_BAD_STATE;
    }
    const base::Rooted kept(packet);
    ssize count = 0;
    task::callProgram({"HTTP fill procedure"}, [&] { count = fill(q, packet, at, size); });
    return own(q->stream)->gone ? ssize{MPR_ERR_BAD_STATE} : count;
}

HttpPacket* loadSome(HttpQueue* q, HttpPacket* packet) {
    const MprOff size = packet->esize < q->packetSize ? packet->esize : q->packetSize;
    HttpPacket* piece = httpCreateDataPacket(static_cast<ssize>(size));
    if (!piece) {
        httpMemoryError(q->stream);
        return nullptr;
    }
    piece->data = packet->data;
    const base::Rooted kept(packet); // callFill keeps the piece
    const ssize count = callFill(q, piece, packet->fill, packet->epos, static_cast<ssize>(size));
    if (count <= 0) {
        httpError(q->stream, HTTP_ABORT | HTTP_CODE_INTERNAL_SERVER_ERROR, "what is to be sent cannot be read");
        return nullptr;
    }
    httpAdjustPacketStart(packet, count);
    return piece;
}

} // namespace mpr::http
