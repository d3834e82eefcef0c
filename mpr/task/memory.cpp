// SPDX-License-Identifier: MIT
/*
    memory.cpp - Where libuv takes its memory.

    For the runtime's own loop: permanent memory of the heap, so that it counts against the limits and is given back with
    the runtime. For loops of the application, which may outlive the runtime: malloc, as before. Which of the two a
    block came from is read off its address when it is resized or freed, so the wrong one never gets it.

    When the heap has no memory (the hard limit) malloc is tried: libuv 1.44 ends the process in many places where it cannot
    go on. Of what the rooms call, these want memory or descriptors (all callers of abort() in libuv_a.a were looked at):
      uv_loop_init     returns UV_ENOMEM or UV_EMFILE; the first of a process aborts without a pipe for its lock of signals
                       or memory for pthread_atfork (so Loop::open tries both before: what other threads take between
                       that and the call is missing still)
      uv_poll_init     returns what the kernel says of the descriptor
      uv_poll_start    grows the table of descriptors: aborts ("watchers")
      uv_run           aborts when epoll_ctl takes no descriptor although uv_poll_init tried it: kernel memory, or the
                       user's max_user_watches. So Loop::enroll registers each descriptor before, which libuv then changes
      uv_fs_*, without a loop   return UV_ENOMEM
    These abort for nothing of the kind, only when a system call fails that cannot: uv_async_send, uv_signal_start,
    uv_close of a signal. The pool of threads, whose start aborts, is not used.
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
