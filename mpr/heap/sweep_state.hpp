// SPDX-License-Identifier: MIT
/*
    sweep_state.hpp - What the colours of heads mean at the moment: what is dead, what may be about to be traced, and
    hence what may be freed by hand as it is.

    Colours change while threads are stopped. A sweep and tracing begin while they are, and tracing ends so, too: the
    rendezvous orders that. A sweep ends while threads run: whoever frees by hand may see either, since nothing is dead
    any more then, and claims the head by compare-and-swap. Any thread may ask; whoever changes something holds the
    heap's lock.
 */
#pragma once

#include <atomic>

#include "mpr/heap/map.hpp"
#include "mpr/heap/part.hpp"
#include "mpr/heap/region.hpp"

namespace mpr::heap {

/** The blocks that a sweep frees: none, those that a minor collection found dead, or all unmarked ones. */
enum class Sweep : Byte { none, young, all };

/** Whether a block may be freed by hand as it is. */
enum class Freeable : Byte { no, yes, withoutManager };

class SweepState : Part {
public:
    using Part::Part;

    // ---- Any thread ----

    const Colours& colours() const { return colours_; }
    Sweep sweep() const { return sweep_.load(std::memory_order_relaxed); }

    /** Whether the sweep that runs may free a block with this head, unless it is held. */
    bool dead(Byte h) const {
        const Sweep now = sweep();
        return (now == Sweep::all || (isYoung(now) && (h & head::old) == 0)) && !colours_.marked(h);
    }
    /** `dead` for the heads in a word or a row of a map, while a sweep runs: a copy of the state that decides. */
    class DeadHeads {
    public:
        explicit DeadHeads(const SweepState& state) : colours_(state.colours_), youngOnly_(isYoung(state.sweep())) {
            MPR_ASSERT(state.sweep() != Sweep::none);
        }
        auto operator()(auto words) const { return swar::unmarked(words, colours_, youngOnly_); }

    private:
        Colours colours_;
        bool youngOnly_;
    };

    bool mayBeTraced(Byte h) const {
        // A young block that is neither marked nor dead was left grey.
        return os::hasGenerations && ((h & head::old) != 0 || !colours_.marked(h)) &&
               tracing_.load(std::memory_order_relaxed);
    }

    Freeable freeable(Byte h) const {
        if constexpr (os::cooperative) {
            return computeFreeable(h); // no room for a table
        }
        return std::atomic_ref<const Freeable>(freeable_[h]).load(std::memory_order_relaxed);
    }

    // ---- The heap's lock is held ----

    /** Whether blocks with managers are never freed at once: it is to be asked first. Before refresh. */
    void setCareful(bool careful) {
        assertHeld();
        careful_ = careful;
    }
    /** Every young block is unmarked from here on. All threads are stopped. */
    void unmarkYoung() {
        assertHeld();
        colours_.youngParity ^= 1;
    }
    void unmarkOld() {
        assertHeld();
        colours_.oldParity ^= 1;
    }
    /** The colours are those of another heap. */
    void adopt(Colours colours) {
        assertHeld();
        colours_ = colours;
    }
    /** What may be freed follows when refresh is called. */
    void setSweep(Sweep sweep) {
        assertHeld();
        sweep_.store(sweep, std::memory_order_relaxed);
    }
    void setTracing(bool on) {
        assertHeld();
        tracing_.store(on, std::memory_order_relaxed);
        refresh();
    }
    /** What may be freed follows from the rest, and changes when that does. */
    void refresh();

private:
    static bool isYoung(Sweep sweep) { return os::hasGenerations && sweep == Sweep::young; }

    Freeable computeFreeable(Byte h) const;

    Colours colours_;
    os::Shared<Sweep> sweep_{Sweep::none};
    os::Shared<bool> tracing_{false};
    bool careful_ = false;
    Freeable freeable_[os::cooperative ? 1 : 256] = {}; // by head; relaxed, and ordered as the others
};

} // namespace mpr::heap
