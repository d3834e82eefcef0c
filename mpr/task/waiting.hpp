// SPDX-License-Identifier: MIT
/*
    waiting.hpp - How a call waits: it lets collections pass meanwhile.

    A thread that is already yielded (by its caller), exempt, or foreign stays as it is: a library call must not end a
    sticky yield that it did not begin. Inside the memory notifier and the log's handler nothing may yield. A call that
    waits there is named, and keeps collections waiting.
 */
#pragma once

#include <atomic>

#include "mpr/gc/runtime.hpp"

namespace mpr::task {

/** The calling thread is yielded while this exists. @param site The caller's code address, for messages. */
class Waiting {
public:
    explicit Waiting(const void* site) : mutator_(gc::current) {
        if (mutator_ && gc::mustNotYield(*mutator_)) {
            gc::refuse("a call that waits");
            mutator_ = nullptr;
        }
        if (mutator_ && mutator_->isCollector) {
            mutator_ = nullptr;
        }
        if (mutator_) {
            gc::runtime().collector.yield(*mutator_, MPR_YIELD_STICKY, site);
            waits.fetch_add(1, std::memory_order_relaxed);
        }
    }
    ~Waiting() {
        if (mutator_) {
            waits.fetch_add(oneEnded - 1, std::memory_order_relaxed);
            gc::runtime().collector.resume(*mutator_);
        }
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    /** How many threads are waiting in this way. */
    static int threads() { return static_cast<int>(waits.load(std::memory_order_relaxed) % oneEnded); }
    /** Changes whenever one of them wants to continue. */
    static std::uint32_t ended() { return waits.load(std::memory_order_relaxed) / oneEnded; }

private:
    static constexpr std::uint32_t oneEnded = 0x10000;
    static inline std::atomic<std::uint32_t> waits{
        0}; // low half: threads(), high half: ended(); hints, which order nothing

    gc::Mutator* mutator_;
};

/** Milliseconds: more is for ever. In nanoseconds it fits, and can be added to a time. */
inline constexpr MprTicks longestTime = os::forever / 4 / 1'000'000;

/** When a wait of milliseconds from now ends, as os::now() counts. Negative: never. */
inline std::uint64_t deadlineIn(MprTicks milliseconds) {
    if (milliseconds < 0 || milliseconds > longestTime) {
        return os::forever;
    }
    return os::now() + static_cast<std::uint64_t>(milliseconds) * 1'000'000;
}

/** What is left until a deadline, for os::wait. */
inline std::uint64_t leftUntil(std::uint64_t deadline) {
    if (deadline == os::forever) {
        return os::forever;
    }
    const std::uint64_t now = os::now();
    return deadline > now ? deadline - now : 0;
}

} // namespace mpr::task
