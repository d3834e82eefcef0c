// SPDX-License-Identifier: MIT
/*
    stages.hpp - The stages in the box that are no part of every request: what files, compression, ranges and uploads
    need.
 */
#pragma once

#include "mpr/http.h"

namespace mpr::http {

/** A stage of a service by its name, made if there is none. @return nullptr when memory is short. */
HttpStage* defineStage(Http& http, const char* name, int flags);

// Those that a service has from the start. @return false, or nullptr, when memory is short.

/** Make all that are declared below. */
bool defineStages(Http& http);
/** Filters that a default route has: they are for requests with ranges, and with files. */
bool addDefaultFilters(const Http& http, HttpRoute* route);

/** "gzipFilter": compresses responses. See gzip_filter.cpp. */
bool defineGzipFilter(Http& http);
/** "rangeFilter": serves parts of responses. See range_filter.cpp. */
bool defineRangeFilter(Http& http);
/** "rateFilter": sends responses no faster than their route allows. See rate_filter.cpp. */
bool defineRateFilter(Http& http);
/** "uploadFilter": takes files from forms. See upload_filter.cpp. */
bool defineUploadFilter(Http& http);
/** "fileHandler": serves files. See file_handler.cpp. */
HttpStage* defineFileHandler(Http& http);

/** Whether a packet stands for bytes of tx->file. */
bool isOfDocument(const HttpPacket* packet);

/** Have a procedure of the program put bytes into a packet. It may yield, so the packet is kept. @return How many; less than 0:
    it cannot, or the stream has ended meanwhile. */
ssize callFill(HttpQueue* q, HttpPacket* packet, HttpFillProc fill, MprOff at, ssize size);
/** Load some of the bytes that a packet stands for, and take them away from it. @return A packet that has them; nullptr
    when they cannot be had: then the request has failed. */
HttpPacket* loadSome(HttpQueue* q, HttpPacket* packet);

inline bool isData(const HttpPacket* packet) {
    return (packet->flags & HTTP_PACKET_DATA) != 0;
}
inline bool isEnd(const HttpPacket* packet) {
    return (packet->flags & HTTP_PACKET_END) != 0;
}

} // namespace mpr::http
