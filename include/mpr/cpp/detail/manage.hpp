// SPDX-License-Identifier: MIT
/*
    mpr/cpp/detail/manage.hpp - Managers of C++ types, and blocks under construction. Not part of the API.

    A block is in one of two states:
      building   Its manager marks, if T is traced, and never destroys. It is linked as a root if its construction may
                 yield or throw; a collection then keeps it with all that it references so far.
      complete   Its manager marks and destroys, as T needs. Types without a destructor to run never change manager.
 */
#ifndef MPR_CPP_DETAIL_MANAGE_HPP
#define MPR_CPP_DETAIL_MANAGE_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/untraced.hpp"
#include "mpr/cpp/marker.hpp"

#include <atomic>
#include <cstddef>
#include <type_traits>

namespace mpr::detail {

/** Everything but trace functions that lie: all references stand in the object itself. */
template <class T>
inline constexpr bool tracedInside = isMember<T> || HasTrace<T>;

template <class T>
constexpr void checkManageable() {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>,
                  "mpr::make<T>: T must be one object; for a row of them there is mpr::makeArray");
    static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>,
                  "mpr::make<T>: make it without const, then refer to it as const");
    static_assert(alignof(T) <= 2 * sizeof(void*),
                  "mpr::make<T>: blocks are aligned to two pointers, and T wants more");
    static_assert(std::is_nothrow_destructible_v<T>,
                  "mpr::make<T>: the collector destroys, so T's destructor must be public and noexcept");
    static_assert(!hidesTrace<T>(), "the collector traces: the trace function must be public");
    if constexpr (!isTraced<T>()) {
        static_assert(!tracesWrongly<T>(), "mpr::make<T>: T's trace function must be trace(mpr::Marker&)");
        static_assert(!misspellsTrace<T>(), "mpr::make<T>: T has a function that takes an mpr::Marker, but no "
                                            "trace(mpr::Marker&)");
        static_assert(hasMembers<T>() != HasMembers::yes, "mpr::make<T>: T has members of type mpr::Member but no "
                                                          "trace(mpr::Marker&)");
    }
}

/** Access to Marker's constructor. */
template <class T>
struct Tracing {
    static void trace(T& object) {
        Marker marker;
        marker(object);
    }
};

template <class T>
void destroyObject(T& object) noexcept {
    if constexpr (destroyed<T>) {
        object.T::~T();
    }
}

/** Managers of a single T. */
template <class T>
void manageBuilding([[maybe_unused]] void* ptr, [[maybe_unused]] int flags) noexcept {
    if constexpr (isTraced<T>()) {
        if (flags & MPR_MANAGE_MARK) {
            Tracing<T>::trace(*static_cast<T*>(ptr));
        }
    } else if constexpr (suspect<T>) {
        if (flags & MPR_MANAGE_MARK) {
            watch<T>(ptr, sizeof(T));
        }
    }
}

template <class T>
void manageComplete(void* ptr, int flags) noexcept {
    manageBuilding<T>(ptr, flags);
    if (flags & MPR_MANAGE_FREE) {
        destroyObject(*static_cast<T*>(ptr));
    }
}

/** The manager of a T that is complete, unless it is a leaf. */
template <class T>
inline constexpr MprManager completeManager = destroyed<T> ? manageComplete<T> : manageBuilding<T>;

/** No code runs here: `done` is used. A T that is a leaf has no manager. Whole is T, or an array of it. */
template <class T, class Whole, MprManager manager>
constexpr void nameManager() noexcept {
    if constexpr (isTraced<T>() || destroyed<T> || suspect<T>) {
        static_cast<void>(&Named<Whole, manager>::done);
    }
}

/** A block for a T, or for several, with the manager given; zeroed when it may be traced before it is complete. */
template <class T, bool guarded>
void* allocate(std::size_t size, [[maybe_unused]] MprManager manager) noexcept {
    if constexpr (isTraced<T>()) {
        // A type with a destructor may keep references in memory of its own, as a vector does, where no barrier sees stores.
        constexpr int kind = !destroyed<T> && tracedInside<T> ? MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE : 0;
        return mprAllocManaged(size, manager, MPR_ALLOC_MANAGER | (guarded ? MPR_ALLOC_ZERO : 0) | kind);
    } else if constexpr (destroyed<T>) {
        return mprAllocManaged(size, manager, MPR_ALLOC_MANAGER | MPR_ALLOC_BARRIER);
    } else if constexpr (suspect<T>) {
        // Zeroed: what stood there before might look like a reference.
        return mprAllocManaged(size, manager,
                               MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE);
    } else {
        return mprAlloc(size);
    }
}

/** Roots a block while it is built; frees it, undestroyed, when an exception ends the scope. */
class Building {
public:
    explicit Building(void* block) noexcept : ref_{nullptr, nullptr, nullptr} {
        mprLinkRootRef(&ref_); // publishes nothing: a yield in the constructor keeps all
        ref_.ptr = block;
        mprCountBuilding(1);
        // A collection during construction reads what the allocation has zeroed: those stores must be done.
        std::atomic_signal_fence(std::memory_order_release);
    }
    ~Building() {
        mprCountBuilding(-1);
        mprUnlinkRootRef(&ref_);
        if (!complete_) {
            mprFree(ref_.ptr);
        }
    }
    Building(const Building&) = delete;
    Building& operator=(const Building&) = delete;

    void complete() noexcept { complete_ = true; }

private:
    MprRootRef ref_;
    bool complete_ = false;
};

} // namespace mpr::detail

#endif /* MPR_CPP_DETAIL_MANAGE_HPP */
