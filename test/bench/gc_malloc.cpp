// SPDX-License-Identifier: MIT
/*
    gc_malloc.cpp - The collector's workloads with malloc and free.
 */
#include "bench.h"

#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

struct Policy {
    struct Message {
        void *refs[8];
        char text[960 - 16];
    };
    struct Tree {
        Tree *left, *right;
        int64_t value;
        void setLeft(Tree *tree) { left = tree; }
        void setRight(Tree *tree) { right = tree; }
    };

    static void begin() {}
    static void end(const char *) {}
    static void tick() {}
    static void *leaf(size_t size) { return malloc(size); }
    static void dropLeaf(void *block) { free(block); }
    static void *entry(size_t size) {
        void *block = malloc(size);
        *(void **) block = nullptr;
        return block;
    }
    static void dropEntry(void *block) { free(block); }
    static void dropGarbage(void *block) { free(block); }
    static void keepLeaf(void *) {}
    static void releaseLeaf(void *block) { free(block); }
    static Message *message() { return (Message *) malloc(sizeof(Message)); }
    static void dropMessage(void *message) { free(message); }
    static Tree *tree(Tree *left, Tree *right) {
        Tree *node = (Tree *) malloc(sizeof(Tree));
        *node = {left, right, 0};
        return node;
    }
    static void fell(Tree *tree) {
        if (tree->left) {
            fell(tree->left);
            fell(tree->right);
        }
        free(tree);
    }

    class RootedTree {
    public:
        explicit RootedTree(Tree *kept) : tree(kept) {}
        Tree *get() { return tree; }
        void fell() { Policy::fell(tree); }

    private:
        Tree *tree;
    };

    /** Exchanges of several threads are atomic: a service would use a lock or this. */
    class References {
    public:
        explicit References(size_t count) : slots(bench::sideTable<void *>(count)), size(count) {}
        ~References() { bench::freeSideTable(slots, size); }
        void *exchange(size_t i, void *ref) { return __atomic_exchange_n(&slots[i], ref, __ATOMIC_ACQ_REL); }
        void *get(size_t i) { return slots[i]; }

    private:
        void **slots;
        size_t size;
    };

    class Map {
    public:
        explicit Map(size_t count) { map.reserve(count); }
        void set(uint64_t id, void *message) { map[id] = message; }
        void *take(uint64_t id) {
            auto at = map.find(id);
            void *message = at->second;
            map.erase(at);
            return message;
        }

    private:
        std::unordered_map<uint64_t, void *> map;
    };

    template <class Body>
    static void withThreads(int count, Body body) {
        std::vector<std::thread> threads;
        for (int i = 0; i < count; i++) {
            threads.emplace_back(body);
        }
        for (auto &thread : threads) {
            thread.join();
        }
    }
};

#include "gc_main.h"
