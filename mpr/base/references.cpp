/*
    references.cpp - Arrays of references: allocation and marking.
 */
#include "mpr/base/references.hpp"

#include <climits>
#include <cstring>

#include "mpr/barrier.h"

namespace mpr::base {

namespace {
void manageReferences(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, mprGetBlockSize(ptr) / sizeof(void*));
    }
}
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

} // namespace mpr::base
