// SPDX-License-Identifier: MIT
/*
    image.cpp - Programs and libraries that are loaded: what lies at an address, and where their data are.
 */
#include "mpr/os/linux/elf.hpp"
#include "mpr/os/os.hpp"

#include <errno.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace mpr::os {

namespace {

/** Which addresses an object takes. */
Image imageOf(const dl_phdr_info& object) {
    Image image{~std::uintptr_t{0}, 0};
    for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
        const auto& segment = object.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
            image.begin = std::min(begin, image.begin);
            image.end = std::max(begin + segment.p_memsz, image.end);
        }
    }
    return image;
}

bool hasAddress(const dl_phdr_info& object, std::uintptr_t address) {
    const Image image = imageOf(object);
    return address >= image.begin && address < image.end;
}

bool isProgram(const dl_phdr_info& object) {
    return !object.dlpi_name || object.dlpi_name[0] == '\0';
}

/** Text of limited length. */
class Text {
public:
    Text(char* out, std::size_t room) : out_(out), room_(room) {}
    void put(const char* text) {
        while (*text != '\0' && length_ < room_) {
            out_[length_++] = *text++;
        }
    }
    void putOffset(std::uintptr_t value) {
        char digits[2 * sizeof(value) + 1];
        std::size_t first = sizeof(digits) - 1;
        digits[first] = '\0';
        do {
            digits[--first] = "0123456789abcdef"[value & 15];
            value >>= 4;
        } while (value != 0);
        put("+0x");
        put(digits + first);
    }
    std::size_t length() const { return length_; }

private:
    char* out_;
    std::size_t room_, length_ = 0;
};

struct Description {
    std::uintptr_t address;
    Text text;
};

bool findSymbol(const dl_phdr_info& object, std::uintptr_t address, elf::Symbol& symbol) {
    const char* const file = isProgram(object) ? "/proc/self/exe" : object.dlpi_name;
    return elf::findSymbol(file, object, address - object.dlpi_addr, symbol);
}

/** "name+0x12 (file+0x1234)", or what is known of it: addr2line takes the second offset. */
void describeIn(const dl_phdr_info& object, Description& wanted) {
    const std::uintptr_t inFile = wanted.address - object.dlpi_addr;
    const char* const file = isProgram(object) ? program_invocation_short_name : object.dlpi_name;
    const char* const slash = std::strrchr(file, '/');
    elf::Symbol symbol;
    const bool found = findSymbol(object, wanted.address, symbol);
    if (found) {
        char name[elf::longestName];
        elf::readable(symbol.name, name);
        wanted.text.put(name);
        if (symbol.offset != 0) {
            wanted.text.putOffset(symbol.offset);
        }
        wanted.text.put(" (");
    }
    wanted.text.put(slash ? slash + 1 : file);
    wanted.text.putOffset(inFile);
    wanted.text.put(found ? ")" : "");
}
} // namespace

std::size_t describeCode(const void* address, char* out, std::size_t room) {
    Description wanted{reinterpret_cast<std::uintptr_t>(address), {out, room}};
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
            auto* description = static_cast<Description*>(data);
            const bool isHere = hasAddress(*object, description->address);
            if (isHere) {
                describeIn(*object, *description);
            }
            return isHere ? 1 : 0;
        },
        &wanted);
    return wanted.text.length();
}

bool findImage(const void* address, Image& image) {
    struct Search {
        std::uintptr_t address;
        Image& found;
    } search{reinterpret_cast<std::uintptr_t>(address), image};
    return dl_iterate_phdr(
               [](dl_phdr_info* object, std::size_t, void* data) {
                   auto* wanted = static_cast<Search*>(data);
                   if (hasAddress(*object, wanted->address)) {
                       wanted->found = imageOf(*object);
                       return 1;
                   }
                   return 0;
               },
               &search) == 1;
}

bool isEntry(const void* address) {
    return dl_iterate_phdr(
               [](dl_phdr_info* object, std::size_t, void* data) {
                   const auto wanted = reinterpret_cast<std::uintptr_t>(data);
                   elf::Symbol symbol;
                   const bool found = hasAddress(*object, wanted) && findSymbol(*object, wanted, symbol);
                   return found && symbol.offset == 0 ? 1 : 0;
               },
               const_cast<void*>(address)) == 1;
}

bool isCode(const void* address) {
    return dl_iterate_phdr(
               [](dl_phdr_info* object, std::size_t, void* data) {
                   const auto wanted = reinterpret_cast<std::uintptr_t>(data);
                   for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
                       const auto& segment = object->dlpi_phdr[i];
                       const bool executes = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
                       if (executes && wanted - (object->dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
                           return 1;
                       }
                   }
                   return 0;
               },
               const_cast<void*>(address)) == 1;
}

void forEachData(DataVisitor visit, void* context, const void* own) {
    struct Walk {
        DataVisitor visit;
        void* context;
        std::uintptr_t own;
    } walk{visit, context, reinterpret_cast<std::uintptr_t>(own)};
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
            const auto* to = static_cast<Walk*>(data);
            for (unsigned i = 0; i < object->dlpi_phnum && (isProgram(*object) || !hasAddress(*object, to->own)); ++i) {
                const auto& segment = object->dlpi_phdr[i];
                if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) {
                    constexpr std::uintptr_t word = sizeof(void*);
                    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
                    to->visit(to->context, reinterpret_cast<const void* const*>((begin + word - 1) & ~(word - 1)),
                              reinterpret_cast<const void* const*>(end & ~(word - 1)));
                }
            }
            return 0;
        },
        &walk);
}

} // namespace mpr::os
