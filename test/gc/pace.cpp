// SPDX-License-Identifier: MIT
/*
    test/gc/pace.cpp - Budgets follow what collections cost: the share of time (option cpu, MPR_GC_CPU_PERCENT).
 */
#include "test/catch.hpp"

#include "mpr.h"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

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

TEST_CASE("minor collections one after the other do not hold up a major one that somebody waits for", "[gc][pace]") {
    Runtime runtime("everyyield=0,young=64k,pausebudget=10,markers=1,check=1"); // its check makes each pause a long one
    void **list = nullptr;
    for (int i = 0; i < 50000; i++) {
        void **row = makeRow(3);
        mprSetRef(row, &row[0], list);
        list = row;
    }
    Root root(list);
    mprYield(0);
    std::atomic<bool> done{false};
    const auto allocate = [&] { // threads that do not run spend the budget meanwhile
        while (!done) {
            pfree(palloc(2000));
        }
    };
    std::thread one(allocate), other(allocate);
    for (int i = 0; i < 4; i++) {
        const uint64 before = stats().collections;
        collect();
        CHECK(stats().collections < before + 60); // 200 and more if it marks one step between two of them
    }
    done = true;
    one.join();
    other.join();
}

TEST_CASE("near a limit stores into old blocks alone call for minor collections only", "[gc][pace]") {
    constexpr ssize limit = 8 << 20;
    Runtime runtime("everyyield=0,young=4m,reserve=0"); // so less than two young budgets are left
    mprSetMemLimits(limit * 9 / 10, limit, 0);
    constexpr size_t rows = 20000;
    void **table = makeRow(rows);
    Root root(table);
    const MprMemStats before = stats();
    // Every store is remembered by its field, so the remembered set is long several times in a budget.
    for (size_t i = 0; stats().collections < before.collections + 60; i++) {
        for (size_t j = 0; j < 1000; j++) {
            mprSetRef(table, &table[(i * 1000 + j) * 7919 % rows], mprAlloc(16));
        }
        mprYield(0);
    }
    CHECK(stats().collectionsMajor - before.collectionsMajor <
          40);                // nearly all, if each is taken for a budget that was spent
    INFO(runtime.log.text()); // when memory was refused, and how much there was
    CHECK(stats().errors == before.errors);
}
