// SPDX-License-Identifier: MIT
/*
    test/gc/named_threads.cpp - Threads noted for a message, which may have gone when it is written.
 */
#include "mpr/gc/named_threads.hpp"

#include "test/catch.hpp"

#include <cstring>
#include <memory>
#include <string>

using mpr::gc::Mutator;
using mpr::gc::NamedThreads;

TEST_CASE("names and sites are copied", "[gc][late]") {
    NamedThreads named;
    CHECK(named.begin() == named.end());
    auto m = std::make_unique<Mutator>();
    strcpy(m->name, "reader");
    m->site = &named;
    named.add(*m);
    m.reset();
    REQUIRE(named.end() - named.begin() == 1);
    CHECK(named.begin()->name == std::string("reader"));
    CHECK(named.begin()->site == &named);
    CHECK(named.more() == 0);
}

TEST_CASE("threads for which there is no room are counted", "[gc][late]") {
    NamedThreads named;
    Mutator m;
    for (int i = 0; i < 20; i++) {
        m.name[0] = static_cast<char>('a' + i);
        named.add(m);
    }
    CHECK(named.end() - named.begin() == 16);
    CHECK(named.begin()[15].name == std::string("p"));
    CHECK(named.more() == 4);
}
