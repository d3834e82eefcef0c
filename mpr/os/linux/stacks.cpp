// SPDX-License-Identifier: MIT
/*
    stacks.cpp - Stacks of threads in pages of the host's: a list of them, under a lock.
 */
#include "mpr/os/linux/stacks.hpp"

#include "mpr/os/lock.hpp"
#include "mpr/os/pages.hpp"

#include <new>

namespace mpr::os {

/**
    A stack that the host has granted, with this record at its upper end: a page that nobody may touch, the stack, the record.
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

namespace {

constinit Lock stacksLock;
constinit HostedStack* stacks MPR_GUARDED_BY(stacksLock) = nullptr;
constinit Word stacksEnded{0};

void unlist(HostedStack* stack) MPR_REQUIRES(stacksLock) {
    HostedStack** at = &stacks;
    while (*at != stack) {
        at = &(*at)->next;
    }
    *at = stack->next;
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

/** Whether a thread that the runtime's end has to do with goes on. */
bool isAnyLeft() {
    const Locked locked(stacksLock);
    const HostedStack* stack = stacks;
    while (stack && !(stack->ofMpr && !stack->joinable)) {
        stack = stack->next;
    }
    return stack != nullptr;
}

} // namespace

HostedStack* takeStack(std::size_t size, const ThreadTraits& traits) {
    while (giveEndedStack()) {}
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

void setStack(pthread_attr_t& attributes, HostedStack* stack) {
    std::byte* const low = stack->pages + pageSize();
    pthread_attr_setstack(&attributes, low, static_cast<std::size_t>(reinterpret_cast<std::byte*>(stack) - low));
}

void noteStackBegun(HostedStack* stack) {
    const Locked locked(stacksLock);
    stack->thread = pthread_self();
}

void noteStackEnded(HostedStack* stack) {
    {
        const Locked locked(stacksLock);
        stack->ended = true;
    }
    stacksEnded.fetch_add(1, std::memory_order_release);
    wakeAll(stacksEnded);
}

HostedStack* stackOf(pthread_t thread) {
    const Locked locked(stacksLock);
    HostedStack* stack = stacks;
    while (stack && !(stack->joinable && pthread_equal(stack->thread, thread))) {
        stack = stack->next;
    }
    return stack;
}

void giveStack(HostedStack* stack) {
    {
        const Locked locked(stacksLock);
        unlist(stack);
    }
    release(stack->pages, stack->size);
}

void giveStacks() {
    constexpr std::uint64_t longest = 1'000'000'000; // a thread that has been detached has little left to do, mostly
    constexpr std::uint64_t nap = longest / 1000;
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

} // namespace mpr::os
