// SPDX-License-Identifier: MIT
/*
    cookie.cpp - Cookies. See cookie.hpp.
 */
#include "mpr/http/cookie.hpp"

#include "mpr/format.h"
#include "mpr/http/date.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/response.h"

namespace mpr::http {

namespace {

/** Whether a text stays within its part of the field. @param besides What must not be in it, either. */
bool isContained(std::string_view text, std::string_view besides) {
    for (char c : text) {
        if (isControl(c) || c == ';' || besides.find(c) != all) {
            return false;
        }
    }
    return true;
}

const char* faultOf(std::string_view name, std::string_view value, const CookieRules& rules) {
    return !isToken(name)                              ? "the name is no token"
           : !isContained(value, "")                   ? "the value has a semicolon or control character"
           : !isContained(viewOf(rules.path), " ,")    ? "the path has a character that none may have"
           : !isContained(viewOf(rules.domain), " ,/") ? "the domain has a character that none may have"
                                                       : nullptr;
}

const char* sameSite(int flags) {
    return flags & HTTP_COOKIE_SAME_STRICT ? "; SameSite=Strict"
           : flags & HTTP_COOKIE_SAME_LAX  ? "; SameSite=Lax"
           : flags & HTTP_COOKIE_SAME_NONE ? "; SameSite=None"
                                           : "";
}

/** How long a cookie lives, in both ways of saying so, since some clients know one. */
void formatLife(char (&out)[80], MprTicks lifespan, MprTime now) {
    char date[dateSize];
    const MprTicks seconds = lifespan > 0 ? lifespan / 1000 + (lifespan % 1000 != 0) : 0;
    MprTime end = 0;
    if (lifespan > 0 && __builtin_add_overflow(now, lifespan, &end)) {
        end = INT64_MAX;
    }
    formatDate(date, end);
    fmt(out, sizeof(out), "; Max-Age=%lld; Expires=%s", seconds, date);
}
} // namespace

std::string_view findCookie(std::string_view header, std::string_view name) {
    while (!header.empty()) {
        std::string_view value = take(header, ';');
        const bool has = value.find('=') != all;
        if (trimmed(take(value, '=')) != name || !has) {
            continue;
        }
        value = trimmed(value);
        const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
        return quoted ? cut(value, 1, value.size() - 2) : value.data() ? value : "";
    }
    return {};
}

char* formatCookie(const char* name, const char* value, const CookieRules& rules, MprTime now, const char*& fault) {
    fault = faultOf(viewOf(name), viewOf(value), rules);
    if (fault) {
        return nullptr;
    }
    char life[80] = "";
    if (rules.lifespan != 0) {
        formatLife(life, rules.lifespan, now);
    }
    const bool domain = rules.domain && *rules.domain != '\0';
    // Browsers drop a cookie for all sites that is not secure.
    const bool secure = (rules.flags & (HTTP_COOKIE_SECURE | HTTP_COOKIE_SAME_NONE)) != 0;
    return sfmt("%s=%s; Path=%s%s%s%s%s%s%s", name, value ? value : "",
                rules.path && *rules.path != '\0' ? rules.path : "/", domain ? "; Domain=" : "",
                domain ? rules.domain : "", life, secure ? "; Secure" : "",
                rules.flags & HTTP_COOKIE_HTTP ? "; HttpOnly" : "", sameSite(rules.flags));
}

} // namespace mpr::http
