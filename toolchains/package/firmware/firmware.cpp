// SPDX-License-Identifier: MIT
// The least firmware of a user in C++; in C it is examples/metal/main.c.
#include <mpr.hpp>
#include <mpr/board.h>

#include <array>
#include <cstddef>
#include <string_view>

struct Node {
    int value = 0;
    mpr::Member<Node> next;
    void trace(mpr::Marker& marker) { marker(next); }
};

int main() {
    alignas(16) static std::array<std::byte, 16 * 1024> memory;
    mpr::Runtime runtime(memory);
    mpr::Root<Node> head = mpr::make<Node>();
    if (!runtime || !head) {
        return 1;
    }
    for (int i = 0; i < 10000; i++) {
        Node* node = mpr::make<Node>();
        if (!node) {
            return 2;
        }
        node->value = i;
        head->next = node;
        mpr::yield();
    }
    constexpr std::string_view text = "10000 nodes in 16 KiB\n";
    mprBoardWrite(text.data(), text.size());
    return head->next->value == 9999 && mprGetMemStats()->collections > 0 ? 0 : 3;
}
