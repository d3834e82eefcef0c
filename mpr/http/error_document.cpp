// SPDX-License-Identifier: MIT
/*
    error_document.cpp - Errors answered with a document of their route: httpAddRouteErrorDocument.

    The document is read as a file, whatever route its path has; otherwise an error in it would be answered with it.
 */
#include "mpr/http/document.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/route.hpp"
#include "mpr/mime.h"
#include "mpr/string.h"

namespace mpr::http {

bool documentError(Stream& stream, int status) {
    constexpr ssize most = 64 * 1024; // bytes: it is kept in memory
    HttpRoute* route = stream.rx->route;
    const auto* path = route ? static_cast<const char*>(mprLookupKey(route->errorDocuments, itos(status))) : nullptr;
    ssize length = 0;
    const char* text = readDocument(route, path, most, length);
    if (!text) {
        return false;
    }
    const char* type = mprLookupMime(stream.http->mimeTypes, path);
    httpSetContentType(&stream, type ? type : "text/html");
    answer(stream, {text, static_cast<std::size_t>(length)});
    return true;
}

} // namespace mpr::http
