// SPDX-License-Identifier: MIT
/*
    mpr/cpp/private_heap.hpp - A private heap (mpr/host.h) as an object, and as memory for the containers of the standard
    library.

        mpr::PrivateHeap heap("requests", MPR_HEAP_ONE_THREAD);
        mpr::HeapResource memory(heap.get());
        std::pmr::vector<int> numbers(&memory);

    A standard library without std::pmr (libc++ before 16) has no HeapResource.
 */
#ifndef MPR_CPP_PRIVATE_HEAP_HPP
#define MPR_CPP_PRIVATE_HEAP_HPP

#include "mpr/cpp/detail/c_api.hpp"

#include "mpr/cpp/held_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

namespace mpr {

/** Owns a private heap: its end frees all of its blocks. Empty when the system had no memory. Any thread. */
class PrivateHeap {
public:
    explicit PrivateHeap(const char* name, int flags = 0) noexcept : heap_(mprCreateHeap(name, flags)) {}
    /** In memory of the program's (mprCreateHeapIn), which must outlive it. Empty when that is too small. */
    PrivateHeap(const char* name, std::span<std::byte> memory, int flags = 0) noexcept
        : heap_(mprCreateHeapIn(name, memory.data(), memory.size(), flags)) {}
    ~PrivateHeap() { mprDestroyHeap(heap_); }
    PrivateHeap(PrivateHeap&& other) noexcept : heap_(std::exchange(other.heap_, nullptr)) {}
    PrivateHeap& operator=(PrivateHeap&& other) noexcept {
        PrivateHeap moved(std::move(other));
        std::swap(heap_, moved.heap_);
        return *this;
    }

    [[nodiscard]] MprPrivateHeap* get() const noexcept { return heap_; }
    explicit operator bool() const noexcept { return heap_ != nullptr; }

private:
    MprPrivateHeap* heap_;
};

#if __has_include(<memory_resource>)
/**
    A memory resource over a private heap, which stays the caller's and must outlive it. Equal to any other over the same
    heap. When memory fails it throws std::bad_alloc; in code compiled without exceptions it ends the program with a
    message. Threads: as the heap. Yields: never. Cost: constant time; an alignment above that of blocks costs as many
    bytes again.
 */
template <bool Throws = detail::withExceptions>
class BasicHeapResource final : public std::pmr::memory_resource {
public:
    explicit BasicHeapResource(MprPrivateHeap* heap, int level = MPR_CRITICAL_TASK) noexcept
        : heap_(heap), level_(level) {}

private:
    static constexpr std::size_t usual = 2 * sizeof(void*); // alignment of blocks

    void* do_allocate(std::size_t size, std::size_t alignment) override {
        const std::size_t more = alignment > usual ? alignment : 0;
        void* block =
            size <= static_cast<std::size_t>(PTRDIFF_MAX) - more ? mprHeapAlloc(heap_, size + more, level_) : nullptr;
        if (!block) [[unlikely]] {
            detail::heldMemoryFailed<Throws>();
        }
        if (more != 0) {
            // At the next multiple, at least a granule on; the word before it says where the block begins.
            auto* const aligned =
                static_cast<std::byte*>(block) + (alignment - reinterpret_cast<std::uintptr_t>(block) % alignment);
            reinterpret_cast<void**>(aligned)[-1] = block;
            block = aligned;
        }
        return block;
    }
    void do_deallocate(void* ptr, std::size_t, std::size_t alignment) override {
        mprHeapFree(heap_, ptr && alignment > usual ? static_cast<void**>(ptr)[-1] : ptr);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        // Without run-time type information: of one type are only those with the same table of functions.
        return this == &other || (isOne(other) && static_cast<const BasicHeapResource&>(other).heap_ == heap_);
    }
    bool isOne(const std::pmr::memory_resource& other) const noexcept {
        return *reinterpret_cast<void* const*>(&other) == *reinterpret_cast<void* const*>(this);
    }

    MprPrivateHeap* heap_;
    int level_;
};
using HeapResource = BasicHeapResource<>;
#endif

} // namespace mpr

#endif /* MPR_CPP_PRIVATE_HEAP_HPP */
