// SPDX-License-Identifier: MIT
/*
    mpr/cpp/member.hpp - A managed reference inside a managed object.
 */
#ifndef MPR_CPP_MEMBER_HPP
#define MPR_CPP_MEMBER_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/reference.hpp"

#include <compare>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace mpr {

/**
    A reference from one managed object to another, or nullptr. It behaves and costs as a T*, and it keeps its target
    alive as long as its owner lives and the owner's trace hands it to the marker:

        struct Node {
            mpr::Member<Node> left, right;
            mpr::Member<char> name;
            void trace(mpr::Marker& marker) { marker(left, right, name); }
        };

    Every field of a managed object that refers to managed memory and is written after construction, or after its
    constructor has yielded, must be a Member, not a T*: an assignment tells the collector what changed, by the write
    barrier (mpr/barrier.h). Elsewhere, on the stack and in globals, use T* or Root.

    The target is the start of a block: what make, makeArray, clone, copy or the C API returned. T may be incomplete
    and may be a base of the object, if that base stands at the object's start; a conversion to any other base ends the
    program with a message.

    Threads: attached threads; two threads that use one Member at the same time synchronise as for a T*.
    Yields: never. Size: one pointer. Trivially destructible.
 */
template <class T>
class Member {
public:
    using element_type = T;

    constexpr Member() noexcept : ref_(nullptr) {}
    Member(T* ref) noexcept { write(ref); }
    template <detail::UpcastTo<T> U>
    Member(U* ref) noexcept {
        write(detail::upcast<T>(ref));
    }

    Member(const Member& other) noexcept { write(other.get()); }
    template <detail::ReferenceTo<T> R>
    Member(const R& other) noexcept {
        write(detail::upcast<T>(other.get()));
    }
    /** Leaves nullptr behind. */
    Member(Member&& other) noexcept { write(other.take()); }

    ~Member() = default;

    Member& operator=(T* ref) noexcept {
        write(ref);
        return *this;
    }
    template <detail::UpcastTo<T> U>
    Member& operator=(U* ref) noexcept {
        write(detail::upcast<T>(ref));
        return *this;
    }
    Member& operator=(const Member& other) noexcept {
        write(other.get());
        return *this;
    }
    template <detail::ReferenceTo<T> R>
    Member& operator=(const R& other) noexcept {
        write(detail::upcast<T>(other.get()));
        return *this;
    }
    Member& operator=(Member&& other) noexcept {
        write(other.take());
        return *this;
    }

    T* get() const noexcept { return ref_; }
    /** Also what makes tests, comparisons, and subscripts of arrays work. */
    operator T*() const noexcept { return ref_; }
    T* operator->() const noexcept { return ref_; }
    std::add_lvalue_reference_t<T> operator*() const noexcept { return *ref_; }

    void swap(Member& other) noexcept {
        T* const mine = get();
        write(other.get());
        other.write(mine);
    }
    friend void swap(Member& a, Member& b) noexcept { a.swap(b); }

private:
    T* take() noexcept {
        T* const ref = get();
        write(nullptr);
        return ref;
    }

    /* The only place that writes: the write barrier's. Atomic, since the collector may be reading. */
    void write(T* ref) noexcept {
        if (ref) {
            mprSetRefAt(&ref_, const_cast<const void*>(static_cast<const volatile void*>(ref)));
        } else {
            __atomic_store_n(&ref_, ref, __ATOMIC_RELAXED);
        }
    }

    T* ref_; // by every constructor, once
};

} // namespace mpr

/** By address: blocks do not move. */
template <class T>
struct std::hash<mpr::Member<T>> {
    std::size_t operator()(const mpr::Member<T>& member) const noexcept { return std::hash<T*>()(member.get()); }
};

#endif /* MPR_CPP_MEMBER_HPP */
