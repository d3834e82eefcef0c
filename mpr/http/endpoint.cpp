// SPDX-License-Identifier: MIT
/*
    endpoint.cpp - Endpoints and hosts: where the service listens, and for which names.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "mpr/base/retain.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/net.hpp"
#include "mpr/http/route.hpp"
#include "mpr/log.h"
#include "mpr/shutdown.h"
#include "mpr/string.h"
#include "mpr/tls.h"

namespace mpr::http {

namespace {

constexpr int mostAccepts = 64; // of an event, so that those who are served have their turn

void manageEndpoint(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* endpoint = static_cast<HttpEndpoint*>(ptr);
        markAll(endpoint->http, endpoint->ip, endpoint->dispatcher, endpoint->sock, endpoint->hosts, endpoint->lanes);
        mprMarkRef(&endpoint->ssl);
    }
}
const gc::ManagerName namedEndpoint(manageEndpoint, "HttpEndpoint");

void manageHost(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* host = static_cast<HttpHost*>(ptr);
        markAll(host->name, host->routes, host->defaultRoute);
    }
}
const gc::ManagerName namedHost(manageHost, "HttpHost");

/** A lane more. @param dispatcher nullptr: the main one, once the endpoint starts. */
bool addLane(MprList* lanes, MprDispatcher* dispatcher) {
    auto* lane = makeLane();
    if (!lane || mprAddItem(lanes, lane) < 0) {
        return false;
    }
    setRef(lane, lane->dispatcher, dispatcher);
    return true;
}

void onConnection(void* data, MprEvent*) {
    auto& endpoint = *static_cast<HttpEndpoint*>(data);
    MprSocket* listener = nullptr;
    for (int i = 0; (listener = listenerOf(endpoint)) && i < mostAccepts; ++i) {
        if (i > 0 && !hasPlace(*endpoint.http)) {
            break; // the next event says whether another one has come, for which one that rests would have to leave
        }
        if (!makePlace(*endpoint.http, endpoint.dispatcher)) {
            return;
        }
        MprSocket* sock = mprAcceptSocket(listener);
        if (!sock && (listener->flags & MPR_SOCKET_EXHAUSTED)) {
            noteFull();
        }
        if (!sock) {
            break;
        }
        accept(endpoint, sock);
    }
    if (listener) {
        mprEnableSocketEvents(listener, MPR_READABLE);
    }
}

// ---- The end ----------------------------------------------------------------------------------------------------

/** One of the connections of a lane that have not been told that their endpoint has stopped. */
HttpNet* nextToStop(const Lane& lane) {
    const os::Locked locked(shared.lock);
    for (const NetList* list : {&shared.resting, &shared.working}) {
        for (HttpNet* net = list->first(); net; net = net->next) {
            if (net->lane == &lane && !net->closes && isStopped(*net)) {
                return net;
            }
        }
    }
    return nullptr;
}

void stopNets(const Lane& lane) {
    while (HttpNet* net = nextToStop(lane)) {
        retire(*net);
    }
}

void onStop(void* data, MprEvent*) {
    stopNets(*static_cast<Lane*>(data));
}

void onClose(void* data, MprEvent*) {
    mprCloseSocket(static_cast<MprSocket*>(data), true);
}

/** Where its dispatcher accepts no connection meanwhile. If memory is short it is closed when it is collected. */
void closeListener(const HttpEndpoint& endpoint, MprSocket* sock) {
    if (isHere(*endpoint.dispatcher)) {
        mprCloseSocket(sock, true);
    } else {
        mprDisconnectSocket(sock); // nobody can connect from now on
        mprCreateEvent(endpoint.dispatcher, "http.close", 0, onClose, sock, 0);
    }
}

void setListener(HttpEndpoint& endpoint, MprSocket* sock) {
    const os::Locked locked(shared.lock);
    setRef(&endpoint, endpoint.sock, sock);
}

/** @return What listenerOf() has returned. */
MprSocket* takeListener(HttpEndpoint& endpoint) {
    const os::Locked locked(shared.lock);
    MprSocket* sock = endpoint.sock;
    setRef(&endpoint, endpoint.sock, nullptr);
    endpoint.stops += sock != nullptr;
    return sock;
}

// -----------------------------------------------------------------------------------------------------------------

/** Those dispatchers that are the main one: only what starts needs it. @return false when memory is short. */
bool findDispatchers(HttpEndpoint& endpoint) {
    MprDispatcher* own = endpoint.dispatcher ? endpoint.dispatcher : mprGetDispatcher();
    setRef(&endpoint, endpoint.dispatcher, own);
    bool open = own;
    for (int i = 0; open && i < mprGetListLength(endpoint.lanes); ++i) {
        auto* lane = static_cast<Lane*>(mprGetItem(endpoint.lanes, i));
        setRef(lane, lane->dispatcher, lane->dispatcher ? lane->dispatcher : own);
        open = openLane(*lane);
    }
    return open;
}
} // namespace

