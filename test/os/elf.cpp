// SPDX-License-Identifier: MIT
/*
    elf.cpp - Names of functions and variables: what the program's file says of addresses.
 */
#include "mpr/os/linux/elf.hpp"
#include "mpr/os/os.hpp"
#include "test/catch.hpp"

#include <cstdint>
#include <string>

using namespace mpr;

namespace {

int inOurFile = 7;
int row[10] = {1};

[[gnu::noinline]] int functionOfOurs(int by) {
    return inOurFile += by;
}

std::string described(const void *address) {
    char text[400];
    return {text, os::describeCode(address, text, sizeof(text))};
}

std::string readable(const char *name) {
    char out[os::elf::longestName];
    os::elf::readable(name, out);
    return out;
}

} // namespace

TEST_CASE("functions and variables are described by name, with their file and the place in it", "[os][elf]") {
    const auto function = reinterpret_cast<const char *>(&functionOfOurs);
    CHECK(functionOfOurs(0) == 7);
    CHECK(described(function).starts_with("functionOfOurs ("));
    CHECK(described(function + 2).starts_with("functionOfOurs+0x2 ("));
    CHECK(described(&inOurFile).starts_with("inOurFile ("));
    CHECK(described(row + 3).starts_with("row+0xc ("));
    CHECK(described(row + 3).find("+0x", 8) != std::string::npos); // of the file
    CHECK(described(row + 3).back() == ')');
}

TEST_CASE("what a library exports is described by name, too", "[os][elf]") {
    const std::string text = described(reinterpret_cast<const void *>(&dl_iterate_phdr));
    CHECK(text.find("dl_iterate_phdr") != std::string::npos);
}

TEST_CASE("what is in no file is not described", "[os][elf]") {
    int local = 0;
    CHECK(described(&local).empty());
    CHECK(described(nullptr).empty());
}

TEST_CASE("a description is cut to the room that there is", "[os][elf]") {
    char text[8] = "#######";
    CHECK(os::describeCode(&inOurFile, text, 4) == 4);
    CHECK(std::string(text) == "inOu###");
    CHECK(os::describeCode(&inOurFile, text, 0) == 0);
}

TEST_CASE("C++ names are made readable as far as they are names", "[os][elf]") {
    CHECK(readable("manageNode") == "manageNode");
    CHECK(readable("_Z10manageNodePvi") == "manageNode");
    CHECK(readable("_ZL10manageNodePvi") == "manageNode");
    CHECK(readable("_ZN3app4Node6manageEPvi") == "app::Node::manage");
    CHECK(readable("_ZN12_GLOBAL__N_16manageEPvi") == "manage");
    CHECK(readable("_ZN3appL4listE") == "app::list");
    CHECK(readable("_ZNK3app4Node5countEv") == "app::Node::count");
    CHECK(readable("_ZN3mpr6detail6manageI4NodeEEvPvi") == "mpr::detail::manage");
    CHECK(readable("_ZZ7mistakevE6latest") == "_ZZ7mistakevE6latest");
    CHECK(readable("_Z99tooShort") == "tooShort");
    CHECK(readable("_Z") == "_Z");
    CHECK(readable("") == "");
    CHECK(readable(std::string(500, 'x').c_str()).size() == os::elf::longestName - 1);
}

TEST_CASE("a file that is none, or another one, names nothing", "[os][elf]") {
    os::elf::Symbol symbol;
    const auto findIn = [&](const char *path) {
        struct Look {
            const char *path;
            os::elf::Symbol &symbol;
        } look{path, symbol};
        return dl_iterate_phdr(
            [](dl_phdr_info *program, std::size_t, void *data) { // the first is the program
                const auto at = static_cast<Look *>(data);
                const auto address = reinterpret_cast<std::uintptr_t>(&inOurFile) - program->dlpi_addr;
                return os::elf::findSymbol(at->path, *program, address, at->symbol) ? 1 : 2;
            },
            &look);
    };
    CHECK(findIn("/proc/self/exe") == 1);
    CHECK(std::string(symbol.name).find("inOurFile") != std::string::npos);
    CHECK(findIn("/dev/null") == 2);
    CHECK(findIn("/no/such/file") == 2);
    CHECK(findIn("relative") == 2);
    CHECK(findIn("/bin/sh") == 2);
    CHECK(findIn("/proc/self/maps") == 2);
}
