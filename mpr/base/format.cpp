// SPDX-License-Identifier: MIT
/*
    format.cpp - The conversions of mpr/format.h.

    Integers, strings and characters are converted here. A floating-point number is converted by the C library's
    snprintf into a buffer on the stack, because only exact conversion will do; padding and grouping are done here.

    Whoever chooses a width or precision chooses no amount of work: it is bounded by the room in the sink and the length of
    the arguments. The C library is never asked for more digits than a number has; zeros behind them are added here.
 */
#include "mpr/base/format.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <limits>
#include <type_traits>
#include <utility>

#include "mpr/base/ascii.hpp"
#include "mpr/base/utf8.hpp"
#include "mpr/memory.h"

namespace mpr::base {

namespace {

enum class Size : unsigned char { none, hh, h, l, ll, z, j, t, L };

/** Blanks or zeros that one width or precision makes at most: see mpr/format.h. */
constexpr int mostPadding = 1 << 20;

/** One conversion, as written. */
struct Spec {
    bool left = false, plus = false, blank = false, alternate = false, zero = false, group = false;
    Size size = Size::none;
    char type = 0;
    int width = 0;
    int precision = -1; // none

    /** Nothing but size and type. */
    bool plain() const { return width == 0 && precision < 0 && !plus && !blank && !group; }
};

/** A number's text in parts. Zeros come between prefix and digits. */
struct Parts {
    const char* prefix;
    std::size_t prefixLength;
    std::size_t zeros;
    const char* digits;
    std::size_t digitCount;
    const char* rest = nullptr; // decimal point and what follows
    std::size_t restLength = 0;
    std::size_t restZeros = 0; // behind that
    const char* exponent = nullptr;
    std::size_t exponentLength = 0;
};

/** Digits, decimal or hexadecimal, behind which any number of the type has only zeros, wherever its point is. */
template <class Float>
constexpr int mostDigits = std::numeric_limits<Float>::digits - std::numeric_limits<Float>::min_exponent;

constexpr std::size_t separators(std::size_t digits) {
    return digits > 0 ? (digits - 1) / 3 : 0;
}

/** A number by the C library, flags and precision heeded, the width not. @return As snprintf. */
template <class Float>
int convertReal(char* out, std::size_t room, const Spec& spec, Float value) {
    char form[20];
    FixedSink sink(form, sizeof(form));
    sink.put('%');
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 25)
    // A sixth faster than snprintf; only for double, and without flags.
    if (std::is_same_v<Float, double> && !spec.plus && !spec.blank && !spec.alternate) {
        if (spec.precision >= 0) {
            char digits[12];
            sink.put('.');
            sink.put(digits, static_cast<std::size_t>(std::to_chars(digits, digits + 12, spec.precision).ptr - digits));
        }
        sink.put(spec.type);
        sink.finish();
        return strfromd(out, room, form, static_cast<double>(value));
    }
#endif
    for (const auto& [on, flag] : {std::pair{spec.plus, '+'}, {spec.blank, ' '}, {spec.alternate, '#'}}) {
        if (on) {
            sink.put(flag);
        }
    }
    sink.put(".*", 2);
    if (std::is_same_v<Float, long double>) {
        sink.put('L');
    }
    sink.put(spec.type);
    sink.finish();
    return std::snprintf(out, room, form, spec.precision, value);
}

class Formatter {
public:
    Formatter(Sink& out, std::va_list args) : out_(out) { va_copy(args_, args); }
    ~Formatter() { va_end(args_); }
    Formatter(const Formatter&) = delete;
    Formatter& operator=(const Formatter&) = delete;

    void run(const char* text);

private:
    const char* parse(const char* at, Spec& spec);
    const char* parseNumber(const char* at, int& number);
    bool convert(const Spec& spec);

