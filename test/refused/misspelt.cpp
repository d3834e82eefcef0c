// SPDX-License-Identifier: MIT
/*
    misspelt.cpp - A class whose fields nobody can ask for, with a trace function of another name.

    Refused: mpr::make<T>: T has a function that takes an mpr::Marker, but no trace
 */
#include "mpr.hpp"

class Node {
public:
    explicit Node(Node* next) : next_(next) {}
    void Trace(mpr::Marker& marker) { marker(next_); }

private:
    mpr::Member<Node> next_;
};

Node* make() {
    return mpr::make<Node>(nullptr);
}
