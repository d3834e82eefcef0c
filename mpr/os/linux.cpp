// SPDX-License-Identifier: MIT
/*
    linux.cpp - The port to Linux: mmap, futex, pthreads, /proc.
 */
#include "mpr/os/os.hpp"

#include "mpr/os/broken_pipe.hpp"
#include "mpr/os/delay.hpp"
#include "mpr/os/elf.hpp"
#include "mpr/os/fence.hpp"
#include "mpr/os/lock.hpp"
#include "mpr/os/pages.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace mpr::os {

// ---- Pages ------------------------------------------------------------------------------------------------------

std::size_t pageSize() {
    // Not a guarded static: those need the C++ library. Relaxed: every thread that finds 0 finds the same size out.
    static constinit std::atomic<std::size_t> cached{0};
    std::size_t size = cached.load(std::memory_order_relaxed);
    if (size == 0) {
        size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        cached.store(size, std::memory_order_relaxed);
    }
    return size;
}

namespace system {

/** A kernel may not know an advice, or refuse it: who allocates or frees finds errno as it was all the same. */
static void advise(void* pages, std::size_t size, int advice) {
    const int before = errno;
    madvise(pages, size, advice);
    errno = before;
}

void* reserve(std::size_t size, std::size_t alignment, Access access) {
    // Without huge alignment most requests are met by the first mapping; else map more and trim both ends.
    const std::size_t slack = alignment > pageSize() ? alignment - pageSize() : 0;
    if (size > SIZE_MAX - slack) {
        return nullptr;
    }
    // Where the program locks what it maps (mlockall), pages are backed at once, but for those that nobody may touch.
    const int protection = access == Access::read ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* raw = mmap(nullptr, size + slack, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) {
        return nullptr;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(raw);
    const std::uintptr_t aligned = (begin + alignment - 1) & ~(alignment - 1);
    const std::size_t front = aligned - begin;
    if (front > 0) {
        munmap(raw, front);
    }
    if (slack > front) {
        munmap(reinterpret_cast<void*>(aligned + size), slack - front);
    }
    auto* pages = reinterpret_cast<void*>(aligned);
    advise(pages, size, MADV_NOHUGEPAGE);
    if (access == Access::read && mprotect(pages, size, PROT_READ) != 0) {
        munmap(pages, size);
        return nullptr;
    }
    return pages;
}

bool allowWrites(void* pages, std::size_t size) {
    return mprotect(pages, size, PROT_READ | PROT_WRITE) == 0;
}

void preferHuge(void* pages, std::size_t size) {
    advise(pages, size, MADV_HUGEPAGE);
}

void decommit(void* pages, std::size_t size) {
    advise(pages, size, MADV_DONTNEED);
}

void release(void* pages, std::size_t size) {
    munmap(pages, size);
}

void* map(std::size_t size, int mode) {
    const int protection = ((mode & 1) ? PROT_READ : 0) | ((mode & 2) ? PROT_WRITE : 0) | ((mode & 4) ? PROT_EXEC : 0);
    void* pages = mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}
} // namespace system

// ---- Time -------------------------------------------------------------------------------------------------------

static std::uint64_t nanoseconds(const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return nanoseconds(time);
}

static std::int64_t milliseconds(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

std::int64_t lastTick() {
    return milliseconds(CLOCK_MONOTONIC_COARSE);
}

std::int64_t wallTime() {
    return milliseconds(CLOCK_REALTIME);
}

// ---- Waiting on a word ------------------------------------------------------------------------------------------

namespace {

// The kernel's word. An atomic<uint32_t> is one, also where it is not always lock-free by the compiler's account: on
// ARMv5 the kernel itself helps to change it in one piece.
static_assert(sizeof(Word) == 4);

/** The argument of calls with 32-bit times, and of all calls on a 64-bit system. */
struct LongSpan {
    long seconds, nanoseconds;
};
/** The argument of calls with 64-bit times on a 32-bit system. */
struct WideSpan {
    std::int64_t seconds, nanoseconds;
};

constexpr std::uint64_t perSecond = 1'000'000'000;

/** Whether the C library's times have 64 bits and the system's words 32: the old call may not be there for long. */
constexpr bool prefersWide = sizeof(time_t) > sizeof(long);

#ifdef SYS_futex
constexpr long plainCall = SYS_futex;
#else
constexpr long plainCall = -1; // a system younger than the call for 64-bit times has that one only
#endif
#ifdef SYS_futex_time64
constexpr long wideCall = SYS_futex_time64;
#else
constexpr long wideCall = -1;
#endif

long futexCall(long call, Word& word, int operation, std::uint32_t value, const void* span) {
    perhapsDelay();
    return syscall(call, &word, operation | FUTEX_PRIVATE_FLAG, value, span, nullptr, 0);
}

/** The layout of a time belongs to the number of the call, whatever timespec is in the C library that is compiled for. */
long futex(Word& word, int operation, std::uint32_t value, std::uint64_t timeout = forever) {
    if constexpr (wideCall >= 0 && (prefersWide || plainCall < 0)) {
        const WideSpan span{static_cast<std::int64_t>(timeout / perSecond),
                            static_cast<std::int64_t>(timeout % perSecond)};
        const long result = futexCall(wideCall, word, operation, value, timeout == forever ? nullptr : &span);
        if (result >= 0 || errno != ENOSYS || plainCall < 0) {
            return result;
        } // else a kernel before 5.1, or an emulator
    }
    const std::uint64_t seconds = timeout / perSecond;
    const LongSpan span{static_cast<long>(seconds < LONG_MAX ? seconds : LONG_MAX),
                        static_cast<long>(timeout % perSecond)};
    return futexCall(plainCall, word, operation, value, timeout == forever ? nullptr : &span);
}
} // namespace

#ifdef __SANITIZE_THREAD__
/**
    The thread sanitizer puts off a signal's handler until the thread makes a call that the sanitizer knows, as it does not
    know this one. The main thread, which alone takes SIGCHLD, could wait for ever for the end of a child.
 */
bool wait(Word& word, std::uint32_t expected, std::uint64_t timeout) {
    constexpr std::uint64_t slice = perSecond / 10;
    for (; timeout > slice; timeout -= timeout == forever ? 0 : slice) {
        if (futex(word, FUTEX_WAIT, expected, slice) == 0 || errno != ETIMEDOUT) {
            return true;
        }
        const timespec none{};
        nanosleep(&none, nullptr);
    }
    return futex(word, FUTEX_WAIT, expected, timeout) == 0 || errno != ETIMEDOUT;
}
#else
bool wait(Word& word, std::uint32_t expected, std::uint64_t timeout) {
    return futex(word, FUTEX_WAIT, expected, timeout) == 0 || errno != ETIMEDOUT;
}
#endif

void wakeOne(Word& word) {
    futex(word, FUTEX_WAKE, 1);
}

void wakeAll(Word& word) {
    futex(word, FUTEX_WAKE, INT_MAX);
}

// ---- Locks whose waits inherit priority ---------------------------------------------------------------------------

constinit MPR_PER_THREAD std::uint32_t knownNumber = 0;

namespace {
pthread_once_t forkOnce = PTHREAD_ONCE_INIT;
/**
    Whether a child that is forked finds its number anew. Else numbers are not the kernel's there. Relaxed: pthread_once orders
    it for every thread that has a number.
 */
constinit std::atomic<bool> numbersHold{false};

void watchForks() {
    numbersHold.store(pthread_atfork(nullptr, nullptr, [] { knownNumber = 0; }) == 0, std::memory_order_relaxed);
}

/** Emulators and kernels without an atomic exchange of their own do without these calls. */
bool isOffered() {
    enum : int { unknown, offered, missing };
    static constinit std::atomic<int> known{unknown}; // relaxed: every thread that tries finds the same
    if (known.load(std::memory_order_relaxed) == unknown) {
        Word trial{0};
        const bool works = futex(trial, FUTEX_LOCK_PI, 0) == 0 && trial.load() == threadNumber() &&
                           futex(trial, FUTEX_UNLOCK_PI, 0) == 0 && trial.load() == 0;
        known.store(works && numbersHold.load(std::memory_order_relaxed) ? offered : missing,
                    std::memory_order_relaxed);
    }
    return known.load(std::memory_order_relaxed) == offered;
}
} // namespace

std::uint32_t findThreadNumber() {
    pthread_once(&forkOnce, watchForks);
    knownNumber = static_cast<std::uint32_t>(syscall(SYS_gettid));
    return knownNumber;
}

bool waitsInherit() {
    constexpr long deadlinePolicy = 6; // SCHED_DEADLINE, which headers may not have
    const long policy = syscall(SYS_sched_getscheduler, 0) & ~long{SCHED_RESET_ON_FORK};
    return (policy == SCHED_FIFO || policy == SCHED_RR || policy == deadlinePolicy) && isOffered();
}

bool lockInheriting(Word& word) {
    long result = 0;
    do {
        result = futex(word, FUTEX_LOCK_PI, 0);
    } while (result != 0 && (errno == EAGAIN || errno == EINTR));
    return result == 0;
}

void unlockInheriting(Word& word) {
    while (futex(word, FUTEX_UNLOCK_PI, 0) != 0 && (errno == EAGAIN || errno == EINTR)) {}
}

// ---- Threads ----------------------------------------------------------------------------------------------------

namespace {

// ---- Signals of threads

/** What a thread of the runtime's own leaves to the program's threads. Signals from 1, bit by bit. */
using SignalBits = std::uint64_t;

constexpr int signalsInBits = 64;

SignalBits bitsOf(const sigset_t& set) {
    SignalBits bits = 0;
    for (int signal = 1; signal <= signalsInBits; ++signal) {
        bits |= SignalBits{sigismember(&set, signal) == 1} << (signal - 1);
    }
    return bits;
}

sigset_t setOf(SignalBits bits) {
    sigset_t set;
    sigemptyset(&set);
    for (int signal = 1; signal <= signalsInBits; ++signal) {
        if ((bits >> (signal - 1) & 1) != 0) {
            sigaddset(&set, signal);
        }
    }
    return set;
}

/** All signals, except those that a thread raises by its own actions and the profiler's, which observes all threads. */
sigset_t programSignals() {
    sigset_t set;
    sigfillset(&set);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) {
        sigdelset(&set, signal);
    }
    return set;
}

/** In a thread of the runtime's own: the mask that it would have if it were the program's. */
constinit MPR_PER_THREAD SignalBits programMask = 0;
constinit MPR_PER_THREAD bool isRuntimes = false;

/**
    The mask that a thread is to begin with, in the calling thread while this exists: a new thread has its parent's from the
    first instruction on, and nothing that it would set itself is as early.
 */
class MaskOfNew {
public:
    explicit MaskOfNew(bool forRuntime) {
        sigset_t mask = forRuntime ? programSignals() : setOf(programMask);
        if (forRuntime) {
            pthread_sigmask(SIG_BLOCK, &mask, &before_);
        } else if (isRuntimes) {
            pthread_sigmask(SIG_SETMASK, &mask, &before_);
        } else {
            pthread_sigmask(SIG_BLOCK, nullptr, &before_);
        }
    }
    ~MaskOfNew() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    MaskOfNew(const MaskOfNew&) = delete;
    MaskOfNew& operator=(const MaskOfNew&) = delete;

    /** What a thread of the program's would have. */
    SignalBits ofProgram() const { return isRuntimes ? programMask : bitsOf(before_); }

private:
    sigset_t before_;
};

// ---- The begin of a thread

struct HostedStack;

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

// ---- Stacks of the host's pages

/**
    A stack that the host has granted, with this record at its upper end: a page that nobody may touch, the stack, the record.
    It can go back only when its thread has ended. So no such thread is detached as the system understands it: who ends says
    so, and whoever starts a thread later, or ends the runtime, joins it.
 */
struct alignas(64) HostedStack {
    HostedStack* next = nullptr;
    std::byte* pages = nullptr;
    std::size_t size = 0;
    pthread_t thread{};
    bool joinable = false; // somebody calls joinThread
    bool ofMpr = false;    // the runtime's end has to do with it: it is attached, or the runtime's own
    bool ended = false;    // it is about to return
};

constinit Lock stacksLock;
constinit HostedStack* stacks MPR_GUARDED_BY(stacksLock) = nullptr;
constinit Word stacksEnded{0};

std::size_t roundToPages(std::size_t size) {
    return (size + pageSize() - 1) & ~(pageSize() - 1);
}

/** @param size Bytes of it that the thread may use. @return nullptr: the host refuses. */
HostedStack* takeStack(std::size_t size, const ThreadTraits& traits) {
    const std::size_t guard = pageSize();
    const std::size_t whole = guard + roundToPages(size + sizeof(HostedStack));
    auto* pages = static_cast<std::byte*>(reserveAddresses(whole, guard));
    if (!pages) {
        return nullptr;
    }
    if (!forbid(pages, guard) || !commit(pages + guard, whole - guard)) {
        release(pages, whole);
        return nullptr;
    }
    auto* stack = new (pages + whole - sizeof(HostedStack)) HostedStack;
    stack->pages = pages;
    stack->size = whole;
    stack->joinable = traits.joinable;
    stack->ofMpr = traits.ofRuntime || traits.first;
    const Locked locked(stacksLock);
    stack->next = stacks;
    stacks = stack;
    return stack;
}

void unlist(HostedStack* stack) MPR_REQUIRES(stacksLock) {
    HostedStack** at = &stacks;
    while (*at != stack) {
        at = &(*at)->next;
    }
    *at = stack->next;
}

void giveStack(HostedStack* stack) {
    {
        const Locked locked(stacksLock);
        unlist(stack);
    }
    release(stack->pages, stack->size);
}

/**
    Join a thread that has ended, and give its stack back. None is waited for that has only said so: it may be waiting, detached
    as it ends, for a collection, and that for the calling thread. @return false when there is none.
 */
bool giveEndedStack() {
    HostedStack* stack = nullptr;
    {
        const Locked locked(stacksLock);
        stack = stacks;
        while (stack && !(stack->ended && !stack->joinable && pthread_tryjoin_np(stack->thread, nullptr) == 0)) {
            stack = stack->next;
        }
        if (stack) {
            unlist(stack);
        }
    }
    if (stack) {
        release(stack->pages, stack->size);
    }
    return stack != nullptr;
}

void noteStackEnded(HostedStack* stack) {
    {
        const Locked locked(stacksLock);
        stack->ended = true;
    }
    stacksEnded.fetch_add(1, std::memory_order_release);
    wakeAll(stacksEnded);
}

/** Whether a thread that the runtime's end has to do with goes on. */
bool isAnyLeft() {
    const Locked locked(stacksLock);
    const HostedStack* stack = stacks;
    while (stack && !(stack->ofMpr && !stack->joinable)) {
        stack = stack->next;
    }
    return stack != nullptr;
}

HostedStack* stackOf(pthread_t thread) {
    const Locked locked(stacksLock);
    HostedStack* stack = stacks;
    while (stack && !(stack->joinable && pthread_equal(stack->thread, thread))) {
        stack = stack->next;
    }
    return stack;
}

// ---- What a thread runs

void* enter(void* raw) {
    auto* start = static_cast<Start*>(raw);
    const ThreadEntry entry = start->entry;
    void* argument = start->argument;
    HostedStack* const stack = start->stack;
    if (stack) {
        const Locked locked(stacksLock);
        stack->thread = pthread_self(); // before its end can be told
    }
    pthread_setname_np(pthread_self(), start->name);
    isRuntimes = start->traits.ofRuntime;
    programMask = start->programMask;
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
    while (giveEndedStack()) {}
    std::size_t size = stackBytes(start.traits);
    if (size == 0) {
        pthread_attr_getstacksize(&attributes, &size);
    }
    start.stack = takeStack(size, start.traits);
    if (start.stack) {
        std::byte* const low = start.stack->pages + pageSize();
        const auto bytes = static_cast<std::size_t>(reinterpret_cast<std::byte*>(start.stack) - low);
        pthread_attr_setstack(&attributes, low, bytes);
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

// ---- The end of a thread

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

void giveStacks() {
    constexpr std::uint64_t longest = perSecond; // a thread that has been detached has little left to do, mostly
    constexpr std::uint64_t nap = perSecond / 1000;
    const std::uint64_t end = now() + longest;
    for (;;) {
        const std::uint32_t seen = stacksEnded.load(std::memory_order_acquire);
        while (giveEndedStack()) {}
        if (!isAnyLeft() || now() >= end) {
            return;
        }
        wait(stacksEnded, seen, nap);
    }
}

bool takeNoSignals() {
    if (!isRuntimes) {
        return false;
    }
    const sigset_t none = programSignals();
    sigset_t before, after;
    sigemptyset(&before); // the system fills in what it knows
    sigemptyset(&after);
    pthread_sigmask(SIG_BLOCK, &none, &before);
    pthread_sigmask(SIG_BLOCK, nullptr, &after); // some cannot be blocked, and under emulators it is others
    return (bitsOf(after) & ~bitsOf(before)) != 0;
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

// ---- The machine and the process --------------------------------------------------------------------------------

int processors() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
        return CPU_COUNT(&allowed);
    }
    return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); // more than a set can hold
}

std::uint64_t ram() {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * pageSize();
}

std::size_t privateCache() {
#ifdef _SC_LEVEL2_CACHE_SIZE
    const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return size > 0 ? static_cast<std::size_t>(size) : 0;
#else
    return 0;
#endif
}

namespace {
/** Read the beginning of a file of /proc. The thread cannot be cancelled meanwhile. @return false when it cannot be read. */
template <std::size_t n>
bool readProc(const char* path, char (&text)[n]) {
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const long length = syscall(SYS_read, file, text, n - 1);
    syscall(SYS_close, file);
    text[std::max(length, 0L)] = '\0';
    return length > 0;
}
} // namespace

std::size_t resident() {
    char text[128];
    const char* second = readProc("/proc/self/statm", text) ? std::strchr(text, ' ') : nullptr;
    return second ? std::strtoul(second, nullptr, 10) * pageSize() : 0;
}

std::uint64_t usedBy(std::uint32_t number) {
    // As pthread_getcpuclockid has it, which asks for a pthread_t.
    timespec time{};
    return clock_gettime(static_cast<clockid_t>(~number << 3 | 6), &time) == 0 ? nanoseconds(time) : 0;
}

bool isReady(std::uint32_t number) {
    Message path;
    path << "/proc/self/task/" << number << "/stat";
    char text[64];
    const char* const behindName = readProc(path.text(), text) ? std::strrchr(text, ')') : nullptr;
    return behindName && behindName[1] == ' ' && behindName[2] == 'R';
}

std::uint64_t cpuTime() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return nanoseconds(time) / 1000u;
}

void seed(void* out, std::size_t size) {
    constexpr unsigned flags[] = {GRND_NONBLOCK, 4 /* GRND_INSECURE, Linux 5.6 */};
    for (const unsigned flag : flags) {
        if (getrandom(out, size, flag) == static_cast<ssize_t>(size)) {
            return;
        }
    }
    // An old kernel before its pool is filled: what differs between machines and starts.
    std::uint64_t state = now() ^ static_cast<std::uint64_t>(wallTime()) << 20 ^
                          reinterpret_cast<std::uintptr_t>(&out) ^ static_cast<std::uint64_t>(getpid()) << 48;
    for (std::size_t i = 0; i < size; ++i) {
        state = state * 6364136223846793005u + now();
        static_cast<unsigned char*>(out)[i] = static_cast<unsigned char>(state >> 56);
    }
}

const char* environment(const char* name) {
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
}

std::size_t programPath(char* out, std::size_t room) {
    const ssize_t length = readlink("/proc/self/exe", out, room);
    return length > 0 && static_cast<std::size_t>(length) < room ? static_cast<std::size_t>(length) : 0;
}

namespace {

/** The device gives bytes at any time, and where the kernel has no getrandom (before 3.17). */
bool readDevice(char* out, std::size_t size) {
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && size > 0) {
        const ssize_t got = read(file, out, size);
        if (got <= 0 && errno != EINTR) {
            break;
        }
        if (got > 0) {
            out += got;
            size -= static_cast<std::size_t>(got);
        }
    }
    if (file >= 0) {
        close(file);
    }
    return file >= 0 && size == 0;
}
} // namespace

