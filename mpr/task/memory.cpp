/*
    memory.cpp - Where libuv takes its memory.

    For the runtime's own loop: permanent memory of the heap, so that it counts against the limits and is given back with
    the runtime. For loops of the application, which may outlive the runtime: malloc, as before. Which of the two a
    block came from is read off its address when it is resized or freed, so the wrong one never gets it.

    When the heap has no memory (the hard limit) malloc is tried: libuv 1.44 ends the process where it cannot go on
    without memory, among these what this room calls:
      uv_loop_init, uv_poll_init   return UV_ENOMEM
      uv__io_start                 grows the table of descriptors: aborts ("watchers")
      uv_spawn                     returns UV_ENOMEM
      uv_signal_start              aborts when its lock or pipe fails, not for memory
      uv_async_send                aborts when its descriptor cannot be written, not for memory
    An application that calls uv_replace_allocator itself must do so before mprCreate and free nothing through libuv that
    it allocated before.
 */
#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"
#include "mpr/task/loop.hpp"

namespace mpr::task {

namespace {

thread_local int lending = 0;

bool ofHeap(const void* memory) {
    return gc::running() && gc::runtime().heap.find(memory) != nullptr;
}

void* allocate(std::size_t size) {
    void* memory = lending > 0 ? palloc(size) : nullptr;
    return memory ? memory : std::malloc(size);
}

void* allocateZeroed(std::size_t count, std::size_t size) {
    if (lending == 0) {
        return std::calloc(count, size);
    }
    std::size_t bytes = 0;
    void* memory = __builtin_mul_overflow(count, size, &bytes) ? nullptr : allocate(bytes);
    return memory ? std::memset(memory, 0, bytes) : nullptr;
}

void release(void* memory) {
    ofHeap(memory) ? pfree(memory) : std::free(memory);
}

void* resize(void* memory, std::size_t size) {
    if (!memory) {
        return allocate(size);
    }
    if (!ofHeap(memory)) {
        return std::realloc(memory, size);
    }
    if (void* larger = prealloc(memory, size)) {
        return larger;
    }
    void* larger = std::malloc(size);
    if (larger) {
        const std::size_t old = psize(memory);
        std::memcpy(larger, memory, old < size ? old : size);
        pfree(memory);
    }
    return larger;
}
} // namespace

void lendMemory(bool on) {
    lending += on ? 1 : -1;
}

void replaceAllocator() {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, [] { uv_replace_allocator(allocate, resize, allocateZeroed, release); });
}

} // namespace mpr::task
