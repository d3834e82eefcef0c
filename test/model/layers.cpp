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
    "on_duty",    "wish",         "rendezvous", "mutator", "major",       "assists",  "cycle",   "collector_stats",
    "budget",     "mutator_list", "grace",      "late",    "giving_back", "sweeping", "tracing", "waits",
    "collection", "duty",         "safepoint",  "others",  "mutators",    "collector"};

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
            const std::string path = "mpr/gc/" + upwards[part] + ending;
            std::ifstream in(std::string(MPR_SOURCES "/") + path);
            const std::string text{std::istreambuf_iterator<char>(in), {}};
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
