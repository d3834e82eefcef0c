// SPDX-License-Identifier: MIT
/*
    test/gc/handle_types.cpp - What a handle's type and its further word mean together.
 */
#include "mpr/gc/handle_types.hpp"

#include "mpr/gc/runtime.hpp"
#include "test/support/runtime.hpp"

using mpr::gc::isLong;
using mpr::gc::isStrong;
using mpr::gc::Slot;
using test::Runtime;

namespace {

Slot slotWith(intptr_t further) {
    Slot slot{};
    slot.extra = reinterpret_cast<void *>(further);
    return slot;
}

} // namespace

TEST_CASE("which handles are strong, and which are long", "[gc][handle]") {
    struct Row {
        int type;
        intptr_t further;
        bool strong, isLong;
    };
    const Row row = GENERATE(Row{MPR_HANDLE_WEAK_SHORT, 0, false, false}, Row{MPR_HANDLE_WEAK_LONG, 0, false, true},
                             Row{MPR_HANDLE_STRONG, 0, true, false}, Row{MPR_HANDLE_PINNED, 0, true, false},
                             Row{MPR_HANDLE_ASYNC_PINNED, 0, true, false}, Row{MPR_HANDLE_SIZED, 0, true, false},
                             Row{MPR_HANDLE_DEPENDENT, MPR_HANDLE_STRONG, false, false},
                             Row{MPR_HANDLE_REFCOUNTED, 0, false, false}, Row{MPR_HANDLE_REFCOUNTED, 1, true, false},
                             Row{MPR_HANDLE_REFCOUNTED, -1, false, false},
                             Row{MPR_HANDLE_VARIABLE, MPR_HANDLE_WEAK_SHORT, false, false},
                             Row{MPR_HANDLE_VARIABLE, MPR_HANDLE_WEAK_LONG, false, true},
                             Row{MPR_HANDLE_VARIABLE, MPR_HANDLE_STRONG, true, false});
    const Slot slot = slotWith(row.further);
    CHECK(isStrong(row.type, &slot) == row.strong);
    CHECK(isLong(row.type, &slot) == row.isLong);
}

TEST_CASE("every type belongs to one set at most", "[gc][handle]") {
    using namespace mpr::gc;
    CHECK((strongTypes & weakTypes) == 0);
    CHECK((sizedType & (strongTypes | weakTypes)) == 0);
    CHECK((strongTypes | weakTypes | sizedType) == anyType);
}

TEST_CASE("the head of what a handle refers to is that of a block, pinned or not, and of nothing else",
          "[gc][handle][pinned]") {
    Runtime runtime;
    const MprHandle handle = mprCreateHandle(MPR_HANDLE_STRONG, nullptr); // opens the store
    auto block = static_cast<char *>(mprAlloc(100));
    CHECK(mpr::gc::headOf(block) != 0);
    CHECK(mpr::gc::headOf(block + 1) == 0);
    CHECK(mpr::gc::headOf(block + 16) == 0);
    CHECK(mpr::gc::headOf(nullptr) == 0);
    CHECK(mpr::gc::headOf(&runtime) == 0);
    mprFree(block);
    mprDestroyHandle(handle);
}