MprSocket* listenerOf(const HttpEndpoint& endpoint) {
    const os::Locked locked(shared.lock);
    return endpoint.sock;
}

bool isStopped(const HttpNet& net) {
    os::assertHeld(shared.lock);
    return !net.endpoint->sock || net.stops != net.endpoint->stops;
}

HttpHost* makeHost(const Http& http) {
    auto* host = base::makeReferring<HttpHost>(manageHost);
    if (!host || !(host->routes = mprCreateList(0, 0)) || mprAddItem(http.hosts, host) < 0) {
        return nullptr;
    }
    return host;
}

bool isNamed(const HttpHost& host, std::string_view name) {
    if (!host.name) {
        return false;
    }
    const std::string_view own = host.name;
    if (cut(own, 0, 2) == "*.") {
        const std::string_view below = cut(own, 1);
        return name.size() > below.size() && same(cut(name, name.size() - below.size()), below);
    }
    return same(own, name);
}

std::string_view withoutPort(const char* host) {
    const std::string_view text = host ? host : "";
    const std::size_t end = text.rfind(':');
    const bool isPort = end != std::string_view::npos && text.find(']', end) == std::string_view::npos;
    return isPort ? cut(text, 0, end) : text;
}

HttpHost* hostFor(const HttpEndpoint& endpoint, std::string_view name) {
    const int count = mprGetListLength(endpoint.hosts);
    for (int i = 0; i < count; ++i) {
        auto* host = static_cast<HttpHost*>(mprGetItem(endpoint.hosts, i));
        if (isNamed(*host, name)) {
            return host;
        }
    }
    auto* first = static_cast<HttpHost*>(mprGetFirstItem(endpoint.hosts));
    return first ? first : endpoint.http->defaultHost;
}

} // namespace mpr::http

using namespace mpr::http;

// ---- Endpoints --------------------------------------------------------------------------------------------------

HttpEndpoint* httpCreateEndpoint(cchar* ip, int port, MprDispatcher* dispatcher) {
    Http* http = httpCreate(HTTP_SERVER_SIDE);
    auto* endpoint = http ? mpr::base::makeReferring<HttpEndpoint>(manageEndpoint) : nullptr;
    if (!endpoint || !(endpoint->hosts = mprCreateList(0, 0)) || !(endpoint->lanes = mprCreateList(0, 0)) ||
        !addLane(endpoint->lanes, dispatcher)) {
        return nullptr;
    }
    const bool any = !ip || !*ip;
    endpoint->http = http;
    endpoint->ip = any ? nullptr : sclone(ip);
    endpoint->port = port;
    endpoint->dispatcher = dispatcher;
    return (any || endpoint->ip) && mprAddItem(http->endpoints, endpoint) >= 0 ? endpoint : nullptr;
}

void httpDestroyEndpoint(HttpEndpoint* endpoint) {
    if (Http* http = endpoint ? service() : nullptr) {
        httpStopEndpoint(endpoint);
        mprRemoveItem(http->endpoints, endpoint);
    }
}

namespace {

/** Have the system keep little of a response that its client does not take yet: else that is megabytes for each, which a board
    has not got, and a thousand clients that ask at once wait until all are copied. Connections have it from their listener,
    unless the program has told that, before it was bound, how much. */
void boundUnsent([[maybe_unused]] Socket fd) {
#ifdef TCP_NOTSENT_LOWAT
    constexpr int most = 128 * 1024; // bytes: a millisecond of a gigabit a second
    int given = 0;
    socklen_t size = sizeof(given);
    if (getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &given, &size) == 0 && given == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof(most));
    }
#endif
}
} // namespace

int httpStartEndpoint(HttpEndpoint* endpoint) {
    if (!endpoint) {
        return MPR_ERR_BAD_ARGS;
    }
    if (listenerOf(*endpoint)) {
        return 0;
    }
    const bool ready = !mprIsStopped() && findDispatchers(*endpoint) && makeClock();
    MprSocket* sock = ready ? mprCreateSocket() : nullptr;
    const mpr::base::Rooted rooted(sock), kept(endpoint); // the prebind callback may yield
    if (!sock || mprListenOnSocket(sock, endpoint->ip, endpoint->port, 0) < 0) {
        return MPR_ERR_CANT_OPEN;
    }
    endpoint->port = sock->port;
    boundUnsent(sock->fd);
    setListener(*endpoint, sock);
    if (!mprAddSocketHandler(sock, MPR_READABLE, endpoint->dispatcher, onConnection, endpoint, 0)) {
        mprCloseSocket(sock, true);
        setListener(*endpoint, nullptr);
        return MPR_ERR_CANT_OPEN;
    }
    return 0;
}

