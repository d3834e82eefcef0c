// SPDX-License-Identifier: MIT
/*
    suspension_monitor.cpp - The monitor of mpr/suspend.h: a line of the log for each suspension, and histograms.

    A thread whose suspension ends leaves a note in a ring and counts in a histogram, both without a lock or a call of
    the system. The monitor's thread, which is not attached, empties the ring some times a second. The ring is that of
    D. Vyukov (bounded MPMC queue, 2010) with one reader: a place's number says whose turn it is.
 */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "mpr/base/log_file.hpp"
#include "mpr/gc/guard.hpp"
#include "mpr/host/histogram.hpp"
#include "mpr/log.h"
#include "mpr/os/lock.hpp"
#include "mpr/os/os.hpp"
#include "mpr/suspend.h"

namespace os = mpr::os;

namespace mpr::host {

namespace {

constexpr std::uint64_t nap = 20'000'000; // nanoseconds between two looks at the ring
constexpr double perSecond = 1e9, perMillisecond = 1e6;
constexpr const char* tags[] = {"young", "all", "none"};
constexpr const char* causes[] = {"young collection", "collection of all", "no collection"};

unsigned placeOf(int generation) {
    return generation == MPR_GENERATION_YOUNG ? 0 : generation == MPR_GENERATION_ALL ? 1 : 2;
}

struct Note {
    char thread[32];
    MprSuspension suspension;
};

class Ring {
public:
    static constexpr std::uint32_t size = 2048;

    Ring() {
        for (std::uint32_t i = 0; i < size; ++i) {
            places_[i].turn.store(i, std::memory_order_relaxed);
        }
    }
    /** Any thread. */
    void put(const MprSuspension& suspension) {
        std::uint32_t at = next_.load(std::memory_order_relaxed);
        for (;;) {
            Place& place = places_[at % size];
            const std::uint32_t turn = place.turn.load(std::memory_order_acquire);
            if (turn == at) {
                if (next_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
                    std::memcpy(place.note.thread, suspension.thread, sizeof(place.note.thread));
                    place.note.suspension = suspension;
                    place.turn.store(at + 1, std::memory_order_release);
                    return;
                }
            } else if (static_cast<std::int32_t>(turn - at) < 0) {
                lost_.fetch_add(1, std::memory_order_relaxed);
                return;
            } else {
                at = next_.load(std::memory_order_relaxed);
            }
        }
    }
    /** The monitor's thread. @return false when there is none. */
    bool take(Note& note) {
        Place& place = places_[first_ % size];
        if (place.turn.load(std::memory_order_acquire) != first_ + 1) {
            return false;
        }
        note = place.note;
        note.suspension.thread = note.thread;
        place.turn.store(first_ + size, std::memory_order_release);
        ++first_;
        return true;
    }
    std::uint64_t takeLost() { return lost_.exchange(0, std::memory_order_relaxed); }

private:
    struct Place {
        std::atomic<std::uint32_t> turn;
        Note note;
    };
    Place places_[size];
    std::atomic<std::uint32_t> next_{0};
    std::uint32_t first_ = 0;
    os::Counter lost_{0};
};

class Monitor {
public:
    explicit Monitor(const MprSuspensionMonitor& settings) {
        infoFrom_ = settings.infoFrom ? settings.infoFrom : 1'000'000;
        warnFrom_ = settings.warnFrom ? settings.warnFrom : 10'000'000;
        interval_ = std::uint64_t{settings.interval} * 1'000'000;
        handler_.resumes = [](void* self, const MprSuspension* suspension) {
            auto* monitor = static_cast<Monitor*>(self);
            monitor->histograms_[placeOf(suspension->generation)].record(suspension->lost.total);
            monitor->ring_.put(*suspension);
        };
        handler_.data = this;
    }

    ~Monitor() {
        if (file_) {
            std::fclose(file_);
        }
    }
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    bool isSensible() const { return infoFrom_ <= warnFrom_; }
    /** Whether the calling thread is the monitor's, inside the log's handler. */
    bool isOwnThread() const { return runs_.load(std::memory_order_relaxed) == os::threadNumber(); }
    /** @return 0 or MPR_ERR_. */
    int start(const char* path);
    bool stop();
    int write(const char* path);

private:
    void endThread();
    void run();
    void writeLines();
    void writeLine(const Note& note) const;
    bool writeHead(std::FILE* file) const;
    bool writeInterval(std::FILE* file, bool takes);

