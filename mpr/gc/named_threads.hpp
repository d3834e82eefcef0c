// SPDX-License-Identifier: MIT
/*
    named_threads.hpp - Threads that a message will name. They are noted under the lock of their list, and said without
    it, since the log's handler may call what takes that lock.
 */
#pragma once

#include <cstring>

#include "mpr/gc/mutator.hpp"

namespace mpr::gc {

class NamedThreads {
public:
    struct Thread {
        char name[sizeof(Mutator::name)];
        const void* site; // where it last yielded
        bool starves;     // it gets no processor
    };

    void add(const Mutator& m, bool starves = false) {
        if (count_ == most) {
            ++more_;
            return;
        }
        Thread& thread = threads_[count_++];
        std::memcpy(thread.name, m.name, sizeof(thread.name));
        thread.site = m.site.load(std::memory_order_relaxed);
        thread.starves = starves;
    }
    const Thread* begin() const { return threads_; }
    const Thread* end() const { return threads_ + count_; }
    /** How many more there were, for whom there was no room. */
    unsigned more() const { return more_; }

private:
    static constexpr unsigned most = 16;

    Thread threads_[most];
    unsigned count_ = 0, more_ = 0;
};

} // namespace mpr::gc
