// SPDX-License-Identifier: MIT
// The least program of a user in C++, who says nothing about the standard: the package does. See consumer.c.
#include <mpr.hpp>

struct Node {
    int value = 0;
    mpr::Member<Node> next;
    void trace(mpr::Marker& marker) { marker(next); }
};

int main() {
    mpr::Runtime runtime;
    mpr::Root<Node> head = mpr::make<Node>();
    if (!runtime || !head) {
        return 1;
    }
    head->next = mpr::make<Node>();
    head->next->value = 1;
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    return head->next->value == 1 ? 0 : 2;
}
