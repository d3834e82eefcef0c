// SPDX-License-Identifier: MIT
/*
    marked.cpp - A trace function that hands the marker what is no reference.

    Refused: or a range of those; this is none
 */
#include "mpr.hpp"

struct Node {
    void trace(mpr::Marker& marker) { marker(value); }
    int value;
};

Node* make() {
    return mpr::make<Node>();
}
