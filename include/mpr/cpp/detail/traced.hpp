// SPDX-License-Identifier: MIT
/*
    mpr/cpp/detail/traced.hpp - Which types reference managed memory. Not part of the API.

    A type is traced when it has a trace function, is a Member, or is a pair or a range of traced types. Plain pointers
    are not: nobody knows whether they are managed.
 */
#ifndef MPR_CPP_DETAIL_TRACED_HPP
#define MPR_CPP_DETAIL_TRACED_HPP

#include "mpr/cpp/member.hpp"

#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace mpr {

class Marker;

namespace detail {

template <class T>
concept HasTrace = requires(T& object, Marker& marker) {
    object.trace(marker);
};

/* A class derived from T and TraceName has an ambiguous `trace` if T has one, accessible or not. */
struct TraceName {
    int trace;
};
template <class T>
struct WithTraceName : T, TraceName {};

template <class T>
concept NamesNoTrace = requires {
    &WithTraceName<T>::trace;
};

/** A function that happens to be called trace, of a matrix for example, is not ours. */
template <class T>
concept OffersTrace = requires {
    &T::trace;
};

/** T has a member called trace that cannot be seen from here: most probably a trace function that should be public. */
template <class T>
constexpr bool hidesTrace() {
    if constexpr (std::is_class_v<T> && !std::is_final_v<T> && !HasTrace<T>) {
        return !NamesNoTrace<T> && !OffersTrace<T>;
    } else {
        return false;
    }
}

template <class T>
inline constexpr bool isMember = false;
template <class T>
inline constexpr bool isMember<Member<T>> = true;

template <class T>
inline constexpr bool isPair = false;
template <class A, class B>
inline constexpr bool isPair<std::pair<A, B>> = true;

template <class T>
inline constexpr bool isSpan = false;
template <class T, std::size_t N>
inline constexpr bool isSpan<std::span<T, N>> = true;

template <class T>
concept Range = requires(T& range) {
    *std::begin(range);
    std::end(range);
};

template <Range T>
using Element = std::remove_reference_t<decltype(*std::begin(std::declval<T&>()))>;

/** Members one behind the other: a C array, a vector, a span of them. */
template <class T>
inline constexpr bool isRowOfMembers = [] {
    if constexpr (Range<T>) {
        if constexpr (requires(T & range) {
                          { std::data(range) } -> std::convertible_to<const volatile void*>;
                          std::size(range);
                      }) {
            return isMember<std::remove_cv_t<Element<T>>>;
        }
    }
    return false;
}();

/* Arguments may be const: the trace function of a const object is another. */
template <class T>
constexpr bool isTraced() {
    using Plain = std::remove_cv_t<T>;
    if constexpr (isMember<Plain> || HasTrace<T>) {
        return true;
    } else if constexpr (isPair<Plain>) {
        return isTraced<typename Plain::first_type>() || isTraced<typename Plain::second_type>();
    } else if constexpr (Range<T>) {
        // A range of itself (a path, a document tree) has no members at its bottom.
        if constexpr (std::same_as<std::remove_cv_t<Element<T>>, Plain>) {
            return false;
        } else {
            return isTraced<Element<T>>();
        }
    } else {
        return false;
    }
}

} // namespace detail
} // namespace mpr

#endif /* MPR_CPP_DETAIL_TRACED_HPP */