    Ring ring_;
    Histogram histograms_[3];
    Encoded encoded_;
    MprSuspensionHandler handler_{};
    std::uint64_t infoFrom_, warnFrom_, interval_;
    std::uint64_t begun_ = 0, intervalBegun_ = 0; // monotonic; the latter is guarded by the lock below
    std::int64_t begunAt_ = 0;                    // milliseconds since 1970
    std::FILE* file_ = nullptr;
    os::Lock writing_; // for encoded_ and the interval
    os::ThreadId thread_ = 0;
    os::Word stops_{0};
    os::Shared<std::uint32_t> runs_{0}; // that thread's number
};

/**
    A call that makes, asks or ends the monitor. There is one at a time, and another is turned away: a log's handler may
    call again.
 */
class Turn {
public:
    Turn() : mine_(!taken.exchange(true, std::memory_order_acquire)) {}
    ~Turn() {
        if (mine_) {
            taken.store(false, std::memory_order_release);
        }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return mine_; }

private:
    static inline constinit std::atomic<bool> taken{false};
    bool mine_;
};
constinit Monitor* monitor = nullptr; // of the thread that has the turn

int Monitor::start(const char* path) {
    begun_ = intervalBegun_ = os::now();
    begunAt_ = os::wallTime();
    if (path) {
        file_ = std::fopen(path, "we");
        if (!file_ || !writeHead(file_)) {
            mprLog("suspension", 0, "mprStartSuspensionMonitor: cannot open %s: %s", path, base::reason(errno));
            return MPR_ERR_CANT_OPEN;
        }
    }
    const os::ThreadTraits traits{.joinable = true, .ofRuntime = true};
    if (!os::startThread(
            thread_, "mpr-suspensions", [](void* self) { static_cast<Monitor*>(self)->run(); }, this, traits)) {
        mprLog("suspension", 0, "mprStartSuspensionMonitor: the system gives no thread");
        return MPR_ERR_MEMORY;
    }
    const int added = mprAddSuspensionHandler(&handler_);
    if (added != 0) {
        endThread();
    }
    return added;
}

void Monitor::endThread() {
    stops_.store(1);
    os::wakeAll(stops_);
    os::joinThread(thread_);
}

bool Monitor::stop() {
    if (mprRemoveSuspensionHandler(&handler_) != 0) {
        return false; // inside a handler
    }
    endThread();
    writeLines();
    if (file_) {
        writeInterval(file_, true);
    }
    return true;
}

void Monitor::run() {
    runs_.store(os::threadNumber(), std::memory_order_relaxed);
    while (!os::wait(stops_, 0, nap) || stops_.load() == 0) {
        writeLines();
        if (file_ && interval_ != 0 && os::now() - intervalBegun_ >= interval_) {
            writeInterval(file_, true);
        }
    }
}

void Monitor::writeLines() {
    for (Note note; ring_.take(note);) {
        writeLine(note);
    }
    if (const std::uint64_t lost = ring_.takeLost()) {
        mprLog("suspension", 1, "%llu lines are missing: suspensions came faster than they are written",
               static_cast<unsigned long long>(lost));
    }
}

void Monitor::writeLine(const Note& note) const {
    const MprSuspension& s = note.suspension;
    const int level = s.lost.total < infoFrom_ ? 3 : s.lost.total < warnFrom_ ? 2 : 1;
    mprLog("suspension", level,
           "thread \"%s\" (%u) stood still for %llu ns from %llu, %s: others %llu, marking %llu, assisting %llu, "
           "memory %llu",
           note.thread, s.number, s.lost.total, s.begin, causes[placeOf(s.generation)], s.lost.others, s.lost.marking,
           s.lost.assisting, s.lost.memory);
}

bool Monitor::writeHead(std::FILE* file) const {
    const auto seconds = static_cast<long long>(begunAt_ / 1000);
    const auto rest = static_cast<int>(begunAt_ % 1000);
    return std::fprintf(file,
                        "#[Histogram log format version 1.3]\n#[StartTime: %lld.%03d (seconds since epoch)]\n"
                        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
                        seconds, rest) > 0;
}

/** A line for each generation that has any. @param takes The interval ends. */
bool Monitor::writeInterval(std::FILE* file, bool takes) {
    const os::Locked locked(writing_);
    const std::uint64_t now = os::now();
    for (unsigned i = 0; i < 3; ++i) {
        encoded_.clear();
        for (unsigned place = 0; place < Histogram::places; ++place) {
            encoded_.add(takes ? histograms_[i].take(place) : histograms_[i].count(place));
        }
        if (encoded_.total() != 0) {
            std::fprintf(file, "Tag=%s,%.3f,%.3f,%.6f,%s\n", tags[i],
                         static_cast<double>(intervalBegun_ - begun_) / perSecond,
                         static_cast<double>(now - intervalBegun_) / perSecond,
                         static_cast<double>(encoded_.greatest()) / perMillisecond, encoded_.text());
        }
    }
    if (takes) {
        intervalBegun_ = now;
    }
    return std::fflush(file) == 0 && !std::ferror(file);
}

int Monitor::write(const char* path) {
    std::FILE* file = std::fopen(path, "we");
    if (!file) {
        mprLog("suspension", 0, "mprWriteSuspensionHistograms: cannot open %s: %s", path, base::reason(errno));
        return MPR_ERR_CANT_OPEN;
    }
    const bool written = writeHead(file) && writeInterval(file, false);
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed) {
        mprLog("suspension", 0, "mprWriteSuspensionHistograms: cannot write %s: %s", path, base::reason(errno));
        return MPR_ERR_CANT_WRITE;
    }
    return 0;
}

std::size_t roundedSize() {
    const std::size_t page = os::pageSize();
    return (sizeof(Monitor) + page - 1) / page * page;
}

void drop(Monitor* dropped) {
    dropped->~Monitor();
    os::release(dropped, roundedSize());
}
} // namespace

} // namespace mpr::host

