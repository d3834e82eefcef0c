// SPDX-License-Identifier: MIT
/*
    thread.cpp - Threads: pthreads.
 */
#include "mpr/os/fence.hpp"
#include "mpr/os/linux/signals.hpp"
#include "mpr/os/linux/stacks.hpp"
#include "mpr/os/os.hpp"
#include "mpr/os/pages.hpp"

#include <link.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace mpr::os {

namespace {

// ---- The begin of a thread --------------------------------------------------------------------------------------

struct Start {
    ThreadEntry entry;
    void* argument;
    const ThreadTraits& traits;
    SignalBits programMask = 0;
    HostedStack* stack = nullptr; // of the host's pages, if it has one
    char name[16] = {};
    Word outcome{unknown};

    enum : std::uint32_t { unknown, begun, refused };
};

void* enter(void* raw) {
    auto* start = static_cast<Start*>(raw);
    const ThreadEntry entry = start->entry;
    void* argument = start->argument;
    HostedStack* const stack = start->stack;
    if (stack) {
        noteStackBegun(stack); // before its end can be told
    }
    pthread_setname_np(pthread_self(), start->name);
    noteMask(start->traits.ofRuntime, start->programMask);
    const bool begins = !start->traits.first || start->traits.first(argument);
    // The parent's frame holds *start: it may go as soon as this is seen.
    start->outcome.store(begins ? Start::begun : Start::refused, std::memory_order_release);
    wakeOne(start->outcome);
    if (begins) {
        entry(argument);
    }
    if (stack) {
        noteStackEnded(stack);
    }
    return nullptr;
}

/**
    The share of each stack that thread-local data of the program and its libraries takes: the C library puts it there. A
    library that is loaded later is counted too, which does no harm.
 */
std::size_t perThreadData() {
    std::size_t size = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* sum) {
            for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
                const auto& part = object->dlpi_phdr[i];
                if (part.p_type == PT_TLS) {
                    *static_cast<std::size_t*>(sum) += part.p_memsz + part.p_align;
                }
            }
            return 0;
        },
        &size);
    return size;
}

/** Bytes of a stack with what the C library puts there; 0: the system's default. */
std::size_t stackBytes(const ThreadTraits& traits) {
    if (traits.stackSize == 0) {
        return 0;
    }
    const auto least = static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN));
    return roundToPages(std::max(traits.stackSize, least) + perThreadData());
}

/** Have a thread stand on the host's pages. @return false when the host refuses them. */
bool setHostedStack(pthread_attr_t& attributes, Start& start) {
    std::size_t size = stackBytes(start.traits);
    if (size == 0) {
        pthread_attr_getstacksize(&attributes, &size);
    }
    start.stack = takeStack(size, start.traits);
    if (start.stack) {
        setStack(attributes, start.stack);
    }
    return start.stack != nullptr;
}

/** @return Whether the thread was created; it may still refuse. */
bool make(pthread_t& thread, Start& start) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const bool joinable = start.traits.joinable || isHosted();
    pthread_attr_setdetachstate(&attributes, joinable ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
    bool made = true;
    if (isHosted()) {
        made = setHostedStack(attributes, start);
    } else if (const std::size_t size = stackBytes(start.traits); size > 0) {
        pthread_attr_setstacksize(&attributes, size);
    }
    if (made) {
        const MaskOfNew mask(start.traits.ofRuntime);
        start.programMask = mask.ofProgram();
        made = pthread_create(&thread, &attributes, enter, &start) == 0;
        if (!made && start.stack) {
            giveStack(start.stack);
        }
    }
    pthread_attr_destroy(&attributes);
    return made;
}

// ---- The end of a thread --------------------------------------------------------------------------------------

constinit std::atomic<ThreadEntry> exitHandler{nullptr};
/** The key's number and 1; 0 while there is none. It releases the key; whoever looks acquires. */
constinit std::atomic<std::uintptr_t> exitKey{0};

/** @return false when the program has used up all keys. It may give one back, so the next call tries again. */
bool makeExitKey() {
    pthread_key_t made{};
    if (pthread_key_create(&made, [](void* value) { exitHandler.load(std::memory_order_acquire)(value); }) != 0) {
        return false;
    }
    std::uintptr_t none = 0;
    if (!exitKey.compare_exchange_strong(none, std::uintptr_t{made} + 1, std::memory_order_acq_rel)) {
        pthread_key_delete(made); // another thread was faster
    }
    return true;
}
} // namespace

ThreadId currentThread() {
    return static_cast<ThreadId>(pthread_self());
}

