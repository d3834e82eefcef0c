// SPDX-License-Identifier: MIT
/*
    findings.hpp - What is found wrong with the heap while its lock is held, until that can be said.

    The log's handler is the program's code, and may call the runtime, which takes the same lock. So findings are noted
    here, in a table of fixed size. Whoever next releases the lock and holds no other says them: see Heap::Telling.
    Without threads a finding is said at once.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/os/lock.hpp"
#include "mpr/os/target.hpp"

namespace mpr::heap {

struct Finding {
    enum class Kind : std::uint8_t { hole, ends, freeBlock, listedBlock, defect };
    Kind kind = Kind::defect;
    const void* where = nullptr;
    const void* block = nullptr; // that `where` lies in
    std::size_t bytes = 0;       // size of that block
    const char* what = nullptr;  // the defect
};

/** For any thread, whatever locks it holds. */
class Findings {
public:
    /** Whether anything waits to be said. One load. */
    bool any() const { return any_.load(std::memory_order_relaxed); }
    void add(const Finding& finding) {
        os::Locked locked(lock_);
        if (count_ - first_ < most) {
            list_[count_++ % most] = finding;
        } else {
            ++missed_;
        }
        any_.store(true, std::memory_order_relaxed);
    }
    /**
        Take the oldest finding. @return false when there is none; `missed` is then how many found no room, told once.
     */
    bool take(Finding& finding, unsigned& missed) {
        os::Locked locked(lock_);
        if (first_ != count_) {
            finding = list_[first_++ % most];
            return true;
        }
        missed = missed_;
        missed_ = 0;
        any_.store(false, std::memory_order_relaxed);
        return false;
    }

private:
    static constexpr unsigned most = 32; // lines in the log at once are enough; a power of two, as the counts wrap

    os::Lock lock_; // the last of all to be taken
    Finding list_[most] MPR_GUARDED_BY(lock_);
    unsigned first_ MPR_GUARDED_BY(lock_) = 0;
    unsigned count_ MPR_GUARDED_BY(lock_) = 0;
    unsigned missed_ MPR_GUARDED_BY(lock_) = 0;
    os::Shared<bool> any_{false}; // changes under the lock; a hint to take it, so it needs no order
};

/** Where findings are said at once. */
struct NoFindings {
    static bool any() { return false; }
    static void add(const Finding&) {}
    static bool take(Finding&, unsigned&) { return false; }
};

} // namespace mpr::heap
