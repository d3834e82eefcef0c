// SPDX-License-Identifier: MIT
/*
    route.hpp - Endpoints, hosts and routes, as the files of this room see them. They are made while a program sets up.
 */
#pragma once

#include "mpr/http/stream.hpp"

struct HttpEndpoint {
    // References:
    Http* http;
    char* ip;
    MprDispatcher* dispatcher; // accepts
    MprSocket* sock;           // while it listens: see listenerOf()
    MprList* hosts;
    MprList* lanes; // mpr::http::Lane, at least one: its connections are theirs
    struct MprSsl* ssl;
    // The rest:
    int port;
    std::uint32_t stops; // so far; with the lock, as sock
    HttpNotifier notifier;
};

struct HttpHost {
    // References:
    char* name; // in lower case; nullptr: any
    MprList* routes;
    HttpRoute* defaultRoute;
};

namespace mpr::http {

/** A stage that a route has, and for which extensions. A managed block. */
struct FilterEntry {
    HttpStage* stage;    // reference
    MprHash* extensions; // reference; nullptr: all

    bool accepts(const HttpStream& stream) const;
};

/** A header that a route sets. A managed block. */
struct RouteHeader {
    char* name;  // reference
    char* value; // reference
    int command;
};

enum class Target : std::uint8_t { run, redirect, write };

} // namespace mpr::http

struct HttpRoute {
    // References:
    HttpHost* host;
    char* pattern; // as set
    char* match;   // what is compared: without anchors
    char* prefix;
    MprHash* methods; // nullptr: all
    MprList* handlers;
    MprList* inputFilters;
    MprList* outputFilters;
    MprList* headers;
    MprList* indexes;
    MprHash* errorDocuments; // by status
    MprHash* data;
    MprHash* vars;
    char* documents;
    char* realDocuments; // the same without links, when it was looked at last
    char* home;
    char* targetDetails;
    HttpLimits* limits;
    // The rest:
    HttpAction action; // of httpCreateActionRoute
    MprOff rate;       // bytes a second of a response; 0: no limit
    int redirectStatus;
    mpr::http::Target target;
    bool anchored; // the whole path
    bool follows;  // links out of the documents
    bool ownLimits;
};

namespace mpr::http {

/** Choose host, route and handler of a stream. The stream has failed where there is none. */
void chooseRoute(Stream& stream);
/** Whether a path matches, and what its parts are, as parameters. */
bool matchPattern(const HttpRoute& route, const char* path, Stream* stream);
/** Whether a host has a name that a client asks for, without its port and in lower case; "*.name": one below. */
bool isNamed(const HttpHost& host, std::string_view name);
/** A host without its port. @param host "localhost:80"; nullptr: none. */
std::string_view withoutPort(const char* host);
/** The host that a client asks for. @param name Without a port. */
HttpHost* hostFor(const HttpEndpoint& endpoint, std::string_view name);
/** The methods that routes of a stream's path allow: "GET,HEAD". */
char* allowedMethods(Stream& stream);
/** What a route does with headers of the response. */
void applyHeaders(Stream& stream);
/** Let a handler of this room answer an error with a document of the same host. @return Whether it will. */
bool documentError(Stream& stream, int status);
/** Make the stage of actions. @return false when memory is short. */
bool defineActionHandler(Http& http);

// What a service is made of before anybody finds it. @return nullptr when memory is short.

HttpHost* makeHost(const Http& http);
HttpRoute* makeDefaultRoute(const Http& http, HttpHost* host);
/** As httpAddRouteFilter. */
int addFilter(const Http& http, HttpRoute* route, const char* name, const char* extensions, int direction);

} // namespace mpr::http
