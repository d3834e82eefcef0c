// SPDX-License-Identifier: MIT
/*
    test/metal/embed.cpp - The hooks of a program that embeds the runtime, without an operating system: roots by callback,
    conservative ones among them, finalizers and weak tables of the program's own. A program of its own: the others show that
    core takes no more code when nobody asks for them.
 */
#include <mpr.h>
#include <mpr/board.h>
#include <mpr/embed.h>

#include <cstring>

#include "test/metal/say.hpp"

namespace {

alignas(8) unsigned char memory[32 * 1024];

struct Cell {
    Cell *next;
    uintptr_t number;
};
int frees = 0;

void manage(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(static_cast<Cell *>(ptr)->next);
    } else {
        frees++;
    }
}

Cell *make(Cell *next = nullptr, uintptr_t number = 0) {
    auto cell = static_cast<Cell *>(mprAllocManaged(sizeof(Cell), manage, 0));
    *cell = {next, number};
    return cell;
}

/* What the embedder knows, hidden from the collector's roots. */
struct Embedder {
    char order[32];
    size_t calls;
    uintptr_t stack[8];  /* Words that may be references, into blocks too */
    Cell *weak, *doomed; /* doomed: to be finalized; not marked as a root */
    bool finalized, tries;
    void *made;

    void called(char what) {
        if (calls == 0 || order[calls - 1] != what) {
            order[calls++ % sizeof(order)] = what;
        }
    }
} embedder;

void stop(void *data) {
    static_cast<Embedder *>(data)->called('s');
}
void roots(void *data, int generation) {
    auto self = static_cast<Embedder *>(data);
    self->called('r');
    expect(generation == MPR_GENERATION_ALL, "every collection is a full one");
    for (uintptr_t word : self->stack) {
        mprMark(mprBlockOf(reinterpret_cast<void *>(word)));
    }
}
void marked(void *data, int, int round) {
    auto self = static_cast<Embedder *>(data);
    self->called('m');
    if (self->doomed && !mprIsMarked(self->doomed)) {
        expect(round == 0, "it is asked again when something was marked");
        mprMark(self->doomed);
        self->finalized = true;
    }
}
void clear(void *data, int) {
    auto self = static_cast<Embedder *>(data);
    self->called('c');
    if (!mprIsMarked(self->weak)) {
        self->weak = nullptr;
    }
    if (self->tries) {
        self->made = mprAlloc(8);
    }
}
void resume(void *data) {
    static_cast<Embedder *>(data)->called('g');
}

void collect() {
    embedder.calls = 0;
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}

void testRoots() {
    Cell *list = make(make(make(nullptr, 3), 2), 1);
    embedder.stack[3] = reinterpret_cast<uintptr_t>(&list->number); // into the block
    embedder.stack[4] = 0x1234;                                     // no address at all
    embedder.stack[5] = reinterpret_cast<uintptr_t>(memory + sizeof(memory));
    make();
    frees = 0;
    collect();
    expect(embedder.calls == 5 && memcmp(embedder.order, "srmcg", 5) == 0, "hooks are called in their order");
    expect(frees == 1, "what no root leads to is freed");
    expect(list->number == 1 && list->next->next->number == 3, "what a conservative root leads to lives");
    size_t seen = 0;
    const size_t visited = mprBlocksIn(
        memory, memory + sizeof(memory),
        [](void *data, void *, size_t) {
            ++*static_cast<size_t *>(data);
            return true;
        },
        &seen);
    expect(visited == seen && seen >= 3, "blocks are found in a range");
    auto *const before = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(memory) - 1);
    const size_t all = mprBlocksIn(
        before, memory + sizeof(memory), [](void *, void *, size_t) { return true; }, nullptr);
    expect(all == seen, "and in one that begins before the buffer");
    embedder.stack[3] = 0;
    collect();
    expect(frees == 4, "without its root the list is freed");
}

void testFinalizers() {
    embedder.doomed = make(make(nullptr, 8), 7);
    embedder.weak = embedder.doomed->next;
    const MprHandle handle = mprCreateHandle(MPR_HANDLE_WEAK_SHORT, embedder.doomed);
    Cell *value = make(nullptr, 9);
    const MprHandle ephemeron = mprCreateHandleFor(MPR_HANDLE_DEPENDENT, embedder.doomed, value, 0);
    frees = 0;
    collect();
    expect(embedder.finalized && frees == 0, "a finalizer's block is brought back, with what it leads to");
    expect(embedder.weak && embedder.weak->number == 8, "so is what the program's weak table names");
    expect(mprGetHandle(handle) == embedder.doomed, "a weak handle sees it, too");
    expect(mprGetHandleValue(ephemeron) == value && value->number == 9, "and the value of a dependent one");
    embedder.doomed = nullptr;
    collect();
    expect(frees == 3 && !embedder.weak && !mprGetHandle(handle), "then all of it dies");
    mprDestroyHandle(handle);
    mprDestroyHandle(ephemeron);
}

void testMisuse(const MprEmbedder &table) {
    expect(mprSetEmbedder(&table) == MPR_ERR_ALREADY_EXISTS, "there is one embedder");
    embedder.tries = true;
    embedder.made = &embedder;
    collect();
    expect(!embedder.made, "a hook may not allocate");
    embedder.tries = false;
    expect(mprIsMarked(&embedder), "nobody is told what is marked elsewhere");
    expect(mprSetEmbedder(nullptr) == 0, "an embedder ends");
    collect();
    expect(embedder.calls == 0, "and is not called any more");
}

} // namespace

int main() {
    const MprEmbedder table = {&embedder, stop, roots, marked, clear, resume};
    for (int round = 0; round < 3; round++) { // each runtime begins without hooks
        embedder = {};
        expect(mprCreateInBuffer(memory, sizeof(memory), 0), "a runtime");
        collect();
        expect(embedder.calls == 0, "a runtime begins without hooks");
        expect(mprSetEmbedder(&table) == 0, "an embedder");
        testRoots();
        testFinalizers();
        if (round != 1) {
            testMisuse(table);
        }
        expect(mprDestroy(), "its end");
    }
    say(failures > 0 ? "embedding: failed\n" : "embedding: passed\n");
    return failures > 0;
}
