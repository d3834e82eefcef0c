// SPDX-License-Identifier: MIT
/*
    sessions.cpp - See sessions.h. An id is 128 random bits: it is all that a client has to show.
 */
#include "sessions.h"

#include <algorithm>

namespace service {

Session::Session(std::string_view id, MprTicks now) : born(now), lastUsed(now) {
    std::copy_n(id.begin(), idLength, id_.begin());
}

void Session::trace(mpr::Marker& m) {
    traceLink(m);
    for (auto& path : recent_) {
        m(path);
    }
}

bool Session::remember(std::string_view path) {
    char* copy = mpr::clone(path.substr(0, longestPath));
    if (!copy) {
        return false;
    }
    recent_[recentNext_] = copy; // The path it replaces is garbage now; nobody has to free it
    recentNext_ = (recentNext_ + 1) % recentCount;
    return true;
}

const char* Session::recent(std::size_t ago) const {
    return ago < recentCount ? recent_[(recentNext_ + recentCount - 1 - ago) % recentCount].get() : nullptr;
}

Session* Sessions::add(MprTicks now) {
    std::array<char, Session::idLength / 2> random;
    if (mprGetRandomBytes(random.data(), random.size(), false) != 0) {
        return nullptr;
    }
    std::array<char, Session::idLength> id;
    for (std::size_t i = 0; i < random.size(); ++i) {
        id[2 * i] = "0123456789abcdef"[(random[i] >> 4) & 15];
        id[2 * i + 1] = "0123456789abcdef"[random[i] & 15];
    }
    auto* session = mpr::make<Session>(std::string_view(id.data(), id.size()), now);
    if (!session) {
        return nullptr;
    }
    if (table_.count() >= maxCount) {
        remove(table_.oldest());
        bump(board_.sessionsExpired);
    }
    table_.insert(session);
    board_.sessions = table_.count();
    return session;
}

Session* Sessions::use(std::string_view id, MprTicks now) {
    Session* session = table_.find(id);
    if (!session || now - session->lastUsed > maxAge) {
        return nullptr; // expire() will fetch it if it is too old
    }
    session->lastUsed = now;
    table_.touch(session);
    return session;
}

void Sessions::remove(Session* session) {
    table_.remove(session);
    board_.sessions = table_.count();
}

void Sessions::expire(MprTicks now) {
    while (Session* session = table_.oldest()) {
        if (now - session->lastUsed <= maxAge) {
            break;
        }
        remove(session);
        bump(board_.sessionsExpired);
    }
}

} // namespace service
