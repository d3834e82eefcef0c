// SPDX-License-Identifier: MIT
/*
    test/metal/cpp.cpp - A firmware in C++ that is built without NDEBUG. That it links is the test: checks in headers need
    nothing of the C library that a board would have to supply (_write, _close, _exit, ...).
 */
#undef NDEBUG
#include <mpr.hpp>

#include "test/metal/say.hpp"

namespace {

alignas(8) unsigned char memory[16 * 1024];

struct Item {
    int value = 0;
    mpr::Member<Item> next;
    void trace(mpr::Marker &marker) { marker(next); }
};
} // namespace

int main() {
    expect(mprCreateInBuffer(memory, sizeof(memory), 0) != nullptr, "the runtime begins");
    {
        mpr::Root<mpr::Array<Item>> row = mpr::Array<Item>::make(4);
        mpr::Root<Item> item = mpr::make<Item>();
        row->set(3, item.get());
        item->value = 7;
        item = nullptr;
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        expect(row->get(3) && row->get(3)->value == 7, "a row keeps what it refers to");
        expect(!row->get(0), "and nothing else");
    }
    expect(mprDestroy(), "the end");
    say(failures > 0 ? "C++: failed\n" : "C++: passed\n");
    return failures > 0;
}
