// SPDX-License-Identifier: MIT
/*
    test/task/mailbox.cpp - Letters of foreign threads: none is lost, none is read twice, and a closed mailbox takes none.
 */
#include "mpr/task/mailbox.hpp"

#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"

#include <atomic>
#include <thread>
#include <vector>

using mpr::task::Mailbox;
using test::Runtime;

namespace {

void nothing(void *, MprEvent *) {}

struct Post {
    Post() { box.open(); }
    ~Post() {
        box.shut();
        box.close();
    }
    void post(uintptr_t number) { REQUIRE(box.post({nullptr, nothing, reinterpret_cast<void *>(number)})); }
    void post(uintptr_t first, uintptr_t last) {
        for (; first <= last; first++) {
            post(first);
        }
    }
    /* The next letter's number, or 0: there is none. */
    uintptr_t readOne() {
        const auto letters = box.unread();
        if (letters.empty()) {
            return 0;
        }
        const auto number = reinterpret_cast<uintptr_t>(letters[0].data);
        box.read(1);
        return number;
    }

    Runtime runtime{"", MPR_DISABLE_GC};
    Mailbox box;
};

} // namespace

TEST_CASE("letters are read in their order, over many bundles, while more are posted", "[task][mailbox]") {
    Post p;
    CHECK(p.box.isEmpty());
    CHECK(p.box.unread().empty());
    uintptr_t posted = 0, read = 0;
    for (int round = 1; round <= 40; round++) {
        p.post(posted + 1, posted + static_cast<uintptr_t>(7 * round));
        posted += static_cast<uintptr_t>(7 * round);
        for (int i = 0; i < 6 * round; i++) {
            REQUIRE(p.readOne() == ++read);
        }
    }
    while (read < posted) {
        REQUIRE(p.readOne() == ++read);
    }
    CHECK(p.readOne() == 0);
    CHECK(p.box.isEmpty());
    CHECK_FALSE(p.box.hasUnread());
}

TEST_CASE("as many letters as were posted have been read, or not yet", "[task][mailbox]") {
    Post p;
    CHECK(p.box.hasRead(p.box.posted()));
    p.post(1, 3);
    const size_t target = p.box.posted();
    CHECK(target == 3);
    p.post(4);
    p.box.unread();
    p.box.read(2);
    CHECK_FALSE(p.box.hasRead(target));
    CHECK(p.box.hasUnread());
    p.box.read(1);
    CHECK(p.box.hasRead(target));
    CHECK_FALSE(p.box.hasRead(p.box.posted()));
    CHECK(p.box.unread().size() == 1);
}

TEST_CASE("bundles that were read are used again, some of them", "[task][mailbox]") {
    Post p;
    p.post(1, 1000);
    while (p.readOne() != 0) {}
    const auto blocks = [] {
        MprMemStats s = test::stats();
        return s.blocksAllocated - s.blocksFreed;
    };
    const auto before = blocks();
    p.post(1, 900); // in bundles that are there
    CHECK(blocks() == before);
    p.post(1, 3000);
    CHECK(blocks() > before);
    while (p.readOne() != 0) {}
    CHECK(blocks() == before);
}

TEST_CASE("letters that were never read are counted at the end", "[task][mailbox]") {
    Post p;
    p.post(1, 200);
    p.readOne();
    CHECK(p.box.close() == 199);
    CHECK(p.box.close() == 0);
}

TEST_CASE("nobody visits a mailbox that is not open, or no longer", "[task][mailbox]") {
    Mailbox box;
    CHECK_FALSE(Mailbox::Visit(box));
    box.open();
    CHECK(Mailbox::Visit(box));
    box.shut();
    CHECK_FALSE(Mailbox::Visit(box));
}

TEST_CASE("whoever shuts a mailbox waits for those inside", "[task][mailbox]") {
    Mailbox box;
    box.open();
    std::atomic<bool> shut{false};
    std::thread closer;
    {
        Mailbox::Visit visit(box);
        REQUIRE(visit);
        closer = std::thread([&] {
            box.shut();
            shut = true;
        });
        while (Mailbox::Visit(box)) { // until it is at it
            std::this_thread::yield();
        }
        test::pause(20);
        CHECK_FALSE(shut);
    }
    closer.join();
    CHECK(shut);
}

TEST_CASE("several threads post at once, and each one's letters keep their order", "[task][mailbox]") {
    Post p;
    constexpr uintptr_t each = 5000, posters = 3;
    std::vector<std::thread> threads;
    std::atomic<uintptr_t> refused{0};
    for (uintptr_t t = 0; t < posters; t++) {
        threads.emplace_back([&, t] {
            for (uintptr_t i = 1; i <= each; i++) {
                refused += !p.box.post({nullptr, nothing, reinterpret_cast<void *>(i * posters + t)});
            }
        });
    }
    uintptr_t last[posters] = {}, read = 0;
    bool ordered = true;
    while (read < each * posters && refused == 0) {
        if (const uintptr_t number = p.readOne()) {
            ordered = ordered && number / posters == ++last[number % posters];
            read++;
        }
    }
    for (auto &thread : threads) {
        thread.join();
    }
    CHECK(refused == 0);
    CHECK(ordered);
    CHECK(p.readOne() == 0);
}

TEST_CASE("what letters refer to is marked until they are read", "[task][mailbox]") {
    Runtime runtime;
    static Mailbox *box;
    Mailbox own;
    box = &own;
    own.open();
    const auto manager = [](void *, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            box->mark();
        }
    };
    void *const reader = mprAllocManaged(16, manager, MPR_ALLOC_MANAGER);
    mprAddRoot(reader);
    void *const first = mprAlloc(32), *const second = mprAlloc(32);
    REQUIRE(own.post({nullptr, nothing, first}));
    REQUIRE(own.post({nullptr, nothing, second}));
    test::collect();
    CHECK(mprIsValid(first));
    CHECK(mprIsValid(second));
    own.unread();
    own.read(1);
    test::collect();
    CHECK_FALSE(mprIsValid(first));
    CHECK(mprIsValid(second));
    own.read(1);
    test::collect();
    CHECK_FALSE(mprIsValid(second));
    mprRemoveRoot(reader);
    own.shut();
    own.close();
}
