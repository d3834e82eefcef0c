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

    Session(std::string_view id, std::uint64_t now);
    void trace(mpr::Marker& m);

    std::string_view key() const { return {id_.data(), id_.size()}; }
    /** Remember a path. @return false when there is no memory for it; nothing is changed then. */
    bool remember(std::string_view path);
    /** The path remembered so long ago: 0 is the last. NULL when there are not so many. */
    const char* recent(std::size_t ago) const;

    std::uint64_t visits = 0;
    std::uint64_t born;
    std::uint64_t lastUsed;

private:
    std::array<char, idLength> id_;
    std::array<mpr::Member<char>, recentCount> recent_; // A ring
    std::size_t recentNext_ = 0;
};

class Sessions {
public:
    static constexpr std::size_t maxCount = 10000;
    static constexpr std::uint64_t maxAge = 30 * 60 * 1000; // Milliseconds since the last use

    explicit Sessions(Board& board) : board_(board) {}
    void trace(mpr::Marker& m) { table_.trace(m); }

    /** @return A new session; NULL when there is no memory or the system has no random numbers. */
    Session* add(std::uint64_t now);
    /** @return The session, which counts as used now; NULL when there is none, or it is too old. */
    Session* use(std::string_view id, std::uint64_t now);
    void remove(Session* session);
    /** Drop those that are too old. */
    void expire(std::uint64_t now);

private:
    LruTable<Session> table_;
    Board& board_;
};

} // namespace service
