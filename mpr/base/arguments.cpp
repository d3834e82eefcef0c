// SPDX-License-Identifier: MIT
/*
    arguments.cpp - Commands split into words. See mpr/app.h.
 */
#include <climits>
#include <cstdint>
#include <cstring>

#include "mpr/app.h"
#include "mpr/base/ascii.hpp"
#include "mpr/memory.h"

using namespace mpr::base;

namespace {

/** What the words are written to. Without it they are only counted and measured. */
struct Words {
    char** argv;
    int most;
};

constexpr bool isQuote(char c) {
    return c == '"' || c == '\'';
}

/** Backslashes in a row at the start of a text. */
std::size_t countBackslashes(cchar* text) {
    std::size_t count = 0;
    while (text[count] == '\\') {
        ++count;
    }
    return count;
}

/**
    One word, quotes and backslashes resolved.
    @param from Its first character; set behind it. @param to Where it is written; may overlap what was read.
    nullptr: nowhere.
 */
void takeWord(cchar*& from, char*& to) {
    const auto put = [&to](char c, std::size_t times) {
        for (; to && times > 0; --times) {
            *to++ = c;
        }
    };
    char quote = 0;
    while (*from != '\0' && (quote || !isBlank(*from))) {
        const std::size_t backslashes = countBackslashes(from);
        from += backslashes;
        if (!isQuote(*from)) {
            put('\\', backslashes);
            if (backslashes == 0) {
                put(*from++, 1);
            }
            continue;
        }
        put('\\', backslashes / 2);
        if (backslashes % 2 != 0 || (quote && *from != quote)) {
            put(*from, 1);
        } else {
            quote = quote ? char{0} : *from;
        }
        ++from;
    }
}

/** Split text into words written to a buffer (which may be the text). @param out nullptr: only count. */
int split(cchar* text, char* out, Words words) {
    int count = 0;
    while (count < words.most) {
        while (isBlank(*text)) {
            ++text;
        }
        if (*text == '\0') {
            break;
        }
        char* const start = out;
        takeWord(text, out);
        text += *text != '\0' ? 1 : 0; // step over the blank before the zero may take its place
        if (out) {
            *out++ = '\0';
            words.argv[count] = start;
        }
        ++count;
    }
    return count;
}
} // namespace

int mprParseArgs(char* command, char** argv, int maxArgs) {
    if (!command) {
        return MPR_ERR_BAD_ARGS;
    }
    return argv ? split(command, command, {argv, maxArgs}) : split(command, nullptr, {nullptr, INT_MAX});
}

int mprMakeArgv(cchar* command, cchar*** argv, int flags) {
    if (argv) {
        *argv = nullptr;
    }
    if (!command || !argv) {
        return MPR_ERR_BAD_ARGS;
    }
    const int count = split(command, nullptr, {nullptr, INT_MAX - 1});
    // Words never become longer than they were, and a blank makes room for each zero but the last.
    const int first = (flags & MPR_ARGV_ARGS_ONLY) ? 1 : 0;
    const std::size_t words = static_cast<std::size_t>(first) + static_cast<std::size_t>(count) + 1;
    std::size_t pointers = 0, size = 0;
    if (__builtin_mul_overflow(words, sizeof(char*), &pointers) ||
        __builtin_add_overflow(pointers, std::strlen(command) + 2, &size)) {
        return MPR_ERR_MEMORY;
    }
    auto** block = static_cast<char**>(mprAlloc(size));
    if (!block) {
        return MPR_ERR_MEMORY;
    }
    char* text = reinterpret_cast<char*>(block) + pointers;
    *text = '\0';
    block[0] = text++;
    split(command, text, {block + first, count});
    block[first + count] = nullptr;
    *argv = const_cast<cchar**>(block);
    return first + count;
}
