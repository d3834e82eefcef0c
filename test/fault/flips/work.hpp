// SPDX-License-Identifier: MIT
/*
    test/fault/flips/work.hpp - A program whose heap is about to be damaged: it makes, changes and drops blocks of all kinds,
    and knows from memory of its own which of them live and what they hold.
 */
#pragma once

#include "test/support/shadow.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace flips {

using test::Random;

enum class Kind { leaf, plain, barrier };

/* A block that lives. One with a manager begins with a reference to a leaf that nobody else refers to. */
struct Item {
    void *ptr = nullptr;
    size_t size = 0;
    Kind kind = Kind::leaf;
    void *child = nullptr;
};

class Work {
public:
    explicit Work(Random &random);

    /* @return false when something is not as it should be: then what() says what. */
    bool run(size_t operations);
    /* Also what the runtime says of each block. Until then only contents count, as to a program. */
    bool checkAll();
    const std::string &what() const { return problem.empty() ? shadow.what() : problem; }

    /* One of the blocks that live, of this kind. */
    Item &anyOf(Kind kind);
    Item &any() { return items[random.below(items.size())]; }
    /* Free a block and make another in its place later. @return it: whoever writes there writes to freed memory. */
    Item freeOne();

    void markAll() const;

private:
    bool fail(const char *why, const void *ptr);
    bool keep(void *ptr, size_t size, uint64_t seed, size_t from = 0);
    bool make(Item &item);
    bool makeChild(Item &item);
    void drop(Item &item);
    bool freeByHand(Item &item);
    bool resize(Item &item);
    bool check(const Item &item);
    bool step();
    size_t someSize();

    Random &random;
    std::vector<Item> items;
    test::Shadow shadow;
    std::string problem;
};

} // namespace flips
