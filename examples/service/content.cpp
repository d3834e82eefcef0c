// SPDX-License-Identifier: MIT
/*
    content.cpp - See content.h.
 */
#include "content.h"

#include <algorithm>

namespace service {

bool Content::validName(std::string_view name) {
    constexpr std::size_t longestName = 100;
    return !name.empty() && name.size() <= longestName && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
               c == '_';
    });
}

Page* Content::use(std::string_view name) {
    Page* page = table_.find(name);
    if (page) {
        table_.touch(page);
    }
    return page;
}

Content::Stored Content::store(std::string_view name, char* body, std::size_t size, bool stored) {
    Page* page = table_.find(name);
    bool created = !page;
    if (created) {
        // Both allocations may run the pruner, which removes pages: no pointer into the table is kept across them.
        char* copy = mpr::clone(name);
        page = copy ? mpr::make<Page>(copy, name.size()) : nullptr;
        if (!page) {
            return Stored::noMemory;
        }
        table_.insert(page);
    } else {
        table_.touch(page);
        bytes_ -= page->cost();
    }
    page->body = body;
    page->size = size;
    page->stored = stored;
    bytes_ += page->cost();
    trim(page);
    return created ? Stored::created : Stored::replaced;
}

bool Content::remove(std::string_view name) {
    Page* page = table_.find(name);
    if (page) {
        drop(page);
        trim();
    }
    return page;
}

void Content::trim(const Page* kept) {
    const std::size_t limit = std::min(board_.cacheLimit.load(std::memory_order_relaxed), most_);
    while (bytes_ > limit && table_.oldest() != kept) {
        drop(table_.oldest());
        bump(board_.evicted);
    }
    board_.pages = table_.count();
    board_.bytes = bytes_;
}

void Content::shed(bool all) {
    constexpr std::size_t leastCache = 1024 * 1024;
    const std::size_t keep = all ? 0 : bytes_ / 2;
    most_ = std::max(bytes_ / 2, leastCache);
    while (bytes_ > keep) {
        bump(board_.shedPages);
        bump(board_.shed, table_.oldest()->cost());
        drop(table_.oldest());
    }
    board_.pages = table_.count();
    board_.bytes = bytes_;
}

void Content::drop(Page* page) {
    bytes_ -= page->cost();
    table_.remove(page);
}

char* generatePage(std::string_view name, std::size_t size) {
    auto* bytes = static_cast<char*>(mprAlloc(size));
    if (bytes) {
        writePage(name, name.empty() ? 0u : static_cast<unsigned char>(name.back()), bytes, size);
    }
    return bytes;
}

void writePage(std::string_view name, unsigned firstLetter, char* bytes, std::size_t size) {
    std::size_t at = std::min(name.size(), size);
    std::copy_n(name.begin(), at, bytes);
    if (at < size) {
        bytes[at++] = '\n';
    }
    for (std::size_t letter = firstLetter % 26; at < size; ++at) {
        bytes[at] = static_cast<char>('a' + letter);
        letter = letter == 25 ? 0 : letter + 1;
    }
}

bool looksLikePage(std::string_view name, std::string_view bytes) {
    std::size_t head = std::min(name.size(), bytes.size());
    if (bytes.substr(0, head) != name.substr(0, head)) {
        return false;
    }
    bytes.remove_prefix(head);
    if (bytes.empty()) {
        return true;
    }
    if (bytes.front() != '\n') {
        return false;
    }
    bytes.remove_prefix(1);
    for (std::size_t i = 1; i < bytes.size(); ++i) {
        if (bytes[i] != (bytes[i - 1] == 'z' ? 'a' : bytes[i - 1] + 1)) {
            return false;
        }
    }
    return bytes.empty() || (bytes.front() >= 'a' && bytes.front() <= 'z');
}

} // namespace service
