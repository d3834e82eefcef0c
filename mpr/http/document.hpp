// SPDX-License-Identifier: MIT
/*
    document.hpp - Documents: the files of a route, of the disk or linked into the program, by the paths of requests.

    A path that is asked for is one of the route's folder, as text: it was decoded and has no "..". Where symbolic links
    lead is looked at when a file is open, by its descriptor: nobody can put a link in its place meanwhile. Names that
    begin with a point are hidden, except .well-known (RFC 8615).
 */
#pragma once

#include <climits>

#include "mpr/http.h"
#include "mpr/path.h"

namespace mpr::http {

/** Whether a part of a path is hidden, or leads up. */
bool isHidden(const char* path);

/** The file of a path below a folder. @return nullptr: there can be none, or memory is short. */
char* documentPath(const char* folder, const char* path);

/** Find a file of the program, or of the disk. @return Whether there is one. */
bool describe(const char* filename, MprPath& info);

/** Open a file that is one, and look at it as it is then. @param route Of whose documents it must be one; nullptr: of
    none. @param info Says that it exists if it is there, but is none of the route's. @param etag Receives its tag.
    @return nullptr: it cannot be opened; see mprGetOsError. */
MprFile* openDocument(HttpRoute* route, const char* filename, MprPath& info, char*& etag);

/** The path of an open file, without links. @param opened Where the system shows descriptors as links; where it does not,
    the path is looked at, and must be that file's. @return path; nullptr: it is not known. */
const char* realPathOf(int fd, const char* filename, char (&path)[PATH_MAX], const char* opened = "/proc/self/fd");

/** All of a document of a route, if it is no longer than this. @return nullptr: it is not there, or longer. */
char* readDocument(HttpRoute* route, const char* path, ptrdiff_t most, ptrdiff_t& length);

} // namespace mpr::http
