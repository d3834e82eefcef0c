// SPDX-License-Identifier: MIT
/*
    test/support/hoard.hpp - Live data that grows until memory ends: a rooted chain of blocks.
 */
#pragma once

#include "test/support/node.hpp"
#include "test/support/pattern.hpp"

namespace test {

class Hoard {
public:
    struct Link {
        Link *next;
        size_t size;
        uint64_t seed;
    };

    /* Add a block of size bytes, header included. @return false when memory ended. */
    bool add(size_t size) {
        size = size < sizeof(Link) ? sizeof(Link) : size;
        auto link = static_cast<Link *>(mprAllocManaged(size, manage, 0));
        if (!link) {
            return false;
        }
        *link = {root.as<Link>(), size, count};
        fill(link, size, count, sizeof(Link));
        root.set(link);
        count++;
        bytes += size;
        return true;
    }

    /* Add blocks until memory ends or limit bytes are there. @return Blocks added. */
    size_t grow(size_t size, size_t limit = SIZE_MAX) {
        size_t before = count;
        while (bytes < limit && add(size)) {}
        return count - before;
    }

    /* Forget everything; a collection gives it back. */
    void drop() {
        root.set(nullptr);
        count = bytes = 0;
    }

    /* Free the newest block by hand. */
    void pop() {
        auto link = root.as<Link>();
        root.set(link->next);
        count--;
        bytes -= link->size;
        mprFree(link);
    }

    /* Whether all blocks are there with their contents. */
    bool intact() const {
        size_t left = count;
        for (auto link = root.as<Link>(); link; link = link->next) {
            if (!mprIsValid(link) || link->seed != --left || !filled(link, link->size, link->seed, sizeof(Link))) {
                return false;
            }
        }
        return left == 0;
    }

    size_t count = 0;
    size_t bytes = 0;

    static void manage(void *ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMark(static_cast<Link *>(ptr)->next);
        }
    }

private:
    Root root;
};

} // namespace test
