// SPDX-License-Identifier: MIT
/*
    options.cpp - See options.h.
 */
#include "options.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace service {

const char usage[] = "usage: service --demo [--seconds N] [--port PORT]      show itself under load, then end\n"
                     "       service --listen PORT | --port PORT             serve on 127.0.0.1; PORT 0: a free one\n"
                     "\n"
                     "  --redline SIZE   memory at which cached pages are given up (48m)\n"
                     "  --max SIZE       memory that is never exceeded (64m)\n"
                     "  --cache SIZE     limit of the content cache (12m)\n"
                     "  --seconds N      how long the demo's traffic lasts, 1 to 3600 (10)\n"
                     "  --help           this text\n"
                     "\n"
                     "SIZE is a number of bytes, or of k, m, g.\n";

namespace {

/** An option that takes a number. */
struct Number {
    std::string_view name;
    std::size_t Options::*value;
    std::size_t least, most;
    const char* wanted;
};

constexpr std::size_t mostBytes = PTRDIFF_MAX;
constexpr Number numbers[] = {
    {"--listen", &Options::port, 0, 65535, "a port, 0 to 65535"},
    {"--port", &Options::port, 0, 65535, "a port, 0 to 65535"},
    {"--seconds", &Options::seconds, 1, 3600, "a number, 1 to 3600"},
    {"--redline", &Options::redline, 0, mostBytes, "a size such as 48m"},
    {"--max", &Options::max, 0, mostBytes, "a size such as 48m"},
    {"--cache", &Options::cache, 0, mostBytes, "a size such as 48m"},
};

/** Digits, and where the number is one of bytes k, m or g. */
bool parse(std::string_view text, const Number& number, std::size_t& value) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    const std::size_t power = std::string_view("kmg").find(unit);
    const bool sized = unit.size() == 1 && number.most == mostBytes && power != std::string_view::npos;
    const unsigned shift = sized ? 10 * (static_cast<unsigned>(power) + 1) : 0;
    if (error != std::errc() || (!sized && !unit.empty()) || value > number.most >> shift || value < number.least) {
        return false;
    }
    value <<= shift;
    return true;
}

std::string checkTogether(const Options& options) {
    constexpr std::size_t leastMax = std::size_t{8} << 20;
    return !options.demo && !options.listen && !options.help ? "one of --demo, --listen, --port is needed"
           : options.max < leastMax                          ? "--max: less than 8m is too little for this service"
           : options.redline >= options.max                  ? "--redline: must be below --max"
           : options.cache >= options.redline                ? "--cache: must be below --redline"
                                                             : "";
}

} // namespace

std::string parseOptions(int argc, char** argv, Options& options) {
    if (argc > 0) {
        options.program = argv[0];
    }
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const std::size_t equals = argument.find('=');
        const std::string name = argument.substr(0, equals);
        const auto* number = std::find_if(std::begin(numbers), std::end(numbers),
                                          [&name](const Number& each) { return each.name == name; });
        if (number == std::end(numbers)) {
            options.demo = options.demo || argument == "--demo";
            options.help = options.help || argument == "--help" || argument == "-h";
            if (argument != "--demo" && argument != "--help" && argument != "-h") {
                return argument + ": no such option";
            }
            continue;
        }
        if (equals == std::string::npos && ++i == argc) {
            return name + ": a value is missing";
        }
        const std::string value = equals == std::string::npos ? argv[i] : argument.substr(equals + 1);
        if (!parse(value, *number, options.*number->value)) {
            return name + ": '" + value + "' is not " + number->wanted;
        }
        options.listen = options.listen || number->value == &Options::port;
    }
    return checkTogether(options);
}

} // namespace service
