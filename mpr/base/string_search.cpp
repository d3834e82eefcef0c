// SPDX-License-Identifier: MIT
/*
    string_search.cpp - Finding characters, parts and ends of strings. See mpr/string.h.

    Parts are found in linear time and constant space, whatever the texts: M. Crochemore, D. Perrin, Two-way
    string-matching, 1991.
 */
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "mpr/base/ascii.hpp"
#include "mpr/base/string.hpp"
#include "mpr/string.h"

using namespace mpr::base;

namespace {

/** What is searched for, cut in two where no short period of the whole repeats across the cut. */
class Pattern {
public:
    Pattern(std::string_view text, bool caseless) : text_(text), caseless_(caseless) {
        cutBehind(false);
        cutBehind(true);
        std::size_t same = 0;
        while (same < cut_ && at(same) == at(same + period_)) {
            ++same;
        }
        periodic_ = same == cut_;
        period_ = periodic_ ? period_ : std::max(cut_, text_.size() - cut_) + 1;
    }

    /** The text is read no further than is needed, and not behind its zero or the limit. */
    const char* findIn(const char* text, std::size_t limit) const;

private:
    char folded(char c) const { return caseless_ ? lower(c) : c; }
    char at(std::size_t i) const { return folded(text_[i]); }
    void cutBehind(bool reverse);

    std::string_view text_;
    bool caseless_, periodic_ = false;
    std::size_t cut_ = 0;
    std::size_t period_ = 1; // how far to go on when the part behind the cut fits and the one before it does not
};

/** Cut before the greatest suffix, by one order of bytes or its reverse, if that is further behind. */
void Pattern::cutBehind(bool reverse) {
    std::size_t start = 0, next = 1, same = 0, period = 1;
    while (next + same < text_.size()) {
        const char a = at(next + same), b = at(start + same);
        if (a == b) {
            if (++same == period) {
                next += period;
                same = 0;
            }
        } else if ((a < b) != reverse) {
            next += same + 1;
            same = 0;
            period = next - start;
        } else {
            start = next++;
            same = 0;
            period = 1;
        }
    }
    if (start >= cut_) {
        cut_ = start;
        period_ = period;
    }
}

const char* Pattern::findIn(const char* text, std::size_t limit) const {
    const std::size_t size = text_.size();
    std::size_t known = 0;  // bytes of the text that are there
    std::size_t fitted = 0; // bytes at the start of the pattern that match, known from the place before
    for (std::size_t from = 0;;) {
        for (; known < from + size; ++known) {
            if (known == limit || text[known] == '\0') {
                return nullptr;
            }
        }
        std::size_t i = std::max(cut_, fitted);
        while (i < size && at(i) == folded(text[from + i])) {
            ++i;
        }
        if (i < size) {
            from += i - cut_ + 1;
            fitted = 0;
            continue;
        }
        for (i = cut_; i > fitted && at(i - 1) == folded(text[from + i - 1]);) {
            --i;
        }
        if (i <= fitted) {
            return text + from;
        }
        from += period_;
        fitted = periodic_ ? size - period_ : 0;
    }
}
} // namespace

const char* mpr::base::search(const char* text, std::size_t most, std::string_view pattern, bool caseless) {
    return pattern.empty() ? text : Pattern(pattern, caseless).findIn(text, most);
}

char* schr(cchar* str, int c) {
    return str ? const_cast<char*>(std::strchr(str, c)) : nullptr;
}

char* srchr(cchar* str, int c) {
    return str ? const_cast<char*>(std::strrchr(str, c)) : nullptr;
}

char* scontains(cchar* str, cchar* pattern) {
    return str && pattern ? const_cast<char*>(std::strstr(str, pattern)) : nullptr;
}

char* sncontains(cchar* str, cchar* pattern, ssize limit) {
    if (limit < 0 || !str || !pattern) {
        return scontains(str, pattern);
    }
    return const_cast<char*>(search(str, static_cast<std::size_t>(limit), pattern, false));
}

char* scaselesscontains(cchar* str, cchar* pattern) {
    return sncaselesscontains(str, pattern, -1);
}

char* sncaselesscontains(cchar* str, cchar* pattern, ssize limit) {
    if (!str || !pattern) {
        return nullptr;
    }
    const std::size_t most = limit < 0 ? SIZE_MAX : static_cast<std::size_t>(limit);
    return const_cast<char*>(search(str, most, pattern, true));
}

char* spbrk(cchar* str, cchar* set) {
    return str && set ? const_cast<char*>(std::strpbrk(str, set)) : nullptr;
}

ssize sspn(cchar* str, cchar* set) {
    return str && set ? static_cast<ssize>(std::strspn(str, set)) : 0;
}

bool sstarts(cchar* str, cchar* prefix) {
    return str && prefix && std::strncmp(str, prefix, std::strlen(prefix)) == 0;
}

cchar* sends(cchar* str, cchar* suffix) {
    if (!str || !suffix) {
        return nullptr;
    }
    const std::size_t length = std::strlen(str), end = std::strlen(suffix);
    if (end > length || std::memcmp(str + length - end, suffix, end) != 0) {
        return nullptr;
    }
    return str + length - end;
}
