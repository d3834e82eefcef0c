// SPDX-License-Identifier: MIT
/*
    mpr/cpp/make.hpp - Make managed objects.
 */
#ifndef MPR_CPP_MAKE_HPP
#define MPR_CPP_MAKE_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/manage.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace mpr {

namespace detail {

// Fields of an aggregate that are left out are value-initialised. Programs that have warnings for their own are told nothing.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

template <class T, class... Args>
constexpr bool constructsNoexcept() {
    if constexpr (std::is_constructible_v<T, Args...>) {
        return std::is_nothrow_constructible_v<T, Args...>;
    } else {
        return noexcept(T{std::declval<Args>()...});
    }
}

template <class T, class... Args>
T* construct(void* block, Args&&... args) noexcept(constructsNoexcept<T, Args...>()) {
    if constexpr (std::is_constructible_v<T, Args...>) {
        return ::new (block) T(std::forward<Args>(args)...);
    } else {
        return ::new (block) T{std::forward<Args>(args)...}; // aggregates, for compilers that need the braces
    }
}

#pragma GCC diagnostic pop

/** Make a T in a block of so many bytes. */
template <class T, class... Args>
[[nodiscard]] T* makeIn(std::size_t bytes, Args&&... args) {
    checkManageable<T>();
    constexpr bool guarded = !constructsNoexcept<T, Args...>();
    constexpr MprManager complete = completeManager<T>;
    nameManager<T, T, complete>();
    void* const block = allocate<T, guarded>(bytes, guarded ? manageBuilding<T> : complete);
    if (!block) [[unlikely]] {
        return nullptr;
    }
    if constexpr (guarded) {
        Building building(block);
        T* const object = construct<T>(block, std::forward<Args>(args)...);
        if constexpr (destroyed<T>) {
            mprSetManager(block, complete);
        }
        building.complete();
        return object;
    } else {
        return construct<T>(block, std::forward<Args>(args)...);
    }
}

} // namespace detail

/**
    Make a managed T.

        Node* node = mpr::make<Node>(1, "one");

    @param args For the constructor, or the fields of an aggregate. Without any the object is value-initialised.
    @return The object, safe until this thread yields, longer if rooted. nullptr when memory fails: the notifier of
    mpr/limits.h has then been called, the constructor has not.

    Tracing. When T is Traceable T::trace says what it references; a Member and a container of Members are traced, too.
    Any other T references nothing, whatever pointers it holds. A T that has Members and no trace function, or one that
    is private, misspelt or has another parameter, does not compile as far as the compiler can tell. Where it cannot, in
    classes with constructors, a collection that finds a reference in such an object names the type; option check=fields
    (mpr/runtime.h) sees what even that does not.

    Destruction. The destructor, unless trivial, runs exactly once, when the object is found dead or mprFree'd, at the
    latest with the end of the runtime. It runs on the collector's thread while the application runs, or on the thread
    that calls mprFree; it may lock and allocate. Objects that die together are destroyed in any order: read nothing
    through a Member there. It must not store `this` anywhere.

    Construction. A constructor that throws destroys what it had built; the block is freed at once, ~T does not run, and
    the exception reaches the caller. A constructor may yield, by waiting for something, for example. A collection then
    keeps the object and what it references so far, calls trace on it (fields not constructed yet are zero), and does
    not destroy it. A constructor that is noexcept is assumed not to yield, and its object is not zeroed before. If it
    does yield, all fields that trace looks at must have their values, and a `Root<T> self(this)` must exist meanwhile.
    Destructors that run because a constructor threw must not yield.

    Threads: attached. Yields: never by itself. Cost: one allocation, constant time. An object that is neither traced
    nor destroyed is a leaf without any overhead, others take one word for the manager. A constructor that is not
    noexcept costs the linking and unlinking of a root.
 */
template <class T, class... Args>
[[nodiscard]] T* make(Args&&... args) {
    return detail::makeIn<T>(sizeof(T), std::forward<Args>(args)...);
}

/**
    Make a managed T with room behind it, in the same block: a header and its text, say.

        struct Line {
            std::size_t length;
            char* text() { return mpr::roomBehind(this); }
        };
        Line* line = mpr::makeWithRoom<Line>(length, length);

    @param room Bytes behind the object, for data that references nothing; their contents are undefined at first.
    @return As make; nullptr also when there is no such block. All that make says holds.
 */
template <class T, class... Args>
[[nodiscard]] T* makeWithRoom(std::size_t room, Args&&... args) {
    constexpr std::size_t greatest = static_cast<std::size_t>(PTRDIFF_MAX);
    return detail::makeIn<T>(room <= greatest - sizeof(T) ? sizeof(T) + room : greatest, std::forward<Args>(args)...);
}

/** The first byte behind an object of makeWithRoom<T>. T is the whole object's type: behind a base class of it there is
    the rest of the object. */
template <class T>
char* roomBehind(T* object) noexcept {
    return reinterpret_cast<char*>(object + 1);
}
template <class T>
const char* roomBehind(const T* object) noexcept {
    return reinterpret_cast<const char*>(object + 1);
}

} // namespace mpr

#endif /* MPR_CPP_MAKE_HPP */
