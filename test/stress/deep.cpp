// SPDX-License-Identifier: MIT
/*
    test/stress/deep.cpp - Structures of millions of blocks on a small collector stack.
 */
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

using namespace test;

namespace {

/* Build a list of count nodes, values counting down from the head. */
void build(Root &root, size_t count) {
    for (size_t i = 0; i < count; i++) {
        root.set(makeNode(root.as<Node>(), nullptr, i));
        mprYield(0);
    }
}

size_t intactNodes(const Root &root, size_t count) {
    size_t intact = 0;
    for (Node *node = root.as<Node>(); node && mprIsValid(node) && node->value == count - 1 - intact;
         node = node->next) {
        intact++;
    }
    return intact;
}

} // namespace

TEST_CASE("a list of ten million nodes is marked on a 64 KiB stack", "[stress][deep]") {
    Runtime runtime("stack=64k", 0, 240);
    calls.reset();
    const size_t count = heavy(10000000);
    {
        Root root;
        build(root, count);
        for (int i = 0; i < 2; i++) {
            collect();
            CHECK(intactNodes(root, count) == count);
        }
        CHECK(calls.frees == 0);
    }
    collect();
    CHECK(calls.frees == static_cast<long>(count));
}

TEST_CASE("a list of a million nodes whose elements are lists is marked on a 64 KiB stack", "[stress][deep]") {
    Runtime runtime("stack=64k,marks=4k", 0, 240);
    calls.reset();
    const size_t outer = heavy(1000000);
    Root root;
    for (size_t i = 0; i < outer; i++) {
        root.set(
            makeNode(root.as<Node>(), makeNode(makeNode(makeNode(nullptr, nullptr, i), nullptr, i), nullptr, i), i));
        mprYield(0);
    }
    collect();
    size_t intact = 0;
    for (Node *node = root.as<Node>(); node; node = node->next) {
        auto inner = static_cast<Node *>(node->data);
        intact += mprIsValid(inner) && mprIsValid(inner->next) && mprIsValid(inner->next->next) &&
                  inner->next->next->value == node->value;
    }
    CHECK(intact == outer);
    CHECK(calls.frees == 0);
}
