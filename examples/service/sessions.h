/* SPDX-License-Identifier: MIT */
/*
    sessions.h - Sessions: who came, how often, and where to lately.

    A session lives until it has not been used for maxAge, or until maxCount others have been used since.
 */
#pragma once

#include "board.h"
#include "lru.h"

namespace service {

class Session : public LruLink<Session> {
public:
    static constexpr std::size_t idLength = 32;
    static constexpr std::size_t recentCount = 8;
    static constexpr std::size_t longestPath = 128; // Longer ones are remembered cut off

    Session(std::string_view id, MprTicks now);
    void trace(mpr::Marker& m);

    const char* id() const { return id_.data(); }
    std::string_view key() const { return {id_.data(), idLength}; }
    /** Remember a path. @return false when there is no memory for it; nothing is changed then. */
    bool remember(std::string_view path);
    /** The path remembered so long ago: 0 is the last. NULL when there are not so many. */
    const char* recent(std::size_t ago) const;

    int visits = 0;
    MprTicks born;
    MprTicks lastUsed;

private:
    std::array<char, idLength + 1> id_{};
    std::array<mpr::Member<char>, recentCount> recent_; // A ring
    std::size_t recentNext_ = 0;
};

class Sessions {
public:
    static constexpr std::size_t maxCount = 10000;
    static constexpr MprTicks maxAge = 30 * 60 * 1000; // Milliseconds since the last use

    explicit Sessions(Board& board) : board_(board) {}
    void trace(mpr::Marker& m) { table_.trace(m); }

    /** @return A new session; NULL when there is no memory or the system has no random numbers. */
    Session* add(MprTicks now);
    /** @return The session, which counts as used now; NULL when there is none, or it is too old. */
    Session* use(std::string_view id, MprTicks now);
    void remove(Session* session);
    /** Drop those that are too old. */
    void expire(MprTicks now);

private:
    LruTable<Session> table_;
    Board& board_;
};

} // namespace service
