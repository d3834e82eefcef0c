// SPDX-License-Identifier: MIT
/*
    test/gc/depletion.cpp - Who is told that memory runs short: the notifier once at a time, then the pruners, then terminators.
 */
#include "mpr/gc/depletion.hpp"

#include "test/support/log.hpp"
#include "test/support/stepped_heap.hpp"

#include <string>
#include <vector>

using mpr::gc::Depletion;
using mpr::gc::Mutator;
using mpr::heap::Shortage;
using test::SteppedHeap;

namespace {

struct Told {
    int cause, policy;
    size_t size;
    bool privileged;
};
std::vector<Told> told;
std::vector<int> pruned; /* by which data */
std::string ended;
Mutator *mutator;
Depletion *depletion;
bool raisesAgain;
bool wasTriedAgain;

struct Raised {
    Raised() {
        told.clear();
        pruned.clear();
        ended.clear();
        mutator = &thread;
        depletion = &own;
        raisesAgain = wasTriedAgain = false;
        own.setNotifier([](int cause, int policy, size_t size, size_t) {
            told.push_back({cause, policy, size, mutator->local.privileged()});
            if (raisesAgain) {
                wasTriedAgain = depletion->raise(*mutator, MPR_MEM_FAIL, 1);
            }
        });
    }
    SteppedHeap stepped;
    Depletion own{stepped.heap()};
    Mutator thread;
};

int numbers[64];
void prune(void *data, int) {
    pruned.push_back(*static_cast<int *>(data));
}

} // namespace

TEST_CASE("each shortage has its cause", "[gc][limits]") {
    CHECK(mpr::gc::causeOf(Shortage::tooBig, false) == MPR_MEM_TOO_BIG);
    CHECK(mpr::gc::causeOf(Shortage::system, false) == MPR_MEM_FAIL);
    CHECK(mpr::gc::causeOf(Shortage::limit, false) == MPR_MEM_LIMIT);
    CHECK(mpr::gc::causeOf(Shortage::system, true) == MPR_MEM_HOST);
}

TEST_CASE("the notifier may use the reserve, and trying again makes sense when memory could not be had",
          "[gc][limits]") {
    Raised raised;
    const int cause = GENERATE(MPR_MEM_WARNING, MPR_MEM_LIMIT, MPR_MEM_FAIL, MPR_MEM_TOO_BIG);
    CHECK(raised.own.raise(raised.thread, cause, 100) == (cause == MPR_MEM_LIMIT || cause == MPR_MEM_FAIL));
    REQUIRE(told.size() == 1);
    CHECK(told[0].cause == cause);
    CHECK(told[0].policy == MPR_ALLOC_POLICY_NOTHING);
    CHECK(told[0].size == 100);
    CHECK(told[0].privileged);
    CHECK_FALSE(raised.thread.local.privileged());
}

TEST_CASE("inside the notifier nobody is told", "[gc][limits]") {
    Raised raised;
    raisesAgain = true;
    wasTriedAgain = true;
    CHECK(raised.own.raise(raised.thread, MPR_MEM_LIMIT, 1));
    CHECK(told.size() == 1);
    CHECK_FALSE(wasTriedAgain);
    raisesAgain = false;
    CHECK(raised.own.raise(raised.thread, MPR_MEM_LIMIT, 1)); // and afterwards it is
    CHECK(told.size() == 2);
}

TEST_CASE("while one thread is told, a policy that ends the program holds for the others", "[gc][limits]") {
    test::Log log;
    Raised raised;
    static Mutator other;
    static bool others;
    raised.own.setPolicy(MPR_ALLOC_POLICY_RESTART); // which goes on here, for want of arguments
    for (const bool byOther : {false, true}) {
        others = byOther;
        raised.own.setNotifier([](int cause, int, size_t, size_t) {
            CHECK(cause == MPR_MEM_WARNING);
            CHECK_FALSE(depletion->raise(others ? other : *mutator, MPR_MEM_LIMIT, 1));
        });
        CHECK_FALSE(raised.own.raise(raised.thread, MPR_MEM_WARNING, 1));
        CHECK(test::Log::has("the program could not be started anew") == byOther);
    }
}

