// SPDX-License-Identifier: MIT
/*
    container.cpp - A container of Members inside a part of an aggregate without a trace function, as elements of an array.

    Refused: mpr::make<T>: T has members of type mpr::Member but no trace
 */
#include "mpr.hpp"

#include <string>
#include <vector>

struct Node {
    mpr::Member<Node> next;
    void trace(mpr::Marker& marker) { marker(next); }
};
struct Names {
    std::string title;
    std::vector<mpr::Member<Node>> nodes;
};
struct Page {
    int number;
    Names names;
};

std::span<Page> make() {
    return mpr::makeArray<Page>(4);
}
