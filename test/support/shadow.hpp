// SPDX-License-Identifier: MIT
/*
    test/support/shadow.hpp - A model of the heap beside the heap: which blocks exist, where, with which contents.

    Each operation says whether heap and model agree; why not is in what().
 */
#pragma once

#include "mpr.h"
#include "test/support/pattern.hpp"

#include <cstdio>
#include <iterator>
#include <map>
#include <string>

namespace test {

class Shadow {
public:
    struct Block {
        size_t size;
        uint64_t seed;
        size_t from; /* Where the pattern begins */
    };

    static constexpr size_t alignment = 2 * sizeof(void *);

    /* A block came: it must be aligned, in use, as large as asked for, and overlap none. */
    bool add(void *ptr, size_t size, uint64_t seed, size_t from = 0) {
        auto start = reinterpret_cast<uintptr_t>(ptr);
        if (start % alignment) {
            return fail("misaligned", ptr, size);
        }
        if (!mprIsValid(ptr)) {
            return fail("not valid", ptr, size);
        }
        if (mprGetBlockSize(ptr) < size) {
            return fail("too short", ptr, size);
        }
        return insert(start, size, seed, from) || fail("overlaps another block", ptr, size);
    }

    /* Keep an interval. @return false when it overlaps one that is kept. The extent of an empty block is one byte. */
    bool insert(uintptr_t start, size_t size, uint64_t seed = 0, size_t from = 0) {
        size_t extent = size ? size : 1;
        auto after = blocks.lower_bound(start);
        if (after != blocks.end() && after->first < start + extent) {
            return false;
        }
        if (after != blocks.begin()) {
            auto before = std::prev(after);
            if (before->first + (before->second.size ? before->second.size : 1) > start) {
                return false;
            }
        }
        blocks[start] = {size, seed, from};
        bytes += size;
        return true;
    }

    /* A block goes or moves. */
    void remove(const void *ptr) {
        auto found = blocks.find(reinterpret_cast<uintptr_t>(ptr));
        if (found != blocks.end()) {
            bytes -= found->second.size;
            blocks.erase(found);
        }
    }

    const Block &of(const void *ptr) const { return blocks.at(reinterpret_cast<uintptr_t>(ptr)); }

    /* A block is there, with its contents. */
    bool check(const void *ptr) {
        auto found = blocks.find(reinterpret_cast<uintptr_t>(ptr));
        return found != blocks.end() && checkBlock(found->first, found->second);
    }

    /* A block has its contents. The runtime is not asked. */
    bool holds(const void *ptr) {
        auto found = blocks.find(reinterpret_cast<uintptr_t>(ptr));
        return found != blocks.end() && (filled(ptr, found->second.size, found->second.seed, found->second.from) ||
                                         fail("overwritten", ptr, found->second.size));
    }

    bool checkAll() {
        for (auto &[start, block] : blocks) {
            if (!checkBlock(start, block)) {
                return false;
            }
        }
        return true;
    }

    const std::string &what() const { return problem; }

    size_t bytes = 0;

private:
    bool checkBlock(uintptr_t start, const Block &block) {
        auto ptr = reinterpret_cast<const void *>(start);
        if (!mprIsValid(ptr)) {
            return fail("lost", ptr, block.size);
        }
        if (mprGetBlockSize(ptr) < block.size) {
            return fail("shrunk", ptr, block.size);
        }
        return filled(ptr, block.size, block.seed, block.from) || fail("overwritten", ptr, block.size);
    }

    bool fail(const char *why, const void *ptr, size_t size) {
        char text[100];
        snprintf(text, sizeof(text), "block %p of %zu bytes: %s", ptr, size, why);
        problem = text;
        return false;
    }

    std::map<uintptr_t, Block> blocks;
    std::string problem;
};

} // namespace test
