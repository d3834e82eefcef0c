/* SPDX-License-Identifier: MIT */
/*
    content.h - The content cache: pages by name, the least recently used ones dropped when they exceed a limit.

    A response that is being sent refers to the body itself, not to a copy. Dropping or replacing a page is therefore
    one store: whoever still sends the old body keeps it alive, and the collector frees it after the last one.
 */
#pragma once

#include "board.h"
#include "lru.h"

namespace service {

struct Page : LruLink<Page> {
    Page(char* itsName, std::size_t length) : nameLength(length) { name = itsName; }
    void trace(mpr::Marker& m) {
        traceLink(m);
        m(name, body);
    }

    std::string_view key() const { return {name.get(), nameLength}; }
    std::size_t cost() const { return size + 256; } // About what page, name and links take is counted too

    mpr::Member<char> name, body;
    std::size_t nameLength;
    std::size_t size = 0;
    bool stored = false; // By a client; otherwise made by generatePage
};

class Content {
public:
    static constexpr std::size_t largestPage = 1024 * 1024;

    enum class Stored { created, replaced, noMemory };

    explicit Content(Board& board) : board_(board) {}
    void trace(mpr::Marker& m) { table_.trace(m); }

    /** Letters, digits, dot, minus, underscore; not too long. */
    static bool validName(std::string_view name);

    /** @return The page, which counts as used now, or NULL. */
    Page* use(std::string_view name);
    /** Put a body under a name; drops old pages while the cache is over its limit. */
    Stored store(std::string_view name, char* body, std::size_t size, bool stored);
    bool remove(std::string_view name);
    /**
        Memory is short: drop the pages least recently used, half of the cache or all of it, and hold no more than half
        as much until relax(). Allocates nothing.
     */
    void shed(bool all);
    void relax() { most_ = SIZE_MAX; }
    /** Drop old pages while the cache is over its limit. @param kept None of them, or NULL. */
    void trim(const Page* kept = nullptr);

private:
    void drop(Page* page);

    LruTable<Page> table_;
    std::size_t bytes_ = 0;
    std::size_t most_ = SIZE_MAX;
    Board& board_;
};

/** A page of so many bytes that can be recognised: the name, a line feed, letters in turn. @return NULL: no memory. */
char* generatePage(std::string_view name, std::size_t size);
/** Whether bytes look like a page of that name, whoever made it. For clients, which use the same form. */
bool looksLikePage(std::string_view name, std::string_view bytes);
/** Fill size bytes with the page of that name, its letters beginning at the given one. */
void writePage(std::string_view name, unsigned firstLetter, char* bytes, std::size_t size);

} // namespace service
