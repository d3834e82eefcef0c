// SPDX-License-Identifier: MIT
/*
    parameter.cpp - A trace function that takes the marker by pointer.

    Refused: mpr::make<T>: T's trace function must be trace
 */
#include "mpr.hpp"

class Node {
public:
    explicit Node(Node* next) : next_(next) {}
    void trace(mpr::Marker* marker) { (*marker)(next_); }

private:
    mpr::Member<Node> next_;
};

Node* make() {
    return mpr::make<Node>(nullptr);
}
