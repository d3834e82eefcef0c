// SPDX-License-Identifier: MIT
/*
    test/gc/words.cpp - Words that only the manager of their block can read: tagged, boxed and compressed references.
 */
#include "test/support/log.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include "mpr/barrier.h"
#include "mpr/embed.h"
#include "mpr/stats.h"

#include <thread>

using namespace test;

namespace {

/* How a reference is written as a word. */
enum class Coding { highTag, lowTag, shifted, inverted };

constexpr uintptr_t highTag = sizeof(void *) == 8 ? uintptr_t{0xfffc} << (8 * sizeof(void *) - 16) : 1;

Coding coding;
size_t looks; // how often the manager was called to mark

uintptr_t encoded(const void *block) {
    const auto address = reinterpret_cast<uintptr_t>(block);
    switch (coding) {
    case Coding::highTag: return address | highTag; // in a NaN; on 32 bits there is no room for that
    case Coding::lowTag: return address | 3;
    case Coding::shifted: return address >> 3;
    case Coding::inverted: break;
    }
    return ~address;
}

void *decoded(uintptr_t word) {
    switch (coding) {
    case Coding::highTag: return reinterpret_cast<void *>(word & ~highTag);
    case Coding::lowTag: return reinterpret_cast<void *>(word & ~uintptr_t{3});
    case Coding::shifted: return reinterpret_cast<void *>(word << 3);
    case Coding::inverted: break;
    }
    return word == 0 ? nullptr : reinterpret_cast<void *>(~word);
}

struct Words {
    uintptr_t count;
    uintptr_t words[1];
};

void manageWords(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto words = static_cast<Words *>(ptr);
        looks++;
        for (size_t i = 0; i < words->count; i++) {
            mprMark(decoded(__atomic_load_n(&words->words[i], __ATOMIC_ACQUIRE)));
        }
    }
}

Words *makeWords(size_t count) {
    auto words = static_cast<Words *>(mprAllocManaged(sizeof(Words) + count * sizeof(uintptr_t), manageWords,
                                                      MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE));
    REQUIRE(words);
    words->count = count;
    return words;
}

void collectYoung() {
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
}

size_t living(const Words &words) {
    size_t live = 0;
    for (size_t i = 0; i < words.count; i++) {
        live += mprIsValid(decoded(words.words[i]));
    }
    return live;
}

/* A runtime, and an old block of words. */
struct World {
    explicit World(size_t count, cchar *options = "everyyield=0,everyalloc=0,markers=1")
        : runtime(options), words(makeWords(count)), root(words) {
        collect();
        looks = 0;
    }
    Runtime runtime;
    Words *const words;
    const Root root;
};

} // namespace

TEST_CASE("a word that only the manager can read keeps its block alive, in blocks of all sizes", "[gc][words][port]") {
    coding = GENERATE(Coding::highTag, Coding::lowTag, Coding::shifted, Coding::inverted);
    const size_t count = GENERATE(size_t{4}, size_t{100}, size_t{500}, size_t{20000});
    CAPTURE(static_cast<int>(coding), count);
    const World world(count);
    Words *const words = world.words;
    for (size_t i = 0; i < count; i++) {
        mprSetWord(words, &words->words[i], encoded(mprAlloc(32)));
    }
    collectYoung();
    CHECK(living(*words) == count);
    // Again, in another pause: what is replaced dies, what is new lives.
    for (size_t i = 0; i < count; i += 2) {
        mprSetWord(words, &words->words[i], encoded(mprAlloc(32)));
    }
    collectYoung();
    CHECK(living(*words) == count);
    const uint64 before = stats().blocksFreed;
    for (size_t i = 0; i < count; i++) {
        mprSetWord(words, &words->words[i], 0);
    }
    collect();
    CHECK(stats().blocksFreed >= before + count);
    CHECK(stats().misuses == 0);
}

TEST_CASE("a block of words is looked at once in a pause, however many were stored", "[gc][words]") {
    coding = Coding::shifted;
    const World world(GENERATE(size_t{20}, size_t{5000}));
    Words *const words = world.words;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < words->count; i++) {
            mprSetWord(words, &words->words[i], encoded(mprAlloc(16)));
        }
        looks = 0;
        collectYoung();
        CHECK(looks == 1);
    }
    looks = 0;
    collectYoung();
    CHECK(looks == 0); // nothing was stored
}

/* mprSetRef is for blocks. But with a tag that no address has, the manager is asked rather than that a living block is lost. */
TEST_CASE("words with tags that no address has are safe in stores for blocks, too", "[gc][words]") {
    if (sizeof(void *) < 8) {
        return;
    }
    coding = GENERATE(Coding::highTag, Coding::inverted);
    const World world(GENERATE(size_t{20}, size_t{5000}));
    Words *const words = world.words;
    const int way = GENERATE(0, 1, 2);
    for (size_t i = 0; i < words->count; i++) {
        auto const word = reinterpret_cast<void *>(encoded(mprAlloc(32)));
        if (way == 0) {
            mprSetRef(words, &words->words[i], word);
        } else if (way == 1) {
            mprSetRefAt(&words->words[i], word);
        } else {
            words->words[i] = reinterpret_cast<uintptr_t>(word);
        }
    }
    if (way == 2) {
        mprNoteChanged(words->words, words->words + words->count);
    }
    collectYoung();
    CHECK(living(*words) == words->count);
    CHECK(looks <= 2); // once for each who reads the remembered set
}

TEST_CASE("words are safe while a major collection marks beside the threads", "[gc][words]") {
    coding = GENERATE(Coding::highTag, Coding::shifted);
    const World world(GENERATE(size_t{20}, size_t{1000}), "everyyield=1,check=1");
    Words *const words = world.words;
    for (int round = 0; round < 200; round++) {
        const size_t i = static_cast<size_t>(round) * 7 % words->count;
        mprSetWord(words, &words->words[i], encoded(mprAlloc(32)));
        mprYield(0);
        REQUIRE(mprIsValid(decoded(words->words[i])));
    }
    collect();
    INFO(Log::text());
    CHECK(stats().misuses == 0);
}

TEST_CASE("a word stored by a thread that is not attached is named, and not lost", "[gc][words]") {
    coding = Coding::shifted;
    const World world(GENERATE(size_t{8}, size_t{1000}));
    Words *const words = world.words;
    void *const block = mprAlloc(32);
    {
        const Root held(block);
        collect();
        std::thread([&] { mprSetWord(words, &words->words[1], encoded(block)); }).join();
        INFO(Log::text());
        CHECK(Log::has("mprSetWord"));
    }
    collectYoung();
    CHECK(living(*words) == 1);
}

TEST_CASE("a word cannot be stored into what is no block", "[gc][words]") {
    const World world(1000);
    uintptr_t *const inside = &world.words->words[501]; // where no head is
    mprSetWord(inside, inside, 0);
    INFO(Log::text());
    CHECK(Log::has("mprSetWord"));
    CHECK(Log::has("the owner is not the start of a block in use"));
}
