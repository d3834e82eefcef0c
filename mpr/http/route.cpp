// SPDX-License-Identifier: MIT
/*
    route.cpp - Routes: the C API of mpr/http/route.h. Which route a request takes: route_match.cpp.
 */
#include "mpr/http/route.hpp"
#include "mpr/http/stages.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "mpr/gc/census.hpp"
#include "mpr/string.h"

using namespace mpr::http;

namespace {

void manageRoute(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* r = static_cast<HttpRoute*>(ptr);
        markAll(r->host, r->pattern, r->match, r->prefix, r->methods, r->handlers, r->inputFilters, r->outputFilters,
                r->headers, r->indexes, r->errorDocuments, r->data, r->vars, r->documents, r->realDocuments, r->home,
                r->targetDetails, r->limits);
    }
}
const mpr::gc::ManagerName namedRoute(manageRoute, "HttpRoute");

void manageEntry(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* entry = static_cast<FilterEntry*>(ptr);
        markAll(entry->stage, entry->extensions);
    }
}
const mpr::gc::ManagerName namedEntry(manageEntry, "HttpRoute's stage");

void manageHeader(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* header = static_cast<RouteHeader*>(ptr);
        markAll(header->name, header->value);
    }
}
const mpr::gc::ManagerName namedHeader(manageHeader, "HttpRoute's header");

/** A list of a route, made when it is first needed. */
MprList* listOf(HttpRoute* route, MprList*& field) {
    if (!field) {
        setRef(route, field, mprCreateList(0, 0));
    }
    return field;
}

MprHash* hashOf(HttpRoute* route, MprHash*& field) {
    if (!field) {
        setRef(route, field, mprCreateHash(0, 0));
    }
    return field;
}

/** Whether a text says something. */
bool isSet(cchar* text) {
    return text && *text;
}

void setText(HttpRoute* route, char*& field, cchar* text) {
    setRef(route, field, isSet(text) ? sclone(text) : nullptr);
}

/** The part of a pattern that is compared, and whether it must match the whole path. */
void readPattern(HttpRoute* route) {
    const char* begin = route->pattern ? route->pattern : "";
    route->anchored = false;
    if (*begin == '^') {
        ++begin;
    }
    char* match = *begin == '~' ? sjoin(route->prefix ? route->prefix : "", begin + 1, nullptr) : sclone(begin);
    const ssize length = match ? slen(match) : 0;
    if (length > 0 && match[length - 1] == '$') {
        match[length - 1] = '\0';
        route->anchored = true;
    }
    setRef(route, route->match, match);
}

/** Put a stage into a list of a route. */
int addEntry(HttpRoute* route, MprList*& list, HttpStage* stage, cchar* extensions) {
    auto* entry = mpr::base::makeReferring<FilterEntry>(manageEntry);
    if (!entry || !listOf(route, list)) {
        return MPR_ERR_MEMORY;
    }
    entry->stage = stage;
    if (extensions && *extensions) {
        char* words = sclone(extensions);
        for (char* c = words; c && *c; ++c) {
            *c = *c == '.' || *c == '*' ? ' ' : *c;
        }
        entry->extensions = words ? mprCreateHashFromWords(words) : nullptr;
        if (!entry->extensions) {
            return MPR_ERR_MEMORY; // without them it would be for all
        }
    }
    return mprAddItem(list, entry) < 0 ? MPR_ERR_MEMORY : 0;
}

/** Have a copy in the place of what may be nullptr. @return false when memory is short. */
bool copy(MprList*& list) {
    return !list || (list = mprCloneList(list));
}
bool copy(MprHash*& hash) {
    return !hash || (hash = mprCloneHash(hash));
}

/** A route of the parent's settings. @param route Fresh: plain stores. @return false when memory is short: a route that
    lacks one of them might allow more. */
bool inherit(HttpRoute* route, const HttpRoute* parent) {
    *route = *parent;
    route->ownLimits = false;
    route->action = nullptr;
    route->target = Target::run;
    route->targetDetails = nullptr;
    return copy(route->handlers) && copy(route->inputFilters) && copy(route->outputFilters) && copy(route->headers) &&
           copy(route->indexes) && copy(route->errorDocuments) && copy(route->data) && copy(route->vars) &&
           copy(route->methods);
}

