// SPDX-License-Identifier: MIT
/*
    private.cpp - A trace function that the collector cannot call.

    Refused: the collector traces: the trace function must be public
 */
#include "mpr.hpp"

class Node {
public:
    explicit Node(Node* next) : next_(next) {}

private:
    void trace(mpr::Marker& marker) { marker(next_); }

    mpr::Member<Node> next_;
};

Node* make() {
    return mpr::make<Node>(nullptr);
}
