// SPDX-License-Identifier: MIT
/*
    test/support/node.hpp - The managed structures that tests build: nodes that count what happens to them.
 */
#pragma once

#include "mpr.h"

#include <atomic>

namespace test {

/* What the managers of all nodes saw. Reset at the start of a case. */
struct Calls {
    std::atomic<long> marks{0};
    std::atomic<long> frees{0};

    void reset() {
        marks = 0;
        frees = 0;
    }
};
inline Calls calls;

/* A node of a list or tree: 24 bytes on 64-bit. */
struct Node {
    Node *next;
    void *data;
    uintptr_t value;
};

inline void manageNode(void *ptr, int flags) {
    auto node = static_cast<Node *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        calls.marks.fetch_add(1, std::memory_order_relaxed);
        mprMark(node->next);
        mprMark(node->data);
    }
    if (flags & MPR_MANAGE_FREE) {
        calls.frees.fetch_add(1, std::memory_order_relaxed);
    }
}

inline Node *makeNode(Node *next = nullptr, void *data = nullptr, uintptr_t value = 0) {
    auto node = mprAllocObj(Node, manageNode);
    if (node) {
        *node = {next, data, value};
    }
    return node;
}

/* A table of references, the root of a test: entries are marked in order. */
struct Table {
    size_t count;
    void *items[1];
};

inline void manageTable(void *ptr, int flags) {
    auto table = static_cast<Table *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        for (size_t i = 0; i < table->count; i++) {
            mprMark(table->items[i]);
        }
    }
}

inline Table *makeTable(size_t count) {
    auto table = static_cast<Table *>(
        mprAllocManaged(offsetof(Table, items) + count * sizeof(void *), manageTable, MPR_ALLOC_ZERO));
    if (table) {
        table->count = count;
    }
    return table;
}

/* A block of references and nothing else, all written through the barrier. */
inline void manageRow(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, mprGetBlockSize(ptr) / sizeof(void *));
    }
}

template <class T = void>
T **makeRow(size_t count) {
    return static_cast<T **>(
        mprAllocManaged(count * sizeof(T *), manageRow, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE));
}

/* A reference outside the heap that roots its block. */
class Root {
public:
    explicit Root(void *ptr = nullptr) {
        ref.ptr = ptr;
        mprLinkRootRef(&ref);
    }
    ~Root() { mprUnlinkRootRef(&ref); }
    Root(const Root &) = delete;
    Root &operator=(const Root &) = delete;

    template <class T>
    T *as() const {
        return static_cast<T *>(ref.ptr);
    }
    void set(void *ptr) { ref.ptr = ptr; }

private:
    MprRootRef ref{};
};

} // namespace test
