// SPDX-License-Identifier: MIT
/*
    file_handler.cpp - "fileHandler": documents as responses, with tags, times of change and conditions (RFC 9110, 13).

    A file is opened first, and what is said of it is what was opened. Its bytes are not read here: a packet stands
    for them, which is filled as the client takes them, so that a large file needs a packet's memory. What a client
    has already is not sent again; parts are the range filter's.
 */
#include <cerrno>

#include "mpr/barrier.h"
#include "mpr/encode.h"
#include "mpr/http/date.hpp"
#include "mpr/http/document.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/conditional.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/stages.hpp"
#include "mpr/http/uri.hpp"
#include "mpr/list.h"
#include "mpr/mime.h"
#include "mpr/shutdown.h"
#include "mpr/string.h"

namespace mpr::http {

namespace {

bool endsInSlash(const char* path) {
    const std::string_view text = viewOf(path);
    return !text.empty() && text.back() == '/';
}

/** Whether the client has asked for a folder by its own name, from which links in its document are resolved. */
bool isFolderName(const HttpRx* rx) {
    const std::string_view uri = viewOf(rx->uri);
    const std::string_view path = cut(uri, 0, uri.find('?'));
    return endsInSlash(rx->pathInfo) && !path.empty() && path.back() == '/';
}

/** What of the documents is asked for: what the route says, or the path. */
const char* wantedPath(HttpStream* stream) {
    const HttpRoute* route = stream->rx->route;
    const bool fixed = route && route->target == Target::run && route->targetDetails;
    return fixed ? httpExpandRouteVars(stream->rx->route, route->targetDetails) : stream->rx->pathInfo;
}

void setFile(HttpStream* stream, char* filename, const MprPath& info) {
    Tx& tx = own(stream)->out();
    setRef(&tx, tx.filename, filename);
    const std::string_view ext = extensionOf(viewOf(filename));
    setRef(&tx, tx.ext, ext.empty() ? nullptr : newText(ext));
    tx.fileInfo = info;
}

/** The file that stands for a folder: index.html, if the route says nothing. @return Whether there is one. */
bool mapIndex(HttpStream* stream, const char* folder) {
    const HttpRoute* route = stream->rx->route;
    const int count = route ? mprGetListLength(route->indexes) : 0;
    for (int i = 0; i < count || (i == 0 && count == 0); ++i) {
        const char* name = count > 0 ? static_cast<const char*>(mprGetItem(route->indexes, i)) : "index.html";
        char* filename = documentPath(folder, name);
        MprPath info{};
        if (filename && describe(filename, info) && info.isReg) {
            setFile(stream, filename, info);
            return true;
        }
    }
    return false;
}

// ---- Answers ----------------------------------------------------------------------------------------------------

constexpr const char* allowed = "GET, HEAD, OPTIONS";

/** To the folder's own path, by which links in its document are resolved. The path is written anew: as it was sent it
    may begin with two slashes, which name another host. */
void redirectToFolder(HttpStream* stream) {
    const HttpRx* rx = stream->rx;
    const char* slash = endsInSlash(rx->pathInfo) ? "" : "/";
    const char* path = sjoin(rx->scriptName ? rx->scriptName : "", rx->pathInfo, slash, nullptr);
    const char* encoded = path ? sreplace(mprUriEncode(path, MPR_ENCODE_URI_COMPONENT), "%2F", "/") : nullptr;
    const char* query = rx->parsedUri ? rx->parsedUri->query : nullptr;
    const char* uri = encoded && query ? sjoin(encoded, "?", query, nullptr) : encoded;
    if (uri) {
        httpRedirect(stream, HTTP_CODE_MOVED_PERMANENTLY, uri);
    } else {
        httpMemoryError(stream);
    }
}

void refuse(HttpStream* stream) {
    httpError(stream, HTTP_CODE_NOT_FOUND, "there is no such document");
}

/** Find the file. @return false: the request has been answered. */
bool locate(HttpStream* stream) {
    const HttpTx* tx = stream->tx;
    if (!(tx->flags & HTTP_TX_NO_MAP)) {
        httpMapFile(stream);
    }
    if (tx->filename && tx->fileInfo.isDir && !isFolderName(stream->rx)) {
        redirectToFolder(stream);
        return false;
    }
    if (tx->filename && tx->fileInfo.isDir && !mapIndex(stream, tx->filename)) {
        httpError(stream, HTTP_CODE_FORBIDDEN, "the folder has no index");
        return false;
    }
    if (!tx->filename || !tx->fileInfo.isReg) {
        refuse(stream);
        return false;
    }
    return true;
}

/** What is sent has been opened: say what it is. */
void present(HttpStream* stream, MprFile* file, char* etag) {
    Tx& tx = own(stream)->out();
    setRef(&tx, tx.file, file);
    if (!tx.etag) {
        setRef(&tx, tx.etag, etag);
    }
    if (!tx.mimeType) {
        const char* type = mprLookupMime(stream->http->mimeTypes, tx.filename);
        setRef(&tx, tx.mimeType, type ? type : "application/octet-stream");
    }
    httpAddHeaderString(stream, "Accept-Ranges", "bytes");
    if (tx.etag) {
        httpSetHeaderString(stream, "ETag", tx.etag);
    }
    if (tx.fileInfo.mtime > 0) {
        char date[dateSize];
        formatDate(date, tx.fileInfo.mtime * 1000);
        httpSetHeaderString(stream, "Last-Modified", date);
    }
}

/** Open what a request asks for, without a look at it before: mostly it is there. @param info Receives what it is, as far
    as that is known. @return false: it is not so simple. */
bool presentAtOnce(HttpStream* stream, MprPath& info) {
    HttpRoute* route = stream->rx->route;
    const char* path = route && !(stream->tx->flags & HTTP_TX_NO_MAP) ? wantedPath(stream) : nullptr;
    char* filename = path && !endsInSlash(path) ? documentPath(route->documents, path) : nullptr;
    char* etag = nullptr;
    MprFile* file = filename ? openDocument(route, filename, info, etag) : nullptr;
    if (!file) {
        return false;
    }
    setFile(stream, filename, info);
    present(stream, file, etag);
    return true;
}

/** @param error Of the system, why a file cannot be opened. */
int statusFor(int error) {
    switch (error) {
    case EACCES: return HTTP_CODE_FORBIDDEN;
    case EMFILE:
    case ENFILE:
    case ENOMEM: return HTTP_CODE_SERVICE_UNAVAILABLE;
    default: return HTTP_CODE_NOT_FOUND;
    }
}

/** Find the file, open it, and say what it is. @return false: the request has been answered. */
bool open(HttpStream* stream) {
    MprPath info{};
    if (presentAtOnce(stream, info)) {
        return true;
    }
    HttpTx* tx = stream->tx;
    if (!info.exists) { // else it may not be sent
        if (!locate(stream)) {
            return false;
        }
        char* etag = nullptr;
        HttpRoute* route =
            tx->flags & HTTP_TX_NO_MAP ? nullptr : stream->rx->route; // the program names the file itself
        if (MprFile* file = openDocument(route, tx->filename, tx->fileInfo, etag)) {
            present(stream, file, etag);
            return true;
        }
    }
    httpError(stream, statusFor(mprGetOsError()), "the document cannot be opened");
    return false;
}

/** Bytes that a packet stands for. */
ssize fillFromFile(HttpQueue* q, HttpPacket* packet, MprOff pos, ssize size) {
    MprFile* file = q->stream->tx->file;
    MprBuf* content = packet->content;
    if (!file || !content || mprGetBufSpace(content) < size ||
        (mprGetFilePosition(file) != pos && mprSeekFile(file, SEEK_SET, pos) != pos)) {
        return MPR_ERR_CANT_READ;
    }
    const ssize count = mprReadFile(file, mprGetBufEnd(content), size);
    if (count > 0) {
        mprAdjustBufEnd(content, count);
    }
    return count;
}

void sendFile(HttpQueue* q) {
    HttpStream* stream = q->stream;
    const MprOff size = stream->tx->fileInfo.size;
    stream->tx->entityLength = size;
    httpSetContentLength(stream, size);
    if (size > 0) {
        HttpPacket* packet = httpCreateDataPacket(0);
        if (!packet) {
            httpMemoryError(stream);
            return;
        }
        packet->flags |= HTTP_PACKET_SOLO; // it is one, whatever its size, as it takes no memory
        packet->esize = size;
        packet->fill = fillFromFile;
        httpPutForService(q, packet, true);
    }
    httpFinalize(stream);
}

void answer(HttpQueue* q) {
    HttpStream* stream = q->stream;
    if (!open(stream)) {
        return;
    }
    switch (evaluate(conditionsOf(stream), representationOf(stream))) {
    case Outcome::proceed: sendFile(q); break;
    case Outcome::notModified:
        httpSetStatus(stream, HTTP_CODE_NOT_MODIFIED);
        httpOmitBody(stream);
        httpFinalize(stream);
        break;
    case Outcome::failed:
        httpError(stream, HTTP_CODE_PRECOND_FAILED, "the document is another than the client thinks");
        break;
    }
}

void start(HttpQueue* q) {
    HttpStream* stream = q->stream;
    const std::string_view method = viewOf(stream->rx->method);
    if (method == "GET" || method == "HEAD") {
        answer(q);
        return;
    }
    httpMapFile(stream);
    if (!stream->tx->filename) {
        refuse(stream);
        return;
    }
    httpSetHeaderString(stream, "Allow", allowed);
    if (method == "OPTIONS") {
        httpSetStatus(stream, HTTP_CODE_NO_CONTENT);
        httpFinalize(stream);
    } else {
        httpError(stream, HTTP_CODE_BAD_METHOD, "documents are read only");
    }
}

void close(HttpQueue* q) {
    Tx& tx = own(q->stream)->out();
    if (tx.file) {
        mprCloseFile(tx.file);
        setRef(&tx, tx.file, nullptr);
    }
}

int open(HttpQueue*) {
    return 0; // so that close is called
}
} // namespace

bool isOfDocument(const HttpPacket* packet) {
    return packet->esize > 0 && packet->fill == fillFromFile;
}

HttpStage* defineFileHandler(Http& http) {
    HttpStage* stage = defineStage(http, "fileHandler", HTTP_STAGE_HANDLER);
    if (stage) {
        stage->open = open;
        stage->close = close;
        stage->start = start;
    }
    return stage;
}

} // namespace mpr::http

using namespace mpr::http;

void httpMapFile(HttpStream* stream) {
    if (!stream || !stream->rx->route) {
        return;
    }
    MprPath info{};
    const char* path = wantedPath(stream);
    char* filename = documentPath(stream->rx->route->documents, path);
    if (filename && describe(filename, info) && (info.isDir || !endsInSlash(path))) {
        setFile(stream, filename, info);
    }
}
