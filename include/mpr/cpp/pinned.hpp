// SPDX-License-Identifier: MIT
/*
    mpr/cpp/pinned.hpp - Arrays in pinned memory (mpr/pinned.h), of types that reference nothing.
 */
#ifndef MPR_CPP_PINNED_HPP
#define MPR_CPP_PINNED_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/manage.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace mpr {

namespace detail {
template <class T>
constexpr void checkPinnable() {
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                  "a pinned array: T must be one object that may be written to");
    static_assert(alignof(T) <= 4096, "a pinned array: T wants to be aligned to more than 4096");
    static_assert(!std::is_pointer_v<T>, "a pinned array: T is a pointer, and pinned memory is not traced");
    constexpr bool references = isTraced<T>() || hidesTrace<T>() || hasMembers<T>() == HasMembers::yes;
    static_assert(!references, "a pinned array: T has references, and pinned memory is not traced");
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "a pinned array: T must be trivially copyable, as no destructor runs");
}
/** @return The elements, value-initialised; empty when memory fails or count is 0. */
template <class T>
std::span<T> makePinned(std::size_t count, std::size_t alignment, const char* range, int flags) noexcept {
    checkPinnable<T>();
    if (count == 0) {
        return {};
    }
    constexpr std::size_t greatest = static_cast<std::size_t>(PTRDIFF_MAX);
    const std::size_t bytes = count <= greatest / sizeof(T) ? count * sizeof(T) : greatest;
    constexpr std::size_t least = alignof(T) > 16 ? alignof(T) : 16;
    // A lesser one is met; what is none is refused, and named.
    alignment = alignment == 0 || (alignment < least && std::has_single_bit(alignment)) ? least : alignment;
    T* const first = static_cast<T*>(range ? mprAllocPinnedIn(range, bytes, alignment, flags)
                                           : mprAllocPinned(bytes, alignment, flags));
    if (!first) {
        return {};
    }
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
}
} // namespace detail

/**
    Make an array in pinned memory, for a field or root to keep.

        std::span<float> samples = mpr::makePinnedArray<float>(1024, 64);

    @param count Elements. They are value-initialised. @param alignment A power of two; more than 16, as mprAllocPinned.
    @param range The name of a range (mprAddPinnedRange); nullptr: memory from the system.
    @return The elements, safe until this thread yields, longer if their first is referenced; empty when memory fails
    or count is 0.

    T is no pointer, has no mpr::Member, mpr::Root or mpr::Weak in it, and is trivially copyable, else this does not compile.
    Plain pointers within a struct are not seen: they must not be what keeps a block, since pinned memory is not traced.
    Threads: attached, running. Yields: never.
 */
template <class T>
[[nodiscard]] std::span<T> makePinnedArray(std::size_t count, std::size_t alignment = 0, const char* range = nullptr) {
    return detail::makePinned<T>(count, alignment, range, 0);
}

/**
    Owns an array in pinned memory: it is there until its owner's end, which frees it at once.

        mpr::PinnedArray<std::uint8_t> frame(1536, 64, "dma");
        receive(frame.data(), frame.size());

    Arguments and T as of makePinnedArray; empty when memory fails. Moved, not copied.
    Threads: attached, running, at both ends; it must end before the runtime does. In between any. Yields: never.
 */
template <class T>
class PinnedArray {
public:
    using value_type = T;
    using size_type = std::size_t;
    using iterator = T*;
    using const_iterator = const T*;

    PinnedArray() noexcept = default;
    explicit PinnedArray(std::size_t count, std::size_t alignment = 0, const char* range = nullptr) noexcept
        : elements_(detail::makePinned<T>(count, alignment, range, MPR_ALLOC_HOLD)) {}
    ~PinnedArray() {
        if (!empty()) {
            mprRelease(data());
            mprFree(data());
        }
    }
    PinnedArray(PinnedArray&& other) noexcept : elements_(std::exchange(other.elements_, {})) {}
    PinnedArray& operator=(PinnedArray&& other) noexcept {
        PinnedArray moved(std::move(other));
        std::swap(elements_, moved.elements_);
        return *this;
    }

    [[nodiscard]] T* data() noexcept { return elements_.data(); }
    [[nodiscard]] const T* data() const noexcept { return elements_.data(); }
    [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); }
    [[nodiscard]] bool empty() const noexcept { return elements_.empty(); }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
    [[nodiscard]] T* begin() noexcept { return data(); }
    [[nodiscard]] T* end() noexcept { return data() + size(); }
    [[nodiscard]] const T* begin() const noexcept { return data(); }
    [[nodiscard]] const T* end() const noexcept { return data() + size(); }

private:
    std::span<T> elements_;
};

/** PinnedArray, named as containers of the standard library are. */
template <class T>
using pinned_array = PinnedArray<T>;

} // namespace mpr

#endif /* MPR_CPP_PINNED_HPP */
