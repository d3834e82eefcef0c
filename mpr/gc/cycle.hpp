// SPDX-License-Identifier: MIT
/*
    cycle.hpp - The phase of a collection, requests for the next one, and the role that may advance it: the state that
    all parts of the collector share.

    Phases, in order. One writer at a time advances them: the holder of the duty, which is the collector's thread or a
    thread that stops (duty.hpp).
        idle       -> requested   request(): any thread, by compare-and-swap; threads stop at their next yield
        requested  -> marking     beginMarking(): on duty, when the gate is closed and all threads have stopped
        marking    -> freeing     reopen(): on duty; the gate opens
        freeing    -> sweeping    beginSweeping(): on duty, when all MPR_MANAGE_FREE calls have returned
        sweeping   -> idle        endSweeping(): on duty
        marking    -> idle        reopen(): on duty, after a slice; the gate opens
    A request outside idle is remembered (`pending_`) and becomes the next collection: beginNext(). Threads are stopped
    only in requested and marking. In particular no thread has to wait for a finalizer, whatever lock that may be
    waiting for. Where a thread does wait (MPR_GC_COMPLETE, and briefly when allocation outruns the sweep) the wait is
    bounded.

    test/model/rendezvous.pml and late.pml are these transitions in Promela. A function that is one of their steps names
    it: "Model: label". The models' variables are `phase`, `wanted` and `pending` here; `running`, `closed` and `opened`
    are Rendezvous; `paused` is pauses_, `rang` is bell_, `duty` is duty_. The orders of the operations are checked in
    rendezvous.cpp and late.cpp beside them, which look for the very lines of cycle.cpp.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/assists.hpp"
#include "mpr/gc/major.hpp"
#include "mpr/gc/on_duty.hpp"
#include "mpr/gc/rendezvous.hpp"
#include "mpr/gc/wish.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::gc {

enum class Phase : std::uint32_t { idle, requested, marking, freeing, sweeping };

/** The work of a collection: see collector.hpp. */
enum class Scope : std::uint8_t { slice, minor, last, full };

class Cycle {
public:
    /** Counts collections or pauses. Each increment releases what was done before; waiting for it acquires. */
    using Number = std::atomic<std::uint32_t>;
    static bool reached(const Number& number, std::uint32_t target) {
        return static_cast<std::int32_t>(number.load(std::memory_order_acquire) - target) >= 0;
    }

