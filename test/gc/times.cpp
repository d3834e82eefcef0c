// SPDX-License-Identifier: MIT
/*
    test/gc/times.cpp - A distribution of times: percentiles are at most a sixteenth too high.
 */
#include "mpr/gc/times.hpp"

#include "test/catch.hpp"
#include "test/support/pattern.hpp"

#include <algorithm>
#include <memory>
#include <vector>

using mpr::gc::Times;

TEST_CASE("without times everything is zero", "[gc][stats]") {
    const MprTimes all = std::make_unique<Times>()->summary();
    CHECK(all.count == 0);
    CHECK(all.total == 0);
    CHECK(all.max == 0);
    CHECK(all.p50 == 0);
    CHECK(all.p999 == 0);
}

TEST_CASE("percentiles are those of all times, or up to a sixteenth more", "[gc][stats]") {
    test::Random random(1);
    for (const unsigned bits : {3, 5, 12, 30, 39}) {
        auto times = std::make_unique<Times>();
        std::vector<uint64_t> all;
        uint64_t total = 0;
        for (int i = 0; i < 2000; i++) {
            all.push_back(random.next() & ((uint64_t(1) << (1 + random.below(bits))) - 1));
            times->record(all.back());
            total += all.back();
        }
        std::sort(all.begin(), all.end());
        const MprTimes summary = times->summary();
        CAPTURE(bits);
        CHECK(summary.count == 2000);
        CHECK(summary.total == total);
        CHECK(summary.max == all.back());
        const auto within = [](uint64_t said, uint64_t is) { return said >= is && said <= is + is / 16; };
        CHECK(within(summary.p50, all[999]));
        CHECK(within(summary.p99, all[1979]));
        CHECK(within(summary.p999, all[1997]));
    }
}

TEST_CASE("a time beyond all buckets counts as the greatest", "[gc][stats]") {
    auto times = std::make_unique<Times>();
    times->record(~uint64_t(0) / 2);
    times->record(1);
    const MprTimes all = times->summary();
    CHECK(all.count == 2);
    CHECK(all.max == ~uint64_t(0) / 2);
    CHECK(all.p50 == 1);
    CHECK(all.p99 >= uint64_t(1) << 39);
}
