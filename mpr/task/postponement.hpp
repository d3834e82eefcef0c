// SPDX-License-Identifier: MIT
/*
    postponement.hpp - A collection that keeps nobody waiting may come when the queue has been run.

    A queued event lives until it has run. A collection in the middle of a burst of events marks all that are left, and
    they are old when they die; after the burst it finds nothing but garbage. So the thread that services events puts
    off the yield between two of them as long as
      - the collection is wanted for the budget: that much has been allocated since the last pause;
      - no other attached thread runs or wants to go on: all wait in calls of the runtime (see Waiting);
      - little more is allocated, no allocation fails, and some tens of milliseconds have not passed.
 */
#pragma once

#include "mpr/task/waiting.hpp"

namespace mpr::task {

/** Of one thread, which calls end() when no yield is wanted, or it yields. */
class Postponement {
public:
    /** A yield is wanted, but more events are queued. @return Whether it may come later. */
    bool allowed() {
        if (begun_ && Waiting::ended() == ended_ && ++count_ % looks != 0) [[likely]] {
            return true;
        }
        begun_ = begun_ ? goesOn() : begins();
        return begun_;
    }
    void end() { begun_ = false; }

private:
    static constexpr std::uint64_t longest = 50'000'000; // nanoseconds; others may come to wait for the collection
    static constexpr unsigned looks = 16;                // events between two looks at clock and heap

    bool begins();
    bool goesOn() const;
    static bool isAlone();

    // Belongs to the thread that services events; Events orders one such thread after another.
    bool begun_ = false;
    unsigned count_ = 0;
    std::uint32_t ended_ = 0;   // waits, when it began
    std::uint64_t begin_ = 0;   // nanoseconds
    std::uint64_t errors_ = 0;  // allocations that failed by then
    std::size_t allocated_ = 0; // bytes since the last pause by then
};

} // namespace mpr::task
