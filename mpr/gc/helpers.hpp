// SPDX-License-Identifier: MIT
/*
    helpers.hpp - Threads that mark in parallel with the collector's, while all others are stopped or while they run.

    Helpers are started when there is first enough to do, one per processor besides the collector's (option markers),
    and sleep between jobs. A job is offered to them and begun. A helper that comes while there is work joins; one that
    comes too late finds the job closed. So nobody waits for a thread that the system has not scheduled yet. A helper
    that was last seen on the collector's processor is sent to others first, since a scheduler may take milliseconds to
    do so. While threads run, only as many helpers may join as processors are free: threads that stop wait for those
    that have joined.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/mark_memory.hpp"
#include "mpr/gc/marker.hpp"
#include "mpr/gc/shared_work.hpp"
#include "mpr/gc/remembered_set.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

/**
    The marking of a pause, and its progress. Helpers receive it under the lock of SharedWork. Drawing turns orders
    nothing.
 */
struct MarkJob {
    Marking marking = Marking::all;
    std::uint32_t pause = 0;                  // a number; see Marker::setPause
    const BlockFilter* filter = nullptr;      // see Marker::begin
    bool defers = false;                      // see Marker::begin
    Until until;                              // with Marking::slice or concurrent
    const RememberedChunk* written = nullptr; // done first: full chunks of the set
    /**
        Next chunk of the log. Relaxed, like nextRetraced: each number is drawn once, and SharedWork's lock orders the
        job.
     */
    std::atomic<std::uint32_t> nextWritten{0};
    bool retraces = false;            // done next: old blocks are traced again
    Marker::Retrace which{};          // which of them
    Marking retracing = Marking::all; // in this mode
    const BlockFilter* retracingFilter = nullptr;
    heap::Region* first = nullptr; // of the regions to retrace; those put in front meanwhile have no plain blocks
    std::atomic<std::uint32_t> nextRetraced{0}; // chunk to retrace, counted over all regions
    // When the collector's own marker had finished the set, and the retracing: processor time; and of the latter the time.
    std::uint64_t read = 0, retraced = 0, retracedAt = 0;
};

/** Nanoseconds of processor time of this process: while threads are stopped, only those of markers are added. */
inline std::uint64_t spent() {
    return os::cpuTime() * 1000;
}

class Helpers {
public:
    static constexpr unsigned most = MarkMemory::mostMarkers - 1;

    Helpers(heap::Heap& heap, Doubts& doubts)
        : heap_(heap), markers_{Marker(heap, &doubts), Marker(heap, &doubts), Marker(heap, &doubts)} {}

    /** @param markers The collector's own included; 0: as many as there are processors, four at most. */
    void open(unsigned markers, std::size_t stack);
    void close();
    /** @param home The thread whose processors helpers may use. */
    void settle(os::ThreadId home) { home_ = home; }
    /** Give all markers their stacks, which are empty. */
    void lend(MarkMemory& memory, Marker& own);

    /**
        Do a job with all helpers that come. `own`, the calling thread's marker, ends with what is left of the job: grey
        blocks, and after a slice waiting ones. @param others How many may help, at most. @return How many markers took
        part.
     */
    unsigned mark(MarkJob& job, Marker& own, unsigned others);

    /** A value that changes with Marker::traced of any helper. Any thread may ask. */
    std::uintptr_t traced() const {
        std::uintptr_t all = 0;
        forEach([&all](const Marker& marker) { all = all * 31 + marker.traced(); });
        return all;
    }
    template <typename F>
    void forEach(F&& f) const {
        for (const Marker& marker : markers_) {
            f(marker);
        }
    }

private:
    struct Helper {
        Helpers* all; // the first three are set before the thread begins, or used on duty
        Marker* marker;
        os::ThreadId thread;
        bool joined;                // it joined the last job: ordered by SharedWork's joining and leaving
        std::atomic<int> processor; // where it last ran; a hint
    };

    void start();
    void keepApart();
    void run(Helper& self);
    void work(MarkJob& job, Marker& marker, const Helper* self);
    void readRemembered(MarkJob& job, Marker& marker);
    void retrace(MarkJob& job, Marker& marker);

    heap::Heap& heap_;
    Marker markers_[most];
    Helper helpers_[most] = {};
    SharedWork work_;
    MarkJob* job_ = nullptr; // set on duty, before the lock of SharedWork with which helpers join
    os::Word round_{0};      // stored after stop_, and after the work, which has a lock
    std::atomic<bool> stop_{false};
    // Used on duty, and by open, settle and close.
    unsigned count_ = 0;
    unsigned started_ = 0;
    bool crowded_ = false; // there is only one processor
    std::size_t stack_ = 0;
    os::ThreadId home_ = 0;
};

} // namespace mpr::gc
