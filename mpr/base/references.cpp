// SPDX-License-Identifier: MIT
/*
    references.cpp - Arrays of references: allocation, marking, and stores by the hundred.
 */
#include "mpr/base/references.hpp"

#include <climits>
#include <cstring>

#include "mpr/gc/census.hpp"
#include "mpr/heap/region.hpp"

namespace mpr::base {

namespace {
void manageReferences(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, mprGetBlockSize(ptr) / sizeof(void*));
    }
}
const mpr::gc::ManagerName namedReferences(manageReferences, "items of lists, hashes");
} // namespace

References allocateReferences(int count, bool marked) {
    const auto wanted = static_cast<std::size_t>(count);
    if (count < 0 || wanted > SIZE_MAX / sizeof(void*)) {
        return {};
    }
    const std::size_t size = wanted * sizeof(void*);
    void* block = marked ? mprAllocManaged(size, manageReferences, referring) : mprAlloc(size);
    if (!block) {
        return {};
    }
    const std::size_t room = mprGetBlockSize(block);
    std::memset(block, 0, room);
    const std::size_t capacity = room / sizeof(void*);
    return {static_cast<void**>(block), capacity < INT_MAX ? static_cast<int>(capacity) : INT_MAX};
}

bool takesMany(void** array) {
    return mprBarrierDone(array) || mprGetBlockSize(array) < heap::greatestSmall << heap::granuleShift;
}

void storedMany(void** array) {
    mprSetRef(array, array, *array); // a small block is logged as a whole
}

void moveReferences(void** array, int to, int from, int count) {
    if (!takesMany(array)) {
        return mprSetRefs(array, array + to, array + from, static_cast<std::size_t>(count));
    }
    moveUntold(array, to, from, count);
    storedMany(array);
}

void moveUntold(void** array, int to, int from, int count) {
    if (to < from) {
        for (int i = 0; i < count; ++i) {
            storeReference(array + to + i, array[from + i]);
        }
    } else {
        for (int i = count; i-- > 0;) {
            storeReference(array + to + i, array[from + i]);
        }
    }
}

} // namespace mpr::base
