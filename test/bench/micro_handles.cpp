// SPDX-License-Identifier: MIT
/*
    micro_handles.cpp - What handles cost: single calls, and collections with a million of them.

    Usage: micro_handles [pairs]

    A line for each figure, as test/bench/run reads it: its name, and the median over pairs of measurements, the two of a
    pair one after the other; with a ratio, what both are stands behind it. A get is measured as
    it is used: the block that it gives says what to get next. Beside it the same chain by plain pointers in places as
    large as a handle's. Collections are measured from the request to their end, with and without the handles. All is CPU time.
 */
#include "mpr.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

namespace {

/* Nanoseconds of CPU of all threads, since other programs share the processors. */
double cpu() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Node {
    Node *next;
    MprHandle handle;
    void **place;
};

void manageNode(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<Node *>(ptr)->next);
    }
}

Node *makeNode(Node *next) {
    auto node = static_cast<Node *>(
        mprAllocManaged(sizeof(Node), manageNode, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE | MPR_ALLOC_ZERO));
    mprSetRef(node, &node->next, next);
    return node;
}

int pairs = 9;

/* Medians of what two functions return, and of their ratio. */
void compare(const char *what, const char *unit, double scale, const std::function<double()> &with,
             const std::function<double()> &without) {
    std::vector<double> a, b, ratio;
    for (int i = 0; i < pairs; i++) {
        b.push_back(without());
        a.push_back(with());
        ratio.push_back(a.back() / b.back());
    }
    printf("handles.%s %.3f\n# %.2f %s beside %.2f %s\n", what, median(ratio), median(a) / scale, unit,
           median(b) / scale, unit);
}

void single(const char *what, const std::function<void(int)> &work, int count = 1000000) {
    std::vector<double> each;
    for (int i = 0; i < pairs; i++) {
        const double begin = cpu();
        work(count);
        each.push_back((cpu() - begin) / count);
    }
    printf("handles.%s %.2f\n", what, median(each));
}

void calls() {
    MprRootRef root{nullptr, nullptr, makeNode(nullptr)};
    mprLinkRootRef(&root);
    void *block = root.ptr;
    single("create_destroy", [=](int count) {
        for (int i = 0; i < count; i++) {
            mprDestroyHandle(mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block));
        }
    });
    const MprHandle handle = mprCreateHandle(MPR_HANDLE_STRONG, block);
    single("compare_exchange", [=](int count) {
        for (int i = 0; i < count; i++) {
            mprCompareExchangeHandle(handle, block, block);
        }
    });
    single("set", [=](int count) {
        for (int i = 0; i < count; i++) {
            mprSetHandle(handle, block);
        }
    });
    mprDestroyHandle(handle);
    mprUnlinkRootRef(&root);
}

void gets() {
    constexpr int length = 256, count = 1 << 22; // within the first cache
    std::vector<Node *> nodes;
    MprRootRef root{};
    mprLinkRootRef(&root);
    struct alignas(32) Place {
        void *block;
    };
    static Place places[length];
    for (int i = 0; i < length; i++) {
        nodes.push_back(makeNode(static_cast<Node *>(root.ptr)));
        root.ptr = nodes.back();
    }
    for (size_t i = 0; i < length; i++) {
        Node *next = nodes[(i * 97 + 31) % length];
        nodes[i]->handle = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, next);
        places[i].block = next;
        nodes[i]->place = &places[i].block;
    }
    const auto chase = [&](auto step) {
        const Node *at = nodes[0];
        const double begin = cpu();
        for (int i = 0; i < count; i++) {
            at = step(at);
        }
        const double took = (cpu() - begin) / count;
        __asm__ volatile("" : : "r"(at));
        return took;
    };
    compare(
        "get", "ns", 1,
        [&] { return chase([](const Node *at) { return static_cast<const Node *>(mprGetHandle(at->handle)); }); },
        [&] {
            return chase(
                [](const Node *at) { return static_cast<const Node *>(__atomic_load_n(at->place, __ATOMIC_ACQUIRE)); });
        });
    for (Node *node : nodes) {
        mprDestroyHandle(node->handle);
    }
    mprUnlinkRootRef(&root);
}

