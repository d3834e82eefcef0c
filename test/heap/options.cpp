// SPDX-License-Identifier: MIT
/*
    test/heap/options.cpp - Options from a string. What each of them does is tested where it does it.
 */
#include "mpr/heap/options.hpp"

#include "test/catch.hpp"
#include "test/support/log.hpp"

using mpr::heap::Options;
using test::Log;

TEST_CASE("options are read from one string, in any order", "[heap][options][port]") {
    Log log;
    Options options;
    CHECK(options.parse("young=3m,region=1M,marks=2k,reserve=1g,growth=50,cpu=20,pausebudget=250,deadline=9,markers=2,"
                        "stack=64k,everyalloc=7,everyyield=1,check=1,batches=1"));
    CHECK(options.young == 3u << 20);
    CHECK(options.regionShift == 20);
    CHECK(options.marks == 2048);
    CHECK(options.reserve == 1u << 30);
    CHECK(options.growth == 50);
    CHECK(options.batches);
    CHECK_FALSE(Options().batches);
    CHECK(options.cpuPercent == 20);
    CHECK(options.pauseBudget == 250'000);
    CHECK(options.deadline == 9'000'000);
    CHECK(options.markers == 2);
    CHECK(options.stack == 64 * 1024);
    CHECK(options.everyAlloc == 7);
    CHECK(options.everyYield == Options::on);
    CHECK(options.check == Options::marking);
    CHECK(Log::size() == 0);
}

TEST_CASE("no string and an empty one change nothing, the last of two values counts", "[heap][options][port]") {
    Options options;
    CHECK(options.parse(nullptr));
    CHECK(options.parse(""));
    CHECK(options.young == Options().young);
    CHECK(options.parse("young=1,young=2"));
    CHECK(options.young == 2);
}

TEST_CASE("a bad option is named, and none of its string is taken", "[heap][options][port]") {
    Log log;
    const auto spec =
        GENERATE("young", "young=", "young=x", "young=1kk", "young=-1", "=1", "yuong=1", "region=100k", "region=32k",
                 "region=128m", "growth=0", "growth=10001", "batches=2", "stack=8k", "marks=1", "cpu=0", "cpu=91",
                 "markers=0", "markers=5", "pausebudget=9", "deadline=0", "check=2", "check=on", "everyyield=2",
                 "poison=2", "everyalloc=1000001", "young=99999999999999999999");
    Options options;
    CHECK_FALSE(options.parse((std::string("growth=77,") + spec).c_str()));
    CHECK(options.growth == Options().growth);
    CHECK(Log::size() == 1);
    CHECK(Log::has("option \"" + std::string(spec) + "\" "));
}
