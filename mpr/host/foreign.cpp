// SPDX-License-Identifier: MIT
/*
    foreign.cpp - Memory that the program keeps outside of the heap for its blocks: mpr/host.h.

    There is one sum, and a table of ranges: pages of its own, since the heap may be what is short, in no order, since there
    are few. Both are of one runtime; the first call in the next one begins anew.
 */
#include <algorithm>
#include <cstdint>
#include <limits>

#include "mpr/collect.h"
#include "mpr/gc/guard.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/host.h"
#include "mpr/os/lock.hpp"
#include "mpr/os/pages.hpp"

namespace os = mpr::os;
namespace gc = mpr::gc;

namespace {

struct Range {
    const void* start;
    std::size_t size;
};

void giveRanges();

class Foreign {
public:
    /** @return Whether it can be so much; nothing has changed otherwise. */
    bool add(std::size_t bytes) {
        const os::Locked locked(lock_);
        return addLocked(bytes);
    }
    /** @return false: so much was not added, ranges left out. */
    bool remove(std::size_t bytes) {
        const os::Locked locked(lock_);
        begin();
        if (bytes > bytes_ - inRanges_) {
            return false;
        }
        removeLocked(bytes);
        return true;
    }
    std::size_t bytes() {
        const os::Locked locked(lock_);
        begin();
        return bytes_;
    }
    int acquire(Range range) {
        const os::Locked locked(lock_);
        begin();
        if (find(range.start)) {
            return MPR_ERR_ALREADY_EXISTS;
        }
        if (count_ == room_ && !grow()) {
            return MPR_ERR_MEMORY;
        }
        if (!addLocked(range.size)) {
            return MPR_ERR_BAD_ARGS;
        }
        ranges_[count_++] = range;
        inRanges_ += range.size;
        return 0;
    }
    bool release(const void* start) {
        const os::Locked locked(lock_);
        begin();
        Range* range = find(start);
        if (range) {
            removeLocked(range->size);
            inRanges_ -= range->size;
            *range = ranges_[--count_];
        }
        return range != nullptr;
    }
    /** The runtime has ended, and the host wants its pages. */
    void give() {
        const os::Locked locked(lock_);
        if (ranges_) {
            os::release(ranges_, room_ * sizeof(Range));
        }
        ranges_ = nullptr;
        bytes_ = inRanges_ = count_ = room_ = 0;
    }

private:
    static constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();

    /** A runtime that has none outside is another one than that which was told last, or nothing is lost. */
    void begin() MPR_REQUIRES(lock_) {
        os::assertHeld(lock_);
        if (bytes_ != gc::runtime().heap.limits().outside()) {
            bytes_ = inRanges_ = count_ = 0;
        }
    }
    bool addLocked(std::size_t bytes) MPR_REQUIRES(lock_) {
        begin();
        if (bytes > most - bytes_) {
            return false;
        }
        bytes_ += bytes;
        gc::runtime().heap.setOutside(bytes_, bytes);
        return true;
    }
    void removeLocked(std::size_t bytes) MPR_REQUIRES(lock_) {
        bytes_ -= bytes;
        gc::runtime().heap.setOutside(bytes_, 0);
    }
    Range* find(const void* start) MPR_REQUIRES(lock_) {
        Range* end = ranges_ + count_;
        Range* found = std::find_if(ranges_, end, [=](const Range& range) { return range.start == start; });
        return found != end ? found : nullptr;
    }
    bool grow() MPR_REQUIRES(lock_) {
        const std::size_t bytes = std::max(os::pageSize(), 2 * room_ * sizeof(Range));
        auto* grown = static_cast<Range*>(os::reserve(bytes, os::pageSize()));
        if (!grown) {
            return false;
        }
        os::givesAtEnd(giveRanges);
        std::copy(ranges_, ranges_ + count_, grown);
        if (ranges_) {
            os::release(ranges_, room_ * sizeof(Range));
        }
        ranges_ = grown;
        room_ = bytes / sizeof(Range);
        return true;
    }

    os::Lock lock_;
    std::size_t bytes_ MPR_GUARDED_BY(lock_) = 0; // in all
    std::size_t inRanges_ MPR_GUARDED_BY(lock_) = 0;
    Range* ranges_ MPR_GUARDED_BY(lock_) = nullptr;
    std::size_t count_ MPR_GUARDED_BY(lock_) = 0;
    std::size_t room_ MPR_GUARDED_BY(lock_) = 0;
};

constinit Foreign foreign;

void giveRanges() {
    foreign.give();
}

/** Have done what more memory outside has made necessary, if the calling thread may. */
void attend(std::size_t size) {
    gc::Mutator* m = gc::current;
    if (!m || m->isCollector || gc::mustNotYield(*m) || !gc::runtime().heap.needsAttention()) {
        return; // the next allocation does
    }
    gc::attend(*m, size);
}

int wrong(const char* function, const char* what) {
    gc::misuse(function, nullptr, what);
    return MPR_ERR_BAD_ARGS;
}
} // namespace

int mprAddMemoryPressure(ssize bytes) {
    const gc::Stay stay("mprAddMemoryPressure");
    if (!stay) {
        return MPR_ERR_BAD_STATE;
    }
    if (bytes < 0 || !foreign.add(static_cast<std::size_t>(bytes))) {
        return wrong("mprAddMemoryPressure", bytes < 0 ? "less than 0 bytes; to take back what was added, "
                                                         "mprRemoveMemoryPressure"
                                                       : "more than there can be in all");
    }
    attend(static_cast<std::size_t>(bytes));
    return 0;
}

int mprRemoveMemoryPressure(ssize bytes) {
    const gc::Stay stay("mprRemoveMemoryPressure");
    if (!stay) {
        return MPR_ERR_BAD_STATE;
    }
    if (bytes < 0 || !foreign.remove(static_cast<std::size_t>(bytes))) {
        return wrong("mprRemoveMemoryPressure", bytes < 0 ? "less than 0 bytes" : "more than was added");
    }
    return 0;
}

ssize mprGetMemoryPressure(void) {
    const gc::Stay stay;
    return stay ? static_cast<ssize>(foreign.bytes()) : 0;
}

ssize mprNeedsAddressRange(size_t) {
    if (!gc::admitYielding("mprNeedsAddressRange")) {
        return MPR_ERR_BAD_STATE;
    }
    mpr::heap::Heap& heap = gc::runtime().heap;
    const std::uint64_t before = heap.usage().reserved;
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE); // addresses of regions go once all threads have stopped again: heap/gone.hpp
    const std::uint64_t after = heap.usage().reserved;
    return before > after ? static_cast<ssize>(before - after) : 0;
}

int mprAcquiredAddressRange(const void* start, size_t size) {
    const gc::Stay stay("mprAcquiredAddressRange");
    if (!stay) {
        return MPR_ERR_BAD_STATE;
    }
    if (size == 0) {
        return wrong("mprAcquiredAddressRange", "an empty range");
    }
    const int error = foreign.acquire({start, size});
    if (error == 0) {
        attend(size);
    } else if (error != MPR_ERR_MEMORY) {
        wrong("mprAcquiredAddressRange",
              error == MPR_ERR_BAD_ARGS ? "more than there can be in all" : "a range that begins there is known");
    }
    return error;
}

int mprReleasedAddressRange(const void* start) {
    const gc::Stay stay("mprReleasedAddressRange");
    if (!stay) {
        return MPR_ERR_BAD_STATE;
    }
    if (!foreign.release(start)) {
        wrong("mprReleasedAddressRange", "no range that is known begins there");
        return MPR_ERR_CANT_FIND;
    }
    return 0;
}
