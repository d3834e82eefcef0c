// SPDX-License-Identifier: MIT
/*
    helpers.cpp - The helpers' threads, and a marker's part of a job.
 */
#include "mpr/gc/helpers.hpp"

#include <algorithm>
#include <bit>

#include "mpr/gc/remembered.hpp"
#include "mpr/gc/mutator.hpp"

namespace mpr::gc {

using heap::Region;

namespace {
/** Shares pieces of work among markers that all walk over them: whoever draws a piece's number does it. */
class Turns {
public:
    explicit Turns(std::atomic<std::uint32_t>& next) : next_(next), mine_(draw()) {}
    /** Come to the next piece, and do it if its number was drawn. */
    template <typename Work>
    void take(Work&& work) {
        if (number_++ == mine_) {
            work();
            mine_ = draw();
        }
    }

private:
    std::uint32_t draw() { return next_.fetch_add(1, std::memory_order_relaxed); }

    std::atomic<std::uint32_t>& next_;
    std::uint32_t mine_;
    std::uint32_t number_ = 0;
};
} // namespace

void Helpers::open(unsigned markers, std::size_t stack) {
    const unsigned processors = static_cast<unsigned>(std::max(os::processors(), 1));
    count_ = std::min(markers > 0 ? markers : processors, most + 1) - 1;
    stack_ = stack;
}

void Helpers::close() {
    stop_.store(true, std::memory_order_release);
    round_.fetch_add(1, std::memory_order_release);
    os::wakeAll(round_);
    for (unsigned i = 0; i < started_; ++i) {
        os::joinThread(helpers_[i].thread);
    }
}

void Helpers::lend(MarkMemory& memory, Marker& own) {
    memory.lend(own, 0, count_ + 1);
    for (unsigned i = 0; i < count_; ++i) {
        memory.lend(markers_[i], i + 1, count_ + 1);
    }
}

/** Start helpers. If a thread cannot be created, continue with fewer. */
void Helpers::start() {
    for (unsigned i = 0; i < count_; ++i) {
        helpers_[i].all = this;
        helpers_[i].marker = &markers_[i];
        helpers_[i].processor = os::currentProcessor();
        const auto entry = [](void* helper) {
            auto* self = static_cast<Helper*>(helper);
            self->all->run(*self);
        };
        const os::ThreadTraits traits{.stackSize = stack_, .joinable = true, .ofRuntime = true};
        if (!os::startThread(helpers_[i].thread, "mpr-marker", entry, &helpers_[i], traits)) {
            count_ = i;
        }
    }
    started_ = count_;
}

void Helpers::run(Helper& self) {
    mayNotEnd(&self);
    for (;;) {
        // Read before stop_ is looked at, so that a later wait returns if that has changed.
        const std::uint32_t round = round_.load(std::memory_order_acquire);
        if (stop_.load(std::memory_order_acquire)) {
            mayNotEnd(nullptr);
            return;
        }
        if (work_.join()) {
            self.joined = true;
            self.marker->share(&work_);
            work(*job_, *self.marker, &self);
            self.marker->end();
            self.processor.store(os::currentProcessor(), std::memory_order_relaxed);
            work_.leave();
        }
        os::wait(round_, round);
    }
}

void Helpers::keepApart() {
    const int here = os::currentProcessor();
    for (unsigned i = 0; i < count_; ++i) {
        Helper& helper = helpers_[i];
        if (helper.processor.load(std::memory_order_relaxed) == here && !os::keepOff(helper.thread, home_, here)) {
            crowded_ = true; // from the next job on: in this one it may be at work already
        }
    }
}

void Helpers::readRemembered(MarkJob& job, Marker& marker) {
    marker.begin(job.marking, job.filter, job.defers);
    Remembered remembered(heap_, marker, false);
    Turns turns(job.nextWritten);
    for (const RememberedChunk* chunk = job.written; chunk; chunk = chunk->next) {
        turns.take([&] { remembered.mark(*chunk); });
    }
}

/** Retrace chunks of all regions, which are numbered throughout. */
void Helpers::retrace(MarkJob& job, Marker& marker) {
    marker.begin(job.retracing, job.retracingFilter, job.defers);
    Turns turns(job.nextRetraced);
    for (Region* region = job.first; region; region = heap_.nextRegion(region)) {
        std::uint64_t chunks =
            job.which.barrier ? ~std::uint64_t{0} >> (Region::chunks - region->chunkCount()) : region->wantsFree.get();
        for (; chunks != 0; chunks &= chunks - 1) {
            const auto chunk = static_cast<unsigned>(std::countr_zero(chunks));
            turns.take([&] { marker.retraceOld(region, chunk, job.which); });
        }
    }
}

void Helpers::work(MarkJob& job, Marker& marker, const Helper* self) {
    marker.setPause(job.pause);
    if (job.written) {
        readRemembered(job, marker);
    }
    if (!self) {
        job.read = spent();
    }
    if (job.retraces) {
        retrace(job, marker);
    }
    if (!self) {
        job.retraced = spent();
        job.retracedAt = os::now();
    }
    marker.begin(job.marking, job.filter, job.defers);
    marker.drainShared(job.until);
}

unsigned Helpers::mark(MarkJob& job, Marker& own, unsigned others) {
    if (others == 0 || crowded_ || count_ == 0) {
        work(job, own, nullptr);
        return 1;
    }
    job_ = &job;
    work_.begin(others);
    if (started_ == 0) {
        start();
    }
    keepApart();
    round_.fetch_add(1, std::memory_order_release);
    os::wakeAll(round_);
    own.share(&work_);
    work(job, own, nullptr);
    own.share(nullptr);
    work_.close();
    own.inherit(work_.end());
    unsigned markers = 1;
    for (unsigned i = 0; i < count_; ++i) {
        if (std::exchange(helpers_[i].joined, false)) {
            own.absorb(markers_[i]);
            ++markers;
        }
    }
    return markers;
}

} // namespace mpr::gc
