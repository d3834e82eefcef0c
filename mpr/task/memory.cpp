// SPDX-License-Identifier: MIT
/*
    memory.cpp - Where libuv takes its memory.

    For the runtime's own loop: permanent memory of the heap, so that it counts against the limits and is given back with
    the runtime. For loops of the application, which may outlive the runtime: malloc, as before; where the program is a host
    (mprSetHost), a lasting heap in the host's pages. Which of the three a block came from is read off its address when it is
    resized or freed, so the wrong one never gets it.

    No callback of the program hears meanwhile that memory runs short, for it may want the loop, too.

    When the heap has no memory (the hard limit) malloc, or the lasting heap, is tried: libuv 1.44 ends the process in many places where it cannot
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

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "mpr/gc/runtime.hpp"
#include "mpr/heap/heap.hpp"
#include "mpr/memory.h"
#include "mpr/os/pages.hpp"
#include "mpr/task/loop.hpp"
#include "mpr/task/memory.hpp"

namespace mpr::task {

namespace {

thread_local int lending = 0;

bool ofHeap(const void* memory) {
    return gc::running() && gc::runtime().heap.find(memory) != nullptr;
}

/**
    The lasting heap: in the host's pages, and 256 KiB of it from the beginning, since libuv ends the process where it gets no
    memory. It goes with a runtime, unless some of it is in use; so nothing is done to it without the lock.
 */
constinit os::Lock lastingLock{os::outermost};
constinit heap::Heap* lasting MPR_GUARDED_BY(lastingLock) = nullptr;

std::size_t lastingBytes() {
    return heap::roundUp(sizeof(heap::Heap), os::pageSize());
}

void dropLasting() MPR_REQUIRES(lastingLock) {
    lasting->close();
    lasting->~Heap();
    os::release(std::exchange(lasting, nullptr), lastingBytes());
}

void giveLasting() {
    const os::Locked locked(lastingLock);
    const heap::Totals totals = lasting ? lasting->totals() : heap::Totals();
    if (lasting && totals.blocksAllocated == totals.blocksFreed) {
        dropLasting();
    }
}

bool openLastingLocked() MPR_REQUIRES(lastingLock) {
    if (lasting) {
        return true;
    }
    const os::AsCritical critical(os::Critical::process);
    void* memory = os::map(lastingBytes(), MPR_MAP_READ | MPR_MAP_WRITE);
    if (!memory) {
        return false;
    }
    lasting = new (memory) heap::Heap;
    heap::Options options;
    options.regionShift = 18;
    options.reserve = 1; // one region, all of it
    if (!lasting->open(options, nullptr, 0)) {
        dropLasting();
        return false;
    }
    os::givesAtEnd(giveLasting);
    return true;
}

/** Bytes of a block of the lasting heap; 0: it is none. */
std::size_t sizeLasting(const void* memory) MPR_REQUIRES(lastingLock) {
    heap::Region* region = lasting ? lasting->find(memory) : nullptr;
    return region ? region->blockSize(region->granuleOf(memory)) << heap::granuleShift : 0;
}

void* allocateHosted(std::size_t size) {
    const os::Locked locked(lastingLock);
    const os::AsCritical critical(os::Critical::process);
    if (size > heap::Heap::greatestRequest || !openLastingLocked()) {
        return nullptr;
    }
    constexpr auto leaf = static_cast<heap::Byte>(heap::Kind::leaf);
    heap::Shortage shortage = heap::Shortage::none;
    return lasting->allocateShared(heap::granulesFor(std::max<std::size_t>(size, 1)), leaf, true, shortage);
}

/** @return false when it is not of the lasting heap. */
bool freeHosted(void* memory) {
    const os::Locked locked(lastingLock);
    if (sizeLasting(memory) == 0) {
        return false;
    }
    lasting->freeShared(lasting->find(memory), memory);
    return true;
}

/** Resize what is not of the runtime's heap. */
void* resizeLasting(void* memory, std::size_t size) {
    std::size_t old = 0;
    if (os::isHosted()) {
        const os::Locked locked(lastingLock);
        old = sizeLasting(memory);
    }
    if (old == 0) {
        return std::realloc(memory, size);
    }
    void* larger = allocateHosted(size);
    if (larger) {
        std::memcpy(larger, memory, std::min(size, old));
        freeHosted(memory);
    }
    return larger;
}

void* allocate(std::size_t size) {
    void* memory = lending > 0 ? palloc(size) : nullptr;
    return memory ? memory : allocateLasting(size);
}

void* allocateZeroed(std::size_t count, std::size_t size) {
    if (lending == 0 && !os::isHosted()) {
        return std::calloc(count, size);
    }
    std::size_t bytes = 0;
    void* memory = __builtin_mul_overflow(count, size, &bytes) ? nullptr : allocate(bytes);
    return memory ? std::memset(memory, 0, bytes) : nullptr;
}

void release(void* memory) {
    ofHeap(memory) ? pfree(memory) : freeLasting(memory);
}

void* resize(void* memory, std::size_t size) {
    if (!memory) {
        return allocate(size);
    }
    if (!ofHeap(memory)) {
        return resizeLasting(memory, size);
    }
    if (void* larger = prealloc(memory, size)) {
        return larger;
    }
    void* larger = allocateLasting(size);
    if (larger) {
        const std::size_t old = psize(memory);
        std::memcpy(larger, memory, old < size ? old : size);
        pfree(memory);
    }
    return larger;
}
} // namespace

void* allocateLasting(std::size_t size) {
    return os::isHosted() ? allocateHosted(size) : std::malloc(size);
}

void freeLasting(void* memory) {
    if (memory && !(os::isHosted() && freeHosted(memory))) {
        std::free(memory);
    }
}

bool openLasting() {
    const os::Locked locked(lastingLock);
    return !os::isHosted() || openLastingLocked();
}

void lendMemory(bool on) {
    lending += on ? 1 : -1;
    if (gc::attached) {
        gc::attached->callsNobody = lending > 0;
    }
}

void replaceAllocator() {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, [] { uv_replace_allocator(allocate, resize, allocateZeroed, release); });
}

} // namespace mpr::task