    std::intmax_t signedArgument(Size size);
    std::uintmax_t unsignedArgument(Size size);
    void integer(const Spec& spec, std::uintmax_t magnitude, bool negative);
    void pointer(Spec spec);
    template <class Float>
    void floating(Spec spec, Float value);
    void floatingLong(const Spec& spec, double value, std::size_t moreZeros);
    void floatingText(const Spec& spec, const char* text, std::size_t length, std::size_t moreZeros);
    void number(const Spec& spec, const Parts& parts, bool zeroFill);
    void grouped(const Parts& parts);

    void padded(const Spec& spec, const char* text, std::size_t length);
    void string(const Spec& spec, const char* text);
    void managed(Spec spec, const char* text);
    void wide(const Spec& spec, const wchar_t* text, std::size_t most);
    void character(const Spec& spec);

    Sink& out_;
    std::va_list args_;
};

void Formatter::run(const char* text) {
    for (;;) {
        const char* percent = text;
        while (*percent != '\0' && *percent != '%') {
            ++percent;
        }
        if (percent != text) {
            out_.put(text, static_cast<std::size_t>(percent - text));
        }
        if (*percent == '\0') {
            return;
        }
        Spec spec;
        text = parse(percent + 1, spec);
        if (!convert(spec)) {
            out_.put(percent, static_cast<std::size_t>(text - percent));
        }
    }
}

/** Digits, cut at what an int can hold, or the argument that * stands for. */
const char* Formatter::parseNumber(const char* at, int& number) {
    if (*at == '*') {
        number = va_arg(args_, int);
        return at + 1;
    }
    number = 0;
    for (; isDigit(*at); ++at) {
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *at - '0', &number)) {
            number = INT_MAX;
        }
    }
    return at;
}

/** @param at Behind the percent sign. @return Behind the conversion, or at the end of the text (the type is 0). */
const char* Formatter::parse(const char* at, Spec& spec) {
    for (;; ++at) {
        switch (*at) {
        case '-': spec.left = true; continue;
        case '+': spec.plus = true; continue;
        case ' ': spec.blank = true; continue;
        case '#': spec.alternate = true; continue;
        case '0': spec.zero = true; continue;
        case '\'':
        case ',': spec.group = true; continue;
        default: break;
        }
        break;
    }
    if (isDigit(*at) || *at == '*') {
        at = parseNumber(at, spec.width);
        if (spec.width < 0) {
            spec.left = true;
            spec.width = spec.width == INT_MIN ? INT_MAX : -spec.width;
        }
    }
    if (*at == '.') {
        at = parseNumber(at + 1, spec.precision);
        spec.precision = spec.precision < 0 ? -1 : spec.precision;
    }
    switch (*at) {
    case 'h':
        spec.size = at[1] == 'h' ? Size::hh : Size::h;
        at += spec.size == Size::hh ? 2 : 1;
        break;
    case 'l':
        spec.size = at[1] == 'l' ? Size::ll : Size::l;
        at += spec.size == Size::ll ? 2 : 1;
        break;
    case 'q':
        spec.size = Size::ll;
        ++at;
        break;
    case 'L':
        spec.size = Size::L;
        ++at;
        break;
    case 'z':
        spec.size = Size::z;
        ++at;
        break;
    case 'j':
        spec.size = Size::j;
        ++at;
        break;
    case 't':
        spec.size = Size::t;
        ++at;
        break;
    default: break;
    }
    spec.type = *at;
    spec.width = std::min(spec.width, mostPadding);
    if (spec.type != 's' && spec.type != 'S' && spec.type != '@') { // of text it is a bound, and pads nothing
        spec.precision = std::min(spec.precision, mostPadding);
    }
    return *at == '\0' ? at : at + 1;
}

