// SPDX-License-Identifier: MIT
/*
    options.cpp - Parsing of options.
 */
#include "mpr/heap/options.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

#include "mpr/os/log.hpp"

namespace mpr::heap {

namespace {

/** Digits with an optional k, m or g; false when malformed or too large. */
bool parseSize(std::string_view text, std::size_t& out) {
    unsigned shift = 0;
    if (!text.empty()) {
        switch (text.back() | 0x20) {
        case 'k': shift = 10; break;
        case 'm': shift = 20; break;
        case 'g': shift = 30; break;
        default: break;
        }
        text.remove_suffix(shift ? 1 : 0);
    }
    std::size_t value = 0;
    for (const char c : text) {
        const auto digit = static_cast<std::size_t>(c - '0');
        if (c < '0' || c > '9' || __builtin_mul_overflow(value, std::size_t{10}, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    out = value << shift;
    return !text.empty() && (out >> shift) == value;
}

/** Where there is one thread, and a buffer: what else mpr/runtime.h lists has no effect there. */
constexpr std::string_view ofBoards[] = {"young", "growth", "marks", "everyyield"};
constexpr std::string_view others[] = {"region", "reserve", "extra",  "stack",   "markers",    "pausebudget",
                                       "cpu",    "check",   "poison", "batches", "everyalloc", "deadline"};
constexpr std::string_view notAnOption =
    os::hasThreads
        ? "is not an option; there are region, reserve, young, growth, extra, stack, marks, markers, pausebudget, "
          "cpu, check, poison, batches, everyyield, everyalloc and deadline"
        : "is not an option here; there are young, growth, marks and everyyield";

bool isAmong(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

bool isOption(std::string_view name) {
    return isAmong(ofBoards, name) || (os::hasThreads && isAmong(others, name));
}

/** Switches: 0 or 1. */
std::string_view applySwitch(Options& options, std::string_view name, std::size_t number) {
    if (number > 1) {
        return "must be 0 or 1";
    }
    if (os::hasThreads && name == "poison") {
        options.poison = number == 1;
    } else if (os::hasThreads && name == "batches") {
        options.batches = number == 1;
    } else {
        options.everyYield = number == 1 ? Options::on : Options::off;
    }
    return {};
}

/** What boards have, too. @return what is wrong, empty when fine. */
std::string_view applyOnBoards(Options& options, std::string_view name, std::size_t number) {
    if (name == "young") {
        options.young = number;
    } else if (name == "growth") {
        if (number < 1 || number > 10'000) {
            return "must be from 1 to 10000 percent";
        }
        options.growth = static_cast<unsigned>(number);
    } else if (name == "marks") {
        if (number < 1024) {
            return "must be at least 1k";
        }
        options.marks = number;
    } else {
        return applySwitch(options, name, number);
    }
    return {};
}

/** What needs threads. @return what is wrong, empty when fine. */
std::string_view applyOther(Options& options, std::string_view name, std::size_t number) {
    if (name == "region") {
        if (!std::has_single_bit(number) || number < std::size_t{1} << leastRegionShift ||
            number > std::size_t{1} << greatestRegionShift) {
            return "must be a power of two from 64k to 64m";
        }
        options.regionShift = static_cast<unsigned>(std::bit_width(number)) - 1;
    } else if (name == "reserve") {
        options.reserve = number;
    } else if (name == "extra") {
        if (number < 1 || number > 10'000) {
            return "must be from 1 to 10000 percent";
        }
        options.extra = static_cast<unsigned>(number);
    } else if (name == "stack") {
        if (number < 16 * 1024) {
            return "must be at least 16k";
        }
        options.stack = number;
    } else if (name == "deadline") {
        if (number < 1 || number > 3'600'000) {
            return "must be from 1 to 3600000 milliseconds";
        }
        options.deadline = std::uint64_t{number} * 1'000'000u;
    } else if (name == "markers") {
        if (number < 1 || number > 4) {
            return "must be from 1 to 4";
        }
        options.markers = static_cast<unsigned>(number);
    } else if (name == "cpu") {
        if (number < 1 || number > 90) {
            return "must be from 1 to 90 percent";
        }
        options.cpuPercent = static_cast<unsigned>(number);
    } else if (name == "pausebudget") {
        if (number < 10 || number > 10'000'000) {
            return "must be from 10 to 10000000 microseconds";
        }
        options.pauseBudget = std::uint64_t{number} * 1000u;
    } else if (name == "everyalloc") {
        if (number > 1'000'000) {
            return "must be from 0 to 1000000";
        }
        options.everyAlloc = static_cast<unsigned>(number);
    } else {
        return applySwitch(options, name, number);
    }
    return {};
}

std::string_view applyCheck(Options& options, std::string_view value) {
    std::size_t number = 0;
    if (value == "fields") {
        options.check = Options::Check::fields;
    } else if (parseSize(value, number) && number <= 1) {
        options.check = static_cast<Options::Check>(number);
    } else {
        return "must be 0, 1 or fields";
    }
    return {};
}

/** One item into options. @return what is wrong, empty when fine. */
std::string_view apply(Options& options, std::string_view name, std::string_view value) {
    if (!isOption(name)) { // before its value
        return notAnOption;
    }
    if (os::hasThreads && name == "check") {
        return applyCheck(options, value);
    }
    std::size_t number = 0;
    if (!parseSize(value, number)) {
        return "must be a number, with k, m or g behind it or without";
    }
    return !os::hasThreads || isAmong(ofBoards, name) ? applyOnBoards(options, name, number)
                                                      : applyOther(options, name, number);
}
} // namespace

bool Options::parse(const char* spec) {
    Options result = *this;
    std::string_view rest = spec ? spec : "";
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        // Not substr: it can throw, and core links without the C++ library.
        const std::string_view item(rest.data(), comma < rest.size() ? comma : rest.size());
        rest.remove_prefix(comma < rest.size() ? comma + 1 : rest.size());
        const std::size_t equals = item.find('=');
        const std::string_view wrong =
            equals == std::string_view::npos
                ? std::string_view("is not name=value, such as young=4m")
                : apply(result, std::string_view(item.data(), equals),
                        std::string_view(item.data() + equals + 1, item.size() - equals - 1));
        if (!wrong.empty()) {
            os::Message message;
            os::log(os::Level::error, message << "option \"" << item << "\" " << wrong);
            return false;
        }
    }
    *this = result;
    return true;
}

} // namespace mpr::heap