using namespace mpr::host;

int mprStartSuspensionMonitor(const MprSuspensionMonitor* settings) {
    if (!mpr::gc::admitAlways("mprStartSuspensionMonitor")) {
        return MPR_ERR_BAD_STATE;
    }
    const Turn turn;
    if (!turn) {
        return MPR_ERR_BUSY;
    }
    if (monitor) {
        return MPR_ERR_ALREADY_EXISTS;
    }
    void* memory = os::map(roundedSize(), 3);
    if (!memory) {
        mprLog("suspension", 0, "mprStartSuspensionMonitor: the system has no memory");
        return MPR_ERR_MEMORY;
    }
    const MprSuspensionMonitor usual{};
    auto* made = new (memory) Monitor(settings ? *settings : usual);
    const int started =
        made->isSensible() ? made->start(settings ? settings->histogramLog : nullptr) : MPR_ERR_BAD_ARGS;
    if (started != 0) {
        drop(made);
        return started;
    }
    monitor = made;
    return 0;
}

int mprStopSuspensionMonitor(void) {
    if (!mpr::gc::admitAlways("mprStopSuspensionMonitor")) {
        return MPR_ERR_BAD_STATE;
    }
    const Turn turn;
    if (!turn) {
        return MPR_ERR_BUSY;
    }
    if (monitor && monitor->isOwnThread()) {
        mpr::gc::misuse("mprStopSuspensionMonitor", nullptr, "called by a handler of the monitor's own lines");
        return MPR_ERR_BAD_STATE;
    }
    if (!monitor || !monitor->stop()) {
        return MPR_ERR_BAD_STATE;
    }
    drop(monitor);
    monitor = nullptr;
    return 0;
}

int mprWriteSuspensionHistograms(const char* path) {
    if (!mpr::gc::admitAlways("mprWriteSuspensionHistograms")) {
        return MPR_ERR_BAD_STATE;
    }
    const Turn turn;
    return !turn ? MPR_ERR_BUSY : monitor ? monitor->write(path ? path : "") : MPR_ERR_BAD_STATE;
}
