// SPDX-License-Identifier: MIT
/*
    load_reading.hpp - How much memory the process can still have, as the system's files say: control groups of version 2
    and 1 (kernel documentation: cgroup-v2.rst, cgroup-v1/memory.rst), /proc/meminfo, pressure stall information (psi.rst).

    Nothing here keeps state but what it is given, so that tests give it files of their own.
 */
#pragma once

#include <cstdint>
#include <string_view>

namespace mpr::host {

inline constexpr std::uint64_t noLimit = ~std::uint64_t{0};

/** A number in bytes; "max", and what exceeds all memory, as version 1 says it, is noLimit. @return false: no number. */
bool parseBytes(std::string_view text, std::uint64_t& bytes);

/** The number behind a name that begins a line: "inactive_file 4096", "MemTotal:   16 kB". @return false: it is not there. */
bool parseField(std::string_view text, std::string_view name, std::uint64_t& number);

/** avg10 of the line "some": hundredths of a percent of the last ten seconds. @return false: it is not there. */
bool parsePressure(std::string_view text, unsigned& hundredths);

/**
    The group of the process, as /proc/self/cgroup says. @param controller "" for version 2, "memory" for version 1.
    @return Its path, "/" for the root; empty: there is none.
 */
std::string_view findGroup(std::string_view text, std::string_view controller);

enum class Source { none, host, group2, group1, machine };

/** All bytes. A limit of noLimit is none. */
struct LoadReading {
    Source source = Source::none;
    std::uint64_t limit = noLimit;     // what there is of it
    std::uint64_t available = noLimit; // what the process can still have
    std::uint64_t ample =
        noLimit;       // what of it there is before the kernel begins to hold the process back (memory.high)
    int pressure = -1; // hundredths of a percent; -1: unknown
};

/** Where the files are: the root of a file system, "" for the real one. */
class LoadFiles {
public:
    explicit constexpr LoadFiles(const char* root) : root_(root) {}
    /** Ask version 2, version 1 and /proc/meminfo in this order; of groups and their parents, and the machine, who has least. */
    LoadReading read() const;

private:
    struct Text;
    struct Version;
    bool readFile(std::string_view path, std::string_view name, Text& text) const;
    bool readNumber(std::string_view path, std::string_view name, std::uint64_t& number) const;
    bool readGroup(const Version& version, std::string_view folder, LoadReading& reading) const;
    bool readGroups(const Version& version, LoadReading& reading) const;
    void readMachine(LoadReading& reading) const;
    void readPressure(LoadReading& reading) const;

    const char* root_;
};

} // namespace mpr::host
