// SPDX-License-Identifier: MIT
/*
    elf.hpp - Names of functions and variables, from the symbol table of a program's or library's file: for the port
    to Linux.

    A program exports few of its names, and none that is static, but its file has them all unless it was stripped. The
    file is read when a message is written, some KiB at a time on the caller's stack: nothing is allocated or kept. A
    file that was replaced since it was loaded says nothing.
 */
#pragma once

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mpr::os::elf {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Entry = ElfW(Sym);

inline constexpr std::size_t longestName = 120; // with its NUL; the rest is cut

/** What an address belongs to. */
struct Symbol {
    char name[longestName] = {};
    std::uintptr_t offset = 0; // of the address in it
};

class File {
public:
    explicit File(const char* path) : file_(path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1) {}
    ~File() {
        if (file_ >= 0) {
            close(file_);
        }
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    /** @return Bytes read: less at the file's end, 0 if nothing can be read. */
    std::size_t readSome(std::uint64_t at, void* out, std::size_t size) const {
        const ssize_t got = file_ >= 0 ? pread(file_, out, size, static_cast<off_t>(at)) : -1;
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    template <typename T>
    bool read(std::uint64_t at, T& out) const {
        return readSome(at, &out, sizeof(out)) == sizeof(out);
    }

private:
    int file_;
};

/** Whether a file is the one that an object was loaded from. */
inline bool isOf(const File& file, const Header& header, const dl_phdr_info& object) {
    constexpr unsigned char native = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    bool same = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == native &&
                header.e_shentsize == sizeof(Section) && header.e_phnum == object.dlpi_phnum;
    for (unsigned i = 0; same && i < object.dlpi_phnum; ++i) {
        Segment segment;
        same = file.read(header.e_phoff + i * sizeof(segment), segment) &&
               std::memcmp(&segment, object.dlpi_phdr + i, sizeof(segment)) == 0;
    }
    return same;
}

/** The first section of a type. @return false when there is none. */
inline bool findSection(const File& file, const Header& header, std::uint32_t type, Section& section) {
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        if (!file.read(header.e_shoff + i * sizeof(section), section)) {
            return false;
        }
        if (section.sh_type == type) {
            return true;
        }
    }
    return false;
}

#ifdef __arm__
inline constexpr std::uintptr_t encoding = 1; // the bit of a function's address that says how the function is encoded
#else
inline constexpr std::uintptr_t encoding = 0;
#endif

/** Where an address is in a function or variable, if it is. */
inline bool contains(const Entry& entry, std::uintptr_t address, std::uintptr_t& offset) {
    const unsigned type = entry.st_info & 15;
    const std::uintptr_t ignored = type == STT_FUNC ? encoding : 0;
    offset = (address & ~ignored) - (entry.st_value & ~ignored);
    return (type == STT_FUNC || type == STT_OBJECT) && entry.st_shndx != SHN_UNDEF &&
           offset < std::max<std::uintptr_t>(entry.st_size, 1);
}

/** Search a table of symbols. @param address As the file has it. */
inline bool findIn(const File& file, const Header& header, const Section& table, std::uintptr_t address,
                   Symbol& found) {
    Section names;
    if (!file.read(header.e_shoff + table.sh_link * sizeof(names), names)) {
        return false;
    }
    Entry some[64];
    for (std::uint64_t at = 0; at < table.sh_size; at += sizeof(some)) {
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(sizeof(some), table.sh_size - at));
        if (file.readSome(table.sh_offset + at, some, bytes) != bytes) {
            return false;
        }
        for (std::size_t i = 0; i < bytes / sizeof(Entry); ++i) {
            if (contains(some[i], address, found.offset)) {
                return file.readSome(names.sh_offset + some[i].st_name, found.name, sizeof(found.name) - 1) > 0;
            }
        }
    }
    return false;
}

/** What an address belongs to. @param address As the file has it. @return false when the file does not say. */
inline bool findSymbol(const char* path, const dl_phdr_info& object, std::uintptr_t address, Symbol& found) {
    const File file(path);
    Header header;
    if (!file.read(0, header) || !isOf(file, header, object)) {
        return false;
    }
    Section table;
    return (findSection(file, header, SHT_SYMTAB, table) && findIn(file, header, table, address, found)) ||
           (findSection(file, header, SHT_DYNSYM, table) && findIn(file, header, table, address, found));
}

/**
    A C++ name as far as it is namespaces, classes and a function or variable: "_ZN3app4Node6manageEPvi" is
    app::Node::manage. Other names stay as they are.
 */
inline void readable(const char* name, char (&out)[longestName]) {
    std::size_t length = 0;
    const auto put = [&](const char* text, std::size_t count) {
        count = std::min(count, sizeof(out) - 1 - length);
        std::memcpy(out + length, text, count);
        length += count;
    };
    if (name[0] == '_' && name[1] == 'Z') {
        const char* at = name + 2;
        const bool isNested = *at == 'N';
        at += isNested;
        at += std::strspn(at, "KVL");
        do {
            std::size_t count = 0;
            while (*at >= '0' && *at <= '9') {
                count = 10 * count + static_cast<std::size_t>(*at++ - '0');
            }
            count = strnlen(at, count);
            if (count > 0 && std::strncmp(at, "_GLOBAL__N", 10) != 0) {
                put("::", length > 0 ? 2 : 0);
                put(at, count);
            }
            at += count;
            at += *at == 'L';
        } while (isNested && *at >= '0' && *at <= '9');
    }
    if (length == 0) {
        put(name, strnlen(name, sizeof(out) - 1));
    }
    out[length] = '\0';
}

} // namespace mpr::os::elf
