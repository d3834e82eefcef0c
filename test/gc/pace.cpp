// SPDX-License-Identifier: MIT
/*
    test/gc/pace.cpp - Budgets follow what collections cost: the share of time (option cpu, MPR_GC_CPU_PERCENT).
 */
#include "test/catch.hpp"

#include "mpr.h"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

using namespace test;

namespace {

/* What the environment says while this exists. */
class Environment {
public:
    Environment(cchar *variable, cchar *value) : name(variable) { setenv(variable, value, 1); }
    ~Environment() { unsetenv(name.c_str()); }

private:
    std::string name;
};

struct Budgets {
    uint64 least, most;
};

/* Budgets while garbage is made beside some thousand plain nodes, all of which every pause traces again. */
Budgets budgetsFor(cchar *options) {
    Runtime runtime(options);
    Node *list = nullptr;
    for (int i = 0; i < 5000; i++) {
        list = makeNode(list);
    }
    list->data = mprAlloc(8 << 20); // a heap that size may wait longer
    Root root(list);
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    const uint64 before = stats().collections;
    Budgets budgets{~uint64(0), 0};
    for (int i = 0; i < 500 && stats().collections < before + 40; i++) {
        for (int j = 0; j < 20000; j++) { // reading statistics takes longer than all of this does
            mprAlloc(100);
            mprYield(0);
        }
        budgets.least = std::min(budgets.least, stats().youngBudget);
        budgets.most = std::max(budgets.most, stats().youngBudget);
    }
    CHECK(stats().collections >= before + 40);
    return budgets;
}

} // namespace

TEST_CASE("budgets are the larger the less time collections may take", "[gc][pace]") {
    CHECK(budgetsFor("everyyield=0,young=256k,cpu=1").most >=
          3 * budgetsFor("everyyield=0,young=256k,cpu=90").least / 2);
}

TEST_CASE("the environment chooses the share of time", "[gc][pace]") {
    const Budgets small = budgetsFor("everyyield=0,young=256k,cpu=90");
    Environment percent("MPR_GC_CPU_PERCENT", "1");
    CHECK(budgetsFor("everyyield=0,young=256k,cpu=90").most >= 3 * small.least / 2);
}

TEST_CASE("a share of time that makes no sense is refused", "[gc][pace]") {
    Log log;
    for (cchar *bad : {"cpu=0", "cpu=91", "cpu=ten", "cpu="}) {
        CHECK(mprConfigure(bad) == MPR_ERR_BAD_ARGS);
    }
    CHECK(log.has("must be from 1 to 90 percent"));
    {
        Environment percent("MPR_GC_CPU_PERCENT", ""), every("MPR_GC_EVERY_ALLOC", ""), options("MPR_OPTIONS", "");
        Mpr *runtime = mprCreate(0, nullptr, 0); // as if they were not set
        REQUIRE(runtime);
        CHECK(mprDestroy());
    }
    Environment percent("MPR_GC_CPU_PERCENT", "many");
    CHECK(mprCreate(0, nullptr, 0) == nullptr);
    CHECK(log.has("cpu=many"));
}
