// SPDX-License-Identifier: MIT
/*
    layers.cpp - The parts of the collector know only those below them, so that a collection is read in one direction: the
    order that mpr/gc/collector.hpp gives.
 */
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "test/catch.hpp"

namespace {
const std::vector<std::string> upwards = {
    "on_duty",      "wish",   "rendezvous",  "mutator",  "major",    "assists",  "cycle", "collector_stats",
    "mutator_list", "budget", "giving_back", "sweeping", "tracing",  "grace",    "late",  "collection",
    "waits",        "duty",   "safepoint",   "others",   "mutators", "collector"};

std::string read(const std::string& path) {
    std::ifstream in(std::string(MPR_SOURCES "/mpr/gc/") + path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/** What a file of a part includes of parts that are not below it. */
std::vector<std::string> upwardIncludes(const std::string& text, std::size_t part) {
    static const std::regex include("#include \"mpr/gc/(\\w+)\\.hpp\"");
    std::vector<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), include), end; at != end; ++at) {
        const auto other = std::find(upwards.begin(), upwards.end(), (*at)[1].str());
        if (other != upwards.end() && static_cast<std::size_t>(other - upwards.begin()) > part) {
            found.push_back(*other);
        }
    }
    return found;
}
} // namespace

TEST_CASE("layers: no part of the collector knows one above it") {
    for (std::size_t part = 0; part < upwards.size(); ++part) {
        for (const char* ending : {".hpp", ".cpp"}) {
            const std::string path = upwards[part] + ending;
            const std::string text = read(path);
            INFO(path);
            CHECK((!text.empty() || ending == std::string(".cpp")));
            CHECK(upwardIncludes(text, part) == std::vector<std::string>{});
        }
    }
}

TEST_CASE("layers: an include of a part above would be found") {
    CHECK(upwardIncludes("#include \"mpr/gc/collector.hpp\"\n#include \"mpr/gc/wish.hpp\"\n", 1) ==
          std::vector<std::string>{"collector"});
}

TEST_CASE("layers: collector.hpp lists the parts from top to bottom") {
    const std::string text = read("collector.hpp");
    const std::regex line("\n {8}(\\w+) {2,}\\w");
    std::size_t listed = 0, above = upwards.size();
    for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at, ++listed) {
        INFO((*at)[1].str());
        const auto part = std::find(upwards.begin(), upwards.end(), (*at)[1].str());
        CHECK(static_cast<std::size_t>(part - upwards.begin()) < above);
        above = static_cast<std::size_t>(part - upwards.begin());
    }
    CHECK(listed == 11);
}
