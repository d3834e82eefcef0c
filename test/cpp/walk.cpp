// SPDX-License-Identifier: MIT
/*
    test/cpp/walk.cpp - mpr::forEachOf: the living objects of a type.
 */
#include "test/cpp/setting.hpp"

#include <set>

using test::Counted;
using test::Link;
using test::Node;
using test::Setting;

TEST_CASE("cpp walk: all living objects of a type are visited, and no others") {
    Setting setting;
    {
        mpr::Root<Node> nodes;
        mpr::Root<Link> links;
        for (int i = 0; i < 5000; i++) {
            nodes = mpr::make<Node>(i, nodes.get());
            static_cast<void>(mpr::make<Node>(-1));
            static_cast<void>(mpr::make<Counted>(-1));
            if (i % 10 == 0) {
                Link* link = mpr::make<Link>();
                link->next = links;
                links = link;
            }
            mpr::yield();
        }
        mpr::collect();
        std::set<int> values;
        CHECK(mpr::forEachOf<Node>([&](Node& node) { values.insert(node.value); }) == 5000);
        CHECK(values.size() == 5000);
        CHECK(*values.begin() == 0);
        CHECK(mpr::forEachOf<Link>([](Link&) {}) == 500);
        CHECK(mpr::forEachOf<Counted>([](Counted&) {}) == 0);
        int left = 7;
        CHECK(mpr::forEachOf<Node>([&](Node&) { return --left > 0; }) == 7);
    }
}

TEST_CASE("cpp walk: a visit may make objects and free what it is given") {
    Setting setting;
    {
        mpr::Root<Link> links;
        for (int i = 0; i < 1000; i++) {
            Link* link = mpr::make<Link>();
            link->next = links;
            links = link;
        }
        int made = 0;
        const auto makesOthers = [&made](Link& link) {
            link.target = mpr::make<Counted>(++made);
            return made < 1000;
        };
        CHECK(mpr::forEachOf<Link>(makesOthers) == 1000);
        CHECK(Counted::alive() == 1000);
        CHECK(mpr::forEachOf<Counted>([](Counted& counted) { mprFree(&counted); }) == 1000);
        CHECK(Counted::alive() == 0);
        links = nullptr;
    }
}
