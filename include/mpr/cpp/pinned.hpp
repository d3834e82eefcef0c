// SPDX-License-Identifier: MIT
/*
    mpr/cpp/pinned.hpp - Arrays in pinned memory (mpr/pinned.h), of types that reference nothing.
 */
#ifndef MPR_CPP_PINNED_HPP
#define MPR_CPP_PINNED_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/manage.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace mpr {

namespace detail {
template <class T>
constexpr void checkPinnable() {
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                  "mpr::makePinnedArray<T>: T must be one object that may be written to");
    static_assert(alignof(T) <= 4096, "mpr::makePinnedArray<T>: T wants to be aligned to more than 4096");
    static_assert(!std::is_pointer_v<T>, "mpr::makePinnedArray<T>: T is a pointer, and pinned memory is not traced");
    constexpr bool references = isTraced<T>() || hidesTrace<T>() || hasMembers<T>() == HasMembers::yes;
    static_assert(!references, "mpr::makePinnedArray<T>: T has references, and pinned memory is not traced");
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "mpr::makePinnedArray<T>: T must be trivially copyable, as no destructor runs");
}
} // namespace detail

/**
    Make an array in pinned memory.

        std::span<float> samples = mpr::makePinnedArray<float>(1024, 64);

    @param count Elements. They are value-initialised. @param alignment As mprAllocPinned, and at least that of T.
    @param range The name of a range (mprAddPinnedRange); nullptr: memory from the system.
    @return The elements, safe until this thread yields, longer if their first is referenced; empty when memory fails
    or count is 0.

    T is no pointer, has no mpr::Member, mpr::Root or mpr::Weak in it, and no destructor, else this does not compile. Plain
    pointers within a struct are not seen: they must not be what keeps a block, since pinned memory is not traced.
    Threads: attached. Yields: never.
 */
template <class T>
[[nodiscard]] std::span<T> makePinnedArray(std::size_t count, std::size_t alignment = 0, const char* range = nullptr) {
    detail::checkPinnable<T>();
    if (count == 0) {
        return {};
    }
    const std::size_t greatest = static_cast<std::size_t>(PTRDIFF_MAX);
    const std::size_t bytes = count <= greatest / sizeof(T) ? count * sizeof(T) : greatest;
    const std::size_t least = alignof(T) > 16 ? alignof(T) : 16;
    alignment = alignment == 0 ? least : alignment;
    void* const block = range ? mprAllocPinnedIn(range, bytes, alignment < least ? least : alignment, 0)
                              : mprAllocPinned(bytes, alignment < least ? least : alignment, 0);
    if (!block) {
        return {};
    }
    T* const first = static_cast<T*>(block);
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
}

} // namespace mpr

#endif /* MPR_CPP_PINNED_HPP */
