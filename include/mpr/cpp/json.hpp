// SPDX-License-Identifier: MIT
/*
    mpr/cpp/json.hpp - JSON: trees walked with range-for, values read and written with their types.
 */
#ifndef MPR_CPP_JSON_HPP
#define MPR_CPP_JSON_HPP

#include "mpr/cpp/copy.hpp"
#include "mpr/cpp/detail/c_api.hpp"

#include <charconv>
#include <clocale>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace mpr {

namespace detail {
/** The nearest as the C library reads it, whose decimal point is that of the locale. */
inline void readNearest(const char* text, float& value) noexcept {
    value = std::strtof(text, nullptr);
}
inline void readNearest(const char* text, double& value) noexcept {
    value = std::strtod(text, nullptr);
}
inline void readNearest(const char* text, long double& value) noexcept {
    value = std::strtold(text, nullptr);
}

/** The fewest digits that are read as this number, which is finite, in any locale: where there is no to_chars for it. */
template <class T, std::size_t N>
void writeShortest(char (&digits)[N], T value) noexcept {
    using Limits = std::numeric_limits<T>;
    T read = 0;
    // Fewer than digits10 are among these, as %g leaves out zeros at the end; but not where precision is lost.
    const bool normal = value == 0 || value >= Limits::min() || value <= -Limits::min();
    for (int count = normal ? Limits::digits10 : 1; count <= Limits::max_digits10; ++count) {
        std::snprintf(digits, N, "%.*Lg", count, static_cast<long double>(value));
        readNearest(digits, read);
        if (read == value) {
            break;
        }
    }
    const char* const point = std::localeconv()->decimal_point;
    if (char* const at = std::strstr(digits, point)) {
        *at = '.';
        std::memmove(at + 1, at + std::strlen(point), std::strlen(at + std::strlen(point)) + 1);
    }
}
} // namespace detail

/**
    A node of a tree of JSON (mpr/json.h), or none.

        const char* mistake;
        mpr::Root<MprJson> kept = mpr::Json::parse(text, &mistake).node();
        mpr::Json config(kept);
        int port = config.get<int>("server.port", 8080);
        for (mpr::Json route : config["routes"]) {
            serve(route["pattern"].text(), route.get<bool>("cache", false));
        }
        config.set("log.level", 2);

    It behaves and costs as an MprJson*, and like that keeps nothing: what is needed after a yield is kept by a
    `Root<MprJson>` or a `Member<MprJson>` of the node, or of one above it. Whatever is asked of no node is not there,
    so a chain of subscripts needs one test, at its end.

    Threads: as mpr/json.h says. Yields: never.
 */
class Json {
public:
    constexpr Json(MprJson* node = nullptr) noexcept : node_(node) {}

    /** An empty object, or array; no node when memory fails. */
    [[nodiscard]] static Json object() noexcept { return mprCreateJson(MPR_JSON_OBJ); }
    [[nodiscard]] static Json array() noexcept { return mprCreateJson(MPR_JSON_ARRAY); }
    /**
        Parse a text by the rules in force (mprSetJsonRules).
        @param mistake As errorMsg of mprParseJsonText. @return The tree; no node when the text is not JSON, or memory
        fails.
     */
    [[nodiscard]] static Json parse(std::string_view text, const char** mistake = nullptr) noexcept {
        return mprParseJsonText(text.data() ? text.data() : "", static_cast<std::ptrdiff_t>(text.size()), nullptr,
                                mistake);
    }
    /** Parse a text by rules of its own; everything else is as when it is parsed by those in force. */
    [[nodiscard]] static Json parse(std::string_view text, const MprJsonRules& rules,
                                    const char** mistake = nullptr) noexcept {
        return mprParseJsonText(text.data() ? text.data() : "", static_cast<std::ptrdiff_t>(text.size()), &rules,
                                mistake);
    }

    constexpr MprJson* node() const noexcept { return node_; }
    constexpr explicit operator bool() const noexcept { return node_ != nullptr; }
    /** Whether they are the same node. */
    friend constexpr bool operator==(Json, Json) noexcept = default;

