// SPDX-License-Identifier: MIT
/*
    member.cpp - An aggregate with a Member and no trace function.

    Refused: mpr::make<T>: T has members of type mpr::Member but no trace
 */
#include "mpr.hpp"

struct Node {
    int value;
    double weights[3];
    mpr::Member<Node> next;
};

Node* make() {
    return mpr::make<Node>();
}
