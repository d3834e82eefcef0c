// SPDX-License-Identifier: MIT
/*
    test/cpp/thread.cpp - mpr::AttachedThread, mpr::BlockingRegion and the yield points.
 */
#include "test/cpp/setting.hpp"
#include "test/support/every_yield.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <type_traits>

using test::Counted;
using test::Node;
using test::Setting;

namespace {

static_assert(!std::is_copy_constructible_v<mpr::BlockingRegion> && !std::is_move_assignable_v<mpr::BlockingRegion>);
static_assert(!std::is_copy_constructible_v<mpr::AttachedThread> && !std::is_move_assignable_v<mpr::AttachedThread>);
static_assert(std::is_nothrow_default_constructible_v<mpr::BlockingRegion>);

/* A std::thread that is joined while this thread is in a blocking region. */
class Worker {
public:
    template <class Body>
    explicit Worker(Body body) : thread_(std::move(body)) {}
    ~Worker() { join(); }
    void join() {
        if (thread_.joinable()) {
            mpr::BlockingRegion blocking;
            thread_.join();
        }
    }

private:
    std::thread thread_;
};

TEST_CASE("cpp thread: an attached thread makes, keeps and loses objects") {
    Setting setting;
    std::atomic<bool> attachedInside{false}, attachedAfter{true}, kept{false}, twice{true};
    std::atomic<int> second{0};
    Worker worker([&] {
        {
            mpr::AttachedThread attached("maker");
            attachedInside = attached && attached.error() == 0 && !strcmp(mprGetCurrentThreadName(), "maker");
            {
                mpr::AttachedThread again("again");
                twice = static_cast<bool>(again);
                second = again.error();
            }
            mpr::Root<Node> root = mpr::make<Node>(1, mpr::make<Node>(2));
            for (int i = 0; i < 100; i++) {
                kept = mpr::make<Node>(i) != nullptr;
            }
            mpr::collect();
            kept = kept && root->next->value == 2 && Counted::destroyed == 100;
        }
        attachedAfter = mprGetCurrentThreadName()[0] != '\0';
    });
    worker.join();
    CHECK(attachedInside);
    CHECK(!twice);
    CHECK(second == MPR_ERR_BAD_STATE);
    CHECK(kept);
    CHECK(!attachedAfter);
    mpr::collect();
    CHECK(Counted::destroyed == 102);

    // This thread was attached by the runtime, and stays so.
    {
        mpr::AttachedThread attached("main");
        CHECK(!attached);
        CHECK(attached.error() == MPR_ERR_BAD_STATE);
    }
    CHECK(mpr::make<int>(1) != nullptr);
}

TEST_CASE("cpp thread: without a runtime nothing is attached") {
    mpr::AttachedThread attached("nobody");
    CHECK(!attached);
    CHECK(attached.error() == MPR_ERR_BAD_STATE);
}

TEST_CASE("cpp blocking region: a collection does not wait for the thread inside") {
    Setting setting;
    std::promise<void> entered, leave;
    std::atomic<bool> left{false}, inTime{false}, kept{false};
    Worker worker([&] {
        mpr::AttachedThread attached("blocked");
        mpr::Root<Node> root = mpr::make<Node>(1, mpr::make<Node>(2));
        {
            mpr::BlockingRegion blocking;
            entered.set_value();
            // Without the region the collection waits for this thread, and this thread for its end.
            inTime = leave.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready;
        }
        kept = root->next->value == 2;
        left = true;
    });
    {
        mpr::BlockingRegion blocking;
        entered.get_future().wait();
    }
    CHECK(mpr::make<Node>(3)->value == 3);
    mpr::collect();
    CHECK(Counted::destroyed == 1);
    CHECK(!left);
    leave.set_value();
    worker.join();
    CHECK(inTime);
    CHECK(kept);
    CHECK(left);
}

struct SlowToMark {
    void trace(mpr::Marker&) const {
        marking = true;
        test::spin([] { return !awaited; });
        std::this_thread::sleep_for(std::chrono::milliseconds(50)); // for a thread that does not wait for it
        marking = false;
    }
    static inline std::atomic<bool> marking{false}, awaited{false}; // awaited: a thread has yet to see it
};

TEST_CASE("cpp blocking region: its end waits while a collection marks") {
    Setting setting;
    mpr::Root<SlowToMark> slow = mpr::make<SlowToMark>();
    std::promise<void> entered;
    std::atomic<bool> sawMarking{false}, markingAfter{true};
    Worker worker([&] {
        mpr::AttachedThread attached("blocked");
        {
            mpr::BlockingRegion blocking;
            SlowToMark::awaited = true;
            entered.set_value();
            sawMarking = test::spin([] { return SlowToMark::marking.load(); });
            SlowToMark::awaited = false;
        }
        markingAfter = SlowToMark::marking.load();
    });
    {
        mpr::BlockingRegion blocking;
        entered.get_future().wait();
    }
    mpr::collect();
    worker.join();
    CHECK(sawMarking);
    // Of the trial's collections some mark it while threads run.
    CHECK((!markingAfter || test::inTrial()));
}

TEST_CASE("cpp yield: a collection that was asked for happens there, and nowhere before") {
    Setting setting;
    Node* node = mpr::make<Node>(1);
    CHECK((mpr::needYield() == test::everyYield() || test::everyAlloc()));
    CHECK(mpr::collect(MPR_GC_FORCE | MPR_GC_NO_BLOCK) == 0);
    CHECK(test::spin([] { return mpr::needYield(); }));
    CHECK(Counted::destroyed == 0);
    CHECK(node->value == 1);
    mpr::yield(MPR_YIELD_COMPLETE);
    CHECK(test::spin([] { return Counted::destroyed == 1; }));
    CHECK((mpr::needYield() == test::everyYield() || test::everyAlloc()));
}

TEST_CASE("cpp yield: threads that make, keep and yield at once") {
    Setting setting;
    std::atomic<int> wrong{0}, made{0};
    {
        auto body = [&](int seed) {
            return [&wrong, &made, seed] {
                mpr::AttachedThread attached("mutator");
                mpr::Root<Node> list;
                for (int i = 0; i < 5000; i++) {
                    mpr::Root<Node> node = mpr::make<Node>(seed + i);
                    node->other = mpr::make<Node>(-seed - i);
                    made += 2;
                    mpr::yield();
                    if (i % 16 == 0) {
                        node->next = list;
                        list = node;
                    }
                    if (i % 1000 == 999) {
                        mpr::collect(MPR_GC_FORCE);
                    }
                    wrong += node->value != seed + i || node->other->value != -seed - i;
                }
                int length = 0;
                for (Node* node = list; node; node = node->next) {
                    wrong += node->value != -node->other->value;
                    length++;
                }
                wrong += length != 313;
            };
        };
        Worker first(body(1000000)), second(body(2000000)), third(body(3000000));
        for (int i = 0; i < 20; i++) {
            mpr::collect();
        }
    }
    CHECK(wrong == 0);
    CHECK(made == 30000);
    mpr::collect();
    CHECK(Counted::destroyed == 30000);
}

} // namespace
