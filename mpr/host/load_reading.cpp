// SPDX-License-Identifier: MIT
/*
    load_reading.cpp - Parsers of the system's files about memory, and what they say together.
 */
#include "mpr/host/load_reading.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "mpr/os/log.hpp"

namespace mpr::host {

namespace {
constexpr auto all = std::string_view::npos;

std::string_view from(std::string_view text, std::size_t at) {
    return at < text.size() ? std::string_view(text.data() + at, text.size() - at) : std::string_view();
}

/** Take the next line off a text. */
std::string_view takeLine(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line(text.data(), std::min(end, text.size()));
    text = end == all ? std::string_view() : from(text, end + 1);
    return line;
}

/** Digits at the start of a text, behind blanks. @return How many characters; 0: no number. */
std::size_t takeNumber(std::string_view text, std::uint64_t& number) {
    std::size_t at = 0;
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) {
        ++at;
    }
    const std::size_t first = at;
    number = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        const auto digit = static_cast<std::uint64_t>(text[at] - '0');
        if (number > (noLimit - digit) / 10) {
            number = noLimit;
            return at + 1; // so much is no limit
        }
        number = number * 10 + digit;
    }
    return at > first ? at : 0;
}

std::uint64_t less(std::uint64_t one, std::uint64_t other) {
    return one > other ? one - other : 0;
}
} // namespace

bool parseBytes(std::string_view text, std::uint64_t& bytes) {
    constexpr std::uint64_t mostOfVersion1 = std::uint64_t{1} << 62; // a limit there is what a counter of pages holds
    if (text.size() >= 3 && std::memcmp(text.data(), "max", 3) == 0) {
        bytes = noLimit;
        return true;
    }
    const bool is = takeNumber(text, bytes) > 0;
    bytes = bytes >= mostOfVersion1 ? noLimit : bytes;
    return is;
}

bool parseField(std::string_view text, std::string_view name, std::uint64_t& number) {
    while (!text.empty()) {
        const std::string_view line = takeLine(text);
        if (line.size() > name.size() && std::memcmp(line.data(), name.data(), name.size()) == 0) {
            std::string_view rest = from(line, name.size());
            rest = rest[0] == ':' ? from(rest, 1) : rest;
            const bool isEnd = !rest.empty() && (rest[0] == ' ' || rest[0] == '\t');
            const std::size_t digits = isEnd ? takeNumber(rest, number) : 0;
            if (digits > 0) {
                const std::string_view unit = from(rest, digits);
                number *= unit.find("kB") != all ? 1024 : 1;
                return true;
            }
        }
    }
    return false;
}

bool parsePressure(std::string_view text, unsigned& hundredths) {
    constexpr std::string_view begin = "some avg10=";
    while (!text.empty()) {
        const std::string_view line = takeLine(text);
        if (line.size() <= begin.size() || std::memcmp(line.data(), begin.data(), begin.size()) != 0) {
            continue;
        }
        std::uint64_t whole = 0, part = 0;
        const std::string_view number = from(line, begin.size());
        const std::size_t digits = takeNumber(number, whole);
        if (digits == 0 || whole > 100) {
            return false;
        }
        const std::string_view rest = from(number, digits);
        if (rest.size() >= 3 && rest[0] == '.') {
            takeNumber(std::string_view(rest.data() + 1, 2), part);
        }
        hundredths = static_cast<unsigned>(whole * 100 + std::min<std::uint64_t>(part, 99));
        return true;
    }
    return false;
}

std::string_view findGroup(std::string_view text, std::string_view controller) {
    while (!text.empty()) {
        // hierarchy:controller,controller:path
        const std::string_view line = takeLine(text);
        const std::size_t first = line.find(':');
        const std::size_t second = first == all ? all : line.find(':', first + 1);
        if (second == all) {
            continue;
        }
        std::string_view names(line.data() + first + 1, second - first - 1);
        bool has = controller.empty() && names.empty();
        while (!controller.empty() && !names.empty() && !has) {
            const std::size_t comma = names.find(',');
            has = std::string_view(names.data(), std::min(comma, names.size())) == controller;
            names = comma == all ? std::string_view() : from(names, comma + 1);
        }
        if (has) {
            return from(line, second + 1);
        }
    }
    return {};
}

// ---- Files ------------------------------------------------------------------------------------------------------

/** Contents of a file: the beginning, which has what is looked for. */
struct LoadFiles::Text {
    char bytes[8192];
    std::size_t size = 0;
    std::string_view view() const { return {bytes, size}; }
};

/** What the two versions of control groups call the same things. */
struct LoadFiles::Version {
    Source source;
    const char* mount;
    const char* controller;
    const char* limit;
    const char* high;
    const char* used;
    const char* files; // the field of memory.stat: pages of files that the kernel will take first
};

