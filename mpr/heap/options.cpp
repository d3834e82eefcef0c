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
constexpr std::string_view ofHosts[] = {"region",      "reserve",    "extra",    "stack",    "markers",
                                        "pausebudget", "cpu",        "check",    "mask",     "poison",
                                        "batches",     "everyalloc", "deadline", "hugepages"};
constexpr std::string_view notAnOption =
    os::hasThreads
        ? "is not an option; there are region, reserve, young, growth, extra, stack, marks, markers, pausebudget, "
          "cpu, check, mask, poison, batches, hugepages, everyyield, everyalloc and deadline"
        : "is not an option here; there are young, growth, marks and everyyield";

bool isAmong(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

bool isOption(std::string_view name) {
    return isAmong(ofBoards, name) || (os::hasThreads && isAmong(ofHosts, name));
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
    } else if (os::hasThreads && name == "hugepages") {
        options.hugePages = number == 1;
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

/** One word of option check. @return false when there is no such. */
bool addCheck(Byte& check, std::string_view word) {
    constexpr struct {
        std::string_view word;
        int check;
    } words[] = {{"0", 0},
                 {"1", Options::marking},
                 {"fields", Options::marking | Options::fields},
                 {"globals", Options::marking | Options::globals},
                 {"stacks", Options::marking | Options::stacks},
                 {"where", Options::where},
                 {"abort", Options::abort}};
    for (const auto& known : words) {
        if (word == known.word) {
            check = static_cast<Byte>(check | known.check);
            return true;
        }
    }
    return false;
}

/** A number that begins with 0x. */
std::string_view applyMask(Options& options, std::string_view value) {
    std::uintptr_t mask = 0;
    bool fits = value.size() > 2 && value.size() <= 2 + 2 * sizeof(mask) && value[0] == '0' && value[1] == 'x';
    for (std::size_t i = 2; fits && i < value.size(); ++i) {
        const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(value[i]);
        fits = digit != std::string_view::npos;
        mask = mask << 4 | (digit < 16 ? digit : digit - 6);
    }
    if (!fits) {
        return "must be a number such as 0xffffffffffff, the bits of words that are an address";
    }
    options.mask = mask;
    return {};
}

/** Words with + between them. */
std::string_view applyCheck(Options& options, std::string_view value) {
    Byte check = 0;
    std::size_t plus = 0;
    do {
        plus = value.find('+');
        if (!addCheck(check, std::string_view(value.data(), std::min(plus, value.size())))) {
            return "must be 0, 1, fields, globals, stacks, where, abort, or several with + between them, such as "
                   "fields+globals";
        }
        value.remove_prefix(plus == std::string_view::npos ? value.size() : plus + 1);
    } while (plus != std::string_view::npos);
    options.check = check;
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
    if (os::hasThreads && name == "mask") {
        return applyMask(options, value);
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
