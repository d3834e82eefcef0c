// SPDX-License-Identifier: MIT
/*
    mpr/cpp/copy.hpp - Copy strings and plain data into managed memory.
 */
#ifndef MPR_CPP_COPY_HPP
#define MPR_CPP_COPY_HPP

#include "mpr/cpp/detail/c_api.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace mpr {

/**
    A managed copy of text, NUL-terminated; NUL characters within are copied, too.
    @return A leaf block, safe until this thread yields, longer if rooted or held; nullptr when memory fails.
    Threads: attached. Yields: never. Cost: one allocation and the copying.
 */
[[nodiscard]] inline char* clone(std::string_view text) noexcept {
    char* const copied = static_cast<char*>(mprAlloc(text.size() + 1));
    if (copied) [[likely]] {
        if (!text.empty()) {
            std::memcpy(copied, text.data(), text.size());
        }
        copied[text.size()] = '\0';
    }
    return copied;
}

/**
    A managed copy of elements that are plain data.

        std::span<int> mine = mpr::copy(std::span(numbers));

    @param source Elements of a trivially copyable type. Pointers among them reference nothing afterwards: the copy is a
    leaf block.
    @return The copy; data() is the block, and nullptr when memory fails.
    Threads: attached. Yields: never. Cost: one allocation and the copying.
 */
template <class T, std::size_t N>
[[nodiscard]] std::span<std::remove_const_t<T>> copy(std::span<T, N> source) noexcept {
    using Element = std::remove_const_t<T>;
    static_assert(std::is_trivially_copyable_v<Element>,
                  "mpr::copy: elements are copied as bytes, so they must be trivially copyable");
    static_assert(alignof(Element) <= 2 * sizeof(void*),
                  "mpr::copy: blocks are aligned to two pointers, and this type wants more");
    void* const block = mprAlloc(source.size_bytes());
    if (!block) [[unlikely]] {
        return {};
    }
    if (!source.empty()) {
        std::memcpy(block, source.data(), source.size_bytes());
    }
    return {static_cast<Element*>(block), source.size()};
}

/** A managed copy of anything that a span of T views: `mpr::copy<int>(vector)`. */
template <class T>
[[nodiscard]] std::span<T> copy(std::span<const T> source) noexcept {
    return copy<const T, std::dynamic_extent>(source);
}

} // namespace mpr

#endif /* MPR_CPP_COPY_HPP */
