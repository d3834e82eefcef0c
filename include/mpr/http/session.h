/* SPDX-License-Identifier: MIT */
/*
    mpr/http/session.h - Sessions: values kept for a client between requests, identified by a cookie.

    A session is forgotten when it has not been used for the limit sessionTimeout. Its name is 256 random bits.
 */
#ifndef MPR_HTTP_SESSION_H
#define MPR_HTTP_SESSION_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/** Make a session for the client, replacing the one it has. @return NULL when there are too many, or memory
    is short. */
MPR_EXPORT HttpSession *httpCreateSession(struct HttpStream *stream);
/** The client's session. @param create 1: make one if there is none. @return NULL: there is none. */
MPR_EXPORT HttpSession *httpGetSession(struct HttpStream *stream, int create);
MPR_EXPORT const char *httpGetSessionVar(struct HttpStream *stream, const char *name, const char *defaultValue);
/** Makes a session if there is none. @param value NULL: remove it. @return 0; MPR_ERR_MEMORY; MPR_ERR_TOO_MANY. */
MPR_EXPORT int httpSetSessionVar(struct HttpStream *stream, const char *name, const char *value);
/** @return 0; MPR_ERR_CANT_FIND. */
MPR_EXPORT int httpRemoveSessionVar(struct HttpStream *stream, const char *name);
/** @return NULL: there is no session. */
MPR_EXPORT const char *httpGetSessionID(struct HttpStream *stream);
/** Forget the client's session. */
MPR_EXPORT void httpDestroySession(struct HttpStream *stream);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_SESSION_H */