HttpRoute* makeRoute() {
    return mpr::base::makeReferring<HttpRoute>(manageRoute);
}

/** A route without settings. */
HttpRoute* makeBare(const Http& http, HttpHost* host) {
    HttpRoute* route = makeRoute();
    if (route) {
        route->host = host;
        route->limits = http.limits;
    }
    return route;
}

HttpRoute* parentOf(HttpRoute* parent) {
    return parent ? parent : httpGetDefaultRoute(nullptr);
}

bool areAll(cchar* methods) {
    return !isSet(methods) || smatch(methods, "*");
}

/** A route for a pattern. @return nullptr when memory is short: without pattern or methods it would be for all. */
HttpRoute* makePattern(HttpRoute* parent, cchar* methods, cchar* pattern) {
    HttpRoute* route = httpCreateInheritedRoute(parent);
    if (!route) {
        return nullptr;
    }
    httpSetRoutePattern(route, pattern, 0);
    httpSetRouteMethods(route, methods);
    const bool whole = (route->match && (route->pattern || !isSet(pattern))) && (route->methods || areAll(methods));
    return whole ? route : nullptr;
}

/** Add a route to its host when it is whole: requests that run may take it from then on. */
HttpRoute* added(HttpRoute* route) {
    return route && httpAddRoute(route->host, route) == 0 ? route : nullptr;
}
} // namespace

HttpRoute* mpr::http::makeDefaultRoute(const Http& http, HttpHost* host) {
    HttpRoute* route = makeBare(http, host);
    if (!route || !addDefaultFilters(http, route)) {
        return nullptr;
    }
    httpSetHostDefaultRoute(host, route);
    return route;
}

bool mpr::http::FilterEntry::accepts(const HttpStream& stream) const {
    return !extensions || (stream.tx->ext && mprLookupKeyEntry(extensions, stream.tx->ext));
}

// ---- Make -------------------------------------------------------------------------------------------------------

HttpRoute* httpCreateRoute(struct HttpHost* host) {
    const Http* http = httpCreate(HTTP_SERVER_SIDE);
    return http ? makeBare(*http, host ? host : http->defaultHost) : nullptr;
}

HttpRoute* httpCreateInheritedRoute(HttpRoute* parent) {
    parent = parentOf(parent);
    HttpRoute* route = parent ? makeRoute() : nullptr;
    return route && inherit(route, parent) ? route : nullptr;
}

HttpRoute* httpCreateDefaultRoute(struct HttpHost* host) {
    const Http* http = httpCreate(HTTP_SERVER_SIDE);
    return http ? makeDefaultRoute(*http, host ? host : http->defaultHost) : nullptr;
}

HttpRoute* httpCreateActionRoute(HttpRoute* parent, cchar* pattern, HttpAction action) {
    HttpRoute* route = action ? makePattern(parent, nullptr, pattern) : nullptr;
    if (route) {
        route->action = action;
        setRef(route, route->handlers, nullptr);
        httpSetRouteHandler(route, "actionHandler");
    }
    return added(route);
}

HttpRoute* httpCreateAliasRoute(HttpRoute* parent, cchar* pattern, cchar* path, int status) {
    HttpRoute* route = makePattern(parent, nullptr, pattern);
    if (!route) {
        return nullptr;
    }
    if (status >= HTTP_CODE_MULTIPLE_CHOICES) {
        httpSetRouteTarget(route, "redirect", sfmt("%d %s", status, path ? path : "/"));
    } else {
        httpSetRoutePrefix(route, pattern);
        httpSetRouteDocuments(route, path);
    }
    return added(route);
}

HttpRoute* httpDefineRoute(HttpRoute* parent, cchar* methods, cchar* pattern, cchar* target, cchar*) {
    HttpRoute* route = makePattern(parent, methods, pattern);
    if (route && target) {
        httpSetRouteTarget(route, "run", target);
    }
    return added(route);
}

