// SPDX-License-Identifier: MIT
/*
    baremetal.cpp - The port to no operating system: the functions of mpr/board.h, and nothing for the rest.

    One thread, no pages, no environment: see target.hpp. What would wait, start a thread or reserve pages is never
    called there, because whoever would call it asks os::hasThreads or os::hasPages when it is compiled.
 */
#include "mpr/board.h"
#include "mpr/os/fence.hpp"
#include "mpr/os/os.hpp"

/** Weak: firmware may have its own. */
[[gnu::weak]] bool mprBoardInInterrupt() {
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
    std::uint32_t exception = 0;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    return exception != 0;
#else
    return false;
#endif
}

namespace mpr::os {

static_assert(!hasThreads && !hasPages, "this port needs MPR_COOPERATIVE");

bool fenceOthers() {
    return true;
}

// ---- Pages: there are none --------------------------------------------------------------------------------------

std::size_t pageSize() {
    return 256; // what statistics say; nothing is rounded to it
}

void* reserve(std::size_t, std::size_t) {
    return nullptr;
}

void decommit(void*, std::size_t) {}
void release(void*, std::size_t) {}

void* map(std::size_t, int) {
    return nullptr;
}

// ---- Time, and nobody to wait for -------------------------------------------------------------------------------

std::uint64_t now() {
    return mprBoardTime();
}

bool wait(Word&, std::uint32_t, std::uint64_t) {
    return false;
}
void wakeOne(Word&) {}
void wakeAll(Word&) {}

bool waitsInherit() {
    return false;
}
bool lockInheriting(Word&) {
    return false;
}
void unlockInheriting(Word&) {}

// ---- The one thread ---------------------------------------------------------------------------------------------

ThreadId currentThread() {
    return 1;
}

bool startThread(ThreadId&, const char*, ThreadEntry, void*, const ThreadTraits&) {
    return false;
}
void joinThread(ThreadId) {}

bool onThreadExit(ThreadEntry, void*) {
    return true; // it does not end
}

bool makeThreadKey(std::uintptr_t&) {
    return false;
}
void dropThreadKey(std::uintptr_t) {}
bool setThreadValue(std::uintptr_t, void*) {
    return false;
}
void* threadValue(std::uintptr_t) {
    return nullptr;
}

// ---- The board --------------------------------------------------------------------------------------------------

int processors() {
    return 1;
}
std::uint64_t ram() {
    return 0;
}
std::size_t privateCache() {
    return 0;
}
std::size_t resident() {
    return 0;
}
std::uint64_t cpuTime() {
    return mprBoardTime() / 1000u;
}
const char* environment(const char*) {
    return nullptr;
}

void write(const char* text, std::size_t length) {
    mprBoardWrite(text, length);
}

std::size_t describeCode(const void*, char*, std::size_t) {
    return 0; // addr2line knows it by its number
}

bool boardInInterrupt() {
    return mprBoardInInterrupt();
}

void restart(char**) {
    mprBoardRestart();
}

void exit(int status) {
    for (;;) {
        mprBoardExit(status);
    }
}

void abort() {
    for (;;) {
        mprBoardAbort();
    }
}

} // namespace mpr::os
