// SPDX-License-Identifier: MIT
/*
    hello_cpp - A managed tree in C++.

    Makes the runtime, a search tree of 1000 nodes that a root keeps, drops half of it, collects, and counts.

        c++ -std=c++20 main.cpp -lmpr -lpthread
 */
#include <mpr.hpp>

#include <cstdio>
#include <string>

/* The destructor runs on the collector's thread; the count is read after a complete collection. */
static int destroyed = 0;

class Node {
public:
    explicit Node(int key) noexcept : key_(key) {}
    ~Node() { destroyed++; }

    /* Says what the object references: the collector asks for it. */
    void trace(mpr::Marker& marker) const { marker(left_, right_, label_); }

    bool insert(int key) {
        mpr::Member<Node>& side = key < key_ ? left_ : right_;
        if (side) {
            return side->insert(key);
        }
        side = mpr::make<Node>(key); // nullptr when memory fails
        if (side) {
            side->label_ = mpr::clone("key " + std::to_string(key));
        }
        return side && side->label_;
    }

    int count() const { return 1 + (left_ ? left_->count() : 0) + (right_ ? right_->count() : 0); }
    void dropLeft() { left_ = nullptr; } // nobody refers to that half any more: that is all

private:
    int key_;
    mpr::Member<Node> left_, right_; // managed references in managed objects are Members
    mpr::Member<char> label_;
};

int main(int argc, char** argv) {
    mpr::Runtime runtime(argc, argv);
    if (!runtime) {
        return 1;
    }
    int collected = 0, kept = 0;
    {
        mpr::Root<Node> tree = mpr::make<Node>(500); // kept, with all it refers to, while this variable exists
        if (!tree) {
            return 1;
        }
        for (int i = 1; i < 1000; i++) {
            if (!tree->insert((500 + i * 7) % 1000)) { // 7 and 1000 have no common factor: every key once
                return 1;
            }
            mpr::yield(); // the collector may work here; cheap when it has no need to
        }
        tree->dropLeft();
        mpr::collect(); // seldom needed: collections come by themselves

        collected = destroyed;
        kept = tree->count();
        std::printf("1000 nodes made, %d collected, %d kept\n", collected, kept);
    }
    runtime.destroy(); // destroys the rest
    return collected == 500 && kept == 500 && destroyed == 1000 ? 0 : 1;
}
