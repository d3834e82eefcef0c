// SPDX-License-Identifier: MIT
/*
    mpr/cpp/root.hpp - A reference outside the heap that keeps what it points to.
 */
#ifndef MPR_CPP_ROOT_HPP
#define MPR_CPP_ROOT_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/reference.hpp"

#include <cstddef>
#include <type_traits>

namespace mpr {

/**
    A reference from outside the heap, or nullptr. While it exists, its target and all that the target reaches are
    kept. For local variables that live across a yield, and for objects that are not managed themselves.

        mpr::Root<Tree> tree = mpr::make<Tree>();
        while (work()) {
            tree->insert(next());
            mpr::yield();
        }

    Inside managed objects use Member: a Root there would keep a ring of objects for ever. A Root may exist outside the
    life of the runtime, a static one for example: it is nullptr then. mprDestroy makes it so.

    The target is the start of a block, as for Member. T may be incomplete.

    Threads: attached threads; one Root is used by one thread at a time. A thread that has yielded makes, copies, moves, swaps
    and destroys Roots; others assign as well: between an assignment to one and another over the old one, a collection that
    goes on beside the thread could see neither. Yields: never.
    Cost: construction and destruction link and unlink it, constant time; a swap and an assignment that moves do so, too, with
    a Root of their own; use and other assignments cost as a T*.
 */
template <class T>
class Root {
public:
    using element_type = T;

    Root() noexcept { link(nullptr); }
    Root(T* ref) noexcept { link(ref); }
    template <detail::UpcastTo<T> U>
    Root(U* ref) noexcept {
        link(detail::upcast<T>(ref));
    }
    Root(const Root& other) noexcept { link(other.get()); }
    template <detail::ReferenceTo<T> R>
    Root(const R& other) noexcept {
        link(detail::upcast<T>(other.get()));
    }
    /** Leaves nullptr behind. */
    Root(Root&& other) noexcept {
        link(other.get());
        other.set(nullptr);
    }

    ~Root() { mprUnlinkRootRef(&ref_); }

    Root& operator=(T* ref) noexcept {
        set(ref);
        return *this;
    }
    template <detail::UpcastTo<T> U>
    Root& operator=(U* ref) noexcept {
        set(detail::upcast<T>(ref));
        return *this;
    }
    Root& operator=(const Root& other) noexcept {
        set(other.get());
        return *this;
    }
    template <detail::ReferenceTo<T> R>
    Root& operator=(const R& other) noexcept {
        set(detail::upcast<T>(other.get()));
        return *this;
    }
    Root& operator=(Root&& other) noexcept {
        const Root kept(other.get()); // by what every collection sees that goes on beside a thread that has yielded
        other.set(nullptr);
        set(kept.get());
        return *this;
    }

    T* get() const noexcept { return static_cast<T*>(ref_.ptr); }
    /** Also what makes tests and comparisons work. */
    operator T*() const noexcept { return get(); }
    T* operator->() const noexcept { return get(); }
    std::add_lvalue_reference_t<T> operator*() const noexcept { return *get(); }

    void swap(Root& other) noexcept {
        const Root mine(get()), theirs(other.get());
        set(theirs.get());
        other.set(mine.get());
    }
    friend void swap(Root& a, Root& b) noexcept { a.swap(b); }

private:
    void set(T* ref) noexcept {
        ref_.ptr = const_cast<std::remove_cv_t<T>*>(ref);
        if (ref) {
            mprPublish(ref_.ptr);
            if (!__atomic_load_n(&ref_.next, __ATOMIC_RELAXED)) [[unlikely]] {
                mprLinkRootRef(&ref_); // made when there was no runtime
            }
        }
    }
    void link(T* ref) noexcept {
        ref_.ptr = const_cast<std::remove_cv_t<T>*>(ref);
        mprLinkRootRef(&ref_);
    }

    MprRootRef ref_{};
};

} // namespace mpr

#endif /* MPR_CPP_ROOT_HPP */
