// SPDX-License-Identifier: MIT
/*
    os.hpp - The port: everything mpr asks of a platform.

    One folder or file a platform implements these functions: linux/, baremetal.cpp. heap and gc include no system header.
    Nothing here allocates from a heap, throws, or keeps state other than what the system itself keeps.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/os/target.hpp"

namespace mpr::os {

// ---- Pages ------------------------------------------------------------------------------------------------------

/** Bytes in a page: a power of two. */
std::size_t pageSize();

/**
    Readable and writable zeroed pages, backed when first touched. A host has committed all of them: see pages.hpp. None is huge
    unless preferHuge() says so: a system whose setting is "always" would back 2 MiB for the first byte, more than a limit
    may be, and again behind what was given back.
    @param size Of it whole pages are reserved. @param alignment A power of two, at least the page size.
    @return nullptr when the system, or the host, has none.
 */
void* reserve(std::size_t size, std::size_t alignment);

/**
    Give the memory of pages back; their addresses stay and read as zero. They are usable when touched again, but a host
    has to be asked for that: commit().
 */
void decommit(void* pages, std::size_t size);

/** Give pages and addresses back: all of a reservation or a part of it, of whole pages; the rest of it stays as it is. */
void release(void* pages, std::size_t size);

/** Pages outside the heap with given protection. Bits of mode: 1 read, 2 write, 4 execute. */
void* map(std::size_t size, int mode);

// ---- Time -------------------------------------------------------------------------------------------------------

inline constexpr std::uint64_t forever = ~std::uint64_t{0};

/** Nanoseconds of a monotonic clock. */
std::uint64_t now();
/** Milliseconds of the same clock at the system's last tick, some before now(); takes a fraction of the time. */
std::int64_t lastTick();
/** Milliseconds since 1970-01-01 00:00 UTC, by the system's clock, which may be set. */
std::int64_t wallTime();

// ---- Waiting on a word ------------------------------------------------------------------------------------------

using Word = std::atomic<std::uint32_t>;

/** Sleep while word == expected, until woken or for timeout nanoseconds. May return early. @return false: timed out. */
bool wait(Word& word, std::uint32_t expected, std::uint64_t timeout = forever);
void wakeOne(Word& word);
void wakeAll(Word& word);

// ---- A lock's word, as the kernel knows it: 0 or the owner's thread number ---------------------------------------

/** The kernel has set it: somebody waits whose priority is inherited. */
inline constexpr std::uint32_t inheritBit = 0x8000'0000;
/** Whether the owner of what the calling thread waits for is to run at its priority: it is of real time. */
bool waitsInherit();
/** Wait until the word is the calling thread's. @return false when the system cannot do that. */
bool lockInheriting(Word& word);
/** The word has inheritBit and is the calling thread's: hand it to the waiting thread of the greatest priority, or clear it. */
void unlockInheriting(Word& word);

// ---- Threads ----------------------------------------------------------------------------------------------------

using ThreadId = std::uintptr_t;
using ThreadEntry = void (*)(void* argument);

/** The calling thread, as the system's thread library names it. */
ThreadId currentThread();

/**
    The calling thread, as no other is named before or after: for what may outlive a thread, since the system gives the
    names of threads that have ended to others. Never 0.
 */
ThreadId threadSerial();

/** The calling thread, as the kernel numbers it: greater than 0, less than 2^30. */
inline std::uint32_t threadNumber();

/**
    Have the calling thread take no signal of the program's, as it began, if it belongs to the runtime (ThreadTraits).
    @return Whether it would have taken one.
 */
bool takeNoSignals();

struct ThreadTraits {
    std::size_t stackSize = 0; // bytes, besides thread-local data; rounded up; 0: the system's default
    bool joinable = false;     // whether joinThread will be called
    /**
        Whether it belongs to the runtime: it takes none of the program's signals, whose handlers and sigwait expect the
        program's own threads. A thread of the program's has the mask of the thread that starts it; of one that belongs to
        the runtime not that one's, but the mask that this one was started under.
     */
    bool ofRuntime = false;
    /** The new thread calls this before startThread returns; when it returns false there is no thread. */
    bool (*first)(void* argument) = nullptr;
};

/** Start a thread. @return false when the system, or traits.first, refuses. */
bool startThread(ThreadId& id, const char* name, ThreadEntry entry, void* argument, const ThreadTraits& traits);
void joinThread(ThreadId id);

/** Nanoseconds of a processor that a thread of this process has had. @param number As the kernel numbers it. 0 when unknown. */
std::uint64_t usedBy(std::uint32_t number);
/** Whether a thread runs, or would if it got a processor; false when the system does not say. */
bool isReady(std::uint32_t number);