    // ---- The duty ----
    void takeDuty() MPR_ACQUIRES(onDuty) MPR_UNANALYSED { duty_.lock(); }
    bool tryDuty() MPR_TRIES(true, onDuty) MPR_UNANALYSED { return duty_.tryLock(); }
    void giveUpDuty() MPR_RELEASES(onDuty) MPR_UNANALYSED { duty_.unlock(); }
    /** The calling thread is the collector, which alone advances phases. */
    void assertOnDuty(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const MPR_ASSERTS(onDuty) {
        os::assertHeld(duty_, file, line);
    }
    /** The calling thread is the collector and all threads are stopped: it owns the heap and all that threads own. */
    void assertStopped(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const MPR_ASSERTS(onDuty) {
        assertOnDuty(file, line);
        if constexpr (os::checked) {
            os::check(phase() == Phase::marking && rendezvous_.stopped(), "threads are stopped", file, line);
        }
    }
    /** Whether the collector is a thread that stands in, and will continue with its own work. */
    bool standsIn() const MPR_REQUIRES(onDuty) { return standsIn_; }
    void setStandsIn(bool on) MPR_REQUIRES(onDuty) { standsIn_ = on; }
    /** Held on duty from before the phase is marking until the gate is open again. */
    os::Lock& pausing() { return pausing_; }

    // ---- The phase ----
    Phase phase() const { return static_cast<Phase>(phase_.load(std::memory_order_acquire)); }
    /** Whether managers free, or the sweep is under way. */
    bool isReclaiming() const {
        const Phase now = phase();
        return now == Phase::freeing || now == Phase::sweeping;
    }
    /** Requested -> marking. All threads have stopped. Model: pause, "phase = marks". */
    void beginMarking() MPR_REQUIRES(onDuty);
    /**
        Marking -> freeing, or after a slice idle: threads may continue. Model: pause, from "wanted = pending" on.
        @return The time just before threads continue.
     */
    std::uint64_t reopen(Phase phase) MPR_REQUIRES(onDuty);
    /** Freeing -> sweeping. The models know only one step for both. */
    void beginSweeping() MPR_REQUIRES(onDuty) { moveTo(Phase::sweeping); }
    /** Sweeping -> idle. Model: endReclaim. */
    void endSweeping() MPR_REQUIRES(onDuty);
    /** A collection has ended: begin the next if one is wanted already. Model: goOn. */
    void beginNext() MPR_REQUIRES(onDuty);

    /** The scope of the current collection. */
    Scope scope() const MPR_REQUIRES(onDuty) { return scope_; }
    bool isMinor() const MPR_REQUIRES(onDuty) { return scope_ == Scope::minor; }
    void setScope(Scope scope) MPR_REQUIRES(onDuty) { scope_ = scope; }

    // ---- Requests ----
    /** Ask for a collection; never waits. Model: request. */
    void request(Wish wish);
    /** The greatest wish so far. Asking takes it. */
    Wish takeWish() MPR_REQUIRES(onDuty);
    bool isPending() const { return pending_.load(std::memory_order_seq_cst); }
    /** Nanoseconds since the request, in phases requested and marking. */
    std::uint64_t waited(std::uint64_t now) const { return now - std::min<std::uint64_t>(now, requestedAt()); }
    os::Total requestedAt() const { return requestedAt_.load(std::memory_order_relaxed); }
    /** Whether collections may be requested that nobody has asked for. */
    bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
    /** Allow such collections, or not. @return Whether they were allowed. */
    bool setEnabled(bool on) { return enabled_.exchange(on, std::memory_order_acq_rel); }

    // ---- The gate ----
    Rendezvous& rendezvous() { return rendezvous_; }
    const Rendezvous& rendezvous() const { return rendezvous_; }
    /**
        A collection is requested: no thread may enter. @return Whether all have stopped. Model: serve; late.pml: meet.
     */
    bool closeGate() MPR_REQUIRES(onDuty);
    /** Threads need not yield for now. Model: yield, "was == idle". */
    void clearWanted();

    // ---- Sleeping and waking ----
    /** Changes after every phase and after whatever else threads wait for. */
    std::uint32_t progress() const { return progress_.load(std::memory_order_acquire); }
    /** Wake all threads that wait for progress. */
    void announce();
    /** Sleep until there is progress beyond what was `seen`. @return false: timed out. */
    bool awaitProgress(std::uint32_t seen, std::uint64_t timeout = os::forever) {
        return os::wait(progress_, seen, timeout);
    }
    /** Wake the collector's thread. Model: rang. */
    void ring();
    std::uint32_t heard() const { return bell_.load(std::memory_order_acquire); }
    /** Sleep until the bell rings after what was `heard`. @return false: timed out. */
    bool awaitBell(std::uint32_t heard, std::uint64_t timeout) { return os::wait(bell_, heard, timeout); }
    /**
        The collector's thread is about to sleep. @param watches It will look again soon, so requests need not ring.
        @return false when a collection is requested, possibly by a thread that believed this one watches.
     */
    bool mayRest(bool watches) MPR_REQUIRES(onDuty);
    /** The collector's thread takes over from threads that assist. */
    void endAssists();

    // ---- The end of the runtime ----
    /** No collection begins any more; the current one continues. */
    void end();
    bool ends() const { return stop_.load(std::memory_order_acquire); }

    // ---- Counters ----
    /** How many collections have marked; have swept; how many pauses there were. */
    const Number& marked() const { return marked_; }
    const Number& swept() const { return swept_; }
    const Number& pauses() const { return pauses_; }
    /** Count a collection that has marked; the blocks that it has freed; and that it has swept. */
    void countMarked() MPR_REQUIRES(onDuty);
    void countFreed(std::size_t blocks) { freedBlocks_.fetch_add(blocks, std::memory_order_relaxed); }
    void countSwept() MPR_REQUIRES(onDuty);
    /** How many blocks all sweeps have freed. */
    std::size_t freedBlocks() const { return freedBlocks_.load(std::memory_order_relaxed); }

    Major& major() { return major_; }
    const Major& major() const { return major_; }
    Assists& assists() { return assists_; }
    const Assists& assists() const { return assists_; }

private:
    void moveTo(Phase phase) MPR_REQUIRES(onDuty);
    static bool follows(Phase phase, Phase before);

    // Sequentially consistent where of two variables one thread writes the first and reads the second, while another
    // writes the second and reads the first: phase_ with the wanted flag, pending_, watching_. Elsewhere a new phase
    // releases, and a read acquires.
    Rendezvous rendezvous_;
    os::Word phase_{0};
    os::Word progress_{0}; // threads sleep on it
    os::Word bell_{0};     // the collector's thread sleeps on it; it rings after what that has to see
    std::atomic<bool> pending_{false};
    std::atomic<Wish> wish_{Wish::slice}; // stored before the phase or pending_
    std::atomic<bool> watching_{false};   // the collector's thread will look whether a collection is overdue
    std::atomic<bool> stop_{false};       // stored before the bell and progress_
    std::atomic<bool> enabled_{true};     // a wish: a collection that has begun continues
    os::Counter requestedAt_{0};          // for statistics and messages
    // Relaxed reads are on duty.
    Number marked_{0}, swept_{0}, pauses_{0};
    std::atomic<std::size_t> freedBlocks_{0}; // stored before swept_
    Assists assists_;

    os::Lock duty_{os::outermost}; // its holder has the role onDuty
    os::Lock pausing_{os::outermost};
    Scope scope_ MPR_GUARDED_BY(onDuty) = Scope::minor;
    bool standsIn_ MPR_GUARDED_BY(onDuty) = false;
    Major major_;
};

} // namespace mpr::gc
