// SPDX-License-Identifier: MIT
/*
    mpr/cpp/detail/reference.hpp - What Member, Root and Held have in common. Not part of the API.

    Each is made from and assigned a plain pointer or any of the others, to the same type or a base of it.

    A managed reference points to the start of a block. A base that does not stand at the start of the object has an
    address that the collector would not know; such a conversion ends the program rather than lose the object. For
    non-virtual bases the compiler decides the check, and nothing is left of it.
 */
#ifndef MPR_CPP_DETAIL_REFERENCE_HPP
#define MPR_CPP_DETAIL_REFERENCE_HPP

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace mpr {

template <class T>
class Member;
template <class T>
class Root;
template <class T>
class Held;

namespace detail {

template <class R>
inline constexpr bool isReference = false;
template <class T>
inline constexpr bool isReference<Member<T>> = true;
template <class T>
inline constexpr bool isReference<Root<T>> = true;
template <class T>
inline constexpr bool isReference<Held<T>> = true;

/** R is a Member, Root or Held whose target can be referred to by a T*. */
template <class R, class T>
concept ReferenceTo = isReference<R> && std::convertible_to<typename R::element_type*, T*>;

/** A U* becomes a T*, and T is another type. */
template <class U, class T>
concept UpcastTo = !std::same_as<U, T> && std::convertible_to<U*, T*>;

[[noreturn]] inline void interiorReference() noexcept {
    std::fputs("mpr error: a managed reference to a base class that is not at the start of the object\n", stderr);
    std::abort();
}

template <class T, class U>
T* upcast(U* ref) noexcept {
    T* const base = ref;
    if (static_cast<const volatile void*>(base) != static_cast<const volatile void*>(ref)) [[unlikely]] {
        interiorReference();
    }
    return base;
}

} // namespace detail
} // namespace mpr

#endif /* MPR_CPP_DETAIL_REFERENCE_HPP */