ThreadId threadSerial() {
    static constinit std::atomic<ThreadId> last{0}; // only its value counts
    static constinit MPR_PER_THREAD ThreadId mine = 0;
    if (mine == 0) [[unlikely]] {
        mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    return mine;
}

bool startThread(ThreadId& id, const char* name, ThreadEntry entry, void* argument, const ThreadTraits& traits) {
    Start start{entry, argument, traits};
    std::strncpy(start.name, name, sizeof(start.name) - 1);
    pthread_t thread{};
    if (!make(thread, start)) {
        return false;
    }
    std::uint32_t outcome = Start::unknown;
    while ((outcome = start.outcome.load(std::memory_order_acquire)) == Start::unknown) {
        wait(start.outcome, Start::unknown);
    }
    if (outcome == Start::refused) {
        if (traits.joinable) {
            joinThread(static_cast<ThreadId>(thread));
        }
        return false;
    }
    id = static_cast<ThreadId>(thread);
    return true;
}

void joinThread(ThreadId id) {
    const auto thread = static_cast<pthread_t>(id);
    HostedStack* const stack = isHosted() ? stackOf(thread) : nullptr;
    pthread_join(thread, nullptr);
    if (stack) {
        giveStack(stack);
    }
}

int currentProcessor() {
    return sched_getcpu();
}

bool fenceOthers() {
    const auto barrier = [](int command) { return syscall(SYS_membarrier, command, 0) == 0; };
    return barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) || // refused until the process has registered
           (barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

void wakeModestly() {
    if (sched_getscheduler(0) == SCHED_OTHER) { // else the program has its own order
        const sched_param none{};
        sched_setscheduler(0, SCHED_BATCH, &none);
    }
}

bool keepOff(ThreadId id, ThreadId other, int processor) {
    cpu_set_t allowed;
    if (processor < 0 || pthread_getaffinity_np(static_cast<pthread_t>(other), sizeof(allowed), &allowed) != 0) {
        return false;
    }
    CPU_CLR(static_cast<unsigned>(processor), &allowed);
    return CPU_COUNT(&allowed) > 0 &&
           pthread_setaffinity_np(static_cast<pthread_t>(id), sizeof(allowed), &allowed) == 0;
}

bool onThreadExit(ThreadEntry handler, void* value) {
    exitHandler.store(handler, std::memory_order_release); // the same for all threads
    if (exitKey.load(std::memory_order_acquire) == 0 && (!value || !makeExitKey())) {
        return !value;
    }
    const auto key = static_cast<pthread_key_t>(exitKey.load(std::memory_order_acquire) - 1);
    return pthread_setspecific(key, value) == 0;
}

bool onFork(void (*inChild)()) {
    return pthread_atfork(nullptr, nullptr, inChild) == 0;
}

bool makeThreadKey(std::uintptr_t& key) {
    pthread_key_t made;
    if (pthread_key_create(&made, nullptr) != 0) {
        return false;
    }
    key = made;
    return true;
}

void dropThreadKey(std::uintptr_t key) {
    pthread_key_delete(static_cast<pthread_key_t>(key));
}

bool setThreadValue(std::uintptr_t key, void* value) {
    return pthread_setspecific(static_cast<pthread_key_t>(key), value) == 0;
}

void* threadValue(std::uintptr_t key) {
    return pthread_getspecific(static_cast<pthread_key_t>(key));
}

// ---- The calling thread's stack ---------------------------------------------------------------------------------

#ifdef __GLIBC__
std::size_t callers(const void** out, std::size_t most) {
    struct Walk {
        const void** out;
        std::size_t most;
        std::size_t count = 0;
        bool isInner = true; // this function itself
    } walk{out, most};
    _Unwind_Backtrace(
        [](_Unwind_Context* frame, void* data) {
            auto& to = *static_cast<Walk*>(data);
            if (!std::exchange(to.isInner, false)) {
                to.out[to.count++] = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
            }
            return to.count < to.most ? _URC_NO_REASON : _URC_END_OF_STACK;
        },
        &walk);
    return walk.count;
}
#else
/** The compiler's unwinder may be one for glibc. */
std::size_t callers(const void**, std::size_t) {
    return 0;
}
#endif

Stack stack() {
    thread_local Stack own;
    if (!own.end) {
        pthread_attr_t traits;
        if (pthread_getattr_np(pthread_self(), &traits) == 0) {
            void* begin = nullptr;
            std::size_t size = 0;
            if (pthread_attr_getstack(&traits, &begin, &size) == 0) {
                own = {begin, static_cast<const char*>(begin) + size};
            }
            pthread_attr_destroy(&traits);
        }
    }
    return own;
}

} // namespace mpr::os