double major() {
    const double begin = cpu();
    mprGC(MPR_GC_MAJOR | MPR_GC_COMPLETE);
    return (cpu() - begin);
}

double minor() {
    MprRootRef keep{};
    mprLinkRootRef(&keep);
    for (int i = 0; i < 20000; i++) {
        Node *node = makeNode(i % 4 ? nullptr : static_cast<Node *>(keep.ptr));
        keep.ptr = i % 4 ? keep.ptr : node;
    }
    const double begin = cpu();
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    const double took = (cpu() - begin);
    mprUnlinkRootRef(&keep);
    return took;
}

void collections() {
    constexpr int million = 1000000, roots = 64;
    std::vector<MprRootRef> lists(roots); // so that marking has more to do than follow one list
    std::vector<void *> blocks;
    for (MprRootRef &list : lists) {
        mprLinkRootRef(&list);
    }
    for (int i = 0; i < million; i++) {
        MprRootRef &list = lists[static_cast<size_t>(i % roots)];
        list.ptr = makeNode(static_cast<Node *>(list.ptr));
        blocks.push_back(list.ptr);
    }
    std::vector<MprHandle> handles(million);
    const auto create = [&] {
        for (size_t i = 0; i < million; i++) {
            handles[i] = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, blocks[i]);
        }
    };
    const auto destroy = [&] {
        for (MprHandle handle : handles) {
            mprDestroyHandle(handle);
        }
    };
    const auto with = [&](double (*collect)()) {
        return [&, collect] {
            create();
            major();
            const double took = collect();
            destroy();
            return took;
        };
    };
    const auto without = [&](double (*collect)()) {
        return [&, collect] {
            major();
            return collect();
        };
    };
    create();
    const auto freeOne = [] {
        void *block = mprAlloc(32);
        const MprHandle handle = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, block);
        mprFree(block);
        mprDestroyHandle(handle);
    };
    freeOne(); // enters the million into the index
    single(
        "free_by_hand",
        [=](int count) {
            for (int i = 0; i < count; i++) {
                freeOne();
            }
        },
        10000);
    destroy();
    compare("major", "ms", 1e6, with(major), without(major));
    compare("minor", "us", 1e3, with(minor), without(minor));
    for (MprRootRef &list : lists) {
        mprUnlinkRootRef(&list);
    }
}

/* A million blocks in a chain: each the value of a dependent handle whose key is the one before, or referenced by it. */
double chain(bool dependent) {
    constexpr size_t million = 1000000;
    MprRootRef root{};
    mprLinkRootRef(&root);
    std::vector<Node *> blocks;
    std::vector<MprHandle> handles;
    mprEnableGC(false);
    for (size_t i = 0; i < million; i++) {
        blocks.push_back(makeNode(dependent || blocks.empty() ? nullptr : blocks.back()));
    }
    for (size_t i = 0; dependent && i + 1 < million; i++) { // the last is marked first
        handles.push_back(mprCreateHandleFor(MPR_HANDLE_DEPENDENT, blocks[i + 1], blocks[i], 0));
    }
    root.ptr = blocks.back();
    mprEnableGC(true);
    major();
    const double took = major();
    if (!mprIsValid(blocks.front())) {
        printf("the chain was lost\n");
        exit(1);
    }
    for (MprHandle handle : handles) {
        mprDestroyHandle(handle);
    }
    mprUnlinkRootRef(&root);
    return took;
}

} // namespace

int main(int argc, char **argv) {
    pairs = argc > 1 ? atoi(argv[1]) : pairs;
    if (!mprCreate(0, nullptr, 0)) {
        return 1;
    }
    calls();
    gets();
    collections();
    compare(
        "ephemerons", "ms", 1e6, [] { return chain(true); }, [] { return chain(false); });
    return mprDestroy() ? 0 : 1;
}
