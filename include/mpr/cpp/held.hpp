// SPDX-License-Identifier: MIT
/*
    mpr/cpp/held.hpp - Keep one block, not what it references.
 */
#ifndef MPR_CPP_HELD_HPP
#define MPR_CPP_HELD_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/reference.hpp"

#include <type_traits>
#include <utility>

namespace mpr {

/**
    Keeps one block while it exists, or holds nullptr. It does not keep what the block references: use it for buffers,
    strings and other leaves, above all those that foreign code uses while this thread is yielded. For objects with members use
    Root.

    The target is the start of a block, as for Member. Holds nest: several Held of one block are fine.

    Threads: attached threads, yielded or not; one Held is used by one thread at a time. Yields: never.
    Cost: a hold and a release, constant time; a copy and an assignment, too.
 */
template <class T>
class Held {
public:
    using element_type = T;

    Held() noexcept = default;
    Held(T* ref) noexcept : ref_(ref) { mprHold(ref_); }
    template <detail::UpcastTo<T> U>
    Held(U* ref) noexcept : Held(detail::upcast<T>(ref)) {}
    Held(const Held& other) noexcept : Held(other.ref_) {}
    template <detail::ReferenceTo<T> R>
    Held(const R& other) noexcept : Held(detail::upcast<T>(other.get())) {}
    /** Leaves nullptr behind. */
    Held(Held&& other) noexcept : ref_(std::exchange(other.ref_, nullptr)) {}

    ~Held() {
        if (ref_) {
            mprRelease(ref_);
        }
    }

    Held& operator=(Held other) noexcept {
        swap(other);
        return *this;
    }

    T* get() const noexcept { return ref_; }
    /** Also what makes tests, comparisons, and subscripts of arrays work. */
    operator T*() const noexcept { return ref_; }
    T* operator->() const noexcept { return ref_; }
    std::add_lvalue_reference_t<T> operator*() const noexcept { return *ref_; }

    void swap(Held& other) noexcept { std::swap(ref_, other.ref_); }
    friend void swap(Held& a, Held& b) noexcept { a.swap(b); }

private:
    T* ref_ = nullptr;
};

} // namespace mpr

#endif /* MPR_CPP_HELD_HPP */
