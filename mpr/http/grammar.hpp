// SPDX-License-Identifier: MIT
/*
    grammar.hpp - What values of header fields are made of: tokens, quoted strings, lists and parameters. RFC 9110
    (2022), 5.6.

    Texts are views into what a client sent; nothing here allocates, and each byte is looked at a bounded number of
    times. std::string_view::substr is not used, for what it throws is in the C++ library, which programs in C lack.
 */
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "mpr/base/ascii.hpp"

namespace mpr::http {

using base::isDigit;
using base::lower;
using base::same;

constexpr std::size_t all = static_cast<std::size_t>(-1);

/** A part of a text; less where it ends before. */
constexpr std::string_view cut(std::string_view text, std::size_t from, std::size_t count = all) {
    from = from < text.size() ? from : text.size();
    count = count < text.size() - from ? count : text.size() - from;
    return {text.data() + from, count};
}

/** A C string as a view. nullptr is empty. */
inline std::string_view viewOf(const char* text) {
    return text ? std::string_view(text, std::strlen(text)) : std::string_view();
}

constexpr bool isSpace(char c) {
    return c == ' ' || c == '\t';
}

/** Bytes that end lines, or strings, or tell terminals what to do. */
constexpr bool isControl(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

/** A set of bytes. */
class Bytes {
public:
    template <class Has>
    constexpr explicit Bytes(Has has) {
        for (int i = 0; i < 256; ++i) {
            has_[i] = has(static_cast<char>(i));
        }
    }
    constexpr bool has(char c) const { return has_[static_cast<unsigned char>(c)]; }

private:
    bool has_[256] = {};
};

inline constexpr Bytes tokenChars([](char c) {
    return isDigit(c) || base::isLetter(c) || (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != all);
});

constexpr bool isTokenChar(char c) {
    return tokenChars.has(c);
}

/** Without blanks and tabs at both ends. */
constexpr std::string_view trimmed(std::string_view text) {
    while (!text.empty() && isSpace(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && isSpace(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

constexpr bool isToken(std::string_view text) {
    for (char c : text) {
        if (!isTokenChar(c)) {
            return false;
        }
    }
    return !text.empty();
}

/** Whether a header may have a value (RFC 9110, 5.5). */
constexpr bool isFieldValue(std::string_view text) {
    for (char c : text) {
        if (isControl(c) && c != '\t') {
            return false;
        }
    }
    return true;
}

/** Whether a text begins with another. */
constexpr bool begins(std::string_view text, std::string_view with) {
    return cut(text, 0, with.size()) == with;
}

/** Take the part before the first of a character away from a text. @return It, without the character; all if there is
    none. */
constexpr std::string_view take(std::string_view& text, char until) {
    const std::size_t at = text.find(until);
    const std::string_view part = cut(text, 0, at);
    text = at == all ? std::string_view() : cut(text, at + 1);
    return part;
}

/** Pieces of a text between separators that do not stand in a quoted string, trimmed. Empty ones are left out. */
class Pieces {
public:
    constexpr Pieces(std::string_view text, char separator) : rest_(text), separator_(separator) {}

    constexpr bool next(std::string_view& piece) {
        while (!rest_.empty()) {
            const std::size_t end = endOfPiece();
            piece = trimmed(cut(rest_, 0, end));
            rest_ = cut(rest_, end + 1);
            if (!piece.empty()) {
                return true;
            }
        }
        return false;
    }

private:
    constexpr std::size_t endOfPiece() const {
        bool quoted = false;
        std::size_t i = 0;
        for (; i < rest_.size() && (quoted || rest_[i] != separator_); ++i) {
            if (rest_[i] == '"') {
                quoted = !quoted;
            } else if (quoted && rest_[i] == '\\') {
                ++i;
            }
        }
        return i < rest_.size() ? i : rest_.size();
    }

    std::string_view rest_;
    char separator_;
};

/** A parameter, name=value. The value is as it was sent, in its quotes. */
struct Parameter {
    std::string_view name, value;
};

constexpr Parameter parameterOf(std::string_view piece) {
    const std::string_view name = trimmed(take(piece, '='));
    return {name, trimmed(piece)};
}

/** The value of a parameter behind what a field says first: "text/html; charset=utf-8". @return As it was sent; empty
    when there is none, with data() nullptr. */
constexpr std::string_view findParameter(std::string_view field, std::string_view name) {
    Pieces pieces(field, ';');
    std::string_view piece;
    for (bool first = true; pieces.next(piece); first = false) {
        const Parameter parameter = parameterOf(piece);
        if (!first && same(parameter.name, name)) {
            return parameter.value;
        }
    }
    return {};
}

/** A value without its quotes and escapes, in a buffer. @return What was written; what finds no room is left out.
    @param out At least as long as the value. */
constexpr std::string_view unquote(std::string_view value, char* out) {
    if (value.size() < 2 || value.front() != '"' || value.back() != '"') {
        return value;
    }
    std::size_t size = 0;
    value = cut(value, 1, value.size() - 2);
    for (std::size_t i = 0; i < value.size(); ++i) {
        const bool escape = value[i] == '\\' && i + 1 < value.size() && (value[i + 1] == '"' || value[i + 1] == '\\');
        i += escape;
        out[size++] = value[i];
    }
    return {out, size};
}

/** A quality value in thousandths: the weight of an element of a list. @return 1000 without one; 0 for what is none. */
constexpr int qualityOf(std::string_view element) {
    std::string_view text = findParameter(element, "q");
    if (!text.data()) {
        return 1000;
    }
    const std::string_view whole = take(text, '.');
    if ((whole != "0" && whole != "1") || text.size() > 3) {
        return 0;
    }
    int quality = whole == "1";
    for (std::size_t i = 0; i < 3; ++i) {
        const char digit = i < text.size() ? text[i] : '0';
        if (!isDigit(digit)) {
            return 0;
        }
        quality = 10 * quality + (digit - '0');
    }
    return quality <= 1000 ? quality : 0;
}

/** A number in decimal, digits only. A greater one than there is room for is the greatest. @return Whether it is one.
    */
constexpr bool readNumber(std::string_view text, long long& number) {
    constexpr long long most = 0x7FFFFFFFFFFFFFFF;
    number = 0;
    for (char c : text) {
        if (!isDigit(c)) {
            return false;
        }
        const int digit = c - '0';
        number = number > (most - digit) / 10 ? most : 10 * number + digit;
    }
    return !text.empty();
}

} // namespace mpr::http
