/* SPDX-License-Identifier: MIT */
/*
    mpr/http/uri.h - URIs: taken apart, put together, resolved, and paths made safe. RFC 3986 (2005).

    A URI is SCHEME://HOST:PORT/PATH?QUERY#REFERENCE, of which any part may be missing. Parts are kept as they are
    written, percent signs and all: only httpValidateUriPath decodes.

    Strings and URIs returned are new and managed; NULL means that memory is short, or what else is said. NULL for a
    text is a part that is missing. Attached threads that run. Nothing here yields. Cost: linear.
 */
#ifndef MPR_HTTP_URI_H
#define MPR_HTTP_URI_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/* Flags. */
#define HTTP_COMPLETE_URI 0x1      /* Add what is missing: http, localhost, the scheme's port, / */
#define HTTP_COMPLETE_URI_PATH 0x2 /* Add / for a path that is missing */

/** A URI. A managed block; fields are for reading. Those that are missing are NULL, a missing port is 0. */
typedef struct HttpUri {
    char *scheme;    /* In lower case */
    char *host;      /* Of an address of IPv6 without its brackets */
    char *path;      /* Begins with / if there is a host */
    char *ext;       /* What follows the last point of the last part of the path */
    char *reference; /* Behind # */
    char *query;     /* Behind ? */
    int port;
    bool secure; /* https or wss */
    bool valid;  /* It is one: otherwise no field means anything */
} HttpUri;

/**
    Parse.
    @param uri "http://host:80/path?query#reference" and parts of it: "/path", "path", "?query", "//host/path", and
    besides RFC 3986 "host:80/path" and ":80/path", where what follows the colon is all digits. NULL is "".
    @param flags HTTP_COMPLETE_URI, HTTP_COMPLETE_URI_PATH.
    @return A URI whose field valid says whether it is one. Not valid are bytes that no URI contains (blanks,
    controls, " < > \ ^ ` { | }; bytes above 127 are taken), a % without two hexadecimal digits, a port above 65535, a
    host with characters that no host name has, user names.
 */
MPR_EXPORT HttpUri *httpCreateUri(const char *uri, int flags);
/** Make a URI of its parts, which are not parsed. @param host May have a port, "host:80". @param port 0: none, or that of
    host. @param flags As above. */
MPR_EXPORT HttpUri *httpCreateUriFromParts(const char *scheme, const char *host, int port, const char *path,
                                           const char *reference, const char *query, int flags);
/** A copy. @param flags As above. @return NULL for NULL. */
MPR_EXPORT HttpUri *httpCloneUri(HttpUri *base, int flags);
/**
    Add what is missing in a URI: scheme, host, port and path.
    @param other Where from. NULL, and what it lacks, too: as HTTP_COMPLETE_URI says. @return uri, changed; NULL for
    NULL.
 */
MPR_EXPORT HttpUri *httpCompleteUri(HttpUri *uri, HttpUri *other);
/**
    Append paths to that of a URI, from left to right, each below the one before; of query and reference the last.
    @param base NULL: "/". @param others Any may be NULL.
    @return A new URI, its path normalised. NULL when an argument is no URI.
 */
MPR_EXPORT HttpUri *httpJoinUri(HttpUri *base, int argc, HttpUri **others);
/**
    Resolve a reference in a document. RFC 3986, 5.2.
    @param stream NULL, or a request, whose URI is the base if base is NULL. @param base Where the document is.
    @param target What stands in it.
    @return A new URI. NULL when target is NULL or no URI.
 */
MPR_EXPORT HttpUri *httpResolveUri(struct HttpStream *stream, HttpUri *base, HttpUri *target);
/** Normalise the path of a URI, as below. @return uri, changed; NULL for NULL. */
MPR_EXPORT HttpUri *httpNormalizeUri(HttpUri *uri);
/**
    Remove "." and "..", with the part before, and all slashes but one of several. A path that begins with a slash never
    leaves its root: "/.." is "/". One that does not keeps ".." at its begin. Nothing is decoded: %2e is no point.
    @return NULL also for NULL.
 */
MPR_EXPORT char *httpNormalizeUriPath(const char *uri);
/**
    Make the path of a request one that may be used as a file's: decode each %XX, once, and normalise.
    @return What begins with a slash and has no part "." or "..". NULL when the path cannot be trusted: it does not
    begin with a slash, leaves its root on the way, or has a backslash, a control character or a zero, encoded or not,
    an encoded slash, or a % without two hexadecimal digits.
 */
MPR_EXPORT char *httpValidateUriPath(const char *uri);
/** A URI as text. @param flags As httpCreateUri; what is added does not stay. @return NULL for NULL or no URI. */
MPR_EXPORT char *httpUriToString(HttpUri *uri, int flags);
/** A URI as text, from its parts. @param port 0: none. The scheme's own port is left out. @param path Gets a leading
    slash if there is a host. */
MPR_EXPORT char *httpFormatUri(const char *scheme, const char *host, int port, const char *path, const char *ref,
                               const char *query, int flags);
/** What follows the last point in the last part of a path: "gz" of "/a.b/c.tar.gz?q". @return NULL when there is none,
    for NULL, and for other characters than letters, digits, - and _. */
MPR_EXPORT char *httpGetPathExt(const char *path);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_URI_H */