/** @return false when it is no conversion. */
bool Formatter::convert(const Spec& spec) {
    switch (spec.type) {
    case 'd':
    case 'i': {
        const std::intmax_t value = signedArgument(spec.size);
        const auto bits = static_cast<std::uintmax_t>(value);
        integer(spec, value < 0 ? 0 - bits : bits, value < 0);
        return true;
    }
    case 'u':
    case 'o':
    case 'x':
    case 'X': integer(spec, unsignedArgument(spec.size), false); return true;
    case 's':
        if (spec.size == Size::l) {
            wide(spec, va_arg(args_, const wchar_t*), SIZE_MAX);
        } else {
            string(spec, va_arg(args_, const char*));
        }
        return true;
    case '@': managed(spec, va_arg(args_, const char*)); return true;
    case 'S': wide(spec, va_arg(args_, const wchar_t*), SIZE_MAX); return true;
    case 'c':
    case 'C': character(spec); return true;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        if (spec.size == Size::L) {
            floating(spec, va_arg(args_, long double));
        } else {
            floating(spec, va_arg(args_, double));
        }
        return true;
    case 'p': pointer(spec); return true;
    case '%': out_.put('%'); return true;
    // A format that writes to memory is a way in for whoever can choose the format.
    case 'n': static_cast<void>(va_arg(args_, void*)); return true;
    default: return false;
    }
}

std::intmax_t Formatter::signedArgument(Size size) {
    switch (size) {
    case Size::hh: return static_cast<signed char>(va_arg(args_, int));
    case Size::h: return static_cast<short>(va_arg(args_, int));
    case Size::l: return va_arg(args_, long);
    case Size::ll:
    case Size::L: return va_arg(args_, long long);
    case Size::z: // NOLINT(bugprone-branch-clone): here it may be the same type as the next
    case Size::t: return va_arg(args_, std::ptrdiff_t);
    case Size::j: return va_arg(args_, std::intmax_t);
    default: return va_arg(args_, int);
    }
}

std::uintmax_t Formatter::unsignedArgument(Size size) {
    switch (size) {
    case Size::hh: return static_cast<unsigned char>(va_arg(args_, unsigned));
    case Size::h: return static_cast<unsigned short>(va_arg(args_, unsigned));
    case Size::l: return va_arg(args_, unsigned long);
    case Size::ll:
    case Size::L: return va_arg(args_, unsigned long long);
    case Size::z: // NOLINT(bugprone-branch-clone): as above
    case Size::t: return va_arg(args_, std::size_t);
    case Size::j: return va_arg(args_, std::uintmax_t);
    default: return va_arg(args_, unsigned);
    }
}

void Formatter::integer(const Spec& spec, std::uintmax_t magnitude, bool negative) {
    char text[1 + CHAR_BIT * sizeof(magnitude) / 3 + 1];
    char* const digits = text + 1;
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    const int base = decimal ? 10 : spec.type == 'o' ? 8 : 16;
    std::size_t count = 0;
    if (magnitude != 0 || spec.precision != 0) {
        count = static_cast<std::size_t>(std::to_chars(digits, text + sizeof(text), magnitude, base).ptr - digits);
    }
    if (decimal && spec.plain()) {
        text[0] = '-';
        out_.put(negative ? text : digits, count + (negative ? 1 : 0));
        return;
    }
    const char* prefix = "";
    if (decimal) {
        prefix = negative ? "-" : spec.type == 'u' ? "" : spec.plus ? "+" : spec.blank ? " " : "";
    } else if (spec.type == 'X') {
        for (std::size_t i = 0; i < count; ++i) {
            digits[i] = upper(digits[i]);
        }
        prefix = spec.alternate && magnitude != 0 ? "0X" : "";
    } else if (spec.type == 'x') {
        prefix = spec.alternate && magnitude != 0 ? "0x" : "";
    }
    const auto least = static_cast<std::size_t>(spec.precision < 0 ? 0 : spec.precision);
    std::size_t zeros = least > count ? least - count : 0;
    if (spec.type == 'o' && spec.alternate && zeros == 0 && (count == 0 || digits[0] != '0')) {
        zeros = 1;
    }
    Spec own = spec;
    own.group = spec.group && decimal;
    number(own, {prefix, std::strlen(prefix), zeros, digits, count}, spec.precision < 0);
}