bool random(void* out, std::size_t size, Entropy entropy) {
    auto* at = static_cast<char*>(out);
    while (size > 0) {
        const ssize_t got = getrandom(at, size, entropy == Entropy::wait ? 0 : GRND_NONBLOCK);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return (errno == ENOSYS || entropy == Entropy::any) && readDevice(at, size);
        }
        at += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

BrokenPipe::BrokenPipe() {
    sigemptyset(&broken_);
    sigaddset(&broken_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_, &before_);
}

BrokenPipe::~BrokenPipe() {
    if (isCut_ && !sigismember(&before_, SIGPIPE)) {
        const timespec now{};
        sigtimedwait(&broken_, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error_ ? error_ : errno;
}

/** A pipe that nobody reads any more is an error, and no signal. */
static ssize_t writeQuietly(int fd, const char* text, std::size_t length) {
    BrokenPipe broken;
    const ssize_t written = ::write(fd, text, length);
    broken.set(written < 0 ? errno : 0, written < static_cast<ssize_t>(length));
    return written;
}

void write(const char* text, std::size_t length) {
    while (length > 0) {
        const ssize_t written = writeQuietly(STDERR_FILENO, text, length);
        if (written <= 0 && errno != EINTR) {
            return;
        }
        if (written > 0) {
            text += written;
            length -= static_cast<std::size_t>(written);
        }
    }
}

// ---- Objects that are loaded ------------------------------------------------------------------------------------------

namespace {

/** Which addresses an object takes. */
Image imageOf(const dl_phdr_info& object) {
    Image image{~std::uintptr_t{0}, 0};
    for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
        const auto& segment = object.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
            image.begin = std::min(begin, image.begin);
            image.end = std::max(begin + segment.p_memsz, image.end);
        }
    }
    return image;
}

bool hasAddress(const dl_phdr_info& object, std::uintptr_t address) {
    const Image image = imageOf(object);
    return address >= image.begin && address < image.end;
}

bool isProgram(const dl_phdr_info& object) {
    return !object.dlpi_name || object.dlpi_name[0] == '\0';
}

/** Text of limited length. */
class Text {
public:
    Text(char* out, std::size_t room) : out_(out), room_(room) {}
    void put(const char* text) {
        while (*text != '\0' && length_ < room_) {
            out_[length_++] = *text++;
        }
    }
    void putOffset(std::uintptr_t value) {
        char digits[2 * sizeof(value) + 1];
        std::size_t first = sizeof(digits) - 1;
        digits[first] = '\0';
        do {
            digits[--first] = "0123456789abcdef"[value & 15];
            value >>= 4;
        } while (value != 0);
        put("+0x");
        put(digits + first);
    }
    std::size_t length() const { return length_; }

private:
    char* out_;
    std::size_t room_, length_ = 0;
};

struct Description {
    std::uintptr_t address;
    Text text;
};

bool findSymbol(const dl_phdr_info& object, std::uintptr_t address, elf::Symbol& symbol) {
    const char* const file = isProgram(object) ? "/proc/self/exe" : object.dlpi_name;
    return elf::findSymbol(file, object, address - object.dlpi_addr, symbol);
}

/** "name+0x12 (file+0x1234)", or what is known of it: addr2line takes the second offset. */
void describeIn(const dl_phdr_info& object, Description& wanted) {
    const std::uintptr_t inFile = wanted.address - object.dlpi_addr;
    const char* const file = isProgram(object) ? program_invocation_short_name : object.dlpi_name;
    const char* const slash = std::strrchr(file, '/');
    elf::Symbol symbol;
    const bool found = findSymbol(object, wanted.address, symbol);
    if (found) {
        char name[elf::longestName];
        elf::readable(symbol.name, name);
        wanted.text.put(name);
        if (symbol.offset != 0) {
            wanted.text.putOffset(symbol.offset);
        }
        wanted.text.put(" (");
    }
    wanted.text.put(slash ? slash + 1 : file);
    wanted.text.putOffset(inFile);
    wanted.text.put(found ? ")" : "");
}
} // namespace

std::size_t describeCode(const void* address, char* out, std::size_t room) {
    Description wanted{reinterpret_cast<std::uintptr_t>(address), {out, room}};
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
            auto* description = static_cast<Description*>(data);
            const bool isHere = hasAddress(*object, description->address);
            if (isHere) {
                describeIn(*object, *description);
            }
            return isHere ? 1 : 0;
        },
        &wanted);
    return wanted.text.length();
}