int httpAddRoute(HttpHost* host, HttpRoute* route) {
    host = host ? host : httpGetDefaultHost();
    if (!host || !route) {
        return MPR_ERR_BAD_ARGS;
    }
    setRef(route, route->host, host);
    return mprLookupItem(host->routes, route) >= 0 || mprAddItem(host->routes, route) >= 0 ? 0 : MPR_ERR_MEMORY;
}

void httpFinalizeRoute(HttpRoute* route) {
    if (route) {
        httpAddRoute(route->host, route);
    }
}

HttpRoute* httpLookupRoute(HttpHost* host, cchar* pattern) {
    host = host ? host : httpGetDefaultHost();
    for (int i = 0; host && i < mprGetListLength(host->routes); ++i) {
        auto* route = static_cast<HttpRoute*>(mprGetItem(host->routes, i));
        if (smatch(route->pattern, pattern && *pattern ? pattern : nullptr)) {
            return route;
        }
    }
    return host && (!pattern || !*pattern) ? host->defaultRoute : nullptr;
}

// ---- Settings ---------------------------------------------------------------------------------------------------

void httpSetRoutePattern(HttpRoute* route, cchar* pattern, int) {
    if (route) {
        setText(route, route->pattern, pattern);
        readPattern(route);
    }
}

void httpSetRoutePrefix(HttpRoute* route, cchar* prefix) {
    if (route) {
        char* text = prefix && *prefix && !smatch(prefix, "/") ? sclone(prefix) : nullptr;
        const ssize length = text ? slen(text) : 0;
        if (length > 0 && text[length - 1] == '/') {
            text[length - 1] = '\0';
        }
        setRef(route, route->prefix, text);
        if (route->pattern) {
            readPattern(route);
        }
    }
}

void httpSetRouteMethods(HttpRoute* route, cchar* methods) {
    if (route) {
        setRef(route, route->methods, areAll(methods) ? nullptr : mprCreateHashFromWords(supper(methods)));
    }
}

/** Take a status, three digits and a blank, off the beginning of a text. @return 0: it has none. */
static int takeStatus(const char*& text) {
    constexpr std::size_t length = 3;
    if (std::strspn(text, "0123456789") != length || (text[length] != ' ' && text[length] != '\0')) {
        return 0;
    }
    const int status = static_cast<int>(stoi(text));
    text += length + (text[length] == ' ');
    return status;
}

int httpSetRouteTarget(HttpRoute* route, cchar* name, cchar* details) {
    if (!route || !name) {
        return MPR_ERR_BAD_ARGS;
    }
    const char* rest = details ? details : "";
    const int status = takeStatus(rest);
    if (smatch(name, "run")) {
        route->target = Target::run;
        rest = details;
    } else if (smatch(name, "redirect") && *(rest += std::strspn(rest, " "))) {
        route->target = Target::redirect;
        route->redirectStatus = status ? status : HTTP_CODE_MOVED_TEMPORARILY;
    } else if (smatch(name, "write")) {
        route->target = Target::write;
        route->redirectStatus = status ? status : HTTP_CODE_OK;
    } else {
        return MPR_ERR_BAD_SYNTAX;
    }
    setText(route, route->targetDetails, rest);
    return 0;
}

void httpSetRouteDocuments(HttpRoute* route, cchar* path) {
    if (route) {
        setText(route, route->documents, path);
        setRef(route, route->realDocuments, nullptr);
        httpSetRouteVar(route, "DOCUMENTS", path ? path : "");
    }
}

void httpSetRouteFollow(HttpRoute* route, bool follow) {
    if (route) {
        route->follows = follow;
    }
}

void httpSetRouteHome(HttpRoute* route, cchar* home) {
    if (route) {
        setText(route, route->home, home);
        httpSetRouteVar(route, "HOME", home ? home : "");
    }
}

void httpAddRouteIndex(HttpRoute* route, cchar* path) {
    if (route && path && listOf(route, route->indexes)) {
        mprAddItem(route->indexes, sclone(path));
    }
}

