/* SPDX-License-Identifier: MIT */
/*
    mpr/http/upload.h - Files that a client has sent in a form: multipart/form-data, RFC 7578 (2015).

    With the filter "uploadFilter" in a route (httpAddRouteFilter, HTTP_STAGE_RX; a default route has it), files of a
    form are written to temporary files as they come, and other fields become parameters. When all has come, rx->files
    has an entry for each file, and the handler is made ready. The body itself is empty for the handler.

    Temporary files are removed at the end of the request. Who wants to keep one renames it, or makes a link.

    Limits: uploadSize for a file, rxFormSize for all other fields together, the larger of uploadSize and rxBodySize for the
    body as a whole (413).
 */
#ifndef MPR_HTTP_UPLOAD_H
#define MPR_HTTP_UPLOAD_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/** A file that was sent: an item of rx->files. A managed block; fields are for reading. */
typedef struct HttpUploadFile {
    char *name;           /* Of the field */
    char *filename;       /* The temporary file */
    char *clientFilename; /* The client's name for it: without folders, not hidden; "" when it has sent none */
    char *contentType;    /* As the client says, or NULL */
    MprOff size;          /* Bytes */
} HttpUploadFile;

MPR_EXTERN_C_END
#endif /* MPR_HTTP_UPLOAD_H */