bool findImage(const void* address, Image& image) {
    struct Search {
        std::uintptr_t address;
        Image& found;
    } search{reinterpret_cast<std::uintptr_t>(address), image};
    return dl_iterate_phdr(
               [](dl_phdr_info* object, std::size_t, void* data) {
                   auto* wanted = static_cast<Search*>(data);
                   if (hasAddress(*object, wanted->address)) {
                       wanted->found = imageOf(*object);
                       return 1;
                   }
                   return 0;
               },
               &search) == 1;
}

bool isEntry(const void* address) {
    return dl_iterate_phdr(
               [](dl_phdr_info* object, std::size_t, void* data) {
                   const auto wanted = reinterpret_cast<std::uintptr_t>(data);
                   elf::Symbol symbol;
                   const bool found = hasAddress(*object, wanted) && findSymbol(*object, wanted, symbol);
                   return found && symbol.offset == 0 ? 1 : 0;
               },
               const_cast<void*>(address)) == 1;
}

bool isCode(const void* address) {
    return dl_iterate_phdr(
               [](dl_phdr_info* object, std::size_t, void* data) {
                   const auto wanted = reinterpret_cast<std::uintptr_t>(data);
                   for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
                       const auto& segment = object->dlpi_phdr[i];
                       const bool executes = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
                       if (executes && wanted - (object->dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
                           return 1;
                       }
                   }
                   return 0;
               },
               const_cast<void*>(address)) == 1;
}

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

