// SPDX-License-Identifier: MIT
/*
    test/metal/pause.cpp - What a collection costs on a Cortex-M, in instructions: so much, and so much for each block that
    lives and each that does not. toolchains/README.md has the formula, for whoever sets a watchdog. Counted as in worst.cpp.
 */
#include <mpr.h>
#include <mpr/board.h>

#include <cstdint>

#include "test/metal/say.hpp"

namespace {

alignas(16) unsigned char memory[64 * 1024];

struct Node {
    Node* next; // Managed
    std::uint32_t value;
};

void manageNode(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(static_cast<Node*>(ptr)->next);
    }
}

/* Nodes of a list, each the reference of the next; so the mark stack never has more than one. */
Node* makeList(std::uint32_t length) {
    Node* list = nullptr;
    for (std::uint32_t i = 0; i < length; ++i) {
        auto* node = static_cast<Node*>(mprAllocManaged(sizeof(Node), manageNode, 0));
        *node = {list, i};
        list = node;
    }
    return list;
}

/* A row whose references all wait on the mark stack, until that is full: each of a list of two. */
constexpr std::uint32_t wide = 600;
void manageRow(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        for (std::uint32_t i = 0; i < wide; ++i) {
            mprMark(static_cast<Node**>(ptr)[i]);
        }
    }
}

std::uint32_t timer() {
    return *reinterpret_cast<volatile std::uint32_t*>(0xE000E018);
}

/** Instructions of a whole collection: a count of the timer is 1/25.6 of one, or 1/20.5 (toolchains/metal/run). */
std::uint32_t perThousand = 0;
std::uint32_t collect() {
    const std::uint32_t before = timer();
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    return static_cast<std::uint32_t>(std::uint64_t{(before - timer()) & 0xFFFFFF} * 1000 / perThousand);
}

void calibrate() {
    const std::uint32_t before = timer();
    std::uint32_t turns = 500;
    __asm__ volatile(".syntax unified\n1: subs %0, %0, #1\n bne 1b" : "+l"(turns) : : "cc");
    perThousand = (before - timer()) & 0xFFFFFF;
}

/** A collection of a heap with so many blocks that live, and so many that do not. */
std::uint32_t cost(std::uint32_t live, std::uint32_t dead) {
    expect(mprCreateInBuffer(memory, sizeof(memory), 0), "a runtime");
    Node* list = makeList(live);
    mprAddRoot(list);
    makeList(dead);
    const std::uint32_t spent = collect();
    expect(mprDestroy(), "its end");
    return spent;
}

/** The same of a row of blocks. @param marks Bytes of the mark stack, as an option. */
std::uint32_t costOfRow(const char* marks) {
    expect(mprConfigure(marks) == 0 && mprCreateInBuffer(memory, sizeof(memory), 0), "a runtime");
    auto row = static_cast<Node**>(mprAllocManaged(wide * sizeof(Node*), manageRow, MPR_ALLOC_ZERO));
    for (std::uint32_t i = 0; i < wide; ++i) {
        row[i] = makeList(2);
    }
    mprAddRoot(row);
    const std::uint32_t spent = collect();
    say("  the mark stack overflowed ");
    say(static_cast<std::uint32_t>(mprGetMemStats()->markOverflows));
    say(" times\n");
    expect(mprDestroy() && mprConfigure(nullptr) == 0, "its end");
    return spent;
}

void report(const char* what, std::uint32_t count) {
    say(what);
    say(count);
    say("\n");
}

} // namespace

int main() {
    calibrate();
    const std::uint32_t none = cost(1, 0), live = cost(501, 0), dead = cost(1, 500);
    expect(live > none && dead > none, "blocks cost something");
    report("a collection of an empty 64 KiB: ", none);
    report("a live block: ", (live - none) / 500);
    report("a dead block: ", (dead - none) / 500);
    report("a row of 600 references, mark stack of 2 KiB: ", costOfRow("marks=2k"));
    report("the same, mark stack of 1 KiB: ", costOfRow("marks=1k"));
    return failures;
}
