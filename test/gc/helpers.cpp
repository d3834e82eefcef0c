// SPDX-License-Identifier: MIT
/*
    test/gc/helpers.cpp - Markers in parallel mark what one marks alone, and as much.
 */
#include "mpr/gc/helpers.hpp"

#include "test/support/pattern.hpp"
#include "test/support/stepped_collection.hpp"

#include <memory>
#include <vector>

using mpr::gc::Helpers;
using mpr::gc::Marker;
using mpr::gc::Marking;
using mpr::gc::MarkJob;
using mpr::gc::MarkMemory;
using mpr::heap::Sweep;
using test::makeRefs;
using test::Random;
using test::Refs;
using test::SteppedHeap;

namespace {

/* A random graph, all of which the first block leads to, and helpers. */
struct Graph {
    explicit Graph(unsigned markers, size_t marks = 0) {
        Refs::freed.clear();
        blocks.push_back(makeRefs(stepped));
        for (size_t i = 1; i < 20000; i++) {
            Refs *const block = makeRefs(stepped);
            Refs *const parent = blocks[i / 2];
            parent->refs[i % 2] = block;
            parent->refs[2 + i % 2] = blocks[random.below(i)];
            blocks.push_back(block);
        }
        REQUIRE(memory.open(stepped.heap(), marks, 0));
        memory.choose(stepped.heap().limits());
        helpers->open(markers, 256 * 1024);
        helpers->settle(mpr::os::currentThread());
        helpers->lend(memory, own);
    }
    ~Graph() {
        helpers->close();
        memory.close();
    }
    /* @return How many markers took part. */
    unsigned mark(unsigned others) {
        stepped.unmark(true);
        MarkJob job;
        own.begin(Marking::all);
        own.markRoot(blocks[0]);
        const unsigned markers = helpers->mark(job, own, others);
        own.drain();
        own.end();
        return markers;
    }
    size_t marked() {
        size_t count = 0;
        for (Refs *block : blocks) {
            count += stepped.heap().colours().marked(stepped.head(block));
        }
        return count;
    }

    SteppedHeap stepped;
    Random random{3};
    std::vector<Refs *> blocks;
    MarkMemory memory;
    mpr::gc::Doubts doubts;
    Marker own{stepped.heap(), &doubts};
    std::unique_ptr<Helpers> helpers = std::make_unique<Helpers>(stepped.heap(), doubts);
};

} // namespace

TEST_CASE("helpers or none, every block is marked and counted", "[gc][mark]") {
    const unsigned markers = GENERATE(1u, 2u, 4u);
    Graph graph(markers);
    for (unsigned round = 0; round < 20; round++) {
        const unsigned others = round % 4, took = graph.mark(others);
        CHECK(took >= 1);
        CHECK(took <= std::min(others + 1, markers));
        CHECK(graph.marked() == graph.blocks.size());
        // Two markers that reach a block at the same moment both count it: nothing keeps them apart in a pause.
        const size_t reached = graph.own.takeReached().blocks;
        CHECK(reached >= graph.blocks.size());
        CHECK((took > 1 || reached == graph.blocks.size()));
        CHECK(graph.stepped.sweep(Sweep::all) == 0);
    }
}

TEST_CASE("helpers whose stacks are short leave blocks grey, and none is lost", "[gc][mark]") {
    Graph graph(4, 2048);
    for (unsigned round = 0; round < 10; round++) {
        graph.mark(Helpers::most);
        CHECK(graph.marked() == graph.blocks.size());
        CHECK(graph.own.takeReached().blocks >= graph.blocks.size());
        CHECK(graph.stepped.sweep(Sweep::all) == 0);
    }
    CHECK(graph.own.overflows() > 0);
}
