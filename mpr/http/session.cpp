// SPDX-License-Identifier: MIT
/*
    session.cpp - Sessions: the C API of mpr/http/session.h.

    They are in a table of the service by name, which stands in a cookie. Its bits are random: nobody can guess
    another's.
 */
#include <atomic>
#include <cstring>

#include "mpr/app.h"
#include "mpr/gc/census.hpp"
#include "mpr/http/log.hpp"
#include "mpr/http/net.hpp"
#include "mpr/log.h"
#include "mpr/string.h"
#include "mpr/time.h"

struct HttpSession {
    char* id;                   // reference
    MprHash* vars;              // reference
    std::atomic<MprTicks> used; // by requests of several dispatchers
    MprTicks lifespan;
};

namespace mpr::http {

namespace {

constexpr const char* cookieName = "-http-session-";

void manageSession(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        const auto* session = static_cast<HttpSession*>(ptr);
        markAll(session->id, session->vars);
    }
}
const gc::ManagerName namedSession(manageSession, "HttpSession");

/** @return nullptr when there are no random numbers to be had. */
char* makeId() {
    unsigned char bits[32];
    if (mprGetRandomBytes(reinterpret_cast<char*>(bits), sizeof(bits), false) < 0) {
        return nullptr;
    }
    char text[2 * sizeof(bits) + 1];
    for (std::size_t i = 0; i < sizeof(bits); ++i) {
        text[2 * i] = "0123456789abcdef"[bits[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[bits[i] & 15];
    }
    text[2 * sizeof(bits)] = '\0';
    return sclone(text);
}

HttpSession* findSession(HttpStream* stream) {
    const char* id = httpGetCookie(stream, cookieName);
    const Http* http = service(); // which a handler may have ended
    auto* session = id && http ? static_cast<HttpSession*>(mprLookupKey(http->sessions, id)) : nullptr;
    return session && now() - session->used <= session->lifespan ? session : nullptr;
}

void use(HttpStream* stream, HttpSession* session) {
    session->used = now();
    setRef(stream->rx, stream->rx->session, session);
}

/** Many dispatchers may add one at the same time: so it is counted when it is there. */
bool addSession(const Http& http, const HttpSession* session) {
    const int most = http.limits->sessionMax;
    if (mprGetHashLength(http.sessions) < most) {
        if (!mprAddKey(http.sessions, session->id, session)) {
            return false;
        }
        if (mprGetHashLength(http.sessions) <= most) {
            return true;
        }
        mprRemoveKey(http.sessions, session->id);
    }
    mprLog("error http", 0, "there are %d sessions, as many as are allowed", most);
    return false;
}

MprTicks lastLook = 0; // the clock's
} // namespace

void forgetSessions(Http& http) {
    constexpr MprTicks period = 5000;
    if (now() - lastLook < period) {
        return;
    }
    lastLook = now();
    MprKey* kp = nullptr;
    while ((kp = mprGetNextKey(http.sessions, kp))) {
        const auto* session = static_cast<const HttpSession*>(kp->data);
        if (now() - session->used > session->lifespan) {
            mprRemoveKey(http.sessions, kp->key);
        }
    }
}

} // namespace mpr::http

using namespace mpr::http;

HttpSession* httpCreateSession(HttpStream* stream) {
    if (!stream) {
        return nullptr;
    }
    httpDestroySession(stream);
    Http* http = service();
    if (!http) {
        return nullptr;
    }
    auto* session = mpr::base::makeReferring<HttpSession>(manageSession);
    if (!session || !(session->id = makeId()) || !(session->vars = mprCreateHash(0, 0))) {
        return nullptr;
    }
    session->lifespan = allowed(stream->limits->sessionTimeout);
    if (!addSession(*http, session)) {
        return nullptr;
    }
    use(stream, session);
    httpSetCookie(stream, cookieName, session->id, "/", nullptr, 0,
                  HTTP_COOKIE_HTTP | HTTP_COOKIE_SAME_LAX | (stream->secure ? HTTP_COOKIE_SECURE : 0));
    return session;
}

HttpSession* httpGetSession(HttpStream* stream, int create) {
    if (!stream) {
        return nullptr;
    }
    if (!stream->rx->session) {
        if (HttpSession* session = findSession(stream)) {
            use(stream, session);
        } else if (create) {
            return httpCreateSession(stream);
        }
    }
    return stream->rx->session;
}

cchar* httpGetSessionVar(HttpStream* stream, cchar* name, cchar* defaultValue) {
    HttpSession* session = name ? httpGetSession(stream, 0) : nullptr;
    const auto* value = session ? static_cast<cchar*>(mprLookupKey(session->vars, name)) : nullptr;
    return value ? value : defaultValue;
}

int httpSetSessionVar(HttpStream* stream, cchar* name, cchar* value) {
    if (!stream || !name) {
        return MPR_ERR_BAD_ARGS;
    }
    if (!value) {
        httpRemoveSessionVar(stream, name);
        return 0;
    }
    HttpSession* session = httpGetSession(stream, 1);
    if (!session) {
        const Http* http = service();
        const bool tooMany = http && mprGetHashLength(http->sessions) >= http->limits->sessionMax;
        return tooMany ? MPR_ERR_TOO_MANY : MPR_ERR_MEMORY;
    }
    const char* copy = sclone(value);
    return copy && mprAddKey(session->vars, name, copy) ? 0 : MPR_ERR_MEMORY;
}

int httpRemoveSessionVar(HttpStream* stream, cchar* name) {
    HttpSession* session = name ? httpGetSession(stream, 0) : nullptr;
    return session ? mprRemoveKey(session->vars, name) : MPR_ERR_CANT_FIND;
}

cchar* httpGetSessionID(HttpStream* stream) {
    HttpSession* session = httpGetSession(stream, 0);
    return session ? session->id : nullptr;
}

void httpDestroySession(HttpStream* stream) {
    if (HttpSession* session = httpGetSession(stream, 0)) {
        if (Http* http = service()) {
            mprRemoveKey(http->sessions, session->id);
        }
        setRef(stream->rx, stream->rx->session, nullptr);
        httpRemoveCookie(stream, cookieName);
    }
}
