// SPDX-License-Identifier: MIT
/*
    test/gc/marker.cpp - Marking by hand: what each mode reaches and traces, what happens when a stack is full, what is named.
 */
#include "mpr/gc/marker.hpp"

#include "test/support/stepped_collection.hpp"

#include <vector>

using mpr::gc::Marker;
using mpr::gc::Marking;
using mpr::heap::Kind;
using mpr::heap::Sweep;
using test::Log;
using test::makeRefs;
using test::Refs;
using test::SteppedHeap;

namespace {

/* A heap with a marker, which has room for some entries. What was marked before are the old. */
struct Marked {
    explicit Marked(size_t entries = 4096) : memory(entries) {
        Refs::freed.clear();
        marker.open(memory.data(), entries * sizeof(mpr::gc::MarkEntry));
    }
    ~Marked() {
        stepped.unmark(true);
        stepped.sweep(Sweep::all);
    }
    Refs *make(Kind kind = Kind::barrier) { return makeRefs(stepped, kind); }
    /* All these become old and unmarked, as in the pause that starts a major collection. */
    void age(const std::vector<Refs *> &blocks) {
        stepped.unmark(true);
        for (Refs *block : blocks) {
            stepped.mark(block);
        }
        stepped.sweep(Sweep::all);
        stepped.unmark(true);
    }
    bool isMarked(const void *block) { return stepped.heap().colours().marked(stepped.head(block)); }

    SteppedHeap stepped;
    std::vector<mpr::gc::MarkEntry> memory;
    mpr::gc::Doubts doubts;
    Marker marker{stepped.heap(), &doubts};
    /* References to no block that were noted since the last call, and by whom. */
    std::vector<mpr::gc::Doubt> takeDoubts() {
        std::vector<mpr::gc::Doubt> taken;
        doubts.settle([](const mpr::gc::Doubt &) { return mpr::gc::Doubts::Verdict::right; },
                      [&](const mpr::gc::Doubt &doubt) { taken.push_back(doubt); });
        return taken;
    }
};

} // namespace

TEST_CASE("what waits in one mode is traced in the next", "[gc][mark]") {
    Marked m;
    Refs *const barrier = m.make(), *const plain = m.make(Kind::plain), *const end = m.make();
    m.age({barrier, plain, end});
    barrier->refs[0] = plain;
    plain->refs[0] = end;
    m.marker.begin(Marking::concurrent);
    m.marker.markRoot(barrier);
    while (m.marker.advance()) {}
    m.marker.end();
    CHECK(m.isMarked(plain));
    CHECK_FALSE(m.isMarked(end));
    CHECK(m.marker.plainWaits());
    m.marker.begin(Marking::slice);
    while (m.marker.advance()) {}
    m.marker.end();
    CHECK(m.isMarked(end));
    CHECK_FALSE(m.marker.plainWaits());
}

TEST_CASE("where nothing may be left grey a block without room stays unmarked, and that is said", "[gc][mark]") {
    const bool roomy = GENERATE(false, true);
    Marked m(roomy ? 4096 : 8);
    std::vector<Refs *> olds;
    for (int i = 0; i < 100; i++) {
        olds.push_back(m.make());
    }
    m.age(olds);
    m.marker.beginRoots();
    for (Refs *old : olds) {
        m.marker.markRoot(old);
    }
    CHECK(m.marker.endRoots() == roomy);
    size_t marked = 0;
    for (Refs *old : olds) {
        marked += m.isMarked(old);
    }
    CHECK((marked == olds.size()) == roomy);
    CHECK(marked > 0);
}

TEST_CASE("a watch sees each block that is reached, and may keep it from being marked", "[gc][mark]") {
    struct Seen : Marker::Watch {
        std::vector<const void *> blocks;
        const void *unwanted = nullptr;
    } seen;
    seen.reached = [](Marker::Watch &self, mpr::heap::Byte, const void *block) {
        auto &own = static_cast<Seen &>(self);
        own.blocks.push_back(block);
        return block == own.unwanted;
    };
    Marked m;
    Refs *const root = m.make(), *const child = m.make(), *const unwanted = m.make();
    root->refs[0] = child;
    root->refs[1] = unwanted;
    seen.unwanted = unwanted;
    m.stepped.unmark(true);
    m.marker.begin(Marking::all);
    m.marker.setWatch(&seen);
    m.marker.markRoot(root);
    m.marker.drain();
    m.marker.end();
    CHECK(seen.blocks == std::vector<const void *>{root, child, unwanted});
    CHECK(m.isMarked(child));
    CHECK_FALSE(m.isMarked(unwanted));
}

