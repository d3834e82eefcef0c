// SPDX-License-Identifier: MIT
/*
    uri.hpp - The text of a URI, in parts: what mpr/http/uri.h is made of.
 */
#pragma once

#include <cstdint>
#include <string_view>

#include "mpr/http/uri.h"

namespace mpr::http {

/** Parts as views; data() is nullptr where one is missing. */
struct UriParts {
    std::string_view scheme, host, path, query, reference;
    int port = 0;
};

/** Take a text apart. @return Whether it is a URI. */
bool parseUri(std::string_view text, UriParts& parts);

/** Take a host apart that stands alone, perhaps with a port. @return Whether it is one. */
bool parseHost(std::string_view text, UriParts& parts);

/** Whether parts that were not parsed consist of what such parts may, the host aside. */
bool isUri(const UriParts& parts);

/** Remove dot segments and repeated slashes in place. @return The new length, never above the old. @param left Set when
    the path leaves its root on the way. */
std::size_t normalizePath(char* path, std::size_t size, bool& left);

/** Decode and normalise the path of a request in place. @return The new length; -1: it cannot be trusted. See
    httpValidateUriPath. */
std::ptrdiff_t validatePath(char* path, std::size_t size);

/** Whether a URI may have the byte at a place of a text. */
bool isUriChar(std::string_view text, std::size_t at);

/** The byte that %XX stands for at a place of a text; -1: there is none. */
int decoded(std::string_view text, std::size_t at);

/** An extension within a path; empty: none. */
std::string_view extensionOf(std::string_view path);

/** The URI that a text means: bytes that none may have are escaped, as browsers do. @return nullptr when memory is short. */
HttpUri* readUri(const char* text);

/** A managed string. @return nullptr when memory is short. */
char* newText(std::string_view text);

} // namespace mpr::http
