// SPDX-License-Identifier: MIT
/*
    test/heap/findings.cpp - What was found under a lock waits to be said.
 */
#include "mpr/heap/findings.hpp"

#include "test/catch.hpp"

using namespace mpr::heap;

namespace {
Finding at(size_t where) {
    Finding finding;
    finding.where = reinterpret_cast<const void *>(where);
    return finding;
}
} // namespace

TEST_CASE("findings are said in the order in which they were made", "[heap][findings]") {
    Findings findings;
    Finding finding;
    unsigned missed = 0;
    CHECK_FALSE(findings.any());
    CHECK_FALSE(findings.take(finding, missed));
    for (size_t i = 1; i <= 3; i++) {
        findings.add(at(i));
    }
    for (size_t i = 1; i <= 3; i++) {
        CHECK(findings.any());
        REQUIRE(findings.take(finding, missed));
        CHECK(finding.where == at(i).where);
    }
    CHECK_FALSE(findings.take(finding, missed));
    CHECK(missed == 0);
    CHECK_FALSE(findings.any());
}

TEST_CASE("how many findings found no room is told once", "[heap][findings]") {
    Findings findings;
    for (size_t i = 1; i <= 40; i++) {
        findings.add(at(i));
    }
    Finding finding;
    unsigned missed = 0, said = 0;
    while (findings.take(finding, missed)) {
        said++;
        CHECK(finding.where == at(said).where);
    }
    CHECK(said == 32);
    CHECK(missed == 8);
    CHECK_FALSE(findings.take(finding, missed));
    CHECK(missed == 0);
}

TEST_CASE("room for findings is used again, however often", "[heap][findings]") {
    Findings findings;
    Finding finding;
    unsigned missed = 0;
    for (size_t i = 1; i <= 1000; i++) {
        findings.add(at(2 * i));
        findings.add(at(2 * i + 1));
        REQUIRE(findings.take(finding, missed));
        REQUIRE(finding.where == at(2 * i).where);
        REQUIRE(findings.take(finding, missed));
        REQUIRE(finding.where == at(2 * i + 1).where);
        REQUIRE(missed == 0);
    }
}
