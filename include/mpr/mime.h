/* SPDX-License-Identifier: MIT */
/*
    mpr/mime.h - MIME types: what a file's extension says of its contents, and the program that handles a type.

    A table is a hash of extensions in either case (mpr/hash.h), each with an MprMime. Threads use it like any hash.
    Attached threads that run. Nothing here yields, except when the file to read is a pipe or a device.

    A library that was built with MPR_MIME=OFF, for a small board, has none of this.
 */
#ifndef MPR_MIME_H
#define MPR_MIME_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

struct MprHash;

/** What the table has for an extension. A managed block; members are for reading. */
typedef struct MprMime {
    char *type;    /* "text/html" */
    char *program; /* As mprSetMimeProgram has it, or NULL */
} MprMime;

/**
    Make a table of some hundred extensions that the library knows, and those of a file, which replace them.
    @param path A file of lines with a type and its extensions, "text/html html htm", as servers and /etc/mime.types
    have it. A # begins a comment. NULL: no file. To make the table the program's, set MPR->mimeTypes to it.
    @return NULL when the file cannot be read, which the log says, or when memory is short. A line whose first word is
    not a type is named in the log and ignored.
 */
MPR_EXPORT struct MprHash *mprCreateMimeTypes(const char *path);

/**
    Add an extension, or give it another type. It then has no program.
    @param ext With or without a point before it. @param mimeType Copied.
    @return The entry. NULL when memory is short, or an argument is NULL or empty.
 */
MPR_EXPORT MprMime *mprAddMime(struct MprHash *table, const char *ext, const char *mimeType);

/**
    Look a type up.
    @param table NULL: MPR->mimeTypes or, if the program has not set that, what the library knows, which takes no
    memory.
    @param ext An extension, with or without a point before it; or a path or file name with one, which is what follows
    its last point.
    @return The type; NULL when the extension is not known, when a path has none, or for NULL.
 */
MPR_EXPORT const char *mprLookupMime(struct MprHash *table, const char *ext);

/**
    Set the program of a type: of all extensions that the table has for it now.
    @param mimeType In either case. @param program Copied. NULL: none.
    @return 0; MPR_ERR_CANT_FIND when the table has no such type; MPR_ERR_MEMORY; MPR_ERR_BAD_ARGS for NULL.
 */
MPR_EXPORT int mprSetMimeProgram(struct MprHash *table, const char *mimeType, const char *program);
/** @return The program of a type, or NULL. It takes time in proportion to the table. */
MPR_EXPORT const char *mprGetMimeProgram(struct MprHash *table, const char *mimeType);

MPR_EXTERN_C_END
#endif /* MPR_MIME_H */