TEST_CASE("what is no block is named with the manager's block, unless the caller is not sure", "[gc][mark]") {
    Marked m;
    Refs *const root = m.make();
    root->refs[0] = reinterpret_cast<Refs *>(&root->refs[1]); // into the midst of a block
    m.stepped.unmark(true);
    m.marker.begin(Marking::all);
    m.marker.markRoot(&root->refs[2], true);
    CHECK_FALSE(m.doubts.any());
    m.marker.markRoot(root);
    m.marker.drain();
    m.marker.end();
    const auto doubts = m.takeDoubts();
    REQUIRE(doubts.size() == 1);
    CHECK(doubts[0].pointer == &root->refs[1]);
    CHECK(doubts[0].owner.block() == reinterpret_cast<mpr::heap::Byte *>(root));
    m.marker.say(doubts[0].pointer, doubts[0].owner);
    CHECK(Log::names(&root->refs[1]) == 1);
    CHECK(Log::has("by the manager of block"));
    root->refs[0] = nullptr;
}

TEST_CASE("a marker takes over what another has left and counted", "[gc][mark]") {
    Marked m;
    std::vector<mpr::gc::MarkEntry> memory(4096);
    Marker other(m.stepped.heap());
    other.open(memory.data(), memory.size() * sizeof(mpr::gc::MarkEntry));
    Refs *const barrier = m.make(), *const plain = m.make(Kind::plain), *const byPlain = m.make();
    m.age({barrier, plain, byPlain});
    plain->refs[0] = byPlain;
    other.begin(Marking::concurrent);
    other.markRoot(barrier);
    other.markRoot(plain);
    while (other.advance()) {}
    other.end();
    m.marker.absorb(other);
    CHECK_FALSE(other.plainWaits());
    CHECK(m.marker.plainWaits());
    CHECK(m.marker.reachedSoFar().blocks == 2);
    CHECK(m.marker.reachedSoFar().plain == 1);
    m.marker.begin(Marking::slice);
    while (m.marker.advance()) {}
    m.marker.end();
    CHECK(m.isMarked(byPlain));
}

namespace {
/* More references side by side than are marked at once. */
struct Wide {
    static constexpr size_t most = 400;
    void *refs[most];

    static void manage(void *block, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMarkRefs(static_cast<Wide *>(block)->refs, most);
        }
    }
};
} // namespace

TEST_CASE("a row whose block was freed by hand while it waited is not marked", "[gc][mark]") {
    const bool freed = GENERATE(true, false);
    Marked m;
    constexpr size_t n = mpr::heap::granulesFor(sizeof(Wide) + sizeof(MprManager));
    auto wide = static_cast<Wide *>(m.stepped.make(n, static_cast<mpr::heap::Byte>(Kind::barrier)));
    *wide = {};
    mpr::gc::setManager(wide, n, mpr::gc::codeOf(Wide::manage));
    Refs *const last = m.make();
    m.stepped.unmark(true);
    m.stepped.mark(wide);
    m.stepped.mark(last);
    m.stepped.sweep(Sweep::all);
    m.stepped.unmark(true);
    m.stepped.heap().setTracing(true);
    wide->refs[Wide::most - 1] = last;
    m.marker.begin(Marking::concurrent);
    m.marker.markRoot(wide);
    CHECK(m.marker.advance()); // a part of the row waits
    m.marker.end();
    CHECK_FALSE(m.isMarked(last));
    if (freed) {
        CHECK(m.stepped.heap().freeTraced({m.stepped.regionOf(wide), m.stepped.granuleOf(wide)}));
        m.stepped.freeApart(last);
    } else {
        wide->refs[Wide::most - 1] = &last->refs[1];
    }
    m.marker.begin(Marking::all);
    m.marker.drain();
    m.marker.end();
    m.stepped.heap().setTracing(false);
    CHECK(m.takeDoubts().size() == (freed ? 0 : 1));
    if (!freed) {
        wide->refs[Wide::most - 1] = nullptr;
    }
}
