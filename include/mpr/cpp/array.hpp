// SPDX-License-Identifier: MIT
/*
    mpr/cpp/array.hpp - Make managed arrays.
 */
#ifndef MPR_CPP_ARRAY_HPP
#define MPR_CPP_ARRAY_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/make.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

namespace mpr {

namespace detail {

/**
    Managers of a block of several T. The block's last usable word counts the elements whose construction has begun;
    all of them are marked, and all of a complete array are destroyed.
 */
template <class T>
struct ArrayOf {
    static constexpr bool counted = isTraced<T>() || destroyed<T>;

    /** Bytes for count elements; more than any heap has when they cannot be expressed. */
    static constexpr std::size_t bytes(std::size_t count) noexcept {
        constexpr std::size_t greatest = static_cast<std::size_t>(PTRDIFF_MAX);
        constexpr std::size_t extra = counted ? sizeof(std::size_t) : 0;
        return count <= (greatest - extra) / sizeof(T) ? count * sizeof(T) + extra : greatest;
    }

    static void setCount(void* block, std::size_t usable, std::size_t count) noexcept {
        std::memcpy(static_cast<std::byte*>(block) + usable - sizeof(count), &count, sizeof(count));
    }

    static std::span<T> elements(void* block) noexcept {
        std::size_t count;
        std::memcpy(&count, static_cast<std::byte*>(block) + mprGetBlockSize(block) - sizeof(count), sizeof(count));
        return {static_cast<T*>(block), count};
    }

    static void manageBuilding([[maybe_unused]] void* ptr, [[maybe_unused]] int flags) noexcept {
        if constexpr (isTraced<T>()) {
            if (flags & MPR_MANAGE_MARK) {
                if constexpr (isMember<T>) {
                    const std::span<T> row = elements(ptr);
                    mprMarkRefs(row.data(), row.size());
                } else {
                    for (T& element : elements(ptr)) {
                        Tracing<T>::trace(element);
                    }
                }
            }
        } else if constexpr (suspect<T>) {
            if (flags & MPR_MANAGE_MARK) {
                watch<T>(ptr, mprGetBlockSize(ptr));
            }
        }
    }

    static void manageComplete(void* ptr, int flags) noexcept {
        manageBuilding(ptr, flags);
        if (flags & MPR_MANAGE_FREE) {
            for (T& element : elements(ptr)) {
                destroyObject(element);
            }
        }
    }
};

/** Builds an array in a block; when an exception ends the scope, destroys what was built and frees the block. */
template <class T>
class BuildingArray {
public:
    explicit BuildingArray(void* block) noexcept : building_(block), first_(static_cast<T*>(block)) { begin(0); }
    ~BuildingArray() {
        while (built_ > 0) {
            begin(--built_);
            destroyObject(first_[built_]);
        }
    }
    BuildingArray(const BuildingArray&) = delete;
    BuildingArray& operator=(const BuildingArray&) = delete;

    void build(std::size_t count) {
        for (std::size_t done = 0; done < count; built_ = ++done) {
            begin(done + 1);
            ::new (static_cast<void*>(first_ + done)) T();
        }
        if constexpr (destroyed<T>) {
            mprSetManager(first_, ArrayOf<T>::manageComplete);
        }
        building_.complete();
        built_ = 0;
    }

private:
    void begin(std::size_t count) noexcept {
        if constexpr (ArrayOf<T>::counted) {
            ArrayOf<T>::setCount(first_, usable_, count);
        }
    }

    Building building_;
    T* const first_;
    const std::size_t usable_ = ArrayOf<T>::counted ? mprGetBlockSize(first_) : 0;
    std::size_t built_ = 0;
};

} // namespace detail

/**
    Make a managed array of value-initialised elements, in one block.

        auto children = mpr::makeArray<mpr::Member<Node>>(4);

    @param count Elements, 0 included.
    @return The elements; data() is the block: root, hold and mark that, for example in a `Member<T>` next to the count.
    data() is nullptr when memory fails or the array is larger than memory can be.

    Elements that are Members or Traceable are traced. Plain pointers as elements reference nothing. Destructors of
    elements, unless trivial, run as those of single objects, in order of the elements. If a
    constructor throws, the elements built so far are destroyed, last first, and the block is freed. What make says of
    constructors that yield holds for those of elements. The array must not be resized by mprRealloc.

    Threads: attached. Yields: never by itself. Cost: one allocation; one word more than the elements if they are traced
    or destroyed, besides the word for the manager.
 */
template <class T>
[[nodiscard]] std::span<T> makeArray(std::size_t count) {
    detail::checkManageable<T>();
    using Array = detail::ArrayOf<T>;
    constexpr bool guarded = !std::is_nothrow_default_constructible_v<T>;
    constexpr MprManager complete = detail::destroyed<T> ? Array::manageComplete : Array::manageBuilding;
    detail::nameManager<T, T[], complete>();
    void* const block = detail::allocate<T, guarded>(Array::bytes(count), guarded ? Array::manageBuilding : complete);
    if (!block) [[unlikely]] {
        return {};
    }
    if constexpr (guarded) {
        detail::BuildingArray<T>(block).build(count);
    } else {
        if constexpr (Array::counted) {
            Array::setCount(block, mprGetBlockSize(block), count);
        }
        std::uninitialized_value_construct_n(static_cast<T*>(block), count);
    }
    return {static_cast<T*>(block), count};
}

} // namespace mpr

#endif /* MPR_CPP_ARRAY_HPP */