    bool isObject() const noexcept { return is(MPR_JSON_OBJ); }
    bool isArray() const noexcept { return is(MPR_JSON_ARRAY); }
    bool isString() const noexcept { return is(MPR_JSON_STRING); }
    bool isNumber() const noexcept { return is(MPR_JSON_NUMBER); }
    bool isBool() const noexcept { return is(MPR_JSON_TRUE | MPR_JSON_FALSE); }
    bool isNull() const noexcept { return is(MPR_JSON_NULL | MPR_JSON_UNDEFINED); }

    /** Its name; "" if it has none. */
    std::string_view name() const noexcept { return node_ && node_->name ? node_->name : ""; }
    /** The text of a simple value of any kind; "" for others. */
    std::string_view text() const noexcept { return node_ && node_->value ? node_->value : ""; }
    /** Children. */
    std::size_t size() const noexcept { return node_ ? static_cast<std::size_t>(node_->length) : 0; }

    /** A property, or no node. Linear in their number. */
    Json operator[](std::string_view name) const noexcept {
        MprJson* child = isObject() ? node_->children : nullptr;
        while (child && child->name != name) {
            child = child->next;
        }
        return child;
    }
    Json operator[](const char* name) const noexcept { return name ? (*this)[std::string_view(name)] : Json(); }
    /** An element, or no node. Linear in its index. */
    template <std::integral I>
    Json operator[](I index) const noexcept {
        MprJson* child = isArray() && index >= I{0} ? node_->children : nullptr;
        for (auto left = static_cast<unsigned long long>(index); child && left > 0; --left) {
            child = child->next;
        }
        return child;
    }
    /** What a path names (mprGetJsonObj), or no node. */
    Json at(const char* path) const noexcept { return mprGetJsonObj(node_, path); }

    /**
        Its value as a T, if it is one: an integer that T can hold, written without point and exponent; a floating-point
        number, the nearest that there is, which is 0 for those that are too small, and none for those that are too
        great; a bool; a std::string_view of a string, in which U+0000 is the bytes C0 80, as in text().
     */
    template <class T>
    std::optional<T> as() const noexcept {
        if constexpr (std::is_same_v<T, bool>) {
            return isBool() ? std::optional<T>(is(MPR_JSON_TRUE)) : std::nullopt;
        } else if constexpr (std::is_same_v<T, std::string_view>) {
            return isString() ? std::optional<T>(text()) : std::nullopt;
        } else {
            static_assert(std::is_arithmetic_v<T>, "mpr::Json::as: numbers, bool and std::string_view only");
            T value{};
            return isNumber() && read(text(), value) ? std::optional<T>(value) : std::nullopt;
        }
    }
    /** The value as a T of what a path names, or something else. */
    template <class T>
    T get(const char* path, T otherwise) const noexcept {
        return at(path).as<T>().value_or(otherwise);
    }

    /**
        Set what a path names (mprSetJson).
        @param value A number, a bool, a string, nullptr (null), or a Json, which is handled as by mprSetJsonObj.
        Floating-point numbers are written so that the same is read again; what is no number becomes null. A zero within
        a string is U+0000.
        @return false when the path names nothing that can be set, or memory fails.
     */
    template <class T>
    bool set(const char* path, const T& value) noexcept {
        const Json fresh = make(value);
        return fresh && mprSetJsonObj(node_, path, fresh.node_) == 0;
    }
    /** Add an element behind the last of an array. @return false when it is none, or memory fails. */
    template <class T>
    bool push(const T& value) noexcept {
        const Json fresh = make(value);
        return fresh && isArray() && mprWriteJsonObj(node_, nullptr, fresh.node_) == 0;
    }
    /** Take out what a path names. @return How many. */
    std::size_t remove(const char* path) noexcept { return Json(mprRemoveJson(node_, path)).size(); }

    /** A managed string with its JSON. @param flags As mprJsonToString. @return nullptr for no node, or when memory
        fails. */
    [[nodiscard]] char* print(int flags = MPR_JSON_QUOTES) const noexcept { return mprJsonToString(node_, flags); }

    /** Over children. The one that it stands at must not be taken out meanwhile. */
    class Iterator {
    public:
        using value_type = Json;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::input_iterator_tag;

