// SPDX-License-Identifier: MIT
/*
    cookie.hpp - Cookies: read from Cookie, written for Set-Cookie. RFC 6265 (2011); SameSite by its revision.
 */
#pragma once

#include <string_view>

#include "mpr/types.h"

namespace mpr::http {

/** The value of a cookie, without the quotes that it may stand in. @param header What Cookie says. @return data() is
    nullptr when there is none of that name; the first if there are several. */
std::string_view findCookie(std::string_view header, std::string_view name);

/** Attributes of a cookie that is set. */
struct CookieRules {
    const char* path;   // nullptr: "/"
    const char* domain; // nullptr: the host alone
    MprTicks lifespan;  // milliseconds; 0: as long as the browser runs; below 0: it is to be forgotten
    int flags;          // HTTP_COOKIE_*
};

/**
    The value of Set-Cookie.
    @param now For Expires. @param fault Set to what is wrong, when something is. @return A managed string. nullptr when
    memory is short; and when the name is no token, or the value, path or domain has a semicolon, a control character
    or, path and domain, a comma or blank: they would say more than their part.
 */
char* formatCookie(const char* name, const char* value, const CookieRules& rules, MprTime now, const char*& fault);

} // namespace mpr::http