int httpSetRouteHandler(HttpRoute* route, cchar* name) {
    HttpStage* stage = route ? httpLookupStage(name) : nullptr;
    if (!stage) {
        return MPR_ERR_CANT_FIND;
    }
    setRef(route, route->handlers, nullptr);
    return addEntry(route, route->handlers, stage, nullptr);
}

int httpAddRouteHandler(HttpRoute* route, cchar* name, cchar* extensions) {
    HttpStage* stage = route ? httpLookupStage(name) : nullptr;
    return stage ? addEntry(route, route->handlers, stage, extensions) : MPR_ERR_CANT_FIND;
}

int mpr::http::addFilter(const Http& http, HttpRoute* route, const char* name, const char* extensions, int direction) {
    auto* stage = route && name ? static_cast<HttpStage*>(mprLookupKey(http.stages, name)) : nullptr;
    if (!stage) {
        return MPR_ERR_CANT_FIND;
    }
    int result = 0;
    if ((direction & HTTP_STAGE_RX) && (stage->flags & HTTP_STAGE_RX)) {
        result = addEntry(route, route->inputFilters, stage, extensions);
    }
    if ((direction & HTTP_STAGE_TX) && (stage->flags & HTTP_STAGE_TX) && result == 0) {
        result = addEntry(route, route->outputFilters, stage, extensions);
    }
    return result;
}

int httpAddRouteFilter(HttpRoute* route, cchar* name, cchar* extensions, int direction) {
    const Http* http = service();
    return http ? addFilter(*http, route, name, extensions, direction) : MPR_ERR_CANT_FIND;
}

void httpSetRouteRate(HttpRoute* route, MprOff rate) {
    if (route) {
        constexpr MprOff most = MprOff{1} << 40; // which nothing sends, and which can be reckoned with
        route->rate = std::clamp<MprOff>(rate, 0, most);
    }
}

void httpClearRouteStages(HttpRoute* route, int direction) {
    if (route && (direction & HTTP_STAGE_RX)) {
        setRef(route, route->inputFilters, nullptr);
    }
    if (route && (direction & HTTP_STAGE_TX)) {
        setRef(route, route->outputFilters, nullptr);
    }
}

void httpAddRouteResponseHeader(HttpRoute* route, int cmd, cchar* header, cchar* value) {
    auto* made = route && header ? mpr::base::makeReferring<RouteHeader>(manageHeader) : nullptr;
    if (made && listOf(route, route->headers)) {
        made->name = sclone(header);
        made->value = sclone(value ? value : "");
        made->command = cmd;
        mprAddItem(route->headers, made);
    }
}

void httpAddRouteErrorDocument(HttpRoute* route, int status, cchar* uri) {
    if (route && uri && hashOf(route, route->errorDocuments)) {
        mprAddKey(route->errorDocuments, itos(status), sclone(uri));
    }
}

void httpSetRouteData(HttpRoute* route, cchar* key, void* data) {
    if (route && key && hashOf(route, route->data)) {
        mprAddKey(route->data, key, data);
    }
}

void* httpGetRouteData(HttpRoute* route, cchar* key) {
    return route && key ? mprLookupKey(route->data, key) : nullptr;
}

void httpSetRouteVar(HttpRoute* route, cchar* token, cchar* value) {
    if (route && token && hashOf(route, route->vars)) {
        mprAddKey(route->vars, token, sclone(value ? value : ""));
    }
}

cchar* httpExpandRouteVars(HttpRoute* route, cchar* str) {
    if (!route || !str || !schr(str, '$')) {
        return str;
    }
    return stemplate(str, route->vars);
}

HttpLimits* httpGetRouteLimits(HttpRoute* route) {
    if (route && !route->ownLimits) {
        auto* copy = static_cast<HttpLimits*>(mprMemdup(route->limits, sizeof(HttpLimits)));
        if (!copy) {
            return nullptr;
        }
        setRef(route, route->limits, copy);
        route->ownLimits = true;
    }
    return route ? route->limits : nullptr;
}
