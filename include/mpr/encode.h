/* SPDX-License-Identifier: MIT */
/*
    mpr/encode.h - Encoding: text made safe for HTML, shells, SQL and URIs.

    Each call except mprUriDecodeInSitu returns a new managed string; NULL gives an empty one. NULL is returned when
    there is no memory. Attached threads. Nothing here yields.
 */
#ifndef MPR_ENCODE_H
#define MPR_ENCODE_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/**
    Put escChar before every character that means something to a shell, blanks and tabs aside: & ; | < > ( ) [ ] { } $ `
    ' " \ * ? ~ ^ # ! and newline.
    @param escChar 0: a backslash.
    @remarks A POSIX shell drops a newline with a backslash before it: two lines become one, never a second command.
 */
MPR_EXPORT char *mprEscapeCmd(const char *cmd, int escChar);

/** Write & < > " ' as &amp; &lt; &gt; &quot; &#39;: safe between tags and in quoted attribute values. */
MPR_EXPORT char *mprEscapeHtml(const char *html);

/**
    Write each ' twice: safe within a literal of standard SQL, which stands between two of them. For SQLite, and for
    servers to which a backslash means nothing; parameters of a prepared statement are safe everywhere.
 */
MPR_EXPORT char *mprEscapeSQL(const char *cmd);

/**
    Decode %XX, and + as a blank. A % without two hexadecimal digits behind it stays as it is. So does %00, which would
    end the string early.
 */
MPR_EXPORT char *mprUriDecode(const char *uri);
/** Decode as mprUriDecode, in place. @return uri. NULL for NULL. Any thread. */
MPR_EXPORT char *mprUriDecodeInSitu(char *uri);

/* What mprUriEncode leaves as it is, besides letters, digits and - . _ ~ */
#define MPR_ENCODE_URI 0x4           /* The reserved characters of RFC 3986 and %: for a whole URI */
#define MPR_ENCODE_URI_COMPONENT 0x8 /* Nothing: for a part that may contain any character */

/** Write all other bytes as %XX. @param map MPR_ENCODE_URI or MPR_ENCODE_URI_COMPONENT. Source: RFC 3986 (2005). */
MPR_EXPORT char *mprUriEncode(const char *uri, int map);

MPR_EXTERN_C_END
#endif /* MPR_ENCODE_H */
