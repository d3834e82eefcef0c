// SPDX-License-Identifier: MIT
/*
    test/gc/print_block.cpp - mprPrintBlock: what an address is.
 */
#include "test/support/node.hpp"
#include "test/support/printed.hpp"
#include "test/support/runtime.hpp"

#include "mpr/barrier.h"
#include "mpr/stats.h"

#include <string>

using namespace test;

namespace {

std::string said(const void *address) {
    const std::string text = printedBy([=] { mprPrintBlock(address); });
    const size_t colon = text.find(": ");
    REQUIRE(colon != std::string::npos);
    CHECK(text.back() == '\n');
    CHECK(std::stoull(text.substr(0, colon), nullptr, 16) == reinterpret_cast<uintptr_t>(address));
    return text.substr(colon + 2, text.size() - colon - 3);
}

/* A manager of this file's own: its name is known to the whole process. */
void managePrinted(void *ptr, int flags) {
    manageNode(ptr, flags);
}

bool ends(const std::string &text, const std::string &with) {
    INFO(text);
    return text.size() >= with.size() && text.compare(text.size() - with.size(), with.size(), with) == 0;
}

} // namespace

TEST_CASE("a block is printed with its manager and state, also by an address in it", "[gc][print]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    mprSetManagerName(managePrinted, "Printed");
    Node *const node = mprAllocObj(Node, managePrinted);
    CHECK(ends(said(node), ", Printed), plain, young"));
    CHECK(said(node).substr(0, 6) == "block ");
    CHECK(said(&node->data).find(std::to_string(sizeof(void *)) + " bytes into block ") == 0);
    CHECK(ends(said(&node->data), ", Printed), plain, young"));
    const Root root(node);
    CHECK(ends(said(node), ", Printed), plain, young"));
    mprAddRoot(node);
    collect();
    CHECK(ends(said(node), ", Printed), plain, old, root or handle"));
    mprRemoveRoot(node);

    void *const leaf = mprAllocZeroed(5000); // or it may begin with what was there, and look like a text
    mprHold(leaf);
    CHECK(ends(said(static_cast<char *>(leaf) + 4000), "no manager), leaf, young, held"));
    mprRelease(leaf);

    const Root row(makeRow(8));
    collect();
    CHECK(ends(said(row.as<void *>()), "), barrier, old"));
    mprSetRef(row.as<void *>(), row.as<void *>(), mprAlloc(16));
    CHECK(ends(said(row.as<void *>()), "), barrier, old, written"));
}

TEST_CASE("an address that is in no block is printed as that", "[gc][print]") {
    int local = 0;
    {
        Runtime runtime("everyyield=0,everyalloc=0");
        CHECK(said(&local) == "not in the heap");
        CHECK(said(nullptr) == "not in the heap");
        void *const large = mprAlloc(100000);
        void *const block = static_cast<char *>(large) + 50000;
        CHECK(said(block).substr(0, 23) == "50000 bytes into block ");
        mprFree(large);
        CHECK(said(block) == "in the heap, in no block");
    }
    CHECK(said(&local) == "there is no runtime");
}