void Formatter::pointer(Spec spec) {
    char digits[2 * sizeof(void*)];
    const auto value = reinterpret_cast<std::uintptr_t>(va_arg(args_, const void*));
    const char* end = std::to_chars(digits, digits + sizeof(digits), value, 16).ptr;
    spec.group = false;
    number(spec, {"0x", 2, 0, digits, static_cast<std::size_t>(end - digits)}, true);
}

template <class Float>
void Formatter::floating(Spec spec, Float value) {
    std::size_t moreZeros = 0;
    if (spec.precision > mostDigits<Float>) {
        moreZeros = static_cast<std::size_t>(spec.precision - mostDigits<Float>);
        spec.precision = mostDigits<Float>;
    }
    char text[400]; // the longest double without a precision has 317
    const int length = convertReal(text, sizeof(text), spec, value);
    if (length < 0) {
        return; // no memory
    }
    const auto count = static_cast<std::size_t>(length);
    if (count < sizeof(text)) {
        floatingText(spec, text, count, moreZeros);
        return;
    }
    if constexpr (std::is_same_v<Float, double>) {
        floatingLong(spec, value, moreZeros);
    } else if (auto* large = static_cast<char*>(palloc(count + 1))) { // permanent memory, because any thread may print
        convertReal(large, count + 1, spec, value);
        floatingText(spec, large, count, moreZeros);
        pfree(large);
    } else {
        floatingText(spec, text, sizeof(text) - 1, 0);
    }
}

/** A double with all the digits that it may have: a buffer that the usual ones do without. */
[[gnu::noinline]] void Formatter::floatingLong(const Spec& spec, double value, std::size_t moreZeros) {
    char text[1 + std::numeric_limits<double>::max_exponent10 + 1 + 1 + mostDigits<double> + 1];
    const int length = convertReal(text, sizeof(text), spec, value);
    if (length >= 0 && static_cast<std::size_t>(length) < sizeof(text)) {
        floatingText(spec, text, static_cast<std::size_t>(length), moreZeros);
    }
}

/** Pad and group what the C library made. @param moreZeros Digits that it was not asked for. */
void Formatter::floatingText(const Spec& spec, const char* text, std::size_t length, std::size_t moreZeros) {
    if (spec.width == 0 && !spec.group && moreZeros == 0) {
        out_.put(text, length);
        return;
    }
    std::size_t prefix = text[0] == '-' || text[0] == '+' || text[0] == ' ' ? 1 : 0;
    const bool finite = isDigit(text[prefix]);
    const bool hexadecimal = spec.type == 'a' || spec.type == 'A';
    if (finite && hexadecimal) {
        prefix += 2; // 0x
    }
    std::size_t digits = 0;
    while (finite && prefix + digits < length && isDigit(text[prefix + digits])) {
        ++digits;
    }
    const std::size_t before = prefix + digits;
    std::size_t exponent = before;
    while (finite && exponent < length && lower(text[exponent]) != (hexadecimal ? 'p' : 'e')) {
        ++exponent;
    }
    // %g leaves zeros at the end out, unless told otherwise.
    const bool keepsZeros = finite && (lower(spec.type) != 'g' || spec.alternate);
    Spec own = spec;
    own.group = spec.group && !hexadecimal;
    number(own,
           {text, prefix, 0, text + prefix, digits, text + before, exponent - before, keepsZeros ? moreZeros : 0,
            text + exponent, length - exponent},
           finite);
}

/** @param zeroFill Whether the flag 0 has a meaning here. */
void Formatter::number(const Spec& spec, const Parts& parts, bool zeroFill) {
    const std::size_t all = parts.zeros + parts.digitCount;
    const std::size_t length = parts.prefixLength + all + (spec.group ? separators(all) : 0) + parts.restLength +
                               parts.restZeros + parts.exponentLength;
    const auto width = static_cast<std::size_t>(spec.width);
    const std::size_t padding = width > length ? width - length : 0;
    const bool zeroPadding = spec.zero && !spec.left && zeroFill;
    if (padding > 0 && !spec.left && !zeroPadding) {
        out_.fill(' ', padding);
    }
    out_.put(parts.prefix, parts.prefixLength);
    if (padding > 0 && zeroPadding) {
        out_.fill('0', padding);
    }
    if (spec.group) {
        grouped(parts);
    } else {
        if (parts.zeros > 0) {
            out_.fill('0', parts.zeros);
        }
        out_.put(parts.digits, parts.digitCount);
    }
    if (parts.restLength > 0) {
        out_.put(parts.rest, parts.restLength);
    }
    if (parts.restZeros > 0) {
        out_.fill('0', parts.restZeros);
    }
    if (parts.exponentLength > 0) {
        out_.put(parts.exponent, parts.exponentLength);
    }
    if (padding > 0 && spec.left) {
        out_.fill(' ', padding);
    }
}