        constexpr Iterator(MprJson* at = nullptr) noexcept : at_(at) {}
        constexpr Json operator*() const noexcept { return at_; }
        constexpr Iterator& operator++() noexcept {
            at_ = at_->next;
            return *this;
        }
        constexpr Iterator operator++(int) noexcept {
            const Iterator before = *this;
            at_ = at_->next;
            return before;
        }
        friend constexpr bool operator==(Iterator, Iterator) noexcept = default;

    private:
        MprJson* at_;
    };
    Iterator begin() const noexcept { return node_ ? node_->children : nullptr; }
    Iterator end() const noexcept { return {}; }

private:
    bool is(int types) const noexcept { return node_ && (node_->type & types) != 0; }

    /** @param text A number of JSON, with a zero behind it. @return false when it is too great, or memory fails. */
    template <class T>
    static bool readReal(std::string_view text, T& value) noexcept {
#ifdef __cpp_lib_to_chars
        // It does not tell what is too small from what is too great, and may refuse numbers that are not normal.
        if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) {
            return true;
        }
#endif
        const std::string_view point = std::localeconv()->decimal_point;
        const std::size_t at = text.find('.');
        if (at == std::string_view::npos || point == ".") {
            detail::readNearest(text.data(), value);
        } else {
            char* const local = static_cast<char*>(mprAlloc(text.size() + point.size()));
            if (!local) {
                return false;
            }
            std::memcpy(local, text.data(), at);
            std::memcpy(local + at, point.data(), point.size());
            std::memcpy(local + at + point.size(), text.data() + at + 1, text.size() - at); // and the zero
            detail::readNearest(local, value);
            mprFree(local);
        }
        return value - value == 0; // finite
    }

    template <class T>
    static bool read(std::string_view text, T& value) noexcept {
        if constexpr (std::is_floating_point_v<T>) {
            return readReal(text, value);
        } else {
            text = std::is_unsigned_v<T> && text == "-0" ? "0" : text;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            return error == std::errc() && end == text.data() + text.size();
        }
    }

    /** A string with U+0000 as in a tree. @return nullptr when memory fails. */
    static const char* cloneText(std::string_view text) noexcept {
        std::size_t zeros = 0;
        for (const char c : text) {
            zeros += c == '\0';
        }
        if (zeros == 0) {
            return clone(text);
        }
        char* const copy = static_cast<char*>(mprAlloc(text.size() + zeros + 1));
        char* to = copy;
        for (const char c : copy ? text : std::string_view()) {
            if (c == '\0') {
                *to++ = '\xc0';
            }
            *to++ = c == '\0' ? '\x80' : c;
        }
        if (copy) {
            *to = '\0';
        }
        return copy;
    }

    template <class T>
    static Json make(const T& value) noexcept {
        if constexpr (std::is_same_v<T, Json>) {
            return value;
        } else if constexpr (std::is_same_v<T, bool>) {
            return mprCreateJsonValue(nullptr, value ? MPR_JSON_TRUE : MPR_JSON_FALSE);
        } else if constexpr (std::is_null_pointer_v<T>) {
            return mprCreateJsonValue(nullptr, MPR_JSON_NULL);
        } else if constexpr (std::is_arithmetic_v<T>) {
            char digits[96] = "null";
            write(digits, value);
            return mprCreateJsonValue(digits, 0); // a number, or null
        } else {
            if constexpr (std::is_pointer_v<T>) {
                if (!value) {
                    return make(nullptr);
                }
            }
            const char* const copy = cloneText(std::string_view(value));
            return copy ? mprCreateJsonValue(copy, MPR_JSON_STRING) : nullptr;
        }
    }

    template <class T, std::size_t N>
    static void write(char (&digits)[N], T value) noexcept {
        if constexpr (!std::is_floating_point_v<T>) {
            *std::to_chars(digits, digits + N - 1, value).ptr = '\0';
        } else if (value - value == 0) { // finite
#ifdef __cpp_lib_to_chars
            *std::to_chars(digits, digits + N - 1, value).ptr = '\0';
#else
            detail::writeShortest(digits, value);
#endif
        }
    }

    MprJson* node_;
};

} // namespace mpr

#endif /* MPR_CPP_JSON_HPP */
