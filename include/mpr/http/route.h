/* SPDX-License-Identifier: MIT */
/*
    mpr/http/route.h - Routes: which stages answer which requests, and how.

    A host looks at its routes in their order; the first whose methods and pattern match is taken. A path that routes match for
    other methods only is refused (405); for one that none matches there is the default route. A route that inherits starts with a copy of its parent's settings; later
    changes to either do not affect the other.
 */
#ifndef MPR_HTTP_ROUTE_H
#define MPR_HTTP_ROUTE_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/* Of httpAddRouteResponseHeader. */
#define HTTP_ROUTE_ADD_HEADER 1    /* If there is none of that name */
#define HTTP_ROUTE_APPEND_HEADER 2 /* Behind the value that there is, after a comma */
#define HTTP_ROUTE_REMOVE_HEADER 3
#define HTTP_ROUTE_SET_HEADER 4 /* In place of the value that there is */

/** Make a route without settings. @param host NULL: the default host. */
MPR_EXPORT HttpRoute *httpCreateRoute(struct HttpHost *host);
/** @param route NULL: the default host's default route. */
MPR_EXPORT HttpRoute *httpCreateInheritedRoute(HttpRoute *route);
/** Make the default route of a host: static files of the folder of httpSetRouteDocuments. */
MPR_EXPORT HttpRoute *httpCreateDefaultRoute(struct HttpHost *host);
/** Make a route for paths of a pattern, which calls an action, and add it. @param parent NULL: the default route. */
MPR_EXPORT HttpRoute *httpCreateActionRoute(HttpRoute *parent, const char *pattern, HttpAction action);
/** Make a route for a prefix, and add it. @param path The folder of its documents; with a status: where to redirect to.
    @param status 0, or HTTP_CODE_MOVED_PERMANENTLY and its kin. */
MPR_EXPORT HttpRoute *httpCreateAliasRoute(HttpRoute *parent, const char *pattern, const char *path, int status);
/**
    Make a route, and add it.
    @param methods "GET,POST"; "*" or NULL: all. @param pattern As httpSetRoutePattern. @param target What the action
    handler calls, if there is an action of that name; else a file below the documents; NULL: the path. May have
    ${tokens}.
    @param source Accepted.
 */
MPR_EXPORT HttpRoute *httpDefineRoute(HttpRoute *parent, const char *methods, const char *pattern, const char *target,
                                      const char *source);
/** Add a route to a host, behind those that there are; before the default route. @return 0; MPR_ERR_BAD_ARGS;
    MPR_ERR_MEMORY. */
MPR_EXPORT int httpAddRoute(HttpHost *host, HttpRoute *route);
/** The settings are complete. */
MPR_EXPORT void httpFinalizeRoute(HttpRoute *route);
/** The route with that pattern; NULL: there is none. @param host NULL: the default host. */
MPR_EXPORT HttpRoute *httpLookupRoute(HttpHost *host, const char *pattern);

/**
    Which paths. "/path" is a prefix of whole segments; "/path/{name}/{rest}*" has parts that become parameters, a
    part being one segment, with a * after it all that follows. "^...$" anchors: "^/path$" is that path alone. A
    leading "~" stands for the prefix. @param pattern NULL or "": all. @param flags 0.
 */
MPR_EXPORT void httpSetRoutePattern(HttpRoute *route, const char *pattern, int flags);
/** The paths of the route begin with a prefix. It becomes rx->scriptName, and what follows becomes rx->pathInfo. */
MPR_EXPORT void httpSetRoutePrefix(HttpRoute *route, const char *prefix);
/** @param methods "GET,POST", "*" or NULL: all. GET includes HEAD. */
MPR_EXPORT void httpSetRouteMethods(HttpRoute *route, const char *methods);
/** What the route does: "run" with a path, "redirect" with "301 /uri", "write" with "200 text". @return 0;
    MPR_ERR_BAD_SYNTAX. */