void Formatter::grouped(const Parts& parts) {
    const std::size_t all = parts.zeros + parts.digitCount;
    for (std::size_t i = 0; i < all && out_.whole(); ++i) {
        if (i > 0 && (all - i) % 3 == 0) {
            out_.put(',');
        }
        out_.put(i < parts.zeros ? '0' : parts.digits[i - parts.zeros]);
    }
}

void Formatter::padded(const Spec& spec, const char* text, std::size_t length) {
    const auto width = static_cast<std::size_t>(spec.width);
    if (width > length && !spec.left) {
        out_.fill(' ', width - length);
    }
    out_.put(text, length);
    if (width > length && spec.left) {
        out_.fill(' ', width - length);
    }
}

void Formatter::string(const Spec& spec, const char* text) {
    if (!text) {
        text = "null";
    }
    if (spec.precision < 0) {
        padded(spec, text, std::strlen(text));
        return;
    }
    // There need be no zero if the precision comes first.
    const auto most = static_cast<std::size_t>(spec.precision);
    const void* zero = std::memchr(text, '\0', most);
    padded(spec, text, zero ? static_cast<std::size_t>(static_cast<const char*>(zero) - text) : most);
}

/** A pointer that is no block is taken for a C string. */
void Formatter::managed(Spec spec, const char* text) {
    const std::size_t room = text ? mprGetBlockSize(text) : 0;
    if (room > 0 && (spec.precision < 0 || static_cast<std::size_t>(spec.precision) > room)) {
        spec.precision = static_cast<int>(std::min<std::size_t>(room, INT_MAX));
    }
    string(spec, text);
}

/** @param most Characters to look at. */
void Formatter::wide(const Spec& spec, const wchar_t* text, std::size_t most) {
    if (!text) {
        string(spec, nullptr);
        return;
    }
    const std::size_t limit = spec.precision < 0 ? SIZE_MAX : static_cast<std::size_t>(spec.precision);
    std::size_t length = 0, count = 0;
    char bytes[4];
    while (count < most && length < limit && (text[count] != L'\0' || most != SIZE_MAX)) {
        const std::size_t next = encodeUtf8(static_cast<char32_t>(text[count]), bytes);
        if (next > limit - length) {
            break;
        }
        length += next;
        ++count;
    }
    const auto width = static_cast<std::size_t>(spec.width);
    const std::size_t padding = width > length ? width - length : 0;
    if (!spec.left) {
        out_.fill(' ', padding);
    }
    for (std::size_t i = 0; i < count && out_.whole(); ++i) {
        out_.put(bytes, encodeUtf8(static_cast<char32_t>(text[i]), bytes));
    }
    if (spec.left) {
        out_.fill(' ', padding);
    }
}

void Formatter::character(const Spec& spec) {
    Spec own = spec;
    own.precision = -1;
    if (spec.size == Size::l || spec.type == 'C') {
        const wchar_t c = static_cast<wchar_t>(va_arg(args_, std::wint_t));
        wide(own, &c, 1);
    } else {
        const char c = static_cast<char>(va_arg(args_, int));
        padded(own, &c, 1);
    }
}
} // namespace

void format(Sink& sink, const char* text, std::va_list args) {
    if (text) {
        Formatter(sink, args).run(text);
    }
}

} // namespace mpr::base