void httpStopEndpoint(HttpEndpoint* endpoint) {
    MprSocket* sock = endpoint ? takeListener(*endpoint) : nullptr;
    if (!sock) {
        return;
    }
    closeListener(*endpoint, sock);
    for (int i = 0; i < mprGetListLength(endpoint->lanes); ++i) {
        auto* lane = static_cast<Lane*>(mprGetItem(endpoint->lanes, i));
        if (isHere(*lane->dispatcher)) {
            stopNets(*lane);
        } else if (!mprCreateEvent(lane->dispatcher, "http.stop", 0, onStop, lane, 0)) {
            mprLog("error http", 0, "no memory to stop connections of port %d: they are served until they end",
                   endpoint->port);
        }
    }
}

int httpSetEndpointWorkers(HttpEndpoint* endpoint, int workers) {
    constexpr int most = 64;
    if (!endpoint || workers < 0 || workers > most) {
        return MPR_ERR_BAD_ARGS;
    }
    if (listenerOf(*endpoint)) {
        return MPR_ERR_BAD_STATE;
    }
    MprList* lanes = mprCreateList(0, 0);
    bool made = lanes && (workers > 0 || addLane(lanes, endpoint->dispatcher));
    for (int i = 0; made && i < workers; ++i) {
        MprDispatcher* dispatcher = mprCreateDispatcher("http", 0);
        made = dispatcher && addLane(lanes, dispatcher);
    }
    if (!made) {
        return MPR_ERR_MEMORY;
    }
    setRef(endpoint, endpoint->lanes, lanes);
    return 0;
}

int httpStartEndpoints(void) {
    Http* http = service();
    int result = 0;
    for (int i = 0; http && i < mprGetListLength(http->endpoints); ++i) {
        const int each = httpStartEndpoint(static_cast<HttpEndpoint*>(mprGetItem(http->endpoints, i)));
        result = result ? result : each;
    }
    return result;
}

void httpStopEndpoints(void) {
    Http* http = service();
    for (int i = 0; http && i < mprGetListLength(http->endpoints); ++i) {
        httpStopEndpoint(static_cast<HttpEndpoint*>(mprGetItem(http->endpoints, i)));
    }
}

int httpGetEndpointPort(HttpEndpoint* endpoint) {
    return endpoint ? endpoint->port : 0;
}

void httpSetEndpointNotifier(HttpEndpoint* endpoint, HttpNotifier fn) {
    if (endpoint) {
        endpoint->notifier = fn;
    }
}

int httpSecureEndpoint(HttpEndpoint* endpoint, struct MprSsl* ssl) {
    if (!endpoint) {
        return MPR_ERR_BAD_ARGS;
    }
    if (ssl && !mprHasSecureSockets()) {
        return MPR_ERR_BAD_STATE;
    }
    setRef(endpoint, endpoint->ssl, ssl);
    return 0;
}

// ---- Hosts ------------------------------------------------------------------------------------------------------

HttpHost* httpCreateHost(void) {
    Http* http = httpCreate(HTTP_SERVER_SIDE);
    return http ? makeHost(*http) : nullptr;
}

int httpSetHostName(HttpHost* host, cchar* name) {
    if (!host || !name) {
        return MPR_ERR_BAD_ARGS;
    }
    char* copy = slower(name);
    setRef(host, host->name, copy);
    return copy ? 0 : MPR_ERR_MEMORY;
}

void httpSetHostDefaultRoute(HttpHost* host, HttpRoute* route) {
    if (host) {
        setRef(host, host->defaultRoute, route);
    }
}

void httpAddHostToEndpoint(HttpEndpoint* endpoint, struct HttpHost* host) {
    if (endpoint && host && mprLookupItem(endpoint->hosts, host) < 0) {
        mprAddItem(endpoint->hosts, host);
    }
}

struct HttpHost* httpLookupHost(cchar* name) {
    Http* http = name ? service() : nullptr;
    for (int i = 0; http && i < mprGetListLength(http->hosts); ++i) {
        auto* host = static_cast<HttpHost*>(mprGetItem(http->hosts, i));
        if (host->name && same(host->name, name)) {
            return host;
        }
    }
    return nullptr;
}

HttpHost* httpGetDefaultHost(void) {
    Http* http = httpCreate(HTTP_SERVER_SIDE);
    return http ? http->defaultHost : nullptr;
}

void httpSetDefaultHost(HttpHost* host) {
    if (Http* http = host ? service() : nullptr) {
        setRef(http, http->defaultHost, host);
    }
}

HttpRoute* httpGetDefaultRoute(HttpHost* host) {
    host = host ? host : httpGetDefaultHost();
    return host ? host->defaultRoute : nullptr;
}