/** Number of the processor that the calling thread runs on; -1 when unknown. */
int currentProcessor();
/** Let a thread run where another one may, except on one processor. @return false when that leaves it none. */
bool keepOff(ThreadId id, ThreadId other, int processor);

/** Of the calling thread: when it wakes up it takes the processor from none that runs, if the system can be told so. */
void wakeModestly();

/**
    Call handler(value) when the calling thread ends. One handler a process; one value per thread, nullptr takes it back.
    @return false when the system has no more keys, or no memory; to take it back always succeeds.
 */
bool onThreadExit(ThreadEntry handler, void* value);

/** Call a handler in each child of fork, on its one thread, before fork returns there. It may do next to nothing. */
bool onFork(void (*inChild)());

/** Values per thread, made at run time. @return false when the system has no more keys. */
bool makeThreadKey(std::uintptr_t& key);
void dropThreadKey(std::uintptr_t key);
/** @return false when the system has no memory for it. */
bool setThreadValue(std::uintptr_t key, void* value);
void* threadValue(std::uintptr_t key);

/** The number if it is known, else 0. */
extern constinit MPR_PER_THREAD std::uint32_t knownNumber;
std::uint32_t findThreadNumber();

inline std::uint32_t threadNumber() {
    if constexpr (!hasThreads) {
        return 1;
    }
    const std::uint32_t known = knownNumber;
    return known != 0 ? known : findThreadNumber();
}

bool boardInInterrupt();

/** Whether the calling code has interrupted the one thread, which may be anywhere in mpr: on boards only. */
inline bool inInterrupt() {
    return !hasThreads && boardInInterrupt();
}

/** Tell the processor that this is a spin loop. */
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7)
    __asm__ volatile("yield");
#endif
}

// ---- The machine and the process --------------------------------------------------------------------------------

/** That this process may use. */
int processors();
/** Bytes of memory of the machine. */
std::uint64_t ram();
/** Bytes of the largest cache that one core has for itself; 0 when unknown. */
std::size_t privateCache();
/** Resident bytes of this process; 0 when unknown. */
std::size_t resident();
/** Microseconds of processor time of this process. */
std::uint64_t cpuTime();
/**
    Unpredictable bytes, at once: early after power-on they may be less than unpredictable, which will do for hash seeds
    and not for keys.
 */
void seed(void* out, std::size_t size);
/** An environment variable, nullptr when it is not set or empty. */
const char* environment(const char* name);

/** Path of the program file. @return Characters written, no NUL; 0 when unknown or longer than room. */
std::size_t programPath(char* out, std::size_t room);

/** Which random bytes will do: any, those of a generator that has gathered enough, or those after a wait until it has. */
enum class Entropy { any, ready, wait };
/** Fill with random bytes. @return false when there are none such. */
bool random(void* out, std::size_t size, Entropy entropy);

/** Write to the console; never fails. */
void write(const char* text, std::size_t length);
/**
    Describe an address of code or of static data as "name+offset (file+offset)", as far as the file that it is from says so,
    or as "file+offset". Reads that file. @return Characters written, no NUL.
 */
std::size_t describeCode(const void* address, char* out, std::size_t room);

/** Whether an address is one of code. */
bool isCode(const void* address);
/** Whether a function begins at an address, as far as the file that it is from says so. Reads that file. */
bool isEntry(const void* address);
/**
    The functions that are being called: addresses in them to which calls return, that of the caller's call of this first.
    Nothing behind a function unknown to the unwinder, as are all on 32-bit ARM; nothing with musl. @return How many.
 */
std::size_t callers(const void** out, std::size_t most);

/** The calling thread's stack: from its least address to behind its greatest. Empty when unknown. */
struct Stack {
    const void* begin = nullptr;
    const void* end = nullptr;
};
Stack stack();

/** The addresses of a program file or shared object that is loaded. */
struct Image {
    std::uintptr_t begin = 0, end = 0;
};
/** The one that has an address in it. @return false when there is none. */
bool findImage(const void* address, Image& image);

/** Gets words in a row. No library is loaded or unloaded meanwhile, so it writes no messages. */
using DataVisitor = void (*)(void* context, const void* const* begin, const void* const* end);
/** Visit the static data that can be written, of the program and of all libraries but the one that `own` is in. */
void forEachData(DataVisitor visit, void* context, const void* own);

/** Execute the program anew with its arguments. Returns only on failure. */
void restart(char** argv);
[[noreturn]] void exit(int status);
[[noreturn]] void abort();

} // namespace mpr::os
