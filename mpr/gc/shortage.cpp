// SPDX-License-Identifier: MIT
/*
    shortage.cpp - Steps to have memory when it is short.
 */
#include "mpr/gc/shortage.hpp"

#include "mpr/gc/runtime.hpp"
#include "mpr/os/pages.hpp"

namespace mpr::gc {

bool relieve(Mutator& m, Attempt& attempt) {
    Runtime& rt = runtime();
    if (os::hasThreads && m.canDoWithout) {
        return false;
    }
    const unsigned refused = os::refusals();
    if (attempt.shortage != heap::Shortage::tooBig) {
        if (rt.collector.awaitSweep(m) && attempt.again()) {
            return true;
        }
        rt.collector.emergency(m);
        if (attempt.again() || (rt.collector.makeRoom(m, attempt.bytes) && attempt.again())) {
            return true;
        }
    }
    // A thread that keeps a block while it does not run is not told: what it was told to do needs a thread that runs.
    const bool told = (!os::hasThreads || current == &m) &&
                      rt.depletion.raise(m, causeOf(attempt.shortage, os::refusals() != refused), attempt.bytes);
    if (told) {
        rt.heap.decommitRetired();
        if (attempt.again()) {
            return true;
        }
        rt.heap.noteRefused(attempt.bytes);
    }
    rt.depletion.countError();
    return false;
}

/** Collections that a thread waits for which does not run: threads that run may have taken what one has freed. */
static constexpr int mostOutside = 6;

bool relieveOutside(Attempt& attempt) {
    Runtime& rt = runtime();
    if (attempt.shortage != heap::Shortage::tooBig) {
        if (rt.collector.awaitSweepOutside() && attempt.again()) {
            return true;
        }
        for (int i = 0; i < mostOutside && rt.collector.collectOutside(); ++i) {
            if (attempt.again()) {
                return true;
            }
        }
    }
    rt.heap.noteRefused(attempt.bytes);
    rt.depletion.countError();
    return false;
}

} // namespace mpr::gc
