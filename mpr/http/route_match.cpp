// SPDX-License-Identifier: MIT
/*
    route_match.cpp - Which route a request takes, and what the route makes of it.
 */
#include <cstring>

#include "mpr/http/grammar.hpp"
#include "mpr/http/head.hpp"
#include "mpr/http/net.hpp"
#include "mpr/http/route.hpp"
#include "mpr/string.h"

namespace mpr::http {

namespace {

constexpr int mostReroutes = 10; // stages that change a request may go round

/** One part "{name}" or "{name}*" of a pattern. @return What follows it in the pattern. */
const char* takePart(const char* pattern, const char*& path, Stream* stream) {
    const char* end = std::strchr(pattern, '}');
    if (!end) {
        return nullptr;
    }
    const bool all = end[1] == '*';
    const std::size_t length = all ? std::strlen(path) : std::strcspn(path, "/");
    if (length == 0 && !all) {
        return nullptr;
    }
    if (stream) {
        const char* name = snclone(pattern + 1, end - pattern - 1);
        const char* value = snclone(path, static_cast<ssize>(length));
        if (!name || !value) {
            httpMemoryError(stream);
            return nullptr;
        }
        httpSetParam(stream, name, value);
    }
    path += length;
    return end + (all ? 2 : 1);
}

bool allows(const HttpRoute& route, const char* method) {
    return !route.methods || mprLookupKeyEntry(route.methods, method) ||
           (std::strcmp(method, "HEAD") == 0 && mprLookupKeyEntry(route.methods, "GET"));
}

/** Whether a path begins with a route's prefix. */
bool hasPrefix(const HttpRoute& route, const char* path) {
    if (!route.prefix) {
        return true;
    }
    const std::size_t length = std::strlen(route.prefix);
    return std::strncmp(path, route.prefix, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool matches(const HttpRoute& route, const Stream& stream) {
    return hasPrefix(route, stream.rx->pathInfo) && matchPattern(route, stream.rx->pathInfo, nullptr);
}

/** The route for a request; nullptr: none. @param refused Receives whether one was for other methods. */
HttpRoute* routeFor(const Stream& stream, bool& refused) {
    const HttpHost& host = *stream.host;
    const int count = mprGetListLength(host.routes);
    for (int i = 0; i < count; ++i) {
        auto* route = static_cast<HttpRoute*>(mprGetItem(host.routes, i));
        if (matches(*route, stream)) {
            if (allows(*route, stream.rx->method)) {
                return route;
            }
            refused = true;
        }
    }
    HttpRoute* last = host.defaultRoute;
    return !refused && last && hasPrefix(*last, stream.rx->pathInfo) ? last : nullptr;
}

/** Cut the prefix from the path. */
void cutPrefix(Stream& stream, const HttpRoute& route) {
    if (route.prefix) {
        char* path = stream.rx->pathInfo + std::strlen(route.prefix);
        char* rest = sclone(*path ? path : "/");
        if (!rest) {
            httpMemoryError(&stream);
            return;
        }
        Rx& rx = stream.in();
        setRef(&rx, rx.scriptName, route.prefix);
        setRef(&rx, rx.wholePath, rx.pathInfo);
        setRef(&rx, rx.pathInfo, rest);
    }
}

/** Before another choice: the path as it was. */
void restorePrefix(Rx& rx) {
    if (rx.wholePath) {
        setRef(&rx, rx.pathInfo, rx.wholePath);
        forgetPrefix(rx);
    }
}

/** The action that a route names, else the one of the whole path; nullptr: none, or nobody asks, as the route has its own. */
HttpAction actionFor(const Stream& stream, const HttpRoute& route) {
    if (route.action && route.handlers && !route.targetDetails) {
        return nullptr;
    }
    const char* name = route.targetDetails ? route.targetDetails : stream.rx->pathInfo;
    const auto* action = static_cast<Action*>(mprLookupKey(stream.http->actions, name));
    return action ? action->call : nullptr;
}

/** The handler of a route for a request. */
HttpStage* handlerFor(Stream& stream, const HttpRoute& route) {
    Http& http = *stream.http;
    if (stream.in().action && (!route.handlers || route.targetDetails)) {
        return http.actionHandler;
    }
    for (int i = 0; i < mprGetListLength(route.handlers); ++i) {
        const auto* entry = static_cast<FilterEntry*>(mprGetItem(route.handlers, i));
        if (entry->accepts(stream) && (!entry->stage->match || callStage(*entry->stage, [&] {
                                                                   return entry->stage->match(&stream, stream.rx->route,
                                                                                              HTTP_STAGE_TX);
                                                               }) == HTTP_ROUTE_OK)) {
            return entry->stage;
        }
    }
    return route.handlers ? nullptr : http.fileHandler;
}

/** What routes do that need no handler. @return Whether it has been done. */
bool answerByTarget(Stream& stream, HttpRoute& route) {
    const char* details = httpExpandRouteVars(&route, route.targetDetails ? route.targetDetails : "");
    if (route.target == Target::redirect) {
        httpRedirect(&stream, route.redirectStatus, details);
        return true;
    }
    if (route.target == Target::write) {
        httpSetStatus(&stream, route.redirectStatus);
        httpSetContentType(&stream, "text/plain; charset=utf-8");
        answer(stream, viewOf(details));
        return true;
    }
    return false;
}

void setRoute(Stream& stream, HttpRoute& route) {
    setRef(stream.rx, stream.rx->route, &route);
    setRef(&stream, stream.limits, route.limits);
    if (!stream.ownTimes) {
        setTimes(stream, *route.limits);
    }
    matchPattern(route, stream.rx->pathInfo, &stream);
    stream.in().action = actionFor(stream, route);
    cutPrefix(stream, route);
    setRef(stream.tx, stream.tx->ext, httpGetPathExt(stream.rx->pathInfo));
}

/** No route, or none for the method. */
void refuseRoute(Stream& stream, bool refused) {
    if (!refused) {
        httpError(&stream, HTTP_CODE_NOT_FOUND, "there is no such path");
        return;
    }
    httpSetHeaderString(&stream, "Allow", allowedMethods(stream));
    if (std::strcmp(stream.rx->method, "OPTIONS") == 0) {
        httpSetStatus(&stream, HTTP_CODE_NO_CONTENT);
        httpFinalize(&stream);
    } else {
        httpError(&stream, HTTP_CODE_BAD_METHOD, "the method is not allowed for this path");
    }
}

/** Whether the stream's host may be served on its connection, which with TLS may be another host's. @param name Whom the client
    asks for: the first host answers for all whom nobody knows. */
bool mayServe(Stream& stream, std::string_view name) {
    if (!stream.secure) {
        return true;
    }
    MprSocket* sock = stream.net->sock;
    const char* own = stream.host->name;
    if (own && !isNamed(*stream.host, name) && !mprSocketServesHost(sock, own)) {
        return false;
    }
    const char* host = stream.in().hostHeader;
    if (!host || host[name.size()] != '\0') { // it has a port
        host = snclone(name.data(), static_cast<ssize>(name.size()));
    }
    if (!host) {
        httpMemoryError(&stream);
    }
    return host && mprSocketServesHost(sock, host);
}

/** Choose once. @return Whether a stage wants another choice. */
bool chooseOnce(Stream& stream) {
    bool refused = false;
    restorePrefix(stream.in());
    HttpRoute* route = routeFor(stream, refused);
    if (!route) {
        refuseRoute(stream, refused);
        return false;
    }
    setRoute(stream, *route);
    if (stream.error || answerByTarget(stream, *route)) {
        return false;
    }
    HttpStage* handler = handlerFor(stream, *route);
    if (!handler) {
        httpError(&stream, HTTP_CODE_NOT_FOUND, "nothing answers for this path");
        return false;
    }
    setRef(stream.tx, stream.tx->handler, handler);
    return handler->rewrite && !stream.tx->finalized &&
           callStage(*handler, [&] { return handler->rewrite(&stream); }) == HTTP_ROUTE_REROUTE;
}
} // namespace

bool matchPattern(const HttpRoute& route, const char* path, Stream* stream) {
    const char* pattern = route.match ? route.match : "";
    while (*pattern) {
        if (*pattern == '{') {
            pattern = takePart(pattern, path, stream);
            if (!pattern) {
                return false;
            }
        } else if (*pattern == '*' && pattern[1] == '\0') {
            return true;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    // A prefix ends where a segment does.
    const bool ends = *path == '\0' || *path == '/' || pattern == route.match || !route.match || pattern[-1] == '/';
    return *path == '\0' || (!route.anchored && ends);
}

void chooseRoute(Stream& stream) {
    const std::string_view name = withoutPort(stream.in().hostHeader);
    setRef(&stream, stream.host, hostFor(*stream.endpoint, name));
    if (!stream.host) {
        httpError(&stream, HTTP_CODE_NOT_FOUND, "there is no such host");
        return;
    }
    if (!mayServe(stream, name)) {
        httpError(&stream, HTTP_CODE_MISDIRECTED_REQUEST, "this connection is not for that host");
        return;
    }
    for (int i = 0; i < mostReroutes && !stream.error && chooseOnce(stream); ++i) {}
}

char* allowedMethods(Stream& stream) {
    MprHash* methods = mprCreateHashFromWords("OPTIONS");
    for (int i = 0; i < mprGetListLength(stream.host->routes); ++i) {
        const auto* route = static_cast<HttpRoute*>(mprGetItem(stream.host->routes, i));
        if (route->methods && matches(*route, stream)) {
            mprBlendHash(methods, route->methods);
        }
    }
    if (mprLookupKey(methods, "GET")) {
        mprAddKey(methods, "HEAD", "HEAD");
    }
    return mprHashKeysToString(methods, ",");
}

void applyHeaders(Stream& stream) {
    const HttpRoute* route = stream.rx->route;
    for (int i = 0; route && i < mprGetListLength(route->headers); ++i) {
        const auto* header = static_cast<RouteHeader*>(mprGetItem(route->headers, i));
        switch (header->command) {
        case HTTP_ROUTE_ADD_HEADER: httpAddHeaderString(&stream, header->name, header->value); break;
        case HTTP_ROUTE_APPEND_HEADER: httpAppendHeaderString(&stream, header->name, header->value); break;
        case HTTP_ROUTE_REMOVE_HEADER: httpRemoveHeader(&stream, header->name); break;
        case HTTP_ROUTE_SET_HEADER: httpSetHeaderString(&stream, header->name, header->value); break;
        default: break;
        }
    }
}

} // namespace mpr::http