bool LoadFiles::readFile(std::string_view path, std::string_view name, Text& text) const {
    char full[1024];
    const std::string_view parts[] = {root_, path, name};
    std::size_t at = 0;
    for (const std::string_view part : parts) {
        if (part.size() >= sizeof(full) - at) {
            return false;
        }
        std::memcpy(full + at, part.data(), part.size());
        at += part.size();
    }
    full[at] = '\0';
    const int file = open(full, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    text.size = 0;
    ssize_t got = 0;
    while (text.size < sizeof(text.bytes) &&
           (got = ::read(file, text.bytes + text.size, sizeof(text.bytes) - text.size)) > 0) {
        text.size += static_cast<std::size_t>(got);
    }
    close(file);
    return text.size > 0;
}

bool LoadFiles::readNumber(std::string_view path, std::string_view name, std::uint64_t& number) const {
    Text text;
    return readFile(path, name, text) && parseBytes(text.view(), number);
}

/** One group. @return Whether it limits, and says what is used. */
bool LoadFiles::readGroup(const Version& version, std::string_view folder, LoadReading& reading) const {
    std::uint64_t limit = noLimit, high = noLimit, used = 0, files = 0;
    readNumber(folder, version.limit, limit);
    readNumber(folder, version.high, high);
    if ((limit == noLimit && high == noLimit) || !readNumber(folder, version.used, used)) {
        return false;
    }
    Text stat;
    if (readFile(folder, "/memory.stat", stat)) {
        parseField(stat.view(), version.files, files);
    }
    used = less(used, files);
    const std::uint64_t bound = std::min(limit, high);
    if (limit != noLimit && less(limit, used) < reading.available) {
        reading.available = less(limit, used);
    }
    reading.ample = high != noLimit ? std::min(reading.ample, less(high, used)) : reading.ample;
    reading.limit = std::min(reading.limit, bound);
    reading.source = version.source;
    return true;
}

/** The group of the process, and those above it, which limit it as well. @return Whether any does. */
bool LoadFiles::readGroups(const Version& version, LoadReading& reading) const {
    Text text;
    if (!readFile("", "/proc/self/cgroup", text)) {
        return false;
    }
    const std::string_view mount = version.mount;
    char folder[512];
    std::string_view group = findGroup(text.view(), version.controller);
    if (group.empty() || group.size() + mount.size() >= sizeof(folder)) {
        return false;
    }
    std::memcpy(folder, mount.data(), mount.size());
    std::memcpy(folder + mount.size(), group.data(), group.size());
    std::size_t length = mount.size() + (group == "/" ? 0 : group.size());
    bool any = false;
    for (;;) {
        any = readGroup(version, {folder, length}, reading) || any;
        if (length <= mount.size()) {
            return any;
        }
        while (folder[--length] != '/') {}
    }
}

void LoadFiles::readMachine(LoadReading& reading) const {
    Text text;
    std::uint64_t total = 0, available = 0;
    if (!readFile("", "/proc/meminfo", text) || !parseField(text.view(), "MemTotal", total) || total == 0) {
        return;
    }
    if (!parseField(text.view(), "MemAvailable", available)) { // before Linux 3.14
        std::uint64_t cached = 0;
        parseField(text.view(), "MemFree", available);
        parseField(text.view(), "Cached", cached);
        available += cached;
    }
    if (available < reading.available) {
        reading.available = available;
        reading.source = reading.source == Source::none ? Source::machine : reading.source;
    }
    reading.limit = std::min(reading.limit, total);
}

void LoadFiles::readPressure(LoadReading& reading) const {
    Text groups, text;
    unsigned hundredths = 0;
    bool has = false;
    if (readFile("", "/proc/self/cgroup", groups)) {
        const std::string_view group = findGroup(groups.view(), "");
        char folder[512] = "/sys/fs/cgroup";
        const std::size_t mount = std::strlen(folder);
        if (!group.empty() && group.size() + mount < sizeof(folder)) {
            std::memcpy(folder + mount, group.data(), group.size());
            has = readFile({folder, mount + group.size()}, "/memory.pressure", text) &&
                  parsePressure(text.view(), hundredths);
        }
    }
    has = has || (readFile("", "/proc/pressure/memory", text) && parsePressure(text.view(), hundredths));
    reading.pressure = has ? static_cast<int>(hundredths) : -1;
}

LoadReading LoadFiles::read() const {
    static constexpr Version versions[] = {
        {Source::group2, "/sys/fs/cgroup", "", "/memory.max", "/memory.high", "/memory.current", "inactive_file"},
        {Source::group1, "/sys/fs/cgroup/memory", "memory", "/memory.limit_in_bytes", "/memory.soft_limit_in_bytes",
         "/memory.usage_in_bytes", "total_inactive_file"},
    };
    LoadReading reading;
    for (const Version& version : versions) {
        if (readGroups(version, reading)) {
            break;
        }
    }
    readMachine(reading);
    readPressure(reading);
    return reading;
}

} // namespace mpr::host