MPR_EXPORT int httpSetRouteTarget(HttpRoute *route, const char *name, const char *details);
/**
    The folder of static files: of the disk, or of the program (mprSetRomFileSystem). Without one none is served.
    "fileHandler", which answers where a route has no other handler, serves them to GET and HEAD, with ETag,
    Last-Modified, conditions and ranges. Names that begin with a point are hidden, except .well-known.
 */
MPR_EXPORT void httpSetRouteDocuments(HttpRoute *route, const char *path);
/** Whether symbolic links are followed out of the folder of documents. Until set they are not: the client gets 404, and
    the log says which link it was. Links within the folder are followed in any case. */
MPR_EXPORT void httpSetRouteFollow(HttpRoute *route, bool follow);
MPR_EXPORT void httpSetRouteHome(HttpRoute *route, const char *home);
/** Add a file that stands for its folder, such as "index.html". */
MPR_EXPORT void httpAddRouteIndex(HttpRoute *route, const char *path);

/** The stage that answers. @return 0; MPR_ERR_CANT_FIND. */
MPR_EXPORT int httpSetRouteHandler(HttpRoute *route, const char *name);
/** The stage that answers paths with these extensions: "html,txt"; NULL or "": all. @return 0; MPR_ERR_CANT_FIND. */
MPR_EXPORT int httpAddRouteHandler(HttpRoute *route, const char *name, const char *extensions);
/**
    Add a filter. A default route has "rangeFilter" (sending), which serves the parts of a response that a client asks
    for, and "uploadFilter" (receiving; mpr/http/upload.h). Others have to be asked for:

    "gzipFilter" (sending) compresses responses by zlib, as the client accepts it: those of a type that gets much
    shorter and of a kilobyte at least. BREACH: the length of a compressed response that has a secret in it, and beside
    it what a client has sent, tells of the secret. Do not have such responses compressed, or mask the secret anew in
    each.

    "rateFilter" (sending) sends no more bytes of a response in a second than httpSetRouteRate says. It comes last.

    @param direction HTTP_STAGE_RX, HTTP_STAGE_TX. @return 0; MPR_ERR_CANT_FIND.
 */
MPR_EXPORT int httpAddRouteFilter(HttpRoute *route, const char *name, const char *extensions, int direction);
/** Bytes of a response that "rateFilter" sends in a second. @param rate 0, or less: as many as there are. */
MPR_EXPORT void httpSetRouteRate(HttpRoute *route, MprOff rate);
/** Forget filters. @param direction HTTP_STAGE_RX, HTTP_STAGE_TX. */
MPR_EXPORT void httpClearRouteStages(HttpRoute *route, int direction);

/** @param cmd HTTP_ROUTE_*_HEADER. */
MPR_EXPORT void httpAddRouteResponseHeader(HttpRoute *route, int cmd, const char *header, const char *value);
/** Answer an error with the file of a path below the documents of the route, 64 KiB at most. If there is none the client is
    sent to that path (302), as another route may have it; who asks for the path itself gets the usual document. */
MPR_EXPORT void httpAddRouteErrorDocument(HttpRoute *route, int status, const char *uri);

/** Keep a value for the program. @param data A block or NULL. */
MPR_EXPORT void httpSetRouteData(HttpRoute *route, const char *key, void *data);
MPR_EXPORT void *httpGetRouteData(HttpRoute *route, const char *key);
/** What ${token} means in targets and by httpExpandRouteVars. */
MPR_EXPORT void httpSetRouteVar(HttpRoute *route, const char *token, const char *value);
/** Replace ${tokens}: those set, DOCUMENTS, HOME. @return A block. */
MPR_EXPORT const char *httpExpandRouteVars(HttpRoute *route, const char *str);
/** The limits of requests of this route, its own from now on. */
MPR_EXPORT struct HttpLimits *httpGetRouteLimits(HttpRoute *route);

/** Call a function for requests of one path. It may finish later: see httpCreateEvent. @param uri The whole path. */
MPR_EXPORT void httpDefineAction(const char *uri, HttpAction fun);
/** For handlers of files: set tx->filename, ext and fileInfo from the route's documents and rx->pathInfo. */
MPR_EXPORT void httpMapFile(struct HttpStream *stream);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_ROUTE_H */
