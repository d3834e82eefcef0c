// SPDX-License-Identifier: MIT
/*
    test/gc/service.cpp - What rooms add to the runtime: each once, the last first when they stop, and again in the next runtime.
 */
#include "mpr/gc/service.hpp"

#include "test/catch.hpp"

#include <string>

using mpr::gc::Service;
using mpr::gc::Services;

namespace {

std::string calls; /* in their order */
bool refuses;      /* whether the second does not stop */

Service first{[] { calls += "m1 "; },
              [](uint64_t) {
                  calls += "s1 ";
                  return true;
              },
              [] { calls += "c1 "; }};
Service second{[] { calls += "m2 "; },
               [](uint64_t deadline) {
                   calls += "s2:" + std::to_string(deadline) + " ";
                   return !refuses;
               },
               [] { calls += "c2 "; }, [] { calls += "l2 "; }, [] { calls += "d2 "; }};

struct Both {
    Both() {
        calls.clear();
        refuses = false;
        services.add(first);
        services.add(second);
    }
    ~Both() { services.close(); }
    Services services;
};

} // namespace

TEST_CASE("a service that is added again is there once", "[gc][service]") {
    Both both;
    both.services.add(first);
    both.services.add(second);
    both.services.mark();
    CHECK(calls == "m2 m1 ");
}

TEST_CASE("services stop in reverse order, all told before one is waited for, though one refuses", "[gc][service]") {
    Both both;
    CHECK(both.services.stop(7));
    refuses = true;
    CHECK_FALSE(both.services.stop(8));
    CHECK(calls == "s2:0 s1 s2:0 s1 s2:8 s1 ");
}

TEST_CASE("a service without a procedure for threads that go is passed over", "[gc][service]") {
    Both both;
    both.services.leave();
    both.services.detach();
    CHECK(calls == "l2 d2 ");
}

TEST_CASE("closed services are called no more, and may be added to the next runtime", "[gc][service]") {
    Both both;
    both.services.close();
    CHECK(calls == "c2 c1 ");
    both.services.mark();
    CHECK(calls == "c2 c1 ");
    Services next;
    next.add(first);
    next.mark();
    CHECK(calls == "c2 c1 m1 ");
    next.close();
}
