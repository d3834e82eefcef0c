// SPDX-License-Identifier: MIT
/*
    options.cpp - See options.h.
 */
#include "options.h"

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

bool parseSize(std::string_view text, std::size_t& size) {
    unsigned shift = 0;
    if (!text.empty()) {
        switch (text.back()) {
        case 'k': shift = 10; break;
        case 'm': shift = 20; break;
        case 'g': shift = 30; break;
        default: break;
        }
    }
    if (shift != 0) {
        text.remove_suffix(1);
    }
    std::uint64_t value = 0;
    if (!parseNumber(text, (PTRDIFF_MAX >> shift), value)) {
        return false;
    }
    size = static_cast<std::size_t>(value) << shift;
    return true;
}

bool parseInt(std::string_view text, int least, int most, int& value) {
    std::uint64_t number = 0;
    if (!parseNumber(text, static_cast<std::uint64_t>(most), number) || number < static_cast<std::uint64_t>(least)) {
        return false;
    }
    value = static_cast<int>(number);
    return true;
}

bool wrong(FixedText<512>& error, std::string_view option, std::string_view value, std::string_view wanted) {
    error.add(option).add(": '").add(value).add("' is not ").add(wanted);
    return false;
}

/** One option that takes a value. */
bool parseValue(std::string_view option, std::string_view value, Options& options, FixedText<512>& error) {
    constexpr std::string_view port = "a port, 0 to 65535";
    constexpr std::string_view size = "a size such as 48m";
    if (option == "--listen" || option == "--port") {
        options.listen = true;
        return parseInt(value, 0, 65535, options.port) || wrong(error, option, value, port);
    }
    if (option == "--seconds") {
        return parseInt(value, 1, 3600, options.seconds) || wrong(error, option, value, "a number, 1 to 3600");
    }
    std::size_t& which = option == "--redline" ? options.redline : option == "--max" ? options.max : options.cache;
    return parseSize(value, which) || wrong(error, option, value, size);
}

bool takesValue(std::string_view option) {
    for (std::string_view known : {"--listen", "--port", "--seconds", "--redline", "--max", "--cache"}) {
        if (option == known) {
            return true;
        }
    }
    return false;
}

bool checkTogether(const Options& options, FixedText<512>& error) {
    constexpr std::size_t leastMax = std::size_t{8} << 20;
    if (!options.demo && !options.listen && !options.help) {
        error.add("one of --demo, --listen, --port is needed");
    } else if (options.max < leastMax) {
        error.add("--max: less than 8m is too little for this service");
    } else if (options.redline >= options.max) {
        error.add("--redline: must be below --max");
    } else if (options.cache >= options.redline) {
        error.add("--cache: must be below --redline");
    }
    return error.empty();
}

} // namespace

bool parseOptions(int argc, char** argv, Options& options, FixedText<512>& error) {
    if (argc > 0) {
        options.program = argv[0];
    }
    for (int i = 1; i < argc; ++i) {
        std::string_view argument = argv[i];
        std::size_t equals = argument.find('=');
        std::string_view option = argument.substr(0, equals);
        if (takesValue(option)) {
            std::string_view value;
            if (equals != std::string_view::npos) {
                value = argument.substr(equals + 1);
            } else if (++i < argc) {
                value = argv[i];
            } else {
                error.add(option).add(": a value is missing");
                return false;
            }
            if (!parseValue(option, value, options, error)) {
                return false;
            }
        } else if (argument == "--demo") {
            options.demo = true;
        } else if (argument == "--help" || argument == "-h") {
            options.help = true;
        } else {
            error.add(argument).add(": no such option");
            return false;
        }
    }
    return checkTogether(options, error);
}

} // namespace service
