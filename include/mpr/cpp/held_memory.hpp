// SPDX-License-Identifier: MIT
/*
    mpr/cpp/held_memory.hpp - Permanent memory of the runtime for the containers of the standard library.

    Containers inside managed objects take their memory here, so that it counts against the runtime's limits. It is
    freed by the containers, in the destructor of the object; the collector neither frees nor scans it. Members in such
    a container are kept when the object's trace hands the container to the marker.

        class Index {
        public:
            void trace(mpr::Marker& marker) { marker(nodes_); }

        private:
            std::pmr::vector<mpr::Member<Node>> nodes_{mpr::heldResource()};
        };

    A standard library without std::pmr (libc++ before 16) has no heldResource: there it is
    std::vector<mpr::Member<Node>, mpr::HeldAllocator<mpr::Member<Node>>>.
 */
#ifndef MPR_CPP_HELD_MEMORY_HPP
#define MPR_CPP_HELD_MEMORY_HPP

#include "mpr/cpp/detail/c_api.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <type_traits>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

namespace mpr {

namespace detail {

/* A parameter of what depends on it, so that files compiled with and without exceptions can be linked together. */
#if defined(__cpp_exceptions)
constexpr bool withExceptions = true;

[[noreturn]] inline void heldMemoryThrow() {
    throw std::bad_alloc();
}
#else
constexpr bool withExceptions = false;

[[noreturn]] inline void heldMemoryAbort() noexcept {
    std::fputs("mpr error: no memory for a container\n", stderr);
    std::abort();
}
#endif

template <bool Throws>
[[noreturn]] void heldMemoryFailed() {
#if defined(__cpp_exceptions)
    heldMemoryThrow();
#else
    heldMemoryAbort();
#endif
}

/**
    A block with the alignment asked for. Above a granule's, it begins at the next multiple within a larger block, at
    least a granule on; the word before it says what palloc returned.
 */
inline void* allocateHeld(std::size_t size, std::size_t alignment) noexcept {
    if (alignment <= 2 * sizeof(void*)) {
        return palloc(size);
    }
    if (size > static_cast<std::size_t>(PTRDIFF_MAX) - alignment) {
        return nullptr;
    }
    void* const block = palloc(size + alignment);
    if (!block) {
        return nullptr;
    }
    const std::size_t skipped = alignment - reinterpret_cast<std::uintptr_t>(block) % alignment;
    std::byte* const aligned = static_cast<std::byte*>(block) + skipped;
    reinterpret_cast<void**>(aligned)[-1] = block;
    return aligned;
}

inline void freeHeld(void* ptr, std::size_t alignment) noexcept {
    pfree(ptr && alignment > 2 * sizeof(void*) ? static_cast<void**>(ptr)[-1] : ptr);
}

} // namespace detail

#if __has_include(<memory_resource>)
namespace detail {

template <bool Throws>
class HeldResource final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t size, std::size_t alignment) override {
        void* const ptr = allocateHeld(size, alignment);
        if (!ptr) [[unlikely]] {
            heldMemoryFailed<Throws>();
        }
        return ptr;
    }
    void do_deallocate(void* ptr, std::size_t, std::size_t alignment) override { freeHeld(ptr, alignment); }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

} // namespace detail

/**
    The memory resource over permanent memory. One object for the whole program, never destroyed, equal only to itself.

    When memory fails it throws std::bad_alloc; in code compiled without exceptions it ends the program with a message.
    A container must be gone, or empty of memory, before the runtime ends, unless a managed object owns it.

    Threads: any, attached or not; containers need their own synchronisation. Yields: never. Cost: constant time; an
    alignment above that of blocks costs as many bytes again.
 */
template <bool Throws = detail::withExceptions>
[[nodiscard]] std::pmr::memory_resource* heldResource() noexcept {
    alignas(detail::HeldResource<Throws>) static std::byte storage[sizeof(detail::HeldResource<Throws>)];
    static std::pmr::memory_resource* const resource = ::new (static_cast<void*>(storage)) detail::HeldResource<Throws>;
    return resource;
}
#endif

/**
    An allocator over the same memory, without state, for containers that know no memory resources. Failure, threads and
    cost as heldResource.
 */
template <class T, bool Throws = detail::withExceptions>
class HeldAllocator {
public:
    using value_type = T;
    using is_always_equal = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    template <class U>
    struct rebind {
        using other = HeldAllocator<U, Throws>;
    };

    constexpr HeldAllocator() noexcept = default;
    template <class U>
    constexpr HeldAllocator(const HeldAllocator<U, Throws>&) noexcept {}

    [[nodiscard]] T* allocate(std::size_t count) {
        constexpr std::size_t greatest = static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T);
        void* const ptr = count <= greatest ? detail::allocateHeld(count * sizeof(T), alignof(T)) : nullptr;
        if (!ptr) [[unlikely]] {
            detail::heldMemoryFailed<Throws>();
        }
        return static_cast<T*>(ptr);
    }
    void deallocate(T* ptr, std::size_t) noexcept { detail::freeHeld(ptr, alignof(T)); }

    template <class U>
    constexpr bool operator==(const HeldAllocator<U, Throws>&) const noexcept {
        return true;
    }
};

} // namespace mpr

#endif /* MPR_CPP_HELD_MEMORY_HPP */