void forEachData(DataVisitor visit, void* context, const void* own) {
    struct Walk {
        DataVisitor visit;
        void* context;
        std::uintptr_t own;
    } walk{visit, context, reinterpret_cast<std::uintptr_t>(own)};
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
            const auto* to = static_cast<Walk*>(data);
            for (unsigned i = 0; i < object->dlpi_phnum && (isProgram(*object) || !hasAddress(*object, to->own)); ++i) {
                const auto& segment = object->dlpi_phdr[i];
                if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) {
                    constexpr std::uintptr_t word = sizeof(void*);
                    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
                    to->visit(to->context, reinterpret_cast<const void* const*>((begin + word - 1) & ~(word - 1)),
                              reinterpret_cast<const void* const*>(end & ~(word - 1)));
                }
            }
            return 0;
        },
        &walk);
}

void restart(char** argv) {
    // Descriptors above standard error would keep ports and locks from the new program.
    if (DIR* open = opendir("/proc/self/fd")) {
        while (const dirent* entry = readdir(open)) {
            const int number = std::atoi(entry->d_name);
            if (number > STDERR_FILENO) {
                fcntl(number, F_SETFD, FD_CLOEXEC);
            }
        }
        closedir(open);
    }
    // A program keeps the mask of the thread that executes it, and one of the runtime's blocks all signals.
    const sigset_t mask = setOf(programMask);
    sigset_t before;
    if (isRuntimes) {
        pthread_sigmask(SIG_SETMASK, &mask, &before);
    }
    execv("/proc/self/exe", argv);
    if (isRuntimes) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
}

void exit(int status) {
    std::exit(status);
}

void abort() {
    std::abort();
}

} // namespace mpr::os
