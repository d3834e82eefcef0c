// SPDX-License-Identifier: MIT
/*
    helpers.hpp - Threads that mark together with the collector's, while all others are stopped, or beside these.

    They are started when there is first enough to do, as many as there are processors beside the collector's (option
    markers), and sleep between jobs. A job is offered to them and begun; who comes while there is work joins in, who
    comes too late finds it closed: nobody waits for a thread that the system has not scheduled yet. A helper that was
    last seen on the collector's own processor is sent to others first: a scheduler may take milliseconds to do so.
    Beside threads only as many may come as there are processors free: threads that stop wait for those who have.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpr/gc/mark_memory.hpp"
#include "mpr/gc/marker.hpp"
#include "mpr/gc/shared_work.hpp"
#include "mpr/gc/write_log.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

/**
    What a pause marks, and how far it has come. Helpers are given it under the lock of SharedWork; that turns are drawn
    orders nothing.
 */
struct MarkJob {
    Marking marking = Marking::all;
    std::uint32_t pause = 0;             // a number; see Marker::setPause
    const BlockFilter* filter = nullptr; // see Marker::begin
    bool defers = false;                 // see there
    Until until;                         // with Marking::slice or concurrent
    const LogChunk* written = nullptr;   // first: full chunks of the log
    /** Chunk to look through. Relaxed, as nextRetraced: each number is drawn once; the job comes with SharedWork's lock. */
    std::atomic<std::uint32_t> nextWritten{0};
    bool retraces = false;            // then: old blocks,
    Marker::Retrace which{};          // these,
    Marking retracing = Marking::all; // so,
    const BlockFilter* retracingFilter = nullptr;
    heap::Region* first = nullptr; // and those behind it: what others put in front meanwhile has no plain blocks
    std::atomic<std::uint32_t> nextRetraced{0}; // chunk to retrace, counted over all regions
    // When the collector's own marker had done with the first, and with both:
    std::uint64_t read = 0, retraced = 0;
};

class Helpers {
public:
    static constexpr unsigned most = MarkMemory::mostMarkers - 1;

    explicit Helpers(heap::Heap& heap) : heap_(heap), markers_{Marker(heap), Marker(heap), Marker(heap)} {}

    /** @param markers The collector's own included; 0: as many as there are processors, four at most. */
    void open(unsigned markers, std::size_t stack);
    void close();
    /** @param home The thread whose processors they may use. */
    void settle(os::ThreadId home) { home_ = home; }
    /** Give all markers their stacks. They are empty. */
    void lend(MarkMemory& memory, Marker& own);

    /**
        Do a job with all who come. `own`, the calling thread's marker, ends with what is left of it: what is grey, and after a
        slice what waits. @param others May help, at most. @return How many markers had a part.
     */
    unsigned mark(MarkJob& job, Marker& own, unsigned others);

    /** Any thread: of all, see Marker::traced. */
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
        Helpers* all;
        Marker* marker;
        os::ThreadId thread;
        bool joined;                // the last job
        std::atomic<int> processor; // that it was last on: a hint
    };

    void start();
    void keepApart();
    void run(Helper& self);
    void work(MarkJob& job, Marker& marker, const Helper* self);
    void readLog(MarkJob& job, Marker& marker);
    void retrace(MarkJob& job, Marker& marker);

    heap::Heap& heap_;
    Marker markers_[most];
    Helper helpers_[most] = {};
    SharedWork work_;
    MarkJob* job_ = nullptr;
    os::Word round_{0}; // behind stop_, and behind the work, which has a lock
    std::atomic<bool> stop_{false};
    unsigned count_ = 0;
    unsigned started_ = 0;
    bool crowded_ = false; // one processor is all there is
    std::size_t stack_ = 0;
    os::ThreadId home_ = 0;
};

} // namespace mpr::gc