TEST_CASE("what the limits have to tell is told by one, as it is then", "[gc][limits]") {
    Raised raised;
    auto &heap = raised.stepped.heap();
    heap.setLimits(1, mpr::heap::Limits::none); // crossed
    raised.own.setNotifier([](int cause, int policy, size_t size, size_t) {
        told.push_back({cause, policy, size, true});
        if (raisesAgain) {
            depletion->tellNews(*mutator, 1); // which has to wait
        }
    });
    raisesAgain = true;
    raised.own.raise(raised.thread, MPR_MEM_TOO_BIG, 1);
    raisesAgain = false;
    CHECK(told.size() == 1);
    CHECK(heap.needsAttention());
    CHECK(heap.takeAttention().news);
    CHECK(heap.takeAttention().news); // until it is told
    raised.own.tellNews(raised.thread, 1);
    raised.own.tellNews(raised.thread, 1);
    REQUIRE(told.size() == 2);
    CHECK(told[1].cause == MPR_MEM_WARNING);
    heap.setLimits(mpr::heap::Limits::none, mpr::heap::Limits::none);
    raised.own.tellNews(raised.thread, 1);
    REQUIRE(told.size() == 3);
    CHECK(told[2].cause == MPR_MEM_WELL);
}

TEST_CASE("a thread that ends inside the notifier lets others be told", "[gc][limits]") {
    Raised raised;
    raised.own.setNotifier([](int, int, size_t, size_t) { depletion->abandon(*mutator); });
    raised.own.raise(raised.thread, MPR_MEM_LIMIT, 1);
    bool again = false;
    static bool *seen;
    seen = &again;
    raised.own.setNotifier([](int, int, size_t, size_t) { *seen = true; });
    raised.own.raise(raised.thread, MPR_MEM_LIMIT, 1);
    CHECK(again);
}

TEST_CASE("pruners are called by one policy, in their order, until they are removed", "[gc][limits]") {
    Raised raised;
    for (int i = 0; i < 3; i++) {
        numbers[i] = i;
        REQUIRE(raised.own.addPruner(prune, &numbers[i]));
    }
    raised.own.raise(raised.thread, MPR_MEM_LIMIT, 1);
    CHECK(pruned.empty());
    raised.own.setPolicy(MPR_ALLOC_POLICY_PRUNE);
    raised.own.raise(raised.thread, MPR_MEM_TOO_BIG, 1);
    CHECK(pruned.empty()); // no cache is as large
    raised.own.raise(raised.thread, MPR_MEM_WARNING, 1);
    CHECK(pruned == std::vector<int>{0, 1, 2});
    raised.own.removePruner(prune, &numbers[1]);
    raised.own.raise(raised.thread, MPR_MEM_LIMIT, 1);
    CHECK(pruned == std::vector<int>{0, 1, 2, 0, 2});
}

TEST_CASE("there is an end to pruners and terminators, and a place that was given up is used again", "[gc][limits]") {
    Raised raised;
    size_t places = 0;
    while (places < std::size(numbers) && raised.own.addPruner(prune, &numbers[places])) {
        places++;
    }
    REQUIRE(places == mpr::os::callbackPlaces);
    raised.own.removePruner(prune, &numbers[2]);
    CHECK(raised.own.addPruner(prune, &numbers[0]));
    CHECK_FALSE(raised.own.addPruner(prune, &numbers[0]));
    size_t terminators = 0;
    while (terminators < std::size(numbers) && raised.own.addTerminator([](int, int, int) { ended += "x"; })) {
        terminators++;
    }
    REQUIRE(terminators == mpr::os::callbackPlaces);
    raised.own.runTerminators(0, 0);
    CHECK(ended.size() == terminators);
}

TEST_CASE("terminators learn how and with which status the program ends, in the order in which they came",
          "[gc][limits]") {
    Raised raised;
    raised.own.addTerminator(
        [](int state, int how, int status) { ended += "a" + std::to_string(state * 100 + how * 10 + status); });
    raised.own.addTerminator([](int, int, int) { ended += "b"; });
    raised.own.runTerminators(MPR_ALLOC_POLICY_EXIT, 3);
    CHECK(ended == "a" + std::to_string(100 + MPR_ALLOC_POLICY_EXIT * 10 + 3) + "b");
}

TEST_CASE("an error is counted, and remembered until that is changed", "[gc][limits]") {
    Raised raised;
    CHECK_FALSE(raised.own.error());
    raised.own.countError();
    raised.own.countError();
    CHECK(raised.own.error());
    CHECK(raised.own.errors() == 2);
    raised.own.setError(false);
    CHECK_FALSE(raised.own.error());
    CHECK(raised.own.errors() == 2);
}

TEST_CASE("without a notifier the log says what to do", "[gc][limits]") {
    Raised raised;
    raised.own.setNotifier(nullptr);
    raised.own.raise(raised.thread, MPR_MEM_LIMIT, 12345);
    CHECK(test::Log::has("12345 bytes asked for"));
    CHECK(test::Log::has("MPR_YIELD_COMPLETE"));
}
