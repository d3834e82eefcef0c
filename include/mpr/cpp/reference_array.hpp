// SPDX-License-Identifier: MIT
/*
    mpr/cpp/reference_array.hpp - A managed array of references of fixed size, its barrier included.
 */
#ifndef MPR_CPP_REFERENCE_ARRAY_HPP
#define MPR_CPP_REFERENCE_ARRAY_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/check.hpp"
#include "mpr/cpp/detail/reference.hpp"
#include "mpr/cpp/detail/untraced.hpp"

#include <cstddef>
#include <cstdint>
#include <new>

namespace mpr {

/**
    A row of references to managed objects, in one block, that keeps its targets alive:

        mpr::Root<mpr::Array<Node>> ring = mpr::Array<Node>::make(200000);
        ring->set(7, node);

    For long rows that change often, in place of makeArray<Member<T>>: a store knows its owner, so that it costs what
    mprSetRef costs, and the collector looks again only at fields that were written.

    Threads: attached ones. A slot may be read and set by several at once: each access is atomic, and what a reader
    finds was complete before it was set. Yields: never.
 */
template <class T>
class Array {
public:
    /** @param count References, all nullptr at first. @return nullptr when memory fails. */
    [[nodiscard]] static Array* make(std::size_t count) noexcept {
        if (count > (static_cast<std::size_t>(PTRDIFF_MAX) - sizeof(Array)) / sizeof(T*)) {
            return nullptr;
        }
        static_cast<void>(&detail::Named<Array, manage>::done);
        void* const block = mprAllocManaged(sizeof(Array) + count * sizeof(T*), manage,
                                            MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE);
        return block ? ::new (block) Array(count) : nullptr;
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

    std::size_t size() const noexcept { return size_; }
    T* get(std::size_t i) const noexcept {
        detail::check(i < size_);
        return static_cast<T*>(__atomic_load_n(slots() + i, __ATOMIC_ACQUIRE));
    }
    T* operator[](std::size_t i) const noexcept { return get(i); }
    void set(std::size_t i, T* ref) noexcept {
        detail::check(i < size_);
        mprSetRef(this, slots() + i, const_cast<const void*>(static_cast<const volatile void*>(ref)));
    }
    template <detail::UpcastTo<T> U>
    void set(std::size_t i, U* ref) noexcept {
        set(i, detail::upcast<T>(ref));
    }
    template <detail::ReferenceTo<T> R>
    void set(std::size_t i, const R& ref) noexcept {
        set(i, detail::upcast<T>(ref.get()));
    }

private:
    explicit Array(std::size_t count) noexcept : size_(count) {}

    void** slots() const noexcept { return reinterpret_cast<void**>(const_cast<Array*>(this) + 1); }

    static void manage(void* ptr, int flags) noexcept {
        if (flags & MPR_MANAGE_MARK) {
            auto* const array = static_cast<Array*>(ptr);
            mprMarkRefs(array->slots(), array->size_);
        }
    }

    const std::size_t size_; // the references stand behind it
};

} // namespace mpr

#endif /* MPR_CPP_REFERENCE_ARRAY_HPP */
